package io.holdfast.backend.cpusim;

import io.holdfast.backend.cpusim.driver.Attribute;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.device.HandleKind;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.VirtualMemoryPort;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;

/** Addresses apart from memory, by the simulated driver. */
final class SimVirtualMemory implements VirtualMemoryPort {
  private static final int PINNED = 1;
  private static final int POSIX_FD = 1;
  private static final int FABRIC = 8;
  private static final int ON_DEVICE = 1;
  private static final int READ_AND_WRITE = 3;
  private static final int RDMA_CAPABLE = 15;
  private static final int FABRIC_WORDS = 8;

  private final SimDevicePort port;
  private final Optional<FabricPort> fabric;
  private final Optional<DmaBufPort> dmaBuf;

  SimVirtualMemory(SimDevicePort port) {
    this.port = port;
    this.fabric =
        port.attribute(Attribute.HANDLE_FABRIC) == 1
            ? Optional.of(new Fabric(port))
            : Optional.empty();
    this.dmaBuf =
        port.attribute(Attribute.DMA_BUF) == 1 || port.driver().personality().vmm().dmaBuf()
            ? Optional.of(range -> exportDmaBuf(port, range))
            : Optional.empty();
  }

  private static String hex(DeviceRange range) {
    return SimDevicePort.hex(range.address()) + ", " + range.bytes();
  }

  @Override
  public long granuleBytes(PhysicalForm form) {
    long[] bytes = new long[1];
    long entered = port.enter();
    try {
      port.check(
          Operation.VMM_GRANULARITY,
          "",
          port.driver().memGetAllocationGranularity(bytes, ON_DEVICE, port.ordinal()));
      return bytes[0];
    } finally {
      port.leave(entered);
    }
  }

  @Override
  public Set<HandleKind> exportableKinds() {
    Set<HandleKind> kinds = EnumSet.noneOf(HandleKind.class);
    // HIP has no attribute for descriptors: the version decides
    if (port.attribute(Attribute.HANDLE_POSIX_FD) == 1
        || port.driver().personality().vmm().posixFd()) {
      kinds.add(HandleKind.POSIX_FD);
    }
    if (fabric.isPresent()) {
      kinds.add(HandleKind.FABRIC);
    }
    return kinds;
  }

  @Override
  public boolean rdmaPossible() {
    return port.attribute(Attribute.RDMA_WITH_VIRTUAL_MEMORY) == 1;
  }

  @Override
  public DeviceRange reserve(long bytes, long alignmentBytes) {
    return reserve(bytes, alignmentBytes, 0);
  }

  @Override
  public DeviceRange reserveAt(DeviceRange range) {
    return reserve(range.bytes(), 0, range.address());
  }

  private DeviceRange reserve(long bytes, long alignment, long hint) {
    long[] address = new long[1];
    long entered = port.enter();
    try {
      port.check(
          Operation.VMM_RESERVE,
          bytes + ", " + alignment + ", " + SimDevicePort.hex(hint),
          port.driver().memAddressReserve(address, bytes, alignment, hint, 0));
      return new DeviceRange(address[0], bytes);
    } finally {
      port.leave(entered);
    }
  }

  @Override
  public void freeAddresses(DeviceRange range) {
    long entered = port.enter();
    try {
      port.check(
          Operation.VMM_ADDRESS_FREE,
          hex(range),
          port.driver().memAddressFree(range.address(), range.bytes()));
    } finally {
      port.leave(entered);
    }
  }

  @Override
  public PhysicalHandle create(long bytes, PhysicalForm form) {
    int handleTypes =
        (form.exports().contains(HandleKind.POSIX_FD) ? POSIX_FD : 0)
            | (form.exports().contains(HandleKind.FABRIC) ? FABRIC : 0);
    int rdma = form.rdma() == RdmaWish.YES ? 1 : 0;
    long[] handle = new long[1];
    long entered = port.enter();
    try {
      port.check(
          Operation.VMM_CREATE,
          bytes + ", handle types " + handleTypes + ", rdma " + rdma,
          port.driver()
              .memCreate(handle, bytes, PINNED, handleTypes, ON_DEVICE, port.ordinal(), rdma));
      return new PhysicalHandle(handle[0]);
    } finally {
      port.leave(entered);
    }
  }

  @Override
  public void release(PhysicalHandle handle) {
    long entered = port.enter();
    try {
      port.check(
          Operation.VMM_RELEASE,
          SimDevicePort.hex(handle.value()),
          port.driver().memRelease(handle.value()));
    } finally {
      port.leave(entered);
    }
  }

  @Override
  public void map(DeviceRange range, PhysicalHandle handle) {
    long entered = port.enter();
    try {
      port.check(
          Operation.VMM_MAP,
          hex(range) + ", " + SimDevicePort.hex(handle.value()),
          port.driver().memMap(range.address(), range.bytes(), 0, handle.value(), 0));
    } finally {
      port.leave(entered);
    }
  }

  @Override
  public void unmap(DeviceRange range) {
    long entered = port.enter();
    try {
      port.check(
          Operation.VMM_UNMAP, hex(range), port.driver().memUnmap(range.address(), range.bytes()));
    } finally {
      port.leave(entered);
    }
  }

  @Override
  public void allowAccess(DeviceRange range) {
    long entered = port.enter();
    try {
      port.check(
          Operation.VMM_SET_ACCESS,
          hex(range),
          port.driver()
              .memSetAccess(
                  range.address(), range.bytes(), ON_DEVICE, port.ordinal(), READ_AND_WRITE));
    } finally {
      port.leave(entered);
    }
  }

  @Override
  public int exportFileDescriptor(PhysicalHandle handle) {
    long[] descriptor = new long[1];
    long entered = port.enter();
    try {
      port.check(
          Operation.VMM_EXPORT,
          SimDevicePort.hex(handle.value()),
          port.driver().memExportToDescriptor(descriptor, handle.value()));
      return (int) descriptor[0];
    } finally {
      port.leave(entered);
    }
  }

  @Override
  public PhysicalHandle importFileDescriptor(int fileDescriptor) {
    long[] handle = new long[1];
    long entered = port.enter();
    try {
      port.check(
          Operation.VMM_IMPORT,
          Integer.toString(fileDescriptor),
          port.driver().memImportFromDescriptor(handle, fileDescriptor));
      return new PhysicalHandle(handle[0]);
    } finally {
      port.leave(entered);
    }
  }

  @Override
  public boolean rdmaCapable(DeviceRange range) {
    long[] capable = new long[1];
    long entered = port.enter();
    try {
      port.check(
          Operation.POINTER_GET_ATTRIBUTE,
          RDMA_CAPABLE + ", " + hex(range),
          port.driver().pointerGetAttribute(capable, RDMA_CAPABLE, range.address()));
      return capable[0] == 1;
    } finally {
      port.leave(entered);
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

  private static int exportDmaBuf(SimDevicePort port, DeviceRange range) {
    long[] descriptor = new long[1];
    long entered = port.enter();
    try {
      port.check(
          Operation.VMM_RANGE_HANDLE,
          hex(range),
          port.driver().memGetHandleForAddressRange(descriptor, range.address(), range.bytes()));
      return (int) descriptor[0];
    } finally {
      port.leave(entered);
    }
  }

  /** Handles across hosts; here across devices of one machine. */
  private record Fabric(SimDevicePort port) implements FabricPort {
    @Override
    public void exportFabric(PhysicalHandle handle, MemorySegment into) {
      long[] words = new long[FABRIC_WORDS];
      long entered = port.enter();
      try {
        port.check(
            Operation.VMM_EXPORT,
            SimDevicePort.hex(handle.value()),
            port.driver().memExportToFabric(words, handle.value()));
      } finally {
        port.leave(entered);
      }
      MemorySegment.copy(words, 0, into, ValueLayout.JAVA_LONG_UNALIGNED, 0, FABRIC_WORDS);
    }

    @Override
    public PhysicalHandle importFabric(MemorySegment bytes) {
      long[] words = new long[FABRIC_WORDS];
      MemorySegment.copy(bytes, ValueLayout.JAVA_LONG_UNALIGNED, 0, words, 0, FABRIC_WORDS);
      long[] handle = new long[1];
      long entered = port.enter();
      try {
        port.check(
            Operation.VMM_IMPORT, "fabric", port.driver().memImportFromFabric(handle, words));
        return new PhysicalHandle(handle[0]);
      } finally {
        port.leave(entered);
      }
    }
  }
}
