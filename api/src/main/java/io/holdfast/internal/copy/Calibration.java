package io.holdfast.internal.copy;

import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.internal.copy.CopyProfile.Way;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.BatchCopyPort.SourceReads;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.KernelCopyPort;
import io.holdfast.spi.PitchedCopyPort;
import io.holdfast.spi.StreamHandle;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.Random;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Measures what copies cost on a device: every way it has, in both directions, at some row sizes,
 * few rows and many, to completion; and the many once more while its cores are busy.
 *
 * <p>Takes some tenths of a second, and stops when its time is up: a way that was not measured at
 * every size is not known then. Blocks. For one thread; close it to give everything back.
 */
final class Calibration implements AutoCloseable {
  /** What moves at least, so that a link's speed shows: a third of a millisecond at 50 GB/s. */
  private static final long AIMED_BYTES = 16L << 20;

  private static final int MOST_ROWS = 2_048;
  private static final int REPETITIONS = 3;

  /** What keeps cores busy: longer than the copies beside it. */
  private static final long BUSY_BYTES = 256L << 20;

  private static final int BUSY_FILLS = 8;

  private final CoreDevice device;
  private final DevicePort port;
  private final LongSupplier clock;
  private final long deadline;
  private final @Nullable BatchCopyPort batch;
  private final @Nullable KernelCopyPort kernel;
  private final @Nullable PitchedCopyPort pitched;
  private final DeviceRange deviceMemory;
  private final Scratch hostMemory;
  private final Scratch tableMemory;
  private final long hostAddress;
  private final DeviceRange columns;
  private final StreamHandle stream;
  private final EventHandle event;

  // Only where cores can be kept busy.
  private @Nullable DeviceRange busyMemory;
  private @Nullable StreamHandle busyStream;

  /**
   * Takes memory, a stream and an event.
   *
   * @param device to measure
   * @param clock in nanoseconds
   * @param budgetNanos when to stop
   */
  Calibration(CoreDevice device, LongSupplier clock, long budgetNanos) {
    this.device = device;
    this.port = device.port();
    this.clock = clock;
    this.deadline = clock.getAsLong() + budgetNanos;
    this.batch = port.batchCopies().orElse(null);
    this.kernel = port.kernelCopies().orElse(null);
    this.pitched = port.pitchedCopies().orElse(null);
    Undo undo = new Undo();
    try {
      this.deviceMemory = port.allocate(AIMED_BYTES);
      undo.add(() -> port.free(deviceMemory));
      this.hostMemory = Scratch.pinned(device, 2 * AIMED_BYTES);
      undo.add(hostMemory::free);
      this.tableMemory = Scratch.pinned(device, 3L * MOST_ROWS * Long.BYTES);
      undo.add(tableMemory::free);
      this.hostAddress = hostMemory.seenBy(device).address();
      this.columns = tableMemory.seenBy(device);
      this.stream = port.createStream(Integer.MAX_VALUE);
      undo.add(() -> port.destroyStream(stream));
      this.event = port.createEvent(EventKind.ORDER);
    } catch (Throwable failure) {
      undo.run();
      throw failure;
    }
  }

  /** Measures until the end or the deadline. */
  CopyProfile measure(String origin) {
    CopyProfile profile = CopyProfile.of(origin);
    for (Way way : Way.values()) {
      if (isThere(way)) {
        for (Direction direction : Direction.values()) {
          measure(profile, way, direction);
        }
      }
    }
    if (keepBusy()) {
      for (Way way : Way.values()) {
        for (Direction direction : Direction.values()) {
          if (profile.knows(way, direction)) {
            measureBusy(profile, way, direction);
          }
        }
      }
    }
    return profile;
  }

  private boolean isThere(Way way) {
    return switch (way) {
      case LOOP -> true;
      case BATCH -> batch != null;
      case KERNEL_FEW, KERNEL_MANY -> kernel != null;
      case PITCHED ->
          pitched != null
              && pitched.maxPitchBytes() >= 2 * CopyProfile.SIZES[CopyProfile.SIZES.length - 1];
    };
  }

  private void measure(CopyProfile profile, Way way, Direction direction) {
    for (int size = 0; size < CopyProfile.SIZES.length; size++) {
      long bytes = CopyProfile.SIZES[size];
      int many = rows(bytes);
      double one = best(way, direction, bytes, 1);
      double all = best(way, direction, bytes, many);
      if (Double.isNaN(one) || Double.isNaN(all)) {
        return;
      }
      double perRow = Math.max(0, (all - one) / (many - 1));
      profile.put(way, direction, size, Math.max(0, one - perRow), perRow);
    }
  }

  private void measureBusy(CopyProfile profile, Way way, Direction direction) {
    for (int size = 0; size < CopyProfile.SIZES.length; size++) {
      long bytes = CopyProfile.SIZES[size];
      int many = rows(bytes);
      for (int fill = 0; fill < BUSY_FILLS; fill++) {
        port.fill(busyRange(), (byte) fill, busy());
      }
      double all = once(way, direction, bytes, many);
      boolean outlasted = !port.streamIdle(busy());
      port.awaitStream(busy());
      if (isLate() || Double.isNaN(all)) {
        return;
      }
      if (outlasted) {
        profile.putBusy(way, direction, size, all / many);
      }
    }
  }

  private static int rows(long bytes) {
    return Math.clamp(AIMED_BYTES / bytes, 2, MOST_ROWS);
  }

  private boolean isLate() {
    return clock.getAsLong() - deadline >= 0;
  }

  /** The best of some, after one that warms up; not a number when the time is up. */
  private double best(Way way, Direction direction, long bytes, int rows) {
    double best = Double.NaN;
    for (int repetition = 0; repetition <= REPETITIONS; repetition++) {
      if (isLate()) {
        return Double.NaN;
      }
      double nanos = once(way, direction, bytes, rows);
      if (Double.isNaN(nanos)) {
        return nanos;
      }
      best = repetition == 0 ? Double.POSITIVE_INFINITY : Math.min(best, nanos);
    }
    return best;
  }

  private double once(Way way, Direction direction, long bytes, int rows) {
    CopyTable table = table(direction, bytes, rows);
    long begun = clock.getAsLong();
    submit(way, direction, table, bytes, rows);
    port.recordEvent(event, stream);
    while (!port.eventPassed(event)) {
      if (isLate()) {
        return Double.NaN;
      }
      Thread.onSpinWait();
    }
    return clock.getAsLong() - begun;
  }

  /** Rows whose host side is scattered, so that no driver can merge them. */
  private CopyTable table(Direction direction, long bytes, int rows) {
    long columnBytes = (long) MOST_ROWS * Long.BYTES;
    MemorySegment all = tableMemory.segment();
    CopyTable table =
        new CopyTable(
            all.asSlice(0, columnBytes),
            all.asSlice(columnBytes, columnBytes),
            all.asSlice(2 * columnBytes, columnBytes),
            direction(direction));
    int[] places = new Random(bytes).ints(0, rows).distinct().limit(rows).toArray();
    for (int row = 0; row < rows; row++) {
      long here = hostAddress + places[row] * bytes;
      long there = deviceMemory.address() + row * bytes;
      boolean store = direction == Direction.STORE;
      table.set(row, store ? here : there, store ? there : here, bytes);
    }
    return table;
  }

  private static CopyTable.Direction direction(Direction direction) {
    return direction == Direction.STORE
        ? CopyTable.Direction.DEVICE_TO_HOST
        : CopyTable.Direction.HOST_TO_DEVICE;
  }

  private void submit(Way way, Direction direction, CopyTable table, long bytes, int rows) {
    boolean store = direction == Direction.STORE;
    if (way == Way.BATCH && batch != null) {
      SourceReads reads = store ? SourceReads.IN_STREAM_ORDER : SourceReads.ANY_TIME;
      for (int from = 0; from < rows; from += batch.maxRows()) {
        int to = (int) Math.min(rows, (long) from + batch.maxRows());
        batch.copyBatch(table, from, to, reads, stream);
      }
    } else if (way.threadBlocks > 0 && kernel != null) {
      kernel.copyByKernel(table, columns, 0, rows, way.threadBlocks, stream);
    } else if (way == Way.PITCHED && pitched != null) {
      long here = hostAddress;
      long there = deviceMemory.address();
      pitched.copyRows(
          store ? here : there,
          store ? 2 * bytes : bytes,
          store ? there : here,
          store ? bytes : 2 * bytes,
          bytes,
          rows,
          direction(direction),
          stream);
    } else {
      port.copyEach(table, 0, rows, stream);
    }
  }

  /** Best effort: a device that is nearly full is only measured quiet. */
  private boolean keepBusy() {
    if (isLate()) {
      return false;
    }
    try {
      busyMemory = port.allocate(BUSY_BYTES);
      busyStream = port.createStream(0);
      return true;
    } catch (RuntimeException full) {
      return false;
    }
  }

  private DeviceRange busyRange() {
    return Optional.ofNullable(busyMemory).orElseThrow();
  }

  private StreamHandle busy() {
    return Optional.ofNullable(busyStream).orElseThrow();
  }

  @Override
  public void close() {
    Undo undo = new Undo();
    undo.add(() -> port.free(deviceMemory));
    undo.add(hostMemory::free);
    undo.add(tableMemory::free);
    undo.add(() -> port.destroyStream(stream));
    undo.add(() -> port.destroyEvent(event));
    if (busyMemory != null) {
      undo.add(() -> port.free(busyRange()));
    }
    if (busyStream != null) {
      undo.add(() -> port.destroyStream(busy()));
      undo.add(() -> port.awaitStream(busy()));
    }
    undo.add(() -> port.awaitStream(stream)); // also after a failure half way
    undo.run();
  }

  @Override
  public String toString() {
    return "calibration of " + device;
  }
}
