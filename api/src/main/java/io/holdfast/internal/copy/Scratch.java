package io.holdfast.internal.copy;

import io.holdfast.error.HostKernelException;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.HostAllocationPort;
import io.holdfast.spi.HostKernel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.Set;

/**
 * Host memory of our own for copy tables and rings: plain, or such that every device of the backend
 * can reach it. It lies outside every region and is freed by hand.
 *
 * @param segment the memory
 * @param undo how it goes
 */
record Scratch(MemorySegment segment, Runnable undo) {
  /** Memory for the CPU and for drivers that read it during a call. */
  @SuppressWarnings("MustBeClosedChecker") // freed by hand
  static Scratch plain(long bytes) {
    Arena arena = Arena.ofShared();
    return new Scratch(arena.allocate(bytes, 64), arena::close);
  }

  /** Memory that devices can reach: the driver's own, or pages that we register. Blocks. */
  static Scratch pinned(CoreDevice device, long bytes) {
    Optional<HostAllocationPort> driver = device.port().hostAllocations();
    if (driver.isPresent()) {
      HostAllocationPort allocations = driver.get();
      MemorySegment segment = allocations.allocate(bytes, HostAllocationPort.Caching.NORMAL);
      return new Scratch(segment, () -> allocations.free(segment));
    }
    HostKernel kernel = device.backend().kernel();
    long page = kernel.basePageBytes();
    MemorySegment pages =
        kernel.map(Math.ceilDiv(bytes, page) * page, HostKernel.Mapping.anonymous());
    try {
      preferNode(kernel, device, pages);
      device.port().register(pages);
    } catch (Throwable failure) {
      kernel.unmap(pages);
      throw failure;
    }
    return new Scratch(
        pages.asSlice(0, bytes),
        () -> {
          device.port().unregister(pages); // where this fails the pages stay mapped: pinned still
          kernel.unmap(pages);
        });
  }

  private static void preferNode(HostKernel kernel, CoreDevice device, MemorySegment pages) {
    if (device.info().numaNode().isPresent()) {
      try {
        kernel.bind(
            pages, HostKernel.NodeMode.PREFERRED, Set.of(device.info().numaNode().getAsInt()));
      } catch (HostKernelException refused) {
        return; // it only makes the ring slower
      }
    }
  }

  /** The same memory as a device names it. */
  DeviceRange seenBy(CoreDevice device) {
    return device.port().seenByDevice(segment);
  }

  void free() {
    undo.run();
  }
}
