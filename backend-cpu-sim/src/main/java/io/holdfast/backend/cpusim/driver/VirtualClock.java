package io.holdfast.backend.cpusim.driver;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Time that passes only when somebody says so: a pause moves it and returns at once. Any thread.
 */
public final class VirtualClock implements SimClock {
  private final AtomicLong now = new AtomicLong();

  /** A clock at zero. */
  public VirtualClock() {}

  @Override
  public long nanoTime() {
    return now.get();
  }

  @Override
  public void pause(long nanos) {
    if (nanos > 0) {
      now.addAndGet(nanos);
    }
  }
}
