package io.holdfast.backend.cuda;

import static io.holdfast.backend.cuda.CudaConstants.CU_MEMHOSTALLOC_DEVICEMAP;
import static io.holdfast.backend.cuda.CudaConstants.CU_MEMHOSTALLOC_PORTABLE;
import static io.holdfast.backend.cuda.CudaConstants.CU_MEMHOSTALLOC_WRITECOMBINED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.spi.HostAllocationPort;
import java.lang.foreign.MemorySegment;
import java.util.Locale;

/** Host memory that the driver allocates, pinned, mapped and portable. */
final class CudaHostAllocations implements HostAllocationPort {
  private final CudaDevicePort port;

  CudaHostAllocations(CudaDevicePort port) {
    this.port = port;
  }

  @Override
  @SuppressWarnings("restricted") // the driver gives an address; its length is what was asked for
  public MemorySegment allocate(long bytes, Caching caching) {
    int flags =
        CU_MEMHOSTALLOC_PORTABLE
            | CU_MEMHOSTALLOC_DEVICEMAP
            | (caching == Caching.WRITE_COMBINED ? CU_MEMHOSTALLOC_WRITECOMBINED : 0);
    int code;
    long address;
    CallFrame frame = port.enter();
    try {
      code = port.calls().cuMemHostAlloc(frame.first, bytes, flags);
      address = frame.first.get(JAVA_LONG, 0);
    } finally {
      port.leave(frame);
    }
    if (code != 0) {
      throw port.failure(String.format(Locale.ROOT, "cuMemHostAlloc(%d, %d)", bytes, flags), code);
    }
    return MemorySegment.ofAddress(address).reinterpret(bytes);
  }

  @Override
  public void free(MemorySegment memory) {
    int code;
    CallFrame frame = port.enter();
    try {
      code = port.calls().cuMemFreeHost(memory.address());
    } finally {
      port.leave(frame);
    }
    if (code != 0) {
      throw port.failure(String.format(Locale.ROOT, "cuMemFreeHost(0x%x)", memory.address()), code);
    }
  }
}
