package io.holdfast.internal.host;

import io.holdfast.error.Errno;
import io.holdfast.error.HoldfastException;
import io.holdfast.error.HostKernelException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.internal.config.SystemSetting;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.Advice;
import io.holdfast.spi.HostKernel.ThreadPlace;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Makes every page of a mapping, in slices of whole backing pages, on platform threads of its own.
 *
 * <p>Slices are taken in order, so the watermark follows closely. The first error wins: no slice is
 * begun after it. Threads stand where the caller stood, and their number is found by measuring.
 */
final class Populator {
  // Small enough that stopping takes milliseconds and measuring has many slices, large enough that
  // the call itself costs nothing.
  private static final long SLICE_BYTES = 8L << 20;

  // Between two looks at memory that can run out.
  private static final long GUARD_BYTES = 128L << 20;

  // Threads to begin with: where the machines we measured were fastest.
  private static final int FIRST_THREADS = 4;

  // Fixes the number of threads, for measurements and for machines where somebody knows it.
  private static final String THREADS = "holdfast.populate.threads";

  // A page cleared at memory speed takes a thread far less: below this the kernel is compacting.
  private static final double SLOW_BYTES_PER_NANO = 100.0 * (1 << 20) / 1e9;
  private static final long SLOW_NANOS = Duration.ofSeconds(2).toNanos();

  private static final int PATIENCE = 100;
  private static final long PAUSE_NANOS = Duration.ofMillis(1).toNanos();

  private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();

  private final HostKernel kernel;
  private final Job job;
  private final Watermark watermark;
  private final Listener listener;
  private final long sliceBytes;
  private final int slices;
  private final ThreadTuner tuner;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final BitSet done;
  private int next;
  private int doneInOrder;
  private int inFlight;
  private int working;
  private int threadsMade;
  private int mostWorking;
  private Phase phase = Phase.RUNNING;
  private @Nullable Throwable failure;
  private boolean reported;
  private long begun;
  private long slowBegun;
  private long slowBytes;
  private boolean advised;
  private final List<String> notes = new ArrayList<>();

  /**
   * What is to be populated.
   *
   * @param memory whole backing pages
   * @param pageBytes the backing page
   * @param unitBytes what one thread should make as a whole: the backing page, or the huge page
   *     that was advised
   * @param workers where threads run, or empty to let them inherit it
   * @param mayTouch whether a touch can stand in for the call, which old kernels lack
   * @param advised whether huge pages were advised, so that the advice can be dropped
   * @param guard run before each stretch; throws when memory runs out
   * @param space takes a file's space for a slice before its pages are made
   * @param callUnknown remembers for a page source that the kernel lacks the call
   */
  record Job(
      MemorySegment memory,
      long pageBytes,
      long unitBytes,
      Optional<ThreadPlace> workers,
      boolean mayTouch,
      boolean advised,
      Runnable guard,
      Space space,
      AtomicBoolean callUnknown) {}

  /** Takes room for pages where that is apart from making them. */
  @FunctionalInterface
  interface Space {
    void take(long offsetBytes, long bytes);
  }

  /** Hears the end, once, on a thread of ours. */
  interface Listener {
    /** Every page is there. */
    void populated(Stats stats);

    /** One failed; others may be there. */
    void failed(Throwable reason);
  }

  /**
   * How it went.
   *
   * @param took from start to end
   * @param threads the fastest number, as found
   * @param notes fallbacks
   */
  record Stats(Duration took, int threads, List<String> notes) {}

  Populator(HostKernel kernel, Job job, Watermark watermark, Listener listener) {
    this.kernel = kernel;
    this.job = job;
    this.watermark = watermark;
    this.listener = listener;
    long unit = job.unitBytes();
    this.sliceBytes = Math.max(unit, SLICE_BYTES / unit * unit);
    this.slices = Math.toIntExact(Math.ceilDiv(job.memory().byteSize(), sliceBytes));
    this.done = new BitSet(slices);
    this.advised = job.advised();
    int cpus =
        job.workers()
            .map(place -> place.cpus().size())
            .filter(count -> count > 0)
            .orElse(Runtime.getRuntime().availableProcessors());
    int fixed = (int) SystemSetting.number(THREADS, 1, Integer.MAX_VALUE).orElse(0);
    if (fixed > 0) {
      this.tuner = ThreadTuner.fixed(Math.min(fixed, slices), slices);
      notes.add("the number of populate threads is fixed at " + fixed + " by " + THREADS);
    } else {
      this.tuner = new ThreadTuner(FIRST_THREADS, Math.min(cpus, slices), slices);
    }
  }

  /** Begins; returns at once. */
  void start() {
    lock.lock();
    try {
      begun = kernel.nanoTime();
      slowBegun = begun;
      hire();
    } finally {
      lock.unlock();
    }
  }

  /** Begins no further slice, until resumed. */
  void pause() {
    set(Phase.RUNNING, Phase.PAUSED);
  }

  /** Goes on after a pause. */
  void resume() {
    set(Phase.PAUSED, Phase.RUNNING);
  }

  /** Begins no further slice. */
  void cancel() {
    lock.lock();
    try {
      phase = Phase.CANCELLED;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void set(Phase from, Phase to) {
    lock.lock();
    try {
      if (phase == from) {
        phase = to;
        slowBegun = kernel.nanoTime();
        tuner.remeasure(slowBegun);
        slowBytes = 0;
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until no thread of ours is inside the kernel or the listener.
   *
   * @param nanos how long at most, by the Java runtime's clock
   * @return whether none is
   */
  boolean awaitIdle(long nanos) {
    long left = nanos;
    boolean interrupted = false;
    lock.lock();
    try {
      while (inFlight > 0) {
        if (left <= 0) {
          return false;
        }
        try {
          left = changed.awaitNanos(left);
        } catch (InterruptedException later) {
          interrupted = true;
        }
      }
      return true;
    } finally {
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  // With the lock held.
  private void hire() {
    while (working < tuner.threads() && next < slices && failure == null) {
      try {
        Thread.ofPlatform().name("holdfast-populate-" + threadsMade).daemon().start(this::work);
      } catch (OutOfMemoryError noThread) {
        if (working == 0) {
          throw noThread;
        }
        return; // fewer will do
      }
      threadsMade++;
      working++;
      mostWorking = Math.max(mostWorking, working);
    }
  }

  private void work() {
    placeHere();
    Claim claim = claim();
    while (claim != null) {
      int slice = claim.slice;
      Throwable thrown = null;
      try {
        if (slice % Math.max(1, GUARD_BYTES / sliceBytes) == 0) {
          job.guard().run();
        }
        MemorySegment pages = sliceAt(slice);
        job.space().take(slice * sliceBytes, pages.byteSize());
        populate(pages);
      } catch (Throwable caught) {
        thrown = caught;
      }
      claim = finished(claim, thrown) ? claim() : null;
    }
  }

  private void placeHere() {
    if (job.workers().isEmpty() || job.workers().get().cpus().isEmpty()) {
      return;
    }
    try {
      kernel.placeThread(job.workers().get());
    } catch (HostKernelException refused) {
      note("populate threads could not be placed like the caller: " + refused.errnoName());
    }
  }

  private void note(String text) {
    lock.lock();
    try {
      if (!notes.contains(text)) {
        notes.add(text);
      }
    } finally {
      lock.unlock();
    }
  }

  private MemorySegment sliceAt(int slice) {
    long from = slice * sliceBytes;
    return job.memory().asSlice(from, Math.min(sliceBytes, job.memory().byteSize() - from));
  }

  /** A slice that a thread has taken, and what the tuner said at its begin. */
  private record Claim(int slice, int epoch) {}

  /** The next slice, or null when this thread is to end. */
  private @Nullable Claim claim() {
    lock.lock();
    try {
      while (phase == Phase.PAUSED && failure == null && next < slices) {
        changed.awaitUninterruptibly();
      }
      if (phase == Phase.CANCELLED
          || failure != null
          || next >= slices
          || working > tuner.threads()) {
        working--;
        return null;
      }
      inFlight++;
      return new Claim(next++, tuner.began());
    } finally {
      lock.unlock();
    }
  }

  /** Whether this thread is to go on. */
  private boolean finished(Claim claim, @Nullable Throwable thrown) {
    boolean report;
    lock.lock();
    try {
      if (thrown == null) {
        done.set(claim.slice);
        doneInOrder = done.nextClearBit(doneInOrder);
        measure(claim);
        hire();
      } else {
        tuner.failed();
        failure = failure == null ? thrown : failure;
      }
      report =
          !reported
              && phase != Phase.CANCELLED
              && (doneInOrder == slices || (failure != null && inFlight == 1));
      if (!report) {
        inFlight--;
        if (thrown != null) {
          working--;
        }
        changed.signalAll();
      } else {
        reported = true;
      }
    } finally {
      lock.unlock();
    }
    watermark.advance(Math.min(doneInOrderBytes(), job.memory().byteSize()));
    if (report) {
      report();
    }
    return thrown == null && !report;
  }

  private long doneInOrderBytes() {
    lock.lock();
    try {
      return doneInOrder * sliceBytes;
    } finally {
      lock.unlock();
    }
  }

  private void report() {
    try {
      Throwable reason = failure;
      if (reason == null) {
        Duration took = Duration.ofNanos(kernel.nanoTime() - begun);
        int threads = tuner.settled() ? tuner.best() : Math.min(mostWorking, tuner.threads());
        listener.populated(new Stats(took, threads, List.copyOf(notes)));
      } else {
        listener.failed(reason);
      }
    } finally {
      lock.lock();
      try {
        inFlight--;
        working--;
        changed.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }

  // With the lock held.
  private void measure(Claim claim) {
    long now = kernel.nanoTime();
    long bytes = sliceAt(claim.slice).byteSize();
    slowBytes += bytes;
    if (advised && now - slowBegun >= SLOW_NANOS) {
      double rate = (double) slowBytes / (now - slowBegun) / Math.max(1, working);
      if (rate < SLOW_BYTES_PER_NANO) {
        dropAdvice(rate);
      }
      slowBegun = now;
      slowBytes = 0;
    }
    tuner.ended(claim.epoch, bytes, now);
  }

  private void dropAdvice(double rate) {
    advised = false;
    long from = next * sliceBytes;
    if (from >= job.memory().byteSize()) {
      return;
    }
    String found =
        "huge pages came at "
            + Math.round(rate * 1e9 / (1 << 20))
            + " MiB/s for each thread, the kernel compacts memory; from byte "
            + from
            + " on base pages were taken";
    try {
      kernel.advise(job.memory().asSlice(from), Advice.NO_HUGE_PAGE);
      notes.add(found);
    } catch (HostKernelException refused) {
      notes.add(found + ", which the kernel refused: " + refused.errnoName());
    }
  }

  private void populate(MemorySegment slice) {
    if (job.mayTouch() && job.callUnknown().get()) {
      touch(slice);
      return;
    }
    for (int tries = 1; ; ) {
      try {
        kernel.advise(slice, Advice.POPULATE_WRITE);
        return;
      } catch (HostKernelException refused) {
        if (refused.is(Errno.EAGAIN) && tries < PATIENCE) {
          tries++;
          kernel.pause(PAUSE_NANOS);
        } else if (refused.is(Errno.EINVAL)) {
          withoutCall(slice, refused);
          return;
        } else if (!refused.is(Errno.EINTR)) {
          throw refused;
        }
      }
    }
  }

  private void withoutCall(MemorySegment slice, HostKernelException refused) {
    if (!job.mayTouch()) {
      HoldfastException unsupported =
          new UnsupportedException(
              "populating " + PageSizes.text(job.pageBytes()) + " pages",
              "MADV_POPULATE_WRITE is not known to "
                  + kernel.identity()
                  + ", and a touch without it can kill the process",
              "Use Linux 5.14 or later, or base pages");
      unsupported.addSuppressed(refused);
      throw unsupported;
    }
    job.callUnknown().set(true);
    note("pages were made by touching: MADV_POPULATE_WRITE is not known to " + kernel.identity());
    touch(slice);
  }

  // Adds nothing to a word of each page, in one step: others may be writing to shared memory.
  private void touch(MemorySegment slice) {
    for (long at = 0; at < slice.byteSize(); at += job.pageBytes()) {
      long _ = (long) WORD.getAndAdd(slice, at, 0L);
    }
  }

  private enum Phase {
    RUNNING,
    PAUSED,
    CANCELLED
  }
}
