package io.holdfast.internal.event;

import io.holdfast.event.Activity;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.Supplier;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/**
 * The events of JDK Flight Recorder. Loaded only where that module is there.
 *
 * <p>An event that says whether anybody listens is kept for each activity: asking it allocates
 * nothing.
 */
@SuppressWarnings("UnusedVariable") // fields are read by the recorder
final class Recorder {
  private Recorder() {}

  /**
   * The events' classes. Their first use costs a program's start a fifth of a second of computing,
   * so it waits until somebody has begun to record anything.
   */
  private static final class Events {
    static final Map<Activity, Supplier<Told>> MAKERS = makers();
    static final Map<Activity, Told> PROBES = probes();

    private Events() {}

    private static Map<Activity, Supplier<Told>> makers() {
      Map<Activity, Supplier<Told>> makers = new EnumMap<>(Activity.class);
      makers.put(Activity.MAP, MapEvent::new);
      makers.put(Activity.POPULATE, PopulateSlice::new);
      makers.put(Activity.REGISTER, Register::new);
      makers.put(Activity.UNREGISTER, Unregister::new);
      makers.put(Activity.PAUSE, Pause::new);
      makers.put(Activity.READY, Ready::new);
      makers.put(Activity.STORE, CopyBatch::new);
      makers.put(Activity.LOAD, CopyBatch::new);
      makers.put(Activity.COMMIT, Commit::new);
      makers.put(Activity.SEAL, Seal::new);
      makers.put(Activity.CONSOLIDATE, Consolidate::new);
      makers.put(Activity.EXPORT, Export::new);
      makers.put(Activity.SLEEP, Sleep::new);
      makers.put(Activity.WAKE, Wake::new);
      makers.put(Activity.QUARANTINE, Quarantine::new);
      makers.put(Activity.CLOSE, Close::new);
      makers.put(Activity.FALLBACK, Fallback::new);
      makers.put(Activity.NATIVE_CALL, NativeCall::new);
      return makers;
    }

    private static Map<Activity, Told> probes() {
      Map<Activity, Told> probes = new EnumMap<>(Activity.class);
      MAKERS.forEach((activity, maker) -> probes.put(activity, maker.get()));
      return probes;
    }
  }

  private static boolean isHeard(Activity activity) {
    if (!FlightRecorder.isInitialized()) {
      return false;
    }
    Told probe = Events.PROBES.get(activity);
    return probe != null && probe.isEnabled();
  }

  private static Told make(Activity activity) {
    Supplier<Told> maker = Events.MAKERS.get(activity);
    if (maker == null) {
      throw new AssertionError("no event for " + activity);
    }
    return maker.get();
  }

  static @Nullable Object begin(Activity activity) {
    if (!isHeard(activity)) {
      return null;
    }
    Told event = make(activity);
    event.begin();
    return event;
  }

  static void end(
      @Nullable Object begun,
      Activity activity,
      String backend,
      String what,
      long bytes,
      long nanos,
      @Nullable String failure) {
    if (begun == null && !isHeard(activity)) {
      return;
    }
    Told event = begun == null ? make(activity) : (Told) begun;
    event.tell(backend, what, bytes, nanos, failure);
  }

  static void changed(
      @Nullable Object begun,
      Activity activity,
      String backend,
      String region,
      long blocks,
      long bytes,
      long epoch,
      long nanos) {
    if (begun instanceof Change event) {
      event.blocks = blocks;
      event.epoch = epoch;
      event.tell(backend, region, bytes, nanos, null);
    } else {
      end(begun, activity, backend, region, bytes, nanos, null);
    }
  }

  static void copied(
      Object begun,
      Activity activity,
      String backend,
      String path,
      long bytes,
      long pairs,
      long rows,
      long submitNanos,
      long deviceNanos,
      long nanos,
      @Nullable String failure) {
    CopyBatch event = (CopyBatch) begun;
    event.direction = activity.name();
    event.path = path;
    event.pairs = pairs;
    event.rows = rows;
    event.submit = submitNanos;
    event.device = Math.max(0, deviceNanos);
    event.tell(backend, activity.name(), bytes, nanos, failure);
  }

  /** What every event has. */
  @StackTrace(false)
  abstract static class Told extends Event {
    @Label("Backend")
    @Nullable String backend;

    @Label("Subject")
    @Nullable String what;

    @Label("Bytes")
    @DataAmount
    long bytes;

    @Label("Took")
    @Description("By the host's clock, which is simulated under a simulated machine")
    @Timespan
    long took;

    @Label("Failure")
    @Nullable String failure;

    final void tell(
        String who, String subject, long amount, long nanos, @Nullable String whyFailed) {
      backend = who;
      what = subject;
      bytes = amount;
      took = nanos;
      failure = whyFailed;
      commit();
    }
  }

  /** What every change of extensible memory has. */
  @Category({"Holdfast", "Extensible memory"})
  abstract static class Change extends Told {
    @Label("Blocks")
    long blocks;

    @Label("Epoch")
    long epoch;
  }

  @Name("io.holdfast.Map")
  @Label("Map")
  @Description("Host memory was mapped; its pages do not exist yet")
  @Category({"Holdfast", "Host memory"})
  static final class MapEvent extends Told {}

  @Name("io.holdfast.PopulateSlice")
  @Label("Populate Slice")
  @Description("One thread made the pages of one slice")
  @Category({"Holdfast", "Host memory"})
  static final class PopulateSlice extends Told {}

  @Name("io.holdfast.Register")
  @Label("Register")
  @Description("One driver call pinned one range")
  @Category({"Holdfast", "Pins"})
  static final class Register extends Told {}

  @Name("io.holdfast.Unregister")
  @Label("Unregister")
  @Description("One driver call gave one range back")
  @Category({"Holdfast", "Pins"})
  static final class Unregister extends Told {}

  @Name("io.holdfast.Pause")
  @Label("Pause Between Pins")
  @Description("Pinning rested, so that driver calls of others get through")
  @Category({"Holdfast", "Pins"})
  static final class Pause extends Told {}

  @Name("io.holdfast.Ready")
  @Label("Ready")
  @Description("A region or its pins are complete")
  @Category({"Holdfast", "Host memory"})
  static final class Ready extends Told {}

  @Name("io.holdfast.CopyBatch")
  @Label("Copy Batch")
  @Description("One store or load, from its submission until the device was seen to be done")
  @Category({"Holdfast", "Copies"})
  static final class CopyBatch extends Told {
    @Label("Direction")
    @Nullable String direction;

    @Label("Copy Path")
    @Nullable String path;

    @Label("Block Parts")
    long pairs;

    @Label("Descriptors")
    @Description("After neighbours were merged and registrations' cuts were respected")
    long rows;

    @Label("Time to Submit")
    @Timespan
    long submit;

    @Label("Time on Device")
    @Description("Zero where it was not measured")
    @Timespan
    long device;
  }

  @Name("io.holdfast.Commit")
  @Label("Commit")
  static final class Commit extends Change {}

  @Name("io.holdfast.Seal")
  @Label("Seal")
  static final class Seal extends Change {}

  @Name("io.holdfast.Consolidate")
  @Label("Consolidate")
  static final class Consolidate extends Change {}

  @Name("io.holdfast.Export")
  @Label("Export")
  static final class Export extends Change {}

  @Name("io.holdfast.Sleep")
  @Label("Sleep")
  static final class Sleep extends Change {}

  @Name("io.holdfast.Wake")
  @Label("Wake")
  static final class Wake extends Change {}

  @Name("io.holdfast.Quarantine")
  @Label("Quarantine")
  @Description("A range could not be unregistered: it stays pinned, counted and mapped")
  @Category({"Holdfast", "Pins"})
  static final class Quarantine extends Told {}

  @Name("io.holdfast.Close")
  @Label("Close")
  @Category("Holdfast")
  static final class Close extends Told {}

  @Name("io.holdfast.Fallback")
  @Label("Fallback")
  @Description("Something was done otherwise than asked")
  @Category("Holdfast")
  static final class Fallback extends Told {}

  @Name("io.holdfast.NativeCall")
  @Label("Long Native Call")
  @Description("A call of the driver or the kernel at or above the threshold")
  @Category({"Holdfast", "Native"})
  static final class NativeCall extends Told {}
}
