package io.holdfast.internal.copy;

import io.holdfast.internal.core.CoreDevice;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DeviceRange;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Off-heap copy tables of one lane, used in a ring. A table's rows stay as they are until the last
 * submission that has rows in it has ended; when no table is free a new one is made, so that nobody
 * waits for the device. Guarded by the lane's lock.
 */
final class Tables {
  private final CoreDevice device;
  private final CopyTable.Direction direction;
  private final long rows;
  private final boolean readByDevice;
  private final List<Table> ring = new ArrayList<>();
  private int current;

  /**
   * Makes the first table.
   *
   * @param device whose
   * @param direction of all rows
   * @param rows of each table
   */
  Tables(CoreDevice device, CopyTable.Direction direction, long rows) {
    this.device = device;
    this.direction = direction;
    this.rows = rows;
    this.readByDevice = device.port().kernelCopies().isPresent();
    ring.add(make());
  }

  /**
   * A table with room.
   *
   * @param needed rows that must follow each other, at most those of a table
   * @param completed submissions up to this number have ended
   * @return the table; write from its {@code used} on
   */
  Table withRoom(long needed, long completed) {
    Table table = ring.get(current);
    if (table.lastSequence <= completed) {
      table.used = 0;
    }
    if (rows - table.used >= needed) {
      return table;
    }
    int at = (current + 1) % ring.size();
    Table next = ring.get(at);
    if (next == table || next.lastSequence > completed) {
      next = make();
      at = current + 1;
      ring.add(at, next);
    }
    next.used = 0;
    current = at;
    return next;
  }

  /** How many there are. */
  int count() {
    return ring.size();
  }

  /** Frees all; no submission is left. */
  void free() {
    Throwable first = null;
    for (Table table : ring) {
      try {
        table.memory.free();
      } catch (RuntimeException | Error failure) {
        if (first == null) {
          first = failure;
        } else {
          first.addSuppressed(failure);
        }
      }
    }
    ring.clear();
    if (first instanceof RuntimeException exception) {
      throw exception;
    }
    if (first instanceof Error error) {
      throw error;
    }
  }

  private Table make() {
    long columnBytes = rows * Long.BYTES;
    Scratch memory =
        readByDevice
            ? device.workers().call(() -> Scratch.pinned(device, 3 * columnBytes))
            : Scratch.plain(3 * columnBytes);
    MemorySegment all = memory.segment();
    CopyTable copyTable =
        new CopyTable(
            all.asSlice(0, columnBytes),
            all.asSlice(columnBytes, columnBytes),
            all.asSlice(2 * columnBytes, columnBytes),
            direction);
    try {
      return new Table(copyTable, memory, readByDevice ? memory.seenBy(device) : null);
    } catch (Throwable failure) {
      try {
        memory.free();
      } catch (RuntimeException second) {
        failure.addSuppressed(second);
      }
      throw failure;
    }
  }

  /** One table. */
  static final class Table {
    final CopyTable rows;

    /** The columns as the device sees them; absent where no kernel will read them. */
    final @Nullable DeviceRange seenByDevice;

    private final Scratch memory;

    /** Rows in use, from the start. */
    long used;

    /** The last submission that has rows here. */
    long lastSequence;

    private Table(CopyTable rows, Scratch memory, @Nullable DeviceRange seenByDevice) {
      this.rows = rows;
      this.memory = memory;
      this.seenByDevice = seenByDevice;
    }
  }
}
