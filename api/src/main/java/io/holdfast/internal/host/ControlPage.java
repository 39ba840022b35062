package io.holdfast.internal.host;

import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernel.Mapping;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * The page through which ranks tell each other what they share and how far they are: words of eight
 * bytes in the machine's order, read and written in one step each. Safe from any thread and
 * process.
 */
final class ControlPage implements AutoCloseable {
  /** Says that this is ours: the letters {@code HOLDFAST}. */
  static final long MAGIC = 0x484F_4C44_4641_5354L;

  /** Changes whenever the words below do. */
  static final long VERSION = 2;

  /** How many ranks fit on the smallest page there is, after the words in front. */
  static final int MOST_RANKS = 200;

  // The words in front.
  static final int AT_MAGIC = 0;
  static final int AT_VERSION = 1;
  static final int AT_STATE = 2;
  static final int AT_RANKS = 3;
  static final int AT_LOGICAL_BYTES = 4;
  static final int AT_SLICE_BYTES = 5;
  static final int AT_PAGE_BYTES = 6;
  static final int AT_DEVICE = 7;
  static final int AT_INODE = 8;
  static final int AT_OWNER = 9;
  static final int AT_JOINED = 10;

  // Two words for each rank, behind those.
  private static final int WORDS_IN_FRONT = 16;

  // States in their order; a fresh page has none.
  static final long OPEN = 1;
  static final long MAPPING = 2;
  static final long READY = 3;
  static final long FAILED = 4;

  // What a rank says of its slice.
  static final long POPULATED = 1;
  static final long NEVER = 2;

  /** From here on: how many base pages of it are populated, more than that. */
  static final long UNDER_WAY = 16;

  private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();

  private final HostKernel kernel;
  private final MemorySegment page;
  private final ReentrantReadWriteLock life = new ReentrantReadWriteLock();
  private boolean gone;

  private ControlPage(HostKernel kernel, MemorySegment page) {
    this.kernel = kernel;
    this.page = page;
  }

  static ControlPage of(HostKernel kernel, FileHandle file) {
    return new ControlPage(kernel, kernel.map(kernel.basePageBytes(), Mapping.of(file)));
  }

  static int atProcess(int rank) {
    return WORDS_IN_FRONT + 2 * rank;
  }

  static int atSlice(int rank) {
    return WORDS_IN_FRONT + 2 * rank + 1;
  }

  long get(int word) {
    life.readLock().lock();
    try {
      requireThere();
      return (long) WORD.getAcquire(page, (long) word * Long.BYTES);
    } finally {
      life.readLock().unlock();
    }
  }

  void set(int word, long value) {
    life.readLock().lock();
    try {
      requireThere();
      WORD.setRelease(page, (long) word * Long.BYTES, value);
    } finally {
      life.readLock().unlock();
    }
  }

  boolean replace(int word, long expected, long value) {
    life.readLock().lock();
    try {
      requireThere();
      return WORD.compareAndSet(page, (long) word * Long.BYTES, expected, value);
    } finally {
      life.readLock().unlock();
    }
  }

  void increment(int word) {
    life.readLock().lock();
    try {
      requireThere();
      long _ = (long) WORD.getAndAdd(page, (long) word * Long.BYTES, 1L);
    } finally {
      life.readLock().unlock();
    }
  }

  private void requireThere() {
    if (gone) {
      throw new IllegalStateException("the shared region is closed");
    }
  }

  /** Unmaps it. Idempotent. */
  @Override
  public void close() {
    life.writeLock().lock();
    try {
      if (!gone) {
        gone = true;
        kernel.unmap(page);
      }
    } finally {
      life.writeLock().unlock();
    }
  }
}
