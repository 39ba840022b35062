package io.holdfast.internal.portable;

import java.util.concurrent.locks.LockSupport;

/** The Java runtime's own clock, in the port's terms. Any thread. */
public final class Clock {
  private Clock() {}

  /**
   * Reads the clock.
   *
   * @return nanoseconds since some moment
   */
  public static long nanoTime() {
    return System.nanoTime();
  }

  /**
   * Lets at least that much time pass, unless the thread is interrupted; it stays interrupted.
   *
   * @param nanos how long, in nanoseconds
   */
  public static void pause(long nanos) {
    long start = System.nanoTime();
    long left = nanos;
    while (left > 0 && !Thread.currentThread().isInterrupted()) {
      LockSupport.parkNanos(left);
      left = nanos - (System.nanoTime() - start);
    }
  }
}
