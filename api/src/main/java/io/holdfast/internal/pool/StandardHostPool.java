package io.holdfast.internal.pool;

import io.holdfast.*;
import io.holdfast.device.*;
import io.holdfast.host.*;
import io.holdfast.pool.*;

/** Placeholder. */
public final class StandardHostPool {
  private StandardHostPool() {}

  /**
   * Placeholder.
   *
   * @param d device
   * @param b blocks
   * @param m memory
   * @param o options
   * @return pool
   */
  public static HostPool open(Device d, DeviceBlocks b, HostRequest m, PoolOptions o) {
    return io.holdfast.internal.Placeholder.value();
  }

  /**
   * Placeholder.
   *
   * @param d device
   * @param b blocks
   * @param m memory
   * @param o options
   * @return pool
   */
  public static HostPool openInBackground(Device d, DeviceBlocks b, HostRequest m, PoolOptions o) {
    return io.holdfast.internal.Placeholder.value();
  }
}
