package io.holdfast.bench.doctor;

import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.DeviceFacts;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.HostKernels;
import io.holdfast.spi.StandardBackend;
import java.nio.file.Path;
import java.util.List;

/** A host told from a copy of its files: no devices, and nothing of it can be mapped. */
public final class CopiedHost {
  private CopiedHost() {}

  /**
   * Opens one.
   *
   * @param root the folder that holds its proc and sys
   * @return a backend without devices
   */
  public static Backend at(Path root) {
    return StandardBackend.builder("copied-host", new NoDriver())
        .kind(BackendKind.SIMULATOR)
        .kernel(HostKernels.systemWithTree(root))
        .build();
  }

  private static final class NoDriver implements AcceleratorDriver {
    @Override
    public String version() {
      return "none";
    }

    @Override
    public List<DeviceFacts> devices() {
      return List.of();
    }

    @Override
    public DevicePort open(int ordinal) {
      throw new IndexOutOfBoundsException("a copied host has no device " + ordinal);
    }

    @Override
    public DevicePort openOn(int ordinal, long contextHandle) {
      throw new IndexOutOfBoundsException("a copied host has no device " + ordinal);
    }

    @Override
    public void close() {}
  }
}
