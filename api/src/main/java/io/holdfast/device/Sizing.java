package io.holdfast.device;

import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.Bytes;
import io.holdfast.layout.Plane;

/**
 * Arithmetic of extensible memory, without a device. Every method is pure.
 *
 * <p>Each row of a capacity ({@link BlockLayout#rows()}) is a segment with addresses of its own
 * that start on a granule, so n blocks take {@code n * stride} bytes of each, rounded up to whole
 * granules. Numbers of blocks are those of one rank: ranks that work in step must all commit the
 * smallest of theirs, and taking that minimum is the caller's.
 */
public final class Sizing {
  /** The smallest physical allocation: drivers with finer granules lose speed below it. */
  private static final long LEAST_GRANULE_BYTES = Bytes.mib(2);

  /** Least that is left free while an engine still warms up. */
  private static final long LEAST_WARM_UP_MARGIN_BYTES = Bytes.gib(1);

  private Sizing() {}

  /**
   * What physical memory is taken in, given a driver's own granule: at least 2 MiB.
   *
   * @param driverGranuleBytes the driver's own, positive
   * @return a multiple of the driver's own
   */
  public static long granuleBytes(long driverGranuleBytes) {
    requirePositive("granule", driverGranuleBytes);
    return Bytes.roundUp(Math.max(driverGranuleBytes, LEAST_GRANULE_BYTES), driverGranuleBytes);
  }

  /**
   * Whole granules under that many blocks, over all segments.
   *
   * @param capacity the layout at its largest
   * @param blocks 0 to the capacity's number
   * @param granuleBytes what physical memory is a multiple of
   * @return bytes
   */
  public static long physicalBytes(BlockLayout capacity, long blocks, long granuleBytes) {
    requireBlocks(capacity, blocks);
    requirePositive("granule", granuleBytes);
    long bytes = 0;
    for (Plane row : capacity.rows()) {
      bytes = Math.addExact(bytes, segmentBytes(row, blocks, granuleBytes));
    }
    return bytes;
  }

  private static long segmentBytes(Plane row, long blocks, long granuleBytes) {
    return Bytes.roundUp(Math.multiplyExact(blocks, row.strideBytes()), granuleBytes);
  }

  /**
   * Bytes of one block over all segments, padding inside rows included.
   *
   * @param capacity the layout at its largest
   * @return the sum of the segments' strides
   */
  public static long bytesPerBlock(BlockLayout capacity) {
    long bytes = 0;
    for (Plane row : capacity.rows()) {
      bytes = Math.addExact(bytes, row.strideBytes());
    }
    return bytes;
  }

  /**
   * Numbers of blocks that are a multiple of this waste no byte of a granule.
   *
   * @param capacity the layout at its largest
   * @param granuleBytes what physical memory is a multiple of
   * @return the least such step; it can exceed the capacity
   */
  public static long blocksPerGranuleStep(BlockLayout capacity, long granuleBytes) {
    requirePositive("granule", granuleBytes);
    long step = 1; // always a divisor of the granule, so that nothing can overflow
    for (Plane row : capacity.rows()) {
      long own = granuleBytes / gcd(granuleBytes, row.strideBytes());
      step = step / gcd(step, own) * own;
    }
    return step;
  }

  /**
   * The most blocks, not above a number, that waste no byte of a granule.
   *
   * @param capacity the layout at its largest
   * @param blocks 0 to the capacity's number
   * @param granuleBytes what physical memory is a multiple of
   * @return a multiple of {@link #blocksPerGranuleStep}; 0 where the number is below one step
   */
  public static long alignedBlocks(BlockLayout capacity, long blocks, long granuleBytes) {
    requireBlocks(capacity, blocks);
    return Bytes.roundDown(blocks, blocksPerGranuleStep(capacity, granuleBytes));
  }

  /**
   * Most blocks whose granules fit; for a measured budget as for a fixed one. The minimum over
   * ranks is the caller's to take.
   *
   * @param capacity the layout at its largest
   * @param budgetBytes physical bytes that may be taken; none fit where it is negative
   * @param granuleBytes what physical memory is a multiple of
   * @return 0 to the capacity's number
   */
  public static long blocksWithin(BlockLayout capacity, long budgetBytes, long granuleBytes) {
    requirePositive("granule", granuleBytes);
    if (budgetBytes <= 0) {
      return 0;
    }
    long fits = 0;
    long tooMany = Math.min(capacity.blocks(), budgetBytes / bytesPerBlock(capacity)) + 1;
    while (tooMany - fits > 1) {
      long middle = fits + (tooMany - fits) / 2;
      if (physicalBytes(capacity, middle, granuleBytes) <= budgetBytes) {
        fits = middle;
      } else {
        tooMany = middle;
      }
    }
    return fits;
  }

  /**
   * Most blocks that fit and waste no byte of a granule. The minimum over ranks is the caller's to
   * take; the minimum of such numbers is such a number.
   *
   * @param capacity the layout at its largest
   * @param budgetBytes physical bytes that may be taken; none fit where it is negative
   * @param granuleBytes what physical memory is a multiple of
   * @return a multiple of {@link #blocksPerGranuleStep}, not above the capacity's number
   */
  public static long alignedBlocksWithin(
      BlockLayout capacity, long budgetBytes, long granuleBytes) {
    requirePositive("granule", granuleBytes);
    if (budgetBytes <= 0) {
      return 0;
    }
    long most = Math.min(capacity.blocks(), budgetBytes / bytesPerBlock(capacity));
    return alignedBlocks(capacity, most, granuleBytes);
  }

  /**
   * Blocks that may be committed while the engine still warms up: generous room stays free for what
   * is not measured yet.
   *
   * <p>The headroom is what is free and what the region holds. A tenth of it, or what the caller
   * keeps back where that is more, stays free as a reserve, and three quarters of the reserve, at
   * least 1 GiB, as a margin. The minimum over ranks is the caller's to take: a rank that skips a
   * step of warm-up leaves the others hanging in a collective.
   *
   * @param capacity the layout at its largest
   * @param freeBytes free device memory now
   * @param committed what the region holds now
   * @param keptBackBytes what the caller wants to stay free in any case
   * @param granuleBytes what physical memory is a multiple of
   * @return not below what is committed and not above the capacity
   */
  public static long blocksDuringWarmUp(
      BlockLayout capacity,
      long freeBytes,
      CommittedExtent committed,
      long keptBackBytes,
      long granuleBytes) {
    requireNotNegative("free bytes", freeBytes);
    requireNotNegative("bytes kept back", keptBackBytes);
    long headroom = Math.addExact(freeBytes, committed.physicalBytes());
    long reserve = Math.max(keptBackBytes, headroom / 10);
    long margin = Math.max(LEAST_WARM_UP_MARGIN_BYTES, reserve - reserve / 4);
    long budget = headroom - reserve - margin; // above -2^63: both are positive longs
    return Math.max(committed.blocks(), blocksWithin(capacity, budget, granuleBytes));
  }

  /**
   * Bytes left for blocks after all warm-up.
   *
   * <p>What an engine may use in all, less what it uses beside blocks and less its short-lived
   * peak; but not more than the device has room for when the margin stays free. The margin limits
   * physical memory only: a budget that leaves as much free anyhow is not made smaller.
   *
   * @param measured what warm-up showed
   * @return never negative
   */
  public static long finalBudget(WarmUp measured) {
    long allowed = Math.subtractExact(measured.requestedBytes(), measured.otherBytes());
    long room =
        Math.subtractExact(
            Math.addExact(measured.freeNowBytes(), measured.committedBytes()),
            measured.marginBytes());
    return Math.max(0, Math.subtractExact(Math.min(allowed, room), measured.transientPeakBytes()));
  }

  private static long gcd(long a, long b) {
    return b == 0 ? a : gcd(b, a % b);
  }

  private static void requireBlocks(BlockLayout capacity, long blocks) {
    if (blocks < 0 || blocks > capacity.blocks()) {
      throw new IllegalArgumentException(
          blocks + " blocks are not between 0 and the capacity of " + capacity.blocks());
    }
  }

  private static void requirePositive(String what, long bytes) {
    if (bytes <= 0) {
      throw new IllegalArgumentException("a " + what + " must be positive, not " + bytes);
    }
  }

  private static void requireNotNegative(String what, long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException(what + " must not be negative: " + bytes);
    }
  }

  /**
   * What warm-up showed.
   *
   * @param requestedBytes what the engine may use of the device in all
   * @param freeAtStartBytes free before the engine took anything
   * @param freeNowBytes free after all warm-up
   * @param committedBytes physical bytes of the region now
   * @param transientPeakBytes highest short-lived use above what stays
   * @param marginFloorBytes least to leave free
   * @param marginPercentOfPeak the margin as a share of the peak, where that is more than the
   *     floor; loads have been seen to need 45 percent above the measured peak
   */
  public record WarmUp(
      long requestedBytes,
      long freeAtStartBytes,
      long freeNowBytes,
      long committedBytes,
      long transientPeakBytes,
      long marginFloorBytes,
      int marginPercentOfPeak) {
    /** Checks that nothing is negative. */
    public WarmUp {
      requireNotNegative("requestedBytes", requestedBytes);
      requireNotNegative("freeAtStartBytes", freeAtStartBytes);
      requireNotNegative("freeNowBytes", freeNowBytes);
      requireNotNegative("committedBytes", committedBytes);
      requireNotNegative("transientPeakBytes", transientPeakBytes);
      requireNotNegative("marginFloorBytes", marginFloorBytes);
      requireNotNegative("marginPercentOfPeak", marginPercentOfPeak);
    }

    /**
     * From two looks at the device: before the engine took anything, and after all warm-up. Free
     * memory is counted over the whole device, so what other processes took meanwhile counts as the
     * engine's.
     *
     * @param requestedBytes what the engine may use of the device in all
     * @param atStart the first look
     * @param now the second
     * @param committed what the region holds at the second
     * @return the measurement, without a peak and without a margin
     */
    public static WarmUp between(
        long requestedBytes, MemoryInfo atStart, MemoryInfo now, CommittedExtent committed) {
      return new WarmUp(
          requestedBytes, atStart.freeBytes(), now.freeBytes(), committed.physicalBytes(), 0, 0, 0);
    }

    /**
     * A changed copy.
     *
     * @param bytes highest short-lived use above what stays
     * @return the copy
     */
    public WarmUp peak(long bytes) {
      return new WarmUp(
          requestedBytes,
          freeAtStartBytes,
          freeNowBytes,
          committedBytes,
          bytes,
          marginFloorBytes,
          marginPercentOfPeak);
    }

    /**
     * A changed copy.
     *
     * @param floorBytes least to leave free
     * @param percentOfPeak the margin as a share of the peak, where that is more
     * @return the copy
     */
    public WarmUp margin(long floorBytes, int percentOfPeak) {
      return new WarmUp(
          requestedBytes,
          freeAtStartBytes,
          freeNowBytes,
          committedBytes,
          transientPeakBytes,
          floorBytes,
          percentOfPeak);
    }

    /**
     * Device memory in use beside the region's blocks: weights, graphs, workspaces, libraries.
     *
     * @return bytes; negative where memory was given back since the start
     */
    public long otherBytes() {
      return freeAtStartBytes - freeNowBytes - committedBytes;
    }

    /**
     * What shall stay free.
     *
     * @return the floor, or the share of the peak where that is more
     */
    public long marginBytes() {
      long share = Math.ceilDiv(Math.multiplyExact(transientPeakBytes, marginPercentOfPeak), 100);
      return Math.max(marginFloorBytes, share);
    }
  }
}
