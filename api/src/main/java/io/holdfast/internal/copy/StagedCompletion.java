package io.holdfast.internal.copy;

import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyReport;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.core.CorePoint;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.StreamHandle;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The end of a staged submission: done when the CPU has carried the last byte. As a point of order
 * it is passed when the device is done, which is earlier for a store. Safe from any thread.
 */
final class StagedCompletion implements Completion, CorePoint {
  private final StagedRoute route;
  private volatile CompletableFuture<CopyReport> future = new CompletableFuture<>();
  private volatile @Nullable Completion last;
  private volatile boolean begun;

  StagedCompletion(StagedRoute route) {
    this.route = route;
  }

  StagedRoute route() {
    return route;
  }

  // ---- the submitter's side

  /** Refuses while a submission is in flight. */
  void requireDone() {
    if (begun && !future.isDone()) {
      throw new IllegalStateException("the completion to be used again is not done");
    }
  }

  /** A submission is accepted. */
  void begin(CompletableFuture<CopyReport> end) {
    last = null;
    future = end;
    begun = true;
  }

  /** One more piece was submitted; pieces end in order. */
  void follows(Completion piece) {
    last = piece;
  }

  // ---- everybody's side

  @Override
  public boolean isDone() {
    CompletableFuture<CopyReport> end = future;
    if (!end.isDone()) {
      return false;
    }
    var _ = joined(end);
    return true;
  }

  private static CopyReport joined(CompletableFuture<CopyReport> end) {
    try {
      return end.join();
    } catch (CompletionException wrapped) {
      throw unwrapped(wrapped);
    }
  }

  private static RuntimeException unwrapped(Exception wrapped) {
    if (wrapped.getCause() instanceof Error error) {
      throw error;
    }
    return wrapped.getCause() instanceof RuntimeException exception
        ? exception
        : new IllegalStateException(wrapped);
  }

  @Override
  public void await() {
    var _ = joined(future);
  }

  @Override
  public boolean await(Duration atMost) {
    CompletableFuture<CopyReport> end = future;
    long begin = System.nanoTime();
    boolean interrupted = false;
    try {
      while (true) {
        long left = TimeUnit.NANOSECONDS.convert(atMost) - (System.nanoTime() - begin);
        try {
          var _ = end.get(Math.max(0, left), TimeUnit.NANOSECONDS);
          return true;
        } catch (TimeoutException late) {
          return false;
        } catch (InterruptedException _) {
          interrupted = true;
        } catch (ExecutionException wrapped) {
          throw unwrapped(wrapped);
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public CompletableFuture<CopyReport> future() {
    return future.copy();
  }

  @Override
  public CopyReport report() {
    CompletableFuture<CopyReport> end = future;
    if (!end.isDone()) {
      throw new IllegalStateException("the submission is not done");
    }
    return joined(end);
  }

  @Override
  public void holdBack(DevicePort port, StreamHandle stream) {
    if (last instanceof CorePoint piece) {
      piece.holdBack(port, stream);
    }
  }

  @Override
  public CoreBackend backend() {
    return route.core().backend();
  }

  @Override
  public String toString() {
    return "a submission on " + route;
  }
}
