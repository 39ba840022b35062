package io.holdfast.backend.cpusim.driver;

import io.holdfast.backend.cpusim.driver.Personality.Concurrency;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/** The chapter of virtual memory. */
abstract class VirtualMemoryCalls extends CopyCalls {
  private final AtomicInteger virtualMemoryCalls = new AtomicInteger();

  VirtualMemoryCalls(DriverSetup setup) {
    super(setup);
  }

  private int callVmm(Operation operation, long a, long b, long c, IntSupplier effect) {
    boolean alone = virtualMemoryCalls.getAndIncrement() == 0;
    try {
      return call(
          operation,
          a,
          b,
          c,
          () -> {
            int code = cuda ? Codes.SUCCESS : contextCode(carriers.current());
            if (code == Codes.SUCCESS && !alone && personality.vmm().lock() == Concurrency.RACES) {
              code = Codes.INVALID_VALUE;
            }
            return code == Codes.SUCCESS ? effect.getAsInt() : code;
          });
    } finally {
      virtualMemoryCalls.getAndDecrement();
    }
  }

  /**
   * {@code cuMemGetAllocationGranularity}; every form and option has the same.
   *
   * @param out bytes
   * @param locationType 1 for a device
   * @param locationId which
   * @return the code
   */
  public int memGetAllocationGranularity(long[] out, int locationType, int locationId) {
    return callVmm(
        Operation.VMM_GRANULARITY,
        locationType,
        locationId,
        0,
        () -> {
          if (personality.vmm().level() != Personality.Level.WORKS) {
            return Codes.NOT_SUPPORTED;
          }
          if (locationType == DeviceSpace.LOCATION_DEVICE
              && (locationId < 0 || locationId >= primaries.length)) {
            return Codes.INVALID_DEVICE;
          }
          out[0] = personality.vmm().granuleBytes();
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuMemAddressReserve}.
   *
   * @param out the address; HIP up to 6.0 answers 0 and leaves it untouched
   * @param bytes a multiple of the granule
   * @param alignment a power of two, or 0
   * @param hint where best
   * @param flags must be 0
   * @return the code
   */
  public int memAddressReserve(long[] out, long bytes, long alignment, long hint, long flags) {
    return callVmm(
        Operation.VMM_RESERVE,
        bytes,
        alignment,
        hint,
        () -> {
          if (personality.vmm().level() == Personality.Level.HOLLOW) {
            return Codes.SUCCESS;
          }
          return answer(out, space.reserve(bytes, alignment, hint, flags));
        });
  }

  /**
   * {@code cuMemAddressFree}.
   *
   * @param address of a reservation
   * @param bytes its size
   * @return the code
   */
  public int memAddressFree(long address, long bytes) {
    return callVmm(
        Operation.VMM_ADDRESS_FREE, address, bytes, 0, () -> space.addressFree(address, bytes));
  }

  /**
   * {@code cuMemCreate}.
   *
   * @param out the handle
   * @param bytes a multiple of the granule
   * @param allocationType 1, pinned
   * @param handleTypes 1 for a descriptor, 8 for the fabric
   * @param locationType 1 device, 2 host, 3 a host node
   * @param locationId which
   * @param rdma 1 where network cards shall read it
   * @return the code
   */
  public int memCreate(
      long[] out,
      long bytes,
      int allocationType,
      int handleTypes,
      int locationType,
      int locationId,
      int rdma) {
    return callVmm(
        Operation.VMM_CREATE,
        bytes,
        handleTypes,
        locationId,
        () ->
            answer(
                out,
                space.create(
                    bytes, allocationType, handleTypes, locationType, locationId, rdma != 0)));
  }

  /**
   * {@code cuMemRelease}.
   *
   * @param handle the allocation
   * @return the code
   */
  public int memRelease(long handle) {
    return callVmm(Operation.VMM_RELEASE, handle, 0, 0, () -> space.release(handle));
  }

  /**
   * {@code cuMemMap}.
   *
   * @param address inside a reservation
   * @param bytes the allocation's size
   * @param offset must be 0
   * @param handle the allocation
   * @param flags must be 0
   * @return the code
   */
  public int memMap(long address, long bytes, long offset, long handle, long flags) {
    return callVmm(
        Operation.VMM_MAP,
        address,
        bytes,
        handle,
        () -> space.map(address, bytes, offset, handle, flags));
  }

  /**
   * {@code cuMemUnmap}.
   *
   * @param address whole mappings
   * @param bytes whole mappings
   * @return the code
   */
  public int memUnmap(long address, long bytes) {
    return callVmm(Operation.VMM_UNMAP, address, bytes, 0, () -> space.unmap(address, bytes));
  }

  /**
   * {@code cuMemSetAccess} with one descriptor.
   *
   * @param address whole mappings
   * @param bytes whole mappings
   * @param locationType 1 device, 2 host, 3 a host node
   * @param locationId which
   * @param flags 0 none, 1 read, 3 read and write
   * @return the code
   */
  public int memSetAccess(long address, long bytes, int locationType, int locationId, int flags) {
    return callVmm(
        Operation.VMM_SET_ACCESS,
        address,
        bytes,
        locationId,
        () -> space.setAccess(address, bytes, locationType, locationId, flags));
  }

  /**
   * {@code cuMemGetAccess}.
   *
   * @param out the flags
   * @param locationType 1 device
   * @param locationId which
   * @param address mapped
   * @return the code
   */
  public int memGetAccess(long[] out, int locationType, int locationId, long address) {
    return callVmm(
        Operation.VMM_GET_ACCESS,
        address,
        locationId,
        0,
        () -> answer(out, space.getAccess(address, locationType, locationId)));
  }

  /**
   * {@code cuMemExportToShareableHandle} to a descriptor; its number is the simulator's own, and
   * {@link #closeDescriptor} closes it.
   *
   * @param out the descriptor
   * @param handle the allocation
   * @return the code
   */
  public int memExportToDescriptor(long[] out, long handle) {
    return callVmm(
        Operation.VMM_EXPORT,
        handle,
        DeviceSpace.POSIX_FD,
        0,
        () ->
            personality.vmm().posixFd()
                ? answer(out, space.exportDescriptor(handle))
                : Codes.NOT_SUPPORTED);
  }

  /**
   * {@code cuMemExportToShareableHandle} to a fabric handle.
   *
   * @param words eight words of eight bytes
   * @param handle the allocation
   * @return the code
   */
  public int memExportToFabric(long[] words, long handle) {
    return callVmm(
        Operation.VMM_EXPORT,
        handle,
        DeviceSpace.FABRIC,
        0,
        () -> space.exportFabric(handle, words));
  }

  /**
   * {@code cuMemImportFromShareableHandle} from a descriptor, which stays open.
   *
   * @param out the handle
   * @param descriptor of {@link #memExportToDescriptor}
   * @return the code
   */
  public int memImportFromDescriptor(long[] out, int descriptor) {
    return callVmm(
        Operation.VMM_IMPORT,
        descriptor,
        DeviceSpace.POSIX_FD,
        0,
        () ->
            personality.vmm().posixFd()
                ? answer(out, space.importDescriptor(descriptor))
                : Codes.NOT_SUPPORTED);
  }

  /**
   * {@code cuMemImportFromShareableHandle} from a fabric handle.
   *
   * @param out the handle
   * @param words eight words of eight bytes
   * @return the code
   */
  public int memImportFromFabric(long[] out, long[] words) {
    return callVmm(
        Operation.VMM_IMPORT,
        words[0],
        DeviceSpace.FABRIC,
        0,
        () -> answer(out, space.importFabric(words[0])));
  }

  /**
   * {@code cuMemRetainAllocationHandle}.
   *
   * @param out the handle
   * @param address mapped
   * @return the code
   */
  public int memRetainAllocationHandle(long[] out, long address) {
    return callVmm(Operation.VMM_RETAIN, address, 0, 0, () -> answer(out, space.retain(address)));
  }

  /**
   * {@code cuMemGetAllocationPropertiesFromHandle}.
   *
   * @param out type, handle types, location type, location, RDMA
   * @param handle the allocation
   * @return the code
   */
  public int memGetAllocationProperties(long[] out, long handle) {
    return callVmm(
        Operation.VMM_GET_PROPERTIES,
        handle,
        0,
        0,
        () -> {
          Physical there = space.physical(handle);
          if (there == null) {
            return Codes.INVALID_VALUE;
          }
          out[0] = 1;
          out[1] = there.handleTypes;
          out[2] = there.locationType;
          out[3] = there.locationId;
          out[4] = there.rdma ? 1 : 0;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuMemGetHandleForAddressRange}: a dma-buf descriptor.
   *
   * @param out the descriptor
   * @param address whole host pages
   * @param bytes whole host pages
   * @return the code
   */
  public int memGetHandleForAddressRange(long[] out, long address, long bytes) {
    return callVmm(
        Operation.VMM_RANGE_HANDLE,
        address,
        bytes,
        0,
        () -> answer(out, space.exportRange(address, bytes, basePageBytes())));
  }

  final @Nullable Physical shareDescriptor(int descriptor) {
    lock.lock();
    try {
      return closed ? null : space.share(descriptor);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Takes over a descriptor of another machine's driver, as a process gets one through a Unix
   * socket: another number for the same bytes of the same device. Both machines are processes of
   * one host then; what either writes the other reads.
   *
   * @param from whose descriptor it is; not this driver
   * @param descriptor its number there, open until the call is over
   * @return its number here, or -1 where it is none of that driver's, or where its device is none
   *     of this driver's
   */
  public int receiveDescriptor(SimDriver from, int descriptor) {
    Physical shared = from.shareDescriptor(descriptor);
    if (shared == null) {
      return -1;
    }
    lock.lock();
    try {
      if (closed || shared.memory.device >= setup.devices().size()) {
        shared.memory.free();
        return -1;
      }
      return space.receive(shared);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Duplicates a descriptor that this driver has made, as {@code dup} would: the memory is kept
   * until both are closed.
   *
   * @param descriptor the number
   * @return another number, or -1 where it is none of ours
   */
  public int duplicateDescriptor(int descriptor) {
    lock.lock();
    try {
      return space.duplicateDescriptor(descriptor);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Closes a descriptor that this driver has made, as {@code close} would.
   *
   * @param descriptor the number
   * @return false where it is none of ours, or closed already
   */
  public boolean closeDescriptor(int descriptor) {
    lock.lock();
    try {
      return space.closeDescriptor(descriptor);
    } finally {
      lock.unlock();
    }
  }
}
