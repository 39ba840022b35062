package io.holdfast.internal.extensible;

import io.holdfast.device.HandleKind;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.FileFacts;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernels;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.VirtualMemoryPort;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Device memory with a driver's accounts: reservations, physical allocations with real bytes,
 * mappings, references. It refuses what drivers refuse, and a refusal that no failure was injected
 * for is a {@link #violations violation}: policy must not make such calls.
 *
 * <p>Fresh memory is not zero. Exported allocations are real files in memory, so that descriptors
 * can be counted, taken and closed.
 */
final class FakeMemory implements VirtualMemoryPort {
  static final long GRANULE = 2L << 20;
  private static final byte FRESH = (byte) 0xD5;

  /** One call, for tests that look at what was asked and in which order. */
  record Call(String name, long address, long bytes) {
    @Override
    public String toString() {
      return name + "(0x" + Long.toHexString(address) + ", " + bytes + ")";
    }
  }

  /** Bytes that live as long as one handle names them. */
  private static final class Storage {
    final byte[] data;
    int handles;
    @Nullable Reservation last;

    Storage(byte[] data) {
      this.data = data;
    }
  }

  private static final class Physical {
    final long handle;
    final PhysicalForm form;
    final Storage storage;
    int mappings;

    Physical(long handle, Storage storage, PhysicalForm form) {
      this.handle = handle;
      this.storage = storage;
      this.form = form;
      storage.handles++;
    }
  }

  private static final class Reservation {
    final DeviceRange range;
    long keptBytes;
    boolean alive = true;

    Reservation(DeviceRange range) {
      this.range = range;
    }
  }

  private static final class Mapping {
    final DeviceRange range;
    final Physical physical;
    boolean access;

    Mapping(DeviceRange range, Physical physical) {
      this.range = range;
      this.physical = physical;
    }
  }

  private final HostKernel kernel = HostKernels.system();
  private final TreeMap<Long, Reservation> reservations = new TreeMap<>();
  private final TreeMap<Long, Mapping> mappings = new TreeMap<>();
  private final Map<Long, Physical> physicals = new HashMap<>();
  private final Map<Long, Storage> byInode = new HashMap<>();
  private final Map<Long, Storage> byFabric = new HashMap<>();
  private long nextAddress = 0x7000_0000_0000L;
  private long nextHandle = 0x10;
  private long usedBytes;
  private int inside;

  /** Every call that reached the driver, refused ones included. */
  final List<Call> calls = new ArrayList<>();

  /** Misuse. */
  final List<String> violations = new ArrayList<>();

  /** Physical memory of the device. */
  long totalBytes = 1L << 30;

  long granuleBytes = GRANULE;

  Set<HandleKind> kinds = EnumSet.of(HandleKind.POSIX_FD);
  boolean hasFabric;
  boolean hasDmaBuf;
  boolean rdmaPossible;

  /** Whether memory that was created for it can really be read by network cards. */
  boolean rdmaWorks = true;

  /** Forms that creation refuses, by a part of their text. */
  @Nullable String refusedForm;

  /** As HIP before 6.1: says that it reserved, and names no address. */
  boolean reservesNothing;

  /** As HIP 7.1: setting access on a grown tail fails. */
  boolean accessNeedsWholePrefix;

  /** As HIP 7.2: memory stays with the reservation it was mapped in last. */
  boolean keepsUntilAddressesGo;

  /** Another process takes whatever is released, at once. */
  boolean takesWhenReleased;

  /** As HIP: calls must not run side by side. */
  boolean oneCallAtATime;

  /** Moves addresses that were given up. */
  boolean movesAddresses;

  /** Calls until the first that fails, counted over everything; -1 for never. */
  int failAfter = -1;

  /** How many fail from there. */
  int failures = 1;

  /** What failing calls answer. */
  DriverFault fault = DriverFault.OTHER;

  // ---- failure injection

  /** One call more; every call of the device that changes something comes here first. */
  synchronized void count(String name, long address, long bytes) {
    calls.add(new Call(name, address, bytes));
    if (failAfter >= 0 && failAfter-- <= 0) {
      failures--;
      failAfter = failures > 0 ? 0 : -1;
      throw refusal(name + " (injected)", fault);
    }
  }

  synchronized void fail(int afterCalls, int howMany, DriverFault with) {
    failAfter = afterCalls;
    failures = howMany;
    fault = with;
  }

  synchronized void failNoMore() {
    failAfter = -1;
  }

  static DriverException refusal(String operation, DriverFault fault) {
    return new DriverException("fake", operation, 1, fault.name(), fault);
  }

  private DriverException misuse(String what) {
    violations.add(what);
    return refusal(what, DriverFault.INVALID_ARGUMENT);
  }

  // ---- the test's side

  synchronized long handles() {
    return physicals.size();
  }

  synchronized int mappingCount() {
    return mappings.size();
  }

  synchronized int reservationCount() {
    return reservations.size();
  }

  synchronized long usedBytes() {
    return usedBytes;
  }

  synchronized List<String> names(String prefix) {
    return calls.stream().map(Call::name).filter(name -> name.startsWith(prefix)).toList();
  }

  synchronized void forget() {
    calls.clear();
  }

  /** What a kernel does: writes one byte everywhere in the range. */
  synchronized void write(long address, long bytes, int value) {
    touch(address, bytes, (data, at, length) -> Arrays.fill(data, at, at + length, (byte) value));
  }

  /** Whether every byte of the range has that value. */
  synchronized boolean holds(long address, long bytes, int value) {
    boolean[] all = {true};
    touch(
        address,
        bytes,
        (data, at, length) -> {
          for (int i = at; i < at + length; i++) {
            all[0] &= data[i] == (byte) value;
          }
        });
    return all[0];
  }

  synchronized void copy(long from, long to, long bytes) {
    byte[] through = new byte[Math.toIntExact(bytes)];
    int[] filled = {0};
    touch(
        from,
        bytes,
        (data, at, length) -> {
          System.arraycopy(data, at, through, filled[0], length);
          filled[0] += length;
        });
    int[] read = {0};
    touch(
        to,
        bytes,
        (data, at, length) -> {
          System.arraycopy(through, read[0], data, at, length);
          read[0] += length;
        });
  }

  private interface Touch {
    void at(byte[] data, int offset, int length);
  }

  private void touch(long address, long bytes, Touch touch) {
    long at = address;
    while (at < address + bytes) {
      Map.Entry<Long, Mapping> below = mappings.floorEntry(at);
      if (below == null || at >= below.getValue().range.endAddress()) {
        throw misuse("a touch of 0x" + Long.toHexString(at) + ", which is not mapped");
      }
      Mapping mapping = below.getValue();
      if (!mapping.access) {
        throw misuse("a touch of 0x" + Long.toHexString(at) + " without access");
      }
      long until = Math.min(address + bytes, mapping.range.endAddress());
      touch.at(
          mapping.physical.storage.data, (int) (at - mapping.range.address()), (int) (until - at));
      at = until;
    }
  }

  /** An ordinary allocation: mapped at once, no handle. */
  synchronized DeviceRange allocate(long bytes) {
    count("allocate", 0, bytes);
    if (usedBytes + bytes > totalBytes) {
      throw refusal("allocate", DriverFault.OUT_OF_MEMORY);
    }
    usedBytes += bytes;
    DeviceRange range = new DeviceRange(take(bytes), bytes);
    byte[] data = new byte[Math.toIntExact(bytes)];
    Arrays.fill(data, FRESH);
    Mapping mapping = new Mapping(range, new Physical(0, new Storage(data), PhysicalForm.plain()));
    mapping.access = true;
    mappings.put(range.address(), mapping);
    return range;
  }

  synchronized void free(DeviceRange range) {
    count("free", range.address(), range.bytes());
    mappings.remove(range.address());
    usedBytes -= range.bytes();
  }

  private long take(long bytes) {
    long address = nextAddress;
    nextAddress += bytes + GRANULE; // a hole behind every reservation
    return address;
  }

  // ---- the port

  /** Two calls at once are seen, where the driver cannot bear them. */
  private void enter(String name, DeviceRange range) {
    if (oneCallAtATime) {
      synchronized (this) {
        if (++inside > 1) {
          violations.add(name + " while another call runs");
        }
      }
      LockSupport.parkNanos(100_000);
      synchronized (this) {
        inside--;
      }
    }
    count(name, range.address(), range.bytes());
  }

  @Override
  public long granuleBytes(PhysicalForm form) {
    return granuleBytes;
  }

  @Override
  public Set<HandleKind> exportableKinds() {
    return kinds;
  }

  @Override
  public boolean rdmaPossible() {
    return rdmaPossible;
  }

  @Override
  public DeviceRange reserve(long bytes, long alignmentBytes) {
    enter("reserve", new DeviceRange(0, bytes));
    synchronized (this) {
      if (bytes <= 0 || bytes % granuleBytes != 0 || Long.bitCount(alignmentBytes) > 1) {
        throw misuse("reserve of " + bytes + " bytes aligned to " + alignmentBytes);
      }
      if (reservesNothing) {
        return new DeviceRange(0, bytes);
      }
      DeviceRange range = new DeviceRange(take(bytes), bytes);
      reservations.put(range.address(), new Reservation(range));
      return range;
    }
  }

  @Override
  public DeviceRange reserveAt(DeviceRange range) {
    enter("reserveAt", range);
    synchronized (this) {
      if (movesAddresses || reservations.containsKey(range.address())) {
        DeviceRange other = new DeviceRange(take(range.bytes()), range.bytes());
        reservations.put(other.address(), new Reservation(other));
        return other;
      }
      reservations.put(range.address(), new Reservation(range));
      return range;
    }
  }

  @Override
  public void freeAddresses(DeviceRange range) {
    enter("freeAddresses", range);
    synchronized (this) {
      Reservation there = reservations.get(range.address());
      if (there == null || !there.range.equals(range)) {
        throw misuse("free of addresses that are not reserved so: " + range);
      }
      if (!mappings.subMap(range.address(), range.endAddress()).isEmpty()) {
        throw misuse("free of addresses that are mapped: " + range);
      }
      reservations.remove(range.address());
      there.alive = false;
      usedBytes -= there.keptBytes;
    }
  }

  @Override
  public PhysicalHandle create(long bytes, PhysicalForm form) {
    enter("create", new DeviceRange(0, bytes));
    synchronized (this) {
      if (bytes <= 0 || bytes % granuleBytes != 0) {
        throw misuse("create of " + bytes + " bytes");
      }
      if (!kinds.containsAll(form.exports()) || (form.rdma() == RdmaWish.YES && !rdmaPossible)) {
        throw misuse("create of what the driver reports it cannot: " + form);
      }
      if (refusedForm != null && form.toString().contains(refusedForm)) {
        throw refusal("create(" + form + ")", DriverFault.NOT_SUPPORTED);
      }
      if (usedBytes + bytes > totalBytes) {
        throw refusal("create of " + bytes + " bytes", DriverFault.OUT_OF_MEMORY);
      }
      usedBytes += bytes;
      byte[] data = new byte[Math.toIntExact(bytes)];
      Arrays.fill(data, FRESH);
      return add(new Storage(data), form);
    }
  }

  private PhysicalHandle add(Storage storage, PhysicalForm form) {
    Physical made = new Physical(nextHandle++, storage, form);
    physicals.put(made.handle, made);
    return new PhysicalHandle(made.handle);
  }

  /** One more handle, as imports get: it can be exported no further. */
  private PhysicalHandle imported(@Nullable Storage storage) {
    if (storage == null || storage.handles == 0) {
      throw refusal("import of what names no memory", DriverFault.OTHER);
    }
    return add(storage, PhysicalForm.plain());
  }

  private Physical physical(PhysicalHandle handle) {
    Physical there = physicals.get(handle.value());
    if (there == null) {
      throw misuse("use of handle " + handle.value() + ", which is not there");
    }
    return there;
  }

  @Override
  public void release(PhysicalHandle handle) {
    enter("release", new DeviceRange(handle.value(), 0));
    synchronized (this) {
      Physical there = physical(handle);
      if (there.mappings > 0) {
        throw misuse("release while mapped");
      }
      physicals.remove(there.handle);
      Storage storage = there.storage;
      storage.handles--;
      if (storage.handles > 0) {
        return;
      }
      if (keepsUntilAddressesGo && storage.last != null && storage.last.alive) {
        storage.last.keptBytes += storage.data.length;
      } else {
        usedBytes -= storage.data.length;
        totalBytes -= takesWhenReleased ? storage.data.length : 0;
      }
    }
  }

  @Override
  public void map(DeviceRange range, PhysicalHandle handle) {
    enter("map", range);
    synchronized (this) {
      Physical there = physical(handle);
      Map.Entry<Long, Reservation> under = reservations.floorEntry(range.address());
      if (under == null || range.endAddress() > under.getValue().range.endAddress()) {
        throw misuse("map outside of reserved addresses: " + range);
      }
      if (there.storage.data.length != range.bytes() || range.address() % granuleBytes != 0) {
        throw misuse("map of another size or off the granule: " + range);
      }
      Map.Entry<Long, Mapping> before = mappings.lowerEntry(range.endAddress());
      if (before != null && before.getValue().range.endAddress() > range.address()) {
        throw misuse("map over a mapping: " + range);
      }
      mappings.put(range.address(), new Mapping(range, there));
      there.mappings++;
      there.storage.last = under.getValue();
    }
  }

  @Override
  public void unmap(DeviceRange range) {
    enter("unmap", range);
    synchronized (this) {
      Mapping there = mappings.get(range.address());
      if (there == null || !there.range.equals(range)) {
        throw misuse("unmap of what is not exactly one mapping: " + range);
      }
      mappings.remove(range.address());
      there.physical.mappings--;
    }
  }

  @Override
  public void allowAccess(DeviceRange range) {
    enter("allowAccess", range);
    synchronized (this) {
      List<Mapping> covered =
          new ArrayList<>(mappings.subMap(range.address(), range.endAddress()).values());
      long at = range.address();
      for (Mapping mapping : covered) {
        if (mapping.range.address() != at) {
          break;
        }
        at = mapping.range.endAddress();
      }
      if (at != range.endAddress()) {
        throw misuse("access over what is not whole mappings: " + range);
      }
      if (accessNeedsWholePrefix && !reservations.containsKey(range.address())) {
        throw misuse("access on a tail: " + range);
      }
      covered.forEach(mapping -> mapping.access = true);
    }
  }

  @Override
  public int exportFileDescriptor(PhysicalHandle handle) {
    enter("exportFileDescriptor", new DeviceRange(handle.value(), 0));
    synchronized (this) {
      Physical there = physical(handle);
      if (!there.form.exports().contains(HandleKind.POSIX_FD)) {
        throw misuse("export of memory that was not created for it");
      }
      return file(there);
    }
  }

  private int file(Physical physical) {
    FileHandle file = kernel.memoryFile("holdfast-fake-device-memory", 0);
    byInode.put(kernel.facts(file).inode(), physical.storage);
    return file.descriptor();
  }

  @Override
  public PhysicalHandle importFileDescriptor(int fileDescriptor) {
    enter("importFileDescriptor", new DeviceRange(0, 0));
    FileFacts facts = kernel.facts(new FileHandle(fileDescriptor));
    synchronized (this) {
      return imported(byInode.get(facts.inode()));
    }
  }

  @Override
  public boolean rdmaCapable(DeviceRange range) {
    synchronized (this) {
      Map.Entry<Long, Mapping> below = mappings.floorEntry(range.address());
      return below != null && below.getValue().physical.form.rdma() == RdmaWish.YES && rdmaWorks;
    }
  }

  @Override
  public Optional<FabricPort> fabric() {
    return hasFabric ? Optional.of(new Fabric()) : Optional.empty();
  }

  @Override
  public Optional<DmaBufPort> dmaBuf() {
    return hasDmaBuf ? Optional.of(this::exportDmaBuf) : Optional.empty();
  }

  private int exportDmaBuf(DeviceRange range) {
    enter("exportDmaBuf", range);
    synchronized (this) {
      Map.Entry<Long, Mapping> below = mappings.floorEntry(range.address());
      if (below == null
          || range.endAddress() > below.getValue().range.endAddress()
          || range.address() % kernel.basePageBytes() != 0
          || range.bytes() % kernel.basePageBytes() != 0) {
        throw misuse("dma-buf of " + range);
      }
      return file(below.getValue().physical);
    }
  }

  private final class Fabric implements FabricPort {
    @Override
    public void exportFabric(PhysicalHandle handle, MemorySegment into) {
      enter("exportFabric", new DeviceRange(handle.value(), 0));
      synchronized (FakeMemory.this) {
        into.fill((byte) 0xEE);
        into.set(ValueLayout.JAVA_LONG, 0, handle.value());
        byFabric.put(handle.value(), physical(handle).storage);
      }
    }

    @Override
    public PhysicalHandle importFabric(MemorySegment handle) {
      enter("importFabric", new DeviceRange(0, 0));
      synchronized (FakeMemory.this) {
        boolean whole = handle.get(ValueLayout.JAVA_BYTE, 63) == (byte) 0xEE;
        return imported(whole ? byFabric.get(handle.get(ValueLayout.JAVA_LONG, 0)) : null);
      }
    }
  }
}
