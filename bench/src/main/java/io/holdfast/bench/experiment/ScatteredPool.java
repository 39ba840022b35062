package io.holdfast.bench.experiment;

import static io.holdfast.device.Order.unordered;

import io.holdfast.Device;
import io.holdfast.bench.soak.Pattern;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyDecision;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Limits;
import io.holdfast.host.PageKind;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.util.SplittableRandom;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

/** As many slots as device blocks, paired in some order, and one batch of all of them. */
final class ScatteredPool implements AutoCloseable {
  /** Which slot a device block goes to. */
  enum Pairing {
    /** A random permutation: hardly any two neighbours on both sides. */
    PERMUTED,
    /** The same number: neighbours everywhere. */
    SAME
  }

  private final DeviceAllocation memory;
  private final HostPool pool;
  private final int[] slots;
  private final BlockCopies copies;
  private final long bytes;
  private Completion done;

  ScatteredPool(
      Device device,
      PageKind pages,
      long blockBytes,
      long totalBytes,
      Pairing pairing,
      CopyOptions options) {
    int blocks = Math.toIntExact(Math.max(1, totalBytes / blockBytes));
    BlockShape shape = BlockShape.of(1, blockBytes);
    this.bytes = blocks * blockBytes;
    this.memory = device.memory().allocate(bytes);
    try {
      this.pool =
          HostPool.open(
              device,
              DeviceBlocks.of(memory.segment(), shape.blockMajor(blocks)),
              HostRequest.ofBytes(bytes).pages(pages).limits(Limits.ADVISE),
              PoolOptions.defaults().copy(options));
    } catch (RuntimeException refused) {
      memory.close();
      throw refused;
    }
    this.slots = pairing == Pairing.SAME ? same(blocks) : permutation(blocks);
    this.copies = BlockCopies.withCapacity(blocks);
    for (int block = 0; block < blocks; block++) {
      copies.add(block, slots[block]);
    }
    each(block -> fill(block));
    done = pool.load(copies, unordered());
    done.await();
  }

  private static int[] same(int count) {
    return IntStream.range(0, count).toArray();
  }

  private static int[] permutation(int count) {
    SplittableRandom random = new SplittableRandom(42);
    int[] order = new int[count];
    for (int i = 0; i < count; i++) {
      int at = random.nextInt(i + 1);
      order[i] = order[at];
      order[at] = i;
    }
    return order;
  }

  private void each(IntConsumer work) {
    IntStream.range(0, slots.length).parallel().forEach(work);
  }

  private void fill(int block) {
    try (SlotLease lease = pool.lease(slots[block], Access.WRITE)) {
      Pattern.fill(lease.part(0), Pattern.mix(block));
    }
  }

  long bytes() {
    return bytes;
  }

  /** One batch of all blocks, submitted and waited for. */
  void copy(Direction direction) {
    submit(direction);
    done.await();
  }

  /** One batch of all blocks, submitted; the one before must have been waited for. */
  void submit(Direction direction) {
    done =
        direction == Direction.STORE
            ? pool.store(copies, unordered(), done)
            : pool.load(copies, unordered(), done);
  }

  void await() {
    done.await();
  }

  CopyDecision explain(Direction direction) {
    return pool.explain(copies, direction);
  }

  /** Nanoseconds that the caller spent on the last batch, and descriptors after merging. */
  long[] lastBatch() {
    return new long[] {done.report().submitNanos(), done.report().descriptors()};
  }

  /**
   * The mean seconds of a batch, over as many as fill the time.
   *
   * @param leastNanos how long to go on at least
   */
  double seconds(Direction direction, long leastNanos) {
    long begun = System.nanoTime();
    long batches = 0;
    long took;
    do {
      copy(direction);
      batches++;
      took = System.nanoTime() - begun;
    } while (took < leastNanos);
    return took / 1e9 / batches;
  }

  /** Brings everything back once more into poisoned slots and compares every byte. */
  void verify() {
    copy(Direction.LOAD);
    each(
        block -> {
          try (SlotLease lease = pool.lease(slots[block], Access.WRITE)) {
            lease.part(0).fill((byte) 0xA5);
          }
        });
    copy(Direction.STORE);
    each(
        block -> {
          try (SlotLease lease = pool.lease(slots[block], Access.READ)) {
            long wrong = Pattern.firstDifference(lease.part(0), Pattern.mix(block));
            Workbench.require(wrong < 0, "byte " + wrong + " of block " + block + " differs");
          }
        });
  }

  @Override
  public void close() {
    try (memory) {
      pool.close();
    }
  }
}
