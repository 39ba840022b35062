package io.holdfast.bench.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.bench.report.Chart.Kind;
import io.holdfast.bench.report.Chart.Point;
import io.holdfast.bench.report.Chart.Role;
import io.holdfast.bench.report.Chart.Series;
import java.util.ArrayList;
import java.util.List;

/** How another thread's driver calls fare while memory is pinned and released. */
final class LatencyFigures {
  private final List<RunData> runs;

  LatencyFigures(List<RunData> runs) {
    this.runs = runs;
  }

  List<Chart> charts() {
    Chart chart =
        new Chart(
            "latency",
            "Other threads' calls while memory is pinned",
            "A small copy and a wait at a fixed pace, each latency counted from when it was due, so"
                + " that a stall counts for every call it held up. Lower is better.",
            Kind.LATENCIES,
            "ms",
            "percentile",
            List.of());
    for (int i = 0; i < runs.size(); i++) {
      for (JsonNode line : runs.get(i).experiments("latency")) {
        List<Point> points = new ArrayList<>();
        for (JsonNode pair : line.path("percentilesMs")) {
          double millis = pair.path(1).asDouble();
          points.add(new Point(pair.path(0).asDouble(), new Spread(millis, millis, millis, 1)));
        }
        String way = way(line);
        chart.add(
            new Series(
                name(runs.get(i), way),
                i,
                way,
                way.equals("idle") ? Role.YARDSTICK : Role.OURS,
                points));
      }
    }
    return chart.isEmpty() ? List.of() : List.of(chart);
  }

  private static String way(JsonNode line) {
    String way = line.path("way").asText();
    String phase = line.path("phase").asText();
    return way.equals(phase) ? way : way + ", " + phase;
  }

  /** What the default budget leaves of a stall. */
  List<Headline> headlines() {
    List<Headline> lines = new ArrayList<>();
    for (RunData run : runs) {
      for (JsonNode line : run.experiments("latency")) {
        if (way(line).equals("paced, pin")) {
          Spread.ofSamples(line.path("p99Ms"))
              .ifPresent(
                  p99 ->
                      lines.add(
                          new Headline(
                              Spread.number(p99.median()) + " ms",
                              name(run, "p99 of another thread's calls while memory is pinned"))));
        }
      }
    }
    return lines;
  }

  List<Table> tables() {
    List<List<String>> rows = new ArrayList<>();
    for (RunData run : runs) {
      for (JsonNode line : run.experiments("latency")) {
        rows.add(
            List.of(
                name(run, way(line)),
                text(line, "p50Ms"),
                text(line, "p99Ms"),
                text(line, "worstMs"),
                text(line, "seconds"),
                line.path("samples").asText("–")));
      }
    }
    return rows.isEmpty()
        ? List.of()
        : List.of(
            new Table(
                "Other threads' calls, ms",
                "Median of the rounds and, in brackets, lowest and highest round.",
                List.of("while", "p50", "p99", "worst", "took, s", "calls"),
                rows));
  }

  private static String text(JsonNode line, String key) {
    return Spread.ofSamples(line.path(key)).map(Spread::text).orElse("–");
  }

  private String name(RunData run, String what) {
    return runs.size() == 1 ? what : run.name() + ": " + what;
  }
}
