package io.holdfast.micrometer;

import io.holdfast.Backend;
import io.holdfast.copy.CopyPath;
import io.holdfast.device.DeviceInfo;
import io.holdfast.event.Activity;
import io.holdfast.event.Statistics;
import io.holdfast.event.Statistics.Series;
import io.holdfast.event.Statistics.Tally;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * A backend's {@link Statistics} as meters.
 *
 * <p>Every meter is tagged {@code backend}; what is done on a device also {@code device}, its
 * number. Devices that nobody opens have zeros. A meter reads the statistics when it is asked, so
 * that work costs nothing more for being measured; there are sums and counts, hence means, but no
 * maxima or percentiles: those are in recordings of JDK Flight Recorder.
 *
 * <p>Meters go when this is closed. It refers to the backend until then; meters themselves do not
 * keep a backend alive. Safe from any thread.
 */
@SuppressWarnings("exports") // who has a registry requires micrometer.core already
public final class HoldfastMetrics implements MeterBinder, AutoCloseable {
  private final Tags tags;
  private final List<Bound> bound = new ArrayList<>(); // guarded by itself
  private Optional<Backend> source; // guarded by bound

  /**
   * Meters tagged with the backend's id.
   *
   * @param backend whose statistics
   */
  public HoldfastMetrics(Backend backend) {
    this(backend, Tags.empty());
  }

  /**
   * Meters with more tags, as two backends of one id need them in one registry.
   *
   * @param backend whose statistics
   * @param more tags of every meter
   */
  public HoldfastMetrics(Backend backend, Iterable<Tag> more) {
    this.source = Optional.of(backend);
    this.tags = Tags.of("backend", backend.id()).and(more);
  }

  /**
   * Registers the meters.
   *
   * @param registry where
   * @throws IllegalStateException when this is closed
   */
  @Override
  public void bindTo(MeterRegistry registry) {
    synchronized (bound) {
      Backend backend =
          source.orElseThrow(() -> new IllegalStateException("these metrics are closed"));
      new Binding(registry, backend).all();
    }
  }

  /** Takes the meters out of every registry and lets go of the backend. Idempotent. */
  @Override
  public void close() {
    synchronized (bound) {
      source = Optional.empty();
      bound.forEach(one -> one.registry.remove(one.meter));
      bound.clear();
    }
  }

  private record Bound(MeterRegistry registry, Meter meter) {}

  /** One registry's meters. */
  private final class Binding {
    private final MeterRegistry registry;
    private final Backend backend;

    Binding(MeterRegistry registry, Backend backend) {
      this.registry = registry;
      this.backend = backend;
    }

    void all() {
      host();
      for (Activity activity : Activity.values()) {
        counter(
            "holdfast.failures",
            "What failed",
            null,
            tags.and("activity", tag(activity)),
            from -> from.of(activity).failures());
      }
      for (DeviceInfo device : backend.devices()) {
        device(device.ordinal());
      }
    }

    private void host() {
      gauge(
          "holdfast.memory.mapped",
          "Host memory that is mapped now",
          BaseUnits.BYTES,
          tags,
          one -> one.statistics().mappedBytes());
      gauge(
          "holdfast.regions.open",
          "Host regions that are open now",
          null,
          tags,
          one -> one.statistics().mappedRegions());
      gauge(
          "holdfast.resources.open",
          "Everything that was opened from the backend and is not closed",
          null,
          tags,
          one -> one.stillOpen().size());
      counter(
          "holdfast.populated",
          "Host memory whose pages were made",
          BaseUnits.BYTES,
          tags,
          from -> from.of(Activity.POPULATE).bytes());
      counter(
          "holdfast.fallbacks",
          "What was done otherwise than asked",
          null,
          tags,
          from -> from.of(Activity.FALLBACK).count());
      timer("holdfast.map", "Mapping host memory", tags, sum(Activity.MAP));
      timer("holdfast.unmap", "Unmapping host memory", tags, sum(Activity.UNMAP));
      timer(
          "holdfast.populate",
          "Making pages, summed over the threads that do it",
          tags,
          sum(Activity.POPULATE));
      timer(
          "holdfast.region.ready",
          "Populating whole host regions",
          tags,
          series(Series.of(Activity.READY)));
      timer(
          "holdfast.native.slow",
          "Native calls at or above the threshold",
          tags,
          sum(Activity.NATIVE_CALL));
    }

    private void device(int ordinal) {
      Tags on = tags.and("device", String.valueOf(ordinal));
      gauge(
          "holdfast.memory.pinned",
          "Memory that is registered with the driver now",
          BaseUnits.BYTES,
          on,
          one -> one.statistics().onDevice(ordinal).registeredBytes());
      gauge(
          "holdfast.memory.quarantined",
          "Memory that the driver did not let go of",
          BaseUnits.BYTES,
          on,
          one -> one.statistics().onDevice(ordinal).quarantinedBytes());
      counter(
          "holdfast.registered",
          "Memory that was registered",
          BaseUnits.BYTES,
          on,
          from -> on(ordinal, Activity.REGISTER).apply(from).bytes());
      timer("holdfast.register", "Calls that pin", on, on(ordinal, Activity.REGISTER));
      timer("holdfast.unregister", "Calls that unpin", on, on(ordinal, Activity.UNREGISTER));
      timer("holdfast.pause", "Rests between calls that pin", on, on(ordinal, Activity.PAUSE));
      timer("holdfast.pins.ready", "Pinning whole regions", on, on(ordinal, Activity.READY));
      for (Activity change :
          List.of(
              Activity.COMMIT,
              Activity.SEAL,
              Activity.CONSOLIDATE,
              Activity.EXPORT,
              Activity.SLEEP,
              Activity.WAKE)) {
        timer(
            "holdfast.extensible",
            "Changes of extensible device memory",
            on.and("change", tag(change)),
            on(ordinal, change));
      }
      for (Activity direction : List.of(Activity.STORE, Activity.LOAD)) {
        for (CopyPath path : CopyPath.values()) {
          copies(ordinal, direction, path, on);
        }
      }
    }

    private void copies(int ordinal, Activity direction, CopyPath path, Tags on) {
      Function<Statistics, Tally> copies =
          series(new Series(direction, OptionalInt.of(ordinal), Optional.of(path)));
      Tags ways = on.and("direction", tag(direction), "path", path.name().toLowerCase(Locale.ROOT));
      counter(
          "holdfast.copied",
          "What was copied",
          BaseUnits.BYTES,
          ways,
          from -> copies.apply(from).bytes());
      timer("holdfast.copy", "Batches, from submission until seen to be done", ways, copies);
    }

    private void gauge(
        String name,
        String says,
        @Nullable String unit,
        Tags with,
        ToDoubleFunction<Backend> value) {
      add(
          Gauge.builder(name, backend, value)
              .description(says)
              .baseUnit(unit)
              .tags(with)
              .register(registry));
    }

    private void counter(
        String name,
        String says,
        @Nullable String unit,
        Tags with,
        ToDoubleFunction<Statistics> value) {
      add(
          FunctionCounter.builder(name, backend, one -> value.applyAsDouble(one.statistics()))
              .description(says)
              .baseUnit(unit)
              .tags(with)
              .register(registry));
    }

    private void timer(String name, String says, Tags with, Function<Statistics, Tally> tally) {
      add(
          FunctionTimer.builder(
                  name,
                  backend,
                  one -> tally.apply(one.statistics()).count(),
                  one -> tally.apply(one.statistics()).nanos(),
                  TimeUnit.NANOSECONDS)
              .description(says)
              .tags(with)
              .register(registry));
    }

    private void add(Meter meter) {
      bound.add(new Bound(registry, meter));
    }
  }

  private static String tag(Activity activity) {
    return activity.name().toLowerCase(Locale.ROOT);
  }

  private static Function<Statistics, Tally> sum(Activity activity) {
    return from -> from.of(activity);
  }

  private static Function<Statistics, Tally> on(int ordinal, Activity activity) {
    return series(new Series(activity, OptionalInt.of(ordinal), Optional.empty()));
  }

  private static Function<Statistics, Tally> series(Series which) {
    return from -> from.of(which);
  }
}
