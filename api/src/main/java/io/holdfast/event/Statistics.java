package io.holdfast.event;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;

/**
 * What a backend has done since it was loaded. An immutable value: the sum of its events, whether
 * anybody recorded them or not.
 *
 * @param tallies by activity; each is there
 */
public record Statistics(Map<Activity, Tally> tallies) {
  /** Copies, and completes with zeros. */
  public Statistics {
    EnumMap<Activity, Tally> all = new EnumMap<>(Activity.class);
    for (Activity activity : Activity.values()) {
      all.put(activity, Objects.requireNonNullElse(tallies.get(activity), Tally.NONE));
    }
    tallies = Collections.unmodifiableMap(all);
  }

  /**
   * Nothing done.
   *
   * @return zeros
   */
  public static Statistics none() {
    return new Statistics(Map.of());
  }

  /**
   * One more.
   *
   * @param activity what was done
   * @param one how it went
   * @return the sum
   */
  public Statistics plus(Activity activity, Tally one) {
    EnumMap<Activity, Tally> all = new EnumMap<>(tallies);
    all.put(activity, of(activity).plus(one));
    return new Statistics(all);
  }

  /**
   * What came since.
   *
   * @param earlier of the same backend
   * @return the difference
   */
  public Statistics since(Statistics earlier) {
    EnumMap<Activity, Tally> all = new EnumMap<>(Activity.class);
    tallies.forEach((activity, tally) -> all.put(activity, tally.minus(earlier.of(activity))));
    return new Statistics(all);
  }

  /**
   * One activity's sum.
   *
   * @param activity which
   * @return the sum, zeros where there was none
   */
  public Tally of(Activity activity) {
    return Objects.requireNonNullElse(tallies.get(activity), Tally.NONE);
  }

  /**
   * Host memory that is mapped now.
   *
   * @return bytes mapped and not closed
   */
  public long mappedBytes() {
    return of(Activity.MAP).bytes() - of(Activity.CLOSE).bytes();
  }

  /**
   * Memory that is registered with drivers now.
   *
   * @return bytes registered and not unregistered
   */
  public long registeredBytes() {
    return of(Activity.REGISTER).bytes() - of(Activity.UNREGISTER).bytes();
  }

  /**
   * A sum.
   *
   * @param count how often, failures included
   * @param failures how many of these failed
   * @param bytes of those that did not fail
   * @param nanos of all, by the host's clock
   */
  public record Tally(long count, long failures, long bytes, long nanos) {
    /** Nothing. */
    public static final Tally NONE = new Tally(0, 0, 0, 0);

    /**
     * The sum of both.
     *
     * @param other to add
     * @return the sum
     */
    public Tally plus(Tally other) {
      return new Tally(
          count + other.count, failures + other.failures, bytes + other.bytes, nanos + other.nanos);
    }

    /**
     * The difference.
     *
     * @param other to take away
     * @return the difference
     */
    public Tally minus(Tally other) {
      return new Tally(
          count - other.count, failures - other.failures, bytes - other.bytes, nanos - other.nanos);
    }
  }
}
