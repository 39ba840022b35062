package io.holdfast.internal.tree;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Counts uses that must end before something may go. Entering and leaving cost some nanoseconds and
 * allocate nothing; a gate that was shut lets nobody in, and can be opened again.
 */
public final class UseCount {
  private static final long SHUT = 1L << 62;

  private final AtomicLong state = new AtomicLong();

  /** Open, and unused. */
  public UseCount() {}

  /**
   * One more use.
   *
   * @return false when the gate is shut
   */
  public boolean tryEnter() {
    long now;
    do {
      now = state.get();
      if ((now & SHUT) != 0) {
        return false;
      }
    } while (!state.compareAndSet(now, now + 1));
    return true;
  }

  /** One use less. */
  public void leave() {
    state.decrementAndGet();
  }

  /** Lets nobody in from now on. */
  public void shut() {
    state.getAndUpdate(now -> now | SHUT);
  }

  /** Lets others in again. */
  public void reopen() {
    state.getAndUpdate(now -> now & ~SHUT);
  }

  /**
   * Uses that have not ended.
   *
   * @return how many
   */
  public long uses() {
    return state.get() & ~SHUT;
  }

  /**
   * Whether the gate is shut.
   *
   * @return true when nobody is let in
   */
  public boolean isShut() {
    return (state.get() & SHUT) != 0;
  }

  /**
   * Waits until no use is left; parks, so a virtual thread gives up its carrier.
   *
   * @param nanos how long at most
   * @return whether none is left
   */
  public boolean awaitUnused(long nanos) {
    long deadline = System.nanoTime() + nanos;
    long pause = 1_000;
    boolean interrupted = false;
    try {
      while (uses() > 0) {
        if (System.nanoTime() - deadline >= 0) {
          return false;
        }
        LockSupport.parkNanos(pause);
        interrupted |= Thread.interrupted();
        pause = Math.min(2 * pause, 200_000);
      }
      return true;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
