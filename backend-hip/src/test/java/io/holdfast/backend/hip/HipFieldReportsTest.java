package io.holdfast.backend.hip;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.backend.cpusim.driver.FaultScript;
import io.holdfast.backend.cpusim.driver.Ledger.Call;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.backend.cpusim.driver.Personalities;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.BatchCopyPort.SourceReads;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.CopyTable.Direction;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.Traits;
import io.holdfast.spi.Traits.Quirk;
import io.holdfast.spi.VirtualMemoryPort;
import io.holdfast.spi.VirtualMemoryPort.PhysicalForm;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Layer b: what users of HIP have reported, each on a simulated version that shows the fault,
 * through the true binding and, where policy is what helps, the whole backend over it.
 */
final class HipFieldReportsTest {
  private static final long PAGE = 4096;
  private static final long MIB = 1 << 20;
  private static final BlockShape SHAPE = BlockShape.of(1, 64 << 10);

  @TempDir Path folder;

  private final Arena arena = Arena.ofAuto();
  private SimulatedRuntime runtime;

  private void open(String version) {
    open(version, Map.of());
  }

  private void open(String version, Map<String, String> changes) {
    runtime = new SimulatedRuntime(folder, Personalities.named(version, changes), 2);
    runtime.machine().ledger().keep(1 << 18); // a core that waits asks often
  }

  @AfterEach
  void nothingIsLeftAndNoExportBroke() {
    if (runtime != null) {
      String audit = runtime.audit().toString();
      runtime.close();
      assertEquals("nothing leaked", audit);
    }
  }

  private long count(Operation operation) {
    return runtime.machine().ledger().count(operation);
  }

  /** The calls since a mark. */
  private List<Call> calls(long mark, Operation... operations) {
    Set<Operation> wanted = Set.of(operations);
    return runtime.machine().ledger().since(mark).stream()
        .filter(call -> wanted.contains(call.operation()))
        .toList();
  }

  // ---- registration

  /** The runtime accepts what overlaps, and the first mend looks at the start only. */
  @ParameterizedTest
  @ValueSource(strings = {"hip-5.2", "hip-7.2", "hip-7.15"})
  void b31_overlapIsRefusedByTheLibraryWhereTheRuntimeAcceptsIt(String version) {
    open(version);
    try (Backend backend = runtime.backend()) {
      Device device = backend.open(0);
      HostRegion owner = backend.pageSource().map(HostRequest.ofBytes(4 * PAGE));
      HostRegion inner = backend.pageSource().adopt(owner.segment().asSlice(PAGE, PAGE));
      HostRegion outer = backend.pageSource().adopt(owner.segment().asSlice(0, 2 * PAGE));
      PinnedRegion pinned = device.pinner().pin(inner, PinRequest.strict());
      long before = count(Operation.HOST_REGISTER);

      PinException refusal =
          assertThrows(PinException.class, () -> device.pinner().pin(outer, PinRequest.strict()));

      assertEquals(PinException.Reason.PINNED_ALREADY, refusal.reason());
      assertEquals(before, count(Operation.HOST_REGISTER)); // never asked
      pinned.close();
    }
  }

  /** Unregistering by an inner address aborts the process in the runtime. */
  @Test
  void anInnerAddressIsNeverUnregistered() {
    open("hip-7.1");
    try (DevicePort port = runtime.driver().open(0)) {
      MemorySegment memory = arena.allocate(4 * PAGE, PAGE);
      port.register(memory);

      assertThrows(
          IllegalArgumentException.class, () -> port.unregister(memory.asSlice(PAGE, PAGE)));

      assertEquals(0, count(Operation.HOST_UNREGISTER));
      port.unregister(memory);
    }
  }

  /** The device's address is another, and unregistering takes the host's. */
  @Test
  void b65_aCycleOfPinsLeavesNothingWhereTheAliasDiffers() {
    open("hip-7.2");
    try (DevicePort port = runtime.driver().open(0);
        DevicePort other = runtime.driver().open(1)) {
      MemorySegment memory = arena.allocate(4 * PAGE, PAGE);
      port.register(memory);
      DeviceRange here = port.seenByDevice(memory);
      assertNotEquals(memory.address(), here.address());
      assertNotEquals(here, other.seenByDevice(memory));
      assertEquals(
          new DeviceRange(here.address() + PAGE, PAGE),
          port.seenByDevice(memory.asSlice(PAGE, PAGE)));
      port.unregister(memory);
    }
    try (Backend backend = runtime.backend();
        HostPool pool =
            pool(
                backend.open(0),
                4,
                2 * MIB,
                PoolOptions.defaults().copy(CopyOptions.auto().path(CopyPath.LOOP)))) {
      pool.store(BlockCopies.device(1).host(3), unordered()).await();
    }

    assertEquals(0, runtime.machine().ledger().refused(Operation.HOST_UNREGISTER));
    assertEquals(count(Operation.HOST_REGISTER), count(Operation.HOST_UNREGISTER));
  }

  /** A default cap, a warning, and all or nothing with the vendor's advice. */
  @Test
  void b71_aTotalThatTheRuntimeRefusesRollsAllBackAndCitesTheVendor() {
    open("hip-7.2", Map.of("register.bytes-in-total", "9_000_000"));
    try (Backend backend = runtime.backend()) {
      Device device = backend.open(0);
      HostRegion region = backend.pageSource().map(HostRequest.ofBytes(16 * MIB));

      PinException refusal =
          assertThrows(
              PinException.class,
              () -> device.pinner().pin(region, PinRequest.strict().sliceBytes(2 * MIB)));

      String message = String.valueOf(refusal.getMessage());
      assertTrue(message.contains("its vendor advises against very large"), message);
      assertTrue(message.contains("this process has pinned 8388608 bytes"), message);
      assertEquals(5, count(Operation.HOST_REGISTER));
      assertEquals(4, count(Operation.HOST_UNREGISTER));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"hip-5.2", "hip-6.4", "hip-7.15"})
  void b71_oneRegistrationIsCappedAndLargeTotalsAreWarnedOf(String version) {
    open(version);
    try (DevicePort port = runtime.driver().open(0)) {
      Traits traits = port.traits(PAGE);

      assertEquals(
          List.of(64L << 30), traits.bounds().stream().map(bound -> bound.maxBytes()).toList());
      assertEquals(128L << 30, traits.warnRegisteredAboveBytes());
      assertEquals(Traits.PinModel.NOTIFIER, traits.pinModel());
      assertEquals(Traits.Alias.PER_RANGE, traits.alias());
    }
  }

  /** Registered for all devices always, so a second device's copy does not fault. */
  @Test
  void b91_memoryPinnedOnOneDeviceIsPortableToTheOther() {
    open("hip-7.2");
    try (Backend backend = runtime.backend()) {
      Device first = backend.open(0);
      Device second = backend.open(1);
      long mark = runtime.machine().ledger().mark();
      CopyOptions loop = CopyOptions.auto().path(CopyPath.LOOP); // nothing is measured
      try (HostPool pool = pool(first, 4, 2 * MIB, PoolOptions.defaults().copy(loop));
          DeviceAllocation memory = second.memory().allocate(4 * SHAPE.bytes());
          CopyRoute route =
              second
                  .copyEngine()
                  .route(DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(4)), pool, loop)) {
        pool.ready().join();
        List<Call> registrations = calls(mark, Operation.HOST_REGISTER);
        assertTrue(!registrations.isEmpty());
        for (Call call : registrations) {
          assertEquals(3, call.third(), call::toString); // portable and mapped
        }
        route.load(BlockCopies.device(0, 3).host(1, 2), unordered()).await();
      }
    }
  }

  /**
   * The runtime ignores the flag for a node: pages are Holdfast's own, placed and then registered.
   */
  @Test
  void b41_aPoolsPagesAreNeverLeftToTheRuntimeToPlace() {
    open("hip-7.2");
    try (Backend backend = runtime.backend()) {
      Device device = backend.open(0);
      HostRegion region = backend.pageSource().map(HostRequest.ofBytes(2 * MIB));
      PinnedRegion pinned = device.pinner().pin(region, PinRequest.strict());

      assertEquals(0, count(Operation.HOST_ALLOC));
      assertEquals(1, count(Operation.HOST_REGISTER));
      assertEquals(2 * MIB, pinned.registeredBytes());
    }
  }

  // ---- copies

  /** Attributes are refused with 801 once, and are not tried again; the bytes are the same. */
  @Test
  void b33_refusedAttributesAreLeftOutFromThenOn() {
    open("hip-7.2");
    try (DevicePort port = runtime.driver().open(0)) {
      BatchCopyPort batch = port.batchCopies().orElseThrow();
      MemorySegment host = arena.allocate(16 * PAGE, PAGE);
      MemorySegment back = arena.allocate(16 * PAGE, PAGE);
      for (long at = 0; at < host.byteSize(); at++) {
        host.set(JAVA_BYTE, at, (byte) (at * 7 + (at >>> 8)));
      }
      port.register(host);
      port.register(back);
      DeviceRange device = port.allocate(16 * PAGE);
      StreamHandle stream = port.createStream(0);
      long mark = runtime.machine().ledger().mark();

      batch.copyBatch(
          table(16, device, host, Direction.HOST_TO_DEVICE), 0, 16, SourceReads.ANY_TIME, stream);
      batch.copyBatch(
          table(16, device, back, Direction.DEVICE_TO_HOST),
          0,
          16,
          SourceReads.IN_STREAM_ORDER,
          stream);
      port.awaitStream(stream);

      List<String> calls =
          calls(mark, Operation.MEMCPY_BATCH_ASYNC).stream()
              .map(call -> call.first() + " rows, " + call.second() + " attributes: " + call.code())
              .toList();
      assertEquals(
          List.of(
              "16 rows, 1 attributes: 801", "16 rows, 0 attributes: 0", "16 rows, 0 attributes: 0"),
          calls);
      assertEquals(-1, back.mismatch(host));
      assertEquals(0, runtime.bindings().hipPeekAtLastError());
      port.destroyStream(stream);
      port.free(device);
      port.unregister(host);
      port.unregister(back);
    }
  }

  /** vllm 43018: more than 8192 rows fault in the runtime's staging. */
  @Test
  void aLargeBatchIsCutBelowTheRowsThatFault() {
    open("hip-7.15");
    int blocks = 10_000;
    BlockShape small = BlockShape.of(1, 64);
    try (Backend backend = runtime.backend()) {
      Device device = backend.open(0);
      DeviceAllocation memory = device.memory().allocate(blocks * small.bytes());
      CopyOptions batches =
          CopyOptions.auto().path(CopyPath.BATCH).maxBatchEntries(Integer.MAX_VALUE);
      try (HostPool pool =
          HostPool.open(
              device,
              DeviceBlocks.of(memory.segment(), small.blockMajor(blocks)),
              HostRequest.ofBytes(blocks * small.bytes()),
              PoolOptions.defaults().copy(batches))) {
        BlockCopies scattered = BlockCopies.withCapacity(blocks);
        for (int block = 0; block < blocks; block++) {
          scattered.add(block, blocks - 1L - block); // backwards: nothing merges
        }
        long mark = runtime.machine().ledger().mark();

        pool.load(scattered, unordered()).await();

        List<Long> rows =
            calls(mark, Operation.MEMCPY_BATCH_ASYNC).stream().map(Call::first).toList();
        assertTrue(
            rows.size() >= 2 && rows.stream().allMatch(count -> count <= 8192), rows::toString);
        assertEquals(blocks, rows.stream().mapToLong(Long::longValue).sum());
      }
    }
  }

  /** Copies of unpinned memory register user pages behind the scenes: they never happen. */
  @Test
  void b72_b77_unpinnedMemoryGoesThroughAPinnedRingOnly() {
    open("hip-7.2");
    BlockShape large = BlockShape.of(1, MIB);
    try (Backend backend = runtime.backend()) {
      Device device = backend.open(0);
      HostRegion unpinned = backend.pageSource().map(HostRequest.ofBytes(3 * MIB));
      DeviceAllocation memory = device.memory().allocate(3 * MIB);
      for (long at = 0; at < 3 * MIB; at += Long.BYTES) {
        unpinned.segment().set(JAVA_LONG, at, at * 0x9E3779B97F4A7C15L);
      }
      byte[] sent = unpinned.segment().toArray(JAVA_BYTE);
      long mark = runtime.machine().ledger().mark();
      HostBlocks staged = device.copyEngine().staged(unpinned, large.blockMajor(3));
      try (CopyRoute route =
          device
              .copyEngine()
              .route(
                  DeviceBlocks.of(memory.segment(), large.blockMajor(3)),
                  staged,
                  CopyOptions.auto().path(CopyPath.LOOP))) {
        route.load(BlockCopies.device(0, 1, 2).host(2, 0, 1), unordered()).await();
        unpinned.segment().fill((byte) 0);
        route.store(BlockCopies.device(0, 1, 2).host(2, 0, 1), unordered()).await();
      }

      assertEquals(-1, unpinned.segment().mismatch(MemorySegment.ofArray(sent)));
      long from = unpinned.segment().address();
      List<Call> copies =
          calls(
              mark,
              Operation.MEMCPY_HTOD_ASYNC,
              Operation.MEMCPY_DTOH_ASYNC,
              Operation.MEMCPY_2D_ASYNC);
      assertTrue(copies.size() >= 2, copies::toString);
      assertTrue(
          copies.stream()
              .flatMap(call -> List.of(call.first(), call.second()).stream())
              .noneMatch(address -> address >= from && address < from + 3 * MIB),
          copies::toString);
    }
  }

  /**
   * A wrong engine is picked after the other direction: the directions have streams of their own.
   */
  @Test
  void b92_eachDirectionHasItsOwnStream() {
    open("hip-7.2");
    try (Backend backend = runtime.backend();
        HostPool pool =
            pool(
                backend.open(0),
                4,
                2 * MIB,
                PoolOptions.defaults().copy(CopyOptions.auto().path(CopyPath.BATCH)))) {
      long mark = runtime.machine().ledger().mark();
      pool.load(BlockCopies.device(0, 2).host(5, 1), unordered()).await();
      long middle = runtime.machine().ledger().mark();
      pool.store(BlockCopies.device(0, 2).host(7, 3), unordered()).await();

      assertNotEquals(batchStreams(mark, middle), batchStreams(middle, Long.MAX_VALUE));
    }
  }

  private Set<Long> batchStreams(long from, long to) {
    Set<Long> streams = new HashSet<>();
    for (Call call : calls(from, Operation.MEMCPY_BATCH_ASYNC)) {
      if (call.index() < to && call.code() == 0) {
        streams.add(call.third());
      }
    }
    assertEquals(1, streams.size());
    return streams;
  }

  // ---- virtual memory

  /** Released memory stays used while its addresses are reserved, on 7.2. */
  @Test
  void b83_memoryReturnsAndTheAddressStays() {
    open("hip-7.2");
    try (Backend backend = runtime.backend()) {
      Device device = backend.open(0);
      ExtensibleRegion region =
          device.memory().reserve(ExtensibleRequest.of(SHAPE.layerMajor(160)));
      DeviceStream stream = device.newStream();
      for (int chunk = 1; chunk <= 4; chunk++) {
        region.commit(32L * chunk);
      }
      final long address = region.plane(0).memory().rawAddress();
      final long free = device.memory().info().freeBytes();
      long mark = runtime.machine().ledger().mark();

      region.releasePhysical(after(stream));

      assertEquals(8 * MIB, device.memory().info().freeBytes() - free);
      assertEquals(address, region.plane(0).memory().rawAddress());
      assertEquals(4, calls(mark, Operation.VMM_UNMAP).size());
      assertEquals(1, calls(mark, Operation.VMM_ADDRESS_FREE).size());
      region.recommit();
      assertEquals(address, region.plane(0).memory().rawAddress());
    }
  }

  /** Releasing what is mapped, or unmapping several at once, breaks the addresses for ever. */
  @ParameterizedTest
  @ValueSource(strings = {"hip-6.4", "hip-7.0"})
  void b43_handlesAreReleasedAfterTheirMappingsAndOnce(String version) {
    open(version);
    try (Backend backend = runtime.backend()) {
      Device device = backend.open(0);
      ExtensibleRegion region =
          device.memory().reserve(ExtensibleRequest.of(SHAPE.layerMajor(160)));
      DeviceStream stream = device.newStream();
      for (int chunk = 1; chunk <= 4; chunk++) {
        region.commit(32L * chunk);
      }
      region.shrink(40, after(stream));
      region.close(); // frees the addresses, which would be refused
      assertEquals(count(Operation.VMM_CREATE), count(Operation.VMM_RELEASE));
      assertEquals(0, runtime.machine().ledger().refused(Operation.VMM_ADDRESS_FREE));
    }
  }

  /** rocm-systems 6977: access over a grown tail alone is refused in most runs. */
  @ParameterizedTest
  @ValueSource(strings = {"hip-7.1", "hip-7.2"})
  void accessOverAGrownTailIsAskedForTheWholePrefix(String version) {
    open(version);
    try (DevicePort port = runtime.driver().open(0)) {
      assertTrue(port.traits(PAGE).quirks().contains(Quirk.ACCESS_WHOLE_PREFIX));
    }
    try (Backend backend = runtime.backend()) {
      Device device = backend.open(0);
      List<ExtensibleRegion> regions = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        regions.add(device.memory().reserve(ExtensibleRequest.of(SHAPE.layerMajor(320))));
      }
      for (int step = 1; step <= 30; step++) {
        for (ExtensibleRegion region : regions) {
          region.commit(10L * step);
        }
      }
    }
    assertEquals(0, runtime.machine().ledger().refused(Operation.VMM_SET_ACCESS));
  }

  /** mori 476: calls of several threads at once go wrong; one at a time in the whole process. */
  @Test
  void virtualMemoryIsCalledByOneThreadAtATimeOverAllDevices() throws Exception {
    open("hip-7.2");
    try (Backend backend = runtime.backend();
        var threads = Executors.newFixedThreadPool(8)) {
      List<Device> devices = List.of(backend.open(0), backend.open(1));
      List<Future<Void>> tasks = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        Device device = devices.get(i % 2);
        Callable<Void> growing =
            () -> {
              for (int round = 0; round < 5; round++) {
                try (ExtensibleRegion region =
                    device.memory().reserve(ExtensibleRequest.of(SHAPE.layerMajor(64)))) {
                  for (int blocks = 8; blocks <= 64; blocks += 8) {
                    region.commit(blocks);
                  }
                }
              }
              return null;
            };
        tasks.add(threads.submit(growing));
      }
      for (Future<Void> task : tasks) {
        task.get();
      }
    }
  }

  /** The race is there for who takes no turns, or the test above would show nothing. */
  @Test
  void theSimulatedVersionRefusesASecondCallWhileOneIsUnderWay() throws Exception {
    open("hip-7.2");
    runtime.machine().faults().add(FaultScript.parse("vmm-create 1 hang create"));
    try (DevicePort port = runtime.driver().open(0);
        var threads = Executors.newSingleThreadExecutor()) {
      VirtualMemoryPort virtual = port.virtualMemory().orElseThrow();
      Future<PhysicalHandle> first =
          threads.submit(() -> virtual.create(2 * MIB, PhysicalForm.plain()));
      runtime.machine().faults().awaitHanging("create");

      DriverException second =
          assertThrows(DriverException.class, () -> virtual.reserve(2 * MIB, 0));

      runtime.machine().faults().release("create");
      assertEquals(DriverFault.INVALID_ARGUMENT, second.fault());
      virtual.release(first.get());
    }
  }

  // ---- threads

  /** A failure that was handled here is no other's to find, in either kind of version. */
  @ParameterizedTest
  @ValueSource(strings = {"hip-5.2", "hip-6.4", "hip-7.0", "hip-7.15"})
  void aHandledFailureIsNotLeftAsTheThreadsLastError(String version) {
    open(version);
    HipBindings hip = runtime.bindings();
    try (DevicePort port = runtime.driver().open(1);
        Arena memory = Arena.ofConfined()) {
      StreamHandle stream = port.createStream(0);

      assertThrows(DriverException.class, () -> port.allocate(1L << 50));
      assertEquals(0, hip.hipPeekAtLastError());
      assertTrue(port.rangeOf(arena.allocate(PAGE).address()).isEmpty());
      assertEquals(0, hip.hipPeekAtLastError());
      assertTrue(port.streamIdle(stream));
      MemorySegment device = memory.allocate(JAVA_INT);
      assertEquals(0, hip.hipGetDevice(device));
      assertEquals(0, device.get(JAVA_INT, 0)); // as it was on this thread
      port.destroyStream(stream);
    }
  }

  // ---- helpers

  private CopyTable table(int rows, DeviceRange device, MemorySegment host, Direction direction) {
    CopyTable table =
        new CopyTable(
            arena.allocate(JAVA_LONG, rows),
            arena.allocate(JAVA_LONG, rows),
            arena.allocate(JAVA_LONG, rows),
            direction);
    for (int row = 0; row < rows; row++) {
      long there = device.address() + row * PAGE;
      long here = host.address() + row * PAGE;
      boolean out = direction == Direction.HOST_TO_DEVICE;
      table.set(row, out ? there : here, out ? here : there, PAGE);
    }
    return table;
  }

  /** A pool over as many blocks of its own as are asked for; closing the device takes both. */
  private static HostPool pool(Device device, int blocks, long hostBytes, PoolOptions options) {
    DeviceAllocation memory = device.memory().allocate(blocks * SHAPE.bytes());
    return HostPool.open(
        device,
        DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(blocks)),
        HostRequest.ofBytes(hostBytes),
        options);
  }
}
