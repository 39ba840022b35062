package io.holdfast.internal.host;

import io.holdfast.layout.ByteRange;
import java.lang.foreign.MemorySegment;

/** The memory under a region, and how it goes back. */
interface RegionMemory {
  /** Whole backing pages, by address alone where they are ours. */
  MemorySegment pages();

  /** Gives whole backing pages back, each byte once. */
  void giveBack(ByteRange range);

  /** Whether it goes back only as a whole. */
  default boolean isIndivisible() {
    return false;
  }
}
