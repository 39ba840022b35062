package io.holdfast.internal.copy;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.internal.pin.HostAddresses;
import io.holdfast.spi.CopyTable;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Turns pairs of blocks into rows of a copy table, part after part, as many at a time as one driver
 * call takes.
 *
 * <p>Pairs whose ids both go up by one, or both down by one, are one row where the part is dense on
 * both sides. A row never reaches over the end of a registration: it is split there. One object is
 * used for many submissions, by one thread at a time, and allocates only when a submission is
 * larger than all before.
 */
final class Descriptors {
  private final HostAddresses host;
  private final Direction direction;

  // The submission.
  private @Nullable BlockCopies copies;
  private @Nullable Geometry geometry;
  private int[] runFirst = new int[64];
  private int[] runPairs = new int[64]; // negative for a run that goes down
  private int runs;

  // Where we are: a part, a run of it (or a pair, where the part is not dense), bytes of that run.
  private int part;
  private int run;
  private long doneBytes;

  // The run we are in, and the registration that holds its next byte.
  private long deviceAddress;
  private long hostOffset;
  private long runBytes;

  private int range;

  /** For one direction of one route. */
  Descriptors(HostAddresses host, Direction direction) {
    this.host = host;
    this.direction = direction;
  }

  /** Begins a submission of checked pairs: finds the runs, and starts at the first row. */
  void begin(BlockCopies pairs, Geometry where) {
    copies = pairs;
    geometry = where;
    runs = 0;
    if (where.anyDense) {
      findRuns(pairs);
    }
    rewind();
  }

  /** Starts again at the first row. */
  void rewind() {
    part = 0;
    run = 0;
    doneBytes = 0;
  }

  private void findRuns(BlockCopies pairs) {
    int count = pairs.pairs();
    int pair = 0;
    while (pair < count) {
      long device = pairs.deviceBlock(pair);
      long slot = pairs.hostSlot(pair);
      int next = pair + 1;
      long step = 0;
      if (next < count) {
        step = pairs.deviceBlock(next) - device;
        if ((step != 1 && step != -1) || pairs.hostSlot(next) - slot != step) {
          step = 0;
        }
      }
      if (step != 0) {
        do {
          next++;
        } while (next < count
            && pairs.deviceBlock(next) - device == (next - pair) * step
            && pairs.hostSlot(next) - slot == (next - pair) * step);
      }
      if (runs == runFirst.length) {
        runFirst = Arrays.copyOf(runFirst, 2 * runs);
        runPairs = Arrays.copyOf(runPairs, 2 * runs);
      }
      runFirst[runs] = pair;
      runPairs[runs] = step < 0 ? pair - next : next - pair;
      runs++;
      pair = next;
    }
  }

  /** How many rows there will be, but for those that are split. */
  long rowsBeforeSplits() {
    Geometry where = begun(geometry);
    long rows = 0;
    for (int each = 0; each < where.parts; each++) {
      rows += where.dense[each] ? runs : begun(copies).pairs();
    }
    return rows;
  }

  /** Whether a part is not dense, so that rectangles can be more than rows. */
  boolean hasGaps() {
    Geometry where = begun(geometry);
    return !where.allDense;
  }

  /**
   * How many rectangles there will be, but for those that are split: pairs whose ids go on by one
   * step on each side are one.
   */
  long rectangles() {
    Geometry where = begun(geometry);
    return where.parts * steps(begun(copies));
  }

  /** Rows of all rectangles together; the pieces of a dense run are one row. */
  long rowsOfRectangles() {
    return rowsBeforeSplits();
  }

  private static long steps(BlockCopies pairs) {
    int count = pairs.pairs();
    long steps = 0;
    int pair = 0;
    while (pair < count) {
      int next = pair + 1;
      if (next < count) {
        long blocks = pairs.deviceBlock(next) - pairs.deviceBlock(pair);
        long slots = pairs.hostSlot(next) - pairs.hostSlot(pair);
        if (blocks != 0 && Long.signum(blocks) == Long.signum(slots)) {
          next++;
          while (next < count
              && pairs.deviceBlock(next) - pairs.deviceBlock(next - 1) == blocks
              && pairs.hostSlot(next) - pairs.hostSlot(next - 1) == slots) {
            next++;
          }
        }
      }
      steps++;
      pair = next;
    }
    return steps;
  }

  /** Whether the last row was given out. */
  boolean isEmpty() {
    return part == begun(geometry).parts;
  }

  /**
   * Writes rows until the table's part is full or none is left.
   *
   * @param table where to
   * @param from first row to write
   * @param to one behind the last that may be written
   * @return one behind the last that was written
   */
  long fill(CopyTable table, long from, long to) {
    Geometry where = begun(geometry);
    BlockCopies pairs = begun(copies);
    long row = from;
    while (row < to && part < where.parts) {
      if (doneBytes == 0) {
        int filled = part;
        row = fillWhole(where, pairs, table, row, to);
        if (row == to || part != filled) {
          continue;
        }
        open(where, pairs); // it is split
      }
      long bytes = pieceBytes();
      set(
          table,
          row,
          deviceAddress + doneBytes,
          host.shiftOf(range) + hostOffset + doneBytes,
          bytes);
      row++;
      advance(where, pairs, bytes);
    }
    return row;
  }

  /**
   * Writes the part's next runs up to one that is split: all of them, as a rule, so that this loop
   * is where a submission's time goes.
   */
  private long fillWhole(Geometry where, BlockCopies pairs, CopyTable table, long from, long to) {
    boolean dense = where.dense[part];
    long bytes = where.partBytes[part];
    long deviceBase = where.deviceBase[part];
    long deviceStride = where.deviceStride[part];
    long hostBase = where.hostBase[part];
    long hostStride = where.hostStride[part];
    int end = runsOf(where, pairs);
    int each = run;
    long row = from;
    while (row < to && each < end) {
      int first = dense ? lowest(each) : each;
      long length = dense ? Math.abs(runPairs[each]) * bytes : bytes;
      long offset = hostBase + pairs.hostSlot(first) * hostStride;
      int in = host.rangeOf(offset);
      if (host.endOf(in) - offset < length) {
        break;
      }
      set(
          table,
          row,
          deviceBase + pairs.deviceBlock(first) * deviceStride,
          host.shiftOf(in) + offset,
          length);
      row++;
      each++;
    }
    run = each;
    if (each == end) {
      run = 0;
      part++;
    }
    return row;
  }

  private void set(CopyTable table, long row, long device, long hostAddress, long bytes) {
    if (direction == Direction.STORE) {
      table.set(row, hostAddress, device, bytes);
    } else {
      table.set(row, device, hostAddress, bytes);
    }
  }

  /** Runs of the part we are in, or pairs where it is not dense. */
  private int runsOf(Geometry where, BlockCopies pairs) {
    return where.dense[part] ? runs : pairs.pairs();
  }

  /** The pair with a run's lowest ids. */
  private int lowest(int each) {
    int count = runPairs[each];
    return count < 0 ? runFirst[each] - count - 1 : runFirst[each];
  }

  /**
   * Counts rows instead of writing them; moves on like {@link #fill}.
   *
   * @param most how many at most
   * @return how many there were
   */
  long skip(long most) {
    Geometry where = begun(geometry);
    BlockCopies pairs = begun(copies);
    long rows = 0;
    while (rows < most && part < where.parts) {
      if (doneBytes == 0) {
        open(where, pairs);
      }
      rows++;
      advance(where, pairs, pieceBytes());
    }
    return rows;
  }

  /** The pair that the next row begins with; the lowest of a run. */
  int pair() {
    return begun(geometry).dense[part] ? runFirst[run] : run;
  }

  private void open(Geometry where, BlockCopies pairs) {
    boolean dense = where.dense[part];
    int first = dense ? lowest(run) : run;
    runBytes = where.partBytes[part] * (dense ? Math.abs(runPairs[run]) : 1);
    deviceAddress = where.deviceBase[part] + pairs.deviceBlock(first) * where.deviceStride[part];
    hostOffset = where.hostBase[part] + pairs.hostSlot(first) * where.hostStride[part];
  }

  /** Bytes of the next row: up to the run's or the registration's end. */
  private long pieceBytes() {
    long offset = hostOffset + doneBytes;
    range = host.rangeOf(offset);
    return Math.min(runBytes - doneBytes, host.endOf(range) - offset);
  }

  private void advance(Geometry where, BlockCopies pairs, long bytes) {
    doneBytes += bytes;
    if (doneBytes == runBytes) {
      doneBytes = 0;
      run++;
      if (run == runsOf(where, pairs)) {
        run = 0;
        part++;
      }
    }
  }

  /** Lets the caller's pairs go. */
  void end() {
    copies = null;
  }

  private static <T> T begun(@Nullable T value) {
    if (value == null) {
      throw new IllegalStateException("no submission was begun");
    }
    return value;
  }
}
