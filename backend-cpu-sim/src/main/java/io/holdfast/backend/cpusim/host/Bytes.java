package io.holdfast.backend.cpusim.host;

import java.lang.foreign.MemorySegment;

/** Copies between addresses. */
final class Bytes {
  @SuppressWarnings("restricted") // both ends are mapped by this package
  private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  private Bytes() {}

  static void copy(long from, long to, long bytes) {
    MemorySegment.copy(ALL, from, ALL, to, bytes);
  }
}
