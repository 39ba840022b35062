package io.holdfast.internal.copy;

import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.error.UnsupportedException;
import io.holdfast.internal.copy.CopyProfile.Way;
import io.holdfast.spi.DevicePort;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;

/**
 * Which path a submission takes: the one that was asked for, else the quickest by measurement, else
 * by rule. Safe from any thread; choosing allocates nothing.
 *
 * <p>By measurement: the way whose predicted time is least; of ways within a fiftieth of that, the
 * one that suffers least from busy cores, which also leaves the cores to others.
 *
 * <p>By rule, where nothing was measured: one row is one call whichever way, so LOOP; more rows go
 * as a BATCH where the driver has one. KERNEL and PITCHED are never taken without a measurement.
 */
final class PathChooser {
  private static final Way[] WAYS = Way.values();

  /** Predictions that differ by less are equal: what is chosen must stay within a twentieth. */
  private static final double EQUAL = 1.02;

  private final CopyOptions options;
  private final Set<CopyPath> present;
  private final long batchRows;
  private final CopyProfile profile;
  private final boolean[] usable = new boolean[WAYS.length * Direction.values().length];

  /**
   * For one route.
   *
   * @param port of the device
   * @param options of the route
   * @param batchRows most rows of one batch call
   * @param profile what was measured
   */
  PathChooser(DevicePort port, CopyOptions options, long batchRows, CopyProfile profile) {
    this.options = options;
    this.present = present(port);
    this.batchRows = batchRows;
    this.profile = profile;
    options.path().ifPresent(this::require);
    for (Way way : WAYS) {
      for (Direction direction : Direction.values()) {
        usable[CopyProfile.index(way, direction)] =
            present.contains(way.path)
                && profile.knows(way, direction)
                && way.threadBlocks
                    <= Math.max(options.maxKernelBlocks(), Way.KERNEL_FEW.threadBlocks);
      }
    }
  }

  private boolean isMeasured(Direction direction) {
    return usable[CopyProfile.index(Way.LOOP, direction)];
  }

  private static Set<CopyPath> present(DevicePort port) {
    Set<CopyPath> paths = EnumSet.of(CopyPath.LOOP);
    if (port.batchCopies().isPresent()) {
      paths.add(CopyPath.BATCH);
    }
    if (port.kernelCopies().isPresent()) {
      paths.add(CopyPath.KERNEL);
    }
    if (port.pitchedCopies().isPresent()) {
      paths.add(CopyPath.PITCHED);
    }
    return paths;
  }

  private void require(CopyPath path) {
    if (!present.contains(path)) {
      throw new UnsupportedException(
          "the copy path " + path,
          "the driver offers " + present,
          "Leave the path to measurements with CopyOptions.auto()");
    }
  }

  /** What a submission of nothing reports. */
  CopyPath forNothing() {
    return options.path().orElse(CopyPath.LOOP);
  }

  /** The path for a submission whose descriptors were begun. */
  CopyPath choose(Direction direction, Descriptors descriptors, long bytes) {
    if (options.path().isPresent()) {
      return options.path().get();
    }
    if (isMeasured(direction)) {
      return quickest(direction, descriptors, bytes).path;
    }
    return descriptors.rowsBeforeSplits() > 1 && present.contains(CopyPath.BATCH)
        ? CopyPath.BATCH
        : CopyPath.LOOP;
  }

  /** How many thread blocks the KERNEL path takes for it: no more than help. */
  int threadBlocks(Direction direction, Descriptors descriptors, long bytes) {
    int most = options.maxKernelBlocks();
    if (most <= Way.KERNEL_FEW.threadBlocks
        || !usable[CopyProfile.index(Way.KERNEL_FEW, direction)]
        || !usable[CopyProfile.index(Way.KERNEL_MANY, direction)]) {
      return most;
    }
    double few = nanos(Way.KERNEL_FEW, direction, descriptors, bytes);
    double many = nanos(Way.KERNEL_MANY, direction, descriptors, bytes);
    return few <= EQUAL * many
        ? Way.KERNEL_FEW.threadBlocks
        : Math.min(most, Way.KERNEL_MANY.threadBlocks);
  }

  private Way quickest(Direction direction, Descriptors descriptors, long bytes) {
    Way quickest = Way.LOOP;
    double least = nanos(Way.LOOP, direction, descriptors, bytes);
    for (Way way : WAYS) {
      if (way != Way.LOOP && isUsable(way, direction, descriptors)) {
        double nanos = nanos(way, direction, descriptors, bytes);
        if (nanos < least) {
          least = nanos;
          quickest = way;
        }
      }
    }
    Way steadiest = quickest;
    double leastBusy = busyNanos(quickest, direction, descriptors, bytes);
    for (Way way : WAYS) {
      if (isUsable(way, direction, descriptors)
          && nanos(way, direction, descriptors, bytes) <= EQUAL * least) {
        double busy = busyNanos(way, direction, descriptors, bytes);
        if (busy < leastBusy) {
          leastBusy = busy;
          steadiest = way;
        }
      }
    }
    return steadiest;
  }

  private boolean isUsable(Way way, Direction direction, Descriptors descriptors) {
    return usable[CopyProfile.index(way, direction)]
        && (way != Way.PITCHED || descriptors.hasGaps());
  }

  private double nanos(Way way, Direction direction, Descriptors descriptors, long bytes) {
    long rows = rows(way, descriptors);
    return slower(way)
        * profile.nanos(way, direction, calls(way, descriptors), rows, (double) bytes / rows);
  }

  private double busyNanos(Way way, Direction direction, Descriptors descriptors, long bytes) {
    long rows = rows(way, descriptors);
    return slower(way)
        * profile.busyNanos(way, direction, calls(way, descriptors), rows, (double) bytes / rows);
  }

  /** Fewer thread blocks than were measured take longer, at worst in proportion. */
  private double slower(Way way) {
    return way.threadBlocks == 0
        ? 1
        : Math.max(1, (double) way.threadBlocks / options.maxKernelBlocks());
  }

  private static long rows(Way way, Descriptors descriptors) {
    return way == Way.PITCHED ? descriptors.rowsOfRectangles() : descriptors.rowsBeforeSplits();
  }

  private long calls(Way way, Descriptors descriptors) {
    return switch (way) {
      case LOOP -> 1; // what each call costs is in its row
      case BATCH -> Math.ceilDiv(descriptors.rowsBeforeSplits(), batchRows);
      case KERNEL_FEW, KERNEL_MANY ->
          Math.ceilDiv(descriptors.rowsBeforeSplits(), options.maxBatchEntries());
      case PITCHED -> descriptors.rectangles();
    };
  }

  /** Why. */
  String because(CopyPath path, Direction direction, Descriptors descriptors, long bytes) {
    if (options.path().isPresent()) {
      return "the route's options say " + path;
    }
    if (!isMeasured(direction)) {
      return (path == CopyPath.BATCH
              ? "the driver takes many copies in one call"
              : "it is one copy, or the driver takes one at a time")
          + "; "
          + profile.origin();
    }
    StringBuilder words = new StringBuilder("predicted for ");
    words
        .append(descriptors.rowsBeforeSplits())
        .append(" rows of ")
        .append(bytes / descriptors.rowsBeforeSplits())
        .append(" bytes:");
    for (Way way : WAYS) {
      if (isUsable(way, direction, descriptors)) {
        words
            .append(way == Way.LOOP ? " " : ", ")
            .append(way)
            .append(
                String.format(
                    Locale.ROOT,
                    " %.1f us (%.1f busy)",
                    nanos(way, direction, descriptors, bytes) / 1_000,
                    busyNanos(way, direction, descriptors, bytes) / 1_000));
      }
    }
    return words.append("; ").append(profile.origin()).toString();
  }
}
