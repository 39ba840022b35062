package io.holdfast.backend.cpusim.driver;

import java.util.Objects;
import java.util.OptionalInt;

/**
 * A simulated device.
 *
 * @param name what it is called; says that it is simulated
 * @param uuid stable, 32 hexadecimal digits with hyphens
 * @param pciAddress {@code dddd:bb:dd.f}, or empty
 * @param totalBytes device memory; costs nothing until written
 * @param numaNode what the driver says of its node, or empty where it says nothing
 * @param linkBytesPerSecond speed of each direction of its link; 0 for as fast as possible
 */
public record DeviceSpec(
    String name,
    String uuid,
    String pciAddress,
    long totalBytes,
    OptionalInt numaNode,
    long linkBytesPerSecond) {
  /** Checks. */
  public DeviceSpec {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(uuid, "uuid");
    Objects.requireNonNull(pciAddress, "pciAddress");
    Objects.requireNonNull(numaNode, "numaNode");
    if (totalBytes <= 0 || totalBytes > Addresses.DEVICE_WINDOW_BYTES) {
      throw new IllegalArgumentException(
          name
              + ": a device has 1 to "
              + Addresses.DEVICE_WINDOW_BYTES
              + " bytes, not "
              + totalBytes);
    }
    if (linkBytesPerSecond < 0) {
      throw new IllegalArgumentException(
          name + ": a link cannot have " + linkBytesPerSecond + " B/s");
    }
  }
}
