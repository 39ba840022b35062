package io.holdfast.internal.core;

import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DevicePoint;
import io.holdfast.device.DeviceStream;
import io.holdfast.error.BusyException;
import io.holdfast.internal.tree.Standing;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.StreamHandle;
import java.util.List;

/** A stream, ours or an engine's. */
public final class CoreStream extends Standing implements DeviceStream {
  private final CoreDevice device;
  private final StreamHandle handle;
  private final Ownership ownership;
  private final EventHandle marker;

  private CoreStream(CoreDevice device, StreamHandle handle, Ownership ownership) {
    super("stream 0x" + Long.toHexString(handle.value()), device.standing());
    this.device = device;
    this.handle = handle;
    this.ownership = ownership;
    this.marker = device.port().createEventFor(handle, EventKind.ORDER);
  }

  /**
   * Makes the marker event that others wait for.
   *
   * @param device whose
   * @param handle the driver's; still the caller's when this fails
   * @param ownership who destroys it
   */
  static CoreStream of(CoreDevice device, StreamHandle handle, Ownership ownership) {
    CoreStream made = new CoreStream(device, handle, ownership);
    try {
      return enrolled(made);
    } catch (Throwable failure) {
      device.port().destroyEvent(made.marker);
      throw failure;
    }
  }

  /**
   * The driver's handle.
   *
   * @return the handle
   */
  public StreamHandle handle() {
    return handle;
  }

  /**
   * The open device it belongs to.
   *
   * @return the device
   */
  public CoreDevice core() {
    return device;
  }

  @Override
  public DeviceInfo device() {
    return device.info();
  }

  @Override
  public void waitFor(DevicePoint point) {
    requireOpen();
    if (!(point instanceof CorePoint core) || core.backend() != device.backend()) {
      throw new IllegalArgumentException("the point " + point + " is not of this backend");
    }
    refuseCapture("making a stream wait", this);
    core.holdBack(device.port(), handle);
  }

  @Override
  public void waitFor(DeviceStream other) {
    requireOpen();
    if (!(other instanceof CoreStream core) || core.device.backend() != device.backend()) {
      throw new IllegalArgumentException("the stream " + other + " is not of this backend");
    }
    core.requireOpen();
    refuseCapture("making a stream wait", this);
    core.holdBack(device.port(), handle);
  }

  /**
   * Makes later work on a stream wait for what is on this one now. Allocates nothing. Two threads
   * may do so at once: a later record only makes the wait longer.
   *
   * @param waiter port of the waiting stream's device
   * @param stream who waits
   */
  public void holdBack(DevicePort waiter, StreamHandle stream) {
    refuseCapture("recording on a stream", this);
    device.port().recordEvent(marker, handle);
    waiter.streamWait(stream, marker);
  }

  private static void refuseCapture(String operation, CoreStream stream) {
    CaptureState state = stream.device.port().captureState(stream.handle);
    if (state != CaptureState.NONE) {
      throw new BusyException(
          operation, List.of("the graph capture on " + stream.name() + " (" + state + ")"));
    }
  }

  @Override
  public void await() {
    requireOpen();
    device.workers().run(() -> device.port().awaitStream(handle));
  }

  @Override
  protected void quiesce() {
    if (ownership == Ownership.OURS) {
      device.workers().run(() -> device.port().awaitStream(handle));
    }
  }

  @Override
  protected void release() {
    try {
      device.port().destroyEvent(marker);
    } finally {
      if (ownership == Ownership.OURS) {
        device.port().destroyStream(handle);
      }
    }
  }

  /** Who destroys a driver's object. */
  public enum Ownership {
    /** We do. */
    OURS,
    /** The engine does. */
    THEIRS
  }
}
