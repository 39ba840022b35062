package io.holdfast.example.tiny;

import io.holdfast.error.UnsupportedException;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.DeviceFacts;
import io.holdfast.spi.DevicePort;
import java.util.List;
import java.util.OptionalInt;

/** One device, always there. */
final class TinyDriver implements AcceleratorDriver {
  private final TinyBindings tiny;

  TinyDriver(TinyBindings tiny) {
    this.tiny = tiny;
  }

  @Override
  public String version() {
    return "libtiny 1";
  }

  @Override
  public List<DeviceFacts> devices() {
    return List.of(new DeviceFacts(0, "Tiny", "", "", tiny.totalBytes(), OptionalInt.empty()));
  }

  @Override
  public DevicePort open(int ordinal) {
    if (ordinal != 0) {
      throw new IndexOutOfBoundsException("there is device 0 only, not " + ordinal);
    }
    return new TinyPort(tiny);
  }

  @Override
  public DevicePort openOn(int ordinal, long contextHandle) {
    throw new UnsupportedException(
        "an engine's own context", "libtiny has no contexts", "Open the device instead");
  }

  @Override
  public void close() {}
}
