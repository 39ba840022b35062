package io.holdfast.internal;

import io.holdfast.internal.tree.Standing;
import io.holdfast.internal.tree.UseCount;

/** Who answers for a range of device memory. */
public interface SegmentOwner {
  /**
   * Refuses use after the memory is gone or exchanged. Allocates nothing while it is there.
   *
   * @throws IllegalStateException when closed
   * @throws io.holdfast.device.StaleException when pages were exchanged
   */
  void requireUsable();

  /**
   * What copies to and from the memory stand on.
   *
   * @return the owner's place in the tree
   */
  Standing standing();

  /**
   * Entered by each submission that touches the memory, left when the device is done; shut while
   * pages change.
   *
   * @return the count
   */
  UseCount uses();
}
