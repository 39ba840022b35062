package io.holdfast.internal.copy;

import io.holdfast.copy.BlockCopies;
import java.util.Arrays;

/**
 * Finds a device block that is named twice: one bit for each block, cleared again after use, where
 * that fits into little memory; else open addressing with a generation for each use. Allocates only
 * when a submission or the device's side is larger than all before. Not for several threads at
 * once.
 */
final class DeviceBlockSet {
  /** Two mebibytes of bits. */
  static final long MOST_BITS = 1L << 24;

  private static final long GOLDEN = 0x9E3779B97F4A7C15L;

  private long[] bits = new long[0];
  private long[] blocks = new long[0];
  private int[] generations = new int[0];
  private int generation;
  private int shift;

  /**
   * The first pair whose device block an earlier pair names, or -1.
   *
   * @param copies pairs in range
   * @param count of device blocks
   */
  int firstTwice(BlockCopies copies, long count) {
    return count <= MOST_BITS ? twiceByBits(copies, (int) count) : twiceByHash(copies);
  }

  private int twiceByBits(BlockCopies copies, int count) {
    int words = (count + Long.SIZE - 1) / Long.SIZE;
    if (words > bits.length) {
      bits = new long[words];
    }
    int pairs = copies.pairs();
    int pair = 0;
    int twice = -1;
    for (; pair < pairs && twice < 0; pair++) {
      int block = (int) copies.deviceBlock(pair);
      long bit = 1L << block;
      if ((bits[block >>> 6] & bit) != 0) {
        twice = pair;
      }
      bits[block >>> 6] |= bit;
    }
    for (int done = 0; done < pair; done++) {
      bits[(int) copies.deviceBlock(done) >>> 6] = 0;
    }
    return twice;
  }

  private int twiceByHash(BlockCopies copies) {
    int pairs = copies.pairs();
    begin(pairs);
    for (int pair = 0; pair < pairs; pair++) {
      if (!add(copies.deviceBlock(pair))) {
        return pair;
      }
    }
    return -1;
  }

  private void begin(int most) {
    if (most > blocks.length / 2) {
      int size =
          Math.max(8, Integer.SIZE - Integer.numberOfLeadingZeros(Math.multiplyExact(2, most) - 1));
      blocks = new long[1 << size];
      generations = new int[1 << size];
      shift = Long.SIZE - size;
      generation = 0;
    }
    generation++;
    if (generation == 0) { // after four thousand million uses
      Arrays.fill(generations, 0);
      generation = 1;
    }
  }

  /** Adds a block; false when it is there already. */
  private boolean add(long block) {
    int at = (int) ((block * GOLDEN) >>> shift);
    while (generations[at] == generation) {
      if (blocks[at] == block) {
        return false;
      }
      at = (at + 1) & (blocks.length - 1);
    }
    blocks[at] = block;
    generations[at] = generation;
    return true;
  }
}
