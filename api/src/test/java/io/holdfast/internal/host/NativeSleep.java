package io.holdfast.internal.host;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.CountDownLatch;

/**
 * A native call that was given a segment and does not return until told: the C library's bsearch
 * calls back into Java while it holds the segment.
 */
final class NativeSleep implements AutoCloseable {
  private final CountDownLatch inside = new CountDownLatch(1);
  private final CountDownLatch leave = new CountDownLatch(1);
  private final Thread caller;

  private NativeSleep(MemorySegment held) {
    caller = Thread.ofPlatform().start(() -> call(held));
  }

  static NativeSleep using(MemorySegment held) throws InterruptedException {
    NativeSleep sleep = new NativeSleep(held);
    sleep.inside.await();
    return sleep;
  }

  /** Lets the call return, and waits until it has. */
  @Override
  public void close() {
    leave.countDown();
    try {
      caller.join();
    } catch (InterruptedException interrupted) {
      throw new AssertionError(interrupted);
    }
  }

  @SuppressWarnings("restricted")
  private void call(MemorySegment held) {
    try (Arena arena = Arena.ofConfined()) {
      Linker linker = Linker.nativeLinker();
      FunctionDescriptor compare =
          FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS);
      MethodHandle target =
          MethodHandles.lookup()
              .bind(
                  this,
                  "compare",
                  MethodType.methodType(int.class, MemorySegment.class, MemorySegment.class));
      MethodHandle bsearch =
          linker.downcallHandle(
              linker.defaultLookup().find("bsearch").orElseThrow(),
              FunctionDescriptor.of(
                  ValueLayout.ADDRESS,
                  ValueLayout.ADDRESS,
                  ValueLayout.ADDRESS,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.ADDRESS));
      MemorySegment callback = linker.upcallStub(target, compare, arena);
      MemorySegment _ = (MemorySegment) bsearch.invokeExact(held, held, 1L, 1L, callback);
    } catch (Throwable thrown) {
      throw new AssertionError(thrown);
    }
  }

  int compare(MemorySegment one, MemorySegment other) throws InterruptedException {
    inside.countDown();
    leave.await();
    return 0;
  }
}
