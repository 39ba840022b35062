package io.holdfast.internal.extensible;

import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.Bytes;
import io.holdfast.layout.Plane;
import java.util.ArrayList;
import java.util.List;

/**
 * Which segments a layout has, and where each part lies in its segment. A segment is one run of
 * addresses of which a prefix is committed: a plane of its own, or rows of several parts.
 *
 * @param capacity blocks at most
 * @param granuleBytes what physical memory is a multiple of
 * @param segments at least one
 * @param parts one for each part of the shape
 */
record SegmentPlan(long capacity, long granuleBytes, List<Row> segments, List<Part> parts) {

  /**
   * One segment.
   *
   * @param strideBytes from one block to the next
   * @param rowBytes of one block without the padding behind it
   */
  record Row(long strideBytes, long rowBytes) {
    /** Bytes that belong to that many blocks, padding included. */
    long bytes(long blocks) {
      return Math.multiplyExact(blocks, strideBytes);
    }

    /** Bytes that views of that many blocks span. */
    long viewBytes(long blocks) {
      return blocks == 0 ? 0 : bytes(blocks - 1) + rowBytes;
    }
  }

  /**
   * One part of every block.
   *
   * @param segment where
   * @param offsetBytes in a row
   * @param partBytes its bytes
   */
  record Part(int segment, long offsetBytes, long partBytes) {}

  /** Derives the segments; the layout has one row for each block, as requests check. */
  static SegmentPlan of(BlockLayout layout, long granuleBytes) {
    List<Plane> rows = layout.rows();
    List<Row> segments = new ArrayList<>(rows.size());
    for (Plane row : rows) {
      segments.add(new Row(row.strideBytes(), row.blockBytes()));
    }
    List<Part> parts = new ArrayList<>(layout.planes().size());
    for (Plane plane : layout.planes()) {
      int segment = rowOf(rows, plane);
      parts.add(
          new Part(
              segment, plane.offsetBytes() - rows.get(segment).offsetBytes(), plane.blockBytes()));
    }
    return new SegmentPlan(
        layout.blocks(), granuleBytes, List.copyOf(segments), List.copyOf(parts));
  }

  /** The last row that starts at or before the plane. */
  private static int rowOf(List<Plane> rows, Plane plane) {
    int found = 0;
    while (found + 1 < rows.size() && rows.get(found + 1).offsetBytes() <= plane.offsetBytes()) {
      found++;
    }
    return found;
  }

  /** Whole granules under that many blocks of one segment. */
  long physicalBytes(int segment, long blocks) {
    return Bytes.roundUp(segments.get(segment).bytes(blocks), granuleBytes);
  }

  /** Addresses of one segment. */
  long reservedBytes(int segment) {
    return physicalBytes(segment, capacity);
  }

  /** Addresses of all segments. */
  long reservedBytes() {
    long bytes = 0;
    for (int segment = 0; segment < segments.size(); segment++) {
      bytes = Math.addExact(bytes, reservedBytes(segment));
    }
    return bytes;
  }

  /** Bytes that a part's plane spans. */
  long planeBytes(int part, long blocks) {
    if (blocks == 0) {
      return 0;
    }
    Part one = parts.get(part);
    return segments.get(one.segment()).bytes(blocks - 1) + one.partBytes();
  }
}
