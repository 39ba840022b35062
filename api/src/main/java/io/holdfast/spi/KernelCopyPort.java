package io.holdfast.spi;

/** Copies by the device's own cores, through registered host memory. */
public interface KernelCopyPort {
  /**
   * Copies rows with a bounded share of the device; any size and alignment, byte-exact.
   *
   * @param table the copies; host addresses are given as the device sees them
   * @param columns the table's first column as the device sees it; the other two follow it at equal
   *     distances of {@code table.capacity()} words (destinations, sources, byte counts)
   * @param from first row
   * @param to one behind the last row
   * @param threadBlocks most thread blocks, positive
   * @param stream where
   */
  void copyByKernel(
      CopyTable table,
      DeviceRange columns,
      long from,
      long to,
      int threadBlocks,
      StreamHandle stream);
}
