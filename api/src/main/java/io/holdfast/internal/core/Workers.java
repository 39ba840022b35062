package io.holdfast.internal.core;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.function.Supplier;

/**
 * Our own platform threads, for calls that can block. A native call on a virtual thread holds its
 * carrier, and no event of the runtime tells: so such calls move here and the virtual thread parks.
 */
public final class Workers implements AutoCloseable {
  private final ExecutorService threads;

  /**
   * Threads are made when needed and end when idle for a minute.
   *
   * @param name in front of a number
   */
  public Workers(String name) {
    ThreadFactory factory =
        Thread.ofPlatform().name("holdfast-" + name + "-", 0).daemon().factory();
    threads = Executors.newCachedThreadPool(factory);
  }

  /**
   * Runs a call that can block, here when this is a platform thread, else on one of ours.
   *
   * @param call what to run
   * @param <T> its result
   * @return its result
   */
  public <T> T call(Supplier<T> call) {
    if (!Thread.currentThread().isVirtual()) {
      return call.get();
    }
    try {
      return CompletableFuture.supplyAsync(call, threads).join();
    } catch (CompletionException wrapped) {
      if (wrapped.getCause() instanceof RuntimeException exception) {
        throw exception;
      }
      if (wrapped.getCause() instanceof Error error) {
        throw error;
      }
      throw wrapped;
    }
  }

  /**
   * Runs a call that can block, here when this is a platform thread, else on one of ours.
   *
   * @param call what to run
   */
  public void run(Runnable call) {
    if (Thread.currentThread().isVirtual()) {
      call(
          () -> {
            call.run();
            return Boolean.TRUE;
          });
    } else {
      call.run();
    }
  }

  /**
   * Starts a task on one of our threads.
   *
   * @param task what to run
   * @return its end
   */
  public CompletableFuture<Void> start(Runnable task) {
    return CompletableFuture.runAsync(task, threads);
  }

  /** No further task is taken; running ones end by themselves. */
  @Override
  public void close() {
    threads.shutdown();
  }
}
