package io.holdfast.backend.cuda;

import static io.holdfast.backend.cuda.CudaConstants.CU_DEVICE_ATTRIBUTE_MAX_PITCH;
import static io.holdfast.backend.cuda.CudaConstants.CU_MEMORYTYPE_DEVICE;
import static io.holdfast.backend.cuda.CudaConstants.CU_MEMORYTYPE_HOST;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.spi.CopyTable;
import io.holdfast.spi.PitchedCopyPort;
import io.holdfast.spi.StreamHandle;
import java.lang.foreign.MemorySegment;
import java.util.Locale;

/** Regular rows in one driver call, described by a CUDA_MEMCPY2D. */
final class CudaPitchedCopies implements PitchedCopyPort {
  private final CudaDevicePort port;
  private final long maxPitchBytes;

  CudaPitchedCopies(CudaDevicePort port) {
    this.port = port;
    maxPitchBytes = port.attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH, Integer.MAX_VALUE);
  }

  @Override
  public void copyRows(
      long destination,
      long destinationPitchBytes,
      long source,
      long sourcePitchBytes,
      long rowBytes,
      long rows,
      CopyTable.Direction direction,
      StreamHandle stream) {
    int code;
    CallFrame frame = port.enter();
    try {
      MemorySegment copy = frame.struct;
      copy.fill((byte) 0);
      if (direction == CopyTable.Direction.HOST_TO_DEVICE) {
        copy.set(JAVA_INT, CudaLayouts.MEMCPY_2D_SOURCE_TYPE, CU_MEMORYTYPE_HOST);
        copy.set(JAVA_LONG, CudaLayouts.MEMCPY_2D_SOURCE_HOST, source);
      } else {
        copy.set(JAVA_INT, CudaLayouts.MEMCPY_2D_SOURCE_TYPE, CU_MEMORYTYPE_DEVICE);
        copy.set(JAVA_LONG, CudaLayouts.MEMCPY_2D_SOURCE_DEVICE, source);
      }
      if (direction == CopyTable.Direction.DEVICE_TO_HOST) {
        copy.set(JAVA_INT, CudaLayouts.MEMCPY_2D_TARGET_TYPE, CU_MEMORYTYPE_HOST);
        copy.set(JAVA_LONG, CudaLayouts.MEMCPY_2D_TARGET_HOST, destination);
      } else {
        copy.set(JAVA_INT, CudaLayouts.MEMCPY_2D_TARGET_TYPE, CU_MEMORYTYPE_DEVICE);
        copy.set(JAVA_LONG, CudaLayouts.MEMCPY_2D_TARGET_DEVICE, destination);
      }
      copy.set(JAVA_LONG, CudaLayouts.MEMCPY_2D_SOURCE_PITCH, sourcePitchBytes);
      copy.set(JAVA_LONG, CudaLayouts.MEMCPY_2D_TARGET_PITCH, destinationPitchBytes);
      copy.set(JAVA_LONG, CudaLayouts.MEMCPY_2D_WIDTH, rowBytes);
      copy.set(JAVA_LONG, CudaLayouts.MEMCPY_2D_HEIGHT, rows);
      code = port.calls().cuMemcpy2DAsync_v2(copy, stream.value());
    } finally {
      port.leave(frame);
    }
    if (code != 0) {
      throw port.failure(
          String.format(
              Locale.ROOT,
              "cuMemcpy2DAsync_v2(0x%x/%d, 0x%x/%d, %d x %d)",
              destination,
              destinationPitchBytes,
              source,
              sourcePitchBytes,
              rowBytes,
              rows),
          code);
    }
  }

  @Override
  public long maxPitchBytes() {
    return maxPitchBytes;
  }
}
