package io.holdfast.bench.experiment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.bench.tool.Console;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Every experiment runs on the simulator, small, and says in JSON what it found. */
final class ExperimentsTest {
  /** What an experiment did. */
  private record Run(int code, List<JsonNode> lines, String notes) {
    List<JsonNode> of(String what) {
      return lines.stream().filter(line -> line.path("what").asText().equals(what)).toList();
    }
  }

  private static Run run(String... arguments) throws IOException {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code = Experiments.run(arguments, new PrintWriter(out, true), new PrintWriter(err, true));
    List<JsonNode> lines = new ArrayList<>();
    for (String line : out.toString().lines().toList()) {
      lines.add(Console.json().readTree(line));
    }
    return new Run(code, lines, err.toString());
  }

  @Test
  void an_unknown_name_is_refused_and_the_known_ones_are_named() throws IOException {
    Run run = run("no-such");
    assertEquals(2, run.code());
    assertTrue(run.notes().contains("extensible"), run.notes());
    assertTrue(run.lines().isEmpty());
  }

  @Test
  void a_start_is_measured_each_round_and_summed_up() throws IOException {
    Run run = run("start", "--bytes", "4MiB", "--pages", "base", "--rounds", "3");
    assertEquals(0, run.code(), run.notes());
    assertEquals(3, run.of("turn").size());
    JsonNode sum = run.of("openToReady").getFirst();
    assertEquals("holdfast", sum.path("who").asText());
    assertEquals(3, sum.path("seconds").path("all").size());
    assertTrue(sum.path("seconds").path("median").asDouble() > 0);
  }

  @Test
  void a_probe_has_a_control_and_both_phases_of_each_way() throws IOException {
    Run run = run("probe", "--bytes", "4MiB", "--rounds", "1");
    assertEquals(0, run.code(), run.notes());
    assertEquals(
        List.of(
            "idle idle",
            "paced pin",
            "paced release",
            "chunked pin",
            "chunked release",
            "unpaced pin",
            "unpaced release"),
        run.of("latency").stream()
            .map(line -> line.path("way").asText() + " " + line.path("phase").asText())
            .toList());
    assertTrue(
        run.of("claim").stream().noneMatch(claim -> claim.has("met")),
        "what a simulator takes says nothing of hardware");
  }

  @Test
  void extensible_memory_is_committed_grown_and_put_to_sleep_with_its_bytes_checked()
      throws IOException {
    Run run =
        run(
            "extensible",
            "--rounds",
            "1",
            "-P",
            "parts=commit,grow,sleep,cycles,export",
            "-P",
            "commitBytes=8m",
            "-P",
            "growFrom=4m",
            "-P",
            "growTo=16m",
            "-P",
            "steps=3",
            "-P",
            "sleepBytes=8m",
            "-P",
            "offloadBytes=4m",
            "-P",
            "cycleBytes=6m",
            "-P",
            "cycles=2");
    assertEquals(0, run.code(), run.notes());
    assertEquals(16L << 20, run.of("grow").getFirst().path("toBytes").asLong());
    assertEquals(0, run.of("cycles").getFirst().path("lostBytes").asLong());
    assertEquals(8L << 20, run.of("sleep").getFirst().path("returnedBytes").asLong());
  }

  @Test
  void copies_are_measured_on_every_path_and_two_devices_share_a_pool() throws IOException {
    Run run =
        run(
            "copies",
            "--bytes",
            "1MiB",
            "--rounds",
            "1",
            "-P",
            "blocks=64k",
            "-P",
            "bulkBlock=1m",
            "-P",
            "parts=bulk,scatter,merged,both");
    assertEquals(0, run.code(), run.notes());
    assertEquals(
        List.of("AUTO", "LOOP", "BATCH", "KERNEL"),
        run.of("scatter").stream()
            .filter(line -> line.path("direction").asText().equals("store"))
            .map(line -> line.path("path").asText())
            .toList());
    assertEquals(1, run.of("merged").getFirst().path("descriptors").asLong());
    Run devices = run("devices", "--bytes", "1MiB", "--rounds", "1");
    assertEquals(0, devices.code(), devices.notes());
    assertEquals(2, devices.of("devices").size());
  }

  @Test
  @Tag("full")
  void a_soak_moves_random_shapes_while_children_fork() throws IOException {
    Run run =
        run("soak", "--pages", "base", "--bytes", "8MiB", "-P", "batches=40", "-P", "forks=20");
    assertEquals(0, run.code(), run.notes());
    JsonNode soak = run.of("soak").getFirst();
    assertTrue(soak.path("batches").asLong() >= 40);
    assertEquals(20, soak.path("children").asLong());
    assertEquals(0, soak.path("mismatches").asLong());
  }

  @Test
  @Tag("full")
  void a_process_that_is_killed_leaves_nothing_and_the_next_is_served() throws IOException {
    Run run =
        run(
            "kill",
            "--pages",
            "base",
            "--bytes",
            "8MiB",
            "-P",
            "deviceBytes=16m",
            "-P",
            "moments=REGISTERED,FORKED",
            "-P",
            "manners=KILL,EXCEPTION");
    assertEquals(0, run.code(), run.notes());
    assertEquals(4, run.of("death").size());
    assertTrue(run.of("serve").stream().allMatch(line -> line.path("served").asBoolean()));
  }

  @Test
  @Tag("full")
  void plain_c_and_ranks_take_their_turns() throws IOException {
    Run populate = run("populate", "--bytes", "16MiB", "--rounds", "2", "--pages", "base");
    assertEquals(0, populate.code(), populate.notes());
    assertEquals(6, populate.of("populate").size());
    Run ranks = run("ranks", "--bytes", "8MiB", "--rounds", "1");
    assertEquals(0, ranks.code(), ranks.notes());
    assertEquals(2, ranks.of("ranks").size());
  }

  @Test
  @Tag("full")
  void a_submission_to_a_driver_that_does_nothing_allocates_nothing() throws IOException {
    Run run = run("submission", "--rounds", "2");
    assertEquals(0, run.code(), run.notes());
    assertEquals(6, run.of("submission").size());
  }
}
