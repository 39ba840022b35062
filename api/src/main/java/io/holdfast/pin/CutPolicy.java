package io.holdfast.pin;

/** Where registrations may end. Every cut is a multiple of the backing page under either policy. */
public enum CutPolicy {
  /**
   * Between blocks only: each registration ends at the furthest such place within the cap. There is
   * no plan where two such places are further apart than the cap.
   */
  NEVER_INSIDE_BLOCK,
  /**
   * Between blocks wherever the cap allows it: at the furthest such place within the slice, else at
   * the first one within the cap, else at the last page boundary within the cap, inside a block.
   * Copies of that block are split at the cut. There always is a plan.
   */
  INSIDE_BLOCK_IF_NEEDED
}
