package io.holdfast.backend.cpusim.driver;

/** The chapter of streams. */
abstract class StreamCalls extends ContextCalls {

  StreamCalls(DriverSetup setup) {
    super(setup);
  }

  void endCapture(Capture capture) {
    capture.ended = true;
    captures.remove(capture);
    capture.origin.capture = null;
    for (Stream joined : capture.joined) {
      joined.capture = null;
    }
  }

  /**
   * {@code cuStreamCreateWithPriority}.
   *
   * @param out the stream
   * @param flags 0, or 1 for one that does not wait for the legacy default stream
   * @param priority clamped
   * @return the code
   */
  public int streamCreate(long[] out, int flags, int priority) {
    return callIn(
        Operation.STREAM_CREATE,
        flags,
        priority,
        0,
        (thread, context) -> {
          if ((flags & ~1) != 0) {
            return Codes.INVALID_VALUE;
          }
          Stream made =
              new Stream(
                  FIRST_STREAM + nextHandle++ * 16,
                  context,
                  flags == 0 ? Stream.Kind.BLOCKING : Stream.Kind.NON_BLOCKING,
                  Math.clamp(priority, cuda ? -5 : -1, 0));
          streams.put(made.handle, made);
          context.streams.add(made);
          out[0] = made.handle;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuStreamDestroy}: returns at once, work goes on.
   *
   * @param handle the stream
   * @return the code
   */
  public int streamDestroy(long handle) {
    return callIn(
        Operation.STREAM_DESTROY,
        handle,
        0,
        0,
        (thread, context) -> {
          Stream gone = streams.remove(handle);
          if (gone == null) {
            return Codes.INVALID_HANDLE;
          }
          gone.destroyed = true;
          Capture capture = gone.capture;
          if (capture != null) {
            gone.capture = null;
            capture.joined.remove(gone);
            if (capture.origin == gone) {
              capture.invalidated = true;
              endCapture(capture);
            }
          }
          if (gone.idle()) {
            gone.context.streams.remove(gone);
          }
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuStreamQuery}.
   *
   * @param handle the stream
   * @return the code; 600 while there is work
   */
  public int streamQuery(long handle) {
    if (scheduler.unseenHere()) {
      return closed ? Codes.DEINITIALIZED : Codes.NOT_READY;
    }
    return callIn(
        Operation.STREAM_QUERY,
        handle,
        0,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          int code = capturedOrUnsafe(thread, stream);
          if (code != Codes.SUCCESS) {
            return code;
          }
          scheduler.asked();
          return stream.context.lostCode != 0
              ? stream.context.lostCode
              : stream.idle() ? Codes.SUCCESS : Codes.NOT_READY;
        });
  }

  /**
   * {@code cuStreamSynchronize}. Blocks.
   *
   * @param handle the stream
   * @return the code
   */
  public int streamSynchronize(long handle) {
    return callIn(
        Operation.STREAM_SYNCHRONIZE,
        handle,
        0,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          int code = capturedOrUnsafe(thread, stream);
          if (code != Codes.SUCCESS) {
            return code;
          }
          awaitTicket(stream, stream.submitted);
          return closed ? Codes.DEINITIALIZED : stream.context.lostCode;
        });
  }

  /**
   * {@code cuStreamWaitEvent}.
   *
   * @param handle who waits
   * @param event for what; one that was never recorded is no wait at all
   * @return the code
   */
  public int streamWaitEvent(long handle, long event) {
    int code = admit(Operation.STREAM_WAIT_EVENT);
    lock.lock();
    try {
      ThreadState thread = carriers.current();
      code = code == Codes.SUCCESS ? contextCode(thread) : code;
      if (code == Codes.SUCCESS) {
        Stream stream = stream(thread, contextOf(thread), handle);
        Event wanted = events.get(event);
        code = stream == null || wanted == null ? Codes.INVALID_HANDLE : waitOn(stream, wanted);
      }
      ledger.write(Operation.STREAM_WAIT_EVENT, handle, event, 0, code);
    } finally {
      lock.unlock();
    }
    return remember(code);
  }

  private int waitOn(Stream stream, Event event) {
    Capture theirs = event.capture;
    Capture mine = stream.capture;
    if (theirs != null) {
      if (theirs.ended) {
        return Codes.CAPTURED_EVENT;
      }
      if (theirs.invalidated) {
        return Codes.STREAM_CAPTURE_INVALIDATED;
      }
      if (mine == null) {
        if (stream.kind == Stream.Kind.LEGACY) {
          return breakCapture(theirs, Codes.STREAM_CAPTURE_IMPLICIT);
        }
        stream.capture = theirs;
        stream.capturedNodes = 0;
        theirs.joined.add(stream);
        return Codes.SUCCESS;
      }
      if (mine != theirs) {
        mine.invalidated = true;
        return breakCapture(theirs, Codes.STREAM_CAPTURE_ISOLATION);
      }
      if (event.stream != null && stream == theirs.origin) {
        event.stream.capturedNodes = 0; // joined back
      }
      return Codes.SUCCESS;
    }
    if (event.stream == null) {
      return Codes.SUCCESS;
    }
    if (mine != null) {
      return mine.invalidated
          ? Codes.STREAM_CAPTURE_INVALIDATED
          : breakCapture(mine, Codes.STREAM_CAPTURE_ISOLATION);
    }
    if (event.passed()) {
      return Codes.SUCCESS;
    }
    return enqueue(stream, waitFor(event.stream, event.ticket));
  }

  /**
   * {@code cuStreamGetCtx}: the default handles belong to whichever context is current.
   *
   * @param handle the stream
   * @param out the context
   * @return the code
   */
  public int streamGetCtx(long handle, long[] out) {
    return callIn(
        Operation.STREAM_GET_CTX,
        handle,
        0,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          out[0] = stream.context.handle;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code hipStreamGetDevice}: the default handles belong to the current device.
   *
   * @param handle the stream
   * @param out the device
   * @return the code
   */
  public int streamGetDevice(long handle, long[] out) {
    return callIn(
        Operation.STREAM_GET_CTX,
        handle,
        0,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          out[0] = stream.context.device;
          return Codes.SUCCESS;
        });
  }

  /**
   * Work that does not end until a test lets it: an engine's kernel that takes its time.
   *
   * @param handle the stream, of the calling thread's context
   * @return the blocker
   * @throws IllegalArgumentException where there is no such stream
   */
  public Blocker block(long handle) {
    lock.lock();
    try {
      ThreadState thread = carriers.current();
      Stream stream =
          contextCode(thread) == Codes.SUCCESS
              ? stream(thread, contextOf(thread), handle)
              : streams.get(handle);
      if (stream == null) {
        throw new IllegalArgumentException("no stream 0x" + Long.toHexString(handle));
      }
      Blocker blocker = new Blocker(this, stream);
      Work work = work(Operation.LAUNCH_HOST_FUNC, Work.Kind.WAIT);
      work.blocker = blocker;
      enqueue(stream, work);
      return blocker;
    } finally {
      lock.unlock();
    }
  }

  /**
   * {@code cuLaunchHostFunc}: the function runs on a thread of the driver's, in stream order.
   *
   * @param handle the stream
   * @param function what runs; it must not call the driver
   * @return the code
   */
  public int launchHostFunc(long handle, Runnable function) {
    return callIn(
        Operation.LAUNCH_HOST_FUNC,
        handle,
        0,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          return enqueue(
              stream,
              Operation.LAUNCH_HOST_FUNC,
              () -> {
                function.run();
                return Codes.SUCCESS;
              });
        });
  }

  /**
   * Work of a given length on the machine's clock: an engine's kernel.
   *
   * @param handle the stream
   * @param nanos how long
   * @return the code
   */
  public int launchDelay(long handle, long nanos) {
    return callIn(
        Operation.LAUNCH_HOST_FUNC,
        handle,
        nanos,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          Work work = work(Operation.LAUNCH_HOST_FUNC, Work.Kind.WAIT);
          work.nanos = nanos;
          return enqueue(stream, work);
        });
  }
}
