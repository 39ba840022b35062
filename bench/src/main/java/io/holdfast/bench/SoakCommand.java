package io.holdfast.bench;

import io.holdfast.bench.soak.RankProcesses;
import io.holdfast.bench.soak.SoakOptions;
import io.holdfast.bench.soak.SoakResult;
import io.holdfast.bench.soak.SoakRun;
import io.holdfast.bench.tool.BackendOption;
import io.holdfast.bench.tool.ByteCount;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.ExitCode;
import io.holdfast.bench.tool.Interruption;
import io.holdfast.bench.tool.PageOption;
import io.holdfast.bench.tool.Wording;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The main job. */
@Command(
    name = "soak",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Opens a host pool and moves random blocks host, device, host, checking every byte.",
      "Exits with 0 only with zero mismatches and a clean close."
    })
final class SoakCommand implements Callable<Integer> {
  /** What a shortfall of available memory means. */
  enum Meaning {
    STRICT(HostRequest.Limits.ENFORCE),
    ADVISE(HostRequest.Limits.ADVISE);

    private final HostRequest.Limits limits;

    Meaning(HostRequest.Limits limits) {
      this.limits = limits;
    }
  }

  private static final long TICKS_PER_SECOND = 10;

  @Spec private CommandSpec spec = CommandSpec.create(); // replaced by picocli

  @Option(
      names = "--backend",
      paramLabel = "ID",
      converter = BackendOption.class,
      description = "Backend; default: hardware if any is usable, else the simulator.")
  private @Nullable String backend;

  @Option(names = "--bytes", description = "Size of the pool; default 1GiB.")
  private ByteCount bytes = new ByteCount(1L << 30);

  @Option(names = "--block-bytes", description = "Size of a block; default 64KiB.")
  private ByteCount blockBytes = new ByteCount(64 << 10);

  @Option(
      names = "--pages",
      paramLabel = "KIND",
      description = "base, thp, 2MB, 1GB, any size the kernel has, or driver; default base.")
  private @Nullable PageKind pages;

  @Option(
      names = "--directory",
      paramLabel = "DIR",
      description = "Pages of a hugetlbfs or tmpfs directory instead.")
  private @Nullable Path directory;

  @Option(
      names = "--numa",
      paramLabel = "POLICY",
      description =
          "inherit, bind:N[,M], preferred:N, interleave:N[,M], weighted:N=W[,M=W], nearest;"
              + " default inherit.")
  private NumaOption.Choice numa = new NumaOption().convert("inherit");

  @Option(
      names = "--limits",
      paramLabel = "MEANING",
      description =
          "strict refuses a pool that available memory does not hold, advise notes it: for machines"
              + " that grow memory on demand; default strict.")
  private Meaning limits = Meaning.STRICT;

  @Option(names = "--seconds", description = "How long blocks move; default 10.")
  private double seconds = 10;

  @Option(names = "--threads", description = "How many threads move blocks; default 4 or the CPUs.")
  private int threads = Math.min(4, Runtime.getRuntime().availableProcessors());

  @Option(names = "--forks", description = "Children that really fork meanwhile; default 0.")
  private int forks;

  @Option(names = "--ranks", description = "Processes at once, each with a pool; default 1.")
  private int ranks = 1;

  @Option(names = "--rank", hidden = true)
  private int rank;

  @Option(names = "--seed", description = "Of patterns and choices; default 42.")
  private long seed = 42;

  @Option(
      names = "--json",
      description = "One JSON object on standard output; nothing there when it is refused.")
  private boolean json;

  @Override
  public Integer call() {
    check();
    Console console = new Console(spec.commandLine().getOut(), spec.commandLine().getErr());
    AtomicReference<Runnable> stop = new AtomicReference<>(() -> {});
    try (Interruption _ = new Interruption(() -> stop.get().run())) { // the result is part of it
      List<SoakResult> results =
          ranks > 1 ? inProcesses(console, stop) : List.of(here(console, stop));
      if (json) {
        console.result(SoakResult.toJson(results));
      } else {
        results.forEach(result -> console.out().print(describe(result)));
        console.out().flush();
      }
      boolean clean = results.stream().allMatch(SoakResult::isClean);
      return clean ? ExitCode.OK : ExitCode.FAILED;
    }
  }

  private void check() {
    if (directory != null && pages != null) {
      throw usage("--pages and --directory exclude each other: a directory has its own pages");
    }
    if (!(seconds >= 0 && seconds <= 1e9)) {
      throw usage("--seconds must be 0 or more, not " + seconds);
    }
    if (threads < 1 || threads > 1024) {
      throw usage("--threads must be 1 to 1024, not " + threads);
    }
    if (ranks < 1 || ranks > 256) {
      throw usage("--ranks must be 1 to 256, not " + ranks);
    }
    if (forks < 0 || rank < 0) {
      throw usage("--forks must be 0 or more, not " + forks);
    }
    if (blockBytes.bytes() > bytes.bytes()) {
      throw usage(
          "a block of "
              + blockBytes.bytes()
              + " bytes is larger than the pool of "
              + bytes.bytes()
              + " bytes");
    }
  }

  private ParameterException usage(String message) {
    return new ParameterException(spec.commandLine(), message);
  }

  private PageKind pageKind() {
    if (directory != null) {
      return PageKind.directory(directory);
    }
    return pages == null ? PageKind.base() : pages;
  }

  private SoakResult here(Console console, AtomicReference<Runnable> stop) {
    SoakOptions options =
        new SoakOptions(
            Optional.ofNullable(backend),
            bytes.bytes(),
            blockBytes.bytes(),
            pageKind(),
            numa.policy(),
            limits.limits,
            seconds,
            threads,
            forks,
            seed,
            rank);
    Consumer<String> say =
        json
            ? console::note
            : line -> {
              console.out().println(line);
              console.out().flush();
            };
    SoakRun run = new SoakRun(options, say, console::note);
    stop.set(run::stop);
    if (Interruption.isUnderway()) { // the signal came before there was anything to stop
      run.stop();
    }
    try (Progress progress = new Progress(seconds, run)) {
      return run.run(progress::at);
    }
  }

  private List<SoakResult> inProcesses(Console console, AtomicReference<Runnable> stop) {
    console.note(ranks + " ranks, " + ByteCount.describe(bytes.bytes()) + " each");
    List<String> arguments = new ArrayList<>(List.of("soak"));
    arguments.addAll(ownArguments());
    try (RankProcesses processes = new RankProcesses(ranks, Holdfast.class, arguments)) {
      stop.set(processes::stop);
      if (Interruption.isUnderway()) {
        processes.stop();
      }
      return processes.await();
    }
  }

  /** Every option as it was understood, for each rank. */
  private List<String> ownArguments() {
    List<String> arguments = new ArrayList<>();
    if (backend != null) {
      arguments.add("--backend=" + backend);
    }
    arguments.add("--bytes=" + bytes.bytes());
    arguments.add("--block-bytes=" + blockBytes.bytes());
    if (directory != null) {
      arguments.add("--directory=" + directory);
    }
    if (pages != null) {
      arguments.add("--pages=" + PageOption.text(pages));
    }
    arguments.add("--numa=" + numa);
    arguments.add("--limits=" + limits);
    arguments.add("--seconds=" + seconds);
    arguments.add("--threads=" + threads);
    arguments.add("--forks=" + forks);
    arguments.add("--seed=" + seed);
    arguments.add("--json");
    return arguments;
  }

  private static String describe(SoakResult result) {
    StringBuilder text = new StringBuilder();
    text.append(
        String.format(
            Locale.ROOT,
            "rank %d: %s, %s moved, %.2f GB/s device to host, %.2f GB/s host to device, %s%n",
            result.rank(),
            Wording.count(result.roundTrips(), "round trip"),
            ByteCount.describe(result.bytesMoved()),
            result.storeGbps(),
            result.loadGbps(),
            String.join(
                ", ",
                result.mismatches() == 1 ? "1 mismatch" : result.mismatches() + " mismatches",
                Wording.count(result.forks(), "fork"),
                Wording.count(result.leaks().size(), "leak"))));
    result.leaks().forEach(leak -> text.append("  leaked: ").append(leak).append('\n'));
    return text.toString();
  }

  /** A progress line on a terminal, nothing elsewhere. */
  private static final class Progress implements AutoCloseable {
    private final SoakRun run;
    private final @Nullable ProgressBar bar;

    @SuppressWarnings("SystemConsoleNull") // a runtime may lack the module that makes it
    Progress(double seconds, SoakRun run) {
      this.run = run;
      java.io.Console terminal = System.console();
      this.bar =
          terminal != null && terminal.isTerminal()
              ? new ProgressBarBuilder()
                  .setTaskName("soak")
                  .setInitialMax(Math.max(1, Math.round(seconds * TICKS_PER_SECOND)))
                  .setStyle(ProgressBarStyle.ASCII)
                  .setUpdateIntervalMillis(200)
                  .clearDisplayOnFinish()
                  .build()
              : null;
    }

    void at(double elapsedSeconds) {
      if (bar != null) {
        bar.stepTo(Math.min(bar.getMax(), Math.round(elapsedSeconds * TICKS_PER_SECOND)));
        bar.setExtraMessage(run.progress());
      }
    }

    @Override
    public void close() {
      if (bar != null) {
        bar.close();
      }
    }
  }
}
