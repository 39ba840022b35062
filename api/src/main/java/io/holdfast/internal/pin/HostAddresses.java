package io.holdfast.internal.pin;

/**
 * Pinned host memory as one device names it. Read on the submission path: no lock, no allocation.
 * Valid for offsets below the watermark; grows while pinning runs.
 */
public interface HostAddresses {
  /**
   * Where the registration that holds an offset ends.
   *
   * @param offsetBytes below the watermark, from the memory's start
   * @return the first offset behind that registration
   */
  long endOfRange(long offsetBytes);

  /**
   * The device's address of a pinned byte, good up to {@link #endOfRange}.
   *
   * @param offsetBytes below the watermark, from the memory's start
   * @return the address
   */
  long addressOf(long offsetBytes);
}
