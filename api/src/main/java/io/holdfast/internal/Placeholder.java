package io.holdfast.internal;

import io.holdfast.error.UnsupportedException;

/** What a room answers until it is filled; must be gone when the last one is. */
public final class Placeholder {
  private Placeholder() {}

  /**
   * The answer.
   *
   * @return an exception
   */
  public static UnsupportedException here() {
    return new UnsupportedException("this room", "it is not filled yet", "");
  }

  /**
   * The answer, thrown.
   *
   * @param <T> whatever fits
   * @return never
   */
  @SuppressWarnings("TypeParameterUnusedInFormals") // goes with the last placeholder
  public static <T> T value() {
    if (Placeholder.class.desiredAssertionStatus()) {
      throw new AssertionError("not filled yet");
    }
    throw here();
  }
}
