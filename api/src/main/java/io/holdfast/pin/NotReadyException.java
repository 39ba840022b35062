package io.holdfast.pin;

import io.holdfast.error.Category;
import io.holdfast.error.HoldfastException;
import java.io.Serial;
import java.util.OptionalLong;

/** A slot above the watermark was named; nothing was submitted. */
public final class NotReadyException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** The first slot refused. */
  private final long slot;

  /** Usable slots at that moment. */
  private final long readySlots;

  /** The pair that names the slot, or -1. */
  private final long pair;

  /**
   * The slot, and how many are ready.
   *
   * @param slot the first slot refused
   * @param readySlots usable slots at that moment
   */
  public NotReadyException(long slot, long readySlots) {
    this(slot, readySlots, -1);
  }

  /**
   * The slot, how many are ready, and which pair of a submission names it.
   *
   * @param slot the first slot refused
   * @param readySlots usable slots at that moment
   * @param pair index of the pair, or -1
   */
  public NotReadyException(long slot, long readySlots, long pair) {
    super(
        Category.NOT_READY,
        "use of a host slot",
        "slot "
            + slot
            + (pair < 0 ? "" : " (pair " + pair + ")")
            + " is not pinned yet; "
            + readySlots
            + " slots are ready",
        "Wait with awaitSlots(" + (slot + 1) + ")",
        null);
    this.slot = slot;
    this.readySlots = readySlots;
    this.pair = pair;
  }

  /**
   * The first slot refused.
   *
   * @return the slot
   */
  public long slot() {
    return slot;
  }

  /**
   * Usable slots at that moment.
   *
   * @return how many
   */
  public long readySlots() {
    return readySlots;
  }

  /**
   * Which pair of the submission named it.
   *
   * @return the pair's index, or empty outside a submission
   */
  public OptionalLong pair() {
    return pair < 0 ? OptionalLong.empty() : OptionalLong.of(pair);
  }
}
