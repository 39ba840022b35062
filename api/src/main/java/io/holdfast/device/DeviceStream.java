package io.holdfast.device;

/** A queue of device work, ours or an engine's. Safe from any thread. */
public interface DeviceStream extends AutoCloseable {
  /**
   * The device it belongs to.
   *
   * @return the device
   */
  DeviceInfo device();

  /**
   * Work enqueued from now on starts after the point. Does not block the caller.
   *
   * @param point for what
   */
  void waitFor(DevicePoint point);

  /**
   * Work enqueued from now on starts after what is on the other stream now. Does not block the
   * caller.
   *
   * @param other for whose work
   */
  void waitFor(DeviceStream other);

  /** Waits until everything enqueued so far is done; a virtual thread parks. */
  void await();

  /** Gives the driver's stream back after its work; a wrapped one is left to its owner. */
  @Override
  void close();
}
