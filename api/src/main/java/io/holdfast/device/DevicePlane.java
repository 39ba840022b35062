package io.holdfast.device;

/**
 * One part of every block, on the device.
 *
 * @param memory holds the plane's blocks and nothing behind them
 * @param strideBytes from one block to the next
 */
public record DevicePlane(DeviceSegment memory, long strideBytes) {
  /** Checks. */
  public DevicePlane {
    if (strideBytes <= 0) {
      throw new IllegalArgumentException("strideBytes must be positive, not " + strideBytes);
    }
  }
}
