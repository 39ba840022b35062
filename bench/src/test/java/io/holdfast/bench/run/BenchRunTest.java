package io.holdfast.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.bench.run.Item.Effort;
import io.holdfast.bench.run.Target.Scale;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.RefusedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A run that is cut short, taken up, and mixed up. */
final class BenchRunTest {
  private static final String LOCK = "jmh.ignoreLock";
  private static final Target TARGET =
      new Target("cpu-sim", true, Scale.QUICK, List.of("base"), 16, List.of());

  @TempDir Path folder;

  @BeforeAll
  static void besideOtherBuilds() {
    System.setProperty(LOCK, "true"); // another benchmark on this machine spoils no figure of ours
  }

  @AfterAll
  static void asBefore() {
    System.clearProperty(LOCK);
  }

  private BenchRun run(Target target) {
    BenchRun run = new BenchRun(new RunFolder(folder), target, "1", "2026-01-01T00:00:00Z");
    run.machine(Console.json().createObjectNode());
    return run;
  }

  private static Item planner(String id, String pageBytes) {
    return new Item.Benchmark(
        id,
        id,
        "PlannerBenchmark.toFirstCut",
        Map.of("pageBytes", pageBytes),
        new Effort(1, 0, 1, 20),
        1);
  }

  private static Item failing() {
    return new Item.Benchmark(
        "failing",
        "failing",
        "StartBenchmark.openToReady",
        Map.of("backendId", "no-such-backend"),
        new Effort(1, 0, 1, 20),
        1);
  }

  @Test
  @Tag("full")
  void a_run_goes_on_where_it_ended_and_tries_again_what_failed() throws IOException {
    Plan plan = new Plan(List.of(planner("a", "4096"), failing(), planner("b", "2097152")));
    List<String> said = new ArrayList<>();

    BenchRun.Outcome first = run(TARGET).go(plan, 0, said::add); // one item at least
    assertEquals(new BenchRun.Outcome(1, 0, 2), first);
    BenchRun second = run(TARGET);
    assertEquals(List.of("failing", "b"), second.left(plan).stream().map(Item::id).toList());
    assertEquals(new BenchRun.Outcome(2, 1, 1), second.go(plan, 600, said::add));

    assertEquals(List.of("failing"), run(TARGET).left(plan).stream().map(Item::id).toList());
    JsonNode items = new RunFolder(folder).run().orElseThrow().path("items");
    String problem = items.path("failing").path("problem").asText();
    assertTrue(problem.contains("no-such-backend"), problem);
    assertTrue(said.toString().contains("failed: "), said.toString());
    ArrayNode jmh = new RunFolder(folder).jmh();
    assertEquals(List.of("a", "b"), jmh.findValuesAsText("item"));
    assertTrue(jmh.get(0).path("primaryMetric").path("score").asDouble() > 0);
    assertFalse(jmh.toString().contains("/bin/java"), "a path of this machine is in the results");
    assertFalse(jmh.toString().contains(folder.toString()), "a path is in the results");
  }

  @Test
  void a_folder_holds_one_target_and_one_version() {
    run(TARGET);

    String other =
        assertThrows(
                RefusedException.class,
                () -> run(new Target("cpu-sim", true, Scale.FULL, List.of("base"), 16, List.of())))
            .getMessage();
    assertTrue(other.contains("another target"), other);
    String version =
        assertThrows(
                RefusedException.class,
                () -> new BenchRun(new RunFolder(folder), TARGET, "2", "now"))
            .getMessage();
    assertTrue(version.contains("a run of Holdfast 1, this is 2"), version);
  }

  @Test
  void an_experiment_that_runs_again_replaces_what_it_wrote() throws IOException {
    RunFolder run = new RunFolder(folder);
    ObjectNode line = Console.json().createObjectNode().put("what", "x");

    run.experiment("one", List.of(line.deepCopy().put("value", 1)));
    run.experiment("two", List.of(line.deepCopy().put("value", 2)));
    run.experiment("one", List.of(line.deepCopy().put("value", 3), line.deepCopy()));

    List<String> lines = Files.readAllLines(run.file(RunFolder.EXPERIMENTS));
    assertEquals(3, lines.size(), lines.toString());
    assertTrue(lines.getFirst().contains("\"two\""), lines.toString());
  }

  @Test
  void what_lies_where_on_this_machine_is_taken_out() throws IOException {
    ArrayNode results =
        (ArrayNode)
            Console.json()
                .readTree(
                    """
                    [{"benchmark": "a.B.c", "jvm": "/usr/lib/jvm/bin/java",
                      "jvmArgs": ["-Xmx1g", "-Djava.library.path=/home/someone/native"]}]
                    """);

    assertEquals(
        "[{\"benchmark\":\"a.B.c\",\"jvmArgs\":[\"-Xmx1g\"]}]",
        JmhRunner.withoutPaths(results).toString());
  }
}
