package io.holdfast.backend.cpusim.driver;

/** Who decides when queued work is done. All methods but {@link #close} hold the driver's lock. */
interface Scheduler {
  /** The oldest work of a stream may have become possible. */
  void kick(Stream stream);

  /** Lets something happen; returns when it has, or may have. */
  void await();

  /** Somebody has asked how far work is. */
  void asked();

  /** Does no more work. Without the lock. */
  void close();
}
