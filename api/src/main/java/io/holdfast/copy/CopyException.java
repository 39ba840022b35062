package io.holdfast.copy;

import io.holdfast.error.DriverException;
import io.holdfast.error.HoldfastException;
import java.io.Serial;
import java.util.OptionalLong;

/** A submission failed; the destination's bytes are undefined. */
public final class CopyException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** The pair, or -1. */
  private final long pair;

  /**
   * The driver's answer and the pair it names.
   *
   * @param cause the driver's answer
   * @param detail addresses and sizes of the descriptor where known; may be empty
   * @param pair index of the pair, or -1
   */
  public CopyException(DriverException cause, String detail, long pair) {
    super(
        cause.category(),
        cause.operation(),
        "a copy failed"
            + (pair < 0 ? "" : " at pair " + pair)
            + (detail.isEmpty() ? "" : " (" + detail + ")")
            + ": "
            + cause.getMessage(),
        "",
        cause);
    this.pair = pair;
  }

  /**
   * Which pair, where the driver says.
   *
   * @return the pair's index, or empty
   */
  public OptionalLong pair() {
    return pair < 0 ? OptionalLong.empty() : OptionalLong.of(pair);
  }
}
