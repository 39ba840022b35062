package io.holdfast.internal.host;

import io.holdfast.error.HoldfastException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** How far memory is populated from its start, to be waited for. Safe from any thread. */
final class Watermark {
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition moved = lock.newCondition();
  private volatile long bytes;
  private @Nullable RuntimeException end;

  Watermark(long bytes) {
    this.bytes = bytes;
  }

  long bytes() {
    return bytes;
  }

  /** Never goes back. */
  void advance(long to) {
    lock.lock();
    try {
      if (to > bytes) {
        bytes = to;
        moved.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /** No further advance will come; the first reason stays. */
  void end(RuntimeException reason) {
    lock.lock();
    try {
      if (end == null) {
        end = reason;
        moved.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Parks until it is there; an interrupt is kept for later.
   *
   * @throws HoldfastException or IllegalStateException the reason when it never will be
   */
  void await(long wanted) {
    if (bytes >= wanted) {
      return;
    }
    lock.lock();
    try {
      while (bytes < wanted) {
        if (end != null) {
          throw end;
        }
        moved.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }
}
