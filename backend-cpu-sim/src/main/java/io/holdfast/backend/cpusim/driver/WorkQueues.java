package io.holdfast.backend.cpusim.driver;

import java.util.ArrayDeque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How work gets on streams and is done; guarded by the driver's lock where nothing else is said.
 */
abstract class WorkQueues extends DriverState {
  static final int LINK_TO_DEVICE = 0;
  static final int LINK_TO_HOST = 1;
  final Scheduler scheduler;
  private final ArrayDeque<Work> spare = new ArrayDeque<>();

  /** Those with room for many rows, so that small ones need not grow. */
  private final ArrayDeque<Work> spareLarge = new ArrayDeque<>();

  WorkQueues(DriverSetup setup) {
    super(setup);
    SimSchedule schedule = setup.schedule();
    this.scheduler =
        schedule == null
            ? new RealTimeScheduler(this, lock)
            : new ChosenScheduler(this, lock, schedule);
    faults.onLose(code -> loseDevice(currentDevice(), code));
  }

  /** Copies the rows of a work. Without the lock. */
  abstract int runRows(Stream stream, Work work);

  /** Runs the copy kernel. Without the lock. */
  abstract int runKernel(Stream stream, Work work);

  /**
   * Does one piece of device work, where a schedule was given; otherwise work is done by itself.
   *
   * @return false where nothing can be done now
   */
  public boolean advance() {
    lock.lock();
    try {
      return scheduler.advance();
    } finally {
      lock.unlock();
    }
  }

  /** Does device work until nothing can be done any more, in the order of the schedule. */
  public void advanceAll() {
    while (advance()) {
      // one piece after the other, so that others get in between
    }
  }

  @Override
  int remember(int code) {
    scheduler.afterCall();
    return super.remember(code);
  }

  void awaitAll(Context context) {
    for (Stream stream : List.copyOf(context.streams)) {
      awaitTicket(stream, stream.submitted);
    }
  }

  /** 0, or 900 with the captures that forbid the call broken. */
  int unsafe(ThreadState thread) {
    if (captures.isEmpty() || thread.captureMode == Capture.RELAXED) {
      return Codes.SUCCESS;
    }
    int code = Codes.SUCCESS;
    for (Capture capture : captures) {
      boolean mine = capture.owner == thread;
      if (capture.mode != Capture.RELAXED
          && (mine || (thread.captureMode == Capture.GLOBAL && capture.mode == Capture.GLOBAL))) {
        capture.invalidated = true;
        code = Codes.STREAM_CAPTURE_UNSUPPORTED;
      }
    }
    return code;
  }

  static int breakCapture(Capture capture, int code) {
    capture.invalidated = true;
    return code;
  }

  /** A capture that the legacy stream would have to take part in, or null. */
  @Nullable Capture capturedBeside(Stream legacy) {
    for (Capture capture : captures) {
      if (capture.origin.context == legacy.context
          && capture.origin.kind == Stream.Kind.BLOCKING
          && capture.mode != Capture.RELAXED) {
        return capture;
      }
    }
    return null;
  }

  /** The stream of a handle as the calling thread means it, or null. */
  @Nullable Stream stream(ThreadState thread, Context context, long handle) {
    if (handle == Stream.NULL || handle == Stream.LEGACY) {
      return context.legacy;
    }
    if (handle == Stream.PER_THREAD) {
      return thread.perThread.computeIfAbsent(
          context,
          one -> {
            Stream made = new Stream(Stream.PER_THREAD, one, Stream.Kind.BLOCKING, 0);
            one.streams.add(made);
            return made;
          });
    }
    return streams.get(handle);
  }

  int capturedOrUnsafe(ThreadState thread, Stream stream) {
    if (stream.capture != null) {
      return breakCapture(stream.capture, Codes.STREAM_CAPTURE_UNSUPPORTED);
    }
    if (stream.kind == Stream.Kind.LEGACY) {
      Capture beside = capturedBeside(stream);
      if (beside != null) {
        return breakCapture(beside, Codes.STREAM_CAPTURE_IMPLICIT);
      }
    }
    return unsafe(thread);
  }

  void release(Blocker blocker) {
    lock.lock();
    try {
      if (!blocker.released) {
        blocker.released = true;
        scheduler.kick(blocker.stream);
      }
    } finally {
      lock.unlock();
    }
  }

  /** What a capture has to say about a call on a stream that adds nothing. */
  static int captureCode(Stream stream) {
    return stream.capture != null && stream.capture.invalidated
        ? Codes.STREAM_CAPTURE_INVALIDATED
        : Codes.SUCCESS;
  }

  Work work(Operation operation, Work.Kind kind) {
    return work(operation, kind, spare);
  }

  /** For many rows. */
  Work workOfRows(Operation operation) {
    return work(operation, Work.Kind.ROWS, spareLarge);
  }

  private static Work work(Operation operation, Work.Kind kind, ArrayDeque<Work> from) {
    Work work = from.isEmpty() ? new Work() : from.pop();
    work.operation = operation;
    work.kind = kind;
    return work;
  }

  void discard(Work work) {
    work.forget();
    (work.rows.length > Work.ROW ? spareLarge : spare).push(work);
  }

  /** A node of a graph once more. */
  Work again(Work node) {
    Work work = work(node.operation, node.kind);
    for (int row = 0; row < node.rowCount; row++) {
      int at = Work.ROW * row;
      work.addRow(node.rows[at], node.rows[at + 1], node.rows[at + 2]);
    }
    work.linkDirection = node.linkDirection;
    work.checksPins = node.checksPins;
    work.anyOrder = node.anyOrder;
    work.nanos = node.nanos;
    work.end = node.end;
    work.reachBytes = node.reachBytes;
    work.body = node.body;
    return work;
  }

  int enqueue(Stream stream, Operation operation, Work.Body body) {
    Work work = work(operation, Work.Kind.BODY);
    work.body = body;
    return enqueue(stream, work);
  }

  int enqueue(Stream stream, Work work) {
    if (closed) {
      return Codes.DEINITIALIZED;
    }
    if (stream.capture != null) {
      if (stream.capture.invalidated) {
        discard(work);
        return Codes.STREAM_CAPTURE_INVALIDATED;
      }
      work.captured = true;
      stream.capture.nodes.add(work);
      stream.capturedNodes++;
      return Codes.SUCCESS;
    }
    if (stream.kind == Stream.Kind.LEGACY) {
      Capture beside = capturedBeside(stream);
      if (beside != null) {
        discard(work);
        return breakCapture(beside, Codes.STREAM_CAPTURE_IMPLICIT);
      }
    }
    orderAgainstLegacy(stream);
    add(stream, work);
    return Codes.SUCCESS;
  }

  private void add(Stream stream, Work work) {
    work.ticket = ++stream.submitted;
    stream.queue.add(work);
    stream.context.streams.add(stream);
    scheduler.submitted(stream);
  }

  /** The legacy default stream waits for all blocking streams of its context, and they for it. */
  private void orderAgainstLegacy(Stream stream) {
    Stream legacy = stream.context.legacy;
    if (stream.kind == Stream.Kind.BLOCKING) {
      if (legacy.completed < legacy.submitted && stream.legacySeen < legacy.submitted) {
        stream.legacySeen = legacy.submitted;
        add(stream, waitFor(legacy, legacy.submitted));
      }
    } else if (stream.kind == Stream.Kind.LEGACY) {
      for (Stream other : List.copyOf(stream.context.streams)) {
        if (other.kind == Stream.Kind.BLOCKING && !other.idle()) {
          add(stream, waitFor(other, other.submitted));
        }
      }
    }
  }

  Work waitFor(Stream other, long ticket) {
    Work work = work(Operation.STREAM_WAIT_EVENT, Work.Kind.WAIT);
    work.after = other;
    work.afterTicket = ticket;
    return work;
  }

  /** The oldest work of a stream if it can be done now, else null; then it is kicked later. */
  @Nullable Work next(Stream stream) {
    Work oldest = stream.queue.peek();
    if (oldest == null) {
      return null;
    }
    if (closed || stream.context.lostCode != 0) {
      return oldest;
    }
    if (oldest.held()) {
      return null;
    }
    Stream before = oldest.waitsFor();
    if (before != null) {
      if (!before.waiters.contains(stream)) {
        before.waiters.add(stream);
      }
      return null;
    }
    return oldest;
  }

  void begin(Stream stream, Work work) {
    stream.queue.remove();
    long speed = setup.devices().get(stream.context.device).linkBytesPerSecond();
    if (speed > 0 && work.kind == Work.Kind.ROWS) {
      long[] free = linkFreeAt[stream.context.device];
      long start = Math.max(clock.nanoTime(), free[work.linkDirection]);
      free[work.linkDirection] = start + (long) (work.bytes() * 1e9 / speed);
      work.doneAtNanos = free[work.linkDirection];
    }
  }

  /** Without the lock. */
  int perform(Stream stream, Work work) {
    if (closed || stream.context.lostCode != 0) {
      return Codes.SUCCESS;
    }
    clock.pause(work.doneAtNanos == 0 ? work.nanos : work.doneAtNanos - clock.nanoTime());
    try {
      return switch (work.kind) {
        case ROWS -> runRows(stream, work);
        case KERNEL -> runKernel(stream, work);
        case RECORD, WAIT -> Codes.SUCCESS;
        case BODY -> work.body == null ? Codes.SUCCESS : work.body.run();
      };
    } catch (RuntimeException | Error broken) {
      System.getLogger(SimDriver.class.getName())
          .log(System.Logger.Level.ERROR, "simulated device work " + work.operation, broken);
      return Codes.LAUNCH_FAILED;
    }
  }

  void finish(Stream stream, Work work, int code) {
    stream.completed = work.ticket;
    Event event = work.event;
    // an event that was recorded anew meanwhile has another time
    if (event != null && event.stream == stream && event.ticket == work.ticket) {
      event.passedNanos = clock.nanoTime();
    }
    if (!work.captured) {
      discard(work);
    }
    if (code != Codes.SUCCESS) {
      lose(stream.context, code);
    }
    if (stream.destroyed && stream.idle()) {
      stream.context.streams.remove(stream);
    }
    if (!stream.waiters.isEmpty()) {
      List<Stream> waiters = List.copyOf(stream.waiters);
      stream.waiters.clear();
      waiters.forEach(scheduler::kick);
    }
    lock.announce();
  }

  private void lose(Context context, int code) {
    if (context.lostCode == 0) {
      context.lostCode = code;
      List.copyOf(context.streams).forEach(scheduler::kick);
      lock.announce();
    }
  }

  /**
   * The device is gone: every call on it answers so, queued work is dropped.
   *
   * @param device which
   * @param code the answer from now on
   */
  public void loseDevice(int device, int code) {
    lock.lock();
    try {
      deviceLost[device] = code;
      for (Context context : contexts.toList()) {
        if (context.device == device) {
          lose(context, code);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  void awaitTicket(Stream stream, long ticket) {
    if (stream.completed < ticket && Thread.currentThread().isVirtual()) {
      violation("a virtual thread waited in the driver for " + stream + " and kept its carrier");
    }
    while (stream.completed < ticket && !closed) {
      scheduler.await();
    }
  }
}
