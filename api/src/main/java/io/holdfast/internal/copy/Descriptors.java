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

  // The run we are in.
  private long deviceAddress;
  private long hostOffset;
  private long runBytes;

  // What is known of the registration we were in last: [knownFrom, knownTo) starts at knownAddress.
  private long knownFrom;
  private long knownTo;
  private long knownAddress;

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
    knownFrom = 0;
    knownTo = 0;
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
    boolean store = direction == Direction.STORE;
    long row = from;
    while (row < to && part < where.parts) {
      if (doneBytes == 0) {
        open(where, pairs);
      }
      long bytes = pieceBytes();
      long device = deviceAddress + doneBytes;
      long address = knownAddress + (hostOffset + doneBytes - knownFrom);
      table.set(row, store ? address : device, store ? device : address, bytes);
      row++;
      advance(where, pairs, bytes);
    }
    return row;
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
    int first = run;
    long bytes = where.partBytes[part];
    runBytes = bytes;
    if (where.dense[part]) {
      int count = runPairs[run];
      first = count < 0 ? runFirst[run] - count - 1 : runFirst[run];
      runBytes = Math.abs(count) * bytes;
    }
    deviceAddress = where.deviceBase[part] + pairs.deviceBlock(first) * where.deviceStride[part];
    hostOffset = where.hostBase[part] + pairs.hostSlot(first) * where.hostStride[part];
  }

  /** Bytes of the next row: up to the run's or the registration's end. */
  private long pieceBytes() {
    long offset = hostOffset + doneBytes;
    if (offset < knownFrom || offset >= knownTo) {
      long end = host.endOfRange(offset);
      if (end == knownTo && offset < knownFrom) {
        knownAddress -= knownFrom - offset; // the same registration, nearer to its start
      } else {
        knownTo = end;
        knownAddress = host.addressOf(offset);
      }
      knownFrom = offset;
    }
    return Math.min(runBytes - doneBytes, knownTo - offset);
  }

  private void advance(Geometry where, BlockCopies pairs, long bytes) {
    doneBytes += bytes;
    if (doneBytes == runBytes) {
      doneBytes = 0;
      run++;
      if (run == (where.dense[part] ? runs : pairs.pairs())) {
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
