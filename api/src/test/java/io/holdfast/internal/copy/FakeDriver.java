package io.holdfast.internal.copy;

import io.holdfast.BackendKind;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.core.Rooms;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.DeviceFacts;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.HostKernels;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;

/** A driver whose devices are given ports. */
final class FakeDriver implements AcceleratorDriver {
  private final List<DevicePort> ports;

  private FakeDriver(List<DevicePort> ports) {
    this.ports = List.copyOf(ports);
  }

  /** A backend with one device over that port. */
  static CoreDevice open(DevicePort port) {
    return openAll(List.of(port)).getFirst();
  }

  /** One backend with a device for each port; close any of them to close the backend's others. */
  static List<CoreDevice> openAll(List<? extends DevicePort> ports) {
    CoreBackend backend =
        new CoreBackend(
            "fake",
            BackendKind.SIMULATOR,
            new FakeDriver(List.copyOf(ports)),
            HostKernels.system(),
            Rooms.standard());
    List<CoreDevice> devices = new ArrayList<>();
    for (int ordinal = 0; ordinal < ports.size(); ordinal++) {
      devices.add((CoreDevice) backend.open(ordinal));
    }
    return devices;
  }

  @Override
  public String version() {
    return "fake 1";
  }

  @Override
  public List<DeviceFacts> devices() {
    List<DeviceFacts> facts = new ArrayList<>();
    for (int ordinal = 0; ordinal < ports.size(); ordinal++) {
      facts.add(
          new DeviceFacts(ordinal, "Fake", "fake-" + ordinal, "", 1L << 30, OptionalInt.empty()));
    }
    return facts;
  }

  @Override
  public DevicePort open(int ordinal) {
    return ports.get(ordinal);
  }

  @Override
  public DevicePort openOn(int ordinal, long contextHandle) {
    return ports.get(ordinal);
  }

  @Override
  public void close() {}
}
