package io.holdfast.pin;

/** Exact arithmetic on residues of non-negative {@code long} numbers; nothing here can overflow. */
final class Residues {
  /** No such number exists. */
  static final long NONE = -1;

  private Residues() {}

  /** Greatest common divisor of two positive numbers. */
  static long gcd(long a, long b) {
    while (b != 0) {
      long rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }

  /** Least common multiple of two positive numbers, or {@link Long#MAX_VALUE} when it is larger. */
  static long lcm(long a, long b) {
    return product(a / gcd(a, b), b);
  }

  /** Product of two non-negative numbers, or {@link Long#MAX_VALUE} when it is larger. */
  static long product(long a, long b) {
    long low = a * b;
    return Math.multiplyHigh(a, b) != 0 || low < 0 ? Long.MAX_VALUE : low;
  }

  /** Sum of two non-negative numbers, or {@link Long#MAX_VALUE} when it is larger. */
  static long sum(long a, long b) {
    return a > Long.MAX_VALUE - b ? Long.MAX_VALUE : a + b;
  }

  /**
   * The least {@code k >= 0} for which {@code start + k * stride} is a multiple of {@code unit}, or
   * {@link #NONE}. It is below {@code unit / gcd(stride, unit)}, and every further one is that much
   * larger.
   */
  static long firstMultiple(long start, long stride, long unit) {
    long divisor = gcd(stride, unit);
    if (start % divisor != 0) {
      return NONE;
    }
    long period = unit / divisor;
    if (period == 1) {
      return 0;
    }
    long residue = start / divisor % period;
    long wanted = residue == 0 ? 0 : period - residue;
    return multiply(wanted, inverse(stride / divisor % period, period), period);
  }

  /** {@code a * b mod modulus} for {@code 0 <= a, b < modulus}. */
  static long multiply(long a, long b, long modulus) {
    long low = a * b;
    if (Math.multiplyHigh(a, b) == 0 && low >= 0) {
      return low % modulus;
    }
    long result = 0;
    for (int bit = Long.SIZE - 1 - Long.numberOfLeadingZeros(b); bit >= 0; bit--) {
      result = add(result, result, modulus);
      if ((b >>> bit & 1) != 0) {
        result = add(result, a, modulus);
      }
    }
    return result;
  }

  /** The inverse of {@code a} modulo {@code modulus}; both positive, without common divisor. */
  private static long inverse(long a, long modulus) {
    // Extended Euclid. Every coefficient stays within the modulus in magnitude.
    long rest = modulus;
    long nextRest = a;
    long factor = 0;
    long nextFactor = 1;
    while (nextRest != 0) {
      long quotient = rest / nextRest;
      long keptRest = nextRest;
      nextRest = rest - quotient * nextRest;
      rest = keptRest;
      long keptFactor = nextFactor;
      nextFactor = factor - quotient * nextFactor;
      factor = keptFactor;
    }
    return factor < 0 ? factor + modulus : factor;
  }

  private static long add(long a, long b, long modulus) {
    long room = modulus - b;
    return a >= room ? a - room : a + b;
  }
}
