package io.holdfast.bench.run;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.conformance.run.FileTrouble;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.regex.Pattern;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.results.format.ResultFormatFactory;
import org.openjdk.jmh.results.format.ResultFormatType;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Runs one benchmark through JMH and keeps what JMH writes, without this machine's paths. */
public final class JmhRunner {
  private static final List<String> FLAGS =
      List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow");

  private final Path log;
  private final List<String> moreFlags;

  /**
   * A runner.
   *
   * @param log gets all that JMH and the benchmarks say
   * @param moreFlags for the JVM of each benchmark
   */
  public JmhRunner(Path log, List<String> moreFlags) {
    this.log = log;
    this.moreFlags = List.copyOf(moreFlags);
  }

  /**
   * Runs it, and waits.
   *
   * @param item what
   * @return JMH's results
   * @throws RefusedException when it fails, with the reason
   */
  public ArrayNode run(Item.Benchmark item) {
    List<String> flags = new ArrayList<>(FLAGS);
    flags.addAll(moreFlags);
    Item.Effort effort = item.effort();
    TimeValue time = TimeValue.milliseconds(effort.millis());
    OptionsBuilder options = new OptionsBuilder();
    options.include("\\." + Pattern.quote(item.benchmark()) + "$");
    options.forks(effort.forks());
    options.warmupForks(0);
    options.warmupIterations(effort.warmups()).warmupTime(time);
    options.measurementIterations(effort.iterations()).measurementTime(time);
    options.timeout(TimeValue.minutes(5));
    options.addProfiler(GCProfiler.class);
    options.shouldFailOnError(true);
    options.jvmArgsAppend(flags.toArray(String[]::new));
    item.parameters().forEach(options::param);
    try (PrintStream out =
        new PrintStream(
            Files.newOutputStream(log, StandardOpenOption.CREATE, StandardOpenOption.APPEND),
            true,
            StandardCharsets.UTF_8)) {
      out.println("==== " + item.id());
      Collection<RunResult> results =
          new Runner(
                  options.build(),
                  OutputFormatFactory.createFormatInstance(out, VerboseMode.NORMAL))
              .run();
      if (results.isEmpty()) {
        throw new RefusedException("there is no benchmark " + item.benchmark());
      }
      return withoutPaths(json(results));
    } catch (RunnerException failure) {
      throw new RefusedException(reason(failure));
    } catch (IOException failure) {
      throw new RefusedException("the log cannot be written: " + FileTrouble.reason(failure));
    }
  }

  private static ArrayNode json(Collection<RunResult> results) throws IOException {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    try (PrintStream out = new PrintStream(text, true, StandardCharsets.UTF_8)) {
      ResultFormatFactory.getInstance(ResultFormatType.JSON, out).writeOut(results);
    }
    return (ArrayNode) Console.json().readTree(text.toByteArray());
  }

  /**
   * Takes out where things lie on this machine; JMH's readers do without.
   *
   * @param results of JMH, changed in place
   * @return the same
   */
  static ArrayNode withoutPaths(ArrayNode results) {
    for (JsonNode result : results) {
      ObjectNode one = (ObjectNode) result;
      one.remove("jvm");
      ArrayNode kept = Console.json().createArrayNode();
      for (JsonNode argument : one.path("jvmArgs")) {
        String text = argument.asText();
        if (!text.contains("/") && !text.contains("\\")) {
          kept.add(text);
        }
      }
      one.set("jvmArgs", kept);
    }
    return results;
  }

  /** The innermost message: JMH wraps what a benchmark threw several times. */
  private static String reason(Throwable failure) {
    String innermost = String.valueOf(failure.getMessage());
    Deque<Throwable> left = new ArrayDeque<>(List.of(failure));
    for (int seen = 0; !left.isEmpty() && seen < 100; seen++) {
      Throwable one = left.removeFirst();
      String message = one.getMessage();
      if (message != null && !message.isBlank() && !message.startsWith("Benchmark error")) {
        innermost = message.lines().findFirst().orElse(message);
      }
      if (one.getCause() != null) {
        left.addLast(one.getCause());
      }
      left.addAll(List.of(one.getSuppressed()));
    }
    return innermost;
  }
}
