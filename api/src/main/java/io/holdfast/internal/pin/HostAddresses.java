package io.holdfast.internal.pin;

/**
 * Pinned host memory as one device names it. Read on the submission path: no lock, no allocation.
 * Valid for offsets below the watermark; grows while pinning runs.
 */
public interface HostAddresses {
  /**
   * The registration that holds an offset.
   *
   * @param offsetBytes below the watermark, from the memory's start
   * @return its number, the same for ever
   */
  int rangeOf(long offsetBytes);

  /**
   * Where a registration ends.
   *
   * @param range from {@link #rangeOf}
   * @return the first offset behind it
   */
  long endOf(int range);

  /**
   * How far the device's addresses of a registration are from offsets.
   *
   * @param range from {@link #rangeOf}
   * @return what to add to an offset within it
   */
  long shiftOf(int range);

  /**
   * Where the registration that holds an offset ends.
   *
   * @param offsetBytes below the watermark, from the memory's start
   * @return the first offset behind that registration
   */
  default long endOfRange(long offsetBytes) {
    return endOf(rangeOf(offsetBytes));
  }

  /**
   * The device's address of a pinned byte, good up to {@link #endOfRange}.
   *
   * @param offsetBytes below the watermark, from the memory's start
   * @return the address
   */
  default long addressOf(long offsetBytes) {
    return shiftOf(rangeOf(offsetBytes)) + offsetBytes;
  }
}
