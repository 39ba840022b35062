package io.holdfast.internal.pin;

import io.holdfast.internal.slots.SlotMemory;
import io.holdfast.pin.PinnedRegion;
import java.lang.foreign.MemorySegment;

/** What copies need of a pinned region, beside what engines see. */
public interface PinnedMemory extends PinnedRegion, SlotMemory {
  @Override
  default long logicalBytes() {
    return memory().logicalBytes();
  }

  @Override
  default MemorySegment usable(long offsetBytes, long bytes) {
    return memory().segment().asSlice(offsetBytes, bytes);
  }
}
