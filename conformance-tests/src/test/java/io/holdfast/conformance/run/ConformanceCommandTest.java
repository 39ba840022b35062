package io.holdfast.conformance.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.conformance.Quarantine;
import io.holdfast.conformance.Rule;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Document;
import org.xml.sax.SAXException;

final class ConformanceCommandTest {
  @TempDir private Path folder;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String... arguments) {
    return Main.run(arguments, new PrintWriter(out, true), new PrintWriter(err, true));
  }

  @AfterEach
  void forgetWhatTheCommandSet() {
    System.clearProperty("holdfast.conformance.backend");
    System.clearProperty("holdfast.conformance.quarantine");
  }

  private JsonNode report(Path where) throws IOException {
    return Json.MAPPER.readTree(Files.readString(where.resolve("report.json")));
  }

  @Test
  void a_report_lists_every_rule_in_four_forms() throws IOException {
    Path report = folder.resolve("report");
    int code =
        run("--backend", "cpu-sim", "--rule", "MAP-03,DEV-02", "--report", report.toString());

    assertEquals(0, code, err.toString());
    JsonNode json = report(report);
    assertEquals(Rule.values().length, json.path("rules").size());
    assertEquals("PASSED", json.path("rules").path("MAP-03").asText());
    assertEquals("PASSED", json.path("rules").path("DEV-02").asText());
    assertEquals("NOT_RUN", json.path("rules").path("REG-01").asText());
    assertEquals(2, json.path("executed").asInt());
    assertEquals("cpu-sim", json.path("host").path("backend").asText());
    assertTrue(json.path("host").path("declaration").asText().matches("[0-9a-f]{16}"));
    assertFalse(json.path("declaration").isEmpty());
    assertTrue(
        Files.readString(report.resolve("report.md")).contains("| MAP-03 | MUST | PASSED |"));
    String page = Files.readString(report.resolve("report.html"));
    assertTrue(page.startsWith("<!doctype html>") && page.endsWith("</html>\n"));
    assertFalse(page.contains("http://") || page.contains("src="), "the page needs other files");
    assertTrue(page.contains("name=\"viewport\""), "a phone shows it small");
    assertFalse(page.contains("\n<table"), "a table that is too wide must scroll in its box");
    assertEquals(
        Files.getPosixFilePermissions(report.resolve("results.jsonl")),
        Files.getPosixFilePermissions(report.resolve("report.xml")),
        "whoever may read the results may read the report");
    Document xml = xml(report);
    assertEquals("2", xml.getDocumentElement().getAttribute("tests"));
    assertEquals("0", xml.getDocumentElement().getAttribute("failures"));
    assertEquals(2, xml.getElementsByTagName("testcase").getLength());
    assertTrue(out.toString().contains("2 tests run now, 2 in the report"), out.toString());
  }

  private static Document xml(Path report) {
    try {
      return DocumentBuilderFactory.newDefaultInstance()
          .newDocumentBuilder()
          .parse(report.resolve("report.xml").toFile());
    } catch (IOException | ParserConfigurationException | SAXException broken) {
      throw new AssertionError("report.xml cannot be read", broken);
    }
  }

  @Test
  void parts_come_together_and_a_stopped_run_goes_on() throws IOException {
    String report = folder.resolve("parts").toString();
    String[] rules = {"--backend", "cpu-sim", "--rule", "MAP-03,DEV-02,DEV-05", "--report", report};
    assertEquals(0, run(with(rules, "--part", "1/2")), err.toString());
    int first = report(Path.of(report)).path("executed").asInt();
    assertEquals(0, run(with(rules, "--part", "2/2")), err.toString());
    assertEquals(3, report(Path.of(report)).path("executed").asInt());
    assertTrue(first == 1 || first == 2, "a part is all of it: " + first);

    Path results = Path.of(report, "results.jsonl");
    List<String> lines = Files.readAllLines(results);
    assertEquals(4, lines.size());
    Files.write(results, lines.subList(0, 3));
    Files.writeString(results, "{\"test\":\"cut sho", StandardOpenOption.APPEND);
    assertEquals(0, run(with(rules, "--resume")), err.toString());
    assertTrue(out.toString().contains("1 tests run now, 3 in the report"), out.toString());
  }

  @Test
  void a_whole_run_forgets_what_was_there_and_a_part_of_another_one_is_refused()
      throws IOException {
    Path report = folder.resolve("again");
    assertEquals(0, run("--backend", "cpu-sim", "--rule", "MAP-03", "--report", report.toString()));
    String[] other = {"--backend", "cpu-sim", "--rule", "DEV-02", "--report", report.toString()};
    assertEquals(0, run(other));
    assertEquals("NOT_RUN", report(report).path("rules").path("MAP-03").asText());
    assertEquals("PASSED", report(report).path("rules").path("DEV-02").asText());

    assertEquals(2, run(with(other, "--strict", "--resume")));
    assertTrue(err.toString().contains("has results about something else"), err.toString());
    assertEquals(
        2,
        run("--backend", "cpu-sim:gb200", "--part", "1/2", "--report", report.toString()),
        err.toString());
    assertEquals(1, report(report).path("executed").asInt(), "the refused run changed the report");
  }

  @Test
  void a_part_without_a_test_is_no_error_and_rules_without_a_test_are() throws IOException {
    Path report = folder.resolve("few");
    String[] two = {
      "--backend", "cpu-sim", "--rule", "MAP-03,DEV-02", "--report", report.toString()
    };
    assertEquals(0, run(with(two, "--part", "3/3")), err.toString());
    assertEquals(0, report(report).path("executed").asInt());
    assertEquals(2, run("--backend", "cpu-sim", "--profile", "VMM", "--rule", "MAP-03"));
    assertTrue(err.toString().contains("no test is chosen"), err.toString());
  }

  @Test
  void the_command_to_do_it_again_is_one_that_a_shell_takes() throws IOException {
    Path report = folder.resolve("command");
    Path known = Files.writeString(folder.resolve("it's known"), "# none\n");
    String[] arguments = {"--backend", "cpu-sim", "--rule", "map-03", "--profile", "core"};
    assertEquals(
        0,
        run(with(arguments, "--quarantine", known.toString(), "--report", report.toString())),
        err.toString());
    String command = report(report).path("command").asText();
    assertTrue(
        command.contains(
            "./holdfast conformance --backend cpu-sim --profile CORE --rule MAP-03 --quarantine '"),
        command);
    assertTrue(command.contains("/it'\\''s known'"), command);
  }

  @Test
  void a_quarantine_that_cannot_be_read_is_told_before_anything_is_run() throws IOException {
    String[] rule = {"--backend", "cpu-sim", "--rule", "MAP-03", "--quarantine"};
    assertEquals(2, run(with(rule, folder.resolve("not-there").toString())));
    Path wrong =
        Files.writeString(folder.resolve("wrong"), "MAP-77 https://i.example/1 2030-01-01");
    assertEquals(2, run(with(rule, wrong.toString())));
    assertTrue(err.toString().contains("there is no rule 'MAP-77'"), err.toString());
    Path day = Files.writeString(folder.resolve("day"), "MAP-03 https://i.example/1#c2 soon # why");
    assertEquals(2, run(with(rule, day.toString())));
    assertTrue(err.toString().contains("YYYY-MM-DD, not 'soon'"), err.toString());
  }

  private static String[] with(String[] some, String... more) {
    String[] all = Arrays.copyOf(some, some.length + more.length);
    System.arraycopy(more, 0, all, some.length, more.length);
    return all;
  }

  @Test
  void two_reports_are_compared_rule_by_rule() {
    String one = folder.resolve("one").toString();
    String other = folder.resolve("other").toString();
    run("--backend", "cpu-sim", "--rule", "MAP-03", "--report", one);
    run("--backend", "cpu-sim", "--rule", "DEV-02", "--report", other);

    assertEquals(0, run("compare", one, one));
    assertEquals(1, run("compare", one, other));
    assertTrue(out.toString().contains("MAP-03: PASSED -> NOT_RUN"), out.toString());
    assertTrue(out.toString().contains("DEV-02: NOT_RUN -> PASSED"), out.toString());
    assertEquals(2, run("compare", one, folder.resolve("nothing").toString()));
  }

  @Test
  void what_makes_no_sense_is_a_usage_error() {
    assertEquals(2, run());
    assertEquals(2, run("--backend", "cpu-sim", "--part", "3/2"));
    assertEquals(2, run("--backend", "cpu-sim", "--part", "0/2"));
    assertEquals(2, run("--backend", "cpu-sim", "--rule", "NO-99"));
    assertEquals(2, run("--backend", "cpu-sim", "--profile", "NONE"));
    assertEquals(2, run("--backend", "cpu-sim", "--backend-path", folder.resolve("x").toString()));
    assertEquals(1, run("--backend", "nobody-has-this"));
    assertTrue(err.toString().contains("nobody-has-this"), err.toString());
  }

  @Test
  void what_this_host_cannot_show_is_a_skip_and_under_strict_a_failure() throws IOException {
    String report = folder.resolve("skips").toString();
    String[] rule = {"--backend", "cpu-sim", "--rule", "STR-09", "--report", report};
    assertEquals(0, run(rule), err.toString());
    JsonNode told = report(Path.of(report));
    assertEquals("SKIPPED", told.path("rules").path("STR-09").asText());
    assertTrue(told.path("tests").get(0).path("reason").asText().contains("an engine"));
    assertEquals("1", xml(Path.of(report)).getDocumentElement().getAttribute("skipped"));
    assertEquals(1, run(with(rule, "--strict")));
    Document strict = xml(Path.of(report));
    assertEquals("1", strict.getDocumentElement().getAttribute("failures"));
    String trace = strict.getElementsByTagName("failure").item(0).getTextContent();
    assertTrue(trace.contains("\tat io.holdfast.conformance"), trace);
    assertEquals("FAILED", report(Path.of(report)).path("rules").path("STR-09").asText());
  }

  @Test
  void discovery_is_judged_where_the_backend_is_found_by_it() throws IOException {
    String report = folder.resolve("found").toString();
    String rules = "DSC-01,DSC-02,DSC-03,DSC-04";
    assertEquals(
        0, run("--backend", "cpu-sim:gb200", "--rule", rules, "--report", report), err.toString());
    for (String rule : rules.split(",")) {
      assertEquals("PASSED", report(Path.of(report)).path("rules").path(rule).asText(), rule);
    }
  }

  @Test
  void the_catalogue_is_printed_without_a_backend() {
    assertEquals(0, run("--catalogue"));
    assertTrue(out.toString().contains("| REG-03 | MUST |"));
  }

  @Test
  void a_quarantine_needs_an_issue_and_a_day() {
    LocalDate today = LocalDate.now(ZoneOffset.UTC);
    assertEquals(today, Quarantine.parse("REG-03 https://issues.example/1 " + today).until());
    for (String wrong : List.of("REG-03", "REG-03 issue", "XXX-99 issue " + today, "REG-03 a b")) {
      assertThrows(RuntimeException.class, () -> Quarantine.parse(wrong), wrong);
    }
  }
}
