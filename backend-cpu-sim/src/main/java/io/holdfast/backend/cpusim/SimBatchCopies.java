package io.holdfast.backend.cpusim;

import io.holdfast.backend.cpusim.driver.Codes;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.backend.cpusim.driver.Personality.Batch;
import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.error.DriverException;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.StreamHandle;

/** Batched copies of the simulated driver. */
final class SimBatchCopies implements BatchCopyPort {
  private static final int[] NOTHING = {};
  private static final long[] NO_ROWS = {};
  private static final int[] IN_STREAM_ORDER = {SimDriver.SOURCE_ORDER_STREAM};
  private static final int[] ANY_TIME = {SimDriver.SOURCE_ORDER_ANY};
  private static final int[] NO_FLAGS = {0};
  private static final long[] FROM_THE_FIRST = {0};

  private final SimDevicePort port;
  private final boolean attributes;
  private final boolean namesRow;
  private final int maxRows;

  SimBatchCopies(SimDevicePort port) {
    this.port = port;
    Batch form = port.driver().personality().copies().batch();
    this.attributes = form.cudaRules() || form == Batch.HIP_TAKES_ATTRIBUTES;
    this.namesRow = form != Batch.CUDA_V2;
    int fault = port.driver().personality().copies().batchRowsFault();
    this.maxRows = fault > 0 ? fault : Integer.MAX_VALUE / 3;
  }

  @Override
  public int maxRows() {
    return maxRows;
  }

  @Override
  public void copyBatch(
      CopyTable table, long from, long to, SourceReads reads, StreamHandle stream) {
    long[] failedRow = namesRow ? new long[1] : null;
    long entered = port.enter();
    try {
      int code =
          port.driver()
              .memcpyBatchAsync(
                  table,
                  from,
                  to,
                  attributes ? reads == SourceReads.ANY_TIME ? ANY_TIME : IN_STREAM_ORDER : NOTHING,
                  attributes ? NO_FLAGS : NOTHING,
                  attributes ? FROM_THE_FIRST : NO_ROWS,
                  failedRow,
                  stream.value());
      if (code != Codes.SUCCESS) {
        DriverException refused =
            port.refused(Operation.MEMCPY_BATCH_ASYNC, (to - from) + " rows", code);
        throw failedRow != null && failedRow[0] >= 0
            ? refused.atEntry(from + failedRow[0])
            : refused;
      }
    } finally {
      port.leave(entered);
    }
  }
}
