package io.holdfast.backend.cpusim;

import io.holdfast.backend.cpusim.driver.Attribute;
import io.holdfast.backend.cpusim.driver.Codes;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.PitchedCopyPort;
import io.holdfast.spi.StreamHandle;

/** Copies of rectangles by the simulated driver. */
final class SimPitchedCopies implements PitchedCopyPort {
  private final SimDevicePort port;
  private final long maxPitchBytes;

  SimPitchedCopies(SimDevicePort port) {
    this.port = port;
    this.maxPitchBytes = port.attribute(Attribute.MAX_PITCH);
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
    long entered = port.enter();
    try {
      int code =
          port.driver()
              .memcpy2DAsync(
                  destination,
                  destinationPitchBytes,
                  source,
                  sourcePitchBytes,
                  rowBytes,
                  rows,
                  stream.value());
      if (code != Codes.SUCCESS) {
        throw port.refused(
            Operation.MEMCPY_2D_ASYNC,
            SimDevicePort.hex(destination)
                + ", "
                + SimDevicePort.hex(source)
                + ", "
                + rowBytes
                + " x "
                + rows,
            code);
      }
    } finally {
      port.leave(entered);
    }
  }

  @Override
  public long maxPitchBytes() {
    return maxPitchBytes;
  }
}
