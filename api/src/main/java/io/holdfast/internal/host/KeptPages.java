package io.holdfast.internal.host;

import io.holdfast.internal.pin.PinnableMemory.Kept;
import io.holdfast.layout.ByteRange;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/** Gives the pages of a region back, but for those that a driver may still use. */
final class KeptPages {
  private final RegionMemory memory;
  private final long mappedBytes;
  private final ReentrantLock lock = new ReentrantLock();
  private final List<Entry> kept = new ArrayList<>();
  private boolean released;

  KeptPages(RegionMemory memory) {
    this.memory = memory;
    this.mappedBytes = memory.pages().byteSize();
  }

  /** Keeps a range until the answer is closed. */
  Kept keep(ByteRange range) {
    lock.lock();
    try {
      if (released) {
        throw new IllegalStateException("the pages of " + range + " have gone back");
      }
      Entry entry = new Entry(range);
      kept.add(entry);
      return entry;
    } finally {
      lock.unlock();
    }
  }

  /** Gives back all that is not kept; the rest follows when it is let go. */
  void release() {
    lock.lock();
    try {
      released = true;
      giveBack(new ByteRange(0, mappedBytes));
    } finally {
      lock.unlock();
    }
  }

  // With the lock held: pieces of the range that nobody keeps. Of memory that goes back only whole,
  // all or nothing.
  private void giveBack(ByteRange range) {
    if (memory.isIndivisible()) {
      if (kept.isEmpty()) {
        memory.giveBack(new ByteRange(0, mappedBytes));
      }
      return;
    }
    RuntimeException first = null;
    for (ByteRange piece : without(range)) {
      try {
        memory.giveBack(piece);
      } catch (RuntimeException failure) {
        if (first == null) {
          first = failure;
        } else {
          first.addSuppressed(failure);
        }
      }
    }
    if (first != null) {
      throw first;
    }
  }

  private List<ByteRange> without(ByteRange range) {
    List<ByteRange> pieces = new ArrayList<>();
    long from = range.offsetBytes();
    List<ByteRange> holes =
        kept.stream()
            .map(entry -> entry.range)
            .sorted(Comparator.comparingLong(ByteRange::offsetBytes))
            .toList();
    for (ByteRange hole : holes) {
      long to = Math.min(hole.offsetBytes(), range.endBytes());
      if (to > from) {
        pieces.add(new ByteRange(from, to - from));
      }
      from = Math.max(from, hole.endBytes());
    }
    if (from < range.endBytes()) {
      pieces.add(new ByteRange(from, range.endBytes() - from));
    }
    return pieces;
  }

  private final class Entry implements Kept {
    private final ByteRange range;

    Entry(ByteRange range) {
      this.range = range;
    }

    @Override
    public void close() {
      lock.lock();
      try {
        if (kept.remove(this) && released) {
          giveBack(range);
        }
      } finally {
        lock.unlock();
      }
    }
  }
}
