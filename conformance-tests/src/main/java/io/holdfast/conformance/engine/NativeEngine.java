package io.holdfast.conformance.engine;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.conformance.Engine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.LongSupplier;

/**
 * What engines on both drivers do alike. Each call is made where the engine works and puts the
 * thread back where it was; captures forbid unsafe calls to every thread, as engines' do.
 */
abstract class NativeEngine implements Engine {
  private static final int NON_BLOCKING = 1; // CU_STREAM_NON_BLOCKING, cuda.h; HIP's is the same
  private static final int NO_TIMING = 2; // CU_EVENT_DISABLE_TIMING, cuda.h; HIP's is the same
  private static final int GLOBAL = 0; // CU_STREAM_CAPTURE_MODE_GLOBAL, cuda.h; HIP's is the same
  private static final int NOT_READY = 600; // CUDA_ERROR_NOT_READY, cuda.h; HIP's is the same

  private final Arena arena = Arena.ofShared();
  private final List<Long> streams = new ArrayList<>();
  private final List<Long> events = new ArrayList<>();
  private final List<CountDownLatch> blocked = new ArrayList<>();
  private final NativeFunction streamCreate;
  private final NativeFunction streamQuery;
  private final NativeFunction streamSynchronize;
  private final NativeFunction streamDestroy;
  private final NativeFunction streamBeginCapture;
  private final NativeFunction streamEndCapture;
  private final NativeFunction graphDestroy;
  private final HostFunction hostFunction;
  private final NativeFunction eventCreate;
  private final NativeFunction eventRecord;
  private final NativeFunction eventDestroy;
  private boolean closed;

  /** The names of functions that differ in their names only. */
  record Names(
      String streamCreate,
      String streamQuery,
      String streamSynchronize,
      String streamDestroy,
      String streamBeginCapture,
      String streamEndCapture,
      String graphDestroy,
      String eventCreate,
      String eventRecord,
      String eventDestroy) {}

  NativeEngine(SymbolLookup library, Names names, HostFunction hostFunction) {
    this.hostFunction = hostFunction;
    streamCreate = NativeFunction.making(library, names.streamCreate, JAVA_INT, JAVA_INT);
    streamQuery = NativeFunction.of(library, names.streamQuery, JAVA_LONG);
    streamSynchronize = NativeFunction.of(library, names.streamSynchronize, JAVA_LONG);
    streamDestroy = NativeFunction.of(library, names.streamDestroy, JAVA_LONG);
    streamBeginCapture = NativeFunction.of(library, names.streamBeginCapture, JAVA_LONG, JAVA_INT);
    streamEndCapture = NativeFunction.of(library, names.streamEndCapture, JAVA_LONG, ADDRESS);
    graphDestroy = NativeFunction.of(library, names.graphDestroy, JAVA_LONG);
    eventCreate = NativeFunction.making(library, names.eventCreate, JAVA_INT);
    eventRecord = NativeFunction.of(library, names.eventRecord, JAVA_LONG, JAVA_LONG);
    eventDestroy = NativeFunction.of(library, names.eventDestroy, JAVA_LONG);
  }

  /** Runs in the driver's own thread and keeps the stream busy; no driver call may be made here. */
  private static void hold(CountDownLatch end) {
    while (end.getCount() > 0) {
      try {
        end.await();
      } catch (InterruptedException heard) {
        // nobody interrupts a driver's thread: what it waits for still decides
      }
    }
  }

  /** Makes this thread work where the engine does. */
  abstract long enter();

  /** Puts the thread back where {@link #enter} found it. */
  abstract void leave(long before);

  private long inside(LongSupplier call) {
    long before = enter();
    try {
      return call.getAsLong();
    } finally {
      leave(before);
    }
  }

  private void inside(Runnable call) {
    inside(
        () -> {
          call.run();
          return 0L;
        });
  }

  @Override
  public final long newStream() {
    long made = inside(() -> streamCreate.make(NON_BLOCKING, 0));
    streams.add(made);
    return made;
  }

  @Override
  public final Runnable block(long stream) {
    CountDownLatch end = new CountDownLatch(1);
    blocked.add(end);
    inside(() -> hostFunction.enqueue(stream, () -> hold(end), arena));
    return end::countDown;
  }

  @Override
  public final long recordedEvent(long stream) {
    long event =
        inside(
            () -> {
              long made = eventCreate.make(NO_TIMING);
              eventRecord.call(made, stream);
              return made;
            });
    events.add(event);
    return event;
  }

  @Override
  public final boolean usable(long stream) {
    long answer = inside(() -> streamQuery.code(stream));
    return answer == 0 || answer == NOT_READY;
  }

  @Override
  public final void beginCapture(long stream) {
    inside(() -> streamBeginCapture.call(stream, GLOBAL));
  }

  @Override
  public final boolean endCapture(long stream) {
    try (Arena temporary = Arena.ofConfined()) {
      MemorySegment graph = temporary.allocate(JAVA_LONG);
      long code = inside(() -> streamEndCapture.code(stream, graph));
      long made = graph.get(JAVA_LONG, 0);
      if (made != 0) {
        inside(() -> graphDestroy.call(made));
      }
      return code == 0;
    }
  }

  @Override
  public final void close() {
    if (closed) {
      return;
    }
    closed = true;
    blocked.forEach(CountDownLatch::countDown);
    inside(
        () -> {
          streams.forEach(streamSynchronize::call);
          events.forEach(eventDestroy::call);
          streams.forEach(streamDestroy::call);
        });
    arena.close();
    end();
  }

  /** Gives back where it worked. */
  abstract void end();
}
