package io.holdfast.internal.extensible;

import io.holdfast.spi.PhysicalHandle;

/** One physical allocation in a segment. Guarded by its region's lock. */
final class Chunk {
  final long offsetBytes;
  final long bytes;
  final PhysicalHandle handle;

  /** Whether it lies under the segment's addresses now. */
  boolean mapped;

  Chunk(long offsetBytes, long bytes, PhysicalHandle handle) {
    this.offsetBytes = offsetBytes;
    this.bytes = bytes;
    this.handle = handle;
  }

  long endBytes() {
    return offsetBytes + bytes;
  }
}
