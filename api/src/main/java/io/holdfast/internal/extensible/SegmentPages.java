package io.holdfast.internal.extensible;

import io.holdfast.spi.DeviceRange;
import java.util.List;

/** One segment's addresses and what lies under a prefix of them. Guarded by its region's lock. */
final class SegmentPages {
  final int index;

  /** Whether {@link #held} or not: graphs and kernels know these. */
  final DeviceRange addresses;

  /** Whether the addresses are reserved now. */
  boolean held = true;

  /** Memory that was unmapped and that the driver keeps until the addresses go. */
  long retainedBytes;

  /** Back to back from the start. */
  List<Chunk> chunks = List.of();

  SegmentPages(int index, DeviceRange addresses) {
    this.index = index;
    this.addresses = addresses;
  }

  long mappedBytes() {
    return chunks.isEmpty() ? 0 : chunks.getLast().endBytes();
  }

  DeviceRange range(long fromBytes, long toBytes) {
    return new DeviceRange(addresses.address() + fromBytes, toBytes - fromBytes);
  }

  DeviceRange range(Chunk chunk) {
    return range(chunk.offsetBytes, chunk.endBytes());
  }
}
