package io.holdfast.backend.cpusim.driver;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The lock inside the simulated driver, and inside whatever its calls come through: the simulated
 * host's pages, fault scripts, schedules. A lock that let a virtual thread park while it holds
 * another of these would leave all carriers spinning for that one.
 *
 * <p>A thread inside a real driver call stays on its operating system thread whatever it waits for.
 * A virtual thread that waited for a Java lock would move to another carrier, and the simulator
 * would show that carrier's context to it. So a virtual thread spins here and never moves.
 */
public final class DriverLock {
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private int waiting;

  /** A lock that nobody holds. */
  public DriverLock() {}

  /** Takes it, as often as wanted. Any thread. */
  public void lock() {
    if (Thread.currentThread().isVirtual()) {
      while (!lock.tryLock()) {
        Thread.onSpinWait();
      }
    } else {
      lock.lock();
    }
  }

  /** Gives it back, by the thread that took it. */
  public void unlock() {
    lock.unlock();
  }

  boolean held() {
    return lock.isHeldByCurrentThread();
  }

  /** Lets others in until something has changed. Interrupts are for others to handle. */
  @SuppressWarnings("WaitNotInLoop") // every caller asks again what it waits for
  void awaitChange() {
    if (Thread.currentThread().isVirtual()) {
      lock.unlock();
      Thread.onSpinWait();
      lock();
    } else {
      waiting++;
      try {
        changed.awaitUninterruptibly();
      } finally {
        waiting--;
      }
    }
  }

  /**
   * The same for who waits outside driver calls: on a platform or virtual thread, until
   * interrupted.
   */
  @SuppressWarnings("WaitNotInLoop") // every caller asks again what it waits for
  void awaitChangeOrInterrupt() throws InterruptedException {
    waiting++;
    try {
      changed.await();
    } finally {
      waiting--;
    }
  }

  void announce() {
    if (waiting > 0) {
      changed.signalAll();
    }
  }
}
