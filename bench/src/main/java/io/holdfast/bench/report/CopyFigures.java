package io.holdfast.bench.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.bench.report.Chart.Kind;
import io.holdfast.bench.report.Chart.Point;
import io.holdfast.bench.report.Chart.Role;
import io.holdfast.bench.report.Chart.Series;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;

/** Scattered blocks: rate by block size, path and direction, beside what the link can carry. */
final class CopyFigures {
  private static final List<String> PATHS = List.of("AUTO", "LOOP", "BATCH", "KERNEL", "PITCHED");

  private final List<RunData> runs;

  CopyFigures(List<RunData> runs) {
    this.runs = runs;
  }

  /** GB/s by block size in KiB of one path and direction, by JMH or in turn with plain C. */
  private static Map<Double, Spread> rates(RunData run, String path, String direction) {
    Map<Double, Spread> rates = new TreeMap<>();
    for (JsonNode result : run.jmh("CopyBenchmark")) {
      JsonNode params = result.path("params");
      if (!params.path("order").asText().equals("SAME")
          && params.path("path").asText().equals(path)
          && params.path("direction").asText().equals(direction)) {
        Spread.ofRawData(result.path("secondaryMetrics").path("megabytes"))
            .ifPresent(
                spread ->
                    rates.put(
                        params.path("blockKib").asDouble(), spread.map(value -> value / 1000)));
      }
    }
    rates.putAll(experiment(run, "holdfast", path, direction));
    return rates;
  }

  private static Map<Double, Spread> experiment(
      RunData run, String who, String path, String direction) {
    Map<Double, Spread> rates = new TreeMap<>();
    for (JsonNode line : scattered(run, who, path, direction)) {
      Spread.ofSamples(line.path("gbps"))
          .ifPresent(rate -> rates.put(line.path("blockBytes").asDouble() / 1024, rate));
    }
    return rates;
  }

  private static List<JsonNode> scattered(RunData run, String who, String path, String direction) {
    return run.experiments("scatter").stream()
        .filter(line -> line.path("who").asText().equals(who))
        .filter(line -> line.path("path").asText().equals(path))
        .filter(line -> line.path("direction").asText().equalsIgnoreCase(direction))
        .toList();
  }

  /** The figure that a rate is held against, and what it is. */
  private record Ceiling(String name, double gigabytesPerSecond) {}

  private static Ceiling ceiling(RunData run, String direction) {
    Optional<Double> plain = bulk(run, direction);
    if (plain.isPresent()) {
      return new Ceiling("plain C, bulk", plain.get());
    }
    Optional<Double> link = run.linkGigabytesPerSecond();
    if (link.isPresent()) {
      return new Ceiling("the link", link.get());
    }
    double best = 0;
    for (String path : PATHS) {
      for (Spread rate : rates(run, path, direction).values()) {
        best = Math.max(best, rate.median());
      }
    }
    return new Ceiling("the best of this run", best);
  }

  /** What plain C reaches in one piece, in the same run. */
  private static Optional<Double> bulk(RunData run, String direction) {
    return run.experiments("bulk").stream()
        .filter(line -> line.path("who").asText().equals("c"))
        .filter(line -> line.path("direction").asText().equalsIgnoreCase(direction))
        .map(line -> Spread.ofSamples(line.path("gbps")))
        .flatMap(Optional::stream)
        .map(Spread::median)
        .findFirst();
  }

  List<Chart> charts() {
    List<Chart> charts = new ArrayList<>();
    for (String direction : List.of("STORE", "LOAD")) {
      charts.add(curves(direction));
      charts.add(shares(direction));
    }
    charts.removeIf(Chart::isEmpty);
    return charts;
  }

  private static String words(String direction) {
    return direction.equals("STORE") ? "device to host" : "host to device";
  }

  private Chart curves(String direction) {
    Chart chart =
        new Chart(
            "copy-" + direction.toLowerCase(Locale.ROOT),
            "Scattered blocks, " + words(direction),
            "One batch of blocks whose host side is permuted: checked, submitted and waited for."
                + " Higher is better; bars at a point are the lowest and highest iteration.",
            Kind.CURVES,
            "GB/s",
            "block, KiB",
            List.of());
    for (int i = 0; i < runs.size(); i++) {
      RunData run = runs.get(i);
      TreeSet<Double> sizes = new TreeSet<>();
      for (String path : PATHS) {
        Map<Double, Spread> rates = rates(run, path, direction);
        sizes.addAll(rates.keySet());
        chart.add(new Series(name(run, path), i, path, Role.OURS, points(rates)));
      }
      for (String path : runs.size() == 1 ? PATHS : List.<String>of()) { // else it is a thicket
        Map<Double, Spread> rates = experiment(run, "c", path, direction);
        chart.add(new Series(name(run, "C " + path), i, path, Role.YARDSTICK, points(rates)));
      }
      if (!sizes.isEmpty() && !run.simulated()) {
        Ceiling ceiling = ceiling(run, direction);
        Spread flat =
            new Spread(
                ceiling.gigabytesPerSecond(),
                ceiling.gigabytesPerSecond(),
                ceiling.gigabytesPerSecond(),
                1);
        chart.add(
            new Series(
                name(run, ceiling.name()),
                i,
                "ceiling",
                Role.CEILING,
                List.of(new Point(sizes.first(), flat), new Point(sizes.last(), flat))));
      }
    }
    return chart;
  }

  private Chart shares(String direction) {
    TreeSet<Double> sizes = new TreeSet<>();
    runs.forEach(run -> sizes.addAll(rates(run, "AUTO", direction).keySet()));
    List<Double> order = List.copyOf(sizes);
    List<String> ceilings =
        runs.stream().map(run -> ceiling(run, direction).name()).distinct().toList();
    Chart chart =
        new Chart(
            "share-" + direction.toLowerCase(Locale.ROOT),
            "Share of the ceiling, " + words(direction),
            "What AUTO reaches of " + String.join(", or ", ceilings) + ".",
            Kind.BARS,
            "%",
            "",
            order.stream().map(size -> Spread.size(size) + " KiB").toList());
    for (int i = 0; i < runs.size(); i++) {
      RunData run = runs.get(i);
      double ceiling = ceiling(run, direction).gigabytesPerSecond();
      List<Point> points = new ArrayList<>();
      rates(run, "AUTO", direction)
          .forEach(
              (size, rate) ->
                  points.add(
                      new Point(order.indexOf(size), rate.map(value -> 100 * value / ceiling))));
      chart.add(new Series(name(run, "AUTO"), i, "AUTO", Role.OURS, points));
    }
    return chart;
  }

  /** The smallest and the largest blocks by AUTO, both ways. */
  List<Headline> headlines() {
    List<Headline> lines = new ArrayList<>();
    for (RunData run : runs) {
      for (String direction : List.of("STORE", "LOAD")) {
        TreeMap<Double, Spread> rates = new TreeMap<>(rates(run, "AUTO", direction));
        if (rates.isEmpty()) {
          continue;
        }
        Ceiling ceiling = ceiling(run, direction);
        double largest = rates.lastEntry().getValue().median();
        lines.add(
            new Headline(
                Spread.number(largest) + " GB/s",
                name(
                    run,
                    "scattered blocks of "
                        + Spread.size(rates.lastKey())
                        + " KiB, "
                        + words(direction)
                        + (run.simulated()
                            ? ""
                            : ", "
                                + Math.round(100 * largest / ceiling.gigabytesPerSecond())
                                + " % of "
                                + ceiling.name()))));
      }
    }
    return lines;
  }

  List<Table> tables() {
    List<Table> tables = new ArrayList<>();
    for (RunData run : runs) {
      for (String direction : List.of("STORE", "LOAD")) {
        table(run, direction).ifPresent(tables::add);
      }
      submission(run).ifPresent(tables::add);
    }
    return tables;
  }

  /** What the caller's thread spends, by path. */
  private Optional<Table> submission(RunData run) {
    List<String> paths = new ArrayList<>();
    for (String path : PATHS) {
      if (!submitted(run, path, "STORE").isEmpty()) {
        paths.add(path);
      }
    }
    if (paths.isEmpty()) {
      return Optional.empty();
    }
    List<String> columns = new ArrayList<>(List.of("block"));
    for (String path : paths) {
      columns.add(path + " store");
      columns.add(path + " load");
    }
    TreeSet<Double> sizes = new TreeSet<>();
    paths.forEach(path -> sizes.addAll(submitted(run, path, "STORE").keySet()));
    List<List<String>> rows = new ArrayList<>();
    for (double size : sizes) {
      List<String> row = new ArrayList<>(List.of(Spread.size(size) + " KiB"));
      for (String path : paths) {
        for (String direction : List.of("STORE", "LOAD")) {
          Double nanos = submitted(run, path, direction).get(size);
          row.add(nanos == null ? "–" : Spread.number(nanos));
        }
      }
      rows.add(row);
    }
    return Optional.of(
        new Table(
            name(run, "Submission, ns for each descriptor"),
            "What the caller's thread spends on one batch over its descriptors: checks, merging,"
                + " the driver's calls. One batch, not a median.",
            columns,
            rows));
  }

  private static Map<Double, Double> submitted(RunData run, String path, String direction) {
    Map<Double, Double> nanos = new TreeMap<>();
    for (JsonNode line : scattered(run, "holdfast", path, direction)) {
      if (line.path("descriptors").asLong() > 0) {
        nanos.put(
            line.path("blockBytes").asDouble() / 1024,
            line.path("submitNanos").asDouble() / line.path("descriptors").asDouble());
      }
    }
    return nanos;
  }

  private Optional<Table> table(RunData run, String direction) {
    List<String> paths =
        PATHS.stream().filter(path -> !rates(run, path, direction).isEmpty()).toList();
    if (paths.isEmpty()) {
      return Optional.empty();
    }
    TreeSet<Double> sizes = new TreeSet<>();
    paths.forEach(path -> sizes.addAll(rates(run, path, direction).keySet()));
    Ceiling ceiling = ceiling(run, direction);
    List<String> columns = new ArrayList<>(List.of("block"));
    columns.addAll(paths);
    columns.add("AUTO of the ceiling");
    List<List<String>> rows = new ArrayList<>();
    for (double size : sizes) {
      List<String> row = new ArrayList<>(List.of(Spread.size(size) + " KiB"));
      for (String path : paths) {
        Spread rate = rates(run, path, direction).get(size);
        row.add(rate == null ? "–" : rate.text());
      }
      Spread auto = rates(run, "AUTO", direction).get(size);
      row.add(
          auto == null
              ? "–"
              : Math.round(100 * auto.median() / ceiling.gigabytesPerSecond()) + " %");
      rows.add(row);
    }
    return Optional.of(
        new Table(
            name(run, "Scattered blocks, " + words(direction) + ", GB/s"),
            "Median and, in brackets, lowest and highest iteration. The ceiling is "
                + ceiling.name()
                + ": "
                + Spread.number(ceiling.gigabytesPerSecond())
                + " GB/s.",
            columns,
            rows));
  }

  private static List<Point> points(Map<Double, Spread> rates) {
    List<Point> points = new ArrayList<>();
    rates.forEach((size, rate) -> points.add(new Point(size, rate)));
    return points;
  }

  private String name(RunData run, String what) {
    return runs.size() == 1 ? what : run.name() + ": " + what;
  }
}
