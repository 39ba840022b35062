package io.holdfast.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.bench.tool.Console;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Signals, ranks and first uses, in processes of their own. */
@EnabledOnOs(value = OS.LINUX, disabledReason = "needs POSIX signals")
final class SignalTest {
  @ParameterizedTest
  @CsvSource({"INT, 130", "TERM, 143"})
  void a_signal_during_soak_closes_cleanly_and_tells_by_the_exit_code(String signal, int code)
      throws Exception {
    Process soak = soak("--seconds=600", "--bytes=8MiB", "--json");
    try (BufferedReader err = lines(soak);
        Ending _ = () -> end(soak)) {
      awaitReady(err);
      signal(soak.pid(), signal);
      assertTrue(soak.waitFor(60, TimeUnit.SECONDS), "soak did not end after SIG" + signal);
      JsonNode result = Console.json().readTree(soak.getInputStream());

      assertEquals(code, soak.exitValue());
      assertEquals(0, result.path("mismatches").asLong(-1));
      assertEquals(0, result.path("leaks").asLong(-1), result::toPrettyString);
      assertTrue(result.path("roundTrips").asLong() > 0, result::toPrettyString);
    }
  }

  @ParameterizedTest
  @CsvSource({"INT, 130, 1", "TERM, 143, 1", "INT, 130, 2"})
  void a_signal_while_a_pool_is_populated_ends_it_before_it_is_ready(
      String signal, int code, int ranks) throws Exception {
    assumeTrue(kibibytes("/proc/meminfo", "MemAvailable") > (6L << 20), "needs 6 GiB of memory");
    Process soak = soak("--seconds=600", "--bytes=" + 4 / ranks + "GiB", "--ranks=" + ranks);
    try {
      CompletableFuture<String> err = CompletableFuture.supplyAsync(() -> text(soak.errorReader()));
      CompletableFuture<String> out = CompletableFuture.supplyAsync(() -> text(soak.inputReader()));
      awaitPopulating(soak, ranks);
      List<ProcessHandle> children = soak.descendants().toList();
      signal(soak.pid(), signal);
      assertTrue(soak.waitFor(60, TimeUnit.SECONDS), "soak did not end after SIG" + signal);

      assertEquals(code, soak.exitValue(), () -> out.join() + err.join());
      assertFalse((out.join() + err.join()).contains("ready after"), () -> out.join() + err.join());
      assertTrue(err.join().contains("stopped before the pool was complete"), err::join);
      assertFalse(err.join().contains("\tat "), err::join);
      children.forEach(child -> assertFalse(child.isAlive(), "a rank is left behind"));
    } finally {
      end(soak);
    }
  }

  /** Until every rank has some of its pool, far from all. */
  private static void awaitPopulating(Process soak, int ranks) throws Exception {
    long populating = 0;
    while (populating < ranks && soak.isAlive()) {
      TimeUnit.MILLISECONDS.sleep(5);
      populating =
          (ranks == 1 ? Stream.of(soak.toHandle()) : soak.descendants())
              .filter(one -> kibibytes("/proc/" + one.pid() + "/status", "VmRSS") > 256 << 10)
              .count();
    }
  }

  private static long kibibytes(String file, String field) {
    try (Stream<String> lines = Files.lines(Path.of(file))) {
      return lines
          .filter(line -> line.startsWith(field + ":"))
          .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
          .findFirst()
          .orElse(0);
    } catch (IOException | UncheckedIOException _) { // it has ended
      return 0;
    }
  }

  private static String text(BufferedReader reader) {
    return reader.lines().collect(Collectors.joining("\n"));
  }

  @Test
  void two_ranks_report_each_for_itself_and_in_sum() throws Exception {
    Process soak = soak("--seconds=0.2", "--bytes=4MiB", "--ranks=2", "--json");
    JsonNode result = Console.json().readTree(soak.getInputStream());

    assertTrue(soak.waitFor(60, TimeUnit.SECONDS));
    assertEquals(0, soak.exitValue(), result::toPrettyString);
    assertEquals(2, result.path("ranks").size());
    assertEquals(0, result.path("ranks").get(0).path("rank").asInt(-1));
    assertEquals(1, result.path("ranks").get(1).path("rank").asInt(-1));
    assertEquals(
        result.path("ranks").get(0).path("roundTrips").asLong()
            + result.path("ranks").get(1).path("roundTrips").asLong(),
        result.path("roundTrips").asLong());
    assertEquals(2 * (4L << 20), result.path("logicalBytes").asLong());
  }

  @Test
  void numbers_have_the_same_digits_in_every_language() throws Exception {
    Process soak =
        soak(List.of("-Duser.language=ar", "-Duser.country=EG"), "--seconds=0.2", "--bytes=4MiB");
    try (BufferedReader err = lines(soak);
        Ending _ = () -> end(soak)) {
      String all =
          new String(soak.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
              + err.lines().collect(Collectors.joining("\n"));

      assertTrue(soak.waitFor(60, TimeUnit.SECONDS));
      assertTrue(all.contains("ready after"), all);
      assertTrue(all.chars().allMatch(letter -> letter < 128), all);
    }
  }

  @Test
  void a_signal_to_the_parent_of_ranks_ends_all_of_them_cleanly() throws Exception {
    Process soak = soak("--seconds=600", "--bytes=4MiB", "--ranks=2", "--json");
    try (BufferedReader err = lines(soak);
        Ending _ = () -> end(soak)) {
      awaitReady(err);
      List<ProcessHandle> ranks = soak.descendants().toList();
      assertEquals(2, ranks.size());
      signal(soak.pid(), "INT");
      assertTrue(soak.waitFor(60, TimeUnit.SECONDS), "the parent did not end");
      JsonNode result = Console.json().readTree(soak.getInputStream());

      assertEquals(130, soak.exitValue());
      assertEquals(2, result.path("ranks").size(), result::toPrettyString);
      assertEquals(0, result.path("mismatches").asLong(-1));
      assertEquals(0, result.path("leaks").asLong(-1));
      for (ProcessHandle rank : ranks) {
        assertFalse(rank.isAlive(), "rank " + rank.pid() + " is left behind");
      }
    }
  }

  /** Before the pipes are closed: while a child holds one, closing it waits for its reader. */
  private interface Ending extends AutoCloseable {
    @Override
    void close();
  }

  private static void end(Process soak) {
    soak.descendants().forEach(ProcessHandle::destroyForcibly);
    soak.destroyForcibly();
  }

  private static Process soak(String... options) throws IOException {
    return soak(List.of(), options);
  }

  private static Process soak(List<String> machine, String... options) throws IOException {
    // As the launcher does: who starts the tests may ignore SIGINT, and children would, too.
    List<String> command = new ArrayList<>(List.of("env", "--default-signal=INT"));
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1"));
    command.addAll(machine);
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.addAll(List.of(Holdfast.class.getName(), "soak", "--backend=cpu-sim"));
    command.addAll(List.of(options));
    return new ProcessBuilder(command).redirectError(Redirect.PIPE).start();
  }

  private static BufferedReader lines(Process process) {
    return new BufferedReader(
        new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8));
  }

  /** Until a pool is open, then a little of its work. */
  private static void awaitReady(BufferedReader err) throws Exception {
    StringBuilder seen = new StringBuilder();
    String line = err.readLine();
    while (line != null && !line.startsWith("ready after")) {
      seen.append(line).append('\n');
      line = err.readLine();
    }
    assertTrue(line != null, () -> "soak ended before its pool was ready:\n" + seen);
    Thread.ofPlatform().daemon().start(() -> drain(err));
    TimeUnit.MILLISECONDS.sleep(300);
  }

  private static void drain(BufferedReader err) {
    try {
      while (err.readLine() != null) {
        // so that nobody blocks on a full pipe
      }
    } catch (IOException _) { // closed by the test
    }
  }

  private static void signal(long pid, String name) throws Exception {
    assertEquals(0, new ProcessBuilder("kill", "-" + name, Long.toString(pid)).start().waitFor());
  }
}
