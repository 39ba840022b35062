package io.holdfast.backend.cuda;

import static io.holdfast.backend.cuda.CudaConstants.CU_STREAM_CAPTURE_MODE_RELAXED;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Native memory for one entry into the driver, and what has to be put back on the thread
 * afterwards.
 *
 * <p>Made beforehand and handed from entry to entry, so that entering allocates nothing. A frame
 * belongs to one entry at a time; which thread that runs on does not matter.
 */
final class CallFrame {
  /** Room for the largest struct that is passed, CUDA_MEMCPY2D. */
  static final long STRUCT_BYTES = 128;

  /** Most arguments of a kernel. */
  static final int MAX_ARGUMENTS = 8;

  private static final VarHandle TAKEN;

  static {
    try {
      TAKEN = MethodHandles.lookup().findVarHandle(CallFrame.class, "taken", boolean.class);
    } catch (ReflectiveOperationException impossible) {
      throw new LinkageError("a field of this class", impossible);
    }
  }

  /** 8 bytes for what a call returns through a pointer. */
  final MemorySegment first;

  /** 8 bytes for what a call returns through another pointer. */
  final MemorySegment second;

  /** Room for a struct, of whatever was there before. */
  final MemorySegment struct;

  /** A kernel's arguments, 8 bytes each. */
  final MemorySegment arguments;

  /** The addresses of {@link #arguments}, as a launch takes them. */
  final MemorySegment argumentPointers;

  private final MemorySegment context;
  private final MemorySegment mode;
  private volatile boolean taken;
  private long previousContext;
  private boolean switched;

  CallFrame(Arena arena) {
    first = arena.allocate(JAVA_LONG);
    second = arena.allocate(JAVA_LONG);
    context = arena.allocate(JAVA_LONG);
    mode = arena.allocate(JAVA_INT);
    struct = arena.allocate(STRUCT_BYTES, Long.BYTES);
    arguments = arena.allocate(JAVA_LONG, MAX_ARGUMENTS);
    argumentPointers = arena.allocate(JAVA_LONG, MAX_ARGUMENTS);
    for (int i = 0; i < MAX_ARGUMENTS; i++) {
      argumentPointers.setAtIndex(JAVA_LONG, i, arguments.address() + (long) i * Long.BYTES);
    }
  }

  /** Takes the frame unless another entry has it; never waits. */
  boolean take() {
    return !taken && TAKEN.compareAndSet(this, false, true);
  }

  void giveBack() {
    taken = false;
  }

  /**
   * Makes a context current and steps out of any graph capture, remembering what was.
   *
   * <p>From here to {@link #leave} nothing may block: a virtual thread would go on without its
   * context, and its carrier would keep it.
   *
   * @param wanted the context, or 0 for a call that needs none
   * @return the driver's code; when not 0, the thread is as it was
   */
  int enter(CudaCalls calls, long wanted) {
    switched = false;
    if (wanted != 0) {
      int code = calls.cuCtxGetCurrent(context);
      if (code != 0) {
        return code;
      }
      previousContext = context.get(JAVA_LONG, 0);
      if (previousContext != wanted) {
        code = calls.cuCtxSetCurrent(wanted);
        if (code != 0) {
          return code;
        }
        switched = true;
      }
    }
    mode.set(JAVA_INT, 0, CU_STREAM_CAPTURE_MODE_RELAXED);
    int code = calls.cuThreadExchangeStreamCaptureMode(mode);
    if (code != 0) {
      restoreContext(calls);
    }
    return code;
  }

  /** Puts the capture mode and the context back. */
  void leave(CudaCalls calls) {
    if (mode.get(JAVA_INT, 0) != CU_STREAM_CAPTURE_MODE_RELAXED) {
      int _ = calls.cuThreadExchangeStreamCaptureMode(mode);
    }
    restoreContext(calls);
  }

  private void restoreContext(CudaCalls calls) {
    if (switched) {
      // Fails only where the previous context was destroyed meanwhile: then there is nothing to put
      // back, and the call's own answer is what the caller must hear.
      int _ = calls.cuCtxSetCurrent(previousContext);
    }
  }
}
