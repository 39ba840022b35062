package io.holdfast.backend.hip;

import static io.holdfast.backend.hip.HipConstants.HIP_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED;
import static io.holdfast.backend.hip.HipConstants.HIP_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_VMM_SUPPORTED;
import static io.holdfast.backend.hip.HipConstants.HIP_MEM_ACCESS_FLAGS_PROT_READWRITE;
import static io.holdfast.backend.hip.HipConstants.HIP_MEM_ALLOCATION_GRANULARITY_MINIMUM;
import static io.holdfast.backend.hip.HipConstants.HIP_MEM_ALLOCATION_TYPE_PINNED;
import static io.holdfast.backend.hip.HipConstants.HIP_MEM_HANDLE_TYPE_NONE;
import static io.holdfast.backend.hip.HipConstants.HIP_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
import static io.holdfast.backend.hip.HipConstants.HIP_MEM_LOCATION_TYPE_DEVICE;
import static io.holdfast.backend.hip.HipConstants.HIP_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
import static io.holdfast.backend.hip.HipConstants.HIP_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.device.HandleKind;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.VirtualMemoryPort;
import java.lang.foreign.MemorySegment;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Addresses apart from physical memory, from version 6.1 on. Some of the calls look at the current
 * device, so all are made with it.
 *
 * <p>There are no handles across hosts: the attribute and the kind of handle moved between the
 * versions that began to have them.
 */
final class HipVirtualMemory implements VirtualMemoryPort {
  private final HipDevicePort port;
  private final HipBindings hip;
  private final HipLayouts.Properties form;
  private final Set<HandleKind> exportableKinds;
  private final boolean rdmaPossible;
  private final Optional<DmaBufPort> dmaBuf;

  HipVirtualMemory(HipDevicePort port) {
    this.port = port;
    this.hip = port.hip();
    HipVersion version = port.version();
    form = version.allocationProperties();
    // No attribute tells: the version does, and a creation of that kind answers in the end.
    exportableKinds =
        version.hasFileDescriptors() && hip.offers(HipFeature.FILE_DESCRIPTORS)
            ? Set.of(HandleKind.POSIX_FD)
            : Set.of();
    rdmaPossible =
        version.knowsRdma()
            && port.attribute(HIP_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_VMM_SUPPORTED, 0) != 0;
    boolean dmaBufs =
        hip.offers(HipFeature.DMA_BUF)
            && (!version.knowsDmaBuf()
                || port.attribute(HIP_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0) != 0);
    dmaBuf = dmaBufs ? Optional.of(this::exportDmaBuf) : Optional.empty();
  }

  @Override
  public long granuleBytes(PhysicalForm wanted) {
    int code = 0;
    long bytes;
    HipFrame frame = port.enter();
    try {
      code =
          hip.hipMemGetAllocationGranularity(
              frame.first, properties(frame, wanted), HIP_MEM_ALLOCATION_GRANULARITY_MINIMUM);
      bytes = frame.first.get(JAVA_LONG, 0);
    } finally {
      port.leave(frame, code);
    }
    port.check("hipMemGetAllocationGranularity", code);
    return bytes;
  }

  @Override
  public Set<HandleKind> exportableKinds() {
    return exportableKinds;
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
    int code = 0;
    long address;
    HipFrame frame = port.enter();
    try {
      frame.first.set(JAVA_LONG, 0, 0); // a success without an address leaves it alone
      code = hip.hipMemAddressReserve(frame.first, bytes, alignmentBytes, hint, 0);
      address = frame.first.get(JAVA_LONG, 0);
    } finally {
      port.leave(frame, code);
    }
    if (code != 0) {
      throw port.failure(
          String.format(
              Locale.ROOT, "hipMemAddressReserve(%d, %d, 0x%x)", bytes, alignmentBytes, hint),
          code);
    }
    return new DeviceRange(address, bytes);
  }

  @Override
  public void freeAddresses(DeviceRange range) {
    int code = 0;
    HipFrame frame = port.enter();
    try {
      code = hip.hipMemAddressFree(range.address(), range.bytes());
    } finally {
      port.leave(frame, code);
    }
    checkRange("hipMemAddressFree", range, code);
  }

  @Override
  public PhysicalHandle create(long bytes, PhysicalForm wanted) {
    int code = 0;
    long handle;
    HipFrame frame = port.enter();
    try {
      code = hip.hipMemCreate(frame.first, bytes, properties(frame, wanted), 0);
      handle = frame.first.get(JAVA_LONG, 0);
    } finally {
      port.leave(frame, code);
    }
    if (code != 0) {
      throw port.failure(String.format(Locale.ROOT, "hipMemCreate(%d, %s)", bytes, wanted), code);
    }
    return new PhysicalHandle(handle);
  }

  @Override
  public void release(PhysicalHandle handle) {
    int code = 0;
    HipFrame frame = port.enter();
    try {
      code = hip.hipMemRelease(handle.value());
    } finally {
      port.leave(frame, code);
    }
    port.check("hipMemRelease", code);
  }

  @Override
  public void map(DeviceRange range, PhysicalHandle handle) {
    int code = 0;
    HipFrame frame = port.enter();
    try {
      code = hip.hipMemMap(range.address(), range.bytes(), 0, handle.value(), 0);
    } finally {
      port.leave(frame, code);
    }
    checkRange("hipMemMap", range, code);
  }

  @Override
  public void unmap(DeviceRange range) {
    int code = 0;
    HipFrame frame = port.enter();
    try {
      code = hip.hipMemUnmap(range.address(), range.bytes());
    } finally {
      port.leave(frame, code);
    }
    checkRange("hipMemUnmap", range, code);
  }

  @Override
  public void allowAccess(DeviceRange range) {
    int code = 0;
    HipFrame frame = port.enter();
    try {
      MemorySegment access = frame.struct;
      access.fill((byte) 0);
      access.set(JAVA_INT, HipLayouts.ACCESS_LOCATION_TYPE, HIP_MEM_LOCATION_TYPE_DEVICE);
      access.set(JAVA_INT, HipLayouts.ACCESS_LOCATION_ID, port.device());
      access.set(JAVA_INT, HipLayouts.ACCESS_FLAGS, HIP_MEM_ACCESS_FLAGS_PROT_READWRITE);
      code = hip.hipMemSetAccess(range.address(), range.bytes(), access, 1);
    } finally {
      port.leave(frame, code);
    }
    checkRange("hipMemSetAccess", range, code);
  }

  @Override
  public int exportFileDescriptor(PhysicalHandle handle) {
    int code = 0;
    int descriptor;
    HipFrame frame = port.enter();
    try {
      code =
          hip.hipMemExportToShareableHandle(
              frame.first, handle.value(), HIP_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
      descriptor = frame.first.get(JAVA_INT, 0);
    } finally {
      port.leave(frame, code);
    }
    port.check("hipMemExportToShareableHandle", code);
    return descriptor;
  }

  @Override
  public PhysicalHandle importFileDescriptor(int fileDescriptor) {
    int code = 0;
    long handle;
    HipFrame frame = port.enter();
    try {
      frame.second.set(JAVA_INT, 0, fileDescriptor);
      code =
          hip.hipMemImportFromShareableHandle(
              frame.first,
              port.version().importsDescriptorsByValue() ? fileDescriptor : frame.second.address(),
              HIP_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
      handle = frame.first.get(JAVA_LONG, 0);
    } finally {
      port.leave(frame, code);
    }
    port.check("hipMemImportFromShareableHandle", code);
    return new PhysicalHandle(handle);
  }

  @Override
  public boolean rdmaCapable(DeviceRange range) {
    int code = 0;
    HipFrame frame = port.enter();
    try {
      frame.first.set(JAVA_LONG, 0, 0); // one byte is written
      code =
          hip.hipPointerGetAttribute(
              frame.first, HIP_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, range.address());
      return code == 0 && frame.first.get(JAVA_BYTE, 0) != 0;
    } finally {
      port.leave(frame, code);
    }
  }

  @Override
  public Optional<DmaBufPort> dmaBuf() {
    return dmaBuf;
  }

  private int exportDmaBuf(DeviceRange range) {
    int code = 0;
    int descriptor;
    HipFrame frame = port.enter();
    try {
      code =
          hip.hipMemGetHandleForAddressRange(
              frame.first, range.address(), range.bytes(), HIP_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
      descriptor = frame.first.get(JAVA_INT, 0);
    } finally {
      port.leave(frame, code);
    }
    checkRange("hipMemGetHandleForAddressRange", range, code);
    return descriptor;
  }

  /** A form in the frame's struct: pinned memory of this device. */
  private MemorySegment properties(HipFrame frame, PhysicalForm wanted) {
    MemorySegment properties = frame.struct;
    properties.fill((byte) 0);
    properties.set(JAVA_INT, form.type(), HIP_MEM_ALLOCATION_TYPE_PINNED);
    properties.set(
        JAVA_INT,
        form.handleType(),
        wanted.exports().contains(HandleKind.POSIX_FD)
            ? HIP_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
            : HIP_MEM_HANDLE_TYPE_NONE);
    properties.set(JAVA_INT, form.locationType(), HIP_MEM_LOCATION_TYPE_DEVICE);
    properties.set(JAVA_INT, form.locationId(), port.device());
    if (wanted.rdma() == RdmaWish.YES && form.rdma() >= 0) {
      properties.set(JAVA_BYTE, form.rdma(), (byte) 1);
    }
    return properties;
  }

  private void checkRange(String call, DeviceRange range, int code) {
    if (code != 0) {
      throw port.failure(
          String.format(Locale.ROOT, "%s(0x%x, %d)", call, range.address(), range.bytes()), code);
    }
  }
}
