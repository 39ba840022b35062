package io.holdfast.internal.core;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;

/**
 * One platform thread per device that looks whether work is done. It sleeps while nothing is
 * outstanding; a wake-up costs the submitter one volatile read when the thread is awake.
 *
 * <p>Between looks it pauses for a small share of the time that nothing has ended: what has ended
 * is seen within that share of its own time, and long work costs few looks.
 */
public final class Poller implements AutoCloseable {
  private static final long SPIN_NANOS = 20_000;
  private static final long SHORTEST_PAUSE_NANOS = 5_000;
  private static final long LONGEST_PAUSE_NANOS = 100_000;
  private static final int PAUSES = 100;

  private final List<Watched> watched = new CopyOnWriteArrayList<>();
  private final Thread thread;
  private volatile boolean asleep;
  private volatile boolean closed;

  /**
   * Starts the thread.
   *
   * @param name of the thread
   * @param first what the thread does before it looks
   */
  public Poller(String name, Runnable first) {
    thread = Thread.ofPlatform().name("holdfast-poll-" + name).daemon().start(() -> run(first));
  }

  /**
   * Looks at this from now on; done once for each stream, not for each submission.
   *
   * @param one what to look at
   */
  public void add(Watched one) {
    watched.add(one);
    wake();
  }

  /**
   * Looks no longer.
   *
   * @param one what was added
   */
  public void remove(Watched one) {
    watched.remove(one);
  }

  /** Something was submitted. */
  public void wake() {
    if (asleep) {
      LockSupport.unpark(thread);
    }
  }

  /** Ends the thread and waits for it. */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
    boolean interrupted = false;
    while (thread.isAlive() && Thread.currentThread() != thread) {
      try {
        thread.join();
      } catch (InterruptedException _) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void run(Runnable first) {
    try {
      first.run();
    } catch (RuntimeException refused) { // it looks all the same
    }
    run();
  }

  private void run() {
    long idleSince = System.nanoTime();
    while (!closed) {
      int progress = look();
      if (progress > 0) {
        idleSince = System.nanoTime();
      } else if (progress < 0) { // nothing outstanding
        asleep = true;
        if (look() < 0 && !closed) {
          LockSupport.park(this);
        }
        asleep = false;
        idleSince = System.nanoTime();
      } else {
        long idle = System.nanoTime() - idleSince;
        if (idle < SPIN_NANOS) {
          Thread.onSpinWait();
        } else {
          LockSupport.parkNanos(
              this, Math.clamp(idle / PAUSES, SHORTEST_PAUSE_NANOS, LONGEST_PAUSE_NANOS));
        }
      }
    }
  }

  /** Positive: something ended; 0: something is outstanding; negative: nothing is. */
  private int look() {
    int sum = -1;
    for (Watched one : watched) {
      int progress = one.poll();
      sum = Math.max(sum, progress);
    }
    return sum;
  }

  /** Something that ends in its own time. */
  @FunctionalInterface
  public interface Watched {
    /**
     * Looks once, and completes what has ended. Never blocks and never throws.
     *
     * @return positive: something ended; 0: something is outstanding; negative: nothing is
     */
    int poll();
  }
}
