package io.holdfast.layout;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Folds planes that lie through one another into planes of rows, and finds planes that collide. */
final class Rows {
  private Rows() {}

  /**
   * Sweeps the planes in ascending order; each group whose extents overlap becomes one plane.
   *
   * @throws OverlapException when a group has no common row
   */
  static List<Plane> fold(List<Plane> planes) {
    List<Integer> ascending = new ArrayList<>(planes.size());
    for (int plane = 0; plane < planes.size(); plane++) {
      ascending.add(plane);
    }
    ascending.sort(Comparator.comparingLong(plane -> planes.get(plane).offsetBytes()));
    List<Plane> rows = new ArrayList<>(planes.size());
    int from = 0;
    while (from < ascending.size()) {
      long end = planes.get(ascending.get(from)).endBytes();
      int to = from + 1;
      while (to < ascending.size() && planes.get(ascending.get(to)).offsetBytes() < end) {
        end = Math.max(end, planes.get(ascending.get(to)).endBytes());
        to++;
      }
      rows.add(
          to == from + 1
              ? planes.get(ascending.get(from))
              : row(planes, ascending.subList(from, to), end));
      from = to;
    }
    return List.copyOf(rows);
  }

  /** The plane of rows of one group whose extents overlap; {@code end} is the group's end. */
  private static Plane row(List<Plane> planes, List<Integer> group, long end) {
    Plane anchor = planes.get(group.getFirst());
    long stride = anchor.strideBytes();
    for (int plane : group) {
      if (planes.get(plane).strideBytes() != stride) {
        throw overlap(
            planes, group.getFirst(), plane, "their extents overlap and their strides differ");
      }
    }
    // Where each part starts inside a row. The anchor starts at 0, so a part that crosses the end
    // of the row would collide with the anchor's next block, unless the planes run so far apart
    // that those blocks do not exist.
    List<Integer> byPhase = new ArrayList<>(group);
    byPhase.sort(Comparator.comparingLong(plane -> phase(planes.get(plane), anchor)));
    long rowEnd = 0;
    int holder = byPhase.getFirst();
    for (int plane : byPhase) {
      long start = phase(planes.get(plane), anchor);
      long bytes = planes.get(plane).blockBytes();
      if (start < rowEnd) {
        throw collision(planes, group, holder, plane);
      }
      if (bytes > stride - start) {
        throw collision(planes, group, group.getFirst(), plane);
      }
      rowEnd = start + bytes;
      holder = plane;
    }
    // Planes shifted against each other by whole rows leave the last row short; a row never claims
    // bytes behind the group.
    long rows = Math.ceilDiv(end - anchor.offsetBytes(), stride);
    return new Plane(
        anchor.offsetBytes(),
        stride,
        Math.min(rowEnd, end - anchor.offsetBytes() - (rows - 1) * stride),
        rows);
  }

  private static long phase(Plane plane, Plane anchor) {
    return (plane.offsetBytes() - anchor.offsetBytes()) % anchor.strideBytes();
  }

  /**
   * The error for a group without a common row: names two planes that really share bytes where
   * there are such, else the two whose rows do not fit.
   */
  private static OverlapException collision(
      List<Plane> planes, List<Integer> group, int first, int second) {
    for (int i = 0; i < group.size(); i++) {
      for (int j = i + 1; j < group.size(); j++) {
        Plane lower = planes.get(group.get(i));
        Plane upper = planes.get(group.get(j));
        if (shareBytes(lower, upper)) {
          return overlap(planes, group.get(i), group.get(j), "their blocks share bytes");
        }
      }
    }
    return overlap(planes, first, second, "they interleave, but not in common rows");
  }

  /**
   * Whether any two blocks of planes with equal stride share a byte; {@code lower} starts first.
   * Where extents overlap, a collision anywhere implies one with block 0 of the upper plane.
   */
  private static boolean shareBytes(Plane lower, Plane upper) {
    if (upper.offsetBytes() >= lower.endBytes()) {
      return false;
    }
    long stride = lower.strideBytes();
    long phase = phase(upper, lower);
    return phase < lower.blockBytes() || upper.blockBytes() > stride - phase;
  }

  private static OverlapException overlap(List<Plane> planes, int first, int second, String why) {
    return new OverlapException(first, planes.get(first), second, planes.get(second), why);
  }
}
