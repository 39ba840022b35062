package io.holdfast.internal.extensible;

import io.holdfast.BackendKind;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.core.Rooms;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.DeviceFacts;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernels;
import java.util.List;
import java.util.OptionalInt;

/** A driver with one device over a given port. */
record FakeDriver(DevicePort port) implements AcceleratorDriver {
  static final String UUID = "fake-0";

  static CoreDevice open(DevicePort port) {
    return open(port, HostKernels.system());
  }

  static CoreDevice open(DevicePort port, HostKernel kernel) {
    CoreBackend backend =
        new CoreBackend(
            "fake", BackendKind.SIMULATOR, new FakeDriver(port), kernel, Rooms.standard());
    return (CoreDevice) backend.open(backend.devices().getFirst());
  }

  @Override
  public String version() {
    return "fake 1";
  }

  @Override
  public List<DeviceFacts> devices() {
    return List.of(new DeviceFacts(0, "Fake", UUID, "", 1L << 30, OptionalInt.empty()));
  }

  @Override
  public DevicePort open(int ordinal) {
    return port;
  }

  @Override
  public DevicePort openOn(int ordinal, long contextHandle) {
    return port;
  }

  @Override
  public void close() {}
}
