package io.holdfast.internal.extensible;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DevicePoint;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.Order;
import io.holdfast.error.BusyException;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.core.CorePoint;
import io.holdfast.internal.core.CoreStream;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.StreamHandle;
import java.lang.foreign.Arena;
import java.util.List;

/**
 * The stream on which changes of pages wait for the engine, zero and copy. Not in the tree of what
 * can be closed: it belongs to one region and goes with it. Used by one change at a time.
 */
final class ChangeStream implements DeviceStream {
  private final CoreDevice device;

  /** Lives as long as this: a copy whose end could not be awaited may still read it. */
  private final CopyTable row;

  private volatile StreamHandle handle;

  ChangeStream(CoreDevice device) {
    this.device = device;
    Arena arena = Arena.ofAuto();
    this.row =
        new CopyTable(
            arena.allocate(JAVA_LONG),
            arena.allocate(JAVA_LONG),
            arena.allocate(JAVA_LONG),
            CopyTable.Direction.DEVICE_TO_DEVICE);
    this.handle = device.port().createStream(0);
  }

  @Override
  public DeviceInfo device() {
    return device.info();
  }

  @Override
  public void waitFor(DevicePoint point) {
    if (!(point instanceof CorePoint core) || core.backend() != device.backend()) {
      throw new IllegalArgumentException("the point " + point + " is not of this backend");
    }
    core.holdBack(device.port(), handle);
  }

  @Override
  public void waitFor(DeviceStream other) {
    if (!(other instanceof CoreStream core) || core.core().backend() != device.backend()) {
      throw new IllegalArgumentException("the stream " + other + " is not of this backend");
    }
    core.requireOpen();
    core.holdBack(device.port(), handle);
  }

  @Override
  public void await() {
    device.port().awaitStream(handle);
  }

  /**
   * Waits until the device has passed the caller's last use.
   *
   * @throws BusyException when an event of the order was recorded inside a graph capture
   */
  void awaitLastUse(Order.After lastUse) {
    lastUse.hold(this);
    CaptureState state = device.port().captureState(handle);
    if (state != CaptureState.NONE) {
      // This stream has joined the capture, and what it is given now would never run. Without it
      // the engine's graph is whole again.
      StreamHandle joined = handle;
      handle = device.port().createStream(0);
      device.port().destroyStream(joined);
      throw new BusyException(
          "waiting for the last use", List.of("a graph capture (" + state + ")"));
    }
    await();
  }

  /** Waits while something else already went wrong. */
  void awaitQuietly(Throwable failure) {
    try {
      await();
    } catch (RuntimeException worse) {
      failure.addSuppressed(worse);
    }
  }

  void zero(DeviceRange range) {
    if (range.bytes() > 0) {
      device.port().fill(range, (byte) 0, handle);
    }
  }

  /** Copies and waits for the end. */
  void copy(DeviceRange from, DeviceRange to) {
    row.set(0, to.address(), from.address(), from.bytes());
    device.port().copyEach(row, 0, 1, handle);
    await();
  }

  @Override
  public void close() {
    device.port().destroyStream(handle);
  }

  @Override
  public String toString() {
    return "change stream 0x" + Long.toHexString(handle.value());
  }
}
