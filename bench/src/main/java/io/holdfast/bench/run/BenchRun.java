package io.holdfast.bench.run;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.RefusedException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;

/**
 * Goes through a plan and keeps every result at once. What is done already is left out; what failed
 * is tried again. {@link #stop} can be called from any thread, the rest by one.
 */
public final class BenchRun {
  private static final double WORTH_A_GUESS = 20; // seconds, from which on our own pace tells more

  private final RunFolder folder;
  private final Target target;
  private final ObjectNode run;
  private final ArrayNode jmh;
  private final JmhRunner benchmarks;
  private final ExperimentRunner experiments;
  private volatile boolean stopped;

  /**
   * What became of a call.
   *
   * @param ran how many items ran
   * @param failed how many of them failed
   * @param left how many of the plan are still to be run
   */
  public record Outcome(int ran, int failed, int left) {}

  /**
   * A run in a folder, taken up where one is there.
   *
   * @param folder its files
   * @param target what is measured; one folder holds one target
   * @param version of Holdfast
   * @param started when, for a new run
   */
  public BenchRun(RunFolder folder, Target target, String version, String started) {
    this.folder = folder;
    this.target = target;
    this.run = folder.run().orElseGet(() -> Console.json().createObjectNode());
    this.jmh = folder.jmh();
    JsonNode wanted = describe(target);
    if (run.has("target") && !run.path("target").toString().equals(wanted.toString())) {
      throw new RefusedException(
          "the folder holds a run of another target, "
              + run.path("target")
              + " and not "
              + wanted
              + "; name another by --out, or give the same options");
    }
    if (run.has("holdfast") && !run.path("holdfast").asText().equals(version)) {
      throw new RefusedException(
          "the folder holds a run of Holdfast "
              + run.path("holdfast").asText()
              + ", this is "
              + version
              + "; name another by --out");
    }
    if (!run.has("target")) {
      run.put("format", 1).put("holdfast", version).put("started", started);
      run.set("target", wanted);
      run.putObject("items");
    }
    List<String> flags = List.of("-Dholdfast.cache=" + folder.file("cache").toAbsolutePath());
    benchmarks = new JmhRunner(folder.file(RunFolder.LOG), flags);
    experiments = new ExperimentRunner(folder.file(RunFolder.LOG), target.backend(), flags);
  }

  private static ObjectNode describe(Target target) {
    ObjectNode node = Console.json().createObjectNode();
    node.put("backend", target.backend()).put("simulated", target.simulated());
    node.put("scale", target.scale().name().toLowerCase(Locale.ROOT));
    target.pages().forEach(node.putArray("pages")::add);
    return node.put("poolMib", target.poolMib());
  }

  /** Ends after the item that is running, whose processes are ended. */
  public void stop() {
    stopped = true;
    ProcessHandle.current().descendants().forEach(ProcessHandle::destroy);
  }

  /**
   * Keeps what the machine is.
   *
   * @param machine facts
   */
  public void machine(ObjectNode machine) {
    folder.write(RunFolder.MACHINE, machine);
    folder.write(RunFolder.RUN, run);
  }

  /**
   * Items of a plan that are not done yet.
   *
   * @param plan all of them
   * @return in the plan's order
   */
  public List<Item> left(Plan plan) {
    return plan.items().stream()
        .filter(item -> !run.path("items").path(item.id()).path("state").asText().equals("done"))
        .toList();
  }

  /**
   * Runs what is left of a plan.
   *
   * @param plan what
   * @param budgetSeconds no item begins that would end later than this
   * @param say gets a line for each item
   * @return what became of it
   */
  public Outcome go(Plan plan, double budgetSeconds, Consumer<String> say) {
    List<Item> left = new ArrayList<>(left(plan));
    int all = plan.items().size();
    int ran = 0;
    int failed = 0;
    double estimated = 0;
    long begun = System.nanoTime();
    while (!left.isEmpty() && !stopped) {
      Item item = left.getFirst();
      double pace = estimated > WORTH_A_GUESS ? seconds(begun) / estimated : 1;
      if (ran > 0 && seconds(begun) + item.seconds() * pace > budgetSeconds) {
        break;
      }
      double rest = pace * left.stream().mapToDouble(Item::seconds).sum();
      say.accept(
          String.format(
              Locale.ROOT,
              "[%d/%d] %s ... %s left",
              all - left.size() + 1,
              all,
              item.title(),
              clock(rest)));
      String problem = runItem(item);
      if (stopped) {
        break;
      }
      if (!problem.isEmpty()) {
        failed++;
        say.accept("  failed: " + problem);
      }
      estimated += item.seconds();
      ran++;
      left.removeFirst();
    }
    return new Outcome(ran, failed, left.size() + failed);
  }

  /** Empty when all is well. */
  private String runItem(Item item) {
    long begun = System.nanoTime();
    String problem = "";
    try {
      switch (item) {
        case Item.Benchmark benchmark -> {
          ArrayNode results = benchmarks.run(benchmark);
          forget(item.id());
          results.forEach(one -> jmh.add(((ObjectNode) one).put("item", item.id())));
          folder.write(RunFolder.JMH, jmh);
        }
        case Item.Experiment experiment ->
            folder.experiment(item.id(), experiments.run(experiment));
      }
    } catch (RefusedException failure) {
      problem = String.valueOf(failure.getMessage());
    }
    if (!stopped) {
      ObjectNode state = ((ObjectNode) run.path("items")).putObject(item.id());
      state.put("title", item.title());
      state.put("state", problem.isEmpty() ? "done" : "failed");
      state.put("seconds", Math.round(seconds(begun) * 10) / 10.0);
      if (!problem.isEmpty()) {
        state.put("problem", problem);
      }
      folder.write(RunFolder.RUN, run);
    }
    return problem;
  }

  private void forget(String id) {
    for (int i = jmh.size() - 1; i >= 0; i--) {
      if (jmh.get(i).path("item").asText().equals(id)) {
        jmh.remove(i);
      }
    }
  }

  /** What is measured. */
  Target target() {
    return target;
  }

  private static double seconds(long begun) {
    return (System.nanoTime() - begun) / 1e9;
  }

  /**
   * A time as people say it.
   *
   * @param seconds how long
   * @return minutes and seconds
   */
  public static String clock(double seconds) {
    long whole = Math.round(Math.max(0, seconds));
    return String.format(Locale.ROOT, "%d:%02d", whole / 60, whole % 60);
  }
}
