package io.holdfast.device;

/** Device memory that we own. */
public interface DeviceAllocation extends AutoCloseable {
  /**
   * All of it.
   *
   * @return the segment; unusable once this is closed
   */
  DeviceSegment segment();

  /** Frees it once copies in flight are done. Idempotent. */
  @Override
  void close();
}
