package io.holdfast.internal.copy;

import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DevicePoint;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.Order;
import io.holdfast.error.BusyException;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.core.CorePoint;
import io.holdfast.internal.core.CoreStream;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.StreamHandle;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The stream a lane copies on, as orders see it. It is replaced when it joined a capture.
 * Everything but {@link #isIdle} is for who has the lane's lock.
 */
final class LaneStream implements DeviceStream {
  private final Lane lane;
  private final CoreDevice device;
  private final int priority;
  private volatile StreamHandle handle;

  /** It joined a capture and was destroyed, and another could not be had yet. */
  private boolean gone;

  /** It may be joining a capture: nobody asks it anything. */
  private volatile boolean ordering;

  /** Somebody asks whether it is idle. */
  private volatile boolean asked;

  LaneStream(Lane lane, CoreDevice device, int priority) {
    this.lane = lane;
    this.device = device;
    this.priority = priority;
    this.handle = device.port().createStream(priority);
  }

  StreamHandle handle() {
    return handle;
  }

  /** Makes another one where there is none any more. */
  void require() {
    if (gone) {
      renew();
    }
  }

  /**
   * Waits for what the order names. A stream that waits for an event of a capture joins it: its
   * copies would never run, and the engine's capture would fail. Destroying the stream lets the
   * capture end unharmed, also where the order was refused half way.
   *
   * @throws BusyException when it joined a capture
   */
  void hold(Order order) {
    ordering = true;
    while (asked) {
      Thread.onSpinWait(); // one driver call
    }
    try {
      try {
        order.hold(this);
      } catch (Throwable refusal) {
        Optional<RuntimeException> left = leaveCapture();
        left.ifPresent(refusal::addSuppressed);
        throw refusal;
      }
      Optional<RuntimeException> left = leaveCapture();
      if (left.isPresent()) {
        throw left.get();
      }
    } finally {
      ordering = false;
    }
  }

  private Optional<RuntimeException> leaveCapture() {
    RuntimeException why;
    try {
      if (device.port().captureState(handle) == CaptureState.NONE) {
        return Optional.empty();
      }
      why =
          new BusyException(
              lane.oneCopy(), List.of("the graph capture in which its order's event was recorded"));
    } catch (RuntimeException unknown) {
      why = unknown; // it may have joined one
    }
    lane.inTheAir(null);
    gone = true;
    try {
      try {
        device.port().destroyStream(handle);
      } finally {
        renew();
      }
    } catch (RuntimeException later) { // the next submission tries again
      why.addSuppressed(later);
    }
    return Optional.of(why);
  }

  /** A new stream comes after all copies in flight on the one before. */
  private void renew() {
    StreamHandle fresh = device.port().createStream(priority);
    try {
      lane.holdBackByAll(fresh);
    } catch (Throwable refusal) {
      try {
        device.port().destroyStream(fresh);
      } catch (RuntimeException second) {
        refusal.addSuppressed(second);
      }
      throw refusal;
    }
    handle = fresh;
    lane.inTheAir(fresh);
    gone = false;
  }

  /**
   * Whether a stream is known to be idle; the question would break a capture that it has just
   * joined. From any thread, one at a time.
   *
   * @param one this or one before, or nothing where there is none
   */
  boolean isIdle(@Nullable StreamHandle one) {
    asked = true;
    try {
      return !ordering && one != null && device.port().streamIdle(one);
    } finally {
      asked = false;
    }
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
    device.workers().run(() -> device.port().awaitStream(handle));
  }

  @Override
  public void close() {
    if (!gone) {
      device.port().destroyStream(handle);
    }
  }

  @Override
  public String toString() {
    return "copy stream 0x" + Long.toHexString(handle.value());
  }
}
