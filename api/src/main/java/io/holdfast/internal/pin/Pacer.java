package io.holdfast.internal.pin;

/**
 * Sizes driver calls to a budget and says how long to pause between them.
 *
 * <p>A driver's lock is unfair: who calls again at once keeps it, however short the calls. So each
 * call is followed by a pause, and a longer one while copies are in flight. Sizes follow what calls
 * took: they shrink at once and at most double, so that one quick call proves little. Not for
 * several threads at once.
 */
final class Pacer {
  /** The first call; 16 GiB take about half a second, so this takes far less than a budget. */
  static final long FIRST_BYTES = 2L << 20;

  /** Share of the budget that calls aim at, so that those a little slower than the last keep it. */
  private static final double AIM = 0.75;

  private final long budgetNanos;
  private final long pinPauseNanos;
  private final long unpinPauseNanos;
  private long wantedBytes;

  /**
   * Starts small.
   *
   * @param budgetNanos longest a call should take; 0 for no limit
   * @param pinPauseNanos pause behind each call that pins, twice as long while copies are in flight
   * @param unpinPauseNanos likewise behind the calls that unpin and fit into the budget together
   */
  Pacer(long budgetNanos, long pinPauseNanos, long unpinPauseNanos) {
    this.budgetNanos = budgetNanos;
    this.pinPauseNanos = pinPauseNanos;
    this.unpinPauseNanos = unpinPauseNanos;
    this.wantedBytes = budgetNanos == 0 ? Long.MAX_VALUE : FIRST_BYTES;
  }

  /** Longest a call should take. */
  long budgetNanos() {
    return budgetNanos;
  }

  /** What the next call should take; {@link Long#MAX_VALUE} without a budget. */
  long wantedBytes() {
    return wantedBytes;
  }

  /** Learns from a call. */
  void took(long bytes, long nanos) {
    if (budgetNanos == 0) {
      return;
    }
    double fitting = bytes * (AIM * budgetNanos) / Math.max(1, nanos);
    if (fitting >= wantedBytes) {
      // A short call at a region's end or a near cut says nothing about much larger ones.
      wantedBytes = (long) Math.min(2.0 * Math.max(wantedBytes, 1), Math.max(fitting, 1));
    } else {
      wantedBytes = Math.max(1, (long) Math.max(fitting, wantedBytes / 4.0));
    }
  }

  /** Whether a call took longer than it should. */
  boolean isOver(long nanos) {
    return budgetNanos > 0 && nanos > budgetNanos;
  }

  /**
   * Whether one more call as long as the last one is still within what others may have to wait.
   *
   * @param heldNanos calls since the last pause
   * @param lastNanos the last of them
   */
  boolean mayGoOn(long heldNanos, long lastNanos) {
    return budgetNanos > 0 && heldNanos + lastNanos <= budgetNanos;
  }

  /** How long others get the driver's lock after a call that pins. */
  long pinPauseNanos(long copiesInFlight) {
    return stretched(pinPauseNanos, copiesInFlight);
  }

  /** How long others get the driver's lock after calls that unpin. */
  long unpinPauseNanos(long copiesInFlight) {
    return stretched(unpinPauseNanos, copiesInFlight);
  }

  private static long stretched(long pauseNanos, long copiesInFlight) {
    return copiesInFlight > 0 ? 2 * pauseNanos : pauseNanos;
  }
}
