package io.holdfast.pin;

import io.holdfast.layout.Plane;
import java.util.List;

/**
 * The places of a region where a cut goes through no block: multiples of the backing page in the
 * gaps between planes, and inside each plane one arithmetic progression.
 *
 * <p>A block boundary {@code offset + k * stride} is a multiple of the page exactly for {@code k =
 * first + m * page / gcd(stride, page)}, if for any, so the legal cuts inside a plane are {@code
 * lcm(stride, page)} bytes apart. The region's two ends count as legal. Memory grows with the
 * number of planes, and a question costs one binary search among them. Immutable.
 */
final class LegalCuts {
  private static final long NONE = Residues.NONE;

  private final long mappedBytes;
  private final long pageBytes;

  // Per plane, ascending. A plane takes [start, end): its padding counts, clipped to what follows.
  private final int[] index;
  private final long[] start;
  private final long[] end;
  private final long[] stride;
  private final long[] blocks;
  // The progression inside [start, end): first, first + unit, ... last; NONE where it is empty.
  private final long[] first;
  private final long[] last;
  private final long[] unit;
  // The legal cut nearest to the plane on either side: at most start, at least end.
  private final long[] before;
  private final long[] after;

  LegalCuts(PlanGeometry geometry) {
    List<Plane> planes = geometry.planes();
    int count = planes.size();
    mappedBytes = geometry.mappedBytes();
    pageBytes = geometry.backingPageBytes();
    index = new int[count];
    start = new long[count];
    end = new long[count];
    stride = new long[count];
    blocks = new long[count];
    first = new long[count];
    last = new long[count];
    unit = new long[count];
    before = new long[count];
    after = new long[count];
    int place = 0;
    for (int plane : PlanGeometry.ascending(planes)) {
      index[place++] = plane;
    }
    for (int i = 0; i < count; i++) {
      Plane plane = planes.get(index[i]);
      long limit = i + 1 < count ? planes.get(index[i + 1]).offsetBytes() : mappedBytes;
      start[i] = plane.offsetBytes();
      stride[i] = plane.strideBytes();
      blocks[i] = plane.blocks();
      end[i] =
          Math.min(limit, Residues.sum(start[i], Residues.product(blocks[i], plane.strideBytes())));
      unit[i] = Residues.lcm(stride[i], pageBytes);
      long block = Residues.firstMultiple(start[i], stride[i], pageBytes);
      if (block == NONE || block >= blocks[i]) {
        first[i] = NONE;
        last[i] = NONE;
      } else {
        first[i] = start[i] + block * stride[i];
        last[i] = first[i] + (end[i] - 1 - first[i]) / unit[i] * unit[i];
      }
    }
    for (int i = 0; i < count; i++) {
      long page = pageAtOrBelow(start[i]);
      if (page >= (i == 0 ? 0 : end[i - 1])) {
        before[i] = page;
      } else {
        before[i] = last[i - 1] != NONE ? last[i - 1] : before[i - 1];
      }
    }
    for (int i = count - 1; i >= 0; i--) {
      long page = pageAtOrAbove(end[i]);
      if (page <= gapEnd(i)) {
        after[i] = page;
      } else {
        after[i] = first[i + 1] != NONE ? first[i + 1] : after[i + 1];
      }
    }
  }

  long mappedBytes() {
    return mappedBytes;
  }

  long pageBytes() {
    return pageBytes;
  }

  int planes() {
    return start.length;
  }

  /** The plane's index in the geometry's list. */
  int index(int plane) {
    return index[plane];
  }

  long start(int plane) {
    return start[plane];
  }

  /** The first byte behind the plane and its padding. */
  long end(int plane) {
    return end[plane];
  }

  long stride(int plane) {
    return stride[plane];
  }

  long blocks(int plane) {
    return blocks[plane];
  }

  /** The first legal cut at a block boundary in [start, end), or {@link Residues#NONE}. */
  long first(int plane) {
    return first[plane];
  }

  /** The last legal cut at a block boundary in [start, end), or {@link Residues#NONE}. */
  long last(int plane) {
    return last[plane];
  }

  /** Bytes from one legal cut inside the plane to the next, {@link Long#MAX_VALUE} if more. */
  long unit(int plane) {
    return unit[plane];
  }

  /** The greatest legal cut at or below the plane's start. */
  long before(int plane) {
    return before[plane];
  }

  /** The least legal cut at or above the plane's end. */
  long after(int plane) {
    return after[plane];
  }

  /** Where the gap behind a plane ends, or the gap before all planes for -1. */
  long gapEnd(int plane) {
    return plane + 1 < start.length ? start[plane + 1] : mappedBytes;
  }

  /** The last plane that starts at or below an offset, or -1. */
  int planeAt(long offset) {
    int low = 0;
    int high = start.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (start[middle] <= offset) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - 1;
  }

  /** The greatest legal cut at or below an offset in [0, mapped]. */
  long atOrBelow(long offset) {
    int plane = planeAt(offset);
    if (plane < 0) {
      return pageAtOrBelow(offset);
    }
    if (offset >= end[plane]) {
      long page = pageAtOrBelow(offset);
      if (page >= end[plane]) {
        return page;
      }
      return last[plane] != NONE ? last[plane] : before[plane];
    }
    if (first[plane] == NONE || offset < first[plane]) {
      return before[plane];
    }
    return first[plane] + (offset - first[plane]) / unit[plane] * unit[plane];
  }

  /** The least legal cut above an offset in [0, mapped). */
  long above(long offset) {
    int plane = planeAt(offset);
    if (plane < 0 || offset >= end[plane]) {
      long page = pageAtOrBelow(offset);
      if (page <= gapEnd(plane) - pageBytes) {
        return page + pageBytes;
      }
      return first[plane + 1] != NONE ? first[plane + 1] : after[plane + 1];
    }
    if (first[plane] == NONE || offset >= last[plane]) {
      return after[plane];
    }
    if (offset < first[plane]) {
      return first[plane];
    }
    return first[plane] + ((offset - first[plane]) / unit[plane] + 1) * unit[plane];
  }

  boolean isLegal(long offset) {
    return atOrBelow(offset) == offset;
  }

  /** Whether an offset is one of the legal cuts inside a plane. */
  boolean inProgression(int plane, long offset) {
    return first[plane] != NONE
        && offset >= first[plane]
        && offset < end[plane]
        && (offset - first[plane]) % unit[plane] == 0;
  }

  private long pageAtOrBelow(long offset) {
    return offset & -pageBytes;
  }

  /** Cannot overflow for an offset within the region, which is whole pages. */
  private long pageAtOrAbove(long offset) {
    long page = pageAtOrBelow(offset);
    return page == offset ? page : page + pageBytes;
  }
}
