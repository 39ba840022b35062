package io.holdfast.bench.replay;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyRoute;
import io.holdfast.copy.CopyRoute.Direction;

/**
 * Copies of as many blocks as a recorded batch had, in as many pieces. Which blocks they were is
 * not recorded: here they are runs of neighbours, as many as give about the same number of
 * descriptors.
 */
final class Batch {
  private Batch() {}

  /**
   * Makes one.
   *
   * @param route by which they go
   * @param direction which way
   * @param blocks how many, positive
   * @param rows descriptors that were recorded
   * @param deviceBlocks of the device side
   * @param slots of the host side
   */
  static BlockCopies of(
      CopyRoute route, Direction direction, int blocks, long rows, long deviceBlocks, long slots) {
    int few = 1;
    int many = blocks;
    while (few < many) { // descriptors only grow with the number of runs
      int runs = (few + many) >>> 1;
      BlockCopies tried = runs(blocks, runs, deviceBlocks, slots);
      if (route.explain(tried, direction).descriptors() < rows) {
        few = runs + 1;
      } else {
        many = runs;
      }
    }
    return runs(blocks, few, deviceBlocks, slots);
  }

  /**
   * Runs that follow one another on the device and lie in the reverse order on the host, so that no
   * two of them are neighbours on both sides. A source may be named twice, where it has fewer
   * blocks.
   */
  private static BlockCopies runs(int blocks, int runs, long deviceBlocks, long slots) {
    BlockCopies copies = BlockCopies.withCapacity(blocks);
    for (int run = 0; run < runs; run++) {
      long from = (long) blocks * run / runs;
      long to = (long) blocks * (run + 1) / runs;
      for (long block = from; block < to; block++) {
        copies.add(block % deviceBlocks, (blocks - to + block - from) % slots);
      }
    }
    return copies;
  }
}
