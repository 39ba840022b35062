package io.holdfast.bench.soak;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * One thread's round trips over slots and blocks that no other thread touches: fill host slots,
 * load them, poison other slots, store into those, compare every byte.
 */
final class RoundTrips implements Runnable {
  private static final int MOST_PAIRS = 64;

  private final HostPool pool;
  private final Share slots;
  private final Share blocks;
  private final SplittableRandom random;
  private final Counters counters;
  private final BooleanSupplier goOn;
  private final Consumer<String> complain;
  private long serial;

  /** A run of ids that belongs to one thread. */
  record Share(long from, long to) {
    static Share of(long all, int index, int threads) {
      return new Share(all * index / threads, all * (index + 1) / threads);
    }

    long count() {
      return to - from;
    }
  }

  /** What all threads together did. */
  static final class Counters {
    final AtomicLong roundTrips = new AtomicLong();
    final AtomicLong batches = new AtomicLong();
    final AtomicLong mismatches = new AtomicLong();
    final AtomicLong chainedBytes = new AtomicLong();
    final BusyTime stores = new BusyTime();
    final BusyTime loads = new BusyTime();

    long bytesMoved() {
      return stores.bytes() + loads.bytes() + chainedBytes.get();
    }
  }

  RoundTrips(
      HostPool pool,
      Share slots,
      Share blocks,
      long seed,
      Counters counters,
      BooleanSupplier goOn,
      Consumer<String> complain) {
    this.pool = pool;
    this.slots = slots;
    this.blocks = blocks;
    this.random = new SplittableRandom(seed);
    this.serial = Pattern.mix(seed);
    this.counters = counters;
    this.goOn = goOn;
    this.complain = complain;
  }

  @Override
  public void run() {
    long most = Math.min(MOST_PAIRS, Math.min(slots.count(), blocks.count()));
    long[] device = new long[(int) most];
    long[] sources = new long[(int) most];
    long[] targets = new long[(int) most];
    BlockCopies loads = BlockCopies.withCapacity((int) most);
    BlockCopies stores = BlockCopies.withCapacity((int) most);
    do {
      int pairs = 1 + random.nextInt((int) most);
      boolean chained = 2L * pairs <= slots.count() && random.nextInt(4) == 0;
      choose(blocks, device, pairs, 0, device);
      choose(slots, sources, pairs, 0, sources);
      if (chained) {
        choose(slots, targets, pairs, pairs, sources);
      } else {
        choose(slots, targets, pairs, 0, targets);
      }
      loads.clear();
      stores.clear();
      for (int i = 0; i < pairs; i++) {
        loads.add(device[i], sources[i]);
        stores.add(device[i], targets[i]);
      }
      roundTrip(loads, stores, chained);
    } while (goOn.getAsBoolean());
  }

  private void roundTrip(BlockCopies loads, BlockCopies stores, boolean chained) {
    long first = serial;
    serial += loads.pairs();
    for (int i = 0; i < loads.pairs(); i++) {
      write(loads.hostSlot(i), first + i);
    }
    long bytes = pool.shape().bytes() * loads.pairs();
    if (chained) { // nothing waits on the host between the two
      poison(stores);
      Completion loaded = pool.load(loads, unordered());
      pool.store(stores, after(loaded)).await();
      counters.chainedBytes.addAndGet(2 * bytes);
    } else {
      counters.loads.begin();
      try {
        pool.load(loads, unordered()).await();
      } finally {
        counters.loads.end(bytes);
      }
      poison(stores);
      counters.stores.begin();
      try {
        pool.store(stores, unordered()).await();
      } finally {
        counters.stores.end(bytes);
      }
    }
    for (int i = 0; i < stores.pairs(); i++) {
      check(stores.hostSlot(i), stores.deviceBlock(i), first + i);
    }
    counters.roundTrips.addAndGet(stores.pairs());
    counters.batches.addAndGet(2);
  }

  private void write(long slot, long seed) {
    BlockShape shape = pool.shape();
    try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
      for (int part = 0; part < shape.parts(); part++) {
        Pattern.fill(lease.part(part), seedOf(seed, part));
      }
    }
  }

  /** A copy that does not happen must not find the right bytes already there. */
  private void poison(BlockCopies stores) {
    for (int i = 0; i < stores.pairs(); i++) {
      try (SlotLease lease = pool.lease(stores.hostSlot(i), Access.WRITE)) {
        for (int part = 0; part < pool.shape().parts(); part++) {
          lease.part(part).fill((byte) 0xA5);
        }
      }
    }
  }

  private void check(long slot, long block, long seed) {
    try (SlotLease lease = pool.lease(slot, Access.READ)) {
      for (int part = 0; part < pool.shape().parts(); part++) {
        long at = Pattern.firstDifference(lease.part(part), seedOf(seed, part));
        if (at >= 0) {
          counters.mismatches.incrementAndGet();
          complain.accept(
              "mismatch: slot "
                  + slot
                  + ", device block "
                  + block
                  + ", part "
                  + part
                  + ", first wrong byte "
                  + at);
          return;
        }
      }
    }
  }

  private static long seedOf(long serial, int part) {
    return Pattern.mix(serial * 1_000_003 + part);
  }

  /**
   * Distinct ids of a share into the list, also distinct from the first {@code taken} of another.
   */
  private void choose(Share share, long[] into, int count, int taken, long[] others) {
    for (int i = 0; i < count; ) {
      long id = share.from() + random.nextLong(share.count());
      if (!contains(into, i, id) && !contains(others, taken, id)) {
        into[i++] = id;
      }
    }
  }

  private static boolean contains(long[] ids, int count, long id) {
    for (int i = 0; i < count; i++) {
      if (ids[i] == id) {
        return true;
      }
    }
    return false;
  }
}
