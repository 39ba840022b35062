package io.holdfast.device;

import io.holdfast.layout.BlockLayout;

/** Memory of one device. Safe from any thread. */
public interface DeviceMemory {
  /**
   * An ordinary allocation; its contents are undefined.
   *
   * @param bytes how much, positive
   * @return the allocation
   * @throws io.holdfast.error.DriverException with {@code OUT_OF_MEMORY} when the device is full
   */
  DeviceAllocation allocate(long bytes);

  /**
   * Takes the address range for the capacity; no physical memory yet.
   *
   * @param request what for
   * @return the region, in state {@link ExtensibleRegion.State#RESERVED}
   * @throws io.holdfast.error.UnsupportedException where the driver cannot and the request requires
   */
  ExtensibleRegion reserve(ExtensibleRequest request);

  /**
   * Takes the address range with the defaults.
   *
   * @param capacity the layout at its largest
   * @return the region
   */
  default ExtensibleRegion reserve(BlockLayout capacity) {
    return reserve(ExtensibleRequest.of(capacity));
  }

  /**
   * What physical memory for that request is a multiple of.
   *
   * @param request the exact properties
   * @return bytes
   */
  long granuleBytes(ExtensibleRequest request);

  /**
   * Whether {@link #reserve} can work here: tried, not guessed; nothing is left behind.
   *
   * @return yes, or the reason
   */
  Support extensibleSupport();

  /**
   * Memory another process exported.
   *
   * @param descriptor says which
   * @return the memory, mapped here
   */
  ImportedRegion importRegion(RegionDescriptor descriptor);

  /**
   * Free and total, as the driver sees the whole device.
   *
   * @return the driver's account
   */
  MemoryInfo info();
}
