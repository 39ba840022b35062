package io.holdfast.internal.copy;

import java.util.Arrays;

/**
 * Finds a device block that is named twice. Open addressing with a generation for each use, so that
 * nothing is cleared between submissions; allocates only when one is larger than all before. Not
 * for several threads at once.
 */
final class DeviceBlockSet {
  private static final long GOLDEN = 0x9E3779B97F4A7C15L;

  private long[] blocks = new long[256];
  private int[] generations = new int[256];
  private int generation;
  private int shift = Long.SIZE - 8;

  /** Begins an empty set for that many blocks. */
  void begin(int most) {
    if (most > blocks.length / 2) {
      int bits = Integer.SIZE - Integer.numberOfLeadingZeros(Math.multiplyExact(2, most) - 1);
      blocks = new long[1 << bits];
      generations = new int[1 << bits];
      shift = Long.SIZE - bits;
      generation = 0;
    }
    generation++;
    if (generation == 0) { // after four thousand million uses
      Arrays.fill(generations, 0);
      generation = 1;
    }
  }

  /** Adds a block; false when it is there already. */
  boolean add(long block) {
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
