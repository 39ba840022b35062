package io.holdfast.internal.copy;

import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute.Direction;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.Properties;

/**
 * What copies cost on one device, by measurement: for each way and direction a fixed time for each
 * driver call and a time for each row, at some row sizes. Immutable once filled; asking allocates
 * nothing.
 *
 * <p>Between two sizes times are on a straight line, as they are on a link that takes its time for
 * each row and each byte; above the largest the line goes on, below the smallest nothing changes.
 */
final class CopyProfile {
  /** Row sizes that are measured; closer where drivers change their way of copying. */
  static final long[] SIZES = {
    1 << 10, 1 << 12, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 22
  };

  /** Ways that are measured. */
  enum Way {
    /** One call for each row. */
    LOOP(0, CopyPath.LOOP, 0),
    /** One call for many rows. */
    BATCH(1, CopyPath.BATCH, 0),
    /** By few thread blocks. */
    KERNEL_FEW(2, CopyPath.KERNEL, 8),
    /** By many. */
    KERNEL_MANY(3, CopyPath.KERNEL, 32),
    /** One call for a rectangle. */
    PITCHED(4, CopyPath.PITCHED, 0);

    final CopyPath path;
    final int threadBlocks;

    private final int number;

    Way(int number, CopyPath path, int threadBlocks) {
      this.number = number;
      this.path = path;
      this.threadBlocks = threadBlocks;
    }
  }

  private static final Way[] WAYS = Way.values();
  private static final Direction[] DIRECTIONS = Direction.values();

  private final String origin;
  private final double[][] callNanos = table();
  private final double[][] rowNanos = table();
  private final double[][] busyRowNanos = table();

  private CopyProfile(String origin) {
    this.origin = origin;
  }

  private static double[][] table() {
    double[][] table = new double[WAYS.length * DIRECTIONS.length][SIZES.length];
    for (double[] curve : table) {
      Arrays.fill(curve, Double.NaN);
    }
    return table;
  }

  /** Nothing is known; the origin says why. */
  static CopyProfile unknown(String why) {
    return new CopyProfile(why);
  }

  /** To be filled by a measurement; the origin says of what. */
  static CopyProfile of(String origin) {
    return new CopyProfile(origin);
  }

  /** Where the numbers come from, or why there are none. */
  String origin() {
    return origin;
  }

  /** One number for each way and direction, from 0 on. */
  static int index(Way way, Direction direction) {
    return 2 * way.number + (direction == Direction.STORE ? 0 : 1);
  }

  /** Takes down one measurement. */
  void put(Way way, Direction direction, int size, double perCall, double perRow) {
    callNanos[index(way, direction)][size] = perCall;
    rowNanos[index(way, direction)][size] = perRow;
  }

  /** Takes down what a row costs while the device's cores are busy. */
  void putBusy(Way way, Direction direction, int size, double perRow) {
    busyRowNanos[index(way, direction)][size] = perRow;
  }

  /** Whether a way was measured at every size. */
  boolean knows(Way way, Direction direction) {
    for (double each : rowNanos[index(way, direction)]) {
      if (Double.isNaN(each)) {
        return false;
      }
    }
    return true;
  }

  /** Nanoseconds from the first call to the last byte, predicted. */
  double nanos(Way way, Direction direction, long calls, long rows, double bytesOfRow) {
    int curve = index(way, direction);
    return calls * Math.max(0, at(callNanos[curve], bytesOfRow))
        + rows * Math.max(0, at(rowNanos[curve], bytesOfRow));
  }

  /** The same while the device's cores are busy; the quiet time where that was not measured. */
  double busyNanos(Way way, Direction direction, long calls, long rows, double bytesOfRow) {
    int curve = index(way, direction);
    double perRow = at(busyRowNanos[curve], bytesOfRow);
    return Double.isNaN(perRow)
        ? nanos(way, direction, calls, rows, bytesOfRow)
        : calls * Math.max(0, at(callNanos[curve], bytesOfRow)) + rows * Math.max(0, perRow);
  }

  private static double at(double[] curve, double bytes) {
    if (bytes <= SIZES[0]) {
      return curve[0];
    }
    int above = 1;
    while (above < SIZES.length - 1 && SIZES[above] < bytes) {
      above++;
    }
    double share = (bytes - SIZES[above - 1]) / (SIZES[above] - SIZES[above - 1]);
    return curve[above - 1] + share * (curve[above] - curve[above - 1]);
  }

  // ---- as text

  /** The numbers as text, under names that a reader understands. */
  Properties toProperties() {
    Properties text = new Properties();
    text.setProperty("origin", origin);
    for (Way way : WAYS) {
      for (Direction direction : DIRECTIONS) {
        for (int size = 0; size < SIZES.length; size++) {
          int curve = index(way, direction);
          put(text, name(way, direction, size, "callNanos"), callNanos[curve][size]);
          put(text, name(way, direction, size, "rowNanos"), rowNanos[curve][size]);
          put(text, name(way, direction, size, "busyRowNanos"), busyRowNanos[curve][size]);
        }
      }
    }
    return text;
  }

  private static void put(Properties text, String name, double value) {
    if (!Double.isNaN(value)) {
      text.setProperty(name, String.format(Locale.ROOT, "%.2f", value));
    }
  }

  private static String name(Way way, Direction direction, int size, String what) {
    return way + "." + direction + "." + SIZES[size] + "." + what;
  }

  /** Reads what {@link #toProperties} wrote; empty where it is not that. */
  static Optional<CopyProfile> fromProperties(Properties text) {
    String origin = text.getProperty("origin");
    if (origin == null) {
      return Optional.empty();
    }
    CopyProfile profile = new CopyProfile(origin);
    try {
      for (Way way : WAYS) {
        for (Direction direction : DIRECTIONS) {
          for (int size = 0; size < SIZES.length; size++) {
            int curve = index(way, direction);
            profile.callNanos[curve][size] = get(text, name(way, direction, size, "callNanos"));
            profile.rowNanos[curve][size] = get(text, name(way, direction, size, "rowNanos"));
            profile.busyRowNanos[curve][size] =
                get(text, name(way, direction, size, "busyRowNanos"));
          }
        }
      }
    } catch (NumberFormatException spoiled) {
      return Optional.empty();
    }
    return Optional.of(profile);
  }

  private static double get(Properties text, String name) {
    String value = text.getProperty(name);
    return value == null ? Double.NaN : Double.parseDouble(value);
  }
}
