package io.holdfast.bench;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.Backends;
import io.holdfast.Selection;
import io.holdfast.bench.report.Report;
import io.holdfast.bench.run.BenchRun;
import io.holdfast.bench.run.Facts;
import io.holdfast.bench.run.Item;
import io.holdfast.bench.run.Plan;
import io.holdfast.bench.run.PoolCheck;
import io.holdfast.bench.run.RunFolder;
import io.holdfast.bench.run.Target;
import io.holdfast.bench.run.Target.Scale;
import io.holdfast.bench.tool.BackendOption;
import io.holdfast.bench.tool.ByteCount;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.ExitCode;
import io.holdfast.bench.tool.Interruption;
import io.holdfast.bench.tool.PageOption;
import io.holdfast.device.DeviceInfo;
import io.holdfast.host.PageKind;
import java.io.File;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The benchmarks, with what stands beside them. */
@Command(
    name = "bench",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Runs the benchmarks and writes their figures, the machine's facts and a report into a"
          + " folder.",
      "The same command run again goes on where it was cut short. Changes nothing on the machine."
    })
final class BenchCommand implements Callable<Integer> {
  private static final long QUICK_MIB = 256;
  private static final long FULL_SIMULATED_MIB = 1024;
  private static final long FULL_MIB = 16 << 10;
  private static final Pattern PART = Pattern.compile("([0-9]{1,4})/([0-9]{1,4})");

  /** How thoroughly. */
  static final class ScaleOptions {
    @Option(
        names = "--quick",
        description = "Few sizes, one process each: under 3 minutes on a simulator. The default.")
    @SuppressWarnings("UnusedVariable") // it is the default; picocli refuses both
    private boolean quick;

    @Option(names = "--full", description = "All sizes, more processes: figures to publish.")
    private boolean full;
  }

  @Spec private CommandSpec spec = CommandSpec.create(); // replaced by picocli

  @ArgGroup private @Nullable ScaleOptions scale;

  @Option(
      names = "--part",
      paramLabel = "K/N",
      description = "The Kth of N parts, each of at most 8 minutes, into the same folder.")
  private @Nullable String part;

  @Option(
      names = "--minutes",
      paramLabel = "M",
      description = "Begin nothing that would end later; run it again for the rest.")
  private @Nullable Double minutes;

  @Option(
      names = "--backend",
      paramLabel = "ID",
      converter = BackendOption.class,
      description = "Backend; default: hardware if any is usable, else the simulator.")
  private @Nullable String backend;

  @Option(
      names = "--pages",
      split = ",",
      paramLabel = "KIND",
      description =
          "Kinds of pages, refused where a pool is too small; default base,thp and those of 2MB and"
              + " 1GB whose pools are large enough.")
  private @Nullable List<PageKind> pages;

  @Option(names = "--bytes", description = "Size of the pools whose start is measured.")
  private @Nullable ByteCount bytes;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description = "Folder of the run; default holdfast-bench.")
  private Path out = Path.of("holdfast-bench");

  @Option(names = "--list", description = "Show what would run, how long and in which part; stop.")
  private boolean list;

  @Override
  public Integer call() {
    Console console = new Console(spec.commandLine().getOut(), spec.commandLine().getErr());
    double budget = budgetSeconds();
    Share share = share();
    Facts facts = new Facts(Path.of("/"));
    Target target;
    ObjectNode machine = facts.read();
    try (Backend selected = select()) {
      describe(machine.putObject("backend"), selected);
      target = target(selected, facts, console);
    }
    Plan plan = Plan.of(target);
    if (list) {
      list(console, plan);
      return ExitCode.OK;
    }
    Plan wanted = part(plan, share);
    RunFolder folder = new RunFolder(out);
    BenchRun run =
        new BenchRun(
            folder,
            target,
            VersionText.version(),
            Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    try (Interruption _ = new Interruption(run::stop)) {
      run.machine(machine);
      BenchRun.Outcome outcome = run.go(wanted, budget, console::note);
      int left = run.left(plan).size();
      Path report = out.resolve("report.html");
      Report.of(List.of(out)).html(report);
      Report.of(List.of(out)).markdown(out.resolve("report.md"));
      console.out().println("run: " + out + ", in one file " + folder.pack());
      console.out().println("report: " + report);
      if (left > outcome.failed()) {
        console.out().println(left + " of " + plan.items().size() + " are left: run it again");
      }
      if (outcome.failed() > 0) {
        console.out().println(outcome.failed() + " failed; " + out.resolve(RunFolder.LOG));
      }
      console.out().flush();
      return outcome.failed() > 0 ? ExitCode.FAILED : ExitCode.OK;
    }
  }

  private Backend select() {
    return Backends.select(backend == null ? Selection.allowSimulated() : Selection.of(backend));
  }

  private static void describe(ObjectNode node, Backend backend) {
    node.put("id", backend.id()).put("version", backend.version());
    node.put("simulated", backend.kind() == BackendKind.SIMULATOR);
    for (DeviceInfo device : backend.devices()) {
      ObjectNode one = node.withArray("devices").addObject();
      one.put("name", device.name()).put("totalBytes", device.totalBytes());
      one.put("pci", device.pciAddress());
      device.numaNode().ifPresent(number -> one.put("numaNode", number));
    }
  }

  private Target target(Backend selected, Facts facts, Console console) {
    boolean simulated = selected.kind() == BackendKind.SIMULATOR;
    if (simulated) {
      console.note(
          "note: the device is SIMULATED by "
              + selected.id()
              + "; its copies are this machine's memcpy and say nothing of hardware");
    }
    Scale how = scale != null && scale.full ? Scale.FULL : Scale.QUICK;
    long poolMib =
        bytes == null ? poolMib(how, simulated, facts, console) : Math.max(1, bytes.bytes() >> 20);
    PoolCheck check = new PoolCheck(facts);
    List<PageKind> kinds = new ArrayList<>();
    if (pages == null) {
      kinds.addAll(List.of(PageKind.base(), PageKind.thp()));
      for (String size : List.of("2MB", "1GB")) {
        PageKind kind = new PageOption().convert(size);
        if (check.holds(kind, poolMib << 20)) {
          kinds.add(kind);
        } else if (how == Scale.FULL) {
          console.note(
              "note: pages of "
                  + size
                  + " are left out, their pool is too small for "
                  + poolMib
                  + " MiB; --pages base,thp,"
                  + size
                  + " says what to do");
        }
      }
    } else {
      kinds.addAll(pages);
    }
    check.require(kinds, poolMib << 20);
    List<String> names = kinds.stream().map(BenchCommand::name).toList();
    return new Target(
        backend == null ? selected.id() : backend, simulated, how, names, poolMib, tools());
  }

  /** What fits, with room for the machine's other work; a power of two. */
  private static long poolMib(Scale how, boolean simulated, Facts facts, Console console) {
    long wanted = how == Scale.QUICK ? QUICK_MIB : simulated ? FULL_SIMULATED_MIB : FULL_MIB;
    long available = facts.availableBytes().orElse(Long.MAX_VALUE);
    long fits = Math.max(1, Long.highestOneBit((available >> 20) / 3));
    if (fits < wanted) {
      console.note("note: pools of " + fits + " MiB, since no more memory is available");
    }
    return Math.min(fits, wanted);
  }

  /** A compiler makes yardsticks; JCuda's natives are in the portable bundle. */
  private static List<String> tools() {
    List<String> tools = new ArrayList<>();
    if (anyIn(System.getenv().getOrDefault("PATH", ""), "cc")) {
      tools.add("cc");
    }
    if (anyIn(System.getProperty("java.library.path", ""), "libJCudaDriver-.*\\.so")) {
      tools.add("jcuda");
    }
    return tools;
  }

  private static boolean anyIn(String folders, String name) {
    for (String folder : folders.split(File.pathSeparator)) {
      String[] found =
          folder.isEmpty() ? null : new File(folder).list((_, file) -> file.matches(name));
      if (found != null && found.length > 0) {
        return true;
      }
    }
    return false;
  }

  /** As people write it, so that a run's names are the same everywhere. */
  private static String name(PageKind kind) {
    return switch (kind) {
      case PageKind.HugeTlb huge when huge.pageBytes() == 2L << 20 -> "2MB";
      case PageKind.HugeTlb huge when huge.pageBytes() == 1L << 30 -> "1GB";
      default -> PageOption.text(kind);
    };
  }

  /** Which part of how many. */
  private record Share(int which, int parts) {}

  private Share share() {
    Matcher form = PART.matcher(part == null ? "1/1" : part);
    int which = form.matches() ? Integer.parseInt(form.group(1)) : 0;
    int parts = form.matches() ? Integer.parseInt(form.group(2)) : 0;
    if (which < 1 || which > parts) {
      throw usage("--part must be K/N with K from 1 to N, for example 1/3, not " + part);
    }
    return new Share(which, parts);
  }

  private Plan part(Plan plan, Share share) {
    if (part == null) {
      return plan;
    }
    int parts = share.parts();
    if (plan.longestPart(parts) > Plan.PART_SECONDS) {
      throw usage(
          "a part of "
              + parts
              + " would take "
              + BenchRun.clock(plan.longestPart(parts))
              + ", more than 8 minutes; let there be at least "
              + plan.leastParts());
    }
    return plan.part(share.which(), parts);
  }

  private double budgetSeconds() {
    if (minutes != null) {
      if (!(minutes > 0 && minutes <= 1e6)) {
        throw usage("--minutes must be more than 0, not " + minutes);
      }
      return minutes * 60;
    }
    return part == null ? Double.POSITIVE_INFINITY : Plan.PART_SECONDS;
  }

  private ParameterException usage(String message) {
    return new ParameterException(spec.commandLine(), message);
  }

  private static void list(Console console, Plan plan) {
    int parts = plan.leastParts();
    for (int part = 1; part <= parts; part++) {
      Plan own = plan.part(part, parts);
      console.out().println("--part " + part + "/" + parts + ": " + BenchRun.clock(seconds(own)));
      own.items()
          .forEach(
              item ->
                  console
                      .out()
                      .println(
                          String.format(
                              Locale.ROOT, "  %6.1f s  %s", item.seconds(), item.title())));
    }
    console.out().flush();
  }

  private static double seconds(Plan plan) {
    return plan.items().stream().mapToDouble(Item::seconds).sum();
  }
}
