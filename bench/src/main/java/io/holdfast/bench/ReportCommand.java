package io.holdfast.bench;

import io.holdfast.bench.report.Report;
import io.holdfast.bench.tool.ExitCode;
import io.holdfast.bench.tool.RefusedException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** A page about runs of {@code bench}. */
@Command(
    name = "report",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Makes one self-contained page of one run or several: charts, tables, the machines' facts.",
      "A run is named by its folder."
    })
final class ReportCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create(); // replaced by picocli

  @Parameters(
      arity = "1..*",
      paramLabel = "RUN",
      description = "Folders of bench, or zips of them.")
  private List<Path> runs = List.of();

  @Option(names = "--out", paramLabel = "FILE", description = "The page, in HTML.")
  private @Nullable Path out;

  @Option(names = "--markdown", paramLabel = "FILE", description = "The tables, in Markdown.")
  private @Nullable Path markdown;

  @Override
  public Integer call() {
    if (out == null && markdown == null) {
      throw new ParameterException(spec.commandLine(), "Name a file by --out or --markdown");
    }
    Report report;
    try {
      report = Report.of(runs);
    } catch (RefusedException unusable) {
      throw new ParameterException(
          spec.commandLine(), String.valueOf(unusable.getMessage()), unusable);
    }
    if (out != null) {
      report.html(out);
      spec.commandLine().getOut().println("report: " + out);
    }
    if (markdown != null) {
      report.markdown(markdown);
      spec.commandLine().getOut().println("report: " + markdown);
    }
    spec.commandLine().getOut().flush();
    return ExitCode.OK;
  }
}
