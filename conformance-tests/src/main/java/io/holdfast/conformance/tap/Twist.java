package io.holdfast.conformance.tap;

import org.jspecify.annotations.Nullable;

/** What becomes of a call. Any thread. */
@FunctionalInterface
public interface Twist {
  /**
   * Answers a call instead of the port.
   *
   * @param call which
   * @param through makes the call, as it is or otherwise
   * @return the answer
   * @throws Throwable the refusal
   */
  @Nullable Object answer(Call call, Through through) throws Throwable;

  /** The port behind. */
  interface Through {
    /**
     * Makes the call as it is.
     *
     * @return the port's answer
     * @throws Throwable the port's refusal
     */
    @Nullable Object go() throws Throwable;

    /**
     * Makes the call with other arguments.
     *
     * @param others as many as the call has
     * @return the port's answer
     * @throws Throwable the port's refusal
     */
    @Nullable Object goWith(Object... others) throws Throwable;
  }
}
