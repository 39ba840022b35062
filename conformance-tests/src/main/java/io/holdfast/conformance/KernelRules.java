package io.holdfast.conformance;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.conformance.tap.Call;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.device.Capability;
import io.holdfast.layout.Arrangement;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.PinnedRange;
import io.holdfast.pool.PoolOptions;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Copies by the device's own cores. */
abstract class KernelRules extends Rules {
  private static final String KERNEL = "KernelCopyPort.copyByKernel";

  KernelRules(Conformance kit) {
    super(kit);
  }

  private static PoolOptions byKernel(int threadBlocks) {
    return PoolOptions.defaults()
        .copy(CopyOptions.auto().path(CopyPath.KERNEL).maxKernelBlocks(threadBlocks));
  }

  private boolean claimed() {
    if (claims(Capability.KERNEL_COPY)) {
      return true;
    }
    refused(Capability.KERNEL_COPY, () -> withPool(SHAPE, 4, 4, byKernel(4), pool -> {}));
    assertEquals(0, tap.count(KERNEL));
    return false;
  }

  @Test
  @Covers({Rule.KER_01, Rule.KER_02})
  final void ker01_cores_copy_any_size_and_alignment_with_few_thread_blocks() {
    if (!claimed()) {
      return;
    }
    for (BlockShape shape :
        List.of(
            BlockShape.of(1, 1),
            BlockShape.of(1, 13),
            BlockShape.of(3, 4095),
            BlockShape.of(2, 16).and(BlockShape.of(1, 70_001)))) {
      for (Arrangement arrangement : Arrangement.values()) {
        withPool(
            shape,
            9,
            18,
            byKernel(3).arrangement(arrangement),
            pool -> {
              BlockCopies there = BlockCopies.withCapacity(9);
              BlockCopies back = BlockCopies.withCapacity(9);
              int[] order = shuffled(9, new SplittableRandom(shape.bytes()));
              for (int i = 0; i < 9; i++) {
                write(pool, i, 90 + i);
                there.add(order[i], i);
                back.add(order[i], 9 + i);
              }
              tap.forget();
              Completion loaded = pool.load(there, unordered());
              pool.store(back, after(loaded)).await();
              assertEquals(CopyPath.KERNEL, loaded.report().path());
              for (int i = 0; i < 9; i++) {
                check(pool, 9 + i, 90 + i);
              }
              List<Call> calls = tap.calls(KERNEL);
              assertFalse(calls.isEmpty());
              for (Call call : calls) {
                int blocks = call.argument(Integer.class, 4);
                assertTrue(blocks >= 1 && blocks <= 3, call.toString());
              }
            });
      }
    }
  }

  @Test
  @Covers(Rule.KER_03)
  final void ker03_cores_are_given_host_addresses_as_the_device_sees_them() {
    if (!claimed()) {
      return;
    }
    withPool(
        SHAPE,
        4,
        4,
        byKernel(8),
        pool -> {
          tap.forget();
          pool.store(BlockCopies.device(0, 2).host(1, 3), unordered()).await();
          TreeMap<Long, Long> seen = new TreeMap<>();
          for (PinnedRange range : pool.pinned().ranges()) {
            seen.put(range.seenByDevice().rawAddress(), range.registeredBytes());
          }
          for (Call call : tap.calls(KERNEL)) {
            for (Call.Row row : call.rows()) {
              Map.Entry<Long, Long> range = seen.floorEntry(row.destination());
              assertTrue(
                  range != null
                      && row.destination() + row.bytes() <= range.getKey() + range.getValue(),
                  row + " is not where the device sees the host");
            }
          }
        });
  }
}
