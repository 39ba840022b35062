package io.holdfast.bench;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.holdfast.bench.plan.PlanCase;
import io.holdfast.bench.tool.ByteCount;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.ExitCode;
import io.holdfast.bench.tool.PageOption;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.conformance.run.FileTrouble;
import io.holdfast.layout.Bytes;
import io.holdfast.layout.Plane;
import io.holdfast.pin.PlanGeometry;
import io.holdfast.pin.PlanOutcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Prints registration plans. */
@Command(
    name = "plan",
    mixinStandardHelpOptions = true,
    description = {
      "Prints the registration plan of a geometry, or why none exists.",
      "Exits with 3 when no case has a plan that never cuts inside a block."
    },
    footerHeading = "%nA case of --geometry:%n",
    footer = {
      "  {\"mappedBytes\": N, \"backingPageBytes\": N, \"maxRegistrationBytes\": N,",
      "   \"planes\": [{\"offset\": N, \"strideBytes\": N, \"blocks\": N}]}",
      "and, where wanted, name, sliceBytes, and blockBytes of a plane."
    })
final class PlanCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create(); // replaced by picocli

  @ArgGroup(multiplicity = "1")
  private @Nullable Source source;

  @Option(names = "--json", description = "One JSON array on standard output.")
  private boolean json;

  /** Where the geometry comes from. */
  static final class Source {
    @Option(
        names = "--geometry",
        paramLabel = "FILE",
        required = true,
        description = "JSON: one case, an array of cases, or an object with 'cases'.")
    private @Nullable Path file;

    @ArgGroup(exclusive = false, multiplicity = "1")
    private @Nullable Numbers numbers;
  }

  /** One plane of packed blocks. */
  static final class Numbers {
    @Option(names = "--bytes", required = true, description = "Bytes of the region.")
    private @Nullable ByteCount bytes;

    @Option(names = "--block-bytes", required = true, description = "Bytes of a block.")
    private @Nullable ByteCount block;

    @Option(
        names = "--page",
        required = true,
        converter = PageOption.Size.class,
        description = "Bytes of the backing page, 2MB and 1GB too.")
    private @Nullable ByteCount page;

    @Option(
        names = "--limit",
        required = true,
        description = "Most bytes of one registration, the cap.")
    private @Nullable ByteCount limit;

    @Option(
        names = "--slice",
        description =
            "What one registration should take under the default policy; default: the limit.")
    private @Nullable ByteCount slice;
  }

  @Override
  public Integer call() {
    Console console = new Console(spec.commandLine().getOut(), spec.commandLine().getErr());
    List<PlanCase> cases = cases();
    if (json) {
      ArrayNode all = Console.json().createArrayNode();
      cases.forEach(one -> all.add(one.answer()));
      console.result(all);
    } else {
      cases.forEach(one -> console.out().print(one.describe()));
      console.out().flush();
    }
    boolean some =
        cases.stream().anyMatch(one -> !(one.strict() instanceof PlanOutcome.Infeasible));
    return some ? ExitCode.OK : ExitCode.INFEASIBLE;
  }

  private List<PlanCase> cases() {
    Source given = source;
    if (given == null) {
      throw new ParameterException(spec.commandLine(), "Give --geometry FILE or --bytes ...");
    }
    if (given.file != null) {
      return read(given.file);
    }
    Numbers numbers = given.numbers;
    if (numbers == null
        || numbers.bytes == null
        || numbers.block == null
        || numbers.page == null
        || numbers.limit == null) {
      throw new ParameterException(
          spec.commandLine(), "Give all of --bytes, --block-bytes, --page and --limit");
    }
    long block = numbers.block.bytes();
    long blocks = numbers.bytes.bytes() / block;
    if (blocks == 0) {
      throw new ParameterException(
          spec.commandLine(), "--bytes holds no block of " + block + " bytes");
    }
    try {
      return List.of(
          new PlanCase(
              "%,d %s of %,d %s"
                  .formatted(
                      blocks,
                      blocks == 1 ? "block" : "blocks",
                      block,
                      block == 1 ? "byte" : "bytes"),
              new PlanGeometry(
                  Bytes.roundUp(numbers.bytes.bytes(), numbers.page.bytes()),
                  numbers.page.bytes(),
                  numbers.limit.bytes(),
                  numbers.slice == null ? numbers.limit.bytes() : numbers.slice.bytes(),
                  List.of(Plane.packed(0, block, blocks)))));
    } catch (IllegalArgumentException | ArithmeticException wrong) {
      throw new ParameterException(spec.commandLine(), String.valueOf(wrong.getMessage()));
    }
  }

  private List<PlanCase> read(Path file) {
    String text;
    try {
      text = Files.readString(file);
    } catch (IOException failure) {
      throw new ParameterException(
          spec.commandLine(), "cannot read " + file + ": " + FileTrouble.reason(failure));
    }
    try {
      return PlanCase.read(
          Console.json()
              .reader()
              .with(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
              .readTree(text));
    } catch (JsonProcessingException wrong) {
      throw new ParameterException(
          spec.commandLine(), "cannot read " + file + ": " + FileTrouble.reason(wrong));
    } catch (RefusedException wrong) {
      throw new ParameterException(spec.commandLine(), file + ": " + wrong.getMessage());
    }
  }
}
