package io.holdfast.bench.replay;

import io.holdfast.event.Activity;
import io.holdfast.event.Statistics;
import java.util.EnumMap;
import java.util.Map;
import java.util.TreeMap;

/** What came of a replay, as it goes. */
final class Outcome {
  private final Map<Activity, Map<String, Long>> leftOut = new EnumMap<>(Activity.class);
  private final Map<Activity, Map<String, Long>> refused = new EnumMap<>(Activity.class);
  private final Map<String, Long> notes = new TreeMap<>();
  private Statistics recorded = Statistics.none();
  private Statistics replayed = Statistics.none();

  /** What was recorded. */
  void recorded(Told event) {
    recorded = recorded.plus(Statistics.Series.of(event.activity()), event.tally());
  }

  /** What a simulated machine did. */
  void replayed(Statistics more) {
    replayed = replayed.plus(more);
  }

  /** By its nature nothing that can be done again. */
  void leaveOut(Activity activity, String because) {
    count(leftOut, activity, because);
  }

  /** It was tried. */
  void refuse(Activity activity, String because) {
    count(refused, activity, because);
  }

  /** Done, but not quite as recorded. */
  void note(String what) {
    notes.merge(what, 1L, Long::sum);
  }

  private static void count(Map<Activity, Map<String, Long>> in, Activity activity, String why) {
    in.computeIfAbsent(activity, _ -> new TreeMap<>()).merge(why, 1L, Long::sum);
  }

  Statistics recorded() {
    return recorded;
  }

  Statistics replayed() {
    return replayed;
  }

  Map<Activity, Map<String, Long>> leftOut() {
    return leftOut;
  }

  Map<Activity, Map<String, Long>> refused() {
    return refused;
  }

  Map<String, Long> notes() {
    return notes;
  }
}
