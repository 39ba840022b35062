package io.holdfast.backend.cpusim.driver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Device addresses and the memory behind them; guarded by the driver's lock.
 *
 * <p>Rules and numbers: the virtual-memory matrices of CUDA 580 and HIP 5 to 7.
 */
final class DeviceSpace {
  static final int POSIX_FD = 1;
  static final int FABRIC = 8;
  static final int LOCATION_DEVICE = 1;
  private static final int LOCATION_HOST = 2;
  private static final int LOCATION_HOST_NUMA = 3;
  private static final long ALLOCATION_GRAIN = 512;
  private static final int FIRST_DESCRIPTOR = 1 << 30;
  private static final int FABRIC_BYTES = 64;

  /** Given-back addresses that are told apart; a program asks for the newest, if for any. */
  private static final int MOST_REMEMBERED = 1024;

  private final Personality personality;
  private final List<DeviceSpec> devices;
  private final SplittableRandom random;
  private final byte fresh;
  private final IntervalMap<Backed> backed = new IntervalMap<>();
  private final IntervalMap<Reservation> reservations = new IntervalMap<>();
  private final Map<Long, Physical> physicals = new HashMap<>();
  private final Map<Integer, Physical> descriptors = new HashMap<>();
  private final Map<Long, Physical> fabricHandles = new HashMap<>();
  private final List<Reservation> usedBefore = new ArrayList<>();
  private final long[] usedBytes;
  private long nextPhysical = 0x4A00_0000_0001L;
  private int nextDescriptor = FIRST_DESCRIPTOR;

  DeviceSpace(Personality personality, List<DeviceSpec> devices, long seed, byte fresh) {
    this.personality = personality;
    this.devices = devices;
    this.random = new SplittableRandom(seed);
    this.fresh = fresh;
    this.usedBytes = new long[devices.size()];
  }

  // ---- accounting

  boolean charge(int device, long bytes) {
    if (bytes > freeBytes(device)) {
      return false;
    }
    usedBytes[device] += bytes;
    return true;
  }

  void discharge(int device, long bytes) {
    usedBytes[device] -= bytes;
  }

  long freeBytes(int device) {
    return devices.get(device).totalBytes() - usedBytes[device];
  }

  private @Nullable PhysicalMemory take(int device, long bytes) {
    long charged = Math.ceilDiv(bytes, ALLOCATION_GRAIN) * ALLOCATION_GRAIN;
    if (charged < bytes || !charge(device, charged)) {
      return null;
    }
    PhysicalMemory memory = new PhysicalMemory(device, bytes, fresh);
    memory.chargedBytes = charged;
    memory.references = 1;
    return memory;
  }

  /** Drops one reference; the last one gives the memory back as the personality does. */
  void drop(PhysicalMemory memory) {
    memory.references--;
    if (memory.references > 0) {
      return;
    }
    memory.free();
    if (memory.device < 0) {
      return;
    }
    Reservation kept = memory.lastReservation;
    switch (kept == null ? Personality.MemoryReturns.AT_ONCE : personality.vmm().memoryReturns()) {
      case AT_ONCE -> discharge(memory.device, memory.chargedBytes);
      case WITH_THE_ADDRESSES -> {
        if (kept != null && kept.alive) {
          kept.keptBytes[memory.device] += memory.chargedBytes;
        } else {
          discharge(memory.device, memory.chargedBytes);
        }
      }
      case NEVER -> {
        // the version that forgets its own memory
      }
    }
  }

  // ---- plain allocations

  /** The address, or minus the code. */
  long allocate(Context context, long bytes) {
    PhysicalMemory memory = take(context.device, bytes);
    if (memory == null) {
      return -Codes.OUT_OF_MEMORY;
    }
    long window = Addresses.deviceWindow(context.device);
    long address =
        backed.gap(window, window + Addresses.DEVICE_WINDOW_BYTES, bytes, ALLOCATION_GRAIN);
    if (address < 0) {
      drop(memory);
      return -Codes.OUT_OF_MEMORY;
    }
    Backed made = new Backed(address, bytes, memory, context, null, null);
    made.readers = -1;
    made.writers = -1;
    backed.put(address, address + bytes, made);
    return address;
  }

  /** The plain allocation that starts there, or null. */
  @Nullable Backed allocationAt(long address) {
    Backed there = backed.startingAt(address);
    return there == null || there.reservation != null ? null : there;
  }

  void free(Backed allocation) {
    backed.remove(allocation.address);
    drop(allocation.memory);
  }

  void freeAll(Context context) {
    for (Backed one : backed.toList()) {
      if (one.context == context) {
        free(one);
      }
    }
  }

  // ---- lookups

  /** What is behind an address, or null. */
  @Nullable Backed at(long address) {
    return backed.at(address);
  }

  @Nullable Reservation reservationAt(long address) {
    return reservations.at(address);
  }

  /** Whether a device may use every byte of a range. */
  boolean usable(int device, long address, long bytes, boolean writing) {
    long at = address;
    long end = address + bytes;
    while (at < end) {
      Backed there = backed.at(at);
      if (there == null || !allows(there, device, writing)) {
        return false;
      }
      // one plain allocation never continues in the next
      if (there.reservation == null && there.end() < end) {
        return false;
      }
      at = there.end();
    }
    return true;
  }

  private static boolean allows(Backed there, int device, boolean writing) {
    return ((writing ? there.writers : there.readers) >>> device & 1) != 0;
  }

  // ---- addresses

  /** The address, or minus the code; 0 where the version answers success and gives nothing. */
  long reserve(long bytes, long alignment, long hint, long flags) {
    Personality.Vmm rules = personality.vmm();
    switch (rules.level()) {
      case ABSENT -> {
        return -Codes.NOT_SUPPORTED;
      }
      case HOLLOW -> {
        return 0;
      }
      case WORKS -> {}
    }
    if (bytes <= 0
        || bytes % rules.granuleBytes() != 0
        || flags != 0
        || Long.bitCount(alignment) > 1) {
      return -Codes.INVALID_VALUE;
    }
    long align = Math.max(alignment, rules.granuleBytes());
    long address = hint;
    boolean ignored = rules.wish() == Personality.Wish.IGNORED && wasUsed(hint, hint + bytes);
    if (!Addresses.isReserved(hint)
        || hint % align != 0
        || hint + bytes > Addresses.VMM_END
        || ignored
        || reservations.overlaps(hint, hint + bytes)) {
      long from = ignored ? hint + bytes : Addresses.VMM_BASE;
      address = reservations.gap(from, Addresses.VMM_END, bytes, align);
    }
    if (address < 0) {
      return -Codes.OUT_OF_MEMORY;
    }
    long end = address + bytes;
    long start = address;
    usedBefore.removeIf(one -> one.address < end && one.end() > start);
    reservations.put(address, address + bytes, new Reservation(address, bytes, devices.size()));
    return address;
  }

  private boolean wasUsed(long start, long end) {
    return usedBefore.stream().anyMatch(one -> one.address < end && one.end() > start);
  }

  int addressFree(long address, long bytes) {
    Reservation there = reservations.startingAt(address);
    if (there == null || there.bytes != bytes || there.broken) {
      return Codes.INVALID_VALUE;
    }
    if (backed.overlaps(address, there.end())) {
      return Codes.INVALID_VALUE;
    }
    reservations.remove(address);
    there.alive = false;
    if (there.used && usedBefore.size() < MOST_REMEMBERED) {
      usedBefore.add(there);
    }
    for (int device = 0; device < there.keptBytes.length; device++) {
      discharge(device, there.keptBytes[device]);
    }
    return Codes.SUCCESS;
  }

  // ---- physical memory

  /** The handle, or minus the code. */
  long create(
      long bytes,
      int allocationType,
      int handleTypes,
      int locationType,
      int locationId,
      boolean rdma) {
    Personality.Vmm rules = personality.vmm();
    if (rules.level() != Personality.Level.WORKS) {
      return -Codes.NOT_SUPPORTED;
    }
    boolean onDevice = locationType == LOCATION_DEVICE;
    boolean onHost = locationType == LOCATION_HOST || locationType == LOCATION_HOST_NUMA;
    if (bytes <= 0
        || bytes % rules.granuleBytes() != 0
        || allocationType != 1
        || !(onDevice || onHost)) {
      return -Codes.INVALID_VALUE;
    }
    if (onDevice && (locationId < 0 || locationId >= devices.size())) {
      return -Codes.INVALID_DEVICE;
    }
    if ((handleTypes & FABRIC) != 0 && rules.fabricCode() != 0) {
      return -rules.fabricCode();
    }
    if ((handleTypes & POSIX_FD) != 0 && !rules.posixFd()) {
      return -Codes.NOT_SUPPORTED;
    }
    if (rdma && !rules.rdma()) {
      return -Codes.NOT_SUPPORTED;
    }
    PhysicalMemory memory;
    if (onDevice) {
      memory = take(locationId, bytes);
      if (memory == null) {
        return -Codes.OUT_OF_MEMORY;
      }
    } else {
      memory = new PhysicalMemory(-1, bytes, (byte) 0);
      memory.references = 1;
    }
    return add(memory, handleTypes, rdma, locationType, locationId);
  }

  private long add(
      PhysicalMemory memory, int handleTypes, boolean rdma, int locationType, int locationId) {
    long handle = nextPhysical++;
    physicals.put(
        handle, new Physical(handle, memory, handleTypes, rdma, locationType, locationId));
    return handle;
  }

  @Nullable Physical physical(long handle) {
    return physicals.get(handle);
  }

  int release(long handle) {
    Physical there = physicals.get(handle);
    if (there == null) {
      return Codes.INVALID_VALUE;
    }
    there.references--;
    if (there.references == 0) {
      if (personality.vmm().releaseWhileMapped()
          == Personality.ReleaseWhileMapped.BREAKS_ADDRESS_FREE) {
        backed.forEach(
            mapping -> {
              if (mapping.physical == there && mapping.reservation != null) {
                mapping.reservation.broken = true;
              }
            });
      }
      physicals.remove(handle);
      drop(there.memory);
    }
    return Codes.SUCCESS;
  }

  int map(long address, long bytes, long offset, long handle, long flags) {
    Personality.Vmm rules = personality.vmm();
    if (rules.level() != Personality.Level.WORKS) {
      return Codes.NOT_SUPPORTED;
    }
    if (offset != 0) {
      return rules.mapMisuseCode();
    }
    Physical there = physicals.get(handle);
    if (there == null || flags != 0 || bytes <= 0 || address % rules.granuleBytes() != 0) {
      return Codes.INVALID_VALUE;
    }
    long whole = there.memory.bytes;
    boolean fits = rules.mapSizes() == Personality.MapSizes.EXACT ? bytes == whole : bytes <= whole;
    if (!fits) {
      return rules.mapMisuseCode();
    }
    Reservation under = reservations.at(address);
    if (under == null
        || address + bytes > under.end()
        || backed.overlaps(address, address + bytes)) {
      return Codes.INVALID_VALUE;
    }
    there.memory.references++;
    there.memory.lastReservation = under;
    under.used = true;
    backed.put(
        address, address + bytes, new Backed(address, bytes, there.memory, null, under, there));
    return Codes.SUCCESS;
  }

  int unmap(long address, long bytes) {
    if (personality.vmm().level() != Personality.Level.WORKS) {
      return Codes.NOT_SUPPORTED;
    }
    long end = address + bytes;
    Reservation under = reservations.at(address);
    if (under == null || bytes <= 0 || end > under.end()) {
      return Codes.INVALID_VALUE;
    }
    List<Backed> mappings = mappingsIn(address, end);
    for (Backed mapping : mappings) {
      if (mapping.address < address || mapping.end() > end) {
        return Codes.INVALID_VALUE;
      }
    }
    if (mappings.isEmpty()
        && personality.vmm().unmapUnmapped() == Personality.UnmapUnmapped.CRASHES) {
      throw new SimulatedCrash(
          "the driver crashes when nothing is mapped at 0x" + Long.toHexString(address));
    }
    if (mappings.size() > 1
        && personality.vmm().unmapSeveral() == Personality.UnmapSeveral.BREAKS_ADDRESS_FREE) {
      under.broken = true;
    }
    for (Backed mapping : mappings) {
      backed.remove(mapping.address);
      drop(mapping.memory);
    }
    return Codes.SUCCESS;
  }

  private List<Backed> mappingsIn(long address, long end) {
    List<Backed> found = new ArrayList<>();
    Backed first = backed.at(address);
    if (first != null) {
      found.add(first);
    }
    for (Backed next = backed.from(address + 1);
        next != null && next.address < end;
        next = backed.from(next.address + 1)) {
      found.add(next);
    }
    return found;
  }

  int setAccess(long address, long bytes, int locationType, int locationId, int flags) {
    if (personality.vmm().level() != Personality.Level.WORKS) {
      return Codes.NOT_SUPPORTED;
    }
    if (flags != 0 && flags != 1 && flags != 3) {
      return Codes.INVALID_VALUE;
    }
    List<Backed> mappings = wholeMappings(address, bytes);
    if (mappings.isEmpty()) {
      return Codes.INVALID_VALUE;
    }
    if (locationType != LOCATION_DEVICE) {
      boolean hostMemory = mappings.stream().allMatch(mapping -> mapping.memory.device < 0);
      return hostMemory ? Codes.SUCCESS : Codes.NOT_SUPPORTED;
    }
    if (locationId < 0 || locationId >= devices.size()) {
      return Codes.INVALID_VALUE;
    }
    Reservation under = mappings.get(0).reservation;
    if (under != null
        && address > under.address
        && reservations.size() > 1
        && random.nextInt(100) < personality.vmm().tailAccessFailsPercent()) {
      return Codes.INVALID_VALUE;
    }
    long bit = 1L << locationId;
    for (Backed mapping : mappings) {
      mapping.readers = (flags & 1) != 0 ? mapping.readers | bit : mapping.readers & ~bit;
      mapping.writers = (flags & 2) != 0 ? mapping.writers | bit : mapping.writers & ~bit;
    }
    return Codes.SUCCESS;
  }

  /** Flags, or minus the code. */
  long getAccess(long address, int locationType, int locationId) {
    Backed there = backed.at(address);
    if (there == null || there.reservation == null || locationType != LOCATION_DEVICE) {
      return -Codes.INVALID_VALUE;
    }
    if (locationId < 0 || locationId >= devices.size()) {
      return -Codes.INVALID_VALUE;
    }
    return (allows(there, locationId, false) ? 1 : 0) | (allows(there, locationId, true) ? 2 : 0);
  }

  /** Mappings that cover the range exactly and without a hole, or none. */
  private List<Backed> wholeMappings(long address, long bytes) {
    if (bytes <= 0) {
      return List.of();
    }
    List<Backed> mappings = mappingsIn(address, address + bytes);
    long at = address;
    for (Backed mapping : mappings) {
      if (mapping.reservation == null || mapping.address != at) {
        return List.of();
      }
      at = mapping.end();
    }
    return at == address + bytes ? mappings : List.of();
  }

  /** The handle with one more reference, or minus the code. */
  long retain(long address) {
    Backed there = backed.at(address);
    if (there == null || there.physical == null) {
      return -Codes.INVALID_VALUE;
    }
    Physical physical = there.physical;
    if (physical.references == 0) {
      there.memory.references++;
      physicals.put(physical.handle, physical);
    }
    physical.references++;
    return physical.handle;
  }

  // ---- handles for others

  /** A descriptor, or minus the code. */
  long exportDescriptor(long handle) {
    Physical there = physicals.get(handle);
    if (there == null || (there.handleTypes & POSIX_FD) == 0) {
      return -Codes.INVALID_VALUE;
    }
    return describe(there);
  }

  private int describe(Physical there) {
    there.memory.references++;
    descriptors.put(nextDescriptor, there);
    return nextDescriptor++;
  }

  /** A descriptor for mapped memory, or minus the code. */
  long exportRange(long address, long bytes, long pageBytes) {
    if (!personality.vmm().dmaBuf()) {
      return -Codes.NOT_SUPPORTED;
    }
    Backed there = backed.at(address);
    if (there == null
        || bytes <= 0
        || address % pageBytes != 0
        || bytes % pageBytes != 0
        || address + bytes > there.end()) {
      return -Codes.INVALID_VALUE;
    }
    Physical physical =
        there.physical == null
            ? new Physical(0, there.memory, 0, true, LOCATION_DEVICE, there.memory.device)
            : there.physical;
    return describe(physical);
  }

  /** The handle, or minus the code. */
  long importDescriptor(int descriptor) {
    Physical there = descriptors.get(descriptor);
    if (there == null || (there.handleTypes & POSIX_FD) == 0) {
      return -Codes.UNKNOWN;
    }
    there.memory.references++;
    return add(there.memory, 0, false, there.locationType, there.locationId);
  }

  /** Another descriptor for the same, or -1. */
  int duplicateDescriptor(int descriptor) {
    Physical there = descriptors.get(descriptor);
    return there == null ? -1 : describe(there);
  }

  /** What another machine's driver gets with a descriptor, or null. */
  @Nullable Physical share(int descriptor) {
    Physical there = descriptors.get(descriptor);
    return there == null
        ? null
        : new Physical(
            0,
            there.memory.shared(),
            there.handleTypes,
            there.rdma,
            there.locationType,
            there.locationId);
  }

  /** A descriptor for what another machine's driver has shared. */
  int receive(Physical shared) {
    return describe(shared);
  }

  /** Whether it was one of ours. */
  boolean closeDescriptor(int descriptor) {
    Physical gone = descriptors.remove(descriptor);
    if (gone == null) {
      return false;
    }
    drop(gone.memory);
    return true;
  }

  /** Writes the handle's first word; the others are zero. */
  int exportFabric(long handle, long[] words) {
    Physical there = physicals.get(handle);
    if (there == null || (there.handleTypes & FABRIC) == 0) {
      return Codes.INVALID_VALUE;
    }
    Arrays.fill(words, 0, FABRIC_BYTES / Long.BYTES, 0);
    words[0] = ~there.handle;
    fabricHandles.put(~there.handle, there);
    return Codes.SUCCESS;
  }

  /** The handle, or minus the code. */
  long importFabric(long firstWord) {
    Physical there = fabricHandles.get(firstWord);
    if (there == null || !physicals.containsKey(there.handle)) {
      return -Codes.UNKNOWN;
    }
    there.memory.references++;
    return add(there.memory, 0, false, there.locationType, there.locationId);
  }

  // ---- what is left

  List<Backed> allBacked() {
    return backed.toList();
  }

  List<Reservation> allReservations() {
    return reservations.toList();
  }

  List<Physical> allPhysicals() {
    return List.copyOf(physicals.values());
  }

  int openDescriptors() {
    return descriptors.size();
  }

  /** Gives everything back at the machine's end. */
  void clear() {
    List.copyOf(descriptors.keySet()).forEach(this::closeDescriptor);
    for (Backed one : backed.toList()) {
      backed.remove(one.address);
      drop(one.memory);
    }
    for (Physical one : allPhysicals()) {
      one.references = 1;
      physicals.remove(one.handle);
      drop(one.memory);
    }
  }
}
