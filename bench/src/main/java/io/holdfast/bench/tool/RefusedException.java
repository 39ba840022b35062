package io.holdfast.bench.tool;

import java.io.Serial;

/** The command cannot do what was asked; its message is all a reader needs. */
public final class RefusedException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  /**
   * One clear sentence.
   *
   * @param message what and why, and what to do
   */
  public RefusedException(String message) {
    super(message);
  }
}
