package io.holdfast.backend.cpusim.driver;

/**
 * Work of an engine's that does not end until a test says so: what comes behind it on its stream is
 * in flight for certain. Any thread.
 */
public final class Blocker implements AutoCloseable {
  private final WorkQueues driver;
  final Stream stream;

  /** Guarded by the driver's lock. */
  boolean released;

  Blocker(WorkQueues driver, Stream stream) {
    this.driver = driver;
    this.stream = stream;
  }

  /** Lets the stream go on. Idempotent. */
  public void release() {
    driver.release(this);
  }

  @Override
  public void close() {
    release();
  }
}
