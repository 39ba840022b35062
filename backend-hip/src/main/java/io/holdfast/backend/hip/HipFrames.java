package io.holdfast.backend.hip;

import java.lang.foreign.Arena;

/**
 * The way in and out of the runtime, for any number of threads at once.
 *
 * <p>The runtime has no contexts, but each thread has a current device, which is 0 on a new one.
 * Every entry takes a {@link HipFrame}, makes a device current, exchanges the thread's capture mode
 * to relaxed (without which a call of ours would break a graph that an engine captures in another
 * thread), and puts both back. Taking a frame neither waits nor allocates.
 *
 * <p>Versions up to 6 overwrite a thread's last error with every call, success included: there,
 * what an engine has not read yet on this thread is lost by any call of ours, as by any of its own.
 */
final class HipFrames {
  /**
   * Frames made beforehand. An entry holds one for as long as its call takes, and those that take
   * long run on few threads; past this number a frame is made for the call.
   */
  private static final int FRAMES = 256;

  private final HipBindings hip;
  private final HipFrame[] frames = new HipFrame[FRAMES];

  HipFrames(HipBindings hip) {
    this.hip = hip;
    Arena arena = Arena.ofAuto(); // lives as long as a frame is reachable
    for (int i = 0; i < FRAMES; i++) {
      frames[i] = new HipFrame(arena);
    }
  }

  /**
   * Enters.
   *
   * @param device to make current, or {@link HipFrame#ANY_DEVICE}
   * @return the frame, to be given to {@link #leave} in a finally block
   * @throws io.holdfast.error.DriverException when the device cannot be made current
   */
  HipFrame enter(int device) {
    HipFrame frame = take();
    int code = frame.enter(hip, device);
    if (code != 0) {
      int _ = hip.hipGetLastError();
      frame.giveBack();
      String call = device == HipFrame.ANY_DEVICE ? "hipGetDevice" : "hipSetDevice(" + device + ")";
      throw HipErrors.failure(hip, call, code);
    }
    return frame;
  }

  /** Leaves, with what the call in between answered. */
  void leave(HipFrame frame, int code) {
    frame.leave(hip, code);
    frame.giveBack();
  }

  private HipFrame take() {
    // Threads begin at different places, so that they rarely meet.
    int start = (int) Thread.currentThread().threadId();
    for (int i = 0; i < FRAMES; i++) {
      HipFrame frame = frames[(start + i) & (FRAMES - 1)];
      if (frame.take()) {
        return frame;
      }
    }
    return new HipFrame(Arena.ofAuto());
  }
}
