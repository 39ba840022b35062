package io.holdfast.backend.cpusim.driver;

import org.jspecify.annotations.Nullable;

/** What can be asked of a device, with both families' numbers; -1 where a family has none. */
public enum Attribute {
  /** Widest pitch. */
  MAX_PITCH(11, 58, 0),
  /** Multiprocessors or compute units. */
  MULTIPROCESSOR_COUNT(16, 63, 0),
  /** Whether device and host share memory. */
  INTEGRATED(18, 16, 0),
  /** Whether host memory can be mapped. */
  CAN_MAP_HOST_MEMORY(19, 3, 0),
  /** Bus of the PCI address. */
  PCI_BUS_ID(33, 67, 0),
  /** Device of the PCI address. */
  PCI_DEVICE_ID(34, 68, 0),
  /** Domain of the PCI address. */
  PCI_DOMAIN_ID(50, 69, 0),
  /** Copy engines. */
  ASYNC_ENGINE_COUNT(40, 2, 0),
  /** One address space for all. */
  UNIFIED_ADDRESSING(41, 85, 0),
  /** Major compute capability. */
  COMPUTE_CAPABILITY_MAJOR(75, 23, 0),
  /** Minor compute capability. */
  COMPUTE_CAPABILITY_MINOR(76, 61, 0),
  /** Whether unregistered host memory can be reached. */
  PAGEABLE_MEMORY_ACCESS(88, 65, 0),
  /** Whether registered memory has the host's address on the device. */
  CAN_USE_HOST_POINTER(91, 4, 0),
  /** Whether host memory can be registered. */
  HOST_REGISTER_SUPPORTED(99, 90, 60000000),
  /** Whether the device reads the host's page tables. */
  USES_HOST_PAGE_TABLES(100, 66, 0),
  /** Whether there is virtual memory. */
  VIRTUAL_MEMORY(102, 89, 50300000),
  /** Whether descriptors can be exported. */
  HANDLE_POSIX_FD(103, -1, 0),
  /** Whether network cards can read virtual memory. */
  RDMA_WITH_VIRTUAL_MEMORY(110, 94, 71300000),
  /** Whether read-only memory can be registered. */
  READ_ONLY_HOST_REGISTER(113, -1, 0),
  /** Whether dma-buf descriptors can be made. */
  DMA_BUF(124, 93, 71200000),
  /** Whether fabric handles can be asked for; a creation can still refuse. */
  HANDLE_FABRIC(128, 95, 71400000),
  /** The host node, -1 where unknown. */
  HOST_NUMA_ID(134, 92, 70200000);

  /** The widest pitch of a simulated device. */
  static final long MAX_PITCH_BYTES = Integer.MAX_VALUE;

  private final int cudaNumber;
  private final int hipNumber;
  private final int hipSince;

  Attribute(int cudaNumber, int hipNumber, int hipSince) {
    this.cudaNumber = cudaNumber;
    this.hipNumber = hipNumber;
    this.hipSince = hipSince;
  }

  /**
   * Its number.
   *
   * @param family as which family counts
   * @return the number, -1 where it has none
   */
  public int number(Family family) {
    return family == Family.CUDA ? cudaNumber : hipNumber;
  }

  static @Nullable Attribute numbered(Family family, int number) {
    for (Attribute attribute : values()) {
      if (number >= 0 && attribute.number(family) == number) {
        return attribute;
      }
    }
    return null;
  }

  boolean knownTo(Personality personality) {
    return personality.family() == Family.CUDA || personality.version() >= hipSince;
  }

  long value(Personality personality, DeviceSpec device) {
    Personality.Registration pinning = personality.registration();
    Personality.Vmm vmm = personality.vmm();
    boolean works = vmm.level() == Personality.Level.WORKS;
    boolean cuda = personality.family() == Family.CUDA;
    boolean coherent = pinning.pinModel() == Personality.PinModel.COHERENT;
    return switch (this) {
      case MAX_PITCH -> MAX_PITCH_BYTES;
      case MULTIPROCESSOR_COUNT -> 128;
      case INTEGRATED -> 0;
      case CAN_MAP_HOST_MEMORY, UNIFIED_ADDRESSING, HOST_REGISTER_SUPPORTED -> 1;
      case PCI_DOMAIN_ID -> pci(device, 0, 4);
      case PCI_BUS_ID -> pci(device, 5, 7);
      case PCI_DEVICE_ID -> pci(device, 8, 10);
      case ASYNC_ENGINE_COUNT -> 3;
      case COMPUTE_CAPABILITY_MAJOR -> 9;
      case COMPUTE_CAPABILITY_MINOR -> 0;
      case PAGEABLE_MEMORY_ACCESS, USES_HOST_PAGE_TABLES -> coherent ? 1 : 0;
      case CAN_USE_HOST_POINTER ->
          pinning.alias() == Personality.Alias.SAME
                  && personality.copies().hostPointers() == Personality.HostPointers.USABLE
              ? 1
              : 0;
      case VIRTUAL_MEMORY -> works ? 1 : 0;
      case HANDLE_POSIX_FD -> works && vmm.posixFd() ? 1 : 0;
      case RDMA_WITH_VIRTUAL_MEMORY -> works && vmm.rdma() ? 1 : 0;
      case READ_ONLY_HOST_REGISTER -> cuda && pinning.readOnlyCode() == 0 ? 1 : 0;
      case DMA_BUF -> vmm.dmaBuf() ? 1 : 0;
      // says yes where creating answers 800, as on H200
      case HANDLE_FABRIC ->
          vmm.fabricCode() == 0 || vmm.fabricCode() == Codes.NOT_PERMITTED ? 1 : 0;
      case HOST_NUMA_ID -> device.numaNode().orElse(cuda ? 0 : -1);
    };
  }

  private static long pci(DeviceSpec device, int from, int to) {
    String address = device.pciAddress();
    return address.length() < to ? 0 : Integer.parseInt(address, from, to, 16);
  }
}
