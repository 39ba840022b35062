package io.holdfast.conformance.run;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Where a report grows. Each result is written down as it comes, so that a run that was stopped
 * goes on where it was, and parts that were run apart come together.
 */
final class ReportFolder {
  private static final String RESULTS = "results.jsonl";

  private final Path folder;
  private final Map<String, Result> results = new LinkedHashMap<>();

  private ReportFolder(Path folder) {
    this.folder = folder;
  }

  /**
   * Opens a folder.
   *
   * @param folder where; made if it is not there
   * @param head what the results are about: results about something else are no part of this report
   */
  static ReportFolder open(Path folder, String head) {
    ReportFolder opened = new ReportFolder(folder);
    try {
      Files.createDirectories(folder);
      Path file = folder.resolve(RESULTS);
      if (Files.exists(file)) {
        List<String> lines = Files.readAllLines(file);
        if (!lines.isEmpty() && lines.getFirst().equals(head)) {
          lines.subList(1, lines.size()).forEach(opened::read);
          return opened;
        }
      }
      Files.writeString(file, head + "\n");
    } catch (IOException failed) {
      throw new UncheckedIOException("the report folder " + folder, failed);
    }
    return opened;
  }

  /** A line that was cut short by the end of its run is no result. */
  private void read(String line) {
    try {
      JsonNode node = Json.MAPPER.readTree(line);
      Result result = Json.result(node);
      results.put(result.test(), result);
    } catch (JsonProcessingException | IllegalArgumentException cutShort) {
      System.getLogger(ReportFolder.class.getName())
          .log(System.Logger.Level.INFO, "a result that cannot be read is run again: " + line);
    }
  }

  synchronized void add(Result result) {
    results.put(result.test(), result);
    try {
      Files.writeString(
          folder.resolve(RESULTS),
          Json.line(Json.of(result)) + "\n",
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    } catch (IOException failed) {
      throw new UncheckedIOException("a result could not be written to " + folder, failed);
    }
  }

  synchronized Collection<Result> results() {
    return new ArrayList<>(results.values());
  }

  void write(Report report) {
    put("report.json", Json.indented(report.toJson()) + "\n");
    put("report.md", MarkdownReport.of(report));
    put("report.html", HtmlReport.of(report));
  }

  /** Whoever reads meanwhile sees the old one or the new one. */
  private void put(String name, String content) {
    try {
      Path next = folder.resolve(name + ".new");
      Files.writeString(next, content);
      Files.move(next, folder.resolve(name), StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException failed) {
      throw new UncheckedIOException(name + " could not be written to " + folder, failed);
    }
  }
}
