package io.holdfast.conformance;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.asIfOn;
import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyReport;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceStream;
import io.holdfast.error.BusyException;
import io.holdfast.error.HoldfastException;
import io.holdfast.host.Hold;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.Arrangement;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.CutPolicy;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.NoPlanException;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRange;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What every backend can do, on base pages and one device. No test is skipped.
 *
 * <p>Extend it, say which backend, and run it as a JUnit class.
 */
public abstract class CoreConformance {
  private static final BlockShape SHAPE = BlockShape.of(2, 4096);

  private Backend backend;
  private Device device;

  /** For subclasses. */
  @SuppressWarnings("NullAway.Init") // made before each test
  protected CoreConformance() {}

  /**
   * The backend to judge, a new one each time.
   *
   * @return open
   */
  protected abstract Backend open();

  @BeforeEach
  final void openTheBackend() {
    backend = open();
    device = backend.open(0);
  }

  @AfterEach
  final void nothingIsLeft() {
    device.close();
    List<String> left = backend.stillOpen();
    backend.close();
    assertEquals(List.of(), left, "still open after the device was closed");
  }

  // ---- mapping

  @Test
  @Covers({Rule.MAP_01, Rule.MAP_02, Rule.MAP_04})
  final void map01_a_region_is_whole_pages_and_shows_exactly_the_logical_bytes() {
    for (long bytes : new long[] {1, 4095, 4096, 4097, 65_537, (1 << 20) + 1}) {
      try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(bytes))) {
        long page = region.backingPageBytes();
        assertEquals(Math.ceilDiv(bytes, page) * page, region.mappedBytes());
        assertEquals(bytes, region.logicalBytes());
        assertEquals(bytes, region.segment().byteSize());
        assertEquals(-1, firstNonZero(region.segment()));
        assertEquals(0, region.segment().address() % page);
      }
    }
  }

  @Test
  @Covers(Rule.MAP_03)
  final void map03_zero_or_fewer_bytes_are_an_argument_error() {
    assertThrows(IllegalArgumentException.class, () -> HostRequest.ofBytes(0));
    assertThrows(IllegalArgumentException.class, () -> HostRequest.ofBytes(-1));
  }

  @Test
  @Covers({Rule.MAP_05, Rule.CLS_04})
  final void map05_use_after_close_is_an_illegal_state() {
    HostRegion region = backend.pageSource().map(HostRequest.ofBytes(10_000));
    MemorySegment view = region.segment();
    region.close();
    region.close();

    assertThrows(IllegalStateException.class, region::segment);
    assertThrows(IllegalStateException.class, () -> view.get(ValueLayout.JAVA_BYTE, 0));
    assertThrows(
        IllegalStateException.class, () -> device.pinner().pin(region, PinRequest.strict()));
  }

  // ---- registration

  @Test
  @Covers({Rule.REG_01, Rule.REG_02})
  final void reg01_ranges_are_whole_pages_that_tile_the_mapping_below_the_cap() {
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes((5L << 20) + 1))) {
      long page = region.backingPageBytes();
      long slice = Math.max(page, 1L << 20);
      PinRequest request = PinRequest.strict().sliceBytes(slice);
      try (PinnedRegion pinned = device.pinner().pin(region, request)) {
        long end = 0;
        for (PinnedRange range : pinned.ranges()) {
          assertEquals(end, range.offsetBytes());
          assertEquals(0, range.registeredBytes() % page);
          assertTrue(range.registeredBytes() <= pinned.receipt().capBytes());
          assertEquals(range.registeredBytes(), range.seenByDevice().byteSize());
          end += range.registeredBytes();
        }
        assertEquals(region.mappedBytes(), end);
        assertEquals(region.mappedBytes(), pinned.registeredBytes());
        assertEquals(pinned.plan().registrations(), pinned.ranges().size());
        assertTrue(pinned.watermarkBytes() >= region.logicalBytes());
      }
    }
  }

  @Test
  @Covers({Rule.REG_03, Rule.REG_04})
  final void reg03_an_overlapping_pin_is_refused_and_what_was_closed_can_be_pinned_again() {
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(1 << 20))) {
      try (PinnedRegion pinned = device.pinner().pin(region, PinRequest.strict())) {
        assertThrows(
            HoldfastException.class, () -> device.pinner().pin(region, PinRequest.strict()));
        assertEquals(region.mappedBytes(), pinned.registeredBytes());
      }
      try (PinnedRegion again = device.pinner().pin(region, PinRequest.strict())) {
        assertEquals(region.mappedBytes(), again.registeredBytes());
      }
    }
  }

  @Test
  @Covers(Rule.REG_05)
  final void reg05_a_plan_that_cannot_be_is_an_error_before_any_call() {
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(4L << 20))) {
      long page = region.backingPageBytes();
      BlockLayout layout = BlockShape.of(1, 3 * page + 8).blockMajor(10);
      PinRequest request =
          PinRequest.strict().around(layout).cuts(CutPolicy.NEVER_INSIDE_BLOCK).capBytes(4 * page);

      NoPlanException refused =
          assertThrows(NoPlanException.class, () -> device.pinner().pin(region, request));

      assertFalse(refused.why().wouldWork().isEmpty());
      device.pinner().pin(region, PinRequest.strict()).close();
    }
  }

  // ---- copies

  @Test
  @Covers({Rule.CPY_01, Rule.CPY_08, Rule.CPY_09})
  final void cpy01_blocks_come_back_byte_by_byte() {
    for (BlockShape shape :
        List.of(
            BlockShape.of(1, 1),
            BlockShape.of(1, 7),
            BlockShape.of(3, 4097),
            BlockShape.of(2, 36_864).and(BlockShape.of(2, 8_448)),
            BlockShape.of(1, 1 << 20))) {
      for (Arrangement arrangement : Arrangement.values()) {
        roundTrip(shape, arrangement, PinRequest.strict(), 9);
      }
    }
  }

  @Test
  @Covers(Rule.CPY_02)
  final void cpy02_a_block_over_a_cut_comes_back_byte_by_byte() {
    long page = 1L << 16; // at least as large as any base page
    PinRequest manyCuts = PinRequest.strict().sliceBytes(page).capBytes(page);
    roundTrip(BlockShape.of(1, 3 * page + 24), Arrangement.BLOCK_MAJOR, manyCuts, 5);
    roundTrip(BlockShape.of(2, page / 2 + 4), Arrangement.LAYER_MAJOR, manyCuts, 8);
  }

  private void roundTrip(BlockShape shape, Arrangement arrangement, PinRequest pin, int blocks) {
    PoolOptions options = PoolOptions.defaults().arrangement(arrangement).pin(pin);
    HostRequest memory = HostRequest.ofBytes(2L * blocks * shape.bytes());
    try (DeviceAllocation on = device.memory().allocate(blocks * shape.bytes());
        HostPool pool =
            HostPool.open(
                device, DeviceBlocks.of(on.segment(), shape.blockMajor(blocks)), memory, options)) {
      assertEquals(2L * blocks, pool.slots());
      SplittableRandom random = new SplittableRandom(shape.bytes());
      BlockCopies there = BlockCopies.withCapacity(blocks);
      BlockCopies back = BlockCopies.withCapacity(blocks);
      int[] order = shuffled(blocks, random);
      for (int i = 0; i < blocks; i++) {
        there.add(order[i], i);
        back.add(order[i], blocks + i);
        write(pool, i, 1000L + i);
        write(pool, blocks + i, -1L - i);
      }
      Completion loaded = pool.load(there, unordered());
      loaded.await();
      Completion stored = pool.store(back, after(loaded));
      stored.await();

      for (int i = 0; i < blocks; i++) {
        check(pool, blocks + i, 1000L + i);
      }
      CopyReport report = stored.report();
      assertEquals(blocks * shape.bytes(), report.bytes());
      assertEquals((long) blocks * shape.parts(), report.pairs());
    }
  }

  @Test
  @Covers(Rule.CPY_03)
  final void cpy03_an_empty_list_is_a_no_op_that_is_done() {
    withPool(
        8,
        8,
        pool -> {
          Completion done = pool.store(BlockCopies.withCapacity(0), unordered());
          assertTrue(done.isDone());
          assertEquals(0, done.report().bytes());
        });
  }

  @Test
  @Covers(Rule.CPY_04)
  final void cpy04_an_id_out_of_range_is_refused_and_nothing_is_submitted() {
    withPool(
        4,
        4,
        pool -> {
          write(pool, 0, 7);
          for (BlockCopies wrong :
              List.of(
                  BlockCopies.device(0, 4).host(0, 1),
                  BlockCopies.device(0, -1).host(0, 1),
                  BlockCopies.device(0, 1).host(0, pool.slots()),
                  BlockCopies.device(0, 1).host(0, -1),
                  BlockCopies.device(0, Long.MAX_VALUE).host(0, 1))) {
            IndexOutOfBoundsException refused =
                assertThrows(IndexOutOfBoundsException.class, () -> pool.store(wrong, unordered()));
            assertTrue(String.valueOf(refused.getMessage()).contains("1"), refused.getMessage());
          }
          check(pool, 0, 7);
        });
  }

  @Test
  @Covers(Rule.CPY_05)
  final void cpy05_a_destination_named_twice_is_refused() {
    withPool(
        4,
        4,
        pool -> {
          write(pool, 1, 7);
          assertThrows(
              IllegalArgumentException.class,
              () -> pool.store(BlockCopies.device(0, 1, 2).host(1, 2, 1), unordered()));
          assertThrows(
              IllegalArgumentException.class,
              () -> pool.load(BlockCopies.device(3, 1, 3).host(0, 1, 2), unordered()));
          check(pool, 1, 7);
          pool.store(BlockCopies.device(3, 3).host(0, 2), unordered())
              .await(); // sources may repeat
        });
  }

  @Test
  @Covers(Rule.CPY_06)
  final void cpy06_sides_of_different_shape_are_refused() {
    withPool(
        4,
        4,
        pool -> {
          try (DeviceAllocation other = device.memory().allocate(4 * SHAPE.bytes())) {
            DeviceBlocks differently =
                DeviceBlocks.of(other.segment(), BlockShape.of(1, SHAPE.bytes()).blockMajor(4));
            assertThrows(
                IllegalArgumentException.class, () -> device.copyEngine().route(differently, pool));
          }
        });
  }

  @Test
  @Covers(Rule.CPY_07)
  final void cpy07_neighbours_on_both_sides_merge() {
    BlockShape shape = BlockShape.of(1, 4096);
    try (DeviceAllocation on = device.memory().allocate(16 * shape.bytes());
        HostPool pool =
            HostPool.open(
                device,
                DeviceBlocks.of(on.segment(), shape.blockMajor(16)),
                HostRequest.ofBytes(16 * shape.bytes()))) {
      assertAll(
          () -> assertEquals(1, descriptors(pool, new long[] {1, 2, 3}, new long[] {5, 6, 7})),
          () -> assertEquals(1, descriptors(pool, new long[] {3, 2, 1}, new long[] {7, 6, 5})),
          () -> assertEquals(3, descriptors(pool, new long[] {1, 2, 3}, new long[] {7, 6, 5})),
          () -> assertEquals(3, descriptors(pool, new long[] {1, 3, 5}, new long[] {2, 3, 4})),
          () -> assertEquals(2, descriptors(pool, new long[] {1, 2, 9}, new long[] {5, 6, 7})));
    }
  }

  private static long descriptors(HostPool pool, long[] blocks, long[] slots) {
    Completion done = pool.store(BlockCopies.device(blocks).host(slots), unordered());
    done.await();
    return done.report().descriptors();
  }

  // ---- order and slots

  @Test
  @Covers({Rule.ORD_01, Rule.SLT_01})
  final void ord01_what_comes_after_a_copy_sees_its_bytes() {
    withPool(
        4,
        8,
        pool -> {
          try (DeviceStream stream = device.newStream()) {
            for (int round = 0; round < 200; round++) {
              write(pool, 0, round);
              Completion loaded = pool.load(BlockCopies.device(2).host(0), asIfOn(stream));
              pool.store(BlockCopies.device(2).host(1), after(stream));
              // slot 1 is filled by the store above: this load waits for it without being told
              Completion again = pool.load(BlockCopies.device(3).host(1), unordered());
              pool.store(BlockCopies.device(3).host(4), after(again)).await();
              check(pool, 4, round);
              assertTrue(loaded.isDone());
            }
          }
        });
  }

  @Test
  @Covers(Rule.ORD_02)
  final void ord02_an_event_never_recorded_cannot_be_waited_for() {
    withPool(
        4,
        4,
        pool -> {
          try (DeviceEvent event = device.newEvent()) {
            assertThrows(IllegalStateException.class, event::await);
            assertThrows(
                IllegalStateException.class,
                () -> pool.store(BlockCopies.device(0).host(0), after(event)));
          }
          pool.store(BlockCopies.device(0).host(0), unordered()).await();
        });
  }

  @Test
  @Covers({Rule.SLT_02, Rule.CLS_01})
  final void slt02_a_lease_refuses_conflicting_copies_and_the_close() {
    withPool(
        4,
        4,
        pool -> {
          try (SlotLease _ = pool.lease(2, Access.WRITE)) {
            assertThrows(
                BusyException.class, () -> pool.load(BlockCopies.device(0).host(2), unordered()));
            assertThrows(
                BusyException.class, () -> pool.store(BlockCopies.device(0).host(2), unordered()));
            BusyException refused = assertThrows(BusyException.class, pool::close);
            assertFalse(refused.holders().isEmpty());
          }
          try (SlotLease _ = pool.lease(2, Access.READ);
              SlotLease _ = pool.lease(2, Access.READ)) {
            pool.load(BlockCopies.device(0).host(2), unordered()).await();
            assertThrows(
                BusyException.class, () -> pool.store(BlockCopies.device(0).host(2), unordered()));
          }
          pool.store(BlockCopies.device(0).host(2), unordered()).await();
        });
  }

  // ---- close

  @Test
  @Covers(Rule.CLS_02)
  final void cls02_a_hold_refuses_the_close_with_nothing_undone() {
    HostRegion region = backend.pageSource().map(HostRequest.ofBytes(1 << 20));
    PinnedRegion pinned = device.pinner().pin(region, PinRequest.strict());
    HostBlocks slots = pinned.blocks(SHAPE.layerMajor(4));
    try (Hold _ = region.hold("nic")) {
      BusyException refused = assertThrows(BusyException.class, region::close);

      assertTrue(String.valueOf(refused.getMessage()).contains("nic"), refused.getMessage());
      assertEquals(region.mappedBytes(), pinned.registeredBytes());
      slots.lease(0, Access.READ).close();
    }
    region.close();
    assertEquals(0, pinned.registeredBytes());
  }

  @Test
  @Covers(Rule.CLS_03)
  final void cls03_closing_the_device_closes_what_was_opened_from_it() {
    DeviceAllocation on = device.memory().allocate(4 * SHAPE.bytes());
    HostPool pool =
        HostPool.open(
            device,
            DeviceBlocks.of(on.segment(), SHAPE.blockMajor(4)),
            HostRequest.ofBytes(4 * SHAPE.bytes()));
    Completion last = pool.store(BlockCopies.device(0).host(0), unordered());
    device.close();

    assertTrue(last.isDone());
    assertThrows(IllegalStateException.class, on::segment);
    assertThrows(
        IllegalStateException.class, () -> pool.store(BlockCopies.device(0).host(0), unordered()));
    assertThrows(IllegalStateException.class, device::newStream);
    pool.close();
    assertEquals(List.of(), backend.stillOpen());
  }

  // ---- threads, devices

  @Test
  @Covers(Rule.THR_01)
  final void thr01_many_virtual_threads_copy_at_once() {
    int threads = 32;
    AtomicInteger done = new AtomicInteger();
    List<Throwable> failures = new ArrayList<>();
    withPool(
        threads,
        2L * threads,
        pool -> {
          List<Thread> all = new ArrayList<>();
          for (int i = 0; i < threads; i++) {
            int mine = i;
            all.add(
                Thread.ofVirtual()
                    .start(
                        () -> {
                          try {
                            for (int round = 0; round < 5; round++) {
                              write(pool, mine, 31L * mine + round);
                              Completion there =
                                  pool.load(BlockCopies.device(mine).host(mine), unordered());
                              pool.store(
                                      BlockCopies.device(mine).host(threads + mine), after(there))
                                  .await();
                              check(pool, threads + mine, 31L * mine + round);
                            }
                            done.incrementAndGet();
                          } catch (Throwable failure) {
                            synchronized (failures) {
                              failures.add(failure);
                            }
                          }
                        }));
          }
          for (Thread one : all) {
            join(one);
          }
        });
    assertEquals(List.of(), failures);
    assertEquals(threads, done.get());
  }

  private static void join(Thread thread) {
    try {
      assertTrue(thread.join(Duration.ofMinutes(2)), "stuck");
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  @Covers(Rule.DEV_01)
  final void dev01_memory_the_driver_does_not_know_cannot_be_wrapped() {
    try (DeviceAllocation on = device.memory().allocate(1 << 20)) {
      long address = on.segment().rawAddress();
      assertEquals(4096, device.wrapMemory(address + 8192, 4096).byteSize());
      assertThrows(
          IllegalArgumentException.class, () -> device.wrapMemory(address, (64L << 20) + 1));
      assertThrows(IllegalArgumentException.class, () -> device.wrapMemory(address, 0));
    }
    assertThrows(IllegalArgumentException.class, () -> device.wrapMemory(4096, 4096));
  }

  // ---- tools

  private interface Body {
    void run(HostPool pool);
  }

  private void withPool(long deviceBlocks, long slots, Body body) {
    try (DeviceAllocation on = device.memory().allocate(deviceBlocks * SHAPE.bytes());
        HostPool pool =
            HostPool.open(
                device,
                DeviceBlocks.of(on.segment(), SHAPE.blockMajor(deviceBlocks)),
                HostRequest.ofBytes(slots * SHAPE.bytes()))) {
      body.run(pool);
    }
  }

  private static int[] shuffled(int count, SplittableRandom random) {
    int[] order = new int[count];
    for (int i = 0; i < count; i++) {
      int at = random.nextInt(i + 1);
      order[i] = order[at];
      order[at] = i;
    }
    return order;
  }

  private static long firstNonZero(MemorySegment memory) {
    for (long at = 0; at < memory.byteSize(); at++) {
      if (memory.get(ValueLayout.JAVA_BYTE, at) != 0) {
        return at;
      }
    }
    return -1;
  }

  private static byte expected(long seed, int part, long at) {
    long mixed = (seed * 31 + part) * 0x9E3779B97F4A7C15L + at * 0xBF58476D1CE4E5B9L;
    return (byte) (mixed >>> 40);
  }

  private static void write(HostPool pool, long slot, long seed) {
    try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
      for (int part = 0; part < pool.shape().parts(); part++) {
        MemorySegment bytes = lease.part(part);
        for (long at = 0; at < bytes.byteSize(); at++) {
          bytes.set(ValueLayout.JAVA_BYTE, at, expected(seed, part, at));
        }
      }
    }
  }

  private static void check(HostPool pool, long slot, long seed) {
    try (SlotLease lease = pool.lease(slot, Access.READ)) {
      for (int part = 0; part < pool.shape().parts(); part++) {
        MemorySegment bytes = lease.part(part);
        for (long at = 0; at < bytes.byteSize(); at++) {
          if (bytes.get(ValueLayout.JAVA_BYTE, at) != expected(seed, part, at)) {
            throw new AssertionError(
                "slot " + slot + ", part " + part + ", byte " + at + " is wrong");
          }
        }
      }
    }
  }
}
