package io.holdfast.backend.hip;

import static io.holdfast.backend.hip.HipConstants.HIP_STREAM_CAPTURE_MODE_RELAXED;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Native memory for one entry into the runtime, and what has to be put back on the thread
 * afterwards.
 *
 * <p>Made beforehand and handed from entry to entry, so that entering allocates nothing. A frame
 * belongs to one entry at a time; which thread that runs on does not matter.
 */
final class HipFrame {
  /** Room for the largest structs, hipMemAllocationProp and hipPointerAttribute_t. */
  static final long STRUCT_BYTES = 32;

  /** For a call that does not look at the current device. */
  static final int ANY_DEVICE = -1;

  /** Most arguments of a kernel. */
  static final int MAX_ARGUMENTS = 8;

  private static final VarHandle TAKEN;

  static {
    try {
      TAKEN = MethodHandles.lookup().findVarHandle(HipFrame.class, "taken", boolean.class);
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

  private final MemorySegment device;
  private final MemorySegment mode;
  private volatile boolean taken;
  private int previousDevice;
  private boolean switched;

  HipFrame(Arena arena) {
    first = arena.allocate(JAVA_LONG);
    second = arena.allocate(JAVA_LONG);
    device = arena.allocate(JAVA_INT);
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
   * Makes a device current and steps out of any graph capture, remembering what was.
   *
   * <p>From here to {@link #leave} nothing may block: a virtual thread would go on with another
   * device, and its carrier would keep this one.
   *
   * @param wanted the device, or {@link #ANY_DEVICE}
   * @return the runtime's code; when not 0, the thread is as it was
   */
  int enter(HipBindings hip, int wanted) {
    switched = false;
    int code = hip.hipGetDevice(device);
    if (code != 0) {
      return code;
    }
    previousDevice = device.get(JAVA_INT, 0);
    if (wanted != ANY_DEVICE && previousDevice != wanted) {
      code = hip.hipSetDevice(wanted);
      if (code != 0) {
        return code;
      }
      switched = true;
    }
    mode.set(JAVA_INT, 0, HIP_STREAM_CAPTURE_MODE_RELAXED);
    code = hip.hipThreadExchangeStreamCaptureMode(mode);
    if (code != 0) {
      restoreDevice(hip);
    }
    return code;
  }

  /**
   * Puts the capture mode and the device back.
   *
   * @param code what the call in between answered; a failure is ours to handle, so it must not stay
   *     as the thread's last error, where a framework would find it and take it for its own
   */
  void leave(HipBindings hip, int code) {
    if (code != 0 && hip.hipPeekAtLastError() == code) {
      int _ = hip.hipGetLastError();
    }
    if (mode.get(JAVA_INT, 0) != HIP_STREAM_CAPTURE_MODE_RELAXED) {
      int _ = hip.hipThreadExchangeStreamCaptureMode(mode);
    }
    restoreDevice(hip);
  }

  private void restoreDevice(HipBindings hip) {
    if (switched) {
      int _ = hip.hipSetDevice(previousDevice); // it was current before, so it exists
    }
  }
}
