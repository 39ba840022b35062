package io.holdfast.spi;

import java.util.List;

/**
 * The accelerator port: one library of driver calls and nothing more.
 *
 * <p>An implementation holds no policy: no rounding, no checks, no retries. A non-zero answer is a
 * {@link io.holdfast.error.DriverException} with the driver's own code. Every method may be called
 * from any thread. What one open device can do is the {@link DevicePort}; what a driver may lack is
 * a port of its own, so that a capability cannot be claimed without the code behind it.
 */
public interface AcceleratorDriver extends AutoCloseable {
  /**
   * Library and driver version, for people.
   *
   * @return for example {@code CUDA driver 13.0}
   */
  String version();

  /**
   * All devices; looking creates no context.
   *
   * @return the devices in the driver's order, possibly none
   */
  List<DeviceFacts> devices();

  /**
   * Opens a device on the driver's shared context, retained once for each call.
   *
   * @param ordinal the device, as the driver counts
   * @return its port; close it to release what was retained
   */
  DevicePort open(int ordinal);

  /**
   * Opens a device on a context of an engine's, which is never destroyed here.
   *
   * @param ordinal the device, as the driver counts
   * @param contextHandle the context's raw handle
   * @return its port; closing it leaves the context alone
   * @throws io.holdfast.error.UnsupportedException where the driver has no contexts
   */
  DevicePort openOn(int ordinal, long contextHandle);

  /** Unloads what was loaded; every device is closed by then. Idempotent. */
  @Override
  void close();
}
