package io.holdfast.internal.copy;

import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.error.UnsupportedException;
import io.holdfast.spi.DevicePort;
import java.util.EnumSet;
import java.util.Set;

/**
 * Which path a submission takes: the one that was asked for, else by rule. Safe from any thread.
 *
 * <p>The rule, where nothing was measured: one row is one call whichever way, so LOOP; more rows go
 * as a BATCH where the driver has one. KERNEL and PITCHED are never taken without a measurement.
 */
final class PathChooser {
  private final CopyOptions options;
  private final Set<CopyPath> present;

  PathChooser(DevicePort port, CopyOptions options) {
    this.options = options;
    this.present = present(port);
    options.path().ifPresent(this::require);
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
    return descriptors.rowsBeforeSplits() > 1 && present.contains(CopyPath.BATCH)
        ? CopyPath.BATCH
        : CopyPath.LOOP;
  }

  /** Why. */
  String because(CopyPath path) {
    if (options.path().isPresent()) {
      return "the route's options say " + path;
    }
    return path == CopyPath.BATCH
        ? "nothing was measured here, and the driver takes many copies in one call"
        : "nothing was measured here, and it is one copy or the driver takes one at a time";
  }
}
