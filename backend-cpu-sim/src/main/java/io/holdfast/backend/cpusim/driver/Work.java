package io.holdfast.backend.cpusim.driver;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One thing that a stream does. Guarded by the driver's lock but while it is done.
 *
 * <p>Objects are used again: putting work on a stream allocates nothing once enough of them exist.
 */
final class Work {
  /** What is done. */
  enum Kind {
    /** Copies of one call. */
    ROWS,
    /** The copy kernel: first column, rows per column, first row; the end in {@link #end}. */
    KERNEL,
    /** An event is recorded. */
    RECORD,
    /** Other work is waited for. */
    WAIT,
    /** Anything else. */
    BODY
  }

  /** Anything else that can be done. */
  interface Body {
    /**
     * Does it, without the driver's lock.
     *
     * @return 0, or the code by which the context is lost
     */
    int run();
  }

  /** Words per row: destination, source, bytes. */
  static final int ROW = 3;

  Operation operation = Operation.MEMCPY_ASYNC;
  Kind kind = Kind.BODY;

  /** Its place on its stream. */
  long ticket;

  /** How long the device takes beyond doing it. */
  long nanos;

  /** When the link is done with it, or 0. */
  long doneAtNanos;

  /** ROWS: what is copied. */
  long[] rows = new long[ROW];

  int rowCount;

  /** ROWS: 0 towards the device, 1 towards the host. */
  int linkDirection;

  /** ROWS: whether host ranges must still be pinned. */
  boolean checksPins;

  /** ROWS: whether the rows have no order among themselves. */
  boolean anyOrder;

  /** ROWS: how many bytes from the start of each row were read during the call. */
  private int[] readEarly = new int[1];

  /** ROWS: those bytes, row behind row; empty where sources are read in stream order. */
  private MemorySegment early = MemorySegment.NULL;

  /** ROWS: how many of them there are. */
  long earlyBytes;

  /** KERNEL: one behind the last row. */
  long end;

  /** KERNEL: most bytes of a row. */
  long reachBytes;

  /** RECORD: which. */
  @Nullable Event event;

  /** WAIT: on whose work. */
  @Nullable Stream after;

  long afterTicket;

  /** BODY: what. */
  @Nullable Body body;

  /** What must be released first. */
  @Nullable Blocker blocker;

  /** Whether a graph keeps it, so that it is not used again. */
  boolean captured;

  void forget() {
    ticket = 0;
    nanos = 0;
    doneAtNanos = 0;
    rowCount = 0;
    checksPins = false;
    anyOrder = false;
    earlyBytes = 0;
    event = null;
    after = null;
    body = null;
    blocker = null;
    captured = false;
  }

  void addRow(long destination, long source, long bytes) {
    if ((rowCount + 1) * ROW > rows.length) {
      rows = Arrays.copyOf(rows, rows.length * 2);
    }
    int at = rowCount * ROW;
    rows[at] = destination;
    rows[at + 1] = source;
    rows[at + 2] = bytes;
    rowCount++;
  }

  /** The last row added is read during the call, from its start so far. */
  void readEarly(long bytes) {
    int row = rowCount - 1;
    if (row >= readEarly.length) {
      readEarly = Arrays.copyOf(readEarly, rows.length / ROW);
    }
    readEarly[row] = Math.toIntExact(bytes);
    earlyBytes += bytes;
  }

  /** How far a row was read during the call. */
  long readEarlyOf(int row) {
    return earlyBytes == 0 ? 0 : readEarly[row];
  }

  /** Room for what is read during the call; this work's own, and the same until it is forgotten. */
  MemorySegment early() {
    if (early.byteSize() < earlyBytes) {
      early = Arena.ofAuto().allocate(Math.max(earlyBytes, 2 * early.byteSize()), Long.BYTES);
    }
    return early;
  }

  long bytes() {
    long sum = 0;
    for (int row = 0; row < rowCount; row++) {
      sum += rows[row * ROW + 2];
    }
    return sum;
  }

  /** The stream that this still waits for, or null. */
  @Nullable Stream waitsFor() {
    Stream other = after;
    return other != null && other.completed < afterTicket ? other : null;
  }

  boolean held() {
    return blocker != null && !blocker.released;
  }
}
