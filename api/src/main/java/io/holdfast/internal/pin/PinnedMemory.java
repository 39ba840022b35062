package io.holdfast.internal.pin;

import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.tree.Standing;
import io.holdfast.pin.PinnedRegion;

/** What copies need of a pinned region, beside what engines see. */
public interface PinnedMemory extends PinnedRegion {
  /**
   * What slots and routes stand on.
   *
   * @return the region's place in the tree
   */
  Standing standing();

  /**
   * The memory as a device names it; every open device of the same backend can be asked.
   *
   * @param device who asks
   * @return a live view
   */
  HostAddresses addressesOn(CoreDevice device);

  /**
   * Waits until that many bytes from the start are usable; parks.
   *
   * @param bytes 0 to the memory's logical bytes
   * @throws io.holdfast.error.HoldfastException when that never will be
   */
  void awaitWatermark(long bytes);
}
