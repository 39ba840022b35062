package io.holdfast.backend.cpusim.driver;

/** Who decides when queued work is done. All methods but {@link #close} hold the driver's lock. */
interface Scheduler {
  /** The oldest work of a stream may have become possible. */
  void kick(Stream stream);

  /** Work was put on a stream. */
  default void submitted(Stream stream) {
    kick(stream);
  }

  /** A call that may have put work on a stream has ended. Without the lock. */
  default void afterCall() {}

  /** Does one piece of work, where it is not done by itself; false where there is none to do. */
  default boolean advance() {
    return false;
  }

  /** Lets something happen; returns when it has, or may have. */
  void await();

  /** Whether the calling thread is not to learn of any progress. Without the lock. */
  default boolean unseenHere() {
    return false;
  }

  /** Somebody has asked how far work is. */
  void asked();

  /** Does no more work. Without the lock. */
  void close();
}
