package io.holdfast.backend.hip;

import static io.holdfast.backend.hip.HipConstants.HIP_DEVICE_ATTRIBUTE_MAX_PITCH;
import static io.holdfast.backend.hip.HipConstants.HIP_MEMCPY_DEVICE_TO_DEVICE;
import static io.holdfast.backend.hip.HipConstants.HIP_MEMCPY_DEVICE_TO_HOST;
import static io.holdfast.backend.hip.HipConstants.HIP_MEMCPY_HOST_TO_DEVICE;

import io.holdfast.spi.CopyTable;
import io.holdfast.spi.PitchedCopyPort;
import io.holdfast.spi.StreamHandle;
import java.util.Locale;

/**
 * Regular rows in one call, by its plain arguments: the struct of the other form has memory types
 * that 6.0 renumbered.
 */
final class HipPitchedCopies implements PitchedCopyPort {
  private final HipDevicePort port;
  private final long maxPitchBytes;

  HipPitchedCopies(HipDevicePort port) {
    this.port = port;
    maxPitchBytes =
        Integer.toUnsignedLong(port.attribute(HIP_DEVICE_ATTRIBUTE_MAX_PITCH, Integer.MAX_VALUE));
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
    int kind =
        switch (direction) {
          case HOST_TO_DEVICE -> HIP_MEMCPY_HOST_TO_DEVICE;
          case DEVICE_TO_HOST -> HIP_MEMCPY_DEVICE_TO_HOST;
          case DEVICE_TO_DEVICE -> HIP_MEMCPY_DEVICE_TO_DEVICE;
        };
    int code = 0;
    HipFrame frame = port.enter();
    try {
      code =
          port.hip()
              .hipMemcpy2DAsync(
                  destination,
                  destinationPitchBytes,
                  source,
                  sourcePitchBytes,
                  rowBytes,
                  rows,
                  kind,
                  stream.value());
    } finally {
      port.leave(frame, code);
    }
    if (code != 0) {
      throw port.failure(
          String.format(
              Locale.ROOT,
              "hipMemcpy2DAsync(0x%x/%d, 0x%x/%d, %d x %d)",
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
