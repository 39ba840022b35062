package io.holdfast.event;

/**
 * What a backend does, as it is counted and recorded.
 *
 * <p>Each has an event of JDK Flight Recorder, whose fields {@code bytes}, {@code took} and {@code
 * failure} are what {@link Statistics} adds up. {@code subject} tells things of one name apart, and
 * {@code ground} is the subject they stand on: pins on their host region.
 */
public enum Activity {
  /** Host memory is mapped, before its pages exist. Bytes: mapped. */
  MAP("io.holdfast.Map"),
  /** Host memory is unmapped, or left to its owner. Bytes: mapped. */
  UNMAP("io.holdfast.Unmap"),
  /** One slice of host memory is populated by one thread. Bytes: the slice. */
  POPULATE("io.holdfast.PopulateSlice"),
  /** One range is registered with a driver. Bytes: registered. */
  REGISTER("io.holdfast.Register"),
  /** One range is unregistered. Bytes: no longer registered, even where the driver refused. */
  UNREGISTER("io.holdfast.Unregister"),
  /** Pinning rests between two calls, so that others' driver calls get through. */
  PAUSE("io.holdfast.Pause"),
  /** A host region is populated, or its pins are complete. Bytes: usable. */
  READY("io.holdfast.Ready"),
  /** One submission from device to host, until the device was seen to be done. Bytes: copied. */
  STORE("io.holdfast.CopyBatch"),
  /** One submission from host to device, until the device was seen to be done. Bytes: copied. */
  LOAD("io.holdfast.CopyBatch"),
  /** Physical memory is added to or taken from extensible device memory. Bytes: committed. */
  COMMIT("io.holdfast.Commit"),
  /** The size of extensible memory becomes final. Bytes: committed. */
  SEAL("io.holdfast.Seal"),
  /** The pages of extensible memory are exchanged for fewer, larger ones. Bytes: committed. */
  CONSOLIDATE("io.holdfast.Consolidate"),
  /** Extensible memory is handed to others. Bytes: named by the handles. */
  EXPORT("io.holdfast.Export"),
  /** Physical memory is released under addresses that stay. Bytes: given back. */
  SLEEP("io.holdfast.Sleep"),
  /** Physical memory comes back under those addresses. Bytes: committed. */
  WAKE("io.holdfast.Wake"),
  /** A range could not be unregistered and stays mapped. Bytes: the range. */
  QUARANTINE("io.holdfast.Quarantine"),
  /** A range has left quarantine: the driver let go of it at last. Bytes: the range. */
  RECOVER("io.holdfast.Recover"),
  /** Something is closed. */
  CLOSE("io.holdfast.Close"),
  /** Something was done otherwise than asked. */
  FALLBACK("io.holdfast.Fallback"),
  /** A call of a driver or of the kernel took long: {@link #NATIVE_THRESHOLD_PROPERTY}. */
  NATIVE_CALL("io.holdfast.NativeCall");

  /**
   * System property: from how many nanoseconds on a native call is counted and recorded; ten
   * milliseconds by default. Read once.
   */
  public static final String NATIVE_THRESHOLD_PROPERTY = "holdfast.event.native.threshold.nanos";

  private final String eventName;

  Activity(String eventName) {
    this.eventName = eventName;
  }

  /**
   * The name of its event in a recording.
   *
   * @return the name; {@link #STORE} and {@link #LOAD} share one and differ in the field {@code
   *     direction}
   */
  public String eventName() {
    return eventName;
  }
}
