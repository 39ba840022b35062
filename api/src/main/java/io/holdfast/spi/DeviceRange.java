package io.holdfast.spi;

/**
 * Device addresses as the driver names them.
 *
 * @param address first byte
 * @param bytes how many
 */
public record DeviceRange(long address, long bytes) {
  /**
   * The first address behind the range.
   *
   * @return address plus bytes
   */
  public long endAddress() {
    return address + bytes;
  }
}
