package io.holdfast.internal.pin;

import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.tree.Standing;
import io.holdfast.pin.PinnedRegion;
import java.lang.foreign.MemorySegment;

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

  /**
   * Bytes below the watermark for the CPU; valid while the region is open.
   *
   * @param offsetBytes from the memory's start
   * @param bytes how many; the end is at most the watermark
   * @return a view
   */
  default MemorySegment usable(long offsetBytes, long bytes) {
    return memory().segment().asSlice(offsetBytes, bytes);
  }
}
