package io.holdfast.bench.replay;

import io.holdfast.layout.Arrangement;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import java.util.ArrayList;
import java.util.List;

/** Shapes and layouts, from the words that events have for them. */
final class Geometry {
  private Geometry() {}

  /**
   * Reads a shape.
   *
   * @param text runs of equal parts, for example {@code 2*4096+1*512}
   * @return the shape
   * @throws IllegalArgumentException when it is none
   */
  static BlockShape shape(String text) {
    List<Long> parts = new ArrayList<>();
    for (String run : text.split("\\+", -1)) {
      String[] both = run.split("\\*", -1);
      if (both.length != 2) {
        throw new IllegalArgumentException("'" + text + "' is no shape of a block");
      }
      int count = Integer.parseInt(both[0]);
      long bytes = Long.parseLong(both[1]);
      for (int i = 0; i < count; i++) {
        parts.add(bytes);
      }
    }
    return new BlockShape(parts);
  }

  /** Lays blocks out as the word says; padded layouts are packed, part after part. */
  static BlockLayout layout(String shape, String arrangement, long blocks) {
    Arrangement known =
        arrangement.equals(Arrangement.BLOCK_MAJOR.name())
            ? Arrangement.BLOCK_MAJOR
            : Arrangement.LAYER_MAJOR;
    return known.layOut(shape(shape), blocks);
  }
}
