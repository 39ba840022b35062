package io.holdfast.pin;

import io.holdfast.layout.Plane;
import java.util.ArrayList;
import java.util.List;

/**
 * The planner's rules looked up page by page and block by block, for regions small enough. Shares
 * no code with the planner.
 */
final class BruteForce {
  final PlanGeometry geometry;
  final int mapped;
  final int page;

  /** Per offset: whether it lies strictly inside a block with its padding. */
  private final boolean[] inside;

  BruteForce(PlanGeometry geometry) {
    this.geometry = geometry;
    mapped = Math.toIntExact(geometry.mappedBytes());
    page = Math.toIntExact(geometry.backingPageBytes());
    inside = new boolean[mapped + 1];
    for (Plane plane : geometry.planes()) {
      int nextStart = mapped;
      for (Plane other : geometry.planes()) {
        if (other.offsetBytes() > plane.offsetBytes()) {
          nextStart = Math.min(nextStart, Math.toIntExact(other.offsetBytes()));
        }
      }
      for (int block = 0; block < plane.blocks(); block++) {
        int start = Math.toIntExact(plane.offsetBytes() + block * plane.strideBytes());
        int end = (int) Math.min(start + plane.strideBytes(), nextStart);
        for (int offset = start + 1; offset < end; offset++) {
          inside[offset] = true;
        }
      }
    }
  }

  boolean legal(int offset) {
    return offset % page == 0 && !inside[offset];
  }

  /** The furthest legal offset in (from, from + most], the mapped end included, or -1. */
  int furthest(int from, long most) {
    for (int to = (int) Math.min(mapped, from + most); to > from; to--) {
      if (legal(to)) {
        return to;
      }
    }
    return -1;
  }

  int first(int from) {
    int to = from + 1;
    while (!legal(to)) {
      to++;
    }
    return to;
  }

  /** The rule for one range with a wish and a cap; -1 where none exists. */
  int next(int from, long wanted, CutPolicy policy) {
    int furthest = furthest(from, wanted);
    if (furthest >= 0) {
      return furthest;
    }
    int first = first(from);
    if (first - from <= geometry.capBytes()) {
      return first;
    }
    if (policy == CutPolicy.NEVER_INSIDE_BLOCK) {
      return -1;
    }
    int to = (int) Math.min(mapped, from + geometry.capBytes());
    while (to % page != 0) {
      to--;
    }
    return to;
  }

  /** The ends of all ranges, the last one the mapped end; or -1 behind the last possible one. */
  List<Integer> ends(CutPolicy policy) {
    long wanted =
        policy == CutPolicy.NEVER_INSIDE_BLOCK
            ? geometry.capBytes()
            : Math.min(geometry.capBytes(), Math.max(geometry.sliceBytes(), page));
    List<Integer> ends = new ArrayList<>();
    int at = 0;
    while (at < mapped) {
      at = next(at, wanted, policy);
      ends.add(at);
      if (at < 0) {
        break;
      }
    }
    return ends;
  }

  int widestStretch() {
    int widest = 0;
    int last = 0;
    for (int offset = page; offset <= mapped; offset += page) {
      if (legal(offset)) {
        widest = Math.max(widest, offset - last);
        last = offset;
      }
    }
    return widest;
  }

  /** Multiples of the whole pages in the cap that lie inside a block, and how many ranges. */
  PageCuts pageCuts() {
    int step = (int) Math.min(mapped, geometry.capBytes() / page * page);
    long straddling = 0;
    long ranges = 1;
    for (int cut = step; cut < mapped; cut += step) {
      ranges++;
      straddling += inside[cut] ? 1 : 0;
    }
    return new PageCuts(geometry.capBytes() / page * page, ranges, straddling);
  }
}
