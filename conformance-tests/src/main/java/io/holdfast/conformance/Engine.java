package io.holdfast.conformance;

/**
 * An engine beside Holdfast on one device: it has contexts, streams and captures of its own, by raw
 * handles. It behaves as engines do. Not for several threads at once, but for {@link #current}.
 */
public interface Engine extends AutoCloseable {
  /**
   * Its own context.
   *
   * @return the raw handle; 0 where the driver has no contexts of engines' own
   */
  long context();

  /** Leaves its context, or with drivers without contexts its device, current in this thread. */
  void makeCurrent();

  /**
   * What is current in the calling thread.
   *
   * @return the driver's word for it
   */
  long current();

  /**
   * A stream in its context.
   *
   * @return the raw handle
   */
  long newStream();

  /**
   * Keeps a stream busy.
   *
   * @param stream one of its own
   * @return ends the work; it must be called
   */
  Runnable block(long stream);

  /**
   * An event that is recorded on a stream now.
   *
   * @param stream one of its own
   * @return the raw handle
   */
  long recordedEvent(long stream);

  /**
   * Whether a handle of its own still works.
   *
   * @param stream one of its own
   * @return true when the stream takes work
   */
  boolean usable(long stream);

  /**
   * Begins to capture a graph, in the mode in which unsafe calls of any thread break it.
   *
   * @param stream one of its own
   */
  void beginCapture(long stream);

  /**
   * Ends a capture.
   *
   * @param stream as it was begun
   * @return whether the capture is whole
   */
  boolean endCapture(long stream);

  /** Gives back what is its own. Idempotent. */
  @Override
  void close();
}
