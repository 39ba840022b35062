package io.holdfast.internal.pin;

import io.holdfast.pin.PinException;
import java.util.Optional;

/** A limit that the operator sets on all pins, read from a system property at plan time. */
final class PinBudget {
  /** Most bytes that may be pinned; absent for no limit. */
  static final String PROPERTY = "holdfast.pin.budgetBytes";

  private final String backendId;

  PinBudget(String backendId) {
    this.backendId = backendId;
  }

  /** Refuses what would exceed the budget. */
  void require(long taken, long more) {
    String text = System.getProperty(PROPERTY);
    if (text == null) {
      return;
    }
    long budget = parse(text);
    if (more > budget - Math.min(taken, budget)) {
      throw new PinException(
          PinException.Reason.HOST_BUDGET,
          0,
          more,
          Optional.empty(),
          "%s: %d bytes are pinned or about to be, %d more exceed the budget of %d"
              .formatted(backendId, taken, more, budget),
          "Pin less, or raise the system property " + PROPERTY,
          null);
    }
  }

  private static long parse(String text) {
    try {
      long bytes = Long.parseLong(text.strip());
      if (bytes >= 0) {
        return bytes;
      }
    } catch (NumberFormatException _) {
      // said below
    }
    throw new IllegalArgumentException(
        "the system property " + PROPERTY + " must be a number of bytes, not '" + text + "'");
  }
}
