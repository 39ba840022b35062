package io.holdfast.internal.slots;

import io.holdfast.pin.HostBlocks;

/** Something that is host blocks by holding some, for example a pool; routes look inside. */
public interface SlotsHolder {
  /**
   * The slots that are meant.
   *
   * @return the slots
   */
  HostBlocks slots();
}
