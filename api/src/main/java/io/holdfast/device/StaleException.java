package io.holdfast.device;

import io.holdfast.error.Category;
import io.holdfast.error.HoldfastException;
import java.io.Serial;

/** Pages were exchanged under a fixed view since it was made. */
public final class StaleException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** When the view was made. */
  private final long seenEpoch;

  /** Now. */
  private final long epoch;

  /**
   * The epoch of the view and the region's.
   *
   * @param seenEpoch when the view was made
   * @param epoch now
   */
  public StaleException(long seenEpoch, long epoch) {
    super(
        Category.STALE,
        "use of a fixed view",
        "pages were exchanged under this view: it was made in epoch "
            + seenEpoch
            + ", the region is in epoch "
            + epoch,
        "Ask the region for a new view",
        null);
    this.seenEpoch = seenEpoch;
    this.epoch = epoch;
  }

  /**
   * When the view was made.
   *
   * @return the epoch
   */
  public long seenEpoch() {
    return seenEpoch;
  }

  /**
   * Now.
   *
   * @return the epoch
   */
  public long epoch() {
    return epoch;
  }
}
