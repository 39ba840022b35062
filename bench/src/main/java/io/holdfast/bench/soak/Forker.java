package io.holdfast.bench.soak;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

/** Starts children that really fork, evenly over the run: a copy of our page tables each time. */
public final class Forker implements AutoCloseable {
  /** The launch mechanism under which the runtime forks instead of sharing memory until exec. */
  public static final String MECHANISM = "jdk.lang.Process.launchMechanism";

  private final AtomicLong forked = new AtomicLong();
  private final Thread thread;
  private volatile boolean stopped;

  Forker(int forks, double seconds) {
    long pauseMillis = (long) (seconds * 1000 / Math.max(1, forks));
    thread =
        Thread.ofPlatform()
            .name("holdfast-forker")
            .daemon()
            .unstarted(() -> run(forks, pauseMillis));
    if (forks > 0) {
      thread.start();
    }
  }

  private void run(int forks, long pauseMillis) {
    for (int i = 0; i < forks && !stopped; i++) {
      long begun = System.nanoTime();
      try {
        Process child =
            new ProcessBuilder("true")
                .redirectOutput(Redirect.DISCARD)
                .redirectError(Redirect.DISCARD)
                .start();
        if (child.waitFor() == 0) {
          forked.incrementAndGet();
        }
        long left = pauseMillis - (System.nanoTime() - begun) / 1_000_000;
        if (left > 0) {
          Thread.sleep(left);
        }
      } catch (IOException failure) {
        throw new UncheckedIOException("cannot fork a child", failure);
      } catch (InterruptedException _) {
        return;
      }
    }
  }

  /** Waits for the children that are still to come, a little longer than they should take. */
  void awaitRest(BooleanSupplier givenUp) {
    long deadline = System.nanoTime() + 60_000_000_000L;
    try {
      while (thread.isAlive() && !givenUp.getAsBoolean() && System.nanoTime() - deadline < 0) {
        thread.join(Duration.ofMillis(50));
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /** Children that forked, ran and ended well. */
  long forked() {
    return forked.get();
  }

  @Override
  public void close() {
    stopped = true;
    thread.interrupt();
    boolean interrupted = false;
    while (thread.isAlive()) {
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
}
