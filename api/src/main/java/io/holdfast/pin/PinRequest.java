package io.holdfast.pin;

import io.holdfast.layout.BlockLayout;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * How to pin.
 *
 * @param around blocks that cuts should not go through
 * @param cuts where ranges may end
 * @param sliceBytes what one driver call should take; empty: 256 MiB
 * @param ignoredBounds ids of known driver bounds to ignore, at the caller's risk
 * @param pacing how politely
 * @param onFailure what a refused range means
 */
public record PinRequest(
    Optional<BlockLayout> around,
    CutPolicy cuts,
    OptionalLong sliceBytes,
    Set<String> ignoredBounds,
    PinPacing pacing,
    OnFailure onFailure) {
  /** Checks and copies. */
  public PinRequest {
    Objects.requireNonNull(around, "around");
    Objects.requireNonNull(cuts, "cuts");
    Objects.requireNonNull(pacing, "pacing");
    Objects.requireNonNull(onFailure, "onFailure");
    ignoredBounds = Set.copyOf(ignoredBounds);
    if (sliceBytes.isPresent() && sliceBytes.getAsLong() <= 0) {
      throw new IllegalArgumentException("sliceBytes must be positive: " + sliceBytes.getAsLong());
    }
  }

  /**
   * Whole pages, all or nothing.
   *
   * @return the request
   */
  public static PinRequest strict() {
    return new PinRequest(
        Optional.empty(),
        CutPolicy.INSIDE_BLOCK_IF_NEEDED,
        OptionalLong.empty(),
        Set.of(),
        PinPacing.auto(),
        OnFailure.ROLL_BACK);
  }

  /**
   * A changed copy.
   *
   * @param layout blocks that cuts should not go through, from the memory's start
   * @return the copy
   */
  public PinRequest around(BlockLayout layout) {
    return new PinRequest(Optional.of(layout), cuts, sliceBytes, ignoredBounds, pacing, onFailure);
  }

  /**
   * A changed copy.
   *
   * @param policy where ranges may end
   * @return the copy
   */
  public PinRequest cuts(CutPolicy policy) {
    return new PinRequest(around, policy, sliceBytes, ignoredBounds, pacing, onFailure);
  }

  /**
   * A changed copy.
   *
   * @param bytes what one driver call should take, positive
   * @return the copy
   */
  public PinRequest sliceBytes(long bytes) {
    return new PinRequest(around, cuts, OptionalLong.of(bytes), ignoredBounds, pacing, onFailure);
  }

  /**
   * A changed copy.
   *
   * @param ids of known driver bounds to ignore; the receipt names them
   * @return the copy
   */
  public PinRequest ignoringBounds(Set<String> ids) {
    return new PinRequest(around, cuts, sliceBytes, ids, pacing, onFailure);
  }

  /**
   * A changed copy.
   *
   * @param how how politely
   * @return the copy
   */
  public PinRequest pacing(PinPacing how) {
    return new PinRequest(around, cuts, sliceBytes, ignoredBounds, how, onFailure);
  }

  /**
   * A changed copy.
   *
   * @param meaning what a refused range means
   * @return the copy
   */
  public PinRequest onFailure(OnFailure meaning) {
    return new PinRequest(around, cuts, sliceBytes, ignoredBounds, pacing, meaning);
  }

  /** What a refused range means. */
  public enum OnFailure {
    /** All ranges go back, and an error. */
    ROLL_BACK,
    /** Smaller ranges are tried, each step visible, down to one page; then all go back. */
    HALVE,
    /** What is pinned stays; the rest is unpinned and slots on it are refused, visibly. */
    KEEP_WHAT_WORKED
  }
}
