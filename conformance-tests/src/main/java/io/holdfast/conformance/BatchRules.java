package io.holdfast.conformance;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.conformance.tap.Call;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyException;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.Capability;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.error.DriverFault;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRange;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pool.PoolOptions;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Many copies in one driver call. */
abstract class BatchRules extends Rules {
  private static final String BATCH = "BatchCopyPort.copyBatch";
  private static final String PITCHED = "PitchedCopyPort.copyRows";

  BatchRules(Conformance kit) {
    super(kit);
  }

  private static PoolOptions by(CopyPath path) {
    return PoolOptions.defaults().copy(CopyOptions.auto().path(path));
  }

  /** Opens a pool whose route must be refused where the path is not claimed. */
  private boolean claimed(Capability capability, CopyPath path) {
    if (claims(capability)) {
      return true;
    }
    refused(capability, () -> withPool(SHAPE, 4, 4, by(path), pool -> {}));
    assertEquals(0, tap.count(BATCH, PITCHED));
    return false;
  }

  @Test
  @Covers({Rule.BAT_01, Rule.BAT_02})
  final void bat01_scattered_blocks_come_back_in_few_calls() {
    if (!claimed(Capability.BATCH_COPY, CopyPath.BATCH)) {
      return;
    }
    for (int most : new int[] {1, 7, 4096}) {
      PoolOptions options =
          PoolOptions.defaults()
              .copy(CopyOptions.auto().path(CopyPath.BATCH).maxBatchEntries(most));
      withPool(
          SHAPE,
          64,
          128,
          options,
          pool -> {
            BlockCopies there = BlockCopies.withCapacity(64);
            BlockCopies back = BlockCopies.withCapacity(64);
            int[] order = shuffled(64, new SplittableRandom(most));
            for (int i = 0; i < 64; i++) {
              write(pool, i, 300 + i);
              there.add(order[i], i);
              back.add(order[i], 64 + i);
            }
            tap.forget();
            Completion loaded = pool.load(there, unordered());
            pool.store(back, after(loaded)).await();
            for (int i = 0; i < 64; i++) {
              check(pool, 64 + i, 300 + i);
            }
            assertEquals(CopyPath.BATCH, loaded.report().path());
            int limit = Math.min(most, device.capabilities().maxBatchEntries());
            int rows = 0;
            for (Call call : tap.calls(BATCH)) {
              assertTrue(!call.rows().isEmpty() && call.rows().size() <= limit, call.toString());
              rows += call.rows().size();
            }
            assertTrue(rows > 0, "no batch call was made");
            assertEquals(0, tap.count("DevicePort.copyEach"), "a batch was sent row by row");
          });
    }
  }

  @Test
  @Covers(Rule.BAT_03)
  final void bat03_no_row_of_a_batch_lies_over_two_registrations() {
    if (!claimed(Capability.BATCH_COPY, CopyPath.BATCH)) {
      return;
    }
    long page = tap.kernel().basePageBytes();
    BlockShape shape = BlockShape.of(1, 5 * page / 2);
    PoolOptions options =
        by(CopyPath.BATCH).pin(PinRequest.strict().sliceBytes(2 * page).capBytes(2 * page));
    withPool(
        shape,
        8,
        8,
        options,
        pool -> {
          assertTrue(pool.pinned().ranges().size() > 4);
          for (int i = 0; i < 8; i++) {
            write(pool, i, i);
          }
          tap.forget();
          pool.load(BlockCopies.device(0, 1, 2, 3).host(0, 1, 2, 3), unordered()).await();
          pool.store(BlockCopies.device(0, 1, 2, 3).host(4, 5, 6, 7), unordered()).await();
          for (int i = 0; i < 4; i++) {
            check(pool, 4 + i, i);
          }
          TreeMap<Long, Long> ranges = new TreeMap<>();
          for (PinnedRange range : pool.pinned().ranges()) {
            ranges.put(range.seenByDevice().rawAddress(), range.registeredBytes());
          }
          for (Call call : tap.calls(BATCH)) {
            for (Call.Row row : call.rows()) {
              for (long address : new long[] {row.source(), row.destination()}) {
                Map.Entry<Long, Long> range = ranges.floorEntry(address);
                if (range != null && address < range.getKey() + range.getValue()) {
                  assertTrue(
                      address + row.bytes() <= range.getKey() + range.getValue(), row.toString());
                }
              }
            }
          }
        });
  }

  @Test
  @Covers(Rule.BAT_04)
  final void bat04_regular_rows_in_one_call_come_back() {
    if (!claimed(Capability.PITCHED_COPY, CopyPath.PITCHED)) {
      return;
    }
    BlockShape shape = BlockShape.of(1, 3000);
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(64 << 10));
        PinnedRegion pinned = device.pinner().pin(region, PinRequest.strict());
        DeviceAllocation on = device.memory().allocate(16 * 4096)) {
      HostBlocks slots = pinned.blocks(shape.blockMajor(16, 3584));
      DeviceBlocks blocks = DeviceBlocks.of(on.segment(), shape.blockMajor(16, 4096));
      try (CopyRoute route =
          device.copyEngine().route(blocks, slots, CopyOptions.auto().path(CopyPath.PITCHED))) {
        for (int i = 0; i < 8; i++) {
          write(slots, i, 500 + i);
        }
        tap.forget();
        long[] first = {0, 1, 2, 3, 4, 5, 6, 7};
        long[] second = {8, 9, 10, 11, 12, 13, 14, 15};
        route.load(BlockCopies.device(first).host(first), unordered()).await();
        route.store(BlockCopies.device(first).host(second), unordered()).await();
        for (int i = 0; i < 8; i++) {
          check(slots, 8 + i, 500 + i);
        }
        List<Call> calls = tap.calls(PITCHED);
        assertFalse(calls.isEmpty(), "regular rows were not sent as such");
        long widest = tap.port().pitchedCopies().orElseThrow().maxPitchBytes();
        for (Call call : calls) {
          assertTrue(call.argument(Long.class, 1) <= widest, call.toString());
          assertTrue(call.argument(Long.class, 3) <= widest, call.toString());
        }
      }
    }
  }

  @Test
  @Covers(Rule.BAT_05)
  final void bat05_a_refused_batch_names_its_pair() {
    if (!claimed(Capability.BATCH_COPY, CopyPath.BATCH)) {
      return;
    }
    withPool(
        SHAPE,
        16,
        16,
        by(CopyPath.BATCH),
        pool -> {
          pool.store(BlockCopies.device(1, 5, 9).host(1, 5, 9), unordered()).await();
          tap.twist(
              BATCH,
              (call, _) -> {
                throw refusal(DriverFault.INVALID_ARGUMENT)
                    .atEntry(call.argument(Long.class, 1) + call.rows().size() - 1);
              });
          CopyException refused =
              assertThrows(
                  CopyException.class,
                  () ->
                      pool.store(BlockCopies.device(1, 5, 9).host(2, 6, 10), unordered()).await());
          tap.untwist();
          Call call = tap.calls(BATCH).getLast();
          Call.Row last = call.rows().getLast();
          CopyException.Descriptor named = refused.descriptor().orElseThrow();
          assertEquals(last.source(), named.source());
          assertEquals(last.destination(), named.destination());
          assertEquals(last.bytes(), named.bytes());
          assertTrue(refused.pair().isPresent(), "the pair is not named");
          pool.store(BlockCopies.device(1, 5, 9).host(2, 6, 10), unordered()).await();
        });
  }
}
