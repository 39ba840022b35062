package io.holdfast.spi;

/** Whether a graph is being captured from a stream. */
public enum CaptureState {
  /** None. */
  NONE,
  /** One is; nothing of ours may be recorded there. */
  ACTIVE,
  /** One was, and is broken. */
  INVALIDATED
}
