package io.holdfast.device;

/** How far the addresses reach. It prints; it has no number to compute a stride from. */
public final class ReservedExtent {
  private final long bytes;

  private ReservedExtent(long bytes) {
    this.bytes = bytes;
  }

  /**
   * A number goes in, none comes out.
   *
   * @param bytes how far
   * @return the extent
   */
  public static ReservedExtent ofBytes(long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException("bytes must not be negative: " + bytes);
    }
    return new ReservedExtent(bytes);
  }

  @Override
  public String toString() {
    return bytes + " bytes of addresses";
  }
}
