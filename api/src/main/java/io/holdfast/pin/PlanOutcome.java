package io.holdfast.pin;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** A registration plan, or why there is none. A value; nothing has been touched. */
public sealed interface PlanOutcome permits RegistrationPlan, PlanOutcome.Infeasible {
  /**
   * The plan, or an exception with the reason's fields.
   *
   * @return the plan
   * @throws NoPlanException when there is none
   */
  RegistrationPlan orThrow();

  /** Which obstacle forbids a plan. */
  enum Reason {
    /** One block with its padding is larger than the cap. */
    BLOCK_EXCEEDS_CAP,
    /** Block boundaries meet page boundaries only every unit bytes, and a unit exceeds the cap. */
    UNIT_EXCEEDS_CAP,
    /** No block boundary of the plane ever meets a page, because of where the plane starts. */
    PLANE_START_MISALIGNED,
    /** Each plane has cuts, but around a plane's edge two neighbouring cuts are too far apart. */
    EDGE_TOO_FAR
  }

  /**
   * Why no plan exists that never cuts inside a block.
   *
   * @param geometry what was asked
   * @param reason which obstacle forbids it
   * @param afterBytes the offset behind which no legal cut lies within the cap
   * @param widestGapBytes the widest stretch of the whole region without a legal cut
   * @param plane index of the plane that takes most of the stretch behind {@code afterBytes}
   * @param unitBytes least common multiple of that plane's stride and the page; {@link
   *     Long#MAX_VALUE} stands for anything larger
   * @param alternatives geometries near this one for which a plan exists, each tried
   */
  record Infeasible(
      PlanGeometry geometry,
      Reason reason,
      long afterBytes,
      long widestGapBytes,
      int plane,
      long unitBytes,
      List<Alternative> alternatives)
      implements PlanOutcome {
    /** Copies the list. */
    public Infeasible {
      alternatives = List.copyOf(alternatives);
    }

    @Override
    public RegistrationPlan orThrow() {
      throw new NoPlanException(this);
    }

    /**
     * What failed, with the numbers, in one sentence without a full stop.
     *
     * @return the sentence
     */
    public String what() {
      String stretch =
          String.format(
              Locale.ROOT,
              "no cut between blocks lies within the cap of %d bytes behind offset %d",
              geometry.capBytes(),
              afterBytes);
      long stride = geometry.planes().get(plane).strideBytes();
      String why =
          switch (reason) {
            case BLOCK_EXCEEDS_CAP ->
                String.format(Locale.ROOT, "one block takes %d bytes", stride);
            case UNIT_EXCEEDS_CAP ->
                String.format(
                    Locale.ROOT,
                    "strides of %d bytes meet pages of %d bytes only every %s bytes",
                    stride,
                    geometry.backingPageBytes(),
                    unitBytes == Long.MAX_VALUE ? "2^63 or more" : unitBytes);
            case PLANE_START_MISALIGNED ->
                String.format(
                    Locale.ROOT,
                    "from offset %d, strides of %d bytes never meet pages of %d bytes",
                    geometry.planes().get(plane).offsetBytes(),
                    stride,
                    geometry.backingPageBytes());
            case EDGE_TOO_FAR -> "the cuts on both sides of a plane's edge are further apart";
          };
      return String.format(
          Locale.ROOT,
          "%s, because in plane %d %s (widest stretch without a cut: %d bytes)",
          stretch,
          plane,
          why,
          widestGapBytes);
    }

    /**
     * What would work instead, in words.
     *
     * @return the alternatives, separated by semicolons
     */
    public String wouldWork() {
      return alternatives.stream().map(Alternative::describe).collect(Collectors.joining("; "));
    }
  }

  /**
   * A geometry near an infeasible one that has a plan under {@link CutPolicy#NEVER_INSIDE_BLOCK}.
   *
   * @param kind what differs
   * @param bytes the number to change to: the alignment, the first changed plane's stride, the
   *     page, or the cap
   * @param geometry the changed geometry, ready to be planned; planes keep their indices
   */
  record Alternative(Kind kind, long bytes, PlanGeometry geometry) {
    /** What an alternative changes. */
    public enum Kind {
      /** Every plane starts at a multiple of that many bytes; the least such power of two. */
      PLANE_ALIGNMENT,
      /**
       * Strides are less, planes moved up: the largest found by rounding strides to multiples of a
       * power of two. Blocks larger than their new stride are cut down to it.
       */
      SMALLER_STRIDE,
      /** Strides are more: the least found by padding strides to multiples of a power of two. */
      LARGER_STRIDE,
      /** The largest backing page that works; every smaller one does too. At least 4 KiB. */
      BACKING_PAGE,
      /** The least cap that works; every larger one does too. */
      CAP
    }

    /**
     * The alternative in words.
     *
     * @return a short phrase with the number
     */
    public String describe() {
      return switch (kind) {
        case PLANE_ALIGNMENT ->
            String.format(Locale.ROOT, "planes that start at multiples of %d bytes", bytes);
        case SMALLER_STRIDE -> "smaller blocks, at strides of " + strides() + " bytes";
        case LARGER_STRIDE -> "strides of " + strides() + " bytes";
        case BACKING_PAGE -> String.format(Locale.ROOT, "backing pages of at most %d bytes", bytes);
        case CAP -> String.format(Locale.ROOT, "a cap of at least %d bytes", bytes);
      };
    }

    private String strides() {
      return geometry.planes().stream()
          .map(plane -> Long.toString(plane.strideBytes()))
          .distinct()
          .collect(Collectors.joining(" and "));
    }
  }
}
