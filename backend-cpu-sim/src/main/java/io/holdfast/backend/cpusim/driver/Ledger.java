package io.holdfast.backend.cpusim.driver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Every call that reached the driver, in the order of their effects. Any thread.
 *
 * <p>Counts are exact for ever. The calls themselves are kept up to a bound, the oldest dropped
 * first; writing one down allocates nothing once the bound is reached.
 */
@SuppressWarnings("EnumOrdinal") // columns of one process, written and read by the same constants
public final class Ledger {
  private static final int COLUMNS = 5;
  private static final Operation[] OPERATIONS = Operation.values();

  /** Not a monitor: a virtual thread that waits for one moves to another carrier. */
  private final DriverLock lock = new DriverLock();

  private final long[] counts = new long[OPERATIONS.length];
  private final long[] refusals = new long[OPERATIONS.length];
  private int bound = 1 << 14;
  private long[] kept = new long[COLUMNS * 256];
  private byte[] operations = new byte[256];
  private int[] codes = new int[256];
  private long written;

  Ledger() {}

  /**
   * Keeps that many calls from now on; what was kept is forgotten.
   *
   * @param calls how many, at least one
   */
  public void keep(int calls) {
    if (calls < 1) {
      throw new IllegalArgumentException("a ledger keeps at least one call, not " + calls);
    }
    lock.lock();
    try {
      bound = calls;
      operations = new byte[Math.min(bound, 256)];
      codes = new int[operations.length];
      kept = new long[operations.length * COLUMNS];
      written = 0;
    } finally {
      lock.unlock();
    }
  }

  void write(Operation operation, long first, long second, long third, int code) {
    lock.lock();
    try {
      counts[operation.ordinal()]++;
      if (code != Codes.SUCCESS && code != Codes.NOT_READY) {
        refusals[operation.ordinal()]++;
      }
      if (written >= operations.length && operations.length < bound) {
        int capacity = (int) Math.min(bound, operations.length * 2L);
        operations = Arrays.copyOf(operations, capacity);
        codes = Arrays.copyOf(codes, capacity);
        kept = Arrays.copyOf(kept, capacity * COLUMNS);
      }
      int at = (int) (written % operations.length);
      operations[at] = (byte) operation.ordinal();
      codes[at] = code;
      kept[at * COLUMNS] = written;
      kept[at * COLUMNS + 1] = Thread.currentThread().threadId();
      kept[at * COLUMNS + 2] = first;
      kept[at * COLUMNS + 3] = second;
      kept[at * COLUMNS + 4] = third;
      written++;
    } finally {
      lock.unlock();
    }
  }

  /**
   * How often an operation was called.
   *
   * @param operation which
   * @return calls, refused ones included
   */
  public long count(Operation operation) {
    lock.lock();
    try {
      return counts[operation.ordinal()];
    } finally {
      lock.unlock();
    }
  }

  /**
   * How often an operation was refused.
   *
   * @param operation which
   * @return calls that answered neither 0 nor "not ready"
   */
  public long refused(Operation operation) {
    lock.lock();
    try {
      return refusals[operation.ordinal()];
    } finally {
      lock.unlock();
    }
  }

  /**
   * How many calls were written down in all; the index of the next one.
   *
   * @return a mark for {@link #since}
   */
  public long mark() {
    lock.lock();
    try {
      return written;
    } finally {
      lock.unlock();
    }
  }

  /**
   * The calls from a mark on.
   *
   * @param mark from {@link #mark}
   * @return those that are still kept, oldest first
   */
  public List<Call> since(long mark) {
    lock.lock();
    try {
      List<Call> calls = new ArrayList<>();
      for (long i = Math.max(mark, Math.max(0, written - operations.length)); i < written; i++) {
        int at = (int) (i % operations.length);
        calls.add(
            new Call(
                kept[at * COLUMNS],
                OPERATIONS[operations[at]],
                kept[at * COLUMNS + 1],
                kept[at * COLUMNS + 2],
                kept[at * COLUMNS + 3],
                kept[at * COLUMNS + 4],
                codes[at]));
      }
      return calls;
    } finally {
      lock.unlock();
    }
  }

  /**
   * The calls of some operations.
   *
   * @param wanted which
   * @return those that are still kept, oldest first
   */
  public List<Call> of(Operation... wanted) {
    Set<Operation> set = Set.of(wanted);
    return since(0).stream().filter(call -> set.contains(call.operation())).toList();
  }

  /**
   * One call.
   *
   * @param index its place among all calls
   * @param operation what was called
   * @param threadId who called, by {@link Thread#threadId}
   * @param first its first number: an address, a handle or a size
   * @param second its second number, 0 where it has none
   * @param third its third number, 0 where it has none
   * @param code the answer
   */
  public record Call(
      long index,
      Operation operation,
      long threadId,
      long first,
      long second,
      long third,
      int code) {
    /** Checks. */
    public Call {
      Objects.requireNonNull(operation, "operation");
    }

    @Override
    public String toString() {
      return "#"
          + index
          + " "
          + operation
          + "(0x"
          + Long.toHexString(first)
          + ", 0x"
          + Long.toHexString(second)
          + ", 0x"
          + Long.toHexString(third)
          + ") = "
          + code;
    }
  }
}
