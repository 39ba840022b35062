package io.holdfast.internal.copy;

import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DevicePoint;
import io.holdfast.device.DeviceStream;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.core.CorePoint;
import io.holdfast.internal.core.CoreStream;
import io.holdfast.spi.StreamHandle;

/** The stream a lane copies on, as orders see it. It can be replaced when it joined a capture. */
final class LaneStream implements DeviceStream {
  private final CoreDevice device;
  private final int priority;
  private volatile StreamHandle handle;

  LaneStream(CoreDevice device, int priority) {
    this.device = device;
    this.priority = priority;
    this.handle = device.port().createStream(priority);
  }

  StreamHandle handle() {
    return handle;
  }

  /** Another one, to be used in its place. */
  StreamHandle create() {
    return device.port().createStream(priority);
  }

  /** This one from now on; the one before is destroyed. */
  void use(StreamHandle fresh) {
    handle = fresh;
  }

  /** Its work goes on, but nothing can be put on it any more. */
  void destroy() {
    device.port().destroyStream(handle);
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
    destroy();
  }

  @Override
  public String toString() {
    return "copy stream 0x" + Long.toHexString(handle.value());
  }
}
