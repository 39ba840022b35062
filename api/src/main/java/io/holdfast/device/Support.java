package io.holdfast.device;

/** Yes, or no with the reason. */
public sealed interface Support {
  /** It works. */
  record Supported() implements Support {}

  /**
   * It does not.
   *
   * @param reason why, one sentence
   * @param remedy what would help; may be empty
   */
  record Unsupported(String reason, String remedy) implements Support {}
}
