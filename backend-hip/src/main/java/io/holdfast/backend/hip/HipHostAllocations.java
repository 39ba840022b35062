package io.holdfast.backend.hip;

import static io.holdfast.backend.hip.HipConstants.HIP_HOST_MALLOC_MAPPED;
import static io.holdfast.backend.hip.HipConstants.HIP_HOST_MALLOC_PORTABLE;
import static io.holdfast.backend.hip.HipConstants.HIP_HOST_MALLOC_WRITE_COMBINED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.spi.HostAllocationPort;
import java.lang.foreign.MemorySegment;
import java.util.Locale;

/**
 * Host memory that the runtime allocates. Its node is the runtime's choice, near the device: the
 * flag for the caller's own policy is ignored by several versions (ROCm/hip 3351).
 */
final class HipHostAllocations implements HostAllocationPort {
  private final HipDevicePort port;

  HipHostAllocations(HipDevicePort port) {
    this.port = port;
  }

  @Override
  @SuppressWarnings("restricted") // the runtime gives an address; its length is what was asked for
  public MemorySegment allocate(long bytes, Caching caching) {
    int flags =
        HIP_HOST_MALLOC_PORTABLE
            | HIP_HOST_MALLOC_MAPPED
            | (caching == Caching.WRITE_COMBINED ? HIP_HOST_MALLOC_WRITE_COMBINED : 0);
    int code = 0;
    long address;
    HipFrame frame = port.enter();
    try {
      code = port.hip().hipHostMalloc(frame.first, bytes, flags);
      address = frame.first.get(JAVA_LONG, 0);
    } finally {
      port.leave(frame, code);
    }
    if (code != 0) {
      throw port.failure(String.format(Locale.ROOT, "hipHostMalloc(%d, %d)", bytes, flags), code);
    }
    return MemorySegment.ofAddress(address).reinterpret(bytes);
  }

  @Override
  public void free(MemorySegment memory) {
    int code = 0;
    HipFrame frame = port.enter();
    try {
      code = port.hip().hipHostFree(memory.address());
    } finally {
      port.leave(frame, code);
    }
    if (code != 0) {
      throw port.failure(String.format(Locale.ROOT, "hipHostFree(0x%x)", memory.address()), code);
    }
  }
}
