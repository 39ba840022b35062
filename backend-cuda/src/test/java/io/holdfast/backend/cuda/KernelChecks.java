package io.holdfast.backend.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.BatchCopyPort.SourceReads;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.CopyTable.Direction;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.KernelCopyPort;
import io.holdfast.spi.StreamHandle;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Locale;
import java.util.Random;
import java.util.function.ObjLongConsumer;

/**
 * The copy kernels on a device: every byte for any size and alignment, and how fast each path is.
 */
final class KernelChecks {
  private static final int MOST_ROWS = 65_536;

  private final CheckReport report;
  private final DevicePort port;
  private final Arena arena = Arena.ofAuto();
  private final long room;
  private final MemorySegment host;
  private final MemorySegment columns = arena.allocate(3L * 8 * MOST_ROWS, 4096);

  private KernelChecks(CheckReport report, DevicePort port, long room) {
    this.report = report;
    this.port = port;
    this.room = room;
    host = arena.allocate(room, 4096);
  }

  /** Every byte, which takes 400 MiB. */
  static void bytes(CheckReport report, DevicePort port) {
    KernelChecks checks = new KernelChecks(report, port, 192L << 20);
    report.part("kernel: bytes", () -> checks.withMemory(checks::bytes));
  }

  /** How fast, which takes 1 GiB. */
  static void rates(CheckReport report, DevicePort port) {
    KernelChecks checks = new KernelChecks(report, port, 512L << 20);
    report.part("rates", () -> checks.withMemory(checks::rates));
    report.part("costs", () -> checks.withMemory(checks::costs));
  }

  /** A part that is given a device buffer and a stream. */
  @FunctionalInterface
  private interface OnMemory {
    void run(DeviceRange device, StreamHandle stream);
  }

  private void withMemory(OnMemory part) {
    port.register(host);
    port.register(columns);
    DeviceRange device = port.allocate(room);
    StreamHandle stream = port.createStream(0);
    try {
      part.run(device, stream);
    } finally {
      port.awaitStream(stream);
      port.destroyStream(stream);
      port.free(device);
      port.unregister(columns);
      port.unregister(host);
    }
  }

  private CopyTable table(Direction direction) {
    return new CopyTable(
        columns.asSlice(0, 8L * MOST_ROWS),
        columns.asSlice(8L * MOST_ROWS, 8L * MOST_ROWS),
        columns.asSlice(16L * MOST_ROWS, 8L * MOST_ROWS),
        direction);
  }

  // ---- bytes

  private void bytes(DeviceRange device, StreamHandle stream) {
    if (port.kernelCopies().isEmpty()) {
      report.expect("kernel", "kernels", "there", port.kernelAbsence().orElse("absent"));
      return;
    }
    KernelCopyPort kernels = port.kernelCopies().get();
    DeviceRange seenColumns = port.seenByDevice(columns);
    long seen = port.seenByDevice(host).address();
    Random random = new Random(5);
    long half = room / 2;
    for (int trial = 0; trial < 12; trial++) {
      boolean mixed = trial % 4 == 3;
      int most = trial % 3 == 0 ? 40_000 : trial % 3 == 1 ? 700 : 5_000;
      int rows = mixed ? 1_200 : 1 + random.nextInt(most > 10_000 ? 1_500 : 4_000);
      boolean together = trial % 2 == 0;
      CopyTable out = table(Direction.HOST_TO_DEVICE);
      long[] at = new long[rows];
      long[] size = new long[rows];
      long next = 64;
      for (int row = 0; row < rows; row++) {
        size[row] = mixed && row == 1_000 ? 40L << 20 : 1 + random.nextInt(most);
        at[row] = next + random.nextInt(16);
        next = (at[row] + size[row] + 31) / 16 * 16;
        long other = together ? at[row] : next - size[row] - 16 + random.nextInt(8);
        out.set(row, device.address() + (together ? at[row] : other), seen + at[row], size[row]);
      }
      if (next > half) {
        throw new IllegalStateException("trial " + trial + " needs " + next + " bytes");
      }
      fillRandom(host.asSlice(0, next), random);
      port.fill(new DeviceRange(device.address(), next + 64), (byte) 0x11, stream);
      kernels.copyByKernel(out, seenColumns, 0, rows, 16, stream);
      port.awaitStream(stream);
      // and back into the other half, each row to where it would lie
      CopyTable in = table(Direction.DEVICE_TO_HOST);
      long[] from = new long[rows];
      for (int row = 0; row < rows; row++) {
        from[row] = out.destination(row);
      }
      host.asSlice(half, next + 64).fill((byte) 0x22);
      for (int row = 0; row < rows; row++) {
        in.set(row, seen + half + at[row], from[row], size[row]);
      }
      kernels.copyByKernel(in, seenColumns, 0, rows, 1 + random.nextInt(32), stream);
      port.awaitStream(stream);
      report.expect(
          "kernel",
          "trial " + trial + ", " + rows + " rows to " + most + (mixed ? " and one of 40 MiB" : ""),
          0L,
          wrongBytes(at, size, half, next));
    }
  }

  /** Bytes of rows that differ, and bytes between rows that were touched. */
  private long wrongBytes(long[] at, long[] size, long half, long end) {
    long wrong = 0;
    long position = 0;
    for (int row = 0; row < at.length; row++) {
      for (long gap = position; gap < at[row]; gap++) {
        wrong += host.get(JAVA_BYTE, half + gap) == 0x22 ? 0 : 1;
      }
      if (host.asSlice(half + at[row], size[row]).mismatch(host.asSlice(at[row], size[row]))
          != -1) {
        wrong++;
      }
      position = at[row] + size[row];
    }
    for (long gap = position; gap < end; gap++) {
      wrong += host.get(JAVA_BYTE, half + gap) == 0x22 ? 0 : 1;
    }
    return wrong;
  }

  private static void fillRandom(MemorySegment memory, Random random) {
    byte[] bytes = new byte[1 << 20];
    random.nextBytes(bytes);
    for (long at = 0; at < memory.byteSize(); at += bytes.length) {
      int count = (int) Math.min(bytes.length, memory.byteSize() - at);
      MemorySegment.copy(bytes, 0, memory, JAVA_BYTE, at, count);
    }
  }

  // ---- rates

  private void rates(DeviceRange device, StreamHandle stream) {
    host.fill((byte) 3);
    long[] sizes = {1 << 10, 4 << 10, 16 << 10, 64 << 10, 144 << 10, 1 << 20, room};
    for (long size : sizes) {
      for (Direction direction :
          new Direction[] {Direction.DEVICE_TO_HOST, Direction.HOST_TO_DEVICE}) {
        int rows = (int) Math.min(MOST_ROWS, room / size);
        CopyTable table = scattered(device, direction, size, rows);
        String what = "%9d B x %5d %s".formatted(size, rows, direction);
        if (size > 1 << 10) {
          rate(
              what + " LOOP",
              rows * size,
              stream,
              (copy, _) -> port.copyEach(copy, 0, rows, stream),
              table);
          port.batchCopies().ifPresent(batch -> batchRate(batch, what, table, rows, size, stream));
        }
        port.kernelCopies()
            .ifPresent(
                kernels -> {
                  DeviceRange seen = port.seenByDevice(columns);
                  for (int blocks : new int[] {4, 8, 16, 32, 132}) {
                    rate(
                        what + " KERNEL " + blocks,
                        rows * size,
                        stream,
                        (copy, _) -> kernels.copyByKernel(copy, seen, 0, rows, blocks, stream),
                        table);
                  }
                });
      }
    }
    port.kernelCopies().ifPresent(kernels -> mixedRates(kernels, device, stream));
  }

  private void batchRate(
      BatchCopyPort batch, String what, CopyTable table, int rows, long size, StreamHandle stream) {
    rate(
        what + " BATCH",
        rows * size,
        stream,
        (copy, _) -> {
          for (int from = 0; from < rows; from += batch.maxRows()) {
            batch.copyBatch(
                copy, from, Math.min(rows, from + batch.maxRows()), SourceReads.ANY_TIME, stream);
          }
        },
        table);
  }

  /** One row of half the room among thousands of small ones. */
  private void mixedRates(KernelCopyPort kernels, DeviceRange device, StreamHandle stream) {
    long small = 4096;
    int rows = 30_000;
    long big = room / 2;
    long seen = port.seenByDevice(host).address();
    for (Direction direction :
        new Direction[] {Direction.DEVICE_TO_HOST, Direction.HOST_TO_DEVICE}) {
      CopyTable table = table(direction);
      for (int row = 0; row < rows; row++) {
        long at = row == 700 ? 0 : big + row * small;
        long bytes = row == 700 ? big : small;
        if (direction == Direction.HOST_TO_DEVICE) {
          table.set(row, device.address() + at, seen + at, bytes);
        } else {
          table.set(row, seen + at, device.address() + at, bytes);
        }
      }
      DeviceRange seenColumns = port.seenByDevice(columns);
      for (int blocks : new int[] {8, 16, 32}) {
        rate(
            "one of 256 MiB among 30000 of 4 KiB " + direction + " KERNEL " + blocks,
            big + (rows - 1) * small,
            stream,
            (copy, _) -> kernels.copyByKernel(copy, seenColumns, 0, rows, blocks, stream),
            table);
      }
    }
  }

  /** Rows in order on the device, scattered on the host. */
  private CopyTable scattered(DeviceRange device, Direction direction, long size, int rows) {
    CopyTable table = table(direction);
    long seen = port.seenByDevice(host).address();
    for (int row = 0; row < rows; row++) {
      long there = row * 7_919L % rows * size;
      if (direction == Direction.HOST_TO_DEVICE) {
        table.set(row, device.address() + row * size, seen + there, size);
      } else {
        table.set(row, seen + there, device.address() + row * size, size);
      }
    }
    return table;
  }

  /** Best of four by the device's clock, with what submitting cost the caller. */
  private void rate(
      String what,
      long bytes,
      StreamHandle stream,
      ObjLongConsumer<CopyTable> copy,
      CopyTable table) {
    EventHandle start = port.createEvent(EventKind.TIMED);
    EventHandle end = port.createEvent(EventKind.TIMED);
    long best = Long.MAX_VALUE;
    long submit = Long.MAX_VALUE;
    for (int round = 0; round < 4; round++) {
      port.recordEvent(start, stream);
      long before = System.nanoTime();
      copy.accept(table, round);
      submit = Math.min(submit, System.nanoTime() - before);
      port.recordEvent(end, stream);
      port.awaitEvent(end);
      best = Math.min(best, port.nanosBetween(start, end));
    }
    port.destroyEvent(start);
    port.destroyEvent(end);
    report.info(
        "rate",
        what,
        String.format(
            Locale.ROOT, "%.1f GB/s, submit %.1f us", (double) bytes / best, submit / 1e3));
  }

  // ---- costs

  private void costs(DeviceRange device, StreamHandle stream) {
    EventHandle event = port.createEvent(EventKind.ORDER);
    CopyTable one = scattered(device, Direction.HOST_TO_DEVICE, 64 << 10, 64);
    cost("streamIdle", 20_000, () -> port.streamIdle(stream));
    cost("eventPassed", 20_000, () -> port.eventPassed(event));
    cost("captureState", 20_000, () -> port.captureState(stream));
    cost(
        "recordEvent and streamWait",
        5_000,
        () -> {
          port.recordEvent(event, stream);
          port.streamWait(stream, event);
        });
    cost(
        "64 rows of 64 KiB by copyEach, stream awaited",
        200,
        () -> {
          port.copyEach(one, 0, 64, stream);
          port.awaitStream(stream);
        });
    long submit = Long.MAX_VALUE;
    for (int round = 0; round < 200; round++) {
      long before = System.nanoTime();
      port.copyEach(one, 0, 64, stream);
      submit = Math.min(submit, System.nanoTime() - before);
      port.awaitStream(stream);
    }
    report.info("cost", "ns to submit one row by copyEach", submit / 64);
    port.destroyEvent(event);
  }

  private void cost(String what, int times, Runnable call) {
    long best = Long.MAX_VALUE;
    for (int round = 0; round < 5; round++) {
      long before = System.nanoTime();
      for (int i = 0; i < times; i++) {
        call.run();
      }
      best = Math.min(best, (System.nanoTime() - before) / times);
    }
    port.awaitStream(port.legacyDefaultStream());
    report.info("cost", "ns of " + what, best);
  }
}
