package io.holdfast.bench.tool;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Turns SIGINT and SIGTERM into an orderly end: work is told to stop, and the process ends only
 * when it has closed everything. The runtime then exits with 128 plus the signal's number.
 */
public final class Interruption implements AutoCloseable {
  private static final long PATIENCE_SECONDS = 60;
  private static final AtomicBoolean UNDERWAY = new AtomicBoolean();

  private final CountDownLatch closed = new CountDownLatch(1);
  private final Thread hook;

  /**
   * Listens until closed.
   *
   * @param stop tells the work to stop; must return soon
   */
  public Interruption(Runnable stop) {
    hook =
        Thread.ofPlatform()
            .name("holdfast-interruption")
            .unstarted(
                () -> {
                  UNDERWAY.set(true);
                  stop.run();
                  await();
                });
    Runtime.getRuntime().addShutdownHook(hook);
  }

  /**
   * Whether a signal is ending the process; exiting by ourselves would then wait for ever.
   *
   * @return true from the signal on
   */
  public static boolean isUnderway() {
    return UNDERWAY.get();
  }

  private void await() {
    try {
      if (!closed.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        Runtime.getRuntime().halt(ExitCode.FAILED); // closing hangs: say so by the code
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /** All is closed; the process may end. */
  @Override
  public void close() {
    closed.countDown();
    if (!UNDERWAY.get()) {
      try {
        Runtime.getRuntime().removeShutdownHook(hook);
      } catch (IllegalStateException _) { // the signal came just now; the hook sees the latch
      }
    }
  }
}
