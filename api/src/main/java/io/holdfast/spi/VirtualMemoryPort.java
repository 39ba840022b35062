package io.holdfast.spi;

import io.holdfast.device.HandleKind;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.Set;

/** Address ranges apart from physical memory, on one device. */
public interface VirtualMemoryPort {
  /**
   * What physical allocations of that form are multiples of.
   *
   * @param form the form
   * @return bytes
   */
  long granuleBytes(PhysicalForm form);

  /**
   * Which handle kinds this device can be asked for.
   *
   * @return the kinds the driver reports; a creation can still refuse
   */
  Set<HandleKind> exportableKinds();

  /**
   * Whether network cards can read memory made here.
   *
   * @return as the driver reports it for the device
   */
  boolean rdmaPossible();

  /**
   * Takes addresses.
   *
   * @param bytes a multiple of the granule
   * @param alignmentBytes a power of two, or 0 for the driver's own
   * @return the range
   */
  DeviceRange reserve(long bytes, long alignmentBytes);

  /**
   * Takes these addresses again, if the driver gives them.
   *
   * <p>Drivers take it for a wish: an H200's (580) gave others for addresses that had just been
   * given back, and answered success.
   *
   * @param range where
   * @return a range as long; its address can differ
   */
  DeviceRange reserveAt(DeviceRange range);

  /**
   * Gives addresses back.
   *
   * @param range exactly a reservation
   */
  void freeAddresses(DeviceRange range);

  /**
   * Takes physical memory.
   *
   * @param bytes a multiple of the granule
   * @param form what it must be able to do
   * @return the allocation
   */
  PhysicalHandle create(long bytes, PhysicalForm form);

  /**
   * Drops one reference to an allocation.
   *
   * @param handle the allocation
   */
  void release(PhysicalHandle handle);

  /**
   * Puts a whole allocation under a range of the same size.
   *
   * @param range inside a reservation, unmapped
   * @param handle the allocation
   */
  void map(DeviceRange range, PhysicalHandle handle);

  /**
   * Takes an allocation away from under a range.
   *
   * @param range whole mappings
   */
  void unmap(DeviceRange range);

  /**
   * Lets the device read and write whole mappings.
   *
   * @param range mapped
   */
  void allowAccess(DeviceRange range);

  /**
   * A file descriptor for an allocation made exportable by {@link HandleKind#POSIX_FD}.
   *
   * @param handle the allocation
   * @return a descriptor that belongs to the caller
   */
  int exportFileDescriptor(PhysicalHandle handle);

  /**
   * One more reference to an allocation, by descriptor; the descriptor stays the caller's.
   *
   * @param fileDescriptor of this process
   * @return the allocation
   */
  PhysicalHandle importFileDescriptor(int fileDescriptor);

  /**
   * Whether a network card can read a mapping, as the driver says of it.
   *
   * @param range mapped
   * @return true when it can
   */
  boolean rdmaCapable(DeviceRange range);

  /**
   * Handles across hosts.
   *
   * @return the port, or empty
   */
  default Optional<FabricPort> fabric() {
    return Optional.empty();
  }

  /**
   * Ranges as dma-buf descriptors.
   *
   * @return the port, or empty
   */
  default Optional<DmaBufPort> dmaBuf() {
    return Optional.empty();
  }

  /**
   * The form of a physical allocation.
   *
   * @param exports handle kinds asked for
   * @param rdma whether a network card shall read it
   */
  record PhysicalForm(Set<HandleKind> exports, RdmaWish rdma) {
    /** Copies. */
    public PhysicalForm {
      exports = Set.copyOf(exports);
    }

    /**
     * Private memory.
     *
     * @return a form without exports and RDMA
     */
    public static PhysicalForm plain() {
      return new PhysicalForm(Set.of(), RdmaWish.NO);
    }
  }

  /** Whether a network card shall read it. */
  enum RdmaWish {
    /** No. */
    NO,
    /** Yes. */
    YES
  }

  /** Physical allocations named across hosts. */
  interface FabricPort {
    /**
     * Writes an allocation's handle.
     *
     * @param handle the allocation
     * @param into 64 bytes
     */
    void exportFabric(PhysicalHandle handle, MemorySegment into);

    /**
     * One more reference, by those bytes.
     *
     * @param handle 64 bytes
     * @return the allocation
     */
    PhysicalHandle importFabric(MemorySegment handle);
  }

  /** Ranges as dma-buf descriptors, for network cards. */
  interface DmaBufPort {
    /**
     * A descriptor for mapped memory.
     *
     * @param range whole host pages, mapped
     * @return a descriptor that belongs to the caller
     */
    int exportDmaBuf(DeviceRange range);
  }
}
