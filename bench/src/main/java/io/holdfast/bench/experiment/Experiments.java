package io.holdfast.bench.experiment;

import io.holdfast.bench.tool.BackendOption;
import io.holdfast.bench.tool.ByteCount;
import io.holdfast.bench.tool.ExitCode;
import io.holdfast.bench.tool.PageOption;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.error.HoldfastException;
import io.holdfast.host.PageKind;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Runs experiments by name; each result is one line of JSON on standard output. */
@Command(
    name = "experiment",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Long measurements in which Holdfast, plain C and PyTorch take turns, and trials on"
          + " hardware.",
      "Exits with 0 only when every claim was met."
    })
public final class Experiments implements Callable<Integer> {
  private static final Map<String, Supplier<Experiment>> KNOWN = known();

  @Spec private CommandSpec spec = CommandSpec.create(); // replaced by picocli

  @Parameters(arity = "1..*", paramLabel = "NAME", description = "Which; a wrong name lists them.")
  private List<String> names = List.of();

  @Option(
      names = "--backend",
      converter = BackendOption.class,
      paramLabel = "ID",
      description = "Backend; default cpu-sim.")
  private String backend = "cpu-sim";

  @Option(names = "--device", description = "Ordinal of the device; default 0.")
  private int ordinal;

  @Option(
      names = "--pages",
      split = ",",
      paramLabel = "KIND",
      description = "base, thp, 2MB, 1GB, driver; default as the experiment sees fit.")
  private @Nullable List<PageKind> pages;

  @Option(names = "--bytes", description = "How much; default as the experiment sees fit.")
  private @Nullable ByteCount bytes;

  @Option(names = "--rounds", description = "How often each is measured; default 5.")
  private int rounds = 5;

  @Option(names = "--without-yardsticks", description = "Neither C nor PyTorch takes part.")
  private boolean withoutYardsticks;

  @Option(names = "-P", paramLabel = "KEY=VALUE", description = "Settings of one experiment.")
  private Map<String, String> more = new LinkedHashMap<>();

  /** For picocli. */
  public Experiments() {}

  private static Map<String, Supplier<Experiment>> known() {
    Map<String, Supplier<Experiment>> known = new LinkedHashMap<>();
    known.put("start", StartExperiment::new);
    known.put("populate", PopulateExperiment::new);
    known.put("ranks", RanksExperiment::new);
    known.put("probe", ProbeExperiment::new);
    known.put("capture", CaptureExperiment::new);
    known.put("submission", SubmissionExperiment::new);
    known.put("copies", CopiesExperiment::new);
    known.put("kill", KillExperiment::new);
    known.put("soak", SoakExperiment::new);
    known.put("devices", DevicesExperiment::new);
    known.put("extensible", ExtensibleExperiment::new);
    return known;
  }

  /**
   * Runs experiments and ends the process.
   *
   * @param arguments of the command line
   */
  public static void main(String[] arguments) {
    Locale.setDefault(Locale.Category.FORMAT, Locale.ROOT);
    PrintWriter out = new PrintWriter(System.out, true, System.out.charset());
    PrintWriter err = new PrintWriter(System.err, true, System.err.charset());
    System.exit(run(arguments, out, err));
  }

  /**
   * Runs experiments.
   *
   * @param arguments of the command line
   * @param out results, a JSON object a line
   * @param err notes and errors
   * @return the exit code
   */
  public static int run(String[] arguments, PrintWriter out, PrintWriter err) {
    return new CommandLine(new Experiments())
        .setOut(out)
        .setErr(err)
        .registerConverter(ByteCount.class, new ByteCount.Converter())
        .registerConverter(PageKind.class, new PageOption())
        .execute(arguments);
  }

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    PrintWriter err = spec.commandLine().getErr();
    Map<String, Experiment> wanted = new LinkedHashMap<>();
    for (String name : names) {
      Supplier<Experiment> known = KNOWN.get(name);
      if (known == null) {
        throw new ParameterException(
            spec.commandLine(),
            "there is no experiment '" + name + "'; there are " + KNOWN.keySet());
      }
      wanted.put(name, known.get());
    }
    if (rounds < 1) {
      throw new ParameterException(spec.commandLine(), "--rounds must be positive");
    }
    Settings settings =
        new Settings(
            backend,
            ordinal,
            pages == null ? List.of() : pages,
            bytes == null ? OptionalLong.empty() : OptionalLong.of(bytes.bytes()),
            rounds,
            !withoutYardsticks,
            more);
    boolean good = true;
    for (Map.Entry<String, Experiment> one : wanted.entrySet()) {
      try (Workbench bench = new Workbench(one.getKey(), settings, out, err)) {
        one.getValue().run(bench);
        good &= bench.allMet();
      } catch (RefusedException | HoldfastException failure) {
        err.println("holdfast: " + one.getKey() + ": " + failure.getMessage());
        err.flush();
        good = false;
      }
    }
    return good ? ExitCode.OK : ExitCode.FAILED;
  }
}
