package io.holdfast.bench.experiment;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.PageOption;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.host.PageKind;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What one experiment works with: a device, the yardsticks, and where its results go. */
final class Workbench implements AutoCloseable {
  private final String experiment;
  private final Settings settings;
  private final PrintWriter out;
  private final PrintWriter err;
  private final Backend backend;
  private final Device device;
  private final long begun = System.nanoTime();
  private @Nullable NativeTools tools;
  private @Nullable LineProcess yardstick;
  private @Nullable LineProcess torch;
  private @Nullable Neighbour neighbour;
  private boolean allMet = true;

  Workbench(String experiment, Settings settings, PrintWriter out, PrintWriter err) {
    this.experiment = experiment;
    this.settings = settings;
    this.out = out;
    this.err = err;
    this.backend = Backends.select(settings.backend());
    this.device = backend.open(settings.ordinal());
  }

  Settings settings() {
    return settings;
  }

  Backend backend() {
    return backend;
  }

  Device device() {
    return device;
  }

  NativeTools tools() {
    if (tools == null) {
      tools = NativeTools.unpack();
    }
    return tools;
  }

  /** The C program, where the CUDA driver is and it is wanted. */
  Optional<LineProcess> yardstick() {
    if (yardstick == null && settings.cuda() && settings.yardsticks()) {
      yardstick = tools().yardstick(settings.ordinal());
    }
    return Optional.ofNullable(yardstick);
  }

  /** PyTorch, where it can be used and is wanted. */
  Optional<LineProcess> torch() {
    if (torch == null && settings.cuda() && settings.yardsticks()) {
      torch = tools().torch().orElse(null);
    }
    return Optional.ofNullable(torch);
  }

  /** An engine's other threads, where the CUDA driver is. */
  Optional<Neighbour> neighbour() {
    if (neighbour == null && settings.cuda()) {
      neighbour = tools().neighbour(settings.ordinal());
    }
    return Optional.ofNullable(neighbour);
  }

  /** The beginning of a result. */
  ObjectNode result(String what) {
    ObjectNode node = Console.json().createObjectNode();
    return node.put("experiment", experiment)
        .put("what", what)
        .put("backend", backend.id())
        .put("device", device.info().name())
        .put("atSeconds", (System.nanoTime() - begun) / 1e9);
  }

  /** The beginning of a result on some pages. */
  ObjectNode result(String what, PageKind pages) {
    return result(what).put("pages", name(pages));
  }

  /** The short name of pages, which the C yardstick knows too. */
  static String name(PageKind pages) {
    return switch (pages) {
      case PageKind.HugeTlb huge when huge.pageBytes() == 2L << 20 -> "2m";
      case PageKind.HugeTlb huge when huge.pageBytes() == 1L << 30 -> "1g";
      default -> PageOption.text(pages);
    };
  }

  /** Writes a result, at once. */
  void write(ObjectNode result) {
    out.println(result); // Jackson prints a node on one line
    out.flush();
  }

  /** A sentence of what it must show, with its number. */
  void atMost(String claim, double value, double bound) {
    verdict(claim, value, "atMost", bound, value <= bound, judged());
  }

  /** A sentence of what it must show, with its number. */
  void atLeast(String claim, double value, double bound) {
    verdict(claim, value, "atLeast", bound, value >= bound, judged());
  }

  /** A sentence of what it must show, without a number. */
  void holds(String claim, boolean met) {
    verdict(claim, met ? 1 : 0, "atLeast", 1, met, true);
  }

  /** On hardware; elsewhere where the setting {@code judge=1} says that the numbers count. */
  private boolean judged() {
    return !settings.simulated() || settings.number("judge", 0) == 1;
  }

  /** What a simulator measures is written, and judged where it says anything of hardware. */
  private void verdict(
      String claim, double value, String relation, double bound, boolean met, boolean judged) {
    allMet &= met || !judged;
    ObjectNode node = result("claim").put("claim", claim).put("value", value).put(relation, bound);
    write(judged ? node.put("met", met) : node.put("judged", false));
  }

  /** What stops the run when it is wrong: bytes that differ, memory that does not come back. */
  static void require(boolean right, String otherwise) {
    if (!right) {
      throw new RefusedException("wrong: " + otherwise);
    }
  }

  void note(String line) {
    err.printf(Locale.ROOT, "%7.1f s  %s%n", (System.nanoTime() - begun) / 1e9, line);
    err.flush();
  }

  /** Whether every claim so far was met. */
  boolean allMet() {
    return allMet;
  }

  @Override
  public void close() {
    try (backend) {
      if (yardstick != null) {
        yardstick.close();
      }
      if (torch != null) {
        torch.close();
      }
    }
  }
}
