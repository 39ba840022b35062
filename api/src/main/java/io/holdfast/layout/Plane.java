package io.holdfast.layout;

import java.util.Locale;

/**
 * One run of blocks with one stride inside a region.
 *
 * <p>Bytes between {@code blockBytes} and {@code strideBytes} are padding: never stored or loaded,
 * but treated as part of their block wherever registrations are cut.
 *
 * @param offsetBytes where block 0 starts, from the region's start; not negative
 * @param strideBytes from one block's start to the next; at least {@code blockBytes}
 * @param blockBytes bytes that are stored and loaded per block; positive
 * @param blocks how many blocks; positive
 */
public record Plane(long offsetBytes, long strideBytes, long blockBytes, long blocks) {
  /** Checks the numbers; the last block must end within a {@code long}. */
  public Plane {
    if (offsetBytes < 0 || blockBytes <= 0 || strideBytes < blockBytes || blocks <= 0) {
      throw new IllegalArgumentException(
          "a plane needs offset >= 0, 0 < block <= stride and blocks > 0, not "
              + describe(offsetBytes, strideBytes, blockBytes, blocks));
    }
    long spanHigh = Math.multiplyHigh(blocks - 1, strideBytes);
    long span = (blocks - 1) * strideBytes;
    if (spanHigh != 0
        || span < 0
        || offsetBytes > Long.MAX_VALUE - blockBytes
        || span > Long.MAX_VALUE - blockBytes - offsetBytes) {
      throw new IllegalArgumentException(
          "the last block ends beyond "
              + Long.MAX_VALUE
              + " bytes: "
              + describe(offsetBytes, strideBytes, blockBytes, blocks));
    }
  }

  /**
   * A plane without padding: every block starts where the one before ends.
   *
   * @param offsetBytes where block 0 starts
   * @param blockBytes bytes of one block, and the stride
   * @param blocks how many blocks
   * @return the plane
   */
  public static Plane packed(long offsetBytes, long blockBytes, long blocks) {
    return new Plane(offsetBytes, blockBytes, blockBytes, blocks);
  }

  /**
   * The first byte behind the last block; padding behind that block is not included.
   *
   * @return the end, exclusive
   */
  public long endBytes() {
    return offsetBytes + (blocks - 1) * strideBytes + blockBytes;
  }

  /**
   * Where one block starts.
   *
   * @param block index of the block, below {@link #blocks()}
   * @return the offset from the region's start
   * @throws IndexOutOfBoundsException when there is no such block
   */
  public long blockOffsetBytes(long block) {
    if (block < 0 || block >= blocks) {
      throw new IndexOutOfBoundsException("block " + block + " of " + blocks);
    }
    return offsetBytes + block * strideBytes;
  }

  String describe() {
    return describe(offsetBytes, strideBytes, blockBytes, blocks);
  }

  private static String describe(long offset, long stride, long block, long blocks) {
    return String.format(
        Locale.ROOT, "offset %d, stride %d, block %d, blocks %d", offset, stride, block, blocks);
  }
}
