package io.holdfast.internal.extensible;

import io.holdfast.internal.core.CoreDevice;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.Traits.Quirk;
import io.holdfast.spi.VirtualMemoryPort;
import io.holdfast.spi.VirtualMemoryPort.PhysicalForm;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * A device's virtual-memory calls as its driver wants them made.
 *
 * <p>One unmap for each mapping and release after unmap hold for every driver: they cost next to
 * nothing, and a flag for each would be more branches than drivers. What costs is done only for the
 * drivers that ask.
 */
final class VirtualMemory {
  /** One for the process: drivers that need it race over all devices. Taken before port entry. */
  private static final ReentrantLock ONE_AT_A_TIME = new ReentrantLock();

  private final VirtualMemoryPort port;
  private final Set<Quirk> quirks;

  VirtualMemory(CoreDevice device, VirtualMemoryPort port) {
    this.port = port;
    this.quirks = device.port().traits(device.backend().kernel().basePageBytes()).quirks();
  }

  /** What the driver reports; not a call that needs turns. */
  VirtualMemoryPort port() {
    return port;
  }

  boolean accessIsForWholePrefix() {
    return quirks.contains(Quirk.ACCESS_WHOLE_PREFIX);
  }

  boolean memoryReturnsWithAddresses() {
    return quirks.contains(Quirk.RE_RESERVE_TO_RETURN);
  }

  long granuleBytes(PhysicalForm form) {
    return inTurn(() -> port.granuleBytes(form));
  }

  DeviceRange reserve(long bytes, long granuleBytes) {
    long alignment = Long.bitCount(granuleBytes) == 1 ? granuleBytes : 0;
    return inTurn(() -> port.reserve(bytes, alignment));
  }

  DeviceRange reserveAt(DeviceRange range) {
    return inTurn(() -> port.reserveAt(range));
  }

  void freeAddresses(DeviceRange range) {
    inTurn(() -> port.freeAddresses(range));
  }

  PhysicalHandle create(long bytes, PhysicalForm form) {
    return inTurn(() -> port.create(bytes, form));
  }

  void release(PhysicalHandle handle) {
    inTurn(() -> port.release(handle));
  }

  void map(DeviceRange range, PhysicalHandle handle) {
    inTurn(() -> port.map(range, handle));
  }

  void unmap(DeviceRange range) {
    inTurn(() -> port.unmap(range));
  }

  void allowAccess(DeviceRange range) {
    inTurn(() -> port.allowAccess(range));
  }

  boolean rdmaCapable(DeviceRange range) {
    return inTurn(() -> port.rdmaCapable(range));
  }

  int exportFileDescriptor(PhysicalHandle handle) {
    return inTurn(() -> port.exportFileDescriptor(handle));
  }

  PhysicalHandle importFileDescriptor(int descriptor) {
    return inTurn(() -> port.importFileDescriptor(descriptor));
  }

  void exportFabric(PhysicalHandle handle, MemorySegment into) {
    inTurn(() -> port.fabric().orElseThrow().exportFabric(handle, into));
  }

  PhysicalHandle importFabric(MemorySegment handle) {
    return inTurn(() -> port.fabric().orElseThrow().importFabric(handle));
  }

  int exportDmaBuf(DeviceRange range) {
    return inTurn(() -> port.dmaBuf().orElseThrow().exportDmaBuf(range));
  }

  private void inTurn(Runnable call) {
    inTurn(
        () -> {
          call.run();
          return Boolean.TRUE;
        });
  }

  private <T> T inTurn(Supplier<T> call) {
    if (!quirks.contains(Quirk.ONE_VMM_CALL_AT_A_TIME)) {
      return call.get();
    }
    ONE_AT_A_TIME.lock();
    try {
      return call.get();
    } finally {
      ONE_AT_A_TIME.unlock();
    }
  }
}
