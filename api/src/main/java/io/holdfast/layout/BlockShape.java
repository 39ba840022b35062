package io.holdfast.layout;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * What one block is made of: its parts in order, each with its bytes.
 *
 * <p>Both sides of a copy must have equal shapes; where the parts lie, the {@link BlockLayout}, may
 * differ. Two shapes are equal when their parts have the same bytes in the same order.
 *
 * @param partBytes bytes of each part, at least one part, all positive
 */
public record BlockShape(List<Long> partBytes) {
  /** Copies the list and checks it; the sum must fit a {@code long}. */
  public BlockShape {
    partBytes = List.copyOf(partBytes);
    if (partBytes.isEmpty()) {
      throw new IllegalArgumentException("a block needs at least one part");
    }
    long sum = 0;
    for (int part = 0; part < partBytes.size(); part++) {
      long bytes = partBytes.get(part);
      if (bytes <= 0) {
        throw new IllegalArgumentException("part " + part + " has " + bytes + " bytes");
      }
      if (bytes > Long.MAX_VALUE - sum) {
        throw new IllegalArgumentException(
            "parts 0 to " + part + " together exceed " + Long.MAX_VALUE + " bytes");
      }
      sum += bytes;
    }
  }

  /**
   * The same part many times, for example one per layer.
   *
   * @param parts how many; positive
   * @param bytesEach bytes of each; positive
   * @return the shape
   */
  public static BlockShape of(int parts, long bytesEach) {
    if (parts <= 0 || bytesEach <= 0) {
      throw new IllegalArgumentException(
          "a block of " + parts + " parts of " + bytesEach + " bytes cannot be");
    }
    return new BlockShape(Collections.nCopies(parts, bytesEach));
  }

  /**
   * These parts behind mine, for blocks of mixed page sizes.
   *
   * @param more the parts to add
   * @return a shape with my parts first
   */
  public BlockShape and(BlockShape more) {
    List<Long> all = new ArrayList<>(partBytes.size() + more.partBytes.size());
    all.addAll(partBytes);
    all.addAll(more.partBytes);
    return new BlockShape(all);
  }

  /**
   * How many parts a block has.
   *
   * @return the number of parts
   */
  public int parts() {
    return partBytes.size();
  }

  /**
   * Bytes of one block, all parts, without padding.
   *
   * @return the sum of the parts
   */
  public long bytes() {
    long sum = 0;
    for (long bytes : partBytes) {
      sum += bytes;
    }
    return sum;
  }

  /**
   * Part after part: every part is its own plane, packed behind the one before.
   *
   * @param blocks how many blocks; positive
   * @return the layout
   * @throws IllegalArgumentException when the layout does not fit a {@code long}
   */
  public BlockLayout layerMajor(long blocks) {
    return layerMajor(blocks, 1);
  }

  /**
   * Part after part, each plane starting at a multiple of some bytes.
   *
   * <p>A plane whose start is not a multiple of gcd(stride, page) has no place inside it where a
   * registration may end; starting every plane at a multiple of the page, or of that smaller
   * number, avoids this for at most one page of padding per part.
   *
   * @param blocks how many blocks; positive
   * @param planeAlignmentBytes every plane starts at a multiple; positive
   * @return the layout
   * @throws IllegalArgumentException when the layout does not fit a {@code long}
   */
  public BlockLayout layerMajor(long blocks, long planeAlignmentBytes) {
    List<Plane> planes = new ArrayList<>(partBytes.size());
    long offset = 0;
    for (long bytes : partBytes) {
      Plane plane = Plane.packed(Bytes.roundUp(offset, planeAlignmentBytes), bytes, blocks);
      planes.add(plane);
      offset = plane.endBytes();
    }
    return new BlockLayout(this, planes);
  }

  /**
   * Block after block: the parts of one block lie together, packed, and so do the blocks.
   *
   * @param blocks how many blocks; positive
   * @return the layout
   * @throws IllegalArgumentException when the layout does not fit a {@code long}
   */
  public BlockLayout blockMajor(long blocks) {
    return blockMajor(blocks, bytes());
  }

  /**
   * Block after block with padding up to the stride.
   *
   * @param blocks how many blocks; positive
   * @param strideBytes from one block to the next; at least {@link #bytes()}
   * @return the layout
   * @throws IllegalArgumentException when the stride is too small or the layout does not fit a
   *     {@code long}
   */
  public BlockLayout blockMajor(long blocks, long strideBytes) {
    if (strideBytes < bytes()) {
      throw new IllegalArgumentException(
          "a stride of " + strideBytes + " bytes is less than the block's " + bytes());
    }
    List<Plane> planes = new ArrayList<>(partBytes.size());
    long offset = 0;
    for (long bytes : partBytes) {
      planes.add(new Plane(offset, strideBytes, bytes, blocks));
      offset += bytes;
    }
    return new BlockLayout(this, planes);
  }
}
