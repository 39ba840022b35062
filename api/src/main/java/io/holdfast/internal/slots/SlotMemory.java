package io.holdfast.internal.slots;

import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.pin.HostAddresses;
import io.holdfast.internal.tree.Standing;
import java.lang.foreign.MemorySegment;

/** What slots and copies need of host memory that devices can reach. */
public interface SlotMemory {
  /**
   * What slots and routes stand on.
   *
   * @return the memory's place in the tree
   */
  Standing standing();

  /**
   * How much there is.
   *
   * @return bytes
   */
  long logicalBytes();

  /**
   * Bytes from the start that can be used now.
   *
   * @return bytes, only growing until closed
   */
  long watermarkBytes();

  /**
   * Waits until that many bytes from the start are usable; parks.
   *
   * @param bytes 0 to {@link #logicalBytes()}
   * @throws io.holdfast.error.HoldfastException when that never will be
   */
  void awaitWatermark(long bytes);

  /**
   * The memory as a device names it; every open device of the same backend can be asked.
   *
   * @param device who asks
   * @return a live view
   */
  HostAddresses addressesOn(CoreDevice device);

  /**
   * Bytes below the watermark for the CPU; valid while the memory is open.
   *
   * @param offsetBytes from the memory's start
   * @param bytes how many; the end is at most the watermark
   * @return a view
   */
  MemorySegment usable(long offsetBytes, long bytes);
}
