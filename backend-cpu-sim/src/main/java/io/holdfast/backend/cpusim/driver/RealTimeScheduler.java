package io.holdfast.backend.cpusim.driver;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Work is done as soon as it can be, on daemon threads of the machine's own: one per stream that
 * has something to do, none for a stream that waits.
 */
final class RealTimeScheduler implements Scheduler {
  private static final AtomicInteger NUMBERS = new AtomicInteger();

  private final WorkQueues driver;
  private final DriverLock lock;
  private final ExecutorService workers;

  RealTimeScheduler(WorkQueues driver, DriverLock lock) {
    this.driver = driver;
    this.lock = lock;
    ThreadFactory threads =
        task ->
            Thread.ofPlatform()
                .daemon()
                .name("cpu-sim-device-" + NUMBERS.incrementAndGet())
                .unstarted(task);
    this.workers =
        new ThreadPoolExecutor(
            0, Integer.MAX_VALUE, 2, TimeUnit.SECONDS, new SynchronousQueue<>(), threads);
  }

  @Override
  public void kick(Stream stream) {
    if (!stream.running && !workers.isShutdown() && driver.next(stream) != null) {
      stream.running = true;
      workers.execute(() -> drain(stream));
    }
  }

  private void drain(Stream stream) {
    lock.lock();
    try {
      for (Work work = driver.next(stream); work != null; work = driver.next(stream)) {
        driver.begin(stream, work);
        int code;
        lock.unlock();
        try {
          code = driver.perform(stream, work);
        } finally {
          lock.lock();
        }
        driver.finish(stream, work, code);
      }
    } finally {
      stream.running = false;
      lock.unlock();
    }
  }

  @Override
  public void await() {
    lock.awaitChange();
  }

  @Override
  public void asked() {
    // work goes on without being asked for
  }

  @Override
  public void close() {
    workers.shutdownNow(); // wakes work that only lets time pass
    boolean interrupted = false;
    try {
      while (!workers.isTerminated()) {
        try {
          workers.awaitTermination(1, TimeUnit.SECONDS);
        } catch (InterruptedException later) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
