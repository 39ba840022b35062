package io.holdfast.backend.cpusim.driver;

/** The machine's time. Implementations are safe from any thread. */
public interface SimClock {
  /**
   * Reads the clock.
   *
   * @return nanoseconds since a moment of its own; never goes back
   */
  long nanoTime();

  /**
   * Lets at least that much time pass for the calling thread.
   *
   * @param nanos how long; nothing happens for zero or less
   */
  void pause(long nanos);

  /**
   * The clock of the world outside.
   *
   * @return the clock
   */
  static SimClock real() {
    return RealClock.INSTANCE;
  }
}
