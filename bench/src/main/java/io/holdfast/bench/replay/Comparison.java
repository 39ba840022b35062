package io.holdfast.bench.replay;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.bench.tool.ByteCount;
import io.holdfast.bench.tool.Console;
import io.holdfast.event.Activity;
import io.holdfast.event.Statistics.Tally;
import java.util.Locale;
import java.util.Map;

/** What was recorded beside what was replayed. */
public final class Comparison {
  private final String backend;
  private final int events;
  private final Outcome outcome;

  Comparison(String backend, int events, Outcome outcome) {
    this.backend = backend;
    this.events = events;
    this.outcome = outcome;
  }

  /**
   * Whether every step that an engine took could be taken again.
   *
   * @return false when the simulated machine refused one
   */
  public boolean isComplete() {
    return outcome.refused().isEmpty();
  }

  /**
   * For scripts.
   *
   * @return counts, bytes and seconds by activity, and what is missing
   */
  public ObjectNode toJson() {
    ObjectNode json = Console.json().createObjectNode();
    json.put("backend", backend);
    json.put("events", events);
    json.put("complete", isComplete());
    ArrayNode activities = json.putArray("activities");
    for (Activity activity : Activity.values()) {
      Tally recorded = outcome.recorded().of(activity);
      Tally replayed = outcome.replayed().of(activity);
      if (!recorded.equals(Tally.NONE) || !replayed.equals(Tally.NONE)) {
        ObjectNode one = activities.addObject();
        one.put("activity", activity.name());
        put(one.putObject("recorded"), recorded);
        put(one.putObject("replayed"), replayed);
      }
    }
    put(json.putArray("leftOut"), outcome.leftOut());
    put(json.putArray("refused"), outcome.refused());
    ObjectNode notes = json.putObject("notes");
    outcome.notes().forEach(notes::put);
    return json;
  }

  private static void put(ObjectNode into, Tally tally) {
    into.put("count", tally.count());
    into.put("failures", tally.failures());
    into.put("bytes", tally.bytes());
    into.put("seconds", tally.nanos() / 1e9);
  }

  private static void put(ArrayNode into, Map<Activity, Map<String, Long>> reasons) {
    reasons.forEach(
        (activity, why) ->
            why.forEach(
                (because, count) -> {
                  ObjectNode one = into.addObject();
                  one.put("activity", activity.name());
                  one.put("count", count);
                  one.put("because", because);
                }));
  }

  /**
   * For people.
   *
   * @return some lines
   */
  public String toText() {
    StringBuilder text = new StringBuilder();
    text.append("%,d events, replayed on %s%n".formatted(events, backend));
    text.append(
        "%-12s %10s %10s %12s %12s %12s %12s%n"
            .formatted("", "recorded", "replayed", "bytes", "bytes", "time in ms", "time in ms"));
    for (Activity activity : Activity.values()) {
      Tally recorded = outcome.recorded().of(activity);
      Tally replayed = outcome.replayed().of(activity);
      if (!recorded.equals(Tally.NONE) || !replayed.equals(Tally.NONE)) {
        text.append(
            String.format(
                Locale.ROOT,
                "%-12s %,10d %,10d %12s %12s %,12.3f %,12.3f%n",
                activity.name().toLowerCase(Locale.ROOT),
                recorded.count(),
                replayed.count(),
                ByteCount.describe(recorded.bytes()),
                ByteCount.describe(replayed.bytes()),
                recorded.nanos() / 1e6,
                replayed.nanos() / 1e6));
      }
    }
    append(text, "left out", outcome.leftOut());
    append(text, "refused", outcome.refused());
    outcome
        .notes()
        .forEach((what, times) -> text.append("note, %,d times: %s%n".formatted(times, what)));
    return text.toString();
  }

  private static void append(
      StringBuilder text, String verdict, Map<Activity, Map<String, Long>> reasons) {
    reasons.forEach(
        (activity, why) ->
            why.forEach(
                (because, count) ->
                    text.append(
                        "%s: %,d of %s: %s%n"
                            .formatted(
                                verdict,
                                count,
                                activity.name().toLowerCase(Locale.ROOT),
                                because))));
  }
}
