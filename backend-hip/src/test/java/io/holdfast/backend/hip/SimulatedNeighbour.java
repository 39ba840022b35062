package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.holdfast.backend.cpusim.SimEngine;
import io.holdfast.backend.cpusim.driver.Blocker;
import io.holdfast.conformance.Engine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * An engine beside Holdfast on a simulated runtime, for the kit. HIP has no contexts: what a call
 * must put back is the thread's device, and this one's threads use another than the judged one.
 */
final class SimulatedNeighbour implements Engine {
  private static final int ITS_DEVICE = 1;

  private final HipBindings hip;
  private final SimEngine engine;

  SimulatedNeighbour(SimulatedRuntime runtime, int device) {
    hip = runtime.bindings();
    engine = runtime.machine().engineOnSharedContext(device);
  }

  @Override
  public long context() {
    return 0;
  }

  @Override
  public void makeCurrent() {
    setDevice(ITS_DEVICE);
  }

  private void setDevice(int device) {
    int code = hip.hipSetDevice(device);
    if (code != 0) {
      throw new IllegalStateException("hipSetDevice answered " + code);
    }
  }

  @Override
  public long current() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment device = arena.allocate(JAVA_INT);
      int code = hip.hipGetDevice(device);
      if (code != 0) {
        throw new IllegalStateException("hipGetDevice answered " + code);
      }
      return device.get(JAVA_INT, 0);
    }
  }

  @Override
  public long newStream() {
    return engine.newStream();
  }

  @Override
  public Runnable block(long stream) {
    Blocker busy = engine.block(stream);
    return busy::release;
  }

  @Override
  public long recordedEvent(long stream) {
    long event = engine.newEvent();
    engine.record(event, stream);
    return event;
  }

  @Override
  public boolean usable(long stream) {
    int answer = engine.queryStream(stream);
    return answer == 0 || answer == HipConstants.HIP_ERROR_NOT_READY;
  }

  @Override
  public void beginCapture(long stream) {
    engine.beginCapture(stream, SimEngine.CaptureMode.GLOBAL);
  }

  @Override
  public boolean endCapture(long stream) {
    return engine.endCaptureCode(stream) == 0;
  }

  @Override
  public void close() {
    setDevice(0);
    engine.close();
  }
}
