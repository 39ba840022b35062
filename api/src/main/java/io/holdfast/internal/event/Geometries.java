package io.holdfast.internal.event;

import io.holdfast.layout.Arrangement;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.layout.Plane;
import java.util.List;
import java.util.stream.IntStream;

/** Shapes and layouts in a few words, for events. */
public final class Geometries {
  private static final String OTHER = "OTHER";

  private Geometries() {}

  /**
   * A shape as runs of equal parts.
   *
   * @param shape what a block is made of
   * @return for example {@code 32*65536} or {@code 2*4096+1*512}
   */
  public static String text(BlockShape shape) {
    StringBuilder text = new StringBuilder();
    List<Long> parts = shape.partBytes();
    int from = 0;
    for (int to = 1; to <= parts.size(); to++) {
      if (to == parts.size() || !parts.get(to).equals(parts.get(from))) {
        text.append(from == 0 ? "" : "+").append(to - from).append('*').append(parts.get(from));
        from = to;
      }
    }
    return text.toString();
  }

  /**
   * How a layout lies.
   *
   * @param layout of blocks
   * @return the name of an {@link Arrangement}, or {@code OTHER}
   */
  public static String arrangement(BlockLayout layout) {
    return arrangement(layout.shape(), layout.planes().stream().map(Plane::strideBytes).toList());
  }

  /**
   * How planes lie.
   *
   * @param shape what a block is made of
   * @param strides from a block's part to the next block's, by part
   * @return the name of an {@link Arrangement}, or {@code OTHER}
   */
  public static String arrangement(BlockShape shape, List<Long> strides) {
    if (strides.equals(shape.partBytes())) {
      return Arrangement.LAYER_MAJOR.name();
    }
    boolean rows =
        IntStream.range(0, strides.size()).allMatch(part -> strides.get(part) == shape.bytes());
    return rows ? Arrangement.BLOCK_MAJOR.name() : OTHER;
  }
}
