package io.holdfast.internal.host;

import io.holdfast.internal.core.Workers;
import io.holdfast.layout.ByteRange;
import io.holdfast.spi.HostAllocationPort;
import java.lang.foreign.MemorySegment;

/**
 * Memory that a driver allocated, given back to it as a whole.
 *
 * @param pages as the driver returned it
 * @param port the driver's
 * @param workers for the call, which can block
 */
record DriverMemory(MemorySegment pages, HostAllocationPort port, Workers workers)
    implements RegionMemory {
  @Override
  public void giveBack(ByteRange range) {
    workers.run(() -> port.free(pages));
  }

  @Override
  public boolean isIndivisible() {
    return true;
  }
}
