package io.holdfast.clients;

import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.copy.BlockCopies;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The guide's tier, run with an engine that knows what every block must hold. */
final class KvTierTest {
  private static final BlockShape SHAPE = BlockShape.of(2, 2048);
  private static final int DEVICE_BLOCKS = 16;
  private static final int TIER_SLOTS = 24;

  /** An engine whose kernels are copies from and to a pool of its own, which the test can see. */
  private static final class Rig implements AutoCloseable {
    private final Backend backend = Backends.select("cpu-sim");
    private final Device device = backend.open(0);
    private final DeviceAllocation memory = device.memory().allocate(DEVICE_BLOCKS * SHAPE.bytes());
    private final DeviceBlocks blocks =
        DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(DEVICE_BLOCKS));
    private final HostPool window =
        HostPool.open(device, blocks, HostRequest.ofBytes(DEVICE_BLOCKS * SHAPE.bytes()));
    private final KvTier tier =
        new KvTier(HostPool.open(device, blocks, HostRequest.ofBytes(TIER_SLOTS * SHAPE.bytes())));

    void compute(long hash, long block) {
      try (SlotLease lease = window.lease(block, Access.WRITE)) {
        for (int part = 0; part < 2; part++) {
          MemorySegment bytes = lease.part(part);
          for (long at = 0; at < bytes.byteSize(); at += Long.BYTES) {
            bytes.set(ValueLayout.JAVA_LONG_UNALIGNED, at, word(hash, part, at));
          }
        }
      }
      window.load(BlockCopies.device(block).host(block), unordered()).await();
    }

    void assertHolds(long hash, long block) {
      window.store(BlockCopies.device(block).host(block), unordered()).await();
      try (SlotLease lease = window.lease(block, Access.READ)) {
        for (int part = 0; part < 2; part++) {
          MemorySegment bytes = lease.part(part);
          for (long at = 0; at < bytes.byteSize(); at += Long.BYTES) {
            assertEquals(
                word(hash, part, at),
                bytes.get(ValueLayout.JAVA_LONG_UNALIGNED, at),
                "block " + hash + ", part " + part + ", byte " + at);
          }
        }
      }
    }

    private static long word(long hash, int part, long at) {
      return (hash * 31 + part) * 0x9E3779B97F4A7C15L + at;
    }

    @Override
    public void close() {
      backend.close();
    }
  }

  @Test
  void a_prefix_comes_back_up_to_its_first_gap() {
    try (Rig rig = new Rig()) {
      for (int block = 0; block < 4; block++) {
        rig.compute(100 + block, block);
      }
      long[] evicted = {100, 101, 103};
      rig.tier.evict(evicted, new long[] {0, 1, 3}, unordered()).await();

      long[] prompt = {100, 101, 102, 103};
      assertEquals(2, rig.tier.match(prompt));
      rig.tier.load(prompt, 2, new long[] {8, 9}, unordered()).await();

      rig.assertHolds(100, 8);
      rig.assertHolds(101, 9);
      assertThrows(
          IllegalStateException.class,
          () -> rig.tier.load(prompt, 3, new long[] {8, 9, 10}, unordered()));
    }
  }

  @Test
  void the_oldest_block_goes_first_and_a_hit_makes_it_young() {
    try (Rig rig = new Rig()) {
      for (long hash = 0; hash < TIER_SLOTS; hash++) {
        rig.compute(hash, hash % DEVICE_BLOCKS);
        rig.tier.evict(new long[] {hash}, new long[] {hash % DEVICE_BLOCKS}, unordered()).await();
      }
      assertEquals(1, rig.tier.match(new long[] {0}));
      rig.compute(1000, 5);
      rig.tier.evict(new long[] {1000}, new long[] {5}, unordered()).await();

      assertEquals(TIER_SLOTS, rig.tier.size());
      assertEquals(0, rig.tier.match(new long[] {1}), "the oldest");
      assertEquals(1, rig.tier.match(new long[] {0}), "used a moment ago");
    }
  }

  @Test
  void a_soak_of_random_prompts_reads_what_was_computed() {
    SplittableRandom random = new SplittableRandom(12);
    long hits = 0;
    try (Rig rig = new Rig()) {
      for (int round = 0; round < 300; round++) {
        int prompt = random.nextInt(12);
        int length = 1 + random.nextInt(6);
        long[] prefix = new long[length];
        long[] blocks = new long[length];
        int first = random.nextInt(DEVICE_BLOCKS - length);
        for (int i = 0; i < length; i++) {
          prefix[i] = prompt * 100L + i;
          blocks[i] = first + i;
        }
        int found = rig.tier.match(prefix);
        hits += found;
        rig.tier.load(prefix, found, blocks, unordered()).await();
        for (int i = 0; i < length; i++) {
          if (i < found) {
            rig.assertHolds(prefix[i], blocks[i]);
          } else {
            rig.compute(prefix[i], blocks[i]);
          }
        }
        rig.tier.evict(prefix, blocks, unordered()).await();
        assertTrue(rig.tier.size() <= TIER_SLOTS);
      }
    }
    assertTrue(hits > 100, "only " + hits + " hits with seed 12");
  }
}
