package io.holdfast.bench.run;

import io.holdfast.bench.run.Item.Effort;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * All that a run consists of, in order.
 *
 * @param items each unique
 */
public record Plan(List<Item> items) {
  /** What one part may take at most. */
  public static final double PART_SECONDS = 480;

  private static final double PROCESS_SECONDS = 1.5; // a JVM starts, opens a device and closes it
  private static final List<String> PATHS = List.of("AUTO", "LOOP", "BATCH", "KERNEL");
  private static final List<String> QUICK_PATHS =
      List.of("AUTO", "BATCH"); // the experiment has all
  private static final List<String> DIRECTIONS = List.of("STORE", "LOAD");

  /** Keeps a copy. */
  public Plan {
    items = List.copyOf(items);
  }

  /**
   * The plan for a target.
   *
   * @param target what is measured
   * @return the plan
   */
  public static Plan of(Target target) {
    List<Item> items = new ArrayList<>();
    start(target, items);
    if (target.full()) {
      phases(target, items);
    }
    copies(target, items);
    submissions(target, items);
    planner(target, items);
    simulator(target, items);
    extensible(target, items);
    experiments(target, items);
    return new Plan(items);
  }

  /** How long all should take. */
  double seconds() {
    return items.stream().mapToDouble(Item::seconds).sum();
  }

  /**
   * One of several parts that take about as long as each other.
   *
   * @param part from 1
   * @param parts how many
   * @return its items
   */
  public Plan part(int part, int parts) {
    double share = seconds() / parts;
    List<Item> own = new ArrayList<>();
    double before = 0;
    for (Item item : items) { // an item belongs to the part in which its middle lies
      int at = (int) Math.min(parts - 1, (before + item.seconds() / 2) / share);
      if (at == part - 1) {
        own.add(item);
      }
      before += item.seconds();
    }
    return new Plan(own);
  }

  /**
   * How many parts a plan needs so that none takes longer than {@value #PART_SECONDS} seconds.
   *
   * @return at least 1
   */
  public int leastParts() {
    int parts = 1;
    while (longestPart(parts) > PART_SECONDS && parts < items.size()) {
      parts++;
    }
    return parts;
  }

  /**
   * The longest of several parts.
   *
   * @param parts how many
   * @return seconds
   */
  public double longestPart(int parts) {
    double longest = 0;
    for (int part = 1; part <= parts; part++) {
      longest = Math.max(longest, part(part, parts).seconds());
    }
    return longest;
  }

  private static void start(Target target, List<Item> items) {
    Effort effort = new Effort(target.full() ? 2 : 1, 1, target.full() ? 5 : 3, 100);
    double each = 0.3 + target.poolMib() / (target.simulated() ? 500.0 : 4000.0); // and its close
    for (String pages : target.pages()) {
      items.add(
          benchmark(
              "start/" + pages,
              "start of " + target.poolMib() + " MiB on " + pages + " pages",
              "StartBenchmark.openToReady",
              parameters(target, "pages", pages, "poolMib", Long.toString(target.poolMib())),
              effort,
              effort.forks() * (PROCESS_SECONDS + each * (1 + effort.iterations()))));
    }
  }

  /** A start taken apart. */
  private static void phases(Target target, List<Item> items) {
    Effort effort = new Effort(1, 1, 5, 100);
    double each = 0.3 + target.poolMib() / (target.simulated() ? 400.0 : 3000.0);
    for (String phase : List.of("Populate", "Register", "Release", "Unmap")) {
      for (String pages : target.pages()) {
        items.add(
            benchmark(
                "phase/" + phase.toLowerCase(Locale.ROOT) + "-" + pages,
                phase.toLowerCase(Locale.ROOT)
                    + " of "
                    + target.poolMib()
                    + " MiB on "
                    + pages
                    + " pages",
                phase + "." + phase.toLowerCase(Locale.ROOT),
                parameters(target, "pages", pages, "poolMib", Long.toString(target.poolMib())),
                effort,
                PROCESS_SECONDS + each * 6));
      }
    }
  }

  private static void copies(Target target, List<Item> items) {
    Effort effort = target.full() ? new Effort(2, 2, 5, 500) : new Effort(1, 1, 3, 300);
    List<Integer> blocks =
        target.full() ? List.of(1, 4, 16, 64, 144, 256, 1024, 4096) : List.of(4, 64, 1024);
    int batchMib = target.full() && !target.simulated() ? 256 : 16;
    for (String path : target.full() ? PATHS : QUICK_PATHS) {
      for (String direction : DIRECTIONS) {
        for (int block : blocks) {
          items.add(
              benchmark(
                  String.format(Locale.ROOT, "copy/%s-%s-%dKiB", path, direction, block)
                      .toLowerCase(Locale.ROOT),
                  path + " " + direction.toLowerCase(Locale.ROOT) + " of " + block + " KiB blocks",
                  "CopyBenchmark.batch",
                  parameters(
                      target,
                      "path",
                      path,
                      "direction",
                      direction,
                      "blockKib",
                      Integer.toString(block),
                      "batchMib",
                      Integer.toString(batchMib)),
                  effort,
                  effort.seconds(PROCESS_SECONDS)));
        }
      }
    }
  }

  /** What the caller's thread spends: against a driver that does nothing, and by each binding. */
  private static void submissions(Target target, List<Item> items) {
    Effort effort = target.full() ? new Effort(2, 5, 5, 500) : new Effort(1, 3, 3, 200);
    for (String path : target.has("cc") ? List.of("LOOP", "BATCH", "KERNEL") : List.<String>of()) {
      for (String direction : target.full() ? DIRECTIONS : List.of("STORE")) {
        items.add(
            benchmark(
                ("submission/" + path + "-" + direction).toLowerCase(Locale.ROOT),
                "submission of a "
                    + direction.toLowerCase(Locale.ROOT)
                    + " by "
                    + path
                    + " to a driver that does nothing",
                "SubmissionBenchmark.batch",
                Map.of("path", path, "direction", direction),
                effort,
                effort.seconds(PROCESS_SECONDS)));
      }
    }
    if (target.full() && target.has("cc")) {
      for (String how : List.of("absent", "off", "on")) {
        items.add(
            benchmark(
                "recording/" + how,
                "a batch of one block while recording is " + how,
                "RecordingBenchmark." + how,
                Map.of(),
                effort,
                effort.seconds(PROCESS_SECONDS)));
      }
    }
    if (target.cuda()) {
      for (String binding : target.has("jcuda") ? List.of("ffm", "jcuda") : List.of("ffm")) {
        items.add(
            benchmark(
                "call/" + binding,
                "a copy's driver call through " + binding,
                "CallBenchmark.copy",
                parameters(target, "binding", binding),
                effort,
                effort.seconds(PROCESS_SECONDS)));
      }
    }
  }

  private static void simulator(Target target, List<Item> items) {
    if (target.full() && target.simulated()) {
      Effort effort = new Effort(2, 3, 5, 500);
      items.add(
          benchmark(
              "simulator",
              "a simulated machine opened, used and closed",
              "SimulatorBenchmark.openRoundTripClose",
              parameters(target),
              effort,
              effort.seconds(PROCESS_SECONDS)));
      Effort once = new Effort(5, 0, 1, 1_000);
      items.add(
          benchmark(
              "simulator/4tib",
              "a simulated pool of 4 TiB opened, used at its ends and closed",
              "SimulatorBenchmark.fourTebibytes",
              parameters(target),
              once,
              once.seconds(PROCESS_SECONDS)));
    }
  }

  private static void extensible(Target target, List<Item> items) {
    Effort effort = new Effort(1, 3, target.full() ? 10 : 5, 100);
    String mib = target.simulated() ? "64" : "8192";
    for (String method : List.of("commit", "commitTwiceAndConsolidate", "commitSleepWake")) {
      if (target.full() || method.equals("commit")) {
        items.add(
            benchmark(
                "extensible/" + method,
                "extensible memory of " + mib + " MiB, " + method,
                "ExtensibleBenchmark." + method,
                parameters(target, "regionMib", mib),
                effort,
                effort.seconds(PROCESS_SECONDS)));
      }
    }
  }

  private static void planner(Target target, List<Item> items) {
    Effort effort = target.full() ? new Effort(2, 2, 5, 500) : new Effort(1, 1, 3, 200);
    for (String method : List.of("allCuts", "toFirstCut", "toFirstCutNeverInsideBlock")) {
      for (String page : List.of("4096", "2097152")) {
        items.add(
            benchmark(
                "planner/" + method + "-" + page,
                "planner, " + method + ", pages of " + page + " bytes",
                "PlannerBenchmark." + method,
                Map.of("pageBytes", page),
                effort,
                effort.seconds(PROCESS_SECONDS)));
      }
    }
  }

  /** Those take turns with the yardsticks where there are some. */
  private static void experiments(Target target, List<Item> items) {
    String rounds = target.full() ? "5" : "3";
    String pool = target.poolMib() + "MiB";
    double gib = target.poolMib() / 1024.0;
    for (String pages : target.pages()) {
      items.add(
          new Item.Experiment(
              "experiment/start-" + pages,
              "start" + turns(target) + ", " + pages + " pages",
              List.of("start", "--pages", pages, "--bytes", pool, "--rounds", rounds),
              target.simulated() ? 5 + 3 * gib : 20 + 6 * gib));
    }
    items.add(
        experiment(
            "probe",
            "other threads' calls while memory is pinned and released",
            target.simulated() ? 5 + 6 * gib : 15 + 4 * gib,
            List.of("--bytes", pool, "--rounds", rounds)));
    items.add(
        experiment(
            "copies",
            "copies by every path" + turns(target),
            target.full() ? 150 : 25,
            List.of(
                "--rounds",
                rounds,
                "-P",
                "blocks="
                    + (target.full()
                        ? "1KiB,4KiB,16KiB,64KiB,144KiB,256KiB,1MiB,4MiB"
                        : "4KiB,64KiB,1MiB"))));
    if (target.full()) {
      items.add(
          experiment(
              "populate",
              "populate by threads",
              20 + 8 * gib,
              List.of("--bytes", pool, "--rounds", rounds)));
      items.add(
          experiment(
              "ranks", "ranks that start at once", 30 + 8 * gib, List.of("--rounds", rounds)));
      items.add(
          experiment("extensible", "extensible device memory", 60, List.of("--rounds", rounds)));
    }
  }

  private static String turns(Target target) {
    return target.simulated() ? " in turns" : " in turns with plain C";
  }

  private static Item experiment(
      String name, String title, double seconds, List<String> arguments) {
    List<String> all = new ArrayList<>(List.of(name));
    all.addAll(arguments);
    return new Item.Experiment("experiment/" + name, title, all, seconds);
  }

  private static Item benchmark(
      String id,
      String title,
      String benchmark,
      Map<String, String> parameters,
      Effort effort,
      double seconds) {
    return new Item.Benchmark(id, title, benchmark, parameters, effort, seconds);
  }

  private static Map<String, String> parameters(Target target, String... namesAndValues) {
    Map<String, String> all = new LinkedHashMap<>();
    all.put("backendId", target.backend());
    for (int i = 0; i < namesAndValues.length; i += 2) {
      all.put(namesAndValues[i], namesAndValues[i + 1]);
    }
    return all;
  }
}
