package io.holdfast.internal.event;

import io.holdfast.copy.CopyPath;
import io.holdfast.event.Activity;
import io.holdfast.event.Statistics;
import io.holdfast.event.Statistics.Series;
import io.holdfast.event.Statistics.Tally;
import io.holdfast.internal.config.SystemSetting;
import io.holdfast.internal.tree.Standing;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * One backend's account of what it does, with a page for each device. Any thread; allocates nothing
 * while nobody records.
 *
 * <p>What takes time is begun first and then told, with what {@link #begin} gave, which is null
 * while nobody records.
 */
public final class Journal {
  // A runtime may come without jdk.jfr, and on the module path nobody may have asked for it. The
  // class that needs it is not even loaded then.
  private static final boolean RECORDABLE = recordable();

  // One warning for each thing is enough, and a program that makes ever new ones is not silenced at
  // the cost of its memory.
  private static final int MOST_WARNINGS = 256;
  private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();
  private static final AtomicBoolean ENOUGH = new AtomicBoolean();

  private final long nativeNanos = nativeThreshold();
  private final String backend;
  private final OptionalInt device;
  private final Map<Activity, Counter> counters = new EnumMap<>(Activity.class); // never changed
  private final Map<CopyPath, Counter> stores = new EnumMap<>(CopyPath.class); // never changed
  private final Map<CopyPath, Counter> loads = new EnumMap<>(CopyPath.class); // never changed
  private final Map<Integer, Journal> pages = new ConcurrentHashMap<>();

  /**
   * An empty one.
   *
   * @param backend the backend's name
   */
  public Journal(String backend) {
    this(backend, OptionalInt.empty());
  }

  private Journal(String backend, OptionalInt device) {
    this.backend = backend;
    this.device = device;
    for (Activity activity : Activity.values()) {
      counters.put(activity, new Counter());
    }
    for (CopyPath path : CopyPath.values()) {
      stores.put(path, new Counter());
      loads.put(path, new Counter());
    }
  }

  private static boolean recordable() {
    return ModuleLayer.boot()
        .findModule("jdk.jfr")
        .filter(jfr -> Journal.class.getModule().canRead(jfr))
        .isPresent();
  }

  private static long nativeThreshold() {
    return SystemSetting.number(Activity.NATIVE_THRESHOLD_PROPERTY, 0, Long.MAX_VALUE)
        .orElse(10_000_000L);
  }

  /**
   * The page of one device; what is told there is part of the whole.
   *
   * @param ordinal as the driver counts
   * @return the same page for the same device
   */
  public Journal onDevice(int ordinal) {
    return pages.computeIfAbsent(ordinal, number -> new Journal(backend, OptionalInt.of(number)));
  }

  /**
   * What was done so far.
   *
   * @return a snapshot; while work goes on, activities are read one after the other
   */
  public Statistics statistics() {
    Map<Series, Tally> tallies = new HashMap<>();
    addTo(tallies);
    pages.values().forEach(page -> page.addTo(tallies));
    return new Statistics(tallies);
  }

  private void addTo(Map<Series, Tally> tallies) {
    counters.forEach(
        (activity, counter) ->
            tallies.put(new Series(activity, device, Optional.empty()), counter.tally()));
    addTo(tallies, Activity.STORE, stores);
    addTo(tallies, Activity.LOAD, loads);
  }

  private void addTo(Map<Series, Tally> tallies, Activity activity, Map<CopyPath, Counter> byPath) {
    byPath.forEach(
        (path, counter) ->
            tallies.put(new Series(activity, device, Optional.of(path)), counter.tally()));
  }

  private static <K> Counter counter(Map<K, Counter> counters, K key) {
    return Objects.requireNonNull(counters.get(key), "counter");
  }

  // ---- what is done

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
   * @param about the thing
   * @param bytes as the activity defines them
   * @param nanos how long it took, by the host's clock
   */
  public void done(
      Activity activity, @Nullable Object begun, Standing about, long bytes, long nanos) {
    counter(counters, activity).add(bytes, nanos);
    Object event = heard(begun, activity);
    if (event != null) {
      Recorder.about(event, about);
      Recorder.tell(event, backend, device, about.name(), bytes, nanos, null);
    }
  }

  /**
   * Something ended well that is no thing of ours.
   *
   * @param activity what
   * @param begun what {@link #begin} gave, or null for what was not begun
   * @param what its name, for people
   * @param bytes as the activity defines them
   * @param nanos how long it took, by the host's clock
   */
  public void done(Activity activity, @Nullable Object begun, String what, long bytes, long nanos) {
    counter(counters, activity).add(bytes, nanos);
    Object event = heard(begun, activity);
    if (event != null) {
      Recorder.tell(event, backend, device, what, bytes, nanos, null);
    }
  }

  /**
   * Something failed.
   *
   * @param activity what
   * @param begun what {@link #begin} gave, or null for what was not begun
   * @param about the thing
   * @param nanos how long it took, by the host's clock
   * @param failure why
   */
  public void failed(
      Activity activity, @Nullable Object begun, Standing about, long nanos, Throwable failure) {
    counter(counters, activity).addFailure(nanos);
    Object event = heard(begun, activity);
    if (event != null) {
      Recorder.about(event, about);
      Recorder.tell(event, backend, device, about.name(), 0, nanos, failure.toString());
    }
  }

  /**
   * Something failed before there was a thing.
   *
   * @param activity what
   * @param begun what {@link #begin} gave, or null for what was not begun
   * @param what its name, for people
   * @param nanos how long it took, by the host's clock
   * @param failure why
   */
  public void failed(
      Activity activity, @Nullable Object begun, String what, long nanos, Throwable failure) {
    counter(counters, activity).addFailure(nanos);
    Object event = heard(begun, activity);
    if (event != null) {
      Recorder.tell(event, backend, device, what, 0, nanos, failure.toString());
    }
  }

  /** The event to be told; null while nobody records. */
  private static @Nullable Object heard(@Nullable Object begun, Activity activity) {
    return begun != null || !RECORDABLE ? begun : Recorder.begin(activity);
  }

  /**
   * Host memory was mapped.
   *
   * @param region the memory
   * @param logicalBytes what was asked for
   * @param mappedBytes in whole pages
   * @param pageBytes the backing page
   * @param pages the kind of what backs it
   * @param nanos how long it took
   */
  public void mapped(
      Standing region,
      long logicalBytes,
      long mappedBytes,
      long pageBytes,
      String pages,
      long nanos) {
    counter(counters, Activity.MAP).add(mappedBytes, nanos);
    Object event = heard(null, Activity.MAP);
    if (event != null) {
      Recorder.about(event, region);
      Recorder.mapped(event, logicalBytes, pageBytes, pages);
      Recorder.tell(event, backend, device, region.name(), mappedBytes, nanos, null);
    }
  }

  /**
   * A range was registered.
   *
   * @param begun what {@link #begin} gave
   * @param pins whose range
   * @param start of the memory in its host region
   * @param offset of the range in its memory
   * @param bytes of the range
   * @param wholeBytes of that memory
   * @param nanos how long it took
   */
  public void registered(
      @Nullable Object begun,
      Standing pins,
      long start,
      long offset,
      long bytes,
      long wholeBytes,
      long nanos) {
    counter(counters, Activity.REGISTER).add(bytes, nanos);
    Object event = heard(begun, Activity.REGISTER);
    if (event != null) {
      Recorder.about(event, pins);
      Recorder.registered(event, start, offset, wholeBytes);
      Recorder.tell(event, backend, device, pins.name(), bytes, nanos, null);
    }
  }

  /**
   * Extensible memory has changed.
   *
   * @param activity how
   * @param begun what {@link #begin} gave
   * @param region the memory
   * @param extent what it was reserved for
   * @param detail the one thing that only this activity has, or nothing
   * @param blocks it has now
   * @param bytes as the activity defines them
   * @param epoch it is in now
   * @param nanos how long it took
   */
  public void changed(
      Activity activity,
      @Nullable Object begun,
      Standing region,
      Extent extent,
      String detail,
      long blocks,
      long bytes,
      long epoch,
      long nanos) {
    counter(counters, activity).add(bytes, nanos);
    Object event = heard(begun, activity);
    if (event != null) {
      Recorder.about(event, region);
      Recorder.changed(event, extent, detail, blocks, epoch);
      Recorder.tell(event, backend, device, region.name(), bytes, nanos, null);
    }
  }

  /**
   * A submission of copies has ended.
   *
   * @param activity {@link Activity#STORE} or {@link Activity#LOAD}
   * @param begun what {@link #begin} gave
   * @param path how it went
   * @param ends from where to where
   * @param deviceBlocks how many there were
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
      CopyEnds ends,
      long deviceBlocks,
      long bytes,
      long pairs,
      long rows,
      long submitNanos,
      long deviceNanos,
      long nanos,
      @Nullable Throwable failure) {
    Counter counter = counter(activity == Activity.STORE ? stores : loads, path);
    if (failure == null) {
      counter.add(bytes, nanos);
    } else {
      counter.addFailure(nanos);
    }
    if (begun != null) {
      Recorder.ends(begun, ends, deviceBlocks);
      Recorder.copied(begun, activity.name(), path.name(), pairs, rows, submitNanos, deviceNanos);
      Recorder.tell(
          begun,
          backend,
          device,
          activity.name(),
          failure == null ? bytes : 0,
          nanos,
          failure == null ? null : failure.toString());
    }
  }

  // ---- what is otherwise than asked

  /**
   * Something of this machine or device is otherwise than asked; logged once.
   *
   * @param what one sentence
   */
  public void fallback(String what) {
    done(Activity.FALLBACK, null, what, 0, 0);
    warn("", what);
  }

  /**
   * Something was done otherwise than asked; logged once for each thing.
   *
   * @param about the thing it happened to
   * @param what one sentence
   */
  public void fallback(Standing about, String what) {
    counter(counters, Activity.FALLBACK).add(0, 0);
    Object event = heard(null, Activity.FALLBACK);
    if (event != null) {
      Recorder.about(event, about);
      Recorder.tell(event, backend, device, what, 0, 0, null);
    }
    warn(about, what);
  }

  /**
   * Logs a warning once for each thing: the same sentence with other numbers is the same warning.
   *
   * @param about the thing it happened to
   * @param what one sentence
   */
  public void warn(Standing about, String what) {
    warn("#" + about.number(), what);
  }

  /**
   * Asks for the logger only when there is something to say: the first one costs a start dearly.
   */
  private static void log(String line) {
    System.getLogger("io.holdfast").log(System.Logger.Level.WARNING, line);
  }

  private void warn(String whose, String what) {
    String all = "backend " + backend + ": " + what;
    if (WARNED.size() >= MOST_WARNINGS) {
      if (!ENOUGH.getAndSet(true)) {
        log(MOST_WARNINGS + " warnings are enough: Backend.statistics() counts further fallbacks");
      }
    } else if (WARNED.add(whose + " " + all.replaceAll("0x[0-9a-f]+|[0-9]+", "#"))) {
      log(all);
    }
  }

  // ---- native calls

  /**
   * A native call has returned or thrown; counted when it took long.
   *
   * @param call its name
   * @param begun {@link System#nanoTime} before it
   */
  public void called(String call, long begun) {
    long nanos = System.nanoTime() - begun;
    if (nanos >= nativeNanos) {
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
