package io.holdfast.copy;

import io.holdfast.device.DevicePoint;
import java.util.concurrent.CompletableFuture;

/**
 * The end of one submission: poll it, await it, let a stream wait for it, or chain on it. Safe from
 * any thread.
 */
public interface Completion extends DevicePoint {
  /**
   * Completed by a Holdfast thread; fails as {@link #await()} would.
   *
   * @return a future of the report
   */
  CompletableFuture<CopyReport> future();

  /**
   * What was done, once done.
   *
   * @return the report
   * @throws IllegalStateException before it is done
   * @throws CopyException when it failed
   */
  CopyReport report();
}
