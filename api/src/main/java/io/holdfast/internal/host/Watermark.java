package io.holdfast.internal.host;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** How far memory is populated from its start, to be waited for. Safe from any thread. */
final class Watermark implements Progress {
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition moved = lock.newCondition();
  private volatile long bytes;
  private final LongConsumer listener;
  private @Nullable RuntimeException end;

  Watermark(long bytes) {
    this(bytes, _ -> {});
  }

  /**
   * Tells how it moves.
   *
   * @param listener is given each new value, in order, one at a time
   */
  Watermark(long bytes, LongConsumer listener) {
    this.bytes = bytes;
    this.listener = listener;
  }

  @Override
  public long fromStart() {
    return bytes;
  }

  @Override
  public boolean has(long offsetBytes, long length) {
    return bytes >= offsetBytes + length;
  }

  /** Never goes back. */
  void advance(long to) {
    lock.lock();
    try {
      if (to > bytes) {
        bytes = to;
        listener.accept(to);
        moved.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void end(RuntimeException reason) {
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

  @Override
  public void await(long offsetBytes, long length) {
    long wanted = offsetBytes + length;
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
