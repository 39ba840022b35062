package io.holdfast.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.backend.cpusim.SimProfile;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.ExitCode;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The command as a script sees it: exit code, standard output, the rest. */
final class CommandTest {
  @TempDir Path folder;

  private record Run(int code, String out, String err) {
    JsonNode json() {
      try {
        return Console.json().readTree(out);
      } catch (JsonProcessingException wrong) {
        throw new AssertionError("no JSON on standard output: " + out, wrong);
      }
    }
  }

  private static Run run(String... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code = Holdfast.run(arguments, new PrintWriter(out), new PrintWriter(err));
    return new Run(code, out.toString(), err.toString());
  }

  @Test
  void backends_shows_every_backend_and_ends_well_when_one_is_usable() {
    Run run = run("backends", "--json");

    assertEquals(ExitCode.OK, run.code(), run.err());
    assertEquals(
        List.of("cpu-sim", "cuda", "hip"),
        run.json().path("backends").findValuesAsText("id").stream().sorted().toList());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "fly",
        "soak --bytes 1GB",
        "soak --bytes 0",
        "soak --bytes",
        "soak --block-bytes 2MiB --bytes 1MiB",
        "soak --pages 3MB",
        "soak --pages huge",
        "soak --numa bind:",
        "soak --numa bind:x",
        "soak --numa inherit:0",
        "soak --numa weighted:0",
        "soak --threads 0",
        "soak --ranks 0",
        "soak --forks -1",
        "soak --seconds -1",
        "soak --seconds nan",
        "soak --pages base --directory /dev/shm",
        "doctor --ranks 2",
        "doctor --bytes-per-rank 1GiB --ranks 0",
        "doctor --bytes-per-rank 1GiB --pages driver",
        "doctor --bytes-per-rank 8388607TiB --ranks 2000",
        "doctor --root no-such-folder",
        "doctor --compare one.json",
        "doctor --compare no-such.json neither.json",
        "bench --quick --full",
        "bench --part 0/2",
        "bench --part 3/2",
        "bench --part all",
        "bench --minutes 0",
        "bench --pages 3MB",
        "replay",
        "replay no-such.jfr",
        "replay pom.xml",
        "report",
        "report somewhere",
        "report somewhere --out page.html",
        "plan",
        "plan --bytes 1GiB",
        "plan --geometry no-such-file.json",
        "plan --bytes 1MiB --block-bytes 2MiB --page 4096 --limit 1GiB",
        "plan --bytes 1MiB --block-bytes 4096 --page 3000 --limit 1GiB",
        "plan --bytes 1MiB --block-bytes 4096 --page 4096 --limit 4095"
      })
  void what_makes_no_sense_is_one_clear_line_and_2(String line) {
    Run run = run(line.isEmpty() ? new String[0] : line.split(" "));

    assertEquals(ExitCode.USAGE, run.code(), run.err());
    assertTrue(run.err().startsWith("holdfast: "), run.err());
    assertFalse(run.err().contains("\tat "), run.err());
    assertEquals("", run.out());
  }

  @Test
  void every_given_case_of_the_plan_file_is_reproduced() throws IOException {
    Path file = Path.of("../api/src/test/resources/io/holdfast/pin/registration-plans.json");
    JsonNode expected = Console.json().readTree(file.toFile()).path("cases");

    Run run = run("plan", "--geometry", file.toString(), "--json");

    assertEquals(ExitCode.OK, run.code(), run.err());
    JsonNode answers = run.json();
    assertEquals(52, answers.size());
    for (int i = 0; i < expected.size(); i++) {
      JsonNode want = expected.get(i);
      JsonNode got = answers.get(i);
      String name = want.path("name").asText();
      assertEquals(name, got.path("name").asText());
      assertEquals(want.path("infeasibleAt"), got.path("infeasibleAt"), name);
      assertEquals(want.path("registrations"), got.path("registrations"), name);
      assertEquals(want.path("pageCutsOnly"), got.path("pageCutsOnly"), name);
      JsonNode cuts = want.path("cuts");
      if (cuts.isArray()) {
        assertEquals(cuts, got.path("cuts"), name);
      } else if (cuts.isObject()) {
        assertEquals(cuts.path("first"), got.path("cuts").get(0), name);
        assertEquals(cuts.path("last"), got.path("cuts").get(got.path("cuts").size() - 1), name);
      } else {
        assertTrue(got.path("cuts").isMissingNode(), name + " is infeasible and has cuts");
      }
      assertTrue(got.path("default").path("registrations").asLong() > 0, name);
      assertTrue(got.path("default").path("cuts").isArray(), name);
    }
  }

  @Test
  void an_infeasible_plan_ends_with_3_and_says_what_would_work() {
    Run run =
        run(
            "plan",
            "--bytes",
            "300GiB",
            "--block-bytes",
            "73728",
            "--page",
            "1GiB",
            "--limit",
            "1GiB");

    assertEquals(ExitCode.INFEASIBLE, run.code());
    assertTrue(run.out().contains("infeasible"), run.out());
    assertTrue(run.out().contains("would work"), run.out());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{",
        "[]",
        "{\"cases\": []}",
        "[1]",
        "{\"mappedBytes\": 4096}",
        "{\"mappedBytes\": \"4096\", \"backingPageBytes\": 4096, \"maxRegistrationBytes\": 4096}",
        "{\"mappedBytes\": 1e30, \"backingPageBytes\": 4096, \"maxRegistrationBytes\": 4096}",
        "{\"mappedBytes\": 4096, \"backingPageBytes\": 4096, \"maxRegistrationBytes\": 4096,"
            + " \"planes\": {}}",
        "{\"mappedBytes\": 4096, \"backingPageBytes\": 4096, \"maxRegistrationBytes\": 4096,"
            + " \"planes\": [{\"offset\": 0, \"strideBytes\": 0, \"blocks\": 1}]}",
        "{\"mappedBytes\": 4096, \"backingPageBytes\": 4096, \"maxRegistrationBytes\": 4096} {}"
      })
  void a_geometry_that_makes_no_sense_is_one_clear_line_and_2(String text) throws IOException {
    Path file = Files.writeString(folder.resolve("geometry.json"), text);

    Run run = run("plan", "--geometry", file.toString());

    assertEquals(ExitCode.USAGE, run.code(), run.err());
    assertFalse(run.err().contains("\tat "), run.err());
  }

  @Test
  void soak_moves_blocks_and_reports_all_that_was_asked_for() {
    Run run =
        run(
            "soak",
            "--backend",
            "cpu-sim",
            "--bytes",
            "4MiB",
            "--block-bytes",
            "20000",
            "--seconds",
            "0.3",
            "--forks",
            "3",
            "--json");

    assertEquals(ExitCode.OK, run.code(), run.err());
    JsonNode found = run.json();
    assertEquals("cpu-sim", found.path("backend").asText());
    assertTrue(found.path("simulated").asBoolean());
    assertEquals("base pages", found.path("pages").asText());
    assertEquals((4 << 20) / 20000 * 20000, found.path("logicalBytes").asLong());
    assertEquals(0, found.path("mappedBytes").asLong() % 4096);
    assertEquals(found.path("mappedBytes"), found.path("registeredBytes"));
    assertTrue(found.path("registrations").asLong() >= 1);
    assertTrue(found.path("readyMillis").asDouble() > 0);
    assertTrue(found.path("roundTrips").asLong() > 0);
    assertTrue(found.path("bytesMoved").asLong() >= 2 * 20000 * found.path("roundTrips").asLong());
    assertTrue(found.path("gbps").path("d2h").asDouble() > 0);
    assertTrue(found.path("gbps").path("h2d").asDouble() > 0);
    assertEquals(0, found.path("mismatches").asLong(-1));
    assertEquals(3, found.path("forks").asLong());
    assertEquals(0, found.path("leaks").asLong(-1));
    assertEquals(1, found.path("ranks").size());
  }

  @Test
  void soak_runs_on_memory_that_the_driver_allocated_pinned() {
    Run run =
        run(
            "soak",
            "--backend",
            "cpu-sim",
            "--pages",
            "driver",
            "--bytes",
            "1MiB",
            "--seconds",
            "0",
            "--json");

    assertEquals(ExitCode.OK, run.code(), run.err());
    assertEquals(1 << 20, run.json().path("registeredBytes").asLong());
    assertTrue(run.err().contains("no call pins or unpins it"), run.err());
  }

  @Test
  void soak_runs_with_a_block_of_one_byte_and_a_pool_of_one_block() {
    assertEquals(
        ExitCode.OK,
        run("soak", "--backend", "cpu-sim", "--bytes", "1", "--block-bytes", "1", "--seconds", "0")
            .code());
  }

  @ParameterizedTest
  @ValueSource(strings = {"soak", "doctor", "bench", "replay pom.xml", "experiment start"})
  void a_blank_backend_is_one_clear_line_and_2(String command) {
    List<String> line = new ArrayList<>(List.of(command.split(" ", -1)));
    line.addAll(List.of("--backend", ""));

    Run run = run(line.toArray(String[]::new));

    assertEquals(ExitCode.USAGE, run.code(), run.err());
    assertTrue(run.err().contains("must not be blank"), run.err());
    assertFalse(run.err().contains("\tat "), run.err());
  }

  @Test
  void a_simulated_host_has_simulated_pages() {
    String[] small = {"--bytes=1MiB", "--seconds=0", "--json"};
    String none = run("soak", "--backend=cpu-sim", small[0], small[1], small[2]).err();
    String whole = run("soak", "--backend=cpu-sim:h200", small[0], small[1], small[2]).err();

    assertTrue(none.contains("host pages are real where this is Linux"), none);
    assertTrue(whole.contains("so are the host and its pages"), whole);
  }

  @Test
  void soak_names_an_unknown_backend_and_ends_with_1() {
    Run run = run("soak", "--backend", "abacus");

    assertEquals(ExitCode.FAILED, run.code());
    assertTrue(run.err().contains("abacus"), run.err());
    assertTrue(run.err().contains("cpu-sim"), "the transcript is missing: " + run.err());
  }

  @Test
  void soak_refuses_pages_that_are_not_there_with_the_shortfall() {
    Run run =
        run("soak", "--backend", "cpu-sim", "--pages", "2MB", "--bytes", "16TiB", "--seconds", "0");

    assertEquals(ExitCode.FAILED, run.code());
    assertTrue(run.err().contains("8388608"), "the needed pages are missing: " + run.err());
    assertTrue(run.err().contains("nr_hugepages"), "the remedy is missing: " + run.err());
  }

  private static String said(String... arguments) {
    Run run = run(arguments);
    assertNotEquals(ExitCode.OK, run.code(), run.err());
    return run.err();
  }

  @Test
  void a_slip_of_the_pen_is_met_with_what_was_meant() {
    assertTrue(said("sok").contains("soak"), said("sok"));
    assertTrue(said("soak", "--byte=1GiB").contains("--bytes"), said("soak", "--byte=1GiB"));
  }

  @Test
  void no_message_has_two_prefixes() {
    for (String line : List.of("plan", "plan --bytes 1GiB", "soak --bytes")) {
      String said = said(line.split(" ", -1));
      assertTrue(said.startsWith("holdfast: "), said);
      assertFalse(said.contains("Error:"), said);
    }
  }

  @Test
  void a_field_that_is_not_there_is_called_missing() throws IOException {
    Path file = Files.writeString(folder.resolve("geometry.json"), "{\"mappedBytes\": 4096}");

    String said = said("plan", "--geometry", file.toString());

    assertTrue(said.contains("'backingPageBytes', 'maxRegistrationBytes' are missing"), said);
    assertFalse(said.contains("not "), said);
  }

  @Test
  void all_that_a_case_lacks_is_said_at_once() throws IOException {
    String text =
        """
        {"mappedBytes": 8192, "maxRegistrationBytes": 4096,
         "planes": [{"offset": 0, "strideBytes": 4096, "blocks": 1}, {"offset": 4096}]}
        """;
    Path file = Files.writeString(folder.resolve("geometry.json"), text);

    String said = said("plan", "--geometry", file.toString());

    assertTrue(
        said.contains(
            "geometry: 'backingPageBytes', 'strideBytes' of plane 1, 'blocks' of plane 1 are"
                + " missing"),
        said);
  }

  @Test
  void the_geometry_of_the_reference_is_one() throws IOException {
    String page = Files.readString(Path.of("../docs/reference.md"));
    int begin = page.indexOf("```json\n") + 8;
    Path file =
        Files.writeString(
            folder.resolve("geometry.json"), page.substring(begin, page.indexOf("```", begin)));

    Run run = run("plan", "--geometry", file.toString());

    assertEquals(ExitCode.OK, run.code(), run.err());
    assertTrue(run.out().startsWith("two parts, "), run.out());
    String help = run("plan", "--help").out();
    assertTrue(help.contains("\"maxRegistrationBytes\": N"), help);
  }

  @ParameterizedTest
  @CsvSource({
    "plan --geometry /no/such, there is no such file or folder",
    "plan --geometry FOLDER, it is a folder",
    "plan --geometry BROKEN, 'it is no JSON at line 2, column 1'",
    "doctor --compare BROKEN BROKEN, 'it is no JSON at line 2, column 1'",
    "doctor --compare /no/such /no/such, there is no such file or folder",
    "doctor --no-measure --backend cpu-sim:h200 --bundle /no/such/x, there is no such file",
    "bench --backend cpu-sim --pages base --bytes 1MiB --out BROKEN, it is a file and not a folder",
    "report RUN --out /no/such/x, 'jmh.json cannot be read: it is no JSON at line 1, column 3'",
    "report GOOD --out /no/such/x, there is no such file or folder",
    "report /no/such --out x, there is no /no/such",
    "conformance compare /no/such /no/such, there is no such file or folder",
    "conformance --backend cpu-sim --quarantine /no/such, there is no such file or folder",
    "conformance --backend cpu-sim --rule MAP-01 --backend-path BROKEN, neither a folder nor a jar"
  })
  void trouble_with_a_file_is_told_in_one_line(String line, String reason) throws IOException {
    Path broken = Files.writeString(folder.resolve("broken.json"), "{\n");
    Path run = Files.createDirectories(folder.resolve("run"));
    Files.writeString(run.resolve("run.json"), "{}");
    Files.writeString(run.resolve("jmh.json"), "[{");
    Path good = Files.createDirectories(folder.resolve("good"));
    Files.writeString(good.resolve("run.json"), "{}");

    String said =
        said(
            line.replace("FOLDER", folder.toString())
                .replace("BROKEN", broken.toString())
                .replace("RUN", run.toString())
                .replace("GOOD", good.toString())
                .split(" "));

    assertTrue(said.contains(reason), said);
    assertFalse(said.contains("Exception") || said.contains("Source: "), said);
    assertEquals(
        1,
        said.lines().filter(one -> !one.matches("(Try '|note: ).*")).count(),
        "one line: " + said);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "soak",
        "doctor",
        "bench --list",
        "conformance --rule MAP-01",
        "replay pom.xml",
        "experiment start"
      })
  void a_backend_that_is_not_there_is_refused_alike_everywhere(String command) {
    List<String> line = new ArrayList<>(List.of(command.split(" ", -1)));
    line.addAll(List.of("--backend", "abacus"));

    Run run = run(line.toArray(String[]::new));

    assertEquals(ExitCode.FAILED, run.code(), run.err());
    assertTrue(run.err().contains("abacus") && run.err().contains("cpu-sim"), run.err());
    assertFalse(run.err().contains("\tat "), run.err());
  }

  @Test
  void a_page_is_spelled_alike_where_it_is_asked_for() {
    for (String page : List.of("2MB", "2MiB", "2m", "2097152")) {
      Run run =
          run(
              "plan",
              "--bytes",
              "1GiB",
              "--block-bytes",
              "4096",
              "--page",
              page,
              "--limit",
              "64MiB");

      assertEquals(ExitCode.OK, run.code(), run.err());
    }
    assertTrue(said("soak", "--pages", "4KiB").contains("write base"), said("soak", "--pages=4KB"));
    assertTrue(said("soak", "--bytes", "1GB").contains("write 1GiB"), said("soak", "--bytes=1GB"));
    String large = said("soak", "--bytes", "99999999999999999999");
    assertTrue(large.contains("too large"), large);
  }

  @Test
  void a_shortage_is_told_in_words_of_the_command() {
    String said = said("soak", "--backend=cpu-sim", "--bytes=64TiB", "--seconds=0");

    assertTrue(said.contains("mapping the pool is short of memory"), said);
    assertTrue(said.contains("--limits advise"), said);
    assertFalse(said.contains("PageSource") || said.contains("ADVISE"), said);
  }

  @Test
  void what_is_only_advice_is_noted_and_the_pool_is_opened() throws IOException {
    String profile =
        """
        description = 64 MiB, of which a margin is kept
        driver = cuda-580
        host.release = 6.8.0-sim
        host.machine = x86_64
        host.base-page = 4KiB
        host.transparent-page = 2MiB
        host.transparent = madvise
        nodes = 0
        node.0.memory = 64MiB
        node.0.cpus = 0-1
        node.0.distances = 10
        devices = 1
        device.name = Small
        device.memory = 1GiB
        """;
    Files.writeString(folder.resolve("tight.properties"), profile);
    String[] line = "soak --backend=cpu-sim:tight --bytes=62MiB --seconds=0.1".split(" ");
    System.setProperty(SimProfile.FOLDER_PROPERTY, folder.toString());
    try {
      Run strict = run(line);
      Run advised =
          run(Stream.concat(Stream.of(line), Stream.of("--limits=advise")).toArray(String[]::new));

      assertEquals(ExitCode.FAILED, strict.code(), strict.out());
      assertEquals(ExitCode.OK, advised.code(), advised.err());
      assertTrue(advised.out().contains("limits are only advice: "), advised.out());
      assertTrue(advised.out().contains("plan: 1 registration of "), advised.out());
    } finally {
      System.clearProperty(SimProfile.FOLDER_PROPERTY);
    }
  }

  @Test
  void pages_are_and_a_file_system_is() {
    String said = said("soak", "--backend=cpu-sim", "--bytes=1MiB", "--pages=16KiB", "--seconds=0");

    assertTrue(said.contains("16 KiB HugeTLB pages are not supported here"), said);
  }

  @Test
  void one_is_not_plural_and_large_numbers_are_grouped() {
    Run run =
        run(
            "plan",
            "--bytes",
            "1GiB",
            "--block-bytes",
            "1GiB",
            "--page",
            "4096",
            "--limit",
            "1GiB");

    assertTrue(run.out().startsWith("1 block of 1,073,741,824 bytes\n"), run.out());
    assertTrue(run.out().contains("1 registration, 0 blocks over a cut"), run.out());
  }

  private static String soaked(String... more) {
    List<String> arguments = new ArrayList<>(List.of("soak", "--backend", "cpu-sim"));
    arguments.addAll(List.of("--bytes", "1MiB", "--seconds", "0"));
    arguments.addAll(List.of(more));
    return said(arguments.toArray(String[]::new));
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void a_directory_that_is_not_there_is_called_that() {
    String said = soaked("--directory", "/no/such/folder");

    assertTrue(said.contains("files in /no/such/folder are not supported here"), said);
    assertTrue(said.contains("there is no such directory"), said);
    assertFalse(said.contains("ENOENT"), said);
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void a_directory_on_another_file_system_is_refused_in_words_that_are_true_here() {
    String said = soaked("--directory", "/proc/self");

    assertTrue(said.contains("neither hugetlbfs nor tmpfs"), said);
    assertTrue(said.contains("a program can accept any file system"), said);
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void one_node_is_not_plural() {
    String said = soaked("--numa", "bind:777");

    assertTrue(said.contains("memory on node 777 is not supported here"), said);
    assertFalse(said.contains("nodes 0."), said);
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void what_is_far_too_large_still_says_what_there_is() {
    String said = said("soak", "--backend", "cpu-sim", "--bytes", "64TiB", "--seconds", "0");

    assertTrue(said.contains("available memory (MemAvailable of "), said);
    assertFalse(said.contains("available 0,"), said);
  }
}
