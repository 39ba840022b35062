package io.holdfast.event;

import io.holdfast.copy.CopyPath;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Predicate;

/**
 * What a backend has done since it was loaded. An immutable value: the sum of its events, whether
 * anybody recorded them or not.
 *
 * @param series sums by what was done, where and how; series in which nothing was done are left out
 */
public record Statistics(Map<Series, Tally> series) {
  private static final Statistics NONE = new Statistics(Map.of());

  /** Copies, without what is zero. */
  public Statistics {
    Map<Series, Tally> some = new HashMap<>(series);
    some.values().removeIf(Tally.NONE::equals);
    series = Collections.unmodifiableMap(some);
  }

  /**
   * Nothing done.
   *
   * @return zeros
   */
  public static Statistics none() {
    return NONE;
  }

  /**
   * One more.
   *
   * @param which what was done, where and how
   * @param one how it went
   * @return the sum
   */
  public Statistics plus(Series which, Tally one) {
    return plus(new Statistics(Map.of(which, one)));
  }

  /**
   * The sum of both.
   *
   * @param other to add
   * @return the sum
   */
  public Statistics plus(Statistics other) {
    Map<Series, Tally> all = new HashMap<>(series);
    other.series.forEach((which, tally) -> all.merge(which, tally, Tally::plus));
    return new Statistics(all);
  }

  /**
   * What came since.
   *
   * @param earlier of the same backend
   * @return the difference
   */
  public Statistics since(Statistics earlier) {
    Map<Series, Tally> all = new HashMap<>(series);
    earlier.series.forEach(
        (which, tally) -> all.merge(which, Tally.NONE.minus(tally), Tally::plus));
    return new Statistics(all);
  }

  /**
   * A part of it.
   *
   * @param wanted which series stay
   * @return those
   */
  public Statistics where(Predicate<Series> wanted) {
    Map<Series, Tally> some = new HashMap<>(series);
    some.keySet().removeIf(wanted.negate());
    return new Statistics(some);
  }

  /**
   * What was done on one device.
   *
   * @param ordinal its number, as the driver counts
   * @return that part
   */
  public Statistics onDevice(int ordinal) {
    OptionalInt device = OptionalInt.of(ordinal);
    return where(which -> which.device().equals(device));
  }

  /**
   * Sums over all devices and paths.
   *
   * @return by activity; each is there
   */
  public Map<Activity, Tally> tallies() {
    Map<Activity, Tally> all = new EnumMap<>(Activity.class);
    for (Activity activity : Activity.values()) {
      all.put(activity, of(activity));
    }
    return Collections.unmodifiableMap(all);
  }

  /**
   * One activity's sum over all devices and paths.
   *
   * @param activity which
   * @return the sum, zeros where there was none
   */
  public Tally of(Activity activity) {
    Tally sum = Tally.NONE;
    for (Map.Entry<Series, Tally> one : series.entrySet()) {
      if (one.getKey().activity() == activity) {
        sum = sum.plus(one.getValue());
      }
    }
    return sum;
  }

  /**
   * One series.
   *
   * @param which what was done, where and how
   * @return its sum, zeros where there was none
   */
  public Tally of(Series which) {
    return Objects.requireNonNullElse(series.get(which), Tally.NONE);
  }

  /**
   * Host memory that is mapped now; pages in quarantine, whose region is closed, are not among it.
   *
   * @return bytes mapped and not unmapped
   */
  public long mappedBytes() {
    return of(Activity.MAP).bytes() - of(Activity.UNMAP).bytes();
  }

  /**
   * Host regions that are open now.
   *
   * @return how many were mapped and not unmapped
   */
  public long mappedRegions() {
    Tally mapped = of(Activity.MAP);
    return mapped.count() - mapped.failures() - of(Activity.UNMAP).count();
  }

  /**
   * Memory that is registered with drivers now, without what is in quarantine.
   *
   * @return bytes registered and not unregistered
   */
  public long registeredBytes() {
    return of(Activity.REGISTER).bytes() - of(Activity.UNREGISTER).bytes();
  }

  /**
   * Memory that drivers did not let go of: it stays pinned and mapped.
   *
   * @return bytes in quarantine now
   */
  public long quarantinedBytes() {
    return of(Activity.QUARANTINE).bytes() - of(Activity.RECOVER).bytes();
  }

  /**
   * What is summed apart.
   *
   * @param activity what was done
   * @param device on which device, as the driver counts; empty for what concerns none
   * @param path how it was copied; empty for what is no copy
   */
  public record Series(Activity activity, OptionalInt device, Optional<CopyPath> path) {
    /** Checks. */
    public Series {
      Objects.requireNonNull(activity, "activity");
      Objects.requireNonNull(device, "device");
      Objects.requireNonNull(path, "path");
    }

    /**
     * What concerns no device.
     *
     * @param activity what was done
     * @return the series
     */
    public static Series of(Activity activity) {
      return new Series(activity, OptionalInt.empty(), Optional.empty());
    }
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
