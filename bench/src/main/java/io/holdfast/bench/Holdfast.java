package io.holdfast.bench;

import io.holdfast.BackendUnavailableException;
import io.holdfast.bench.experiment.Experiments;
import io.holdfast.bench.soak.Forker;
import io.holdfast.bench.tool.ByteCount;
import io.holdfast.bench.tool.ExitCode;
import io.holdfast.bench.tool.Interruption;
import io.holdfast.bench.tool.PageOption;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.bench.tool.Wording;
import io.holdfast.conformance.run.ConformanceCommand;
import io.holdfast.error.HoldfastException;
import io.holdfast.host.PageKind;
import io.holdfast.pin.NoPlanException;
import java.io.PrintWriter;
import java.util.Locale;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** The {@code holdfast} command. */
@Command(
    name = "holdfast",
    mixinStandardHelpOptions = true,
    versionProvider = VersionText.class,
    description = "Owns large host memory for accelerators: maps it, pins it, moves blocks.",
    subcommands = {
      BackendsCommand.class,
      SoakCommand.class,
      PlanCommand.class,
      ConformanceCommand.class,
      BenchCommand.class,
      ReportCommand.class,
      DoctorCommand.class,
      ReplayCommand.class,
      Experiments.class,
      HelpCommand.class
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:all is well",
      "1:failed, or refused",
      "2:the command line makes no sense",
      "3:infeasible under the limits given",
      "130:interrupted by SIGINT, and closed cleanly",
      "143:ended by SIGTERM, and closed cleanly"
    })
public final class Holdfast implements Runnable {
  @Spec private CommandSpec spec = CommandSpec.create(); // replaced by picocli

  private Holdfast() {}

  /**
   * Runs the command and ends the process with its exit code.
   *
   * @param arguments of the command line
   */
  public static void main(String[] arguments) {
    Locale.setDefault(Locale.Category.FORMAT, Locale.ROOT); // numbers are for programs, too
    if (System.getProperty(Forker.MECHANISM) == null) { // read once, before the first child
      System.setProperty(Forker.MECHANISM, "FORK");
    }
    PrintWriter out = new PrintWriter(System.out, true, System.out.charset());
    PrintWriter err = new PrintWriter(System.err, true, System.err.charset());
    int code = run(arguments, out, err);
    if (System.out.checkError() || out.checkError()) {
      err.println("holdfast: standard output could not be written");
      code = Math.max(code, ExitCode.FAILED);
    }
    if (!Interruption
        .isUnderway()) { // otherwise the runtime ends the process with the signal's code
      System.exit(code);
    }
  }

  /**
   * Runs the command.
   *
   * @param arguments of the command line
   * @param out results
   * @param err notes, progress, errors
   * @return the exit code
   */
  public static int run(String[] arguments, PrintWriter out, PrintWriter err) {
    return new CommandLine(new Holdfast())
        .setOut(out)
        .setErr(err)
        .registerConverter(ByteCount.class, new ByteCount.Converter())
        .registerConverter(PageKind.class, new PageOption())
        .registerConverter(NumaOption.Choice.class, new NumaOption())
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setParameterExceptionHandler(Holdfast::usage)
        .setExecutionExceptionHandler(Holdfast::failed)
        .execute(arguments);
  }

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "Name a subcommand");
  }

  /** One clear line, and where to read on. */
  private static int usage(ParameterException wrong, String[] arguments) {
    PrintWriter err = wrong.getCommandLine().getErr();
    // Some of picocli's own messages begin with a word that our prefix says.
    err.println("holdfast: " + String.valueOf(wrong.getMessage()).replaceFirst("^Error: ", ""));
    UnmatchedArgumentException.printSuggestions(wrong, err);
    err.println("Try '" + wrong.getCommandLine().getCommandSpec().qualifiedName() + " --help'.");
    err.flush();
    return ExitCode.USAGE;
  }

  /** What failed with its numbers and what to do; a trace only for what should not happen. */
  private static int failed(Exception failure, CommandLine command, ParseResult parsed) {
    PrintWriter err = command.getErr();
    if (failure instanceof HoldfastException known) {
      err.println("holdfast: " + Wording.ofCommand(String.valueOf(known.getMessage())));
    } else if (failure instanceof RefusedException refused) {
      err.println("holdfast: " + refused.getMessage());
    } else {
      err.println("holdfast: unexpected: " + failure);
      failure.printStackTrace(err);
    }
    if (System.getenv("HOLDFAST_DEBUG") != null
        && !(failure instanceof BackendUnavailableException)) {
      failure.printStackTrace(err);
    }
    err.flush();
    return failure instanceof NoPlanException ? ExitCode.INFEASIBLE : ExitCode.FAILED;
  }
}
