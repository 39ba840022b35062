package io.holdfast.bench.experiment;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.bench.experiment.Victim.Moment;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.host.PageKind;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Processes that die in every way at every moment: the pool of huge pages and the device's memory
 * must be back at once, and a new process must be served. The settings {@code moments} and {@code
 * manners} choose among them.
 */
final class KillExperiment implements Experiment {
  private static final long LONGEST_SECONDS = 20;
  private static final long SLACK_BYTES = 4L << 20;
  private static final int TICK_MILLIS = 5;

  /** How it dies. */
  private enum Manner {
    KILL,
    TERM,
    SEGV,
    EXCEPTION
  }

  /** What is free. */
  private record Free(long hugePages, long deviceBytes) {
    boolean isBack(Free now) {
      return now.hugePages >= hugePages && now.deviceBytes >= deviceBytes - SLACK_BYTES;
    }
  }

  @Override
  public void run(Workbench bench) {
    long bytes = bench.settings().bytes(16L << 30, 64L << 20);
    double bound = bytes <= 32L << 30 ? 1 : 5;
    double worst = 0;
    boolean allServed = true;
    for (PageKind pages : bench.settings().pagesOr(PageKind.hugeTlb(2L << 20))) {
      try (HugePool _ = HugePool.with(pages, bytes)) {
        Free before = free(bench, pages);
        for (Moment moment : moments(bench)) {
          for (Manner manner : manners(bench)) {
            bench.note(manner + " at " + moment + " on " + Workbench.name(pages));
            worst = Math.max(worst, once(bench, pages, bytes, moment, manner, before));
            allServed &= serves(bench, pages, bytes);
          }
        }
      }
    }
    bench.atMost("seconds from death to all memory back, worst", worst, bound);
    bench.holds("a new process was served after every death", allServed);
  }

  private static List<Moment> moments(Workbench bench) {
    String named =
        bench
            .settings()
            .more()
            .getOrDefault("moments", "POPULATE,REGISTERED,COPIES,FORKED,EXECUTED");
    return Arrays.stream(named.split(",")).map(Moment::valueOf).toList();
  }

  private static List<Manner> manners(Workbench bench) {
    String named = bench.settings().more().getOrDefault("manners", "KILL,TERM,SEGV,EXCEPTION");
    return Arrays.stream(named.split(",")).map(Manner::valueOf).toList();
  }

  private static Free free(Workbench bench, PageKind pages) {
    long huge =
        pages instanceof PageKind.HugeTlb one
            ? HugePool.read(
                Path.of(
                    "/sys/kernel/mm/hugepages/hugepages-"
                        + one.pageBytes() / 1024
                        + "kB/free_hugepages"))
            : 0;
    long device = bench.settings().simulated() ? 0 : bench.device().memory().info().freeBytes();
    return new Free(huge, device);
  }

  private static List<String> arguments(
      Workbench bench, PageKind pages, long bytes, Moment moment, boolean byException) {
    return new ArrayList<>(
        List.of(
            moment.name(),
            Boolean.toString(byException),
            bench.settings().backend(),
            Integer.toString(bench.settings().ordinal()),
            Workbench.name(pages),
            Long.toString(bytes),
            Long.toString(bench.settings().size("deviceBytes", 4L << 30, 16L << 20)),
            bench.tools().neighbourLibrary().toString()));
  }

  /** Seconds from death until all is back. */
  private static double once(
      Workbench bench, PageKind pages, long bytes, Moment moment, Manner manner, Free before) {
    Process victim =
        DyingJvm.start(
            Victim.class,
            arguments(bench, pages, bytes, moment, manner == Manner.EXCEPTION),
            manner == Manner.EXCEPTION || manner == Manner.SEGV
                ? Redirect.DISCARD
                : Redirect.INHERIT);
    String where = firstLine(victim);
    Free held = free(bench, pages);
    long begun = System.nanoTime();
    if (manner != Manner.EXCEPTION) {
      signal(victim.pid(), manner.name());
    }
    int code = end(victim);
    long dead = System.nanoTime();
    Free now = free(bench, pages);
    while (!before.isBack(now) && System.nanoTime() - dead < LONGEST_SECONDS * 1_000_000_000) {
      sleep(TICK_MILLIS);
      now = free(bench, pages);
    }
    double afterDeath = (System.nanoTime() - dead) / 1e9;
    boolean back = before.isBack(now);
    ObjectNode node =
        bench
            .result("death", pages)
            .put("manner", manner.name())
            .put("moment", moment.name())
            .put("where", where)
            .put("bytes", bytes)
            .put("exitCode", code)
            .put("signalToDeathSeconds", (dead - begun) / 1e9)
            .put("deathToBackSeconds", afterDeath)
            .put("back", back);
    node.put("heldHugePages", before.hugePages - held.hugePages)
        .put("heldDeviceBytes", before.deviceBytes - held.deviceBytes)
        .put("missingHugePages", before.hugePages - now.hugePages)
        .put("missingDeviceBytes", before.deviceBytes - now.deviceBytes);
    bench.write(node);
    Workbench.require(code != 0, "the victim lived");
    return back ? afterDeath : LONGEST_SECONDS;
  }

  private static boolean serves(Workbench bench, PageKind pages, long bytes) {
    long begun = System.nanoTime();
    Process process =
        DyingJvm.start(
            Victim.class, arguments(bench, pages, bytes, Moment.SERVE, false), Redirect.INHERIT);
    String said = firstLine(process);
    boolean served = end(process) == 0 && said.startsWith("served");
    bench.write(
        bench
            .result("serve", pages)
            .put("served", served)
            .put("seconds", (System.nanoTime() - begun) / 1e9));
    return served;
  }

  private static String firstLine(Process process) {
    BufferedReader reader = process.inputReader(StandardCharsets.UTF_8);
    try {
      String line = reader.readLine();
      return line == null ? "" : line;
    } catch (IOException failure) {
      throw new UncheckedIOException("cannot read what a victim says", failure);
    }
  }

  private static void signal(long pid, String name) {
    try {
      int code =
          new ProcessBuilder("kill", "-" + name, Long.toString(pid))
              .start()
              .onExit()
              .join()
              .exitValue();
      Workbench.require(code == 0, "kill -" + name + " ended with " + code);
    } catch (IOException failure) {
      throw new UncheckedIOException("cannot send a signal", failure);
    }
  }

  private static int end(Process process) {
    try {
      if (!process.waitFor(3 * LONGEST_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        throw new RefusedException("process " + process.pid() + " does not end");
      }
      return process.exitValue();
    } catch (InterruptedException _) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
      throw new RefusedException("interrupted");
    }
  }

  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }
}
