package io.holdfast.internal.slots;

import io.holdfast.internal.pin.PinnedMemory;
import io.holdfast.layout.*;
import io.holdfast.pin.*;

/** Placeholder. */
public final class HostSlots {
  private HostSlots() {}

  /**
   * Slots in pinned memory.
   *
   * @param memory pinned
   * @param layout from its start
   * @return the slots
   */
  public static HostBlocks of(PinnedMemory memory, BlockLayout layout) {
    return io.holdfast.internal.Placeholder.value();
  }
}
