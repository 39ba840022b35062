package io.holdfast.backend.cpusim.driver;

import org.jspecify.annotations.Nullable;

/** The chapter of initialisation, devices, contexts and threads. */
abstract class ContextCalls extends WorkQueues {

  ContextCalls(DriverSetup setup) {
    super(setup);
  }

  /**
   * HIP: reads and clears the calling thread's last error.
   *
   * @return the code
   */
  public int getLastError() {
    ThreadState thread = carriers.current();
    int code = thread.lastError;
    thread.lastError = Codes.SUCCESS;
    return code;
  }

  /**
   * HIP: reads the calling thread's last error.
   *
   * @return the code
   */
  public int peekAtLastError() {
    return carriers.current().lastError;
  }

  /**
   * {@code cuInit}, {@code hipInit}.
   *
   * @param flags must be 0
   * @return the code
   */
  public int init(int flags) {
    return call(
        Operation.INIT,
        flags,
        0,
        0,
        () -> {
          if (flags != 0) {
            return Codes.INVALID_VALUE;
          }
          if (setup.devices().isEmpty()) {
            return Codes.NO_DEVICE;
          }
          initialized = true;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuDriverGetVersion}, {@code hipDriverGetVersion}; works before everything else.
   *
   * @return the version number, never a code
   */
  public int driverGetVersion() {
    return personality.version();
  }

  /**
   * {@code cuDeviceGetCount}, {@code hipGetDeviceCount}.
   *
   * @param out the number of devices
   * @return the code
   */
  public int deviceGetCount(long[] out) {
    return call(
        Operation.DEVICE_GET_COUNT,
        0,
        0,
        0,
        () -> {
          int count = setup.devices().size();
          if (!cuda && count == 0) {
            out[0] = 0;
            return Codes.NO_DEVICE;
          }
          out[0] = count;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuDeviceGet}, {@code hipDeviceGet}.
   *
   * @param out the device
   * @param ordinal from 0
   * @return the code
   */
  public int deviceGet(long[] out, int ordinal) {
    return call(
        Operation.DEVICE_GET,
        ordinal,
        0,
        0,
        () -> {
          if (ordinal < 0 || ordinal >= setup.devices().size()) {
            return Codes.INVALID_DEVICE;
          }
          out[0] = ordinal;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuDeviceGetAttribute}, {@code hipDeviceGetAttribute}.
   *
   * @param out the value
   * @param number the attribute as the family counts
   * @param device which device
   * @return the code; 1 for an attribute that this version does not know
   */
  public int deviceGetAttribute(long[] out, int number, int device) {
    return call(
        Operation.DEVICE_GET_ATTRIBUTE,
        number,
        device,
        0,
        () -> {
          if (device < 0 || device >= setup.devices().size()) {
            return Codes.INVALID_DEVICE;
          }
          Attribute attribute = Attribute.numbered(personality.family(), number);
          if (attribute == null || !attribute.knownTo(personality)) {
            return Codes.INVALID_VALUE;
          }
          out[0] = attribute.value(personality, setup.devices().get(device));
          return Codes.SUCCESS;
        });
  }

  /**
   * Whether a symbol is exported.
   *
   * @param symbol the exported name
   * @return false where this version lacks it
   */
  public boolean exports(String symbol) {
    return personality.exports(symbol);
  }

  /**
   * {@code cuDevicePrimaryCtxRetain}.
   *
   * @param out the context
   * @param device whose
   * @return the code
   */
  public int primaryCtxRetain(long[] out, int device) {
    return call(
        Operation.PRIMARY_CTX_RETAIN,
        device,
        0,
        0,
        () -> {
          if (device < 0 || device >= primaries.length) {
            return Codes.INVALID_DEVICE;
          }
          Context context = primaries[device];
          if (context == null) {
            if (!space.charge(device, personality.contextBytes())) {
              return Codes.OUT_OF_MEMORY;
            }
            context = new Context(primaryHandles[device], device, true);
            context.lostCode = deviceLost[device];
            primaries[device] = context;
            contexts.put(context.handle, context);
          }
          context.retains++;
          out[0] = context.handle;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuDevicePrimaryCtxRelease}; the last one ends the context with everything in it.
   *
   * @param device whose
   * @return the code; 201 for one release too many
   */
  public int primaryCtxRelease(int device) {
    return call(
        Operation.PRIMARY_CTX_RELEASE,
        device,
        0,
        0,
        () -> {
          if (device < 0 || device >= primaries.length) {
            return Codes.INVALID_DEVICE;
          }
          if (!cuda) {
            return Codes.SUCCESS;
          }
          Context context = primaries[device];
          if (context == null) {
            return Codes.INVALID_CONTEXT;
          }
          context.retains--;
          if (context.retains == 0) {
            primaries[device] = null;
            end(context);
          }
          return Codes.SUCCESS;
        });
  }

  /**
   * How often a device's shared context is retained.
   *
   * @param device whose
   * @return retains that were not released
   */
  public int primaryCtxRetains(int device) {
    lock.lock();
    try {
      Context context = primaries[device];
      return context == null ? 0 : context.retains;
    } finally {
      lock.unlock();
    }
  }

  /**
   * {@code cuCtxCreate}: a context of an engine's own, current afterwards.
   *
   * @param out the context
   * @param device where
   * @return the code
   */
  public int ctxCreate(long[] out, int device) {
    return call(
        Operation.CTX_CREATE,
        device,
        0,
        0,
        () -> {
          if (device < 0 || device >= primaries.length) {
            return Codes.INVALID_DEVICE;
          }
          if (!cuda) {
            return Codes.NOT_SUPPORTED;
          }
          if (!space.charge(device, personality.contextBytes())) {
            return Codes.OUT_OF_MEMORY;
          }
          Context made = new Context(FIRST_CONTEXT + nextHandle++ * 16, device, false);
          made.lostCode = deviceLost[device];
          contexts.put(made.handle, made);
          ThreadState thread = carriers.current();
          if (thread.current != null) {
            thread.below.push(thread.current);
          }
          thread.current = made;
          out[0] = made.handle;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuCtxDestroy}.
   *
   * @param context of {@link #ctxCreate}
   * @return the code
   */
  public int ctxDestroy(long context) {
    return call(
        Operation.CTX_DESTROY,
        context,
        0,
        0,
        () -> {
          Context gone = contexts.get(context);
          if (gone == null || gone.primary) {
            return Codes.INVALID_CONTEXT;
          }
          end(gone);
          return Codes.SUCCESS;
        });
  }

  private void end(Context context) {
    awaitAll(context);
    context.alive = false;
    contexts.remove(context.handle);
    streams.removeIf(stream -> stream.context == context);
    events.removeIf(event -> event.context == context);
    modules.removeIf(module -> module.context() == context);
    pins.removeAll(context);
    space.freeAll(context);
    space.discharge(context.device, personality.contextBytes());
  }

  /**
   * {@code cuCtxSetCurrent}; for HIP see {@link #setDevice}. Blocks on nothing.
   *
   * @param context a context, or 0 for none
   * @return the code
   */
  public int ctxSetCurrent(long context) {
    int code = admit(Operation.CTX_SET_CURRENT);
    if (code == Codes.SUCCESS) {
      ThreadState thread = carriers.current();
      if (context == 0) {
        thread.current = null;
      } else if (thread.current == null || thread.current.handle != context) {
        Context wanted = contextNamed(context);
        if (wanted == null) {
          code = Codes.INVALID_CONTEXT;
        } else {
          thread.current = wanted;
        }
      }
    }
    ledger.write(Operation.CTX_SET_CURRENT, context, 0, 0, code);
    return code;
  }

  /**
   * {@code cuCtxPushCurrent}.
   *
   * @param context made current; the one before waits below it
   * @return the code
   */
  public int ctxPushCurrent(long context) {
    return call(
        Operation.CTX_PUSH,
        context,
        0,
        0,
        () -> {
          Context wanted = contexts.get(context);
          if (wanted == null) {
            return Codes.INVALID_CONTEXT;
          }
          ThreadState thread = carriers.current();
          if (thread.current != null) {
            thread.below.push(thread.current);
          }
          thread.current = wanted;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuCtxPopCurrent}.
   *
   * @param out the context that was current
   * @return the code
   */
  public int ctxPopCurrent(long[] out) {
    return call(
        Operation.CTX_POP,
        0,
        0,
        0,
        () -> {
          ThreadState thread = carriers.current();
          Context top = thread.current;
          if (top == null) {
            return Codes.INVALID_CONTEXT;
          }
          out[0] = top.handle;
          thread.current = thread.below.poll();
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuCtxEnablePeerAccess}. Devices of a simulated machine reach each other all the same.
   *
   * @param peer a context on another device
   * @param flags 0
   * @return the code; 704 the second time
   */
  public int ctxEnablePeerAccess(long peer, int flags) {
    return callIn(
        Operation.CTX_ENABLE_PEER_ACCESS,
        peer,
        flags,
        0,
        (thread, context) -> {
          Context other = contexts.get(peer);
          if (flags != 0) {
            return Codes.INVALID_VALUE;
          }
          if (other == null) {
            return Codes.INVALID_CONTEXT;
          }
          if (other.device == context.device) {
            return Codes.INVALID_DEVICE;
          }
          return context.peers.add(other.device)
              ? Codes.SUCCESS
              : Codes.PEER_ACCESS_ALREADY_ENABLED;
        });
  }

  private @Nullable Context contextNamed(long handle) {
    lock.lock();
    try {
      return contexts.get(handle);
    } finally {
      lock.unlock();
    }
  }

  /**
   * {@code cuCtxGetCurrent}. Blocks on nothing.
   *
   * @return the context, 0 for none, or minus the code
   */
  public long ctxGetCurrent() {
    int code = admit(Operation.CTX_GET_CURRENT);
    Context current = carriers.current().current;
    long handle = current == null ? 0 : current.handle;
    ledger.write(Operation.CTX_GET_CURRENT, handle, 0, 0, code);
    return code == Codes.SUCCESS ? handle : -code;
  }

  /**
   * {@code cuCtxGetDevice}: the device of the current context.
   *
   * @param out the device
   * @return the code
   */
  public int ctxGetDevice(long[] out) {
    return callIn(
        Operation.CTX_GET_DEVICE,
        0,
        0,
        0,
        (thread, context) -> {
          out[0] = context.device;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code hipSetDevice}. Blocks on nothing.
   *
   * @param device the calling thread's device from now on
   * @return the code
   */
  public int setDevice(int device) {
    int code = admit(Operation.CTX_SET_CURRENT);
    if (code == Codes.SUCCESS) {
      if (device < 0 || device >= primaries.length) {
        code = Codes.INVALID_DEVICE;
      } else {
        carriers.current().device = device;
      }
    }
    ledger.write(Operation.CTX_SET_CURRENT, device, 0, 0, code);
    return remember(code);
  }

  /**
   * {@code hipGetDevice}. Blocks on nothing.
   *
   * @return the calling thread's device, or minus the code
   */
  public int getDevice() {
    int code = admit(Operation.CTX_GET_CURRENT);
    int device = carriers.current().device;
    ledger.write(Operation.CTX_GET_CURRENT, device, 0, 0, code);
    remember(code);
    return code == Codes.SUCCESS ? device : -code;
  }

  /**
   * {@code cuThreadExchangeStreamCaptureMode}. Blocks on nothing.
   *
   * @param mode 0 global, 1 thread-local, 2 relaxed
   * @return the mode before, or minus the code
   */
  public int threadExchangeStreamCaptureMode(int mode) {
    int code = admit(Operation.THREAD_EXCHANGE_CAPTURE_MODE);
    ThreadState thread = carriers.current();
    int before = thread.captureMode;
    if (code == Codes.SUCCESS) {
      if (mode < Capture.GLOBAL || mode > Capture.RELAXED) {
        code = Codes.INVALID_VALUE;
      } else {
        thread.captureMode = mode;
      }
    }
    ledger.write(Operation.THREAD_EXCHANGE_CAPTURE_MODE, mode, before, 0, code);
    remember(code);
    return code == Codes.SUCCESS ? before : -code;
  }

  /**
   * {@code cuCtxSynchronize}, {@code hipDeviceSynchronize}. Blocks.
   *
   * @return the code
   */
  public int ctxSynchronize() {
    return callIn(
        Operation.CTX_SYNCHRONIZE,
        0,
        0,
        0,
        (thread, context) -> {
          int code = unsafe(thread);
          if (code != Codes.SUCCESS) {
            return code;
          }
          awaitAll(context);
          return context.lostCode;
        });
  }

  /**
   * {@code cuCtxGetStreamPriorityRange}.
   *
   * @param out least, then greatest priority
   * @return the code
   */
  public int streamPriorityRange(long[] out) {
    return callIn(
        Operation.STREAM_PRIORITY_RANGE,
        0,
        0,
        0,
        (thread, context) -> {
          out[0] = 0;
          out[1] = cuda ? -5 : -1;
          return Codes.SUCCESS;
        });
  }
}
