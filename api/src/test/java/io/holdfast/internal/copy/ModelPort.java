package io.holdfast.internal.copy;

import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.StreamHandle;
import java.util.ArrayList;
import java.util.List;

/**
 * A device whose copies take the times that an H200 took (rows in KiB, nanoseconds each), by a
 * clock of its own. While its cores are busy the kernel path takes twice as long.
 */
final class ModelPort extends NoOpPort {
  private static final double[] KIB = {1, 4, 16, 64, 144, 256, 1024, 4096};

  private static final double[][] STORE = {
    {2_500, 2_560, 2_690, 3_680, 4_830, 6_920, 21_180, 78_100}, // LOOP
    {690, 706, 795, 1_846, 3_420, 5_500, 19_700, 76_700}, // BATCH
    {38, 78, 311, 1_246, 2_800, 4_983, 19_930, 79_700}, // KERNEL
    {700, 710, 800, 1_850, 3_450, 5_520, 19_800, 76_900}, // PITCHED
  };

  private static final double[][] LOAD = {
    {2_700, 2_730, 3_030, 3_950, 5_440, 7_510, 21_750, 78_500},
    {2_000, 2_050, 4_100, 1_889, 3_450, 5_520, 19_700, 76_500},
    {102, 111, 318, 1_275, 2_870, 5_101, 20_440, 81_000},
    {700, 710, 800, 1_850, 3_450, 5_520, 19_800, 76_900},
  };

  private static final double[] CALL = {8_000, 10_000, 12_000, 9_000};

  /** Thread blocks below which the kernel path is slower, in proportion. */
  private static final int ENOUGH_BLOCKS = 8;

  private double now;
  private double free;
  private double busyUntil;

  /** The ways that were taken. */
  final List<String> taken = new ArrayList<>();

  long now() {
    return (long) now;
  }

  /** The model's own time for that many equal rows. */
  static double nanos(int way, boolean store, long rows, double bytes) {
    return CALL[way] + rows * row((store ? STORE : LOAD)[way], bytes / 1024);
  }

  private static double row(double[] curve, double kib) {
    int above = 1;
    while (above < KIB.length - 1 && KIB[above] < kib) {
      above++;
    }
    double share = (kib - KIB[above - 1]) / (KIB[above] - KIB[above - 1]);
    return curve[above - 1] + share * (curve[above] - curve[above - 1]);
  }

  private void take(
      int way, CopyTable.Direction direction, long count, double bytes, double slower) {
    boolean store = direction == CopyTable.Direction.DEVICE_TO_HOST;
    taken.add(List.of("LOOP", "BATCH", "KERNEL", "PITCHED").get(way));
    free = Math.max(free, now) + slower * nanos(way, store, count, bytes);
  }

  private static double mean(CopyTable table, long from, long to) {
    double sum = 0;
    for (long row = from; row < to; row++) {
      sum += table.bytes(row);
    }
    return sum / (to - from);
  }

  @Override
  public void copyEach(CopyTable table, long from, long to, StreamHandle stream) {
    take(0, table.direction(), to - from, mean(table, from, to), 1);
  }

  @Override
  public void copyBatch(
      CopyTable table, long from, long to, SourceReads reads, StreamHandle stream) {
    take(1, table.direction(), to - from, mean(table, from, to), 1);
  }

  @Override
  public void copyByKernel(
      CopyTable table,
      DeviceRange columns,
      long from,
      long to,
      int threadBlocks,
      StreamHandle stream) {
    double slower = Math.max(1, (double) ENOUGH_BLOCKS / threadBlocks) * (now < busyUntil ? 2 : 1);
    take(2, table.direction(), to - from, mean(table, from, to), slower);
  }

  @Override
  public void copyRows(
      long destination,
      long destinationPitchBytes,
      long source,
      long sourcePitchBytes,
      long rowBytes,
      long count,
      CopyTable.Direction direction,
      StreamHandle stream) {
    take(3, direction, count, (double) rowBytes, 1);
  }

  @Override
  public void fill(DeviceRange range, byte value, StreamHandle stream) {
    busyUntil = Math.max(busyUntil, now) + 100_000;
  }

  @Override
  public boolean eventPassed(EventHandle event) {
    now += 50;
    return now >= free;
  }

  @Override
  public boolean streamIdle(StreamHandle stream) {
    return now >= busyUntil;
  }

  @Override
  public void awaitStream(StreamHandle stream) {
    now = Math.max(now, Math.max(free, busyUntil));
  }
}
