package io.holdfast.layout;

/**
 * One run of bytes inside a region.
 *
 * @param offsetBytes where it starts, from the region's start; not negative
 * @param bytes how long it is; positive
 */
public record ByteRange(long offsetBytes, long bytes) {
  /** Checks the numbers. */
  public ByteRange {
    if (offsetBytes < 0 || bytes <= 0 || offsetBytes > Long.MAX_VALUE - bytes) {
      throw new IllegalArgumentException(
          "a range of " + bytes + " bytes cannot start at offset " + offsetBytes);
    }
  }

  /**
   * The first byte behind the range.
   *
   * @return the end, exclusive
   */
  public long endBytes() {
    return offsetBytes + bytes;
  }
}
