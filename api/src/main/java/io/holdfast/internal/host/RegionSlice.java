package io.holdfast.internal.host;

import io.holdfast.host.HostMemory;
import io.holdfast.host.HostRegion;
import io.holdfast.internal.pin.PinnableMemory;
import io.holdfast.internal.tree.Standing;
import io.holdfast.layout.Bytes;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * A part of a region on whole backing pages.
 *
 * @param of the region
 * @param offsetBytes where it starts, a multiple of the backing page
 * @param logicalBytes what views show
 * @param mappedBytes the same in whole backing pages
 */
record RegionSlice(StandardRegion of, long offsetBytes, long logicalBytes, long mappedBytes)
    implements HostMemory, PinnableMemory {

  static RegionSlice of(StandardRegion region, long offsetBytes, long bytes) {
    long page = region.backingPageBytes();
    if (bytes <= 0) {
      throw new IllegalArgumentException("a slice has at least one byte, not " + bytes);
    }
    if (offsetBytes % page != 0) {
      throw new IllegalArgumentException(
          "a slice starts on a page of " + page + " bytes, not at " + offsetBytes);
    }
    Objects.checkFromIndexSize(offsetBytes, bytes, region.logicalBytes());
    return new RegionSlice(region, offsetBytes, bytes, Bytes.roundUp(bytes, page));
  }

  @Override
  public MemorySegment segment() {
    return of.view(offsetBytes, logicalBytes);
  }

  @Override
  public long backingPageBytes() {
    return of.backingPageBytes();
  }

  @Override
  public HostRegion region() {
    return of;
  }

  @Override
  public Standing standing() {
    return of;
  }

  @Override
  public MemorySegment wholePages() {
    return of.wholePages().asSlice(offsetBytes, mappedBytes);
  }

  @Override
  public void awaitPopulated(long bytes) {
    Objects.checkFromIndexSize(0, bytes, mappedBytes);
    of.awaitPopulated(offsetBytes, bytes);
  }

  @Override
  public boolean isPinnedByDriver() {
    return of.isPinnedByDriver();
  }

  @Override
  public Kept keepMapped(long offset, long bytes) {
    Objects.checkFromIndexSize(offset, bytes, mappedBytes);
    return of.keepMapped(offsetBytes + offset, bytes);
  }
}
