package io.holdfast.pin;

import io.holdfast.error.Category;
import io.holdfast.error.HoldfastException;
import java.io.Serial;

/** A slot above the watermark was named; nothing was submitted. */
public final class NotReadyException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** The first slot refused. */
  private final long slot;

  /** Usable slots at that moment. */
  private final long readySlots;

  /**
   * The slot, and how many are ready.
   *
   * @param slot the first slot refused
   * @param readySlots usable slots at that moment
   */
  public NotReadyException(long slot, long readySlots) {
    super(
        Category.NOT_READY,
        "use of a host slot",
        "slot " + slot + " is not pinned yet; " + readySlots + " slots are ready",
        "Wait with awaitSlots(" + (slot + 1) + ")",
        null);
    this.slot = slot;
    this.readySlots = readySlots;
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
}
