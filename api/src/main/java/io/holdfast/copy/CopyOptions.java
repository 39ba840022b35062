package io.holdfast.copy;

import java.util.Objects;
import java.util.Optional;

/**
 * How a route copies.
 *
 * @param path fixed, or empty to let measurements decide
 * @param maxKernelBlocks most thread blocks the KERNEL path may take from others, positive
 * @param priority of the copy streams, as the driver counts; out of range is clamped
 * @param maxBatchEntries most descriptors of one driver call, positive; the driver's own limit
 *     binds too
 * @param timing whether the device's time is measured
 */
public record CopyOptions(
    Optional<CopyPath> path,
    int maxKernelBlocks,
    int priority,
    int maxBatchEntries,
    Timing timing) {
  /** Checks. */
  public CopyOptions {
    Objects.requireNonNull(path, "path");
    Objects.requireNonNull(timing, "timing");
    if (maxKernelBlocks < 1 || maxBatchEntries < 1) {
      throw new IllegalArgumentException(
          "maxKernelBlocks and maxBatchEntries must be positive, not "
              + maxKernelBlocks
              + " and "
              + maxBatchEntries);
    }
  }

  /**
   * Measurements decide; few thread blocks; lowest priority; a few thousand descriptors a call.
   *
   * @return the options
   */
  public static CopyOptions auto() {
    return new CopyOptions(Optional.empty(), 32, Integer.MAX_VALUE, 4096, Timing.OFF);
  }

  /**
   * Always that path; refused where it is absent.
   *
   * @param always the path
   * @return the copy
   */
  public CopyOptions path(CopyPath always) {
    return new CopyOptions(Optional.of(always), maxKernelBlocks, priority, maxBatchEntries, timing);
  }

  /**
   * A changed copy.
   *
   * @param blocks most thread blocks the KERNEL path may take
   * @return the copy
   */
  public CopyOptions maxKernelBlocks(int blocks) {
    return new CopyOptions(path, blocks, priority, maxBatchEntries, timing);
  }

  /**
   * A changed copy.
   *
   * @param streams priority of the copy streams
   * @return the copy
   */
  public CopyOptions priority(int streams) {
    return new CopyOptions(path, maxKernelBlocks, streams, maxBatchEntries, timing);
  }

  /**
   * A changed copy.
   *
   * @param entries most descriptors of one driver call
   * @return the copy
   */
  public CopyOptions maxBatchEntries(int entries) {
    return new CopyOptions(path, maxKernelBlocks, priority, entries, timing);
  }

  /**
   * A changed copy.
   *
   * @param whether the device's time is measured
   * @return the copy
   */
  public CopyOptions timing(Timing whether) {
    return new CopyOptions(path, maxKernelBlocks, priority, maxBatchEntries, whether);
  }

  /** Whether the device's time is measured. */
  public enum Timing {
    /** No; the cheapest events. */
    OFF,
    /** By two timed events around each submission. */
    ON
  }
}
