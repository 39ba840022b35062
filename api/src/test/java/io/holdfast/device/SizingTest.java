package io.holdfast.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.Sizing.WarmUp;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.layout.Bytes;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The tables of sections 14.2 and 14.5, and the same answers by brute force. */
final class SizingTest {
  private static final long GRANULE = Bytes.mib(2);
  private static final long GIB = Bytes.gib(1);

  private static BlockLayout layers(long blocks, long... strides) {
    return new BlockShape(Arrays.stream(strides).boxed().toList()).layerMajor(blocks);
  }

  // ---- 14.2

  @ParameterizedTest
  @CsvSource({
    "64, 1000, 32, 992",
    "96, 1000, 64, 960",
    "'64 96', 1000, 64, 960",
    "4096, 1000, 1, 1000",
    "64, 31, 32, 0"
  })
  void aligned_counts_waste_no_granule(
      String stridesKib, long blocks, long step, long alignedBlocks) {
    long[] strides =
        Arrays.stream(stridesKib.split(" ", -1))
            .mapToLong(kib -> Bytes.kib(Long.parseLong(kib)))
            .toArray();
    BlockLayout capacity = layers(blocks, strides);

    assertEquals(step, Sizing.blocksPerGranuleStep(capacity, GRANULE));
    assertEquals(alignedBlocks, Sizing.alignedBlocks(capacity, blocks, GRANULE));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 64})
  void budgets_of_whole_granules_for_every_segment(int segments) {
    long stride = Bytes.kib(64);
    long a = GRANULE / stride;
    long capacityBlocks = 5 * a + 7;
    BlockLayout capacity = BlockShape.of(segments, stride).layerMajor(capacityBlocks);
    long budget = segments * GRANULE;
    long bytesPerBlock = segments * stride;

    assertEquals(a, Sizing.blocksWithin(capacity, budget, GRANULE));
    assertEquals(a, Sizing.blocksWithin(capacity, budget + 1, GRANULE));
    assertEquals(2 * budget, Sizing.physicalBytes(capacity, a + 1, GRANULE));
    assertEquals(a, Sizing.blocksWithin(capacity, 2 * budget - 1, GRANULE));
    assertEquals(2 * a, Sizing.blocksWithin(capacity, 2 * budget, GRANULE));
    assertEquals(2 * a, Sizing.alignedBlocksWithin(capacity, (2 * a + 5) * bytesPerBlock, GRANULE));
    long size = capacityBlocks * bytesPerBlock;
    assertEquals(capacityBlocks, Sizing.blocksWithin(capacity, 2 * size, GRANULE));
    assertEquals(0, Sizing.blocksWithin(capacity, 0, GRANULE));
    assertEquals(0, Sizing.blocksWithin(capacity, budget - 1, GRANULE));
    assertEquals(0, Sizing.blocksWithin(capacity, -1, GRANULE));
  }

  @Test
  void granule_aligned_capacity_from_1000_blocks_is_less_than_1000() {
    BlockLayout capacity = layers(1000, Bytes.kib(64));

    assertEquals(992, Sizing.alignedBlocksWithin(capacity, Long.MAX_VALUE, GRANULE));
    assertEquals(1000, Sizing.blocksWithin(capacity, Long.MAX_VALUE, GRANULE));
  }

  @Test
  void physical_bytes_of_block_major_rows_count_the_row_once() {
    BlockLayout rows = BlockShape.of(3, 1000).blockMajor(10_000, 4096);

    assertEquals(4096, Sizing.bytesPerBlock(rows));
    assertEquals(GRANULE, Sizing.physicalBytes(rows, 512, GRANULE));
    assertEquals(2 * GRANULE, Sizing.physicalBytes(rows, 513, GRANULE));
    assertEquals(0, Sizing.physicalBytes(rows, 0, GRANULE));
  }

  @ParameterizedTest
  @CsvSource({
    "2097152, 2097152",
    "4096, 2097152",
    "1, 2097152",
    "3145728, 3145728",
    "1572864, 3145728"
  })
  void a_granule_is_at_least_2_mib_and_a_multiple_of_the_drivers(long driver, long granule) {
    assertEquals(granule, Sizing.granuleBytes(driver));
  }

  /** Seeded: the same layouts each time; the seed is in every message. */
  @Test
  void budgets_are_used_up_as_brute_force_uses_them() {
    for (long seed = 0; seed < 300; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      long[] strides = random.longs(random.nextInt(1, 5), 1, 3 * GRANULE).toArray();
      BlockLayout capacity = layers(random.nextLong(1, 60), strides);
      long budget = random.nextLong(0, 200 * GRANULE);
      long most = 0;
      while (most < capacity.blocks()
          && Sizing.physicalBytes(capacity, most + 1, GRANULE) <= budget) {
        most++;
      }
      long sum = 0;
      for (long stride : strides) {
        sum += Math.ceilDiv(most * stride, GRANULE) * GRANULE;
      }

      assertEquals(most, Sizing.blocksWithin(capacity, budget, GRANULE), "seed " + seed);
      assertEquals(sum, Sizing.physicalBytes(capacity, most, GRANULE), "seed " + seed);
      long aligned = Sizing.alignedBlocksWithin(capacity, budget, GRANULE);
      assertTrue(aligned <= most, "seed " + seed);
      assertEquals(
          aligned * Sizing.bytesPerBlock(capacity),
          Sizing.physicalBytes(capacity, aligned, GRANULE),
          "seed " + seed);
    }
  }

  @Test
  void numbers_that_mean_nothing_are_refused() {
    BlockLayout capacity = layers(8, 4096);
    assertThrows(IllegalArgumentException.class, () -> Sizing.physicalBytes(capacity, 9, GRANULE));
    assertThrows(IllegalArgumentException.class, () -> Sizing.physicalBytes(capacity, -1, GRANULE));
    assertThrows(IllegalArgumentException.class, () -> Sizing.physicalBytes(capacity, 1, 0));
    assertThrows(IllegalArgumentException.class, () -> Sizing.granuleBytes(0));
    assertThrows(IllegalArgumentException.class, () -> new WarmUp(0, 0, 0, 0, 0, 0, -1));
  }

  // ---- 14.5

  /** GiB; at the start 10 are free, now 6, and 1 is committed: 3 are in other use. */
  @ParameterizedTest
  @CsvSource({
    "9,   0, 0, 0,  6",
    "20,  0, 0, 0,  7",
    "20,  1, 0, 0,  6",
    "9,   1, 0, 0,  5",
    "20,  1, 1, 0,  5",
    "20,  2, 0, 50, 4",
    "9,   0, 1, 0,  6",
    "3.5, 0, 1, 0,  0.5",
    "2,   0, 0, 0,  0"
  })
  void the_final_budget_is_bound_by_what_was_asked_for_or_by_the_room(
      double requested, long peak, long floor, int percentOfPeak, double result) {
    WarmUp measured =
        WarmUp.between(
                (long) (requested * GIB),
                new MemoryInfo(10 * GIB, 16 * GIB),
                new MemoryInfo(6 * GIB, 16 * GIB),
                new CommittedExtent(1, GIB, GIB))
            .peak(peak * GIB)
            .margin(floor * GIB, percentOfPeak);

    assertEquals(3 * GIB, measured.otherBytes());
    assertEquals((long) (result * GIB), Sizing.finalBudget(measured));
  }

  /** The older form of the same: a block takes a quarter of a GiB. */
  @ParameterizedTest
  @CsvSource({"9, 0, 0, 24", "20, 0, 0, 28", "20, 1, 1, 20", "2, 0, 0, 0"})
  void the_budget_in_blocks_of_256_mib(long requested, long peak, long floor, long blocks) {
    WarmUp measured =
        new WarmUp(requested * GIB, 10 * GIB, 6 * GIB, GIB, peak * GIB, floor * GIB, 0);

    assertEquals(
        blocks,
        Sizing.blocksWithin(layers(100, Bytes.mib(256)), Sizing.finalBudget(measured), GRANULE));
  }

  @Test
  void a_fixed_byte_budget_is_used_as_given() {
    assertEquals(40, Sizing.blocksWithin(layers(100, Bytes.mib(256)), 10 * GIB, GRANULE));
  }

  /**
   * During warm-up, 256 MiB blocks of which 4 are committed: headroom is free + 1 GiB, the reserve
   * a tenth of it or what is kept back, the margin three quarters of that but at least 1 GiB.
   */
  @ParameterizedTest
  @CsvSource({
    // 20 GiB: reserve 2, margin 1.5 -> 16.5 GiB = 66 blocks
    "19, 0, 66",
    // 20 GiB: reserve 8, margin 6 -> 6 GiB = 24 blocks
    "19, 8, 24",
    // 5 GiB: reserve 0.5, margin 1 -> 3.5 GiB = 14 blocks
    "4,  0, 14",
    // 2 GiB: reserve 0.2, margin 1 -> 0.8 GiB = 3 blocks, and 4 are committed
    "1,  0, 4",
    // nothing fits, and nothing is taken away
    "0,  0, 4",
    // more than the capacity
    "999, 0, 100"
  })
  void during_warm_up_room_stays_free_for_what_is_not_measured_yet(
      long freeGib, long keptBackGib, long blocks) {
    assertEquals(
        blocks,
        Sizing.blocksDuringWarmUp(
            layers(100, Bytes.mib(256)),
            freeGib * GIB,
            new CommittedExtent(4, GIB, GIB),
            keptBackGib * GIB,
            GRANULE));
  }
}
