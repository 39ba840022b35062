package io.holdfast.pin;

import java.util.List;

/**
 * What pinning really did.
 *
 * @param capBytes most bytes of one call, as it was applied
 * @param bounds the known limits that shaped the cap, and those the caller ignored, each with its
 *     reason
 * @param pinModel what registering does to pages here, for example {@code HARD}
 * @param ranges the registrations, in address order
 * @param longestCallNanos the longest driver call so far
 * @param longestPossibleCallBytes the most one driver call still takes: a planned range while
 *     pinning goes on, and the largest registration at close, for a registration cannot be undone
 *     in parts
 * @param notes fallbacks and warnings, each with its reason
 */
public record PinReceipt(
    long capBytes,
    List<String> bounds,
    String pinModel,
    List<PinnedRange> ranges,
    long longestCallNanos,
    long longestPossibleCallBytes,
    List<String> notes) {
  /** Copies. */
  public PinReceipt {
    bounds = List.copyOf(bounds);
    ranges = List.copyOf(ranges);
    notes = List.copyOf(notes);
  }
}
