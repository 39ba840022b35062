package io.holdfast.backend.cpusim.driver;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a driver keeps per operating system thread. Touched by that thread only. */
final class ThreadState {
  /** CUDA: the current context. */
  @Nullable Context current;

  /** CUDA: contexts pushed below it. */
  final Deque<Context> below = new ArrayDeque<>();

  /** HIP: the current device. */
  int device;

  /** The capture mode that the thread's own calls respect: 0 global, 1 thread-local, 2 relaxed. */
  int captureMode;

  /** HIP: the last error, by the personality's rule. */
  int lastError;

  /** Per-thread default streams, made when first used. */
  final Map<Context, Stream> perThread = new HashMap<>();
}
