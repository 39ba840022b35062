package io.holdfast.device;

/** Another process's memory, mapped here. */
public interface ImportedRegion extends AutoCloseable {
  /**
   * How many segments there are.
   *
   * @return at least 1
   */
  int segments();

  /**
   * One segment's bytes.
   *
   * @param index 0 to {@link #segments()} - 1
   * @return its memory; unusable once this is closed
   */
  DeviceSegment segment(int index);

  /** Unmaps and gives the handles back, once copies in flight are done. Idempotent. */
  @Override
  void close();
}
