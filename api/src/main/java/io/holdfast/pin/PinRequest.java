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
 * @param capBytes what one driver call may take at most, where known bounds allow more; empty: the
 *     bounds alone
 * @param ignoredBounds ids of known driver bounds to ignore, at the caller's risk
 * @param pacing how politely
 * @param onFailure what a refused range means
 */
public record PinRequest(
    Optional<BlockLayout> around,
    CutPolicy cuts,
    OptionalLong sliceBytes,
    OptionalLong capBytes,
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
    if (capBytes.isPresent() && capBytes.getAsLong() <= 0) {
      throw new IllegalArgumentException("capBytes must be positive: " + capBytes.getAsLong());
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
    return new PinRequest(
        Optional.of(layout), cuts, sliceBytes, capBytes, ignoredBounds, pacing, onFailure);
  }

  /**
   * A changed copy.
   *
   * @param policy where ranges may end
   * @return the copy
   */
  public PinRequest cuts(CutPolicy policy) {
    return new PinRequest(around, policy, sliceBytes, capBytes, ignoredBounds, pacing, onFailure);
  }

  /**
   * A changed copy.
   *
   * @param bytes what one driver call should take, at least one backing page
   * @return the copy
   */
  public PinRequest sliceBytes(long bytes) {
    return new PinRequest(
        around, cuts, OptionalLong.of(bytes), capBytes, ignoredBounds, pacing, onFailure);
  }

  /**
   * A changed copy.
   *
   * @param bytes what one driver call may take at most, at least one backing page
   * @return the copy
   */
  public PinRequest capBytes(long bytes) {
    return new PinRequest(
        around, cuts, sliceBytes, OptionalLong.of(bytes), ignoredBounds, pacing, onFailure);
  }

  /**
   * A changed copy.
   *
   * @param ids of known driver bounds to ignore; the receipt names them
   * @return the copy
   */
  public PinRequest ignoringBounds(Set<String> ids) {
    return new PinRequest(around, cuts, sliceBytes, capBytes, ids, pacing, onFailure);
  }

  /**
   * A changed copy.
   *
   * @param how how politely
   * @return the copy
   */
  public PinRequest pacing(PinPacing how) {
    return new PinRequest(around, cuts, sliceBytes, capBytes, ignoredBounds, how, onFailure);
  }

  /**
   * A changed copy.
   *
   * @param meaning what a refused range means
   * @return the copy
   */
  public PinRequest onFailure(OnFailure meaning) {
    return new PinRequest(around, cuts, sliceBytes, capBytes, ignoredBounds, pacing, meaning);
  }

  /** What a refused range means. */
  public enum OnFailure {
    /**
     * All ranges go back, and an error. What stands on ranges that were usable already is closed
     * first; where that is refused because something is in the caller's hands, they stay until
     * closed.
     */
    ROLL_BACK,
    /**
     * Half the range is tried, again and again, each step visible, down to the nearest legal cut;
     * then all go back.
     */
    HALVE,
    /** What is pinned stays; the rest is unpinned and slots on it are refused, visibly. */
    KEEP_WHAT_WORKED
  }
}
