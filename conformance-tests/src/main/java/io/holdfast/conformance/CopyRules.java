package io.holdfast.conformance;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.conformance.tap.Call;
import io.holdfast.conformance.tap.Call.Row;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyDecision;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyReport;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.Capability;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DevicePoint;
import io.holdfast.error.BusyException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.Arrangement;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRange;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import io.holdfast.spi.StreamHandle;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Copies: bytes, pairs, cuts, reports, completions. */
abstract class CopyRules extends Rules {
  private static final String[] SUBMISSIONS = {
    "DevicePort.copyEach",
    "BatchCopyPort.copyBatch",
    "KernelCopyPort.copyByKernel",
    "PitchedCopyPort.copyRows"
  };

  CopyRules(Conformance kit) {
    super(kit);
  }

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
        roundTrip(shape, arrangement, PinRequest.strict(), 9, CopyOptions.auto());
      }
    }
  }

  @Test
  @Covers({Rule.CPY_02, Rule.CPY_15})
  final void cpy02_a_block_over_a_cut_comes_back_byte_by_byte() {
    long page = 1L << 16; // at least as large as any base page
    PinRequest manyCuts = PinRequest.strict().sliceBytes(page).capBytes(page);
    for (CopyPath path : CopyPath.values()) {
      if (has(path)) {
        CopyOptions fixed = CopyOptions.auto().path(path);
        roundTrip(BlockShape.of(1, 3 * page + 24), Arrangement.BLOCK_MAJOR, manyCuts, 5, fixed);
        roundTrip(BlockShape.of(2, page / 2 + 4), Arrangement.LAYER_MAJOR, manyCuts, 8, fixed);
      }
    }
    assertTrue(tap.count(SUBMISSIONS) > 0);
  }

  private boolean has(CopyPath path) {
    return switch (path) {
      case LOOP -> true;
      case BATCH -> claims(Capability.BATCH_COPY);
      case KERNEL -> claims(Capability.KERNEL_COPY);
      case PITCHED -> claims(Capability.PITCHED_COPY);
    };
  }

  private void roundTrip(
      BlockShape shape, Arrangement arrangement, PinRequest pin, int blocks, CopyOptions copy) {
    PoolOptions options = PoolOptions.defaults().arrangement(arrangement).pin(pin).copy(copy);
    withPool(
        shape,
        blocks,
        2L * blocks,
        options,
        pool -> {
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
          tap.forget();
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
          assertTrue(report.descriptors() > 0);
          noRowLiesOverACut(pool);
        });
  }

  /** Every row's host side lies in one registration, by the kit's own books. */
  private void noRowLiesOverACut(HostPool pool) {
    Map<Long, Long> ends = new TreeMap<>(); // of each range, as the device sees it and as the host
    long base = pool.region().segment().address();
    for (PinnedRange range : pool.pinned().ranges()) {
      ends.put(base + range.offsetBytes(), base + range.offsetBytes() + range.registeredBytes());
      long seen = range.seenByDevice().rawAddress();
      ends.put(seen, seen + range.registeredBytes());
    }
    TreeMap<Long, Long> sorted = new TreeMap<>(ends);
    int inHost = 0;
    for (Call call : tap.calls(SUBMISSIONS)) {
      for (Row row : call.rows()) {
        for (long address : new long[] {row.source(), row.destination()}) {
          Map.Entry<Long, Long> range = sorted.floorEntry(address);
          if (range != null && address < range.getValue()) {
            inHost++;
            assertTrue(
                address + row.bytes() <= range.getValue(),
                row + " lies over the end of a registration at " + range.getValue());
          }
        }
      }
    }
    long rows = tap.calls(SUBMISSIONS).stream().mapToLong(call -> call.rows().size()).sum();
    assertTrue(inHost >= rows, "rows were seen whose host side is not registered");
  }

  @Test
  @Covers(Rule.CPY_03)
  final void cpy03_an_empty_list_is_a_no_op_that_is_done() {
    withPool(
        8,
        8,
        pool -> {
          tap.forget();
          Completion done = pool.store(BlockCopies.withCapacity(0), unordered());
          assertTrue(done.isDone());
          assertEquals(0, done.report().bytes());
          assertEquals(0, tap.count(SUBMISSIONS));
        });
  }

  @Test
  @Covers({Rule.CPY_04, Rule.ERR_02})
  final void cpy04_an_id_out_of_range_is_refused_and_nothing_is_submitted() {
    withPool(
        4,
        4,
        pool -> {
          write(pool, 0, 7);
          tap.forget();
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
          assertEquals(0, tap.count(SUBMISSIONS));
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
          tap.forget();
          assertThrows(
              IllegalArgumentException.class,
              () -> pool.store(BlockCopies.device(0, 1, 2).host(1, 2, 1), unordered()));
          assertThrows(
              IllegalArgumentException.class,
              () -> pool.load(BlockCopies.device(3, 1, 3).host(0, 1, 2), unordered()));
          assertEquals(0, tap.count(SUBMISSIONS));
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
    withPool(
        BlockShape.of(1, 4096),
        16,
        16,
        PoolOptions.defaults(),
        pool ->
            assertAll(
                () ->
                    assertEquals(1, descriptors(pool, new long[] {1, 2, 3}, new long[] {5, 6, 7})),
                () ->
                    assertEquals(1, descriptors(pool, new long[] {3, 2, 1}, new long[] {7, 6, 5})),
                () ->
                    assertEquals(3, descriptors(pool, new long[] {1, 2, 3}, new long[] {7, 6, 5})),
                () ->
                    assertEquals(3, descriptors(pool, new long[] {1, 3, 5}, new long[] {2, 3, 4})),
                () ->
                    assertEquals(
                        2, descriptors(pool, new long[] {1, 2, 9}, new long[] {5, 6, 7}))));
  }

  private static long descriptors(HostPool pool, long[] blocks, long[] slots) {
    Completion done = pool.store(BlockCopies.device(blocks).host(slots), unordered());
    done.await();
    return done.report().descriptors();
  }

  @Test
  @Covers(Rule.CPY_10)
  final void cpy10_a_list_can_be_changed_as_soon_as_the_submission_returned() {
    withPool(
        8,
        16,
        pool -> {
          for (int i = 0; i < 8; i++) {
            write(pool, i, 50 + i);
          }
          BlockCopies list = BlockCopies.withCapacity(1);
          Completion last = null;
          for (int i = 0; i < 8; i++) {
            last = pool.load(list.clear().add(i, i), unordered());
          }
          list.clear().add(0, 15);
          for (int i = 0; i < 8; i++) {
            last = pool.store(list.clear().add(i, 8 + i), after(last == null ? never() : last));
          }
          list.clear().add(7, 0);
          if (last != null) {
            last.await();
          }
          for (int i = 0; i < 8; i++) {
            check(pool, 8 + i, 50 + i);
          }
        });
  }

  private static DevicePoint never() {
    throw new AssertionError("nothing was submitted");
  }

  @Test
  @Covers({Rule.CPY_11, Rule.CPY_12, Rule.SLT_05})
  final void cpy11_a_submission_returns_at_once_and_is_done_when_the_device_has_passed() {
    withPool(
        4,
        4,
        pool -> {
          pool.store(BlockCopies.device(0).host(0), unordered()).await(); // all is made by now
          try (Held held = new Held()) {
            Completion done = pool.store(BlockCopies.device(1).host(1), unordered());
            assertFalse(held.isReleased(), "the submission waited for the device");
            assertFalse(done.isDone(), "done before the device has passed");
            assertFalse(done.future().isDone());
            assertFalse(done.await(Duration.ofMillis(20)), "awaited before the device has passed");
            assertThrows(IllegalStateException.class, done::report);
            BusyException busy =
                assertThrows(BusyException.class, () -> pool.lease(1, Access.WRITE));
            assertFalse(busy.holders().isEmpty());
            assertThrows(BusyException.class, () -> pool.lease(1, Access.READ));
            pool.lease(2, Access.READ).close();
            held.release();
            done.await();
            assertTrue(done.isDone());
            assertEquals(SHAPE.bytes(), done.future().join().bytes());
            pool.lease(1, Access.WRITE).close();
          }
        });
  }

  @Test
  @Covers(Rule.CPY_13)
  final void cpy13_a_decision_that_was_explained_is_the_one_that_is_taken() {
    withPool(
        32,
        32,
        pool -> {
          for (BlockCopies copies :
              List.of(
                  BlockCopies.device(1).host(1),
                  BlockCopies.device(1, 2, 3, 9, 17).host(4, 5, 6, 1, 30),
                  BlockCopies.device(0, 2, 4, 6, 8, 10).host(0, 2, 4, 6, 8, 10))) {
            CopyDecision told = pool.explain(copies, CopyRoute.Direction.STORE);
            Completion done = pool.store(copies, unordered());
            done.await();
            assertEquals(told.path(), done.report().path());
            assertEquals(told.descriptors(), done.report().descriptors());
            assertFalse(told.because().isBlank());
          }
        });
  }

  @Test
  @Covers(Rule.CPY_14)
  final void cpy14_no_byte_beside_the_blocks_is_touched() {
    BlockShape shape = BlockShape.of(1, 1000);
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(64 << 10));
        PinnedRegion pinned = device.pinner().pin(region, PinRequest.strict());
        DeviceAllocation on = device.memory().allocate(8 * 1024)) {
      HostBlocks slots = pinned.blocks(shape.blockMajor(8, 1024));
      DeviceBlocks blocks = DeviceBlocks.of(on.segment(), shape.blockMajor(8, 1024));
      MemorySegment all = region.segment();
      for (CopyPath path : CopyPath.values()) {
        if (!has(path)) {
          continue;
        }
        all.fill((byte) 0x5A);
        try (CopyRoute route =
            device.copyEngine().route(blocks, slots, CopyOptions.auto().path(path))) {
          write(slots, 3, 8);
          BlockCopies one = BlockCopies.device(5).host(3);
          route.load(one, unordered()).await();
          // the device's padding may hold what the host's held: give the host's another look
          for (long at = 0; at < all.byteSize(); at += 1024) {
            all.asSlice(at + 1000, 24).fill((byte) 0x33);
          }
          route.store(BlockCopies.device(5, 5).host(1, 6), unordered()).await();
          check(slots, 1, 8);
          check(slots, 6, 8);
        }
        for (long at = 0; at < all.byteSize(); at++) {
          long slot = at / 1024;
          boolean padding = at % 1024 >= 1000;
          boolean inBlock = !padding && (slot == 1 || slot == 3 || slot == 6);
          byte untouched = (byte) (padding ? 0x33 : 0x5A);
          if (!inBlock && all.get(ValueLayout.JAVA_BYTE, at) != untouched) {
            throw new AssertionError(path + " changed byte " + at + ", which is in no block");
          }
        }
      }
    }
  }

  @Test
  @Covers(Rule.CPY_16)
  final void cpy16_slots_in_memory_that_is_not_pinned_give_the_same_bytes() {
    BlockShape shape = BlockShape.of(2, 5000);
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(8 * shape.bytes()));
        DeviceAllocation on = device.memory().allocate(4 * shape.bytes())) {
      HostBlocks slots = device.copyEngine().staged(region, shape.blockMajor(8));
      DeviceBlocks blocks = DeviceBlocks.of(on.segment(), shape.layerMajor(4));
      try (CopyRoute route = device.copyEngine().route(blocks, slots)) {
        for (int i = 0; i < 4; i++) {
          write(slots, i, 70 + i);
        }
        Completion loaded =
            route.load(BlockCopies.device(3, 2, 1, 0).host(0, 1, 2, 3), unordered());
        route.store(BlockCopies.device(3, 2, 1, 0).host(4, 5, 6, 7), after(loaded)).await();
        for (int i = 0; i < 4; i++) {
          check(slots, 4 + i, 70 + i);
        }
      }
    }
  }

  @Test
  @Covers(Rule.CPY_17)
  final void cpy17_the_devices_time_is_told_where_it_was_asked_for() {
    for (CopyOptions.Timing timing : CopyOptions.Timing.values()) {
      withPool(
          SHAPE,
          4,
          4,
          PoolOptions.defaults().copy(CopyOptions.auto().timing(timing)),
          pool -> {
            Completion done = pool.store(BlockCopies.device(0, 2).host(1, 3), unordered());
            done.await();
            OptionalLong nanos = done.report().deviceNanos();
            assertEquals(timing == CopyOptions.Timing.ON, nanos.isPresent());
            assertTrue(nanos.orElse(0) >= 0);
            assertTrue(done.report().submitNanos() > 0);
          });
    }
  }

  @Test
  @Covers(Rule.CPY_19)
  final void cpy19_a_completion_can_be_used_again_once_it_is_done() {
    withPool(
        4,
        4,
        pool -> {
          Completion one = pool.store(BlockCopies.device(0).host(0), unordered());
          one.await();
          for (int i = 0; i < 20; i++) {
            assertSame(one, pool.store(BlockCopies.device(i % 4).host(i % 4), unordered(), one));
            one.await();
            assertEquals(SHAPE.bytes(), one.report().bytes());
          }
          try (Held held = new Held()) {
            Completion pending = pool.store(BlockCopies.device(1).host(1), unordered(), one);
            assertThrows(
                IllegalStateException.class,
                () -> pool.store(BlockCopies.device(2).host(2), unordered(), pending));
            held.release();
            pending.await();
          }
        });
  }

  @Test
  @Covers(Rule.CPY_20)
  final void cpy20_no_copy_runs_on_a_default_stream() {
    long legacy = tap.port().legacyDefaultStream().value();
    withPool(
        8,
        8,
        pool -> {
          tap.forget();
          pool.store(BlockCopies.device(0, 3, 5).host(1, 2, 7), unordered()).await();
          pool.load(BlockCopies.device(0, 3, 5).host(1, 2, 7), unordered()).await();
          for (Call call : tap.calls("DevicePort.copyEach")) {
            assertNotEquals(legacy, call.argument(StreamHandle.class, 3).value());
          }
          for (Call call : tap.calls("BatchCopyPort.copyBatch")) {
            assertNotEquals(legacy, call.argument(StreamHandle.class, 4).value());
          }
          assertTrue(tap.count(SUBMISSIONS) > 0);
        });
  }
}
