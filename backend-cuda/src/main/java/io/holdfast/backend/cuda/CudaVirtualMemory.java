package io.holdfast.backend.cuda;

import static io.holdfast.backend.cuda.CudaConstants.CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED;
import static io.holdfast.backend.cuda.CudaConstants.CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED;
import static io.holdfast.backend.cuda.CudaConstants.CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED;
import static io.holdfast.backend.cuda.CudaConstants.CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
import static io.holdfast.backend.cuda.CudaConstants.CU_IPC_HANDLE_SIZE;
import static io.holdfast.backend.cuda.CudaConstants.CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
import static io.holdfast.backend.cuda.CudaConstants.CU_MEM_ALLOCATION_TYPE_PINNED;
import static io.holdfast.backend.cuda.CudaConstants.CU_MEM_ALLOC_GRANULARITY_MINIMUM;
import static io.holdfast.backend.cuda.CudaConstants.CU_MEM_HANDLE_TYPE_FABRIC;
import static io.holdfast.backend.cuda.CudaConstants.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
import static io.holdfast.backend.cuda.CudaConstants.CU_MEM_LOCATION_TYPE_DEVICE;
import static io.holdfast.backend.cuda.CudaConstants.CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
import static io.holdfast.backend.cuda.CudaConstants.CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.device.HandleKind;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.VirtualMemoryPort;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Addresses apart from physical memory. The driver wants no context for these calls; they enter
 * like all others, because an engine's capture would not survive some of them.
 */
final class CudaVirtualMemory implements VirtualMemoryPort {
  private final CudaDevicePort port;
  private final CudaCalls calls;
  private final Set<HandleKind> exportableKinds = EnumSet.noneOf(HandleKind.class);
  private final boolean rdmaPossible;
  private final Optional<FabricPort> fabric;
  private final Optional<DmaBufPort> dmaBuf;

  CudaVirtualMemory(CudaDevicePort port) {
    this.port = port;
    this.calls = port.calls();
    if (port.attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0) != 0) {
      exportableKinds.add(HandleKind.POSIX_FD);
    }
    if (port.attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0) != 0) {
      exportableKinds.add(HandleKind.FABRIC);
    }
    rdmaPossible =
        port.attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 0) != 0;
    boolean dmaBufs =
        calls.offers(CudaFeature.DMA_BUF)
            && port.attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0) != 0;
    fabric =
        exportableKinds.contains(HandleKind.FABRIC) ? Optional.of(new Fabric()) : Optional.empty();
    dmaBuf = dmaBufs ? Optional.of(this::exportDmaBuf) : Optional.empty();
  }

  @Override
  public long granuleBytes(PhysicalForm form) {
    int code;
    long bytes;
    CallFrame frame = port.enter();
    try {
      code =
          calls.cuMemGetAllocationGranularity(
              frame.first, properties(frame, form), CU_MEM_ALLOC_GRANULARITY_MINIMUM);
      bytes = frame.first.get(JAVA_LONG, 0);
    } finally {
      port.leave(frame);
    }
    port.check("cuMemGetAllocationGranularity", code);
    return bytes;
  }

  @Override
  public Set<HandleKind> exportableKinds() {
    return Set.copyOf(exportableKinds);
  }

  @Override
  public boolean rdmaPossible() {
    return rdmaPossible;
  }

  @Override
  public DeviceRange reserve(long bytes, long alignmentBytes) {
    return reserve(bytes, alignmentBytes, 0);
  }

  @Override
  public DeviceRange reserveAt(DeviceRange range) {
    return reserve(range.bytes(), 0, range.address());
  }

  private DeviceRange reserve(long bytes, long alignmentBytes, long hint) {
    int code;
    long address;
    CallFrame frame = port.enter();
    try {
      code = calls.cuMemAddressReserve(frame.first, bytes, alignmentBytes, hint, 0);
      address = frame.first.get(JAVA_LONG, 0);
    } finally {
      port.leave(frame);
    }
    if (code != 0) {
      throw port.failure(
          String.format(
              Locale.ROOT, "cuMemAddressReserve(%d, %d, 0x%x)", bytes, alignmentBytes, hint),
          code);
    }
    return new DeviceRange(address, bytes);
  }

  @Override
  public void freeAddresses(DeviceRange range) {
    int code;
    CallFrame frame = port.enter();
    try {
      code = calls.cuMemAddressFree(range.address(), range.bytes());
    } finally {
      port.leave(frame);
    }
    checkRange("cuMemAddressFree", range, code);
  }

  @Override
  public PhysicalHandle create(long bytes, PhysicalForm form) {
    int code;
    long handle;
    CallFrame frame = port.enter();
    try {
      code = calls.cuMemCreate(frame.first, bytes, properties(frame, form), 0);
      handle = frame.first.get(JAVA_LONG, 0);
    } finally {
      port.leave(frame);
    }
    if (code != 0) {
      throw port.failure(String.format(Locale.ROOT, "cuMemCreate(%d, %s)", bytes, form), code);
    }
    return new PhysicalHandle(handle);
  }

  @Override
  public void release(PhysicalHandle handle) {
    int code;
    CallFrame frame = port.enter();
    try {
      code = calls.cuMemRelease(handle.value());
    } finally {
      port.leave(frame);
    }
    port.check("cuMemRelease", code);
  }

  @Override
  public void map(DeviceRange range, PhysicalHandle handle) {
    int code;
    CallFrame frame = port.enter();
    try {
      code = calls.cuMemMap(range.address(), range.bytes(), 0, handle.value(), 0);
    } finally {
      port.leave(frame);
    }
    checkRange("cuMemMap", range, code);
  }

  @Override
  public void unmap(DeviceRange range) {
    int code;
    CallFrame frame = port.enter();
    try {
      code = calls.cuMemUnmap(range.address(), range.bytes());
    } finally {
      port.leave(frame);
    }
    checkRange("cuMemUnmap", range, code);
  }

  @Override
  public void allowAccess(DeviceRange range) {
    int code;
    CallFrame frame = port.enter();
    try {
      MemorySegment access = frame.struct;
      access.fill((byte) 0);
      access.set(JAVA_INT, CudaLayouts.ACCESS_LOCATION_TYPE, CU_MEM_LOCATION_TYPE_DEVICE);
      access.set(JAVA_INT, CudaLayouts.ACCESS_LOCATION_ID, port.device());
      access.set(JAVA_INT, CudaLayouts.ACCESS_FLAGS, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
      code = calls.cuMemSetAccess(range.address(), range.bytes(), access, 1);
    } finally {
      port.leave(frame);
    }
    checkRange("cuMemSetAccess", range, code);
  }

  @Override
  public int exportFileDescriptor(PhysicalHandle handle) {
    int code;
    int descriptor;
    CallFrame frame = port.enter();
    try {
      code =
          calls.cuMemExportToShareableHandle(
              frame.first, handle.value(), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
      descriptor = frame.first.get(JAVA_INT, 0);
    } finally {
      port.leave(frame);
    }
    port.check("cuMemExportToShareableHandle", code);
    return descriptor;
  }

  @Override
  public PhysicalHandle importFileDescriptor(int fileDescriptor) {
    return importHandle(fileDescriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  }

  private PhysicalHandle importHandle(long osHandle, int type) {
    int code;
    long handle;
    CallFrame frame = port.enter();
    try {
      code = calls.cuMemImportFromShareableHandle(frame.first, osHandle, type);
      handle = frame.first.get(JAVA_LONG, 0);
    } finally {
      port.leave(frame);
    }
    port.check("cuMemImportFromShareableHandle", code);
    return new PhysicalHandle(handle);
  }

  @Override
  public boolean rdmaCapable(DeviceRange range) {
    CallFrame frame = port.enter();
    try {
      // The driver writes an int or a byte by version: only the lowest byte means something.
      frame.first.set(JAVA_LONG, 0, 0);
      return calls.cuPointerGetAttribute(
                  frame.first, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, range.address())
              == 0
          && frame.first.get(JAVA_BYTE, 0) != 0;
    } finally {
      port.leave(frame);
    }
  }

  @Override
  public Optional<FabricPort> fabric() {
    return fabric;
  }

  @Override
  public Optional<DmaBufPort> dmaBuf() {
    return dmaBuf;
  }

  private int exportDmaBuf(DeviceRange range) {
    int code;
    int descriptor;
    CallFrame frame = port.enter();
    try {
      code =
          calls.cuMemGetHandleForAddressRange(
              frame.first, range.address(), range.bytes(), CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
      descriptor = frame.first.get(JAVA_INT, 0);
    } finally {
      port.leave(frame);
    }
    checkRange("cuMemGetHandleForAddressRange", range, code);
    return descriptor;
  }

  /** A private form in the frame's struct: pinned memory of this device. */
  private MemorySegment properties(CallFrame frame, PhysicalForm form) {
    MemorySegment properties = frame.struct;
    properties.fill((byte) 0);
    int kinds = 0;
    if (form.exports().contains(HandleKind.POSIX_FD)) {
      kinds |= CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    }
    if (form.exports().contains(HandleKind.FABRIC)) {
      kinds |= CU_MEM_HANDLE_TYPE_FABRIC;
    }
    properties.set(JAVA_INT, CudaLayouts.PROPERTIES_TYPE, CU_MEM_ALLOCATION_TYPE_PINNED);
    properties.set(JAVA_INT, CudaLayouts.PROPERTIES_HANDLE_TYPES, kinds);
    properties.set(JAVA_INT, CudaLayouts.PROPERTIES_LOCATION_TYPE, CU_MEM_LOCATION_TYPE_DEVICE);
    properties.set(JAVA_INT, CudaLayouts.PROPERTIES_LOCATION_ID, port.device());
    properties.set(
        JAVA_BYTE, CudaLayouts.PROPERTIES_RDMA, (byte) (form.rdma() == RdmaWish.YES ? 1 : 0));
    return properties;
  }

  private void checkRange(String call, DeviceRange range, int code) {
    if (code != 0) {
      throw port.failure(
          String.format(Locale.ROOT, "%s(0x%x, %d)", call, range.address(), range.bytes()), code);
    }
  }

  /** Physical allocations named across hosts. */
  private final class Fabric implements FabricPort {
    @Override
    public void exportFabric(PhysicalHandle handle, MemorySegment into) {
      int code;
      CallFrame frame = port.enter();
      try {
        code =
            calls.cuMemExportToShareableHandle(
                frame.struct, handle.value(), CU_MEM_HANDLE_TYPE_FABRIC, 0);
        if (code == 0) {
          MemorySegment.copy(frame.struct, 0, into, 0, CU_IPC_HANDLE_SIZE);
        }
      } finally {
        port.leave(frame);
      }
      port.check("cuMemExportToShareableHandle", code);
    }

    @Override
    public PhysicalHandle importFabric(MemorySegment handle) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment bytes = arena.allocate(CU_IPC_HANDLE_SIZE);
        MemorySegment.copy(handle, 0, bytes, 0, CU_IPC_HANDLE_SIZE);
        return importHandle(bytes.address(), CU_MEM_HANDLE_TYPE_FABRIC);
      }
    }
  }
}
