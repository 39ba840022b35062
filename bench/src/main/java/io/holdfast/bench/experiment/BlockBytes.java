package io.holdfast.bench.experiment;

import static io.holdfast.device.Order.unordered;

import io.holdfast.bench.soak.Pattern;
import io.holdfast.copy.BlockCopies;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.stream.IntStream;

/** Bytes that tell which device block they are, put there and looked for through a pool's slots. */
final class BlockBytes {
  private final HostPool pool;
  private final int slots;
  private final long seed;

  /** Uses all slots of the pool. */
  BlockBytes(HostPool pool, long seed) {
    this(pool, (int) Math.min(4096, pool.slots()), seed);
  }

  /** Uses the first slots of the pool. */
  BlockBytes(HostPool pool, int slots, long seed) {
    this.pool = pool;
    this.slots = slots;
    this.seed = seed;
  }

  /** Writes device blocks from..to-1. */
  void write(long from, long to) {
    for (long at = from; at < to; at += slots) {
      int count = (int) Math.min(slots, to - at);
      long first = at;
      IntStream.range(0, count).parallel().forEach(slot -> fill(slot, first + slot));
      pool.load(pairs(at, count), unordered()).await();
    }
  }

  private void fill(int slot, long block) {
    try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
      Pattern.fill(lease.part(0), Pattern.mix(seed + block));
    }
  }

  /** Compares every byte of device blocks from..to-1 with what {@link #write} put there. */
  void check(long from, long to) {
    each(from, to, (memory, block) -> Pattern.firstDifference(memory, Pattern.mix(seed + block)));
  }

  /** Looks whether every byte of device blocks from..to-1 is zero. */
  void checkZero(long from, long to) {
    each(from, to, (memory, _) -> firstNonZero(memory));
  }

  private static long firstNonZero(MemorySegment memory) {
    for (long at = 0; at < memory.byteSize(); at++) {
      if (memory.get(ValueLayout.JAVA_BYTE, at) != 0) {
        return at;
      }
    }
    return -1;
  }

  /** The first wrong offset of a block's memory, or -1. */
  private interface Look {
    long wrongAt(MemorySegment memory, long block);
  }

  private void each(long from, long to, Look look) {
    for (long at = from; at < to; at += slots) {
      int count = (int) Math.min(slots, to - at);
      long first = at;
      IntStream.range(0, count).parallel().forEach(this::poison);
      pool.store(pairs(at, count), unordered()).await();
      IntStream.range(0, count)
          .parallel()
          .forEach(
              slot -> {
                try (SlotLease lease = pool.lease(slot, Access.READ)) {
                  long wrong = look.wrongAt(lease.part(0), first + slot);
                  Workbench.require(
                      wrong < 0, "byte " + wrong + " of block " + (first + slot) + " differs");
                }
              });
    }
  }

  /** A copy that does not happen must not find the right bytes already there. */
  private void poison(int slot) {
    try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
      lease.part(0).fill((byte) 0xA5);
    }
  }

  private static BlockCopies pairs(long firstBlock, int count) {
    BlockCopies copies = BlockCopies.withCapacity(count);
    for (int i = 0; i < count; i++) {
      copies.add(firstBlock + i, i);
    }
    return copies;
  }
}
