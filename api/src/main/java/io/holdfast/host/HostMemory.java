package io.holdfast.host;

import java.lang.foreign.MemorySegment;

/** Host memory that can be viewed and pinned: a region or a slice of one. */
public interface HostMemory {
  /**
   * Exactly the logical bytes.
   *
   * @return a view; use after the region was closed is an {@link IllegalStateException}
   * @throws NotPopulatedException before every page is there, unless pages were asked to come
   *     lazily
   */
  MemorySegment segment();

  /**
   * What the caller asked for.
   *
   * @return bytes
   */
  long logicalBytes();

  /**
   * Whole backing pages.
   *
   * @return bytes, at least {@link #logicalBytes()}
   */
  long mappedBytes();

  /**
   * The page that really backs it.
   *
   * @return bytes
   */
  long backingPageBytes();

  /**
   * Where it starts inside its region.
   *
   * @return bytes, a multiple of the backing page; 0 for a region
   */
  long offsetBytes();

  /**
   * The region it belongs to, itself for a region.
   *
   * @return the region
   */
  HostRegion region();
}
