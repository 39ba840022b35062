package io.holdfast.pin;

import io.holdfast.layout.ByteRange;
import io.holdfast.layout.Plane;
import java.util.Iterator;
import java.util.Locale;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.PrimitiveIterator;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.stream.LongStream;
import java.util.stream.StreamSupport;

/**
 * The legal cuts of a region under a cap and a slice, fixed before the first driver call.
 *
 * <p>A plan holds no list: ranges, cuts and straddling blocks are calculated one at a time, in
 * memory that grows with the number of planes only. One cut costs one or two binary searches among
 * the planes. The ranges cover the region from offset 0 to its mapped end, each is whole backing
 * pages and at most the cap.
 *
 * <p>{@link #ranges()} is the plan as made. Whoever registers may take smaller pieces at run time
 * with {@link #nextCut(long, long)}, which chooses among the same legal cuts and allocates nothing.
 *
 * <p>Immutable; for any number of threads. Plans are equal when geometry and policy are.
 */
public final class RegistrationPlan implements PlanOutcome {
  /** No cut answers the question. */
  public static final long NO_CUT = -1;

  private final PlanGeometry geometry;
  private final CutPolicy policy;
  private final LegalCuts cuts;
  private final long plannedBytes;
  private final long capPageBytes;
  private final long registrations;
  private final long straddlingBlocks;
  private final long longestCallBytes;

  /** For geometries that have a plan under the policy; {@link PlanGeometry#plan} checks. */
  RegistrationPlan(PlanGeometry geometry, CutPolicy policy, LegalCuts cuts) {
    this.geometry = geometry;
    this.policy = policy;
    this.cuts = cuts;
    plannedBytes =
        switch (policy) {
          case NEVER_INSIDE_BLOCK -> geometry.capBytes();
          case INSIDE_BLOCK_IF_NEEDED -> geometry.effectiveSliceBytes();
        };
    capPageBytes = geometry.capPageBytes();
    Walk walk = new Walk(cuts, plannedBytes, geometry.capBytes());
    walk.toEnd();
    registrations = walk.registrations();
    straddlingBlocks = walk.straddling();
    longestCallBytes = walk.longestBytes();
  }

  @Override
  public RegistrationPlan orThrow() {
    return this;
  }

  /**
   * What the plan was made for.
   *
   * @return the geometry
   */
  public PlanGeometry geometry() {
    return geometry;
  }

  /**
   * Where registrations may end.
   *
   * @return the policy
   */
  public CutPolicy policy() {
    return policy;
  }

  /**
   * Where the last range ends.
   *
   * @return bytes of the region
   */
  public long mappedBytes() {
    return geometry.mappedBytes();
  }

  /**
   * The page every cut is a multiple of.
   *
   * @return bytes of the backing page
   */
  public long backingPageBytes() {
    return geometry.backingPageBytes();
  }

  /**
   * The most one driver call may take.
   *
   * @return the cap in bytes
   */
  public long capBytes() {
    return geometry.capBytes();
  }

  /**
   * What one driver call should take: the geometry's slice, at least a backing page and at most the
   * cap. Under {@link CutPolicy#NEVER_INSIDE_BLOCK} the plan goes by the cap instead.
   *
   * @return the slice in bytes
   */
  public long sliceBytes() {
    return geometry.effectiveSliceBytes();
  }

  /**
   * How many ranges the plan has. Known since planning; not counted by iterating.
   *
   * @return the number of ranges, one more than the cuts
   */
  public long registrations() {
    return registrations;
  }

  /**
   * How many of the plan's cuts go through a block or its padding; a block with two cuts counts
   * twice. Known since planning.
   *
   * @return 0 under {@link CutPolicy#NEVER_INSIDE_BLOCK}
   */
  public long straddlingBlocks() {
    return straddlingBlocks;
  }

  /**
   * The longest range of the plan: what one driver call takes at most. Known since planning.
   *
   * @return bytes, at most the cap
   */
  public long longestCallBytes() {
    return longestCallBytes;
  }

  /**
   * The ranges in ascending order, made one at a time.
   *
   * @return an iterable that keeps no list; each iterator starts at offset 0
   */
  public Iterable<ByteRange> ranges() {
    return () ->
        new Iterator<>() {
          private long from;

          @Override
          public boolean hasNext() {
            return from < mappedBytes();
          }

          @Override
          public ByteRange next() {
            if (!hasNext()) {
              throw new NoSuchElementException("all ranges were given");
            }
            long to = planned(from);
            ByteRange range = new ByteRange(from, to - from);
            from = to;
            return range;
          }
        };
  }

  /**
   * The offsets between ranges in ascending order, made one at a time; neither 0 nor the mapped end
   * is among them.
   *
   * @return a sequential, ordered stream that keeps no list
   */
  public LongStream cuts() {
    PrimitiveIterator.OfLong iterator =
        new PrimitiveIterator.OfLong() {
          private long next = planned(0);

          @Override
          public boolean hasNext() {
            return next < mappedBytes();
          }

          @Override
          public long nextLong() {
            if (!hasNext()) {
              throw new NoSuchElementException("all cuts were given");
            }
            long cut = next;
            next = planned(cut);
            return cut;
          }
        };
    return StreamSupport.longStream(
        Spliterators.spliterator(
            iterator,
            registrations - 1,
            Spliterator.ORDERED
                | Spliterator.SORTED
                | Spliterator.DISTINCT
                | Spliterator.NONNULL
                | Spliterator.IMMUTABLE),
        false);
  }

  /**
   * The blocks that lie over a planned cut, in ascending order, made one at a time. Runs of cuts
   * between blocks are passed over in one step, so this is quick however many there are.
   *
   * @return an iterable of {@link #straddlingBlocks()} entries that keeps no list
   */
  public Iterable<Straddling> straddling() {
    return () ->
        new Iterator<>() {
          private final Walk walk = new Walk(cuts, plannedBytes, capBytes());
          private boolean more = walk.toNextStraddling();

          @Override
          public boolean hasNext() {
            return more;
          }

          @Override
          public Straddling next() {
            if (!more) {
              throw new NoSuchElementException("all straddling blocks were given");
            }
            Straddling found = across(walk.at());
            more = walk.toNextStraddling();
            return found;
          }
        };
  }

  /**
   * Where the planned range that starts at an offset ends. Allocates nothing.
   *
   * @param fromBytes where the range starts: 0 or a cut, planned or chosen at run time; below the
   *     mapped end
   * @return a cut, or the mapped end
   * @throws IllegalArgumentException when no range of this plan can start there
   */
  public long nextCut(long fromBytes) {
    checkStart(fromBytes);
    return planned(fromBytes);
  }

  /**
   * Where a range that starts at an offset ends when the caller would rather not take more than
   * some bytes: the furthest legal cut within them, else the first legal cut within the cap, else,
   * where the policy allows it, the last page boundary within the cap. Allocates nothing.
   *
   * @param fromBytes where the range starts: 0 or a cut, planned or chosen at run time; below the
   *     mapped end
   * @param wantedBytes what the range should take at most; positive, and read as the cap where it
   *     is more
   * @return a cut, or the mapped end; never further than the cap
   * @throws IllegalArgumentException when no range of this plan can start there
   */
  public long nextCut(long fromBytes, long wantedBytes) {
    checkStart(fromBytes);
    checkMost(wantedBytes);
    return choose(fromBytes, Math.min(wantedBytes, capBytes()));
  }

  /**
   * The furthest legal cut within some bytes behind an offset. Allocates nothing.
   *
   * @param fromBytes any offset in the region, below the mapped end
   * @param maxBytes most bytes to look ahead; positive
   * @return a cut between blocks, or the mapped end, or {@link #NO_CUT} where none lies so near
   */
  public long furthestCut(long fromBytes, long maxBytes) {
    checkOffset(fromBytes);
    checkMost(maxBytes);
    long remaining = mappedBytes() - fromBytes;
    if (remaining <= maxBytes) {
      return mappedBytes();
    }
    long cut = cuts.atOrBelow(fromBytes + maxBytes);
    return cut > fromBytes ? cut : NO_CUT;
  }

  /**
   * The first legal cut behind an offset. Allocates nothing.
   *
   * @param fromBytes any offset in the region, below the mapped end
   * @return a cut between blocks, or the mapped end
   */
  public long firstCut(long fromBytes) {
    checkOffset(fromBytes);
    return cuts.above(fromBytes);
  }

  /**
   * Whether an offset is a page boundary inside no block and no padding; the region's two ends are.
   * Allocates nothing.
   *
   * @param offsetBytes any offset from 0 to the mapped end
   * @return whether a cut there leaves every block in one range
   */
  public boolean isLegalCut(long offsetBytes) {
    if (offsetBytes != mappedBytes()) {
      checkOffset(offsetBytes);
    }
    return cuts.isLegal(offsetBytes);
  }

  /**
   * The block that lies over an offset: the offset is inside it or its padding, not at its edge.
   *
   * @param offsetBytes any offset from 0 to the mapped end
   * @return the block, or nothing between blocks
   */
  public Optional<Straddling> blockAcross(long offsetBytes) {
    if (offsetBytes == mappedBytes()) {
      return Optional.empty();
    }
    checkOffset(offsetBytes);
    int plane = cuts.planeAt(offsetBytes);
    if (plane < 0 || offsetBytes >= cuts.end(plane)) {
      return Optional.empty();
    }
    return (offsetBytes - cuts.start(plane)) % cuts.stride(plane) == 0
        ? Optional.empty()
        : Optional.of(across(offsetBytes));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof RegistrationPlan plan
        && policy == plan.policy
        && geometry.equals(plan.geometry);
  }

  @Override
  public int hashCode() {
    return 31 * geometry.hashCode() + policy.hashCode();
  }

  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "RegistrationPlan[%s, %d mapped bytes in %d ranges of at most %d bytes, %d block cuts]",
        policy,
        mappedBytes(),
        registrations,
        longestCallBytes,
        straddlingBlocks);
  }

  private long planned(long from) {
    return choose(from, plannedBytes);
  }

  private long choose(long from, long wanted) {
    if (mappedBytes() - from <= wanted) {
      return mappedBytes();
    }
    long furthest = cuts.atOrBelow(from + wanted);
    if (furthest > from) {
      return furthest;
    }
    long first = cuts.above(from);
    return first - from <= capBytes() ? first : from + capPageBytes;
  }

  private Straddling across(long offset) {
    int plane = cuts.planeAt(offset);
    long block = (offset - cuts.start(plane)) / cuts.stride(plane);
    return new Straddling(cuts.index(plane), block, offset);
  }

  private void checkStart(long fromBytes) {
    checkOffset(fromBytes);
    boolean can =
        switch (policy) {
          case NEVER_INSIDE_BLOCK -> cuts.isLegal(fromBytes);
          case INSIDE_BLOCK_IF_NEEDED -> fromBytes % backingPageBytes() == 0;
        };
    if (!can) {
      throw new IllegalArgumentException(
          String.format(
              Locale.ROOT, "no range of %s can start at %d: it is no legal cut", this, fromBytes));
    }
  }

  private void checkOffset(long offsetBytes) {
    if (offsetBytes < 0 || offsetBytes >= mappedBytes()) {
      throw new IllegalArgumentException(
          String.format(
              Locale.ROOT,
              "offset %d is not inside the %d mapped bytes",
              offsetBytes,
              mappedBytes()));
    }
  }

  private static void checkMost(long bytes) {
    if (bytes <= 0) {
      throw new IllegalArgumentException("a range cannot take at most " + bytes + " bytes");
    }
  }

  /**
   * A block over a cut.
   *
   * @param plane index of its plane in {@link PlanGeometry#planes()}
   * @param block which block of that {@link Plane}
   * @param cutBytes the cut
   */
  public record Straddling(int plane, long block, long cutBytes) {}
}
