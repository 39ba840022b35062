package io.holdfast.host;

/** A named reason for memory to stay where it is. */
public interface Hold extends AutoCloseable {
  /** Lets go. Idempotent. */
  @Override
  void close();
}
