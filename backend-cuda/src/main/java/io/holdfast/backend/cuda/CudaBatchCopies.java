package io.holdfast.backend.cuda;

import static io.holdfast.backend.cuda.CudaConstants.CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
import static io.holdfast.backend.cuda.CudaConstants.CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.error.DriverException;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.StreamHandle;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.Locale;

/**
 * Many copies in one driver call. The driver takes no default stream and no row of 0 bytes here.
 */
final class CudaBatchCopies implements BatchCopyPort {
  /**
   * The driver names no limit and took 60,000 rows where that was tried; a public report has it
   * crash at 51,828 on another device. Calls of this size cost nothing beside their rows.
   */
  private static final int MAX_ROWS = 16_384;

  private final CudaDevicePort port;
  private final MemorySegment inStreamOrder;
  private final MemorySegment anyTime;
  private final MemorySegment firstRow;

  CudaBatchCopies(CudaDevicePort port) {
    this.port = port;
    Arena arena = Arena.ofAuto();
    inStreamOrder = attributes(arena, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
    anyTime = attributes(arena, CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
    firstRow = arena.allocate(JAVA_LONG); // the one attribute holds from row 0 on
  }

  private static MemorySegment attributes(Arena arena, int order) {
    MemorySegment attributes = arena.allocate(CudaLayouts.COPY_ATTRIBUTES);
    attributes.set(JAVA_INT, CudaLayouts.COPY_SOURCE_ORDER, order);
    return attributes;
  }

  @Override
  public int maxRows() {
    return MAX_ROWS;
  }

  @Override
  public void copyBatch(
      CopyTable table, long from, long to, SourceReads reads, StreamHandle stream) {
    long offset = from * Long.BYTES;
    int code;
    long failedAt;
    CallFrame frame = port.enter();
    try {
      code =
          port.calls()
              .cuMemcpyBatchAsync(
                  table.destinations().address() + offset,
                  table.sources().address() + offset,
                  table.byteCounts().address() + offset,
                  to - from,
                  reads == SourceReads.ANY_TIME ? anyTime : inStreamOrder,
                  firstRow,
                  1,
                  frame.first,
                  stream.value());
      failedAt = frame.first.get(JAVA_LONG, 0);
    } finally {
      port.leave(frame);
      Reference.reachabilityFence(table);
    }
    if (code != 0) {
      DriverException failure =
          port.failure(
              String.format(Locale.ROOT, "cuMemcpyBatchAsync of %d rows", to - from), code);
      throw failedAt >= 0 && failedAt < to - from ? failure.atEntry(from + failedAt) : failure;
    }
  }
}
