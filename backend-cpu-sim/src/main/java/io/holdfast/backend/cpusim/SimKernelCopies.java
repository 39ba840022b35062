package io.holdfast.backend.cpusim;

import io.holdfast.backend.cpusim.driver.Codes;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.KernelCopyPort;
import io.holdfast.spi.StreamHandle;

/** Copies by the simulated device's own cores. */
final class SimKernelCopies implements KernelCopyPort {
  private final SimDevicePort port;

  SimKernelCopies(SimDevicePort port) {
    this.port = port;
  }

  @Override
  public void copyByKernel(
      CopyTable table,
      DeviceRange columns,
      long from,
      long to,
      int threadBlocks,
      StreamHandle stream) {
    long entered = port.enter();
    try {
      int code =
          port.driver()
              .launchCopyKernel(
                  columns.address(), table.capacity(), from, to, threadBlocks, stream.value());
      if (code != Codes.SUCCESS) {
        throw port.refused(Operation.LAUNCH_COPY_KERNEL, threadBlocks + " blocks", code);
      }
    } finally {
      port.leave(entered);
    }
  }
}
