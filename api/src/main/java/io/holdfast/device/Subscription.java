package io.holdfast.device;

/** Ends a subscription. */
public interface Subscription extends AutoCloseable {
  /** No call starts after this returns. Idempotent. */
  @Override
  void close();
}
