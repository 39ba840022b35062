package io.holdfast.backend.cpusim.driver;

import java.util.Arrays;

/**
 * Every schedule of a small case: the case is run again and again, each time with the next
 * schedule, until there is none. The case must do the same calls each time it is run with the same
 * choices.
 *
 * <pre>{@code
 * Exploration all = new Exploration();
 * for (SimSchedule schedule = all.first(); all.more(schedule); schedule = all.next(schedule)) {
 *   run(schedule);
 * }
 * }</pre>
 */
public final class Exploration {
  private boolean ended;
  private long schedules;

  /** Nothing was run yet. */
  public Exploration() {}

  /**
   * The schedule to begin with.
   *
   * @return always the first possibility
   */
  public SimSchedule first() {
    schedules = 1;
    return SimSchedule.of();
  }

  /**
   * Whether a schedule is one to run, and not the end.
   *
   * @param schedule of {@link #first} or {@link #next}
   * @return false behind the last one
   */
  public boolean more(SimSchedule schedule) {
    return !ended && schedule.choices().length == 0;
  }

  /**
   * The next schedule: the last choice of the one before that had another possibility takes it.
   *
   * @param run a schedule that the case was run with
   * @return the next, or one that {@link #more} refuses
   */
  public SimSchedule next(SimSchedule run) {
    int[] choices = run.choices();
    int[] possibilities = run.possibilities();
    for (int last = choices.length - 1; last >= 0; last--) {
      if (choices[last] + 1 < possibilities[last]) {
        int[] changed = Arrays.copyOf(choices, last + 1);
        changed[last]++;
        schedules++;
        return SimSchedule.of(changed);
      }
    }
    ended = true;
    return run;
  }

  /**
   * How many schedules there were so far.
   *
   * @return the count
   */
  public long schedules() {
    return schedules;
  }
}
