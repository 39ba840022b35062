package io.holdfast.internal.host;

import io.holdfast.error.HostKernelException;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.ThreadPlace;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;

/**
 * Platform threads that stand where a caller stands, for calls whose pages lie by who makes them.
 */
final class OwnThread {
  private OwnThread() {}

  /** Runs a call here when this is a platform thread, else on one placed like that. */
  static <T> T unlessPlatform(HostKernel kernel, Optional<ThreadPlace> place, Supplier<T> call) {
    return Thread.currentThread().isVirtual() ? call(kernel, place, call) : call.get();
  }

  /** Runs a call on a thread of its own; waits, a virtual thread parks. */
  static <T> T call(HostKernel kernel, Optional<ThreadPlace> place, Supplier<T> call) {
    CompletableFuture<T> result = new CompletableFuture<>();
    Thread.ofPlatform()
        .name("holdfast-map")
        .daemon()
        .start(
            () -> {
              try {
                place.filter(some -> !some.cpus().isEmpty()).ifPresent(some -> put(kernel, some));
                result.complete(call.get());
              } catch (Throwable thrown) {
                result.completeExceptionally(thrown);
              }
            });
    try {
      return result.join();
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

  // Where this is forbidden, the thread has what it was born with: the caller's or its carrier's.
  private static void put(HostKernel kernel, ThreadPlace place) {
    try {
      kernel.placeThread(place);
    } catch (HostKernelException refused) {
      assert refused.errno() > 0;
    }
  }
}
