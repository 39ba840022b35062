package io.holdfast.backend.cpusim;

import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.spi.HostAllocationPort;
import java.lang.foreign.MemorySegment;

/** Host memory from the simulated driver. */
final class SimHostAllocations implements HostAllocationPort {
  private static final int PORTABLE_AND_MAPPED = 3;
  private static final int WRITE_COMBINED = 4;

  private final SimDevicePort port;

  SimHostAllocations(SimDevicePort port) {
    this.port = port;
  }

  @Override
  @SuppressWarnings("restricted") // the driver's own allocation of exactly that size
  public MemorySegment allocate(long bytes, Caching caching) {
    int flags = PORTABLE_AND_MAPPED | (caching == Caching.WRITE_COMBINED ? WRITE_COMBINED : 0);
    long entered = port.enter();
    try {
      long[] address = new long[1];
      port.check(
          Operation.HOST_ALLOC,
          bytes + ", " + flags,
          port.driver().memHostAlloc(address, bytes, flags));
      return MemorySegment.ofAddress(address[0]).reinterpret(bytes);
    } finally {
      port.leave(entered);
    }
  }

  @Override
  public void free(MemorySegment memory) {
    long entered = port.enter();
    try {
      port.check(
          Operation.HOST_FREE,
          SimDevicePort.hex(memory.address()),
          port.driver().memFreeHost(memory.address()));
    } finally {
      port.leave(entered);
    }
  }
}
