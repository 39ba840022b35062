package io.holdfast.bench.soak;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;

/**
 * Bytes that tell which block they are: a stream of 64-bit words from a seed, so that a missing, a
 * shifted or a foreign word cannot pass.
 */
public final class Pattern {
  private static final long GOLDEN = 0x9E3779B97F4A7C15L;

  private Pattern() {}

  /** SplitMix64's finaliser: a bijection in which every input bit reaches every output bit. */
  public static long mix(long value) {
    long z = (value ^ (value >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** Fills memory with the stream of a seed. */
  public static void fill(MemorySegment memory, long seed) {
    long bytes = memory.byteSize();
    long state = seed;
    long at = 0;
    for (; at + Long.BYTES <= bytes; at += Long.BYTES) {
      state += GOLDEN;
      memory.set(JAVA_LONG_UNALIGNED, at, mix(state));
    }
    long last = mix(state + GOLDEN);
    for (; at < bytes; at++) {
      memory.set(JAVA_BYTE, at, (byte) last);
      last >>>= Byte.SIZE;
    }
  }

  /** The first offset that differs from the stream of a seed, or -1. */
  public static long firstDifference(MemorySegment memory, long seed) {
    long bytes = memory.byteSize();
    long state = seed;
    long at = 0;
    for (; at + Long.BYTES <= bytes; at += Long.BYTES) {
      state += GOLDEN;
      long difference = memory.get(JAVA_LONG_UNALIGNED, at) ^ mix(state);
      if (difference != 0) {
        return at + firstByte(difference);
      }
    }
    long last = mix(state + GOLDEN);
    for (; at < bytes; at++) {
      if (memory.get(JAVA_BYTE, at) != (byte) last) {
        return at;
      }
      last >>>= Byte.SIZE;
    }
    return -1;
  }

  private static int firstByte(long difference) {
    return ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN
        ? Long.numberOfTrailingZeros(difference) / Byte.SIZE
        : Long.numberOfLeadingZeros(difference) / Byte.SIZE;
  }
}
