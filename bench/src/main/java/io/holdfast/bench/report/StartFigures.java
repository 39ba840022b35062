package io.holdfast.bench.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.bench.report.Chart.Kind;
import io.holdfast.bench.report.Chart.Point;
import io.holdfast.bench.report.Chart.Role;
import io.holdfast.bench.report.Chart.Series;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** From "open a pool" to "every slot usable", by kind of page, beside plain C and PyTorch. */
final class StartFigures {
  private static final String HOLDFAST = "Holdfast";
  private static final String BEST_C = "plain C, best pipeline";
  private static final String SIMPLE_C = "plain C, simple";
  private static final double GIB = 1L << 30;

  private final List<RunData> runs;

  StartFigures(List<RunData> runs) {
    this.runs = runs;
  }

  /** GiB made ready in a second, by kind of page and by who did it. */
  private static Map<String, Map<String, Spread>> rates(RunData run) {
    Map<String, Map<String, Spread>> byPages = new LinkedHashMap<>();
    for (JsonNode result : run.jmh("StartBenchmark")) {
      if (!result.path("benchmark").asText().endsWith(".openToReady")) {
        continue;
      }
      JsonNode params = result.path("params");
      double gib = params.path("poolMib").asDouble() / 1024;
      Spread.ofRawData(result.path("primaryMetric"))
          .ifPresent(
              millis ->
                  byPages
                      .computeIfAbsent(
                          pages(params.path("pages").asText()), _ -> new LinkedHashMap<>())
                      .put(HOLDFAST, millis.map(value -> gib * 1000 / value)));
    }
    for (JsonNode line : run.experiments("openToReady")) {
      double gib = line.path("bytes").asDouble() / GIB;
      Optional<Spread> rate =
          Spread.ofSamples(line.path("seconds")).map(seconds -> seconds.map(value -> gib / value));
      if (rate.isPresent()) {
        Map<String, Spread> who =
            byPages.computeIfAbsent(pages(line.path("pages").asText()), _ -> new LinkedHashMap<>());
        who.merge(
            who(line.path("who").asText()),
            rate.get(),
            (a, b) ->
                line.path("who").asText().equals("holdfast") || b.median() > a.median() ? b : a);
      }
    }
    return byPages;
  }

  private static String who(String name) {
    return switch (name) {
      case "holdfast" -> HOLDFAST;
      case "c-simple" -> SIMPLE_C;
      default -> name.startsWith("c-pipeline") ? BEST_C : name;
    };
  }

  private static String pages(String name) {
    return switch (name.toLowerCase(Locale.ROOT)) {
      case "2m", "2mb", "2097152" -> "2 MiB HugeTLB";
      case "1g", "1gb", "1073741824" -> "1 GiB HugeTLB";
      case "thp" -> "THP";
      default -> name;
    };
  }

  private static Optional<Spread> torch(RunData run) {
    return run.experiments("pinMemory").stream()
        .filter(line -> line.has("seconds"))
        .map(
            line ->
                Spread.ofSamples(line.path("seconds"))
                    .map(
                        seconds ->
                            seconds.map(value -> line.path("bytes").asDouble() / GIB / value)))
        .flatMap(Optional::stream)
        .findFirst();
  }

  List<Chart> charts() {
    Set<String> kinds = new LinkedHashSet<>();
    runs.forEach(run -> kinds.addAll(rates(run).keySet()));
    List<String> order = new ArrayList<>(kinds);
    boolean torch = runs.stream().anyMatch(run -> torch(run).isPresent());
    if (torch) {
      order.add("PyTorch's own pages");
    }
    Chart chart =
        new Chart(
            "start",
            "Start of a pool",
            "From opening a pool to its last slot being pinned and proven. Higher is better.",
            Kind.BARS,
            "GiB/s",
            "",
            order);
    for (int i = 0; i < runs.size(); i++) {
      RunData run = runs.get(i);
      Map<String, Map<String, Spread>> rates = rates(run);
      for (String who : List.of(HOLDFAST, BEST_C, SIMPLE_C)) {
        List<Point> points = new ArrayList<>();
        rates.forEach(
            (pages, byWho) -> {
              Spread rate = byWho.get(who);
              if (rate != null) {
                points.add(new Point(order.indexOf(pages), rate));
              }
            });
        chart.add(
            new Series(
                name(run, who), i, who, who.equals(HOLDFAST) ? Role.OURS : Role.YARDSTICK, points));
      }
      Optional<Spread> allocated = torch(run);
      if (allocated.isPresent()) {
        chart.add(
            new Series(
                name(run, "PyTorch"),
                i,
                "PyTorch",
                Role.YARDSTICK,
                List.of(new Point(order.size() - 1, allocated.get()))));
      }
    }
    return chart.isEmpty() ? List.of() : List.of(chart);
  }

  /** The fastest start of each run, beside the best C where there is one. */
  List<Headline> headlines() {
    List<Headline> lines = new ArrayList<>();
    for (RunData run : runs) {
      Map<String, Map<String, Spread>> rates = rates(run);
      rates.entrySet().stream()
          .filter(entry -> entry.getValue().containsKey(HOLDFAST))
          .max(Comparator.comparingDouble(entry -> ours(entry.getValue())))
          .ifPresent(
              best -> {
                Spread other = best.getValue().get(BEST_C);
                lines.add(
                    new Headline(
                        Spread.number(ours(best.getValue())) + " GiB/s",
                        name(
                            run,
                            "start of a pool on "
                                + best.getKey()
                                + " pages"
                                + (other == null
                                    ? ""
                                    : ", "
                                        + Spread.number(ours(best.getValue()) / other.median())
                                        + " times plain C's best pipeline"))));
              });
    }
    return lines;
  }

  private static double ours(Map<String, Spread> byWho) {
    Spread rate = byWho.get(HOLDFAST);
    return rate == null ? 0 : rate.median();
  }

  List<Table> tables() {
    List<List<String>> rows = new ArrayList<>();
    for (RunData run : runs) {
      rates(run)
          .forEach(
              (pages, byWho) -> {
                Spread ours = byWho.get(HOLDFAST);
                if (ours == null) {
                  return;
                }
                List<String> row = new ArrayList<>();
                row.add(name(run, pages));
                row.add(ours.text());
                for (String who : List.of(BEST_C, SIMPLE_C)) {
                  Spread other = byWho.get(who);
                  row.add(other == null ? "–" : other.text());
                  row.add(other == null ? "–" : Spread.number(ours.median() / other.median()));
                }
                rows.add(row);
              });
    }
    return rows.isEmpty()
        ? List.of()
        : List.of(
            new Table(
                "Start of a pool, GiB/s",
                "Higher is better; \"times\" is Holdfast over plain C. Median and, in brackets,"
                    + " lowest and highest.",
                List.of("pages", HOLDFAST, BEST_C, "times", SIMPLE_C, "times"),
                rows));
  }

  private String name(RunData run, String what) {
    return runs.size() == 1 ? what : run.name() + ": " + what;
  }
}
