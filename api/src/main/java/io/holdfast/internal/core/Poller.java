package io.holdfast.internal.core;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;

/**
 * One platform thread per device that looks whether work is done. It sleeps while nothing is
 * outstanding; a wake-up costs the submitter one volatile read when the thread is awake.
 */
public final class Poller implements AutoCloseable {
  private static final long SPIN_NANOS = 20_000;
  private static final long LONGEST_PAUSE_NANOS = 100_000;

  private final List<Watched> watched = new CopyOnWriteArrayList<>();
  private final Thread thread;
  private volatile boolean asleep;
  private volatile boolean closed;

  /**
   * Starts the thread.
   *
   * @param name of the thread
   */
  public Poller(String name) {
    thread = Thread.ofPlatform().name("holdfast-poll-" + name).daemon().start(this::run);
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

  private void run() {
    long pause = 0;
    long idleSince = System.nanoTime();
    while (!closed) {
      int progress = look();
      if (progress > 0) {
        pause = 0;
        idleSince = System.nanoTime();
      } else if (progress < 0) { // nothing outstanding
        asleep = true;
        if (look() < 0 && !closed) {
          LockSupport.park(this);
        }
        asleep = false;
        pause = 0;
        idleSince = System.nanoTime();
      } else if (System.nanoTime() - idleSince < SPIN_NANOS) {
        Thread.onSpinWait();
      } else {
        pause = Math.min(LONGEST_PAUSE_NANOS, Math.max(10_000, pause + pause / 2));
        LockSupport.parkNanos(this, pause);
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
