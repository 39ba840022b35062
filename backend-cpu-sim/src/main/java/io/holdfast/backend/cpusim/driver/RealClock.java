package io.holdfast.backend.cpusim.driver;

import java.util.concurrent.locks.LockSupport;

/** The clock of the world outside. */
final class RealClock implements SimClock {
  static final RealClock INSTANCE = new RealClock();

  private RealClock() {}

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  @Override
  public void pause(long nanos) {
    long start = System.nanoTime();
    long left = nanos;
    while (left > 0 && !Thread.currentThread().isInterrupted()) {
      LockSupport.parkNanos(left);
      left = nanos - (System.nanoTime() - start);
    }
  }
}
