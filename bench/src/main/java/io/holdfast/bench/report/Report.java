package io.holdfast.bench.report;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.samskivert.mustache.Mustache;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.conformance.run.FileTrouble;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** One page about one run or several. */
public final class Report {
  private static final String CHARTS = "echarts.common.min.js";

  private final List<RunData> runs;
  private final List<Section> sections = new ArrayList<>();
  private final List<Map<String, String>> headlines = new ArrayList<>();

  /** A heading with charts and tables below it. */
  private record Section(String id, String title, List<Chart> charts, List<Table> tables) {}

  private Report(List<RunData> runs) {
    this.runs = runs;
    StartFigures starts = new StartFigures(runs);
    add("start", "Start", starts.charts(), starts.tables());
    CopyFigures copies = new CopyFigures(runs);
    add("copies", "Copies", copies.charts(), copies.tables());
    LatencyFigures latencies = new LatencyFigures(runs);
    add("latency", "Neighbours", latencies.charts(), latencies.tables());
    Stream.of(starts.headlines(), copies.headlines(), latencies.headlines())
        .flatMap(List::stream)
        .forEach(one -> headlines.add(Map.of("figure", one.figure(), "what", one.what())));
    Overview overview = new Overview(runs);
    List<Table> rest = new ArrayList<>(overview.claims());
    rest.addAll(overview.experiments());
    rest.addAll(overview.benchmarks());
    add("all", "All figures", List.of(), rest);
    add("failed", "What failed", List.of(), overview.notRun());
    add("published", "For orientation", List.of(), List.of(Published.table()));
  }

  /**
   * A report.
   *
   * @param folders of runs, or zips of them
   * @return what can be written as a page
   * @throws RefusedException when one is no run, or two have the same name
   */
  public static Report of(List<Path> folders) {
    List<RunData> runs = folders.stream().map(RunData::read).toList();
    Set<String> names = new HashSet<>();
    for (RunData run : runs) {
      if (!names.add(run.name())) {
        throw new RefusedException(
            "two runs are called " + run.name() + ": rename one folder, its name tells them apart");
      }
    }
    return new Report(runs);
  }

  private void add(String id, String title, List<Chart> charts, List<Table> tables) {
    if (!charts.isEmpty() || !tables.isEmpty()) {
      sections.add(new Section(id, title, charts, tables));
    }
  }

  /**
   * Writes one HTML file that needs no other.
   *
   * @param file to be replaced
   */
  public void html(Path file) {
    write(file, render("report.html.mustache", true));
  }

  /**
   * Writes the tables as Markdown.
   *
   * @param file to be replaced
   */
  public void markdown(Path file) {
    write(file, render("report.md.mustache", false));
  }

  private static void write(Path file, String content) {
    try {
      Files.writeString(file, content, StandardCharsets.UTF_8);
    } catch (IOException failure) {
      throw new RefusedException(file + " cannot be written: " + FileTrouble.reason(failure));
    }
  }

  private String render(String template, boolean html) {
    Mustache.Compiler compiler = Mustache.compiler().escapeHTML(html).defaultValue("");
    return compiler.compile(resource(template)).execute(context(html));
  }

  private Map<String, Object> context(boolean html) {
    Map<String, Object> context = new HashMap<>();
    context.put("title", runs.stream().map(RunData::name).collect(Collectors.joining(", ")));
    context.put(
        "devices",
        runs.stream()
            .map(run -> run.device() + (run.simulated() ? " (SIMULATED)" : ""))
            .distinct()
            .collect(Collectors.joining(", ")));
    context.put("version", runs.getFirst().run().path("holdfast").asText(""));
    context.put("started", runs.getFirst().run().path("started").asText(""));
    context.put("simulated", runs.stream().anyMatch(RunData::simulated));
    context.put("headlines", headlines.isEmpty() ? List.of() : List.of(Map.of("lines", headlines)));
    context.put("sections", sections.stream().map(section -> section(section, html)).toList());
    context.put("machines", table(new Overview(runs).machines(), html));
    if (html) {
      context.put("script", resource("report.js"));
      context.put("style", resource("report.css"));
      context.put("library", resource(CHARTS));
      context.put("data", data());
    }
    return context;
  }

  private static Map<String, Object> section(Section section, boolean html) {
    return Map.of(
        "id",
        section.id(),
        "heading",
        section.title(),
        "charts",
        section.charts().stream()
            .map(chart -> Map.of("id", chart.id(), "title", chart.title(), "note", chart.note()))
            .toList(),
        "tables",
        section.tables().stream().map(table -> table(table, html)).toList());
  }

  private static Map<String, Object> table(Table table, boolean html) {
    List<Map<String, Object>> rows =
        table.rows().stream()
            .map(
                row ->
                    Map.<String, Object>of(
                        "first",
                        cell(row.getFirst(), html),
                        "cells",
                        row.subList(1, row.size()).stream().map(cell -> cell(cell, html)).toList()))
            .toList();
    return Map.of(
        "title",
        table.title(),
        "note",
        table.note(),
        "hasNote",
        !table.note().isEmpty(),
        "columns",
        table.columns().stream().map(column -> cell(column, html)).toList(),
        "rows",
        rows,
        "long",
        table.rows().size() > 12);
  }

  /** A bar ends a cell of Markdown. */
  private static String cell(String text, boolean html) {
    return html ? text : text.replace("|", "\\|");
  }

  /** The charts as JSON that cannot end the script element it stands in. */
  private String data() {
    ObjectNode data = Console.json().createObjectNode();
    ArrayNode charts = data.putArray("charts");
    sections.forEach(section -> section.charts().forEach(chart -> charts.add(chart.toJson())));
    data.put("runs", runs.size());
    try {
      return Console.json()
          .writer()
          .without(com.fasterxml.jackson.databind.SerializationFeature.INDENT_OUTPUT)
          .writeValueAsString(data)
          .replace("<", "\\u003c");
    } catch (JsonProcessingException impossible) {
      throw new AssertionError("a tree of plain nodes can always be written", impossible);
    }
  }

  private static String resource(String name) {
    try (InputStream content = Report.class.getResourceAsStream(name)) {
      if (content == null) {
        throw new IOException("the jar has no " + name);
      }
      return new String(content.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }
}
