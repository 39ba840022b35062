package io.holdfast.device;

import java.time.Duration;

/** A point in a device's work that others can wait for. Safe from any thread. */
public interface DevicePoint {
  /**
   * Whether the device has passed it. Never blocks.
   *
   * @return true when passed; a failure is thrown, not hidden
   */
  boolean isDone();

  /** Waits; a virtual thread parks, it does not hold its carrier. */
  void await();

  /**
   * Waits no longer than that.
   *
   * @param atMost how long
   * @return whether the point was passed
   */
  boolean await(Duration atMost);
}
