package io.holdfast.backend.hip;

/**
 * How rows are cut and dealt to wavefronts: arithmetic on a batch's sizes, without a device. The
 * same as for CUDA's warps, but that a wavefront has the lanes that the device says.
 *
 * <p>Rows of like size are cut into equal pieces and dealt round by round. Rows of very different
 * sizes would leave most of those items empty, so for them every block looks at every row.
 *
 * @param lanes of a wavefront
 */
record HipLaunch(int lanes) {
  /** Threads of a block; the kernels are compiled for no more. */
  static final int BLOCK_THREADS = 512;

  /** Bytes that a lane has in flight at once: eight loads of 16. */
  private static final long LANE_BYTES = 128;

  /** Above this a larger piece saves nothing, and makes the last ones end at different times. */
  private static final long LARGEST_PIECE_BYTES = 64 << 10;

  /** Items for each wavefront that are aimed at, so that none waits long for the last. */
  private static final long ITEMS_PER_WAVEFRONT = 4;

  /** Descriptors that a wavefront reads at once; no more than its lanes. */
  private static final long LARGEST_GROUP = 32;

  /** Empty items cost little beside a piece: this many for each full one are accepted. */
  private static final long EMPTY_FOR_FULL = 3;

  /** A lane reads a descriptor of a group. */
  HipLaunch {
    if (lanes < LARGEST_GROUP || BLOCK_THREADS % lanes != 0) {
      throw new IllegalArgumentException("no wavefront has " + lanes + " lanes");
    }
  }

  int wavefrontsPerBlock() {
    return BLOCK_THREADS / lanes;
  }

  /** What a wavefront has in flight at once, and so the smallest piece worth one of its own. */
  long smallestPieceBytes() {
    return lanes * LANE_BYTES;
  }

  /**
   * Bytes of a piece, from what there is to do for each wavefront.
   *
   * @param totalBytes of all rows
   * @param wavefronts how many there are at most
   */
  long aimedPieceBytes(long totalBytes, long wavefronts) {
    long smallest = smallestPieceBytes();
    long share = Math.ceilDiv(totalBytes, wavefronts * ITEMS_PER_WAVEFRONT);
    return Math.clamp(Math.ceilDiv(share, smallest) * smallest, smallest, LARGEST_PIECE_BYTES);
  }

  /** Pieces of the longest row, when none is larger than aimed at. */
  static long pieces(long longestBytes, long aimedPieceBytes) {
    return Math.ceilDiv(longestBytes, aimedPieceBytes);
  }

  /** Bytes of each piece, so that those of the longest row are equal; a multiple of 16. */
  static long pieceBytes(long longestBytes, long pieces) {
    return Math.ceilDiv(Math.ceilDiv(longestBytes, pieces), 16) * 16;
  }

  /** Whether rows are so much alike that cutting all of them like the longest wastes little. */
  static boolean alike(long rows, long pieces, long totalBytes, long pieceBytes) {
    return rows * (pieces - 1) <= EMPTY_FOR_FULL * (rows + totalBytes / pieceBytes);
  }

  /** Items that a wavefront takes at once. */
  static long group(long items, long wavefronts) {
    return Math.clamp(items / (wavefronts * ITEMS_PER_WAVEFRONT), 1, LARGEST_GROUP);
  }

  /** Blocks that find something to do. */
  int blocks(long items, int most) {
    return (int) Math.min(most, Math.ceilDiv(items, (long) wavefrontsPerBlock()));
  }
}
