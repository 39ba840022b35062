package io.holdfast.internal.host;

import io.holdfast.BackendKind;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.core.Rooms;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.DeviceFacts;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.HostKernel;
import java.util.List;

/** A driver without devices: host memory needs none. */
final class NoDevices implements AcceleratorDriver {
  static CoreBackend backend(HostKernel kernel) {
    return new CoreBackend(
        "none", BackendKind.SIMULATOR, new NoDevices(), kernel, Rooms.standard());
  }

  @Override
  public String version() {
    return "no driver";
  }

  @Override
  public List<DeviceFacts> devices() {
    return List.of();
  }

  @Override
  public DevicePort open(int ordinal) {
    throw new IllegalArgumentException("no device " + ordinal);
  }

  @Override
  public DevicePort openOn(int ordinal, long contextHandle) {
    throw new IllegalArgumentException("no device " + ordinal);
  }

  @Override
  public void close() {}
}
