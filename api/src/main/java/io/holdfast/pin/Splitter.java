package io.holdfast.pin;

import io.holdfast.layout.ByteRange;
import io.holdfast.layout.Bytes;
import java.util.Iterator;
import java.util.Locale;
import java.util.NoSuchElementException;

/**
 * Splits a range of bytes into pieces of bounded size whose inner edges are multiples of a unit.
 *
 * <p>For users of other registrations than ours, such as memory regions of a network card: with the
 * least common multiple of page and block as unit, no page and no block lies in two pieces. Applied
 * to the ranges of a {@link RegistrationPlan} its edges include the plan's cuts.
 *
 * @param maxBytes most bytes of one piece; at least the unit
 * @param unitBytes inner edges are multiples, counted from offset 0; positive
 */
public record Splitter(long maxBytes, long unitBytes) {
  /** Checks the numbers. A unit above the maximum is refused, never stretched. */
  public Splitter {
    if (unitBytes <= 0 || maxBytes < unitBytes) {
      throw new IllegalArgumentException(
          String.format(
              Locale.ROOT,
              "pieces of at most %d bytes cannot end at multiples of %d bytes",
              maxBytes,
              unitBytes));
    }
  }

  /**
   * A splitter whose inner edges are multiples of both a block and a page.
   *
   * @param maxBytes most bytes of one piece
   * @param blockBytes one unit, for example the block stride; positive
   * @param pageBytes the other unit; positive
   * @return the splitter
   * @throws IllegalArgumentException when the least common multiple exceeds the maximum
   */
  public static Splitter onCommonEdges(long maxBytes, long blockBytes, long pageBytes) {
    if (blockBytes <= 0 || pageBytes <= 0) {
      throw new IllegalArgumentException(
          "edges cannot be multiples of " + blockBytes + " and " + pageBytes + " bytes");
    }
    return new Splitter(maxBytes, Residues.lcm(blockBytes, pageBytes));
  }

  /**
   * A splitter that makes at most so many pieces of a range that starts at a multiple of the unit.
   *
   * @param parts most pieces wanted; positive
   * @param bytes length of the range; positive
   * @param unitBytes inner edges are multiples; positive
   * @return a splitter with the least maximum that does so
   */
  public static Splitter intoAtMost(long parts, long bytes, long unitBytes) {
    if (parts <= 0 || bytes <= 0 || unitBytes <= 0) {
      throw new IllegalArgumentException(
          String.format(
              Locale.ROOT,
              "cannot split %d bytes into %d parts at multiples of %d bytes",
              bytes,
              parts,
              unitBytes));
    }
    return new Splitter(Bytes.roundUp(Math.ceilDiv(bytes, parts), unitBytes), unitBytes);
  }

  /**
   * Where the piece that starts at an offset ends. Allocates nothing.
   *
   * @param fromBytes where the piece starts; not negative
   * @param endBytes where the whole range ends; behind {@code fromBytes}
   * @return {@code endBytes} where that is within the maximum, else the furthest multiple of the
   *     unit that is
   */
  public long nextEdge(long fromBytes, long endBytes) {
    if (fromBytes < 0 || fromBytes >= endBytes) {
      throw new IllegalArgumentException(
          "no piece starts at " + fromBytes + " in a range that ends at " + endBytes);
    }
    return endBytes - fromBytes <= maxBytes
        ? endBytes
        : Bytes.roundDown(fromBytes + maxBytes, unitBytes);
  }

  /**
   * How many pieces a range gives. Closed form.
   *
   * @param range what to split
   * @return the number of pieces
   */
  public long pieces(ByteRange range) {
    long first = nextEdge(range.offsetBytes(), range.endBytes());
    long rest = range.endBytes() - first;
    if (rest == 0) {
      return 1;
    }
    long step = Bytes.roundDown(maxBytes, unitBytes);
    return 2 + Math.ceilDiv(Math.max(0, rest - maxBytes), step);
  }

  /**
   * The pieces of a range in ascending order, made one at a time.
   *
   * @param range what to split
   * @return an iterable that keeps no list
   */
  public Iterable<ByteRange> split(ByteRange range) {
    return () ->
        new Iterator<>() {
          private long from = range.offsetBytes();

          @Override
          public boolean hasNext() {
            return from < range.endBytes();
          }

          @Override
          public ByteRange next() {
            if (!hasNext()) {
              throw new NoSuchElementException("the range is split");
            }
            long to = nextEdge(from, range.endBytes());
            ByteRange piece = new ByteRange(from, to - from);
            from = to;
            return piece;
          }
        };
  }
}
