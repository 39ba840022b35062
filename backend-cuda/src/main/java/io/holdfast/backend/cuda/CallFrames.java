package io.holdfast.backend.cuda;

import java.lang.foreign.Arena;

/**
 * The way in and out of the driver, for any number of threads at once.
 *
 * <p>Every entry takes a {@link CallFrame}, makes a context current, exchanges the thread's capture
 * mode to relaxed (without which a call of ours would break a graph that an engine captures in
 * another thread), and puts both back. Taking a frame neither waits nor allocates.
 */
final class CallFrames {
  /**
   * Frames made beforehand. An entry holds one for as long as its call takes, and those that take
   * long run on few threads; past this number a frame is made for the call.
   */
  private static final int FRAMES = 256;

  private final CudaCalls calls;
  private final CallFrame[] frames = new CallFrame[FRAMES];

  CallFrames(CudaCalls calls) {
    this.calls = calls;
    Arena arena = Arena.ofAuto(); // lives as long as a frame is reachable
    for (int i = 0; i < FRAMES; i++) {
      frames[i] = new CallFrame(arena);
    }
  }

  /**
   * Enters.
   *
   * @param context to make current, or 0 for a call that needs none
   * @return the frame, to be given to {@link #leave} in a finally block
   * @throws io.holdfast.error.DriverException when the context cannot be made current
   */
  CallFrame enter(long context) {
    CallFrame frame = take();
    int code = frame.enter(calls, context);
    if (code != 0) {
      frame.giveBack();
      throw CudaErrors.failure(calls, "cuCtxSetCurrent", code);
    }
    return frame;
  }

  void leave(CallFrame frame) {
    frame.leave(calls);
    frame.giveBack();
  }

  private CallFrame take() {
    // Threads begin at different places, so that they rarely meet.
    int start = (int) Thread.currentThread().threadId();
    for (int i = 0; i < FRAMES; i++) {
      CallFrame frame = frames[(start + i) & (FRAMES - 1)];
      if (frame.take()) {
        return frame;
      }
    }
    return new CallFrame(Arena.ofAuto());
  }
}
