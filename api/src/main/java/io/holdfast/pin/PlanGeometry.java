package io.holdfast.pin;

import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.Bytes;
import io.holdfast.layout.OverlapException;
import io.holdfast.layout.Plane;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * What a registration plan is made for: a region, its pages, two bounds on one driver call, and the
 * blocks inside.
 *
 * <p>Planes are disjoint extents in any order. Padding between a plane's block and its stride
 * counts as block for cutting; behind the last block it counts as far as neither another plane nor
 * the region's end comes first. Planes that lie through one another, like the parts of block-major
 * rows, are folded by {@link BlockLayout#rows()}; {@link #of(long, long, long, BlockLayout)} does
 * so.
 *
 * @param mappedBytes bytes of the region; whole backing pages, at least one
 * @param backingPageBytes the page that really backs the region, a power of two; every cut is a
 *     multiple
 * @param capBytes most bytes one driver call may take; at least one backing page
 * @param sliceBytes bytes one driver call should take where the policy leaves a choice; positive,
 *     and read as one backing page where it is less, as the cap where it is more
 * @param planes the blocks inside the region; none is fine
 */
public record PlanGeometry(
    long mappedBytes, long backingPageBytes, long capBytes, long sliceBytes, List<Plane> planes) {
  /** The slice when none is given: 256 MiB, a few milliseconds of one driver call. */
  public static final long DEFAULT_SLICE_BYTES = 256L << 20;

  /**
   * Copies the list and checks the numbers.
   *
   * @throws OverlapException when two planes share or enclose bytes of each other
   */
  public PlanGeometry {
    planes = List.copyOf(planes);
    if (backingPageBytes <= 0 || Long.bitCount(backingPageBytes) != 1) {
      throw new IllegalArgumentException(
          "a backing page of " + backingPageBytes + " bytes is not a power of two");
    }
    if (mappedBytes <= 0 || mappedBytes % backingPageBytes != 0) {
      throw new IllegalArgumentException(
          String.format(
              Locale.ROOT,
              "%d mapped bytes are not a positive number of backing pages of %d bytes",
              mappedBytes,
              backingPageBytes));
    }
    if (capBytes < backingPageBytes) {
      throw new IllegalArgumentException(
          String.format(
              Locale.ROOT,
              "a cap of %d bytes is less than one backing page of %d bytes",
              capBytes,
              backingPageBytes));
    }
    if (sliceBytes <= 0) {
      throw new IllegalArgumentException("a slice of " + sliceBytes + " bytes is not positive");
    }
    int previous = -1;
    for (int plane : ascending(planes)) {
      if (planes.get(plane).endBytes() > mappedBytes) {
        throw new IllegalArgumentException(
            String.format(
                Locale.ROOT,
                "plane %d ends at %d, behind the %d mapped bytes",
                plane,
                planes.get(plane).endBytes(),
                mappedBytes));
      }
      if (previous >= 0 && planes.get(plane).offsetBytes() < planes.get(previous).endBytes()) {
        throw new OverlapException(
            previous,
            planes.get(previous),
            plane,
            planes.get(plane),
            "planes of a plan must be disjoint; BlockLayout.rows() folds block-major parts");
      }
      previous = plane;
    }
  }

  /**
   * A geometry with the default slice.
   *
   * @param mappedBytes bytes of the region; whole backing pages
   * @param backingPageBytes the page that backs it, a power of two
   * @param capBytes most bytes of one driver call; at least one page
   * @param planes disjoint planes of blocks
   * @return the geometry
   */
  public static PlanGeometry of(
      long mappedBytes, long backingPageBytes, long capBytes, List<Plane> planes) {
    return new PlanGeometry(mappedBytes, backingPageBytes, capBytes, DEFAULT_SLICE_BYTES, planes);
  }

  /**
   * A geometry with the default slice around the blocks of a layout, its interleaved planes folded
   * into rows.
   *
   * @param mappedBytes bytes of the region; whole backing pages
   * @param backingPageBytes the page that backs it, a power of two
   * @param capBytes most bytes of one driver call; at least one page
   * @param layout the blocks, from the region's start
   * @return the geometry
   */
  public static PlanGeometry of(
      long mappedBytes, long backingPageBytes, long capBytes, BlockLayout layout) {
    return of(mappedBytes, backingPageBytes, capBytes, layout.rows());
  }

  /**
   * The same geometry under another cap.
   *
   * @param bytes most bytes of one driver call; at least one page
   * @return a changed copy
   */
  public PlanGeometry withCap(long bytes) {
    return new PlanGeometry(mappedBytes, backingPageBytes, bytes, sliceBytes, planes);
  }

  /**
   * The same geometry with another slice.
   *
   * @param bytes bytes one driver call should take; positive
   * @return a changed copy
   */
  public PlanGeometry withSlice(long bytes) {
    return new PlanGeometry(mappedBytes, backingPageBytes, capBytes, bytes, planes);
  }

  /**
   * The plan under a policy, or why there is none.
   *
   * <p>Pure arithmetic; time and memory grow with the number of planes, never with bytes, blocks or
   * registrations. {@link CutPolicy#INSIDE_BLOCK_IF_NEEDED} always gives a {@link
   * RegistrationPlan}.
   *
   * @param policy where registrations may end
   * @return a {@link RegistrationPlan}, or a {@link PlanOutcome.Infeasible} with the numbers
   */
  public PlanOutcome plan(CutPolicy policy) {
    LegalCuts cuts = new LegalCuts(this);
    return switch (policy) {
      case INSIDE_BLOCK_IF_NEEDED -> new RegistrationPlan(this, policy, cuts);
      case NEVER_INSIDE_BLOCK -> {
        Stretches stretches = new Stretches(cuts, capBytes);
        yield stretches.allWithinCap()
            ? new RegistrationPlan(this, policy, cuts)
            : Infeasibility.explain(this, cuts, stretches);
      }
    };
  }

  /**
   * What registering without regard for blocks would do: a cut at every multiple of the whole pages
   * within the cap.
   *
   * <p>Closed form; time grows with the number of planes only.
   *
   * @return the number of registrations and of cuts that go through a block
   */
  public PageCuts pageCutsOnly() {
    return PageCuts.of(this, new LegalCuts(this));
  }

  /** Indices of the planes in ascending order of their offsets. */
  static List<Integer> ascending(List<Plane> planes) {
    List<Integer> order = new ArrayList<>(planes.size());
    for (int plane = 0; plane < planes.size(); plane++) {
      order.add(plane);
    }
    order.sort(Comparator.comparingLong(plane -> planes.get(plane).offsetBytes()));
    return order;
  }

  /** The slice in force: at least a page, at most the cap. */
  long effectiveSliceBytes() {
    return Math.min(capBytes, Math.max(sliceBytes, backingPageBytes));
  }

  /** Whole backing pages within the cap, in bytes. */
  long capPageBytes() {
    return Bytes.roundDown(capBytes, backingPageBytes);
  }
}
