package io.holdfast.layout;

/**
 * Byte counts by the names people use. Every method is pure; a count that does not fit a {@code
 * long} is an {@link IllegalArgumentException} with the numbers.
 */
public final class Bytes {
  private Bytes() {}

  /**
   * That many units of 1,024 bytes.
   *
   * @param count how many KiB, not negative
   * @return the bytes
   */
  public static long kib(long count) {
    return scaled(count, 10, "KiB");
  }

  /**
   * That many units of 1,024 KiB.
   *
   * @param count how many MiB, not negative
   * @return the bytes
   */
  public static long mib(long count) {
    return scaled(count, 20, "MiB");
  }

  /**
   * That many units of 1,024 MiB.
   *
   * @param count how many GiB, not negative
   * @return the bytes
   */
  public static long gib(long count) {
    return scaled(count, 30, "GiB");
  }

  /**
   * That many units of 1,024 GiB.
   *
   * @param count how many TiB, not negative
   * @return the bytes
   */
  public static long tib(long count) {
    return scaled(count, 40, "TiB");
  }

  /**
   * The smallest multiple of a unit that is not below a byte count.
   *
   * @param bytes what to round up, not negative
   * @param unitBytes the unit, positive; need not be a power of two
   * @return the rounded bytes
   */
  public static long roundUp(long bytes, long unitBytes) {
    long below = roundDown(bytes, unitBytes);
    if (below == bytes) {
      return bytes;
    }
    if (below > Long.MAX_VALUE - unitBytes) {
      throw new IllegalArgumentException(
          bytes + " bytes rounded up to a multiple of " + unitBytes + " exceed a long");
    }
    return below + unitBytes;
  }

  /**
   * The largest multiple of a unit that is not above a byte count.
   *
   * @param bytes what to round down, not negative
   * @param unitBytes the unit, positive; need not be a power of two
   * @return the rounded bytes
   */
  public static long roundDown(long bytes, long unitBytes) {
    if (bytes < 0 || unitBytes <= 0) {
      throw new IllegalArgumentException(
          "cannot round " + bytes + " bytes to multiples of " + unitBytes);
    }
    return bytes - bytes % unitBytes;
  }

  private static long scaled(long count, int shift, String unit) {
    if (count < 0 || count > Long.MAX_VALUE >> shift) {
      throw new IllegalArgumentException(
          count + " " + unit + " are not between 0 and " + (Long.MAX_VALUE >> shift) + " " + unit);
    }
    return count << shift;
  }
}
