package io.holdfast.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.bench.run.RunFolder;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.RefusedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A page from figures that are easy to check by head. */
final class ReportTest {
  @TempDir Path folder;

  /**
   * 64 KiB blocks: AUTO 40 GB/s of the 50 that plain C reaches; a start 1.5 times as fast as C's
   * best.
   */
  private Path run(String name, String device) throws IOException {
    Path run = Files.createDirectories(folder.resolve(name));
    Files.writeString(
        run.resolve(RunFolder.RUN),
        """
        {"format": 1, "holdfast": "1.2.3", "started": "2026-01-02T03:04:05Z",
         "target": {"backend": "cuda", "simulated": false, "scale": "full"},
         "items": {"good": {"title": "good", "state": "done"},
                   "bad": {"title": "LOOP of 1 KiB", "state": "failed", "problem": "no <room>"}}}
        """);
    Files.writeString(
        run.resolve(RunFolder.MACHINE),
        """
        {"cpu": {"model": "A processor", "threads": 8}, "kernel": "6.8",
         "backend": {"id": "cuda", "version": "580", "devices": [{"name": DEVICE, "pci": "0000:01:00.0"}]},
         "accelerators": [{"pci": "0000:01:00.0",
            "currentLink": {"generation": 5, "width": 16, "gigabytesPerSecond": 63.015}}]}
        """
            .replace("DEVICE", Console.json().writeValueAsString(device)));
    Files.writeString(
        run.resolve(RunFolder.JMH),
        """
        [{"benchmark": "io.holdfast.bench.CopyBenchmark.batch", "mode": "thrpt",
          "params": {"backendId": "cuda", "path": "AUTO", "direction": "STORE", "blockKib": "64"},
          "primaryMetric": {"score": 10, "scoreUnit": "ops/s", "rawData": [[10, 11, 9]]},
          "secondaryMetrics": {"megabytes": {"rawData": [[40000, 41000, 39000]]},
             "gc.alloc.rate.norm": {"rawData": [[0.0, 0.0, 0.0]]}}}]
        """);
    Files.writeString(
        run.resolve(RunFolder.EXPERIMENTS),
        """
        {"what": "bulk", "who": "c", "direction": "store", "gbps": {"all": [50.0, 50.1, 49.9]}}
        {"what": "openToReady", "pages": "2m", "who": "holdfast", "bytes": 17179869184, "seconds": {"all": [0.8, 0.79, 0.81]}}
        {"what": "openToReady", "pages": "2m", "who": "c-pipeline-4-256MiB", "bytes": 17179869184, "seconds": {"all": [1.2]}}
        {"what": "openToReady", "pages": "2m", "who": "c-pipeline-2-256MiB", "bytes": 17179869184, "seconds": {"all": [1.6]}}
        {"what": "openToReady", "pages": "2m", "who": "c-simple", "bytes": 17179869184, "seconds": {"all": [4.0]}}
        {"what": "latency", "way": "paced", "phase": "pin", "samples": 100, "p50Ms": {"all": [0.1]}, "p99Ms": {"all": [0.3]}, "worstMs": {"all": [0.9]}, "seconds": {"all": [0.5]}, "percentilesMs": [[50, 0.1], [99, 0.3], [100, 0.9]]}
        {"what": "claim", "claim": "p99", "value": 0.3, "atMost": 0.6, "met": true}
        """);
    return run;
  }

  private String html(Path... runs) throws IOException {
    Path page = folder.resolve("page.html");
    Report.of(List.of(runs)).html(page);
    return Files.readString(page);
  }

  private static JsonNode data(String html) throws IOException {
    Matcher data =
        Pattern.compile(
                "<script type=\"application/json\" id=\"data\">(.*?)</script>", Pattern.DOTALL)
            .matcher(html);
    assertTrue(data.find());
    return Console.json().readTree(data.group(1));
  }

  @Test
  void figures_stand_beside_their_ceiling() throws IOException {
    String html = html(run("one", "A device"));

    assertTrue(
        html.contains("<th scope=\"row\">64 KiB</th><td>40.0 (39.0–41.0)</td><td>80 %</td>"));
    assertTrue(
        html.contains(
            "<th scope=\"row\">2 MiB HugeTLB</th><td>20.0 (19.8–20.3)</td><td>13.3</td>"
                + "<td>1.50</td><td>4.00</td><td>5.00</td>"));
    assertTrue(html.contains("80 % of plain C, bulk"));
    assertTrue(html.contains("PCIe 5 x16, 63.0 GB/s each way"));
    JsonNode charts = data(html).path("charts");
    assertEquals(
        List.of("start", "copy-store", "share-store", "latency"), charts.findValuesAsText("id"));
    JsonNode curves = charts.get(1).path("series");
    assertEquals("[[64.0,40.0,39.0,41.0]]", curves.get(0).path("points").toString());
    assertEquals("CEILING", curves.get(1).path("role").asText());
    assertEquals(50.0, curves.get(1).path("points").get(0).get(1).asDouble());
    assertEquals(80.0, charts.get(2).path("series").get(0).path("points").get(0).get(1).asDouble());
  }

  @Test
  void the_page_needs_nothing_but_itself() throws IOException {
    String html = html(run("one", "A device"));
    String own = html.replaceAll("(?s)<script>.*?</script>", "");

    assertTrue(
        html.contains("Licensed to the Apache Software Foundation"), "the library's licence");
    for (String outside : List.of("src=", "<link", "@import", "url(", "http://", "https://")) {
      assertFalse(own.contains(outside), outside);
    }
    for (String word : List.of("prefers-color-scheme: dark", "name=\"viewport\"", "lang=\"en\"")) {
      assertTrue(own.contains(word), word);
    }
  }

  @Test
  void whatever_a_machine_is_called_stays_text() throws IOException {
    String html = html(run("a<b>&c", "</script><script>alert(1)</script>"));

    assertFalse(html.contains("<script>alert"));
    assertFalse(html.contains("a<b>&c"));
    assertTrue(html.contains("a&lt;b&gt;&amp;c"));
    assertTrue(html.contains("no &lt;room&gt;"), "what failed is told");
    assertEquals(1, data(html).path("runs").asInt());
  }

  @Test
  void runs_are_compared_and_told_apart_by_their_names() throws IOException {
    String html = html(run("one", "A device"), run("two", "Another device"));

    assertTrue(html.contains("<th scope=\"row\">two: 2 MiB HugeTLB</th>"));
    assertEquals(
        List.of("one: AUTO", "two: AUTO"),
        data(html).path("charts").get(2).path("series").findValuesAsText("name"));
    Path same = run("x/one", "A device");
    String why =
        assertThrows(RefusedException.class, () -> html(run("one", "A device"), same)).getMessage();
    assertTrue(why.contains("two runs are called one"), why);
  }

  @Test
  void a_zip_of_a_run_reads_like_the_run() throws IOException {
    Path run = run("one", "A device");
    String fromFolder = html(run);

    Path zip = new RunFolder(run).pack();

    assertEquals(fromFolder, html(zip));
    assertEquals("one.zip", zip.getFileName().toString());
  }

  @Test
  void what_is_no_run_is_refused() throws IOException {
    Path empty = Files.createDirectories(folder.resolve("empty"));

    for (Path wrong : List.of(empty, folder.resolve("nowhere"))) {
      assertThrows(RefusedException.class, () -> Report.of(List.of(wrong)));
    }
  }

  @Test
  void markdown_has_the_same_tables_and_every_row_its_columns() throws IOException {
    Path file = folder.resolve("page.md");
    Report.of(List.of(run("one", "A | device"))).markdown(file);
    List<String> lines = Files.readAllLines(file);

    assertTrue(lines.contains("| 64 KiB | 40.0 (39.0–41.0) | 80 % |"), lines.toString());
    assertTrue(lines.stream().anyMatch(line -> line.contains("A \\| device")), lines.toString());
    int columns = 0;
    for (String line : lines) {
      int cells = line.replace("\\|", "").split("\\|", -1).length;
      if (!line.startsWith("|")) {
        columns = 0;
      } else if (columns == 0) {
        columns = cells;
      } else {
        assertEquals(columns, cells, line);
      }
    }
  }
}
