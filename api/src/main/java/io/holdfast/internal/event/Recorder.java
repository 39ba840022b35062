package io.holdfast.internal.event;

import io.holdfast.event.Activity;
import io.holdfast.internal.tree.Standing;
import java.util.EnumMap;
import java.util.Map;
import java.util.OptionalInt;
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
  private static final int NO_DEVICE = -1;

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
      makers.put(Activity.UNMAP, Unmap::new);
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
      makers.put(Activity.RECOVER, Recover::new);
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

  /** Which thing it is about. */
  static void about(Object begun, Standing thing) {
    Told event = (Told) begun;
    event.subject = thing.number();
    event.ground = thing.groundNumber();
  }

  static void mapped(Object begun, long logicalBytes, long pageBytes, String pages) {
    MapEvent event = (MapEvent) begun;
    event.logicalBytes = logicalBytes;
    event.pageBytes = pageBytes;
    event.pages = pages;
  }

  static void registered(Object begun, long start, long offset, long wholeBytes) {
    Register event = (Register) begun;
    event.start = start;
    event.offset = offset;
    event.wholeBytes = wholeBytes;
  }

  static void changed(Object begun, Extent extent, String detail, long blocks, long epoch) {
    Change event = (Change) begun;
    event.shape = extent.shape();
    event.capacity = extent.capacity();
    event.arrangement = extent.arrangement();
    event.detail = detail;
    event.blocks = blocks;
    event.epoch = epoch;
  }

  static void ends(Object begun, CopyEnds ends, long deviceBlocks) {
    CopyBatch event = (CopyBatch) begun;
    event.subject = ends.host();
    event.ground = ends.ground();
    event.shape = ends.shape();
    event.slots = ends.slots();
    event.hostArrangement = ends.hostArrangement();
    event.deviceBlocks = deviceBlocks;
    event.deviceArrangement = ends.deviceArrangement();
  }

  static void copied(
      Object begun,
      String direction,
      String path,
      long pairs,
      long rows,
      long submitNanos,
      long deviceNanos) {
    CopyBatch event = (CopyBatch) begun;
    event.direction = direction;
    event.path = path;
    event.pairs = pairs;
    event.rows = rows;
    event.submit = submitNanos;
    event.device = Math.max(0, deviceNanos);
  }

  static void tell(
      Object begun,
      String backend,
      OptionalInt device,
      String what,
      long bytes,
      long nanos,
      @Nullable String failure) {
    Told event = (Told) begun;
    event.backend = backend;
    event.deviceOrdinal = device.orElse(NO_DEVICE);
    event.what = what;
    event.bytes = bytes;
    event.took = nanos;
    event.failure = failure;
    event.commit();
  }

  /** What every event has. */
  @StackTrace(false)
  abstract static class Told extends Event {
    @Label("Backend")
    @Nullable String backend;

    @Label("Device")
    @Description("As the driver counts; -1 for what concerns no device")
    int deviceOrdinal;

    @Label("Subject")
    @Nullable String what;

    @Label("Subject Number")
    @Description("Tells things of one name apart; 0 where there is no thing")
    long subject;

    @Label("Ground Number")
    @Description("The subject that it stands on: a host region for pins")
    long ground;

    @Label("Bytes")
    @DataAmount
    long bytes;

    @Label("Took")
    @Description("By the host's clock, which is simulated under a simulated machine")
    @Timespan
    long took;

    @Label("Failure")
    @Nullable String failure;
  }

  /** What every change of extensible memory has. */
  @Category({"Holdfast", "Extensible memory"})
  abstract static class Change extends Told {
    @Label("Block Shape")
    @Description("Runs of equal parts with their bytes")
    @Nullable String shape;

    @Label("Capacity")
    @Description("Blocks for which addresses are reserved")
    long capacity;

    @Label("Arrangement")
    @Nullable String arrangement;

    @Label("Detail")
    @Description("What becomes of contents, or the kind of handle")
    @Nullable String detail;

    @Label("Blocks")
    long blocks;

    @Label("Epoch")
    long epoch;
  }

  @Name("io.holdfast.Map")
  @Label("Map")
  @Description("Host memory was mapped; its pages do not exist yet")
  @Category({"Holdfast", "Host memory"})
  static final class MapEvent extends Told {
    @Label("Logical Bytes")
    @Description("What was asked for")
    @DataAmount
    long logicalBytes;

    @Label("Backing Page")
    @DataAmount
    long pageBytes;

    @Label("Kind of Pages")
    @Nullable String pages;
  }

  @Name("io.holdfast.Unmap")
  @Label("Unmap")
  @Description("Host memory was unmapped, or left to its owner")
  @Category({"Holdfast", "Host memory"})
  static final class Unmap extends Told {}

  @Name("io.holdfast.PopulateSlice")
  @Label("Populate Slice")
  @Description("One thread made the pages of one slice")
  @Category({"Holdfast", "Host memory"})
  static final class PopulateSlice extends Told {}

  @Name("io.holdfast.Register")
  @Label("Register")
  @Description("One driver call pinned one range")
  @Category({"Holdfast", "Pins"})
  static final class Register extends Told {
    @Label("Start")
    @Description("Of the memory that is pinned in its host region")
    @DataAmount
    long start;

    @Label("Offset")
    @Description("Of the range in the memory that is pinned")
    @DataAmount
    long offset;

    @Label("Whole")
    @Description("Bytes of the memory that is pinned")
    @DataAmount
    long wholeBytes;
  }

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

    @Label("Block Shape")
    @Description("Runs of equal parts with their bytes")
    @Nullable String shape;

    @Label("Slots")
    @Description("Of the host side")
    long slots;

    @Label("Arrangement of Slots")
    @Nullable String hostArrangement;

    @Label("Device Blocks")
    @Description("Of the device side")
    long deviceBlocks;

    @Label("Arrangement of Device Blocks")
    @Nullable String deviceArrangement;

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

  @Name("io.holdfast.Recover")
  @Label("Recover")
  @Description("A range has left quarantine")
  @Category({"Holdfast", "Pins"})
  static final class Recover extends Told {}

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
