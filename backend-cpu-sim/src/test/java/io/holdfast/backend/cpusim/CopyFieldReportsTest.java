package io.holdfast.backend.cpusim;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.asIfOn;
import static io.holdfast.device.Order.unordered;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.backend.cpusim.driver.Blocker;
import io.holdfast.backend.cpusim.driver.Ledger;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyReport;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceStream;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import io.holdfast.spi.CopyTable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Field reports about copies and contexts, end to end on simulated drivers. */
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class CopyFieldReportsTest {
  private static final PoolOptions FINE =
      PoolOptions.defaults().pin(PinRequest.strict().pacing(PinPacing.flatOut()));

  private final SimMachine machine = SimMachine.builder().leaks(LeakPolicy.FAIL).build();
  private final Backend backend = machine.backend();

  @AfterEach
  void nothingIsLeft() {
    backend.close();
    machine.close();
  }

  private long calls(Operation operation) {
    return machine.ledger().count(operation);
  }

  /** The batch call refuses default streams; ours never is one, and as an order only by name. */
  @Test
  void b34_copiesRunOnStreamsOfOursWhateverTheEngineUses() {
    Device device = backend.open(0);
    DeviceAllocation memory = device.memory().allocate(64 * 4096);
    DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), BlockShape.of(1, 4096).layerMajor(64));
    assertThrows(IllegalArgumentException.class, () -> device.wrapStream(0));
    assertThrows(IllegalArgumentException.class, () -> device.wrapStream(1));
    assertThrows(IllegalArgumentException.class, () -> device.wrapStream(2));
    try (HostPool pool = HostPool.open(device, blocks, HostRequest.ofBytes(64 * 4096), FINE);
        SimEngine engine = machine.engineOnSharedContext(0)) {
      long address = memory.segment().rawAddress();
      engine.fill(address, 4096, (byte) 34, 0);
      DeviceStream legacy = device.legacyDefaultStream();
      pool.store(BlockCopies.device(0, 2).host(9, 4), after(legacy)).await();
      pool.load(BlockCopies.device(7, 5).host(9, 9), asIfOn(legacy)).await();
      byte[] expected = engine.read(address, 4096);
      assertEquals(34, expected[0]);
      assertArrayEquals(expected, engine.read(address + 7 * 4096, 4096));
      assertEquals(2, calls(Operation.MEMCPY_BATCH_ASYNC));
    }
  }

  /** What an engine holds of a copy is not what keeps it alive. */
  @Test
  void b55_copiesOutliveEveryReferenceOfTheirCaller() {
    Device device = backend.open(0);
    DeviceAllocation memory = device.memory().allocate(64 * 4096);
    DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), BlockShape.of(1, 4096).layerMajor(64));
    try (HostPool pool = HostPool.open(device, blocks, HostRequest.ofBytes(64 * 4096), FINE);
        SimEngine engine = machine.engineOnSharedContext(0)) {
      long address = memory.segment().rawAddress();
      long raw = engine.newStream();
      DeviceStream producer = device.wrapStream(raw);
      try (Blocker late = engine.block(raw)) {
        engine.fill(address, 64 * 4096, (byte) 0x55, raw);
        for (int slot = 0; slot < 64; slot++) { // neither copies nor completions are kept
          var _ = pool.store(BlockCopies.device(63 - slot).host(slot), after(producer));
        }
        for (int i = 0; i < 20; i++) {
          System.gc();
        }
        late.release();
      }
      for (int slot = 0; slot < 64; slot++) {
        pool.load(BlockCopies.device(slot).host(slot), asIfOn(producer)).await();
        assertEquals(0x55, engine.read(address + slot * 4096L, 1)[0]);
      }
      producer.close();
    }
  }

  @Test
  void b55_closingDuringACopyWaitsForItAndLaterUseIsRefused() throws Exception {
    Device device = backend.open(0);
    DeviceAllocation memory = device.memory().allocate(64 * 4096);
    DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), BlockShape.of(1, 4096).layerMajor(64));
    HostPool pool = HostPool.open(device, blocks, HostRequest.ofBytes(64 * 4096), FINE);
    try (SimEngine engine = machine.engineOnSharedContext(0)) {
      MemorySegment seen = pool.region().segment();
      long raw = engine.newStream();
      DeviceStream producer = device.wrapStream(raw);
      Completion stored;
      CompletableFuture<Void> closed;
      try (Blocker late = engine.block(raw)) {
        stored = pool.store(BlockCopies.device(1).host(1), after(producer));
        closed = CompletableFuture.runAsync(pool::close);
        assertThrows(TimeoutException.class, () -> closed.get(50, TimeUnit.MILLISECONDS));
        assertEquals(0, calls(Operation.HOST_UNREGISTER), "the copy still needs its pages");
        late.release();
      }
      closed.get(1, TimeUnit.MINUTES);
      assertTrue(stored.isDone());
      assertThrows(IllegalStateException.class, () -> seen.get(ValueLayout.JAVA_BYTE, 0));
      assertThrows(
          IllegalStateException.class,
          () -> pool.store(BlockCopies.device(1).host(1), after(producer)));
      producer.close();
      assertEquals(List.of(), machine.violations());
    }
  }

  /** Eight threads, two devices, a thousand copies: every entry sets its own device's context. */
  @Test
  void b53_threadsMayAlternateBetweenDevicesAndOnlyOpenedOnesHaveAContext() {
    try (SimMachine other = SimMachine.builder().leaks(LeakPolicy.FAIL).build();
        Backend second = other.backend()) {
      Device alone = second.open(1);
      var _ = alone.memory().info();
      List<Ledger.Call> retained = other.ledger().of(Operation.PRIMARY_CTX_RETAIN);
      assertEquals(1, retained.size());
      assertEquals(1, retained.getFirst().first(), "device 0 has no context");
    }
    List<CopyRoute> routes = new ArrayList<>();
    BlockShape shape = BlockShape.of(1, 512);
    HostPool pool = null;
    for (int ordinal = 0; ordinal < 2; ordinal++) {
      Device device = backend.open(ordinal);
      DeviceAllocation memory = device.memory().allocate(16 * 512);
      DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), shape.layerMajor(16));
      pool =
          pool == null ? HostPool.open(device, blocks, HostRequest.ofBytes(32 * 512), FINE) : pool;
      routes.add(device.copyEngine().route(blocks, pool));
    }
    List<CompletableFuture<Void>> threads = new ArrayList<>();
    for (int thread = 0; thread < 8; thread++) {
      int slot = thread;
      CompletableFuture<Void> end = new CompletableFuture<>();
      threads.add(end);
      Runnable copies =
          () -> {
            try {
              for (int copy = 0; copy < 125; copy++) {
                CopyRoute route = routes.get(copy % 2);
                route.store(BlockCopies.device(slot).host(slot), unordered()).await();
              }
              end.complete(null);
            } catch (Throwable failure) {
              end.completeExceptionally(failure);
            }
          };
      var _ =
          thread % 2 == 0 ? Thread.ofPlatform().start(copies) : Thread.startVirtualThread(copies);
    }
    for (CompletableFuture<Void> end : threads) {
      var _ = end.orTimeout(2, TimeUnit.MINUTES).join();
    }
    assertEquals(
        List.of(), machine.ledger().since(0).stream().filter(one -> one.code() == 201).toList());
    assertEquals(List.of(), machine.violations());
  }

  /** One attribute with index 0 serves all rows; indices begin with 0, rise, and stay in range. */
  @ParameterizedTest
  @CsvSource({"'0,6', 0", "'0', 0", "'1,6', 1", "'0,0', 1", "'0,10', 1", "'', 1"})
  void b73_attributesAreIndexedByTheirFirstRow(String indices, int code) {
    Device device = backend.open(0);
    DeviceAllocation memory = device.memory().allocate(2 * 4096);
    try (SimEngine engine = machine.engineOnSharedContext(0);
        Arena arena = Arena.ofConfined()) {
      long[] first =
          indices.isEmpty()
              ? new long[0]
              : List.of(indices.split(",")).stream().mapToLong(Long::parseLong).toArray();
      int[] orders = new int[first.length];
      Arrays.fill(orders, 1);
      CopyTable table =
          new CopyTable(
              arena.allocate(JAVA_LONG, 10),
              arena.allocate(JAVA_LONG, 10),
              arena.allocate(JAVA_LONG, 10),
              CopyTable.Direction.DEVICE_TO_DEVICE);
      long address = memory.segment().rawAddress();
      for (int row = 0; row < 10; row++) {
        table.set(row, address + 64L * row, address + 4096 + 64L * row, 64);
      }
      engine.makeCurrent();
      long stream = engine.newStream();
      assertEquals(
          code,
          machine
              .calls()
              .memcpyBatchAsync(table, 0, 10, orders, new int[first.length], first, null, stream));
      engine.synchronize(stream);
      engine.destroyStream(stream);
      engine.makeNoneCurrent();
    }
  }

  /** 51,828 copies: twelve calls of 4,096 and one of 2,676, and one event behind the last. */
  @Test
  void b75_veryLargeBatchesGoInCappedCallsWithOneCompletion() {
    int pairs = 51_828;
    BlockShape shape = BlockShape.of(1, 16);
    Device device = backend.open(0);
    DeviceAllocation memory = device.memory().allocate(2L * pairs * 16);
    DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), shape.layerMajor(2L * pairs));
    try (HostPool pool = HostPool.open(device, blocks, HostRequest.ofBytes(2L * pairs * 16), FINE);
        CopyRoute route =
            device.copyEngine().route(blocks, pool, CopyOptions.auto().path(CopyPath.BATCH))) {
      BlockCopies copies = BlockCopies.withCapacity(pairs);
      for (long pair = 0; pair < pairs; pair++) {
        copies.add(2 * pair, 2 * (pairs - 1 - pair));
      }
      long events = calls(Operation.EVENT_RECORD);

      var stored = route.store(copies, unordered());
      stored.await();

      CopyReport report = stored.report();
      assertEquals(pairs, report.descriptors());
      assertEquals(events + 1, calls(Operation.EVENT_RECORD));
      assertEquals(
          "4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 2676",
          String.join(
              " ",
              machine.ledger().of(Operation.MEMCPY_BATCH_ASYNC).stream()
                  .map(one -> Long.toString(one.first()))
                  .toList()));
      route.store(BlockCopies.withCapacity(0), unordered()).await();
      assertEquals(events + 1, calls(Operation.EVENT_RECORD));
    }
  }

  /** Memory that is not pinned is refused by name; staged on purpose, its bytes arrive. */
  @Test
  void b77_unpinnedMemoryIsNeverCopiedBehindTheCallersBack() {
    BlockShape shape = BlockShape.of(1, 768 << 10);
    Device device = backend.open(0);
    DeviceAllocation memory = device.memory().allocate(4 * shape.bytes());
    DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), shape.layerMajor(4));
    HostRegion plain = backend.pageSource().map(HostRequest.ofBytes(4 * shape.bytes()));
    HostBlocks unpinned = new Unpinned(shape);
    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class, () -> device.copyEngine().route(blocks, unpinned));
    assertTrue(refused.getMessage().contains("PinnedRegion.blocks"), refused.getMessage());

    HostBlocks staged = device.copyEngine().staged(plain, shape.layerMajor(4));
    try (CopyRoute route = device.copyEngine().route(blocks, staged);
        SimEngine engine = machine.engineOnSharedContext(0)) {
      engine.fill(memory.segment().rawAddress(), shape.bytes(), (byte) 77, 0);
      route.store(BlockCopies.device(0).host(3), after(device.legacyDefaultStream())).await();
      try (SlotLease lease = staged.lease(3, Access.READ)) {
        assertEquals(77, lease.part(0).get(JAVA_BYTE, shape.bytes() - 1));
      }
    }
  }

  /** Slots that somebody made by himself. */
  private record Unpinned(BlockShape shape) implements HostBlocks {
    @Override
    public long slots() {
      return 4;
    }

    @Override
    public long readySlots() {
      return 4;
    }

    @Override
    public void awaitSlots(long slots) {}

    @Override
    public SlotLease lease(long slot, Access access) {
      throw new UnsupportedOperationException("no memory is behind it");
    }
  }
}
