package io.holdfast.internal.copy;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/** Steps back, newest first; one that fails does not keep the others. For one thread. */
final class Undo {
  private final Deque<Runnable> steps = new ArrayDeque<>();

  /** What is to be undone. */
  void add(Runnable step) {
    steps.push(step);
  }

  /** Does all; the first failure is thrown at the end, with the others in it. */
  void run() {
    Throwable first = null;
    while (!steps.isEmpty()) {
      first = attempt(steps.pop(), first);
    }
    if (first instanceof Error error) {
      throw error;
    }
    if (first instanceof RuntimeException exception) {
      throw exception;
    }
  }

  private static @Nullable Throwable attempt(Runnable step, @Nullable Throwable first) {
    try {
      step.run();
      return first;
    } catch (RuntimeException | Error failure) {
      if (first == null) {
        return failure;
      }
      first.addSuppressed(failure);
      return first;
    }
  }
}
