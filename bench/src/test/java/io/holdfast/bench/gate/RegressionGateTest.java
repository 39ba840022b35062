package io.holdfast.bench.gate;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.holdfast.bench.run.Item;
import io.holdfast.bench.run.Item.Effort;
import io.holdfast.bench.run.JmhRunner;
import io.holdfast.bench.tool.Console;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/**
 * Whether something became much slower than its neighbour, or allocates one byte more. The bounds
 * are in {@code bounds.json}: of times only ratios, wide enough for a busy machine; of allocations
 * the exact number, which changes with the code and is then written down anew.
 */
@Tag("full")
final class RegressionGateTest {
  private static final String LOCK = "jmh.ignoreLock";
  private static final int ROUNDS = 2;

  @TempDir Path folder;

  private static JsonNode bounds() throws IOException {
    try (InputStream content = RegressionGateTest.class.getResourceAsStream("bounds.json")) {
      return Console.json().readTree(content);
    }
  }

  @Test
  void ratios_of_a_quick_simulator_suite_are_within_their_bounds() throws IOException {
    JsonNode bounds = bounds();
    Map<String, Double> best = new LinkedHashMap<>();
    JmhRunner jmh = new JmhRunner(folder.resolve("log"), List.of("-XX:+UseSerialGC"));
    System.setProperty(LOCK, "true"); // a ratio bears another benchmark on this machine
    try {
      for (int round = 0; round < ROUNDS; round++) {
        for (Map.Entry<String, JsonNode> one : bounds.path("operations").properties()) {
          best.merge(one.getKey(), time(jmh, one.getKey(), one.getValue()), Math::min);
        }
      }
    } finally {
      System.clearProperty(LOCK);
    }
    List<Executable> checks = new ArrayList<>();
    for (JsonNode ratio : bounds.path("ratios")) {
      double value = best.get(ratio.path("time").asText()) / best.get(ratio.path("over").asText());
      System.out.printf(
          "%s over %s: %.3f%n", ratio.path("time").asText(), ratio.path("over").asText(), value);
      checks.add(
          () ->
              assertTrue(
                  value <= ratio.path("most").asDouble(),
                  () ->
                      "%s takes %.3f times as long as %s, at most %s is right: %s; all, in seconds: %s"
                          .formatted(
                              ratio.path("time").asText(),
                              value,
                              ratio.path("over").asText(),
                              ratio.path("most").asText(),
                              ratio.path("because").asText(),
                              best)));
    }
    assertTrue(checks.size() >= 5, "bounds.json has lost its ratios");
    assertAll(checks);
  }

  /** Seconds of one operation in the best iteration: noise only ever adds. */
  private static double time(JmhRunner jmh, String name, JsonNode operation) {
    Map<String, String> parameters = new TreeMap<>();
    operation
        .path("parameters")
        .properties()
        .forEach(entry -> parameters.put(entry.getKey(), entry.getValue().asText()));
    boolean shots = operation.path("benchmark").asText().startsWith("Start");
    ArrayNode results =
        jmh.run(
            new Item.Benchmark(
                name,
                name,
                operation.path("benchmark").asText(),
                parameters,
                new Effort(1, shots ? 1 : 2, 3, 150),
                2));
    JsonNode metric = results.path(0).path("primaryMetric");
    String unit = metric.path("scoreUnit").asText();
    double least = Double.POSITIVE_INFINITY;
    for (JsonNode value : metric.path("rawData").path(0)) {
      least =
          Math.min(
              least,
              switch (unit) {
                case "ops/s" -> 1 / value.asDouble();
                case "ms/op" -> value.asDouble() / 1e3;
                case "us/op" -> value.asDouble() / 1e6;
                case "ns/op" -> value.asDouble() / 1e9;
                default -> throw new AssertionError(name + " is measured in " + unit);
              });
    }
    return least;
  }

  @Test
  void an_operation_allocates_exactly_what_it_did() throws IOException, InterruptedException {
    Process probe =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xint",
                "-XX:+UseSerialGC",
                "-Dholdfast.cache=" + folder,
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                AllocationProbe.class.getName())
            .redirectError(Redirect.INHERIT)
            .start();
    String said = new String(probe.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, probe.waitFor(), said);
    Map<String, Long> found = new TreeMap<>();
    for (String line : said.lines().toList()) {
      String[] parts = line.split("\t");
      found.put(parts[0], Long.parseLong(parts[1]));
    }
    Map<String, Long> stored = new TreeMap<>();
    bounds()
        .path("allocations")
        .properties()
        .forEach(entry -> stored.put(entry.getKey(), entry.getValue().asLong()));

    assertEquals(
        stored,
        found,
        "bytes that one operation allocates; when that is meant, write it down in bounds.json");
  }
}
