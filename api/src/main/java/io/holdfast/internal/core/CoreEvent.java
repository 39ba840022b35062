package io.holdfast.internal.core;

import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceStream;
import io.holdfast.error.BusyException;
import io.holdfast.internal.core.CoreStream.Ownership;
import io.holdfast.internal.tree.Standing;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.StreamHandle;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** An event, ours or an engine's. */
public final class CoreEvent extends Standing implements DeviceEvent, CorePoint {
  private final CoreDevice device;
  private final Ownership ownership;
  private volatile EventHandle handle;
  private volatile boolean recorded;

  /** A driver's event. */
  CoreEvent(CoreDevice device, EventHandle handle, Ownership ownership) {
    super("event 0x" + Long.toHexString(handle.value()), device.standing());
    this.device = device;
    this.handle = handle;
    this.ownership = ownership;
    this.recorded = ownership == Ownership.THEIRS;
  }

  @Override
  public CoreBackend backend() {
    return device.backend();
  }

  @Override
  public synchronized DeviceEvent record(DeviceStream stream) {
    requireOpen();
    if (!(stream instanceof CoreStream core) || core.core() != device) {
      throw new IllegalArgumentException(name() + " cannot be recorded on " + stream);
    }
    core.requireOpen();
    CaptureState state = device.port().captureState(core.handle());
    if (state != CaptureState.NONE) {
      throw new BusyException(
          "recording on a stream", List.of("the graph capture on " + core.name()));
    }
    if (ownership == Ownership.OURS && core.handle().context() != handle.context()) {
      EventHandle inItsContext = device.port().createEventFor(core.handle(), EventKind.ORDER);
      device.port().destroyEvent(handle);
      handle = inItsContext;
    }
    device.port().recordEvent(handle, core.handle());
    recorded = true;
    return this;
  }

  @Override
  public void holdBack(DevicePort port, StreamHandle stream) {
    requireOpen();
    requireRecorded();
    port.streamWait(stream, handle);
  }

  @Override
  public boolean isDone() {
    requireOpen();
    requireRecorded();
    return device.port().eventPassed(handle);
  }

  @Override
  public void await() {
    requireOpen();
    requireRecorded();
    device.workers().run(() -> device.port().awaitEvent(handle));
  }

  @Override
  public boolean await(Duration atMost) {
    long deadline = System.nanoTime() + atMost.toNanos();
    long pause = 1_000;
    boolean interrupted = false;
    try {
      while (!isDone()) {
        long left = deadline - System.nanoTime();
        if (left <= 0) {
          return false;
        }
        LockSupport.parkNanos(Math.min(pause, left));
        interrupted |= Thread.interrupted();
        pause = Math.min(2 * pause, 100_000);
      }
      return true;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void requireRecorded() {
    if (!recorded) {
      throw new IllegalStateException(
          name() + " was never recorded; a driver would call it done. Record it on a stream first");
    }
  }

  @Override
  protected void release() {
    if (ownership == Ownership.OURS) {
      device.port().destroyEvent(handle);
    }
  }
}
