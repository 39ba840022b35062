package io.holdfast.backend.cuda;

/**
 * How rows are cut and dealt to warps: arithmetic on a batch's sizes, without a device.
 *
 * <p>Rows of like size are cut into equal pieces and dealt round by round. Rows of very different
 * sizes would leave most of those items empty, so for them every block looks at every row.
 */
final class KernelLaunch {
  /** Threads of a block; the kernels are compiled for no more. */
  static final int BLOCK_THREADS = 512;

  static final int WARPS_PER_BLOCK = BLOCK_THREADS / 32;

  /** What a warp has in flight at once, and so the smallest piece worth a warp of its own. */
  static final long SMALLEST_PIECE_BYTES = 4 << 10;

  /** Above this a larger piece saves nothing, and makes the last ones end at different times. */
  static final long LARGEST_PIECE_BYTES = 64 << 10;

  /** Items for each warp that are aimed at, so that none waits long for the last. */
  private static final long ITEMS_PER_WARP = 4;

  /** Descriptors that a warp reads at once. */
  private static final long LARGEST_GROUP = 32;

  /** Empty items cost little beside a piece: this many for each full one are accepted. */
  private static final long EMPTY_FOR_FULL = 3;

  private KernelLaunch() {}

  /**
   * Bytes of a piece, from what there is to do for each warp.
   *
   * @param totalBytes of all rows
   * @param warps how many there are at most
   */
  static long aimedPieceBytes(long totalBytes, long warps) {
    long share = Math.ceilDiv(totalBytes, warps * ITEMS_PER_WARP);
    long whole = Math.ceilDiv(share, SMALLEST_PIECE_BYTES) * SMALLEST_PIECE_BYTES;
    return Math.clamp(whole, SMALLEST_PIECE_BYTES, LARGEST_PIECE_BYTES);
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

  /** Items that a warp takes at once. */
  static long group(long items, long warps) {
    return Math.clamp(items / (warps * ITEMS_PER_WARP), 1, LARGEST_GROUP);
  }

  /** Blocks that find something to do. */
  static int blocks(long items, int most) {
    return (int) Math.min(most, Math.ceilDiv(items, (long) WARPS_PER_BLOCK));
  }
}
