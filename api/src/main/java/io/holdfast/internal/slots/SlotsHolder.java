package io.holdfast.internal.slots;

import io.holdfast.pin.HostBlocks;

/** Host blocks that pass everything on to slots of ours, for example a pool; routes look inside. */
public interface SlotsHolder {
  /**
   * The slots behind it.
   *
   * @return the slots; may hold others in turn
   */
  HostBlocks held();
}
