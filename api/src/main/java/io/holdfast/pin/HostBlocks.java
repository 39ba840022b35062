package io.holdfast.pin;

import io.holdfast.layout.BlockShape;

/**
 * The host side of copies: slots for blocks. Holdfast orders copies on one slot itself: a load
 * waits for the store that fills it, a store for the loads that still read it.
 *
 * <p>Safe from any thread. Made by {@link PinnedRegion#blocks} and by copy engines only.
 */
public interface HostBlocks {
  /**
   * What a block is made of.
   *
   * @return the shape
   */
  BlockShape shape();

  /**
   * All slots.
   *
   * @return how many
   */
  long slots();

  /**
   * Slots 0 to this-1 can be used now.
   *
   * @return how many
   */
  long readySlots();

  /**
   * Waits until that many are ready; a virtual thread parks.
   *
   * @param slots 0 to {@link #slots()}
   * @throws io.holdfast.error.HoldfastException when that never will be
   */
  void awaitSlots(long slots);

  /**
   * The slot's bytes for the CPU.
   *
   * @param slot which
   * @param access what the CPU does with it
   * @return close it to give the slot back
   * @throws io.holdfast.error.BusyException while a conflicting copy works on it
   * @throws NotReadyException when it is not pinned yet
   */
  SlotLease lease(long slot, Access access);

  /** What the CPU does with a slot. */
  enum Access {
    /** Shared with loads and other readers. */
    READ,
    /** Alone. */
    WRITE
  }
}
