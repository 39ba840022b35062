package io.holdfast.internal.event;

import io.holdfast.copy.CopyPath;
import io.holdfast.event.Activity;
import io.holdfast.event.Statistics;
import io.holdfast.event.Statistics.Tally;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * One backend's account of what it does. Any thread; allocates nothing while nobody records.
 *
 * <p>What takes time is begun first and then told, with what {@link #begin} gave, which is null
 * while nobody records.
 */
public final class Journal {
  private static final long NATIVE_NANOS = nativeNanos();

  // A runtime may come without jdk.jfr, and on the module path nobody may have asked for it. The
  // class that needs it is not even loaded then.
  private static final boolean RECORDABLE = recordable();

  // One warning for each thing is enough, and a program that makes ever new ones is not silenced at
  // the cost of its memory.
  private static final int MOST_WARNINGS = 256;
  private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();

  private final String backend;
  private final Map<Activity, Counter> counters = new EnumMap<>(Activity.class); // never changed

  /**
   * An empty one.
   *
   * @param backend the backend's name
   */
  public Journal(String backend) {
    this.backend = backend;
    for (Activity activity : Activity.values()) {
      counters.put(activity, new Counter());
    }
  }

  private static boolean recordable() {
    return ModuleLayer.boot()
        .findModule("jdk.jfr")
        .filter(jfr -> Journal.class.getModule().canRead(jfr))
        .isPresent();
  }

  private static long nativeNanos() {
    Long asked = Long.getLong(Activity.NATIVE_THRESHOLD_PROPERTY);
    return asked == null ? 10_000_000L : asked;
  }

  private Counter counter(Activity activity) {
    return Objects.requireNonNull(counters.get(activity), "counter");
  }

  /**
   * What was done so far.
   *
   * @return a snapshot; while work goes on, activities are read one after the other
   */
  public Statistics statistics() {
    Map<Activity, Tally> tallies = new EnumMap<>(Activity.class);
    counters.forEach((activity, counter) -> tallies.put(activity, counter.tally()));
    return new Statistics(tallies);
  }

  /**
   * Begins something that takes time.
   *
   * @param activity what
   * @return to be handed back at the end; null while nobody records
   */
  public @Nullable Object begin(Activity activity) {
    return RECORDABLE ? Recorder.begin(activity) : null;
  }

  /**
   * Something ended well.
   *
   * @param activity what
   * @param begun what {@link #begin} gave, or null for what was not begun
   * @param what its name, for people
   * @param bytes as the activity defines them
   * @param nanos how long it took, by the host's clock
   */
  public void done(Activity activity, @Nullable Object begun, String what, long bytes, long nanos) {
    counter(activity).add(bytes, nanos);
    if (RECORDABLE) {
      Recorder.end(begun, activity, backend, what, bytes, nanos, null);
    }
  }

  /**
   * Something failed.
   *
   * @param activity what
   * @param begun what {@link #begin} gave, or null for what was not begun
   * @param what its name, for people
   * @param nanos how long it took, by the host's clock
   * @param failure why
   */
  public void failed(
      Activity activity, @Nullable Object begun, String what, long nanos, Throwable failure) {
    counter(activity).addFailure(nanos);
    if (RECORDABLE) {
      Recorder.end(begun, activity, backend, what, 0, nanos, failure.toString());
    }
  }

  /**
   * Extensible memory has changed.
   *
   * @param activity how
   * @param begun what {@link #begin} gave
   * @param region its name
   * @param blocks it has now
   * @param bytes as the activity defines them
   * @param epoch it is in now
   * @param nanos how long it took
   */
  public void changed(
      Activity activity,
      @Nullable Object begun,
      String region,
      long blocks,
      long bytes,
      long epoch,
      long nanos) {
    counter(activity).add(bytes, nanos);
    if (RECORDABLE) {
      Recorder.changed(begun, activity, backend, region, blocks, bytes, epoch, nanos);
    }
  }

  /**
   * A submission of copies has ended.
   *
   * @param activity {@link Activity#STORE} or {@link Activity#LOAD}
   * @param begun what {@link #begin} gave
   * @param path how it went
   * @param bytes copied
   * @param pairs parts of blocks
   * @param rows descriptors after merging
   * @param submitNanos time to submit
   * @param deviceNanos time on the device, negative where it is not known
   * @param nanos from the submission until its end was seen
   * @param failure why it failed, or null
   */
  public void copied(
      Activity activity,
      @Nullable Object begun,
      CopyPath path,
      long bytes,
      long pairs,
      long rows,
      long submitNanos,
      long deviceNanos,
      long nanos,
      @Nullable Throwable failure) {
    if (failure == null) {
      counter(activity).add(bytes, nanos);
    } else {
      counter(activity).addFailure(nanos);
    }
    if (begun != null) {
      Recorder.copied(
          begun,
          activity,
          backend,
          path.name(),
          failure == null ? bytes : 0,
          pairs,
          rows,
          submitNanos,
          deviceNanos,
          nanos,
          failure == null ? null : failure.toString());
    }
  }

  /**
   * Something was done otherwise than asked; logged once.
   *
   * @param what one sentence
   */
  public void fallback(String what) {
    done(Activity.FALLBACK, null, what, 0, 0);
    warn(what);
  }

  /**
   * Logs a warning, the same one only once in a process.
   *
   * @param what one sentence
   */
  public void warn(String what) {
    String all = "backend " + backend + ": " + what;
    if (WARNED.size() < MOST_WARNINGS && WARNED.add(all)) {
      System.getLogger("io.holdfast").log(System.Logger.Level.WARNING, all);
    }
  }

  /**
   * A native call has returned or thrown; counted when it took long.
   *
   * @param call its name
   * @param begun {@link System#nanoTime} before it
   */
  public void called(String call, long begun) {
    long nanos = System.nanoTime() - begun;
    if (nanos >= NATIVE_NANOS) {
      done(Activity.NATIVE_CALL, null, call, 0, nanos);
    }
  }

  private static final class Counter {
    private final LongAdder count = new LongAdder();
    private final LongAdder failures = new LongAdder();
    private final LongAdder bytes = new LongAdder();
    private final LongAdder nanos = new LongAdder();

    void add(long moreBytes, long moreNanos) {
      count.increment();
      bytes.add(moreBytes);
      nanos.add(moreNanos);
    }

    void addFailure(long moreNanos) {
      count.increment();
      failures.increment();
      nanos.add(moreNanos);
    }

    Tally tally() {
      return new Tally(count.sum(), failures.sum(), bytes.sum(), nanos.sum());
    }
  }
}
