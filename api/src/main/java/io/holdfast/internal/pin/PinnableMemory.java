package io.holdfast.internal.pin;

import io.holdfast.host.HostMemory;
import io.holdfast.internal.tree.Standing;
import java.lang.foreign.MemorySegment;

/**
 * What pinning needs of host memory, beside what engines see. Regions and slices of the standard
 * page source are this; all offsets count from the memory's own start.
 */
public interface PinnableMemory extends HostMemory {
  /**
   * What pins stand on: closing it closes them first.
   *
   * @return the region's place in the tree
   */
  Standing standing();

  /**
   * The whole backing pages by address alone, for the driver only.
   *
   * <p>No arena of ours owns it, so a driver call with a part of it never makes closing a view
   * fail, and a range can be unregistered after the views have gone.
   *
   * @return exactly {@link #mappedBytes()} bytes that stay mapped until {@link #standing()} is
   *     released
   */
  MemorySegment wholePages();

  /**
   * Waits until that many bytes from the start are populated; returns at once where pages come
   * lazily. Parks.
   *
   * @param bytes 0 to {@link #mappedBytes()}
   * @throws io.holdfast.error.HoldfastException when that never will be
   * @throws IllegalStateException when the memory was closed, or its owner took it back
   */
  void awaitPopulated(long bytes);

  /**
   * Keeps pages mapped, also after the region was closed: a driver still has them pinned.
   *
   * @param offsetBytes whole backing pages from the start
   * @param bytes whole backing pages
   * @return close it once they are not pinned any more; where the region is closed by then, it
   *     unmaps them
   */
  Kept keepMapped(long offsetBytes, long bytes);

  /**
   * Whether the driver that allocated the memory has it pinned already; then no call pins or unpins
   * it.
   *
   * @return false for memory of the operating system's
   */
  default boolean isPinnedByDriver() {
    return false;
  }

  /** Pages that stay mapped. */
  interface Kept extends AutoCloseable {
    /** Lets the pages go. Idempotent. */
    @Override
    void close();
  }
}
