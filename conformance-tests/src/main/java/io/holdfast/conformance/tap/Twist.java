package io.holdfast.conformance.tap;

import org.jspecify.annotations.Nullable;

/** What becomes of a call. Any thread. */
@FunctionalInterface
public interface Twist {
  /**
   * Answers a call instead of the port.
   *
   * @param call which
   * @param through makes the call as it is
   * @return the answer
   * @throws Throwable the refusal
   */
  @Nullable Object answer(Call call, Through through) throws Throwable;

  /** The call as it is. */
  @FunctionalInterface
  interface Through {
    /**
     * Makes it.
     *
     * @return the port's answer
     * @throws Throwable the port's refusal
     */
    @Nullable Object go() throws Throwable;
  }
}
