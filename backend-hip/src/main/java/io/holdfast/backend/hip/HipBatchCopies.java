package io.holdfast.backend.hip;

import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_NOT_SUPPORTED;
import static io.holdfast.backend.hip.HipConstants.HIP_MEMCPY_SRC_ACCESS_ORDER_ANY;
import static io.holdfast.backend.hip.HipConstants.HIP_MEMCPY_SRC_ACCESS_ORDER_STREAM;
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
 * Many copies in one call. Versions 7.2.x answer 801 to any attribute and moved nothing then: the
 * call is made again without, and from then on always so. Without attributes the runtime reads
 * sources in stream order, which is right for both wishes.
 *
 * <p>Up to 7.13 the runtime loops over the rows itself, so that a batch saves calls and no more.
 */
final class HipBatchCopies implements BatchCopyPort {
  /** Versions 7.14 and 7.15 fault in their staging with more (vllm 43018). */
  static final int MAX_ROWS = 8192;

  private final HipDevicePort port;
  private final MemorySegment inStreamOrder;
  private final MemorySegment anyTime;
  private final MemorySegment firstRow;
  private volatile boolean attributesRefused;

  HipBatchCopies(HipDevicePort port) {
    this.port = port;
    Arena arena = Arena.ofAuto();
    inStreamOrder = attributes(arena, HIP_MEMCPY_SRC_ACCESS_ORDER_STREAM);
    anyTime = attributes(arena, HIP_MEMCPY_SRC_ACCESS_ORDER_ANY);
    firstRow = arena.allocate(JAVA_LONG); // the one attribute holds from row 0 on
  }

  private static MemorySegment attributes(Arena arena, int order) {
    MemorySegment attributes = arena.allocate(HipLayouts.COPY_ATTRIBUTES);
    attributes.set(JAVA_INT, HipLayouts.COPY_SOURCE_ORDER, order);
    return attributes;
  }

  @Override
  public int maxRows() {
    return MAX_ROWS;
  }

  @Override
  public void copyBatch(
      CopyTable table, long from, long to, SourceReads reads, StreamHandle stream) {
    MemorySegment attributes = reads == SourceReads.ANY_TIME ? anyTime : inStreamOrder;
    int code = HIP_ERROR_NOT_SUPPORTED;
    long failedAt;
    HipFrame frame = port.enter();
    try {
      if (!attributesRefused) {
        code = call(frame, table, from, to, attributes, 1, stream);
      }
      if (code == HIP_ERROR_NOT_SUPPORTED) {
        int _ = port.hip().hipGetLastError(); // a success does not take it away from 7.0 on
        code = call(frame, table, from, to, MemorySegment.NULL, 0, stream);
        attributesRefused |= code == 0;
      }
      failedAt = frame.first.get(JAVA_LONG, 0);
    } finally {
      port.leave(frame, code);
      Reference.reachabilityFence(table);
    }
    if (code != 0) {
      DriverException failure =
          port.failure(
              String.format(Locale.ROOT, "hipMemcpyBatchAsync of %d rows", to - from), code);
      throw failedAt >= 0 && failedAt < to - from ? failure.atEntry(from + failedAt) : failure;
    }
  }

  private int call(
      HipFrame frame,
      CopyTable table,
      long from,
      long to,
      MemorySegment attributes,
      long attributeCount,
      StreamHandle stream) {
    long offset = from * Long.BYTES;
    frame.first.set(JAVA_LONG, 0, -1); // some versions leave it alone
    return port.hip()
        .hipMemcpyBatchAsync(
            table.destinations().address() + offset,
            table.sources().address() + offset,
            table.byteCounts().address() + offset,
            to - from,
            attributes,
            attributeCount == 0 ? MemorySegment.NULL : firstRow,
            attributeCount,
            frame.first,
            stream.value());
  }
}
