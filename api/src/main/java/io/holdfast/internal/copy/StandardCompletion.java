package io.holdfast.internal.copy;

import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyReport;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.core.CorePoint;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.StreamHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The end of one submission of a route; armed again for the next one when the caller hands it back.
 * Safe from any thread. Waiting allocates nothing.
 */
final class StandardCompletion implements Completion, CorePoint {
  // The state's low bits; above them, how often it was armed.
  private static final long FRESH = 0;
  private static final long ARMED = 1;
  private static final long DONE = 2;
  private static final long FAILED = 3;
  private static final long KIND = 3;
  private static final long ONE_ARM = 4;

  /** How long a platform thread looks itself before it sleeps; some wake-ups of the poller. */
  private static final long SPIN_NANOS = 20_000;

  /** How long a thread that sleeps leaves looking to the poller. */
  private static final long OWN_LOOK_NANOS = 1_000_000;

  /** In place of a future once the submission has ended. */
  private static final CompletableFuture<CopyReport> ENDED = new CompletableFuture<>();

  private static final VarHandle STATE;
  private static final VarHandle WAITER;
  private static final VarHandle FUTURE;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      STATE = lookup.findVarHandle(StandardCompletion.class, "state", long.class);
      WAITER = lookup.findVarHandle(StandardCompletion.class, "waiter", Thread.class);
      FUTURE = lookup.findVarHandle(StandardCompletion.class, "future", CompletableFuture.class);
    } catch (ReflectiveOperationException impossible) {
      throw new LinkageError("a field of this class is not found", impossible);
    }
  }

  private final StandardRoute route;

  private volatile long state = FRESH;
  private long before;
  private volatile @Nullable Thread waiter;
  private volatile @Nullable CompletableFuture<CopyReport> future;

  // Written by the submitter while armed, read by others once the state says so.
  private @Nullable Lane lane;
  private @Nullable Object told;
  private long deviceBlocks;
  private long begunNanos;
  private long sequence;
  private long bytes;
  private long pairs;
  private long descriptors;
  private CopyPath path = CopyPath.LOOP;
  private long submitNanos;
  private long deviceNanos;
  private @Nullable RuntimeException failure;

  StandardCompletion(StandardRoute route) {
    this.route = route;
  }

  StandardRoute route() {
    return route;
  }

  // ---- the submitter's side

  /** Takes it for a submission; refused while the one before is not done. */
  void arm() {
    Lane on = lane;
    if ((state & KIND) == ARMED && on != null) {
      on.look();
    }
    long now = state;
    if ((now & KIND) == ARMED || !STATE.compareAndSet(this, now, (now & ~KIND) + ONE_ARM + ARMED)) {
      throw new IllegalStateException("the completion to be used again is not done");
    }
    before = now;
  }

  /** The submission was refused: as if it had not been tried. */
  void disarm() {
    state = before;
  }

  /** What is being submitted, and where. */
  void submitted(Lane on, long number, long allBytes, long allPairs, long begun) {
    lane = on;
    told = route.core().journal().begin(on.activity());
    deviceBlocks = told == null ? 0 : route.deviceBlocks();
    begunNanos = begun;
    sequence = number;
    bytes = allBytes;
    pairs = allPairs;
    failure = null;
    future = null;
  }

  /** How it was submitted; call before its number is published. */
  void went(CopyPath taken, long rows, long nanos) {
    path = taken;
    descriptors = rows;
    submitNanos = nanos;
  }

  /** A submission of nothing. */
  void doneWithNothing(CopyPath wouldTake) {
    lane = null;
    sequence = 0;
    bytes = 0;
    pairs = 0;
    failure = null;
    future = null;
    went(wouldTake, 0, 0);
    done(-1);
  }

  /** The device is done. Tells everybody. */
  void done(long nanos) {
    deviceNanos = nanos;
    tell(null);
    end(DONE);
  }

  /** It failed. Tells everybody. */
  void failed(RuntimeException why) {
    failure = why;
    deviceNanos = -1;
    tell(why);
    end(FAILED);
  }

  private void tell(@Nullable RuntimeException why) {
    Lane on = lane;
    if (on != null) { // else nothing was submitted
      route
          .core()
          .journal()
          .copied(
              on.activity(),
              told,
              path,
              route.ends(),
              deviceBlocks,
              bytes,
              pairs,
              descriptors,
              submitNanos,
              deviceNanos,
              System.nanoTime() - begunNanos,
              why);
      told = null;
    }
  }

  /** From the moment the state says so, another submission may take this over. */
  @SuppressWarnings("unchecked") // a VarHandle forgets type arguments
  private void end(long how) {
    var asked = (CompletableFuture<CopyReport>) FUTURE.getAndSet(this, ENDED);
    RuntimeException why = failure;
    CopyReport report = asked != null && why == null ? build() : null;
    state = (state & ~KIND) | how;
    Thread waiting = waiter;
    if (waiting != null) {
      LockSupport.unpark(waiting);
    }
    if (asked != null && asked != ENDED) {
      complete(asked, report, why);
    }
  }

  // ---- everybody's side

  @Override
  public CoreBackend backend() {
    return route.core().backend();
  }

  @Override
  public boolean isDone() {
    if (ended()) {
      return true;
    }
    look();
    return ended();
  }

  private void look() {
    Lane on = lane;
    if (on != null) {
      on.look();
    }
  }

  private boolean ended() {
    long now = state;
    if ((now & KIND) == FAILED) {
      throw failure();
    }
    return (now & KIND) == DONE;
  }

  private RuntimeException failure() {
    RuntimeException why = failure;
    return why == null ? new IllegalStateException("the completion was armed again") : why;
  }

  @Override
  public void await() {
    awaitNanos(Long.MAX_VALUE);
  }

  @Override
  public boolean await(Duration atMost) {
    long seconds = atMost.getSeconds();
    return awaitNanos(
        seconds >= Long.MAX_VALUE / 1_000_000_000L - 1
            ? Long.MAX_VALUE
            : seconds * 1_000_000_000L + atMost.getNano());
  }

  private boolean awaitNanos(long nanos) {
    long arm = state & ~KIND;
    if (isDone()) {
      return true;
    }
    long begun = System.nanoTime();
    if (!Thread.currentThread().isVirtual()) {
      long spin = Math.min(SPIN_NANOS, nanos);
      while (System.nanoTime() - begun < spin) {
        if (isDone()) {
          return true;
        }
        Thread.onSpinWait();
      }
    }
    return park(arm, begun, nanos);
  }

  /**
   * Sleeps until the poller's thread tells. One thread is told at once, and looks itself now and
   * then in case that thread comes late; further ones see it ever more seldom.
   */
  private boolean park(long arm, long begun, long nanos) {
    Thread me = Thread.currentThread();
    boolean first = WAITER.compareAndSet(this, (Thread) null, me);
    boolean interrupted = false;
    long pause = 50_000;
    try {
      while (!ended() && (state & ~KIND) == arm) { // armed again: it had ended
        long left = nanos == Long.MAX_VALUE ? nanos : nanos - (System.nanoTime() - begun);
        if (left <= 0) {
          return false;
        }
        if (!first) {
          LockSupport.parkNanos(this, Math.min(left, pause));
          pause = Math.min(2 * pause, 1_000_000);
        } else {
          LockSupport.parkNanos(this, Math.min(left, OWN_LOOK_NANOS));
          look();
        }
        interrupted |= Thread.interrupted();
      }
      return true;
    } finally {
      if (first) {
        waiter = null;
      }
      if (interrupted) {
        me.interrupt();
      }
    }
  }

  @Override
  public CompletableFuture<CopyReport> future() {
    while (true) {
      CompletableFuture<CopyReport> asked = future;
      if (asked != null && asked != ENDED) {
        return asked;
      }
      long now = state & KIND;
      if (now == DONE) {
        return CompletableFuture.completedFuture(build());
      }
      if (now == FAILED) {
        return CompletableFuture.failedFuture(failure());
      }
      if (asked == null) {
        CompletableFuture<CopyReport> fresh = new CompletableFuture<>();
        if (FUTURE.compareAndSet(this, (CompletableFuture<CopyReport>) null, fresh)) {
          return fresh;
        }
      }
      Thread.onSpinWait(); // it is just being armed, or just ending
    }
  }

  /** On one of our threads: what the caller chained must not keep the poller or a submitter. */
  private void complete(
      CompletableFuture<CopyReport> asked,
      @Nullable CopyReport report,
      @Nullable RuntimeException why) {
    Runnable task =
        () -> {
          if (report != null) {
            asked.complete(report);
          } else if (why != null) {
            asked.completeExceptionally(why);
          }
        };
    try {
      var _ = route.core().workers().start(task);
    } catch (RejectedExecutionException closing) {
      task.run();
    }
  }

  @Override
  public CopyReport report() {
    if (!isDone()) {
      throw new IllegalStateException("the submission is not done");
    }
    return build();
  }

  private CopyReport build() {
    return new CopyReport(
        bytes,
        pairs,
        descriptors,
        path,
        submitNanos,
        deviceNanos < 0 ? OptionalLong.empty() : OptionalLong.of(deviceNanos));
  }

  @Override
  public void holdBack(DevicePort port, StreamHandle stream) {
    long asked = state;
    Lane on = lane;
    long number = sequence;
    VarHandle.acquireFence(); // the fields before the state that vouches for them
    if ((asked & KIND) == ARMED && on != null && (state & ~KIND) == (asked & ~KIND)) {
      on.holdBack(port, stream, number); // armed again would mean that it had ended
    }
  }

  @Override
  public String toString() {
    long now = state & KIND;
    String how = now == ARMED ? "in flight" : now == DONE ? "done" : "not done";
    return "a submission that is " + how + " on " + route.name();
  }
}
