package io.holdfast.device;

import java.util.Locale;

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

  /**
   * The same bytes as smaller blocks, for kernels whose block is a part of an engine's: a plane of
   * 3 blocks split in 2 has 6.
   *
   * @param kernelBlocks how many make up one block, 1 or more
   * @return a plane at the same address with a smaller stride
   * @throws IllegalArgumentException when blocks do not lie back to back, or do not divide
   */
  public DevicePlane split(int kernelBlocks) {
    if (kernelBlocks < 1
        || strideBytes % kernelBlocks != 0
        || memory.byteSize() % strideBytes != 0) {
      throw new IllegalArgumentException(
          String.format(
              Locale.ROOT,
              "%d bytes in blocks with a stride of %d cannot be split into %d kernel blocks each",
              memory.byteSize(),
              strideBytes,
              kernelBlocks));
    }
    return new DevicePlane(memory, strideBytes / kernelBlocks);
  }
}
