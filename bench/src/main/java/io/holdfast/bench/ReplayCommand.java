package io.holdfast.bench;

import io.holdfast.bench.replay.Comparison;
import io.holdfast.bench.replay.Replay;
import io.holdfast.bench.tool.BackendOption;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.ExitCode;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** What an engine did, done again. */
@Command(
    name = "replay",
    mixinStandardHelpOptions = true,
    description = {
      "Does again on a simulated machine what a recording of JDK Flight Recorder tells of Holdfast,"
          + " and compares.",
      "Exits with 1 when that machine refuses a step, with 2 when the file is no such recording."
    })
final class ReplayCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create(); // replaced by picocli

  @Parameters(paramLabel = "FILE", description = "The recording.")
  private Path file = Path.of("");

  @Option(
      names = "--backend",
      paramLabel = "ID",
      converter = BackendOption.class,
      description =
          "cpu-sim or cpu-sim:PROFILE; default: as recorded if that was simulated, else"
              + " cpu-sim:h200.")
  private @Nullable String backend;

  @Option(names = "--json", description = "One JSON object on standard output.")
  private boolean json;

  @Override
  public Integer call() {
    Replay replay;
    try {
      replay = Replay.of(file, Optional.ofNullable(backend));
    } catch (IllegalArgumentException unusable) {
      throw new ParameterException(
          spec.commandLine(), String.valueOf(unusable.getMessage()), unusable);
    }
    Console console = new Console(spec.commandLine().getOut(), spec.commandLine().getErr());
    Comparison comparison = replay.run();
    if (json) {
      console.result(comparison.toJson());
    } else {
      console.out().print(comparison.toText());
      console.out().flush();
    }
    return comparison.isComplete() ? ExitCode.OK : ExitCode.FAILED;
  }
}
