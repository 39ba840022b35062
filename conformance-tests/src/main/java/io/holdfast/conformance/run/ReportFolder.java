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
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Where a report grows. Each result is written down as it comes, so that a run that was stopped
 * goes on where it was, and parts that were run apart come together.
 */
final class ReportFolder {
  private static final String RESULTS = "results.jsonl";

  private final Path folder;
  private final Map<String, Result> results = new LinkedHashMap<>();
  private final Set<String> cut = new HashSet<>();

  private ReportFolder(Path folder) {
    this.folder = folder;
  }

  /** What becomes of results that a folder has already. */
  enum Earlier {
    /** They are part of this report, and must be about the same. */
    KEEP,
    /** They are forgotten. */
    FORGET
  }

  /**
   * Opens a folder.
   *
   * @param folder where; made if it is not there
   * @param head what the results are about
   * @param earlier what becomes of results that are there
   * @throws IllegalStateException where results about something else are to be kept
   */
  static ReportFolder open(Path folder, String head, Earlier earlier) {
    ReportFolder opened = new ReportFolder(folder);
    try {
      Files.createDirectories(folder);
      Path file = folder.resolve(RESULTS);
      String there = earlier == Earlier.KEEP ? firstLine(file) : "";
      if (there.isEmpty()) {
        Files.writeString(file, head + "\n");
      } else if (there.equals(head)) {
        endLine(file);
      } else {
        throw new IllegalStateException(
            folder + " has results about something else: '" + there + "', not '" + head + "'");
      }
      opened.readAll();
    } catch (IOException failed) {
      throw new UncheckedIOException("the report folder " + folder, failed);
    }
    return opened;
  }

  private static String firstLine(Path file) throws IOException {
    if (!Files.exists(file)) {
      return "";
    }
    try (Stream<String> lines = Files.lines(file)) {
      return lines.findFirst().orElse("");
    }
  }

  /** A run that was stopped as it wrote leaves half a line: the next result begins a new one. */
  private static void endLine(Path file) throws IOException {
    if (!Files.readString(file).endsWith("\n")) {
      Files.writeString(file, "\n", StandardOpenOption.APPEND);
    }
  }

  /** Other parts may write at the same time. */
  private void readAll() throws IOException {
    List<String> lines = Files.readAllLines(folder.resolve(RESULTS));
    lines.subList(1, lines.size()).stream().filter(line -> !line.isBlank()).forEach(this::read);
  }

  /** A line that was cut short by the end of its run is no result. */
  private void read(String line) {
    try {
      JsonNode node = Json.MAPPER.readTree(line);
      Result result = Json.result(node);
      results.put(result.test(), result);
    } catch (JsonProcessingException | IllegalArgumentException cutShort) {
      if (cut.add(line)) {
        System.getLogger(ReportFolder.class.getName())
            .log(System.Logger.Level.INFO, "a result that cannot be read is run again: " + line);
      }
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

  /** All results, those that other parts have added meanwhile included. */
  synchronized Collection<Result> results() {
    try {
      readAll();
    } catch (IOException failed) {
      throw new UncheckedIOException("the results of " + folder, failed);
    }
    return new ArrayList<>(results.values());
  }

  void write(Report report) {
    put("report.json", Json.indented(report.toJson()) + "\n");
    put("report.md", MarkdownReport.of(report));
    put("report.html", HtmlReport.of(report));
    put("report.xml", XmlReport.of(report));
  }

  /** Whoever reads meanwhile sees the old one or the new one. */
  private void put(String name, String content) {
    try {
      Path next = folder.resolve(name + "." + ProcessHandle.current().pid() + ".new");
      Files.writeString(next, content);
      Files.move(next, folder.resolve(name), StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException failed) {
      throw new UncheckedIOException(name + " could not be written to " + folder, failed);
    }
  }
}
