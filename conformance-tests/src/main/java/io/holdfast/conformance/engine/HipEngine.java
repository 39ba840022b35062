package io.holdfast.conformance.engine;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.holdfast.Device;
import io.holdfast.conformance.Engine;
import io.holdfast.conformance.EngineProvider;
import java.lang.foreign.SymbolLookup;
import java.util.Optional;

/**
 * An engine on HIP's runtime. HIP has no contexts: what a call must put back is the thread's
 * device, so what this one leaves current is another device than its own where there is one.
 */
public final class HipEngine extends NativeEngine {
  private static final Names NAMES =
      new Names(
          "hipStreamCreateWithPriority",
          "hipStreamQuery",
          "hipStreamSynchronize",
          "hipStreamDestroy",
          "hipStreamBeginCapture",
          "hipStreamEndCapture",
          "hipGraphDestroy",
          "hipEventCreateWithFlags",
          "hipEventRecord",
          "hipEventDestroy");

  private final NativeFunction getDevice;
  private final NativeFunction setDevice;
  private final int device;
  private final int other;
  private final long before;

  /**
   * Begins on a device.
   *
   * @param runtime HIP's library
   * @param device its number
   * @throws IllegalStateException where the runtime refuses, or lacks a function
   */
  public HipEngine(SymbolLookup runtime, int device) {
    super(runtime, NAMES, hostFunction(runtime));
    getDevice = NativeFunction.making(runtime, "hipGetDevice");
    setDevice = NativeFunction.of(runtime, "hipSetDevice", JAVA_INT);
    long devices = NativeFunction.making(runtime, "hipGetDeviceCount").make();
    this.device = device;
    this.other = device == 0 && devices > 1 ? 1 : 0;
    this.before = getDevice.make();
  }

  private static HostFunction hostFunction(SymbolLookup runtime) {
    return runtime.find("hipLaunchHostFunc").isPresent()
        ? HostFunction.launched(runtime, "hipLaunchHostFunc")
        : HostFunction.calledBack(runtime, "hipStreamAddCallback");
  }

  @Override
  public long context() {
    return 0;
  }

  @Override
  public void makeCurrent() {
    setDevice.call(other);
  }

  @Override
  public long current() {
    return getDevice.make();
  }

  @Override
  long enter() {
    long at = current();
    setDevice.call(device);
    return at;
  }

  @Override
  void leave(long at) {
    setDevice.call(Math.toIntExact(at));
  }

  @Override
  void end() {
    leave(before);
  }

  /** Finds the runtime that the backend has loaded into this process. */
  public static final class Provider implements EngineProvider {
    /** For service loaders. */
    public Provider() {}

    @Override
    public String backend() {
      return "hip";
    }

    @Override
    public Optional<Engine> engine(Device device) {
      return LoadedLibrary.find("libamdhip64.so", "holdfast.hip.library")
          .map(library -> new HipEngine(library, device.info().ordinal()));
    }
  }
}
