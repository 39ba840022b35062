package io.holdfast.bench.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.bench.tool.ByteCount;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;

/** What the machines are, every benchmark in one table, claims, and what did not run. */
final class Overview {
  private final List<RunData> runs;

  Overview(List<RunData> runs) {
    this.runs = runs;
  }

  Table machines() {
    List<Map<String, String>> facts = runs.stream().map(Overview::facts).toList();
    List<String> names = new ArrayList<>();
    facts.forEach(
        one ->
            one.keySet()
                .forEach(
                    name -> {
                      if (!names.contains(name)) {
                        names.add(name);
                      }
                    }));
    List<String> columns = new ArrayList<>(List.of(""));
    runs.forEach(run -> columns.add(run.name()));
    List<List<String>> rows = new ArrayList<>();
    for (String name : names) {
      List<String> row = new ArrayList<>(List.of(name));
      facts.forEach(one -> row.add(one.getOrDefault(name, "–")));
      rows.add(row);
    }
    return new Table("Machines", "", columns, rows);
  }

  private static Map<String, String> facts(RunData run) {
    JsonNode machine = run.machine();
    Map<String, String> facts = new LinkedHashMap<>();
    facts.put("Holdfast", run.run().path("holdfast").asText("unknown"));
    facts.put("started", run.run().path("started").asText("unknown"));
    facts.put("scale", run.run().path("target").path("scale").asText("unknown"));
    facts.put("device", run.device() + (run.simulated() ? " (SIMULATED)" : ""));
    facts.put(
        "backend",
        machine.path("backend").path("id").asText("unknown")
            + ", "
            + machine.path("backend").path("version").asText("unknown"));
    link(run).ifPresent(link -> facts.put("link", link));
    String drivers = joined(machine.path("drivers"));
    if (!drivers.isEmpty()) {
      facts.put("kernel drivers", drivers);
    }
    JsonNode cpu = machine.path("cpu");
    facts.put(
        "processor",
        cpu.path("model").asText("unknown")
            + ", "
            + cpu.path("threads").asText("?")
            + " threads"
            + (cpu.path("virtual").asBoolean() ? ", a virtual machine" : ""));
    facts.put("nodes", machine.path("nodes").isEmpty() ? "1" : "" + machine.path("nodes").size());
    facts.put("memory", ByteCount.describe(machine.path("memory").path("totalBytes").asLong()));
    facts.put("kernel", machine.path("kernel").asText("unknown"));
    facts.put("transparent huge pages", joined(machine.path("thp")));
    facts.put("huge page pools", pools(machine.path("hugePages")));
    facts.put("lock limit", machine.path("memory").path("lockLimit").asText("unknown"));
    facts.put("Java", machine.path("java").asText("unknown"));
    return facts;
  }

  private static Optional<String> link(RunData run) {
    String wanted = run.machine().path("backend").path("devices").path(0).path("pci").asText("");
    for (JsonNode accelerator : run.machine().path("accelerators")) {
      JsonNode link = accelerator.path("currentLink");
      if (accelerator.path("pci").asText().equalsIgnoreCase(wanted) && !link.isMissingNode()) {
        return Optional.of(
            "PCIe "
                + link.path("generation").asText()
                + " x"
                + link.path("width").asText()
                + ", "
                + Spread.number(link.path("gigabytesPerSecond").asDouble())
                + " GB/s each way");
      }
    }
    return run.simulated() ? Optional.empty() : Optional.of("not told by this machine's sysfs");
  }

  private static String joined(JsonNode object) {
    StringJoiner all = new StringJoiner(", ");
    object.properties().forEach(entry -> all.add(entry.getKey() + " " + entry.getValue().asText()));
    return all.toString();
  }

  private static String pools(JsonNode pools) {
    StringJoiner all = new StringJoiner(", ");
    for (JsonNode pool : pools) {
      all.add(
          pool.path("pages").asText("?")
              + " of "
              + ByteCount.describe(pool.path("pageBytes").asLong()));
    }
    return all.length() == 0 ? "none" : all.toString();
  }

  /** Every JMH result, whatever it measures. */
  List<Table> benchmarks() {
    List<Table> tables = new ArrayList<>();
    for (RunData run : runs) {
      List<List<String>> rows = new ArrayList<>();
      for (JsonNode result : run.jmh()) {
        String[] name = result.path("benchmark").asText().split("\\.");
        JsonNode metric = result.path("primaryMetric");
        rows.add(
            List.of(
                name[name.length - 2].replace("Benchmark", "") + "." + name[name.length - 1],
                parameters(result.path("params")),
                Spread.ofRawData(metric).map(Spread::text).orElse("–"),
                metric.path("scoreUnit").asText(),
                allocated(result.path("secondaryMetrics"))));
      }
      if (!rows.isEmpty()) {
        tables.add(
            new Table(
                runs.size() == 1 ? "All benchmarks" : run.name() + ": all benchmarks",
                "As JMH measured them: the median of all iterations and, in brackets, the lowest"
                    + " and highest. An operation is what the benchmark's documentation says.",
                List.of("benchmark", "parameters", "figure", "unit", "B allocated/op"),
                rows));
      }
    }
    return tables;
  }

  private static String parameters(JsonNode params) {
    StringJoiner all = new StringJoiner(", ");
    params
        .properties()
        .forEach(
            entry -> {
              if (!entry.getKey().equals("backendId")) {
                all.add(entry.getKey() + " " + entry.getValue().asText());
              }
            });
    return all.toString();
  }

  private static String allocated(JsonNode metrics) {
    for (String name : List.of("gc.alloc.rate.norm", "·gc.alloc.rate.norm")) {
      Optional<Spread> bytes = Spread.ofRawData(metrics.path(name));
      if (bytes.isPresent()) {
        return Spread.number(bytes.get().median());
      }
    }
    return "–";
  }

  /** What experiments measured beside starts and latencies. */
  List<Table> experiments() {
    List<String> shown = List.of("openToReady", "latency", "turn", "claim", "pinMemory", "scatter");
    List<List<String>> rows = new ArrayList<>();
    for (RunData run : runs) {
      for (JsonNode line : run.experiments()) {
        String what = line.path("what").asText();
        if (shown.contains(what)) {
          continue;
        }
        line.properties()
            .forEach(
                entry ->
                    Spread.ofSamples(entry.getValue())
                        .ifPresent(
                            spread ->
                                rows.add(
                                    List.of(
                                        name(
                                            run,
                                            line.path("experiment").asText()
                                                + ": "
                                                + what
                                                + of(line)),
                                        line.path("who").asText("–"),
                                        entry.getKey(),
                                        spread.text()))));
      }
    }
    return rows.isEmpty()
        ? List.of()
        : List.of(
            new Table(
                "Other experiments",
                "Median and, in brackets, lowest and highest.",
                List.of("what", "who", "measured", "figure"),
                rows));
  }

  /** What tells lines about one thing apart. */
  private static String of(JsonNode line) {
    StringJoiner all = new StringJoiner(", ", ", ", "").setEmptyValue("");
    for (String key : List.of("path", "direction", "pages", "ranks", "threads", "token")) {
      if (line.has(key)) {
        all.add((key.equals("path") ? "" : key + " ") + line.path(key).asText());
      }
    }
    for (String key : List.of("blockBytes", "bytes", "bytesEach")) {
      if (line.has(key)) {
        String words = key.equals("blockBytes") ? "blocks of " : "";
        all.add(words + ByteCount.describe(line.path(key).asLong()));
      }
    }
    return all.toString();
  }

  List<Table> claims() {
    List<List<String>> rows = new ArrayList<>();
    for (RunData run : runs) {
      if (run.simulated()) {
        continue; // the claims are about hardware
      }
      for (JsonNode line : run.experiments("claim")) {
        boolean most = line.has("atMost");
        rows.add(
            List.of(
                name(run, line.path("claim").asText()),
                Spread.number(line.path("value").asDouble()),
                (most ? "at most " : "at least ")
                    + Spread.number(line.path(most ? "atMost" : "atLeast").asDouble()),
                line.path("met").asBoolean() ? "met" : "NOT MET"));
      }
    }
    return rows.isEmpty()
        ? List.of()
        : List.of(new Table("Claims", "", List.of("claim", "found", "wanted", "outcome"), rows));
  }

  List<Table> notRun() {
    List<List<String>> rows = new ArrayList<>();
    for (RunData run : runs) {
      run.run()
          .path("items")
          .properties()
          .forEach(
              entry -> {
                if (!entry.getValue().path("state").asText().equals("done")) {
                  rows.add(
                      List.of(
                          name(run, entry.getValue().path("title").asText(entry.getKey())),
                          entry.getValue().path("problem").asText("unknown")));
                }
              });
    }
    return rows.isEmpty()
        ? List.of()
        : List.of(new Table("What failed", "", List.of("what", "why"), rows));
  }

  private String name(RunData run, String what) {
    return runs.size() == 1 ? what : run.name() + ": " + what;
  }
}
