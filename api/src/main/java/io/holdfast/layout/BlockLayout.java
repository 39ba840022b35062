package io.holdfast.layout;

import java.util.List;
import java.util.Locale;

/**
 * Where the blocks of a shape lie: one plane per part.
 *
 * <p>Planes may lie one behind the other, with or without gaps, or through one another like the
 * parts of block-major rows. In the second case they must have one stride, and no two blocks may
 * share a byte.
 *
 * @param shape what a block is made of
 * @param planes one per part in the shape's order, same number of blocks each, no two overlapping
 */
public record BlockLayout(BlockShape shape, List<Plane> planes) {
  /**
   * Copies the list and checks it against the shape.
   *
   * @throws OverlapException when two planes claim the same bytes, or interleave with unequal
   *     strides
   */
  public BlockLayout {
    planes = List.copyOf(planes);
    if (planes.size() != shape.parts()) {
      throw new IllegalArgumentException(
          planes.size() + " planes for a block of " + shape.parts() + " parts");
    }
    long blocks = planes.getFirst().blocks();
    for (int part = 0; part < planes.size(); part++) {
      Plane plane = planes.get(part);
      if (plane.blockBytes() != shape.partBytes().get(part)) {
        throw new IllegalArgumentException(
            String.format(
                Locale.ROOT,
                "plane %d holds blocks of %d bytes, part %d of the shape has %d",
                part,
                plane.blockBytes(),
                part,
                shape.partBytes().get(part)));
      }
      if (plane.blocks() != blocks) {
        throw new IllegalArgumentException(
            String.format(
                Locale.ROOT,
                "plane %d holds %d blocks, plane 0 holds %d",
                part,
                plane.blocks(),
                blocks));
      }
    }
    var _ = Rows.fold(planes);
  }

  /**
   * How many blocks.
   *
   * @return the number of blocks in every plane
   */
  public long blocks() {
    return planes.getFirst().blocks();
  }

  /**
   * Bytes from offset 0 to the end of the last block; padding behind it is not included.
   *
   * @return the least region that holds the layout
   */
  public long extentBytes() {
    long extent = 0;
    for (Plane plane : planes) {
      extent = Math.max(extent, plane.endBytes());
    }
    return extent;
  }

  /**
   * The planes as a registration planner sees them: disjoint, ascending, and with planes that lie
   * through one another folded into one plane of rows.
   *
   * <p>The block of a folded plane is the row: everything between the first part's start and the
   * last part's end. Costs a sort of the planes.
   *
   * @return at least one plane, no two of which share or enclose a byte of each other
   */
  public List<Plane> rows() {
    return Rows.fold(planes);
  }
}
