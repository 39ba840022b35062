package io.holdfast.copy;

import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostMemory;
import io.holdfast.layout.BlockLayout;
import io.holdfast.pin.HostBlocks;

/** Copies of one device. Safe from any thread. */
public interface CopyEngine {
  /**
   * A way between two sides of the same shape; geometry and cuts are resolved once.
   *
   * @param device one side, on this engine's device
   * @param host the other side
   * @param options how to copy
   * @return the route
   * @throws IllegalArgumentException when the shapes differ or the device is another
   * @throws io.holdfast.error.UnsupportedException when a fixed path is absent here
   */
  CopyRoute route(DeviceBlocks device, HostBlocks host, CopyOptions options);

  /**
   * A way with the defaults.
   *
   * @param device one side
   * @param host the other side
   * @return the route
   */
  default CopyRoute route(DeviceBlocks device, HostBlocks host) {
    return route(device, host, CopyOptions.auto());
  }

  /**
   * Slots in memory that is not pinned: every copy goes through a pinned ring of ours, slower.
   *
   * @param unpinned populated host memory
   * @param layout from its start
   * @return the slots
   */
  HostBlocks staged(HostMemory unpinned, BlockLayout layout);
}
