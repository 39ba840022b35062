package io.holdfast.backend.cpusim.driver;

/** The chapter of events. */
abstract class EventCalls extends StreamCalls {

  EventCalls(DriverSetup setup) {
    super(setup);
  }

  /**
   * {@code cuEventCreate}.
   *
   * @param out the event
   * @param flags 1 blocking, 2 without a clock, 4 for other processes and then only with 2
   * @return the code
   */
  public int eventCreate(long[] out, int flags) {
    return callIn(
        Operation.EVENT_CREATE,
        flags,
        0,
        0,
        (thread, context) -> {
          int used = cuda ? flags : flags & 7;
          if ((used & ~7) != 0 || (used & 6) == 4) {
            return Codes.INVALID_VALUE;
          }
          Event made = new Event(FIRST_EVENT + nextHandle++ * 16, context, (used & 2) == 0);
          events.put(made.handle, made);
          out[0] = made.handle;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuEventDestroy}.
   *
   * @param handle the event
   * @return the code
   */
  public int eventDestroy(long handle) {
    return callIn(
        Operation.EVENT_DESTROY,
        handle,
        0,
        0,
        (thread, context) -> events.remove(handle) == null ? Codes.INVALID_HANDLE : Codes.SUCCESS);
  }

  /**
   * {@code cuEventRecord}.
   *
   * @param handle the event
   * @param streamHandle a stream of the event's own context; any of its device with HIP
   * @return the code
   */
  public int eventRecord(long handle, long streamHandle) {
    int code = admit(Operation.EVENT_RECORD);
    lock.lock();
    try {
      ThreadState thread = carriers.current();
      code = code == Codes.SUCCESS ? contextCode(thread) : code;
      if (code == Codes.SUCCESS) {
        Event event = events.get(handle);
        Stream stream = stream(thread, contextOf(thread), streamHandle);
        code =
            event == null || stream == null || event.context != stream.context
                ? Codes.INVALID_HANDLE
                : recordOn(event, stream);
      }
      ledger.write(Operation.EVENT_RECORD, handle, streamHandle, 0, code);
    } finally {
      lock.unlock();
    }
    return remember(code);
  }

  private int recordOn(Event event, Stream stream) {
    if (stream.capture != null) {
      if (stream.capture.invalidated) {
        return Codes.STREAM_CAPTURE_INVALIDATED;
      }
      event.capture = stream.capture;
      event.stream = stream;
      return Codes.SUCCESS;
    }
    Work work = work(Operation.EVENT_RECORD, Work.Kind.RECORD);
    work.event = event;
    int code = enqueue(stream, work);
    if (code == Codes.SUCCESS) {
      event.capture = null;
      event.stream = stream;
      event.ticket = stream.submitted;
    }
    return code;
  }

  /**
   * {@code cuEventQuery}.
   *
   * @param handle the event
   * @return the code; 600 before it has passed, 0 where it was never recorded
   */
  public int eventQuery(long handle) {
    if (scheduler.unseenHere()) {
      return closed ? Codes.DEINITIALIZED : Codes.NOT_READY;
    }
    int code = admit(Operation.EVENT_QUERY);
    lock.lock();
    try {
      ThreadState thread = carriers.current();
      code = code == Codes.SUCCESS ? contextCode(thread) : code;
      if (code == Codes.SUCCESS) {
        Event event = events.get(handle);
        code = event == null ? Codes.INVALID_HANDLE : eventCode(thread, event);
        if (code == Codes.SUCCESS) {
          scheduler.asked();
          int lost = event == null ? 0 : event.context.lostCode;
          code = lost != 0 ? lost : event == null || event.passed() ? 0 : Codes.NOT_READY;
        }
      }
      ledger.write(Operation.EVENT_QUERY, handle, 0, 0, code);
    } finally {
      lock.unlock();
    }
    return remember(code);
  }

  private int eventCode(ThreadState thread, Event event) {
    if (event.capture != null) {
      return event.capture.ended
          ? Codes.CAPTURED_EVENT
          : breakCapture(event.capture, Codes.CAPTURED_EVENT);
    }
    return unsafe(thread);
  }

  /**
   * {@code cuEventSynchronize}. Blocks.
   *
   * @param handle the event
   * @return the code
   */
  public int eventSynchronize(long handle) {
    return callIn(
        Operation.EVENT_SYNCHRONIZE,
        handle,
        0,
        0,
        (thread, context) -> {
          Event event = events.get(handle);
          if (event == null) {
            return Codes.INVALID_HANDLE;
          }
          int code = eventCode(thread, event);
          if (code != Codes.SUCCESS) {
            return code;
          }
          Stream stream = event.stream;
          if (stream != null) {
            awaitTicket(stream, event.ticket);
          }
          return closed ? Codes.DEINITIALIZED : event.context.lostCode;
        });
  }

  /**
   * {@code cuEventElapsedTime}, in nanoseconds.
   *
   * @param out the time between
   * @param start a timed event
   * @param end a timed event
   * @return the code; 400 without a clock or a record, 600 while one has not passed
   */
  public int eventElapsedNanos(long[] out, long start, long end) {
    return callIn(
        Operation.EVENT_ELAPSED_TIME,
        start,
        end,
        0,
        (thread, context) -> {
          Event first = events.get(start);
          Event last = events.get(end);
          if (first == null || last == null || !first.timed || !last.timed) {
            return Codes.INVALID_HANDLE;
          }
          if (first.capture != null || last.capture != null) {
            return Codes.CAPTURED_EVENT;
          }
          if (first.stream == null || last.stream == null) {
            return Codes.INVALID_HANDLE;
          }
          if (!first.passed() || !last.passed()) {
            return Codes.NOT_READY;
          }
          out[0] = last.passedNanos - first.passedNanos;
          return Codes.SUCCESS;
        });
  }
}
