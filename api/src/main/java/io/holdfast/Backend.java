package io.holdfast;

import io.holdfast.device.DeviceInfo;
import io.holdfast.event.Statistics;
import io.holdfast.host.PageSource;
import java.util.List;

/**
 * One kind of accelerator, loaded. Safe from any thread.
 *
 * <p>Close it to close everything that was opened from it, newest first.
 */
public interface Backend extends AutoCloseable {
  /**
   * Its name, for example {@code cuda}; with a variant behind a colon where one was opened.
   *
   * @return the id
   */
  String id();

  /**
   * Whether it drives hardware.
   *
   * @return the kind
   */
  BackendKind kind();

  /**
   * Library and driver version, for people.
   *
   * @return the driver's words
   */
  String version();

  /**
   * What discovery saw when this was chosen.
   *
   * @return the transcript; without entries when opened directly
   */
  Transcript transcript();

  /**
   * The devices; looking creates no context.
   *
   * @return the devices in the driver's order
   */
  List<DeviceInfo> devices();

  /**
   * Opens a device on the driver's shared context.
   *
   * @param device one of {@link #devices()}
   * @return the open device
   */
  Device open(DeviceInfo device);

  /**
   * Opens a device by its number.
   *
   * @param ordinal as the driver counts
   * @return the open device
   * @throws IndexOutOfBoundsException when there is no such device
   */
  default Device open(int ordinal) {
    List<DeviceInfo> devices = devices();
    for (DeviceInfo device : devices) {
      if (device.ordinal() == ordinal) {
        return open(device);
      }
    }
    throw new IndexOutOfBoundsException(
        "backend " + id() + " has no device " + ordinal + "; it has " + devices.size());
  }

  /**
   * Opens a device on an engine's own context, by its raw handle: no second context is paid for,
   * and kernels of both can overlap. The engine keeps it alive.
   *
   * @param device one of {@link #devices()}
   * @param contextHandle the context
   * @return the open device
   * @throws io.holdfast.error.UnsupportedException where the driver has no contexts
   */
  Device wrapContext(DeviceInfo device, long contextHandle);

  /**
   * Host memory.
   *
   * @return the page source
   */
  PageSource pageSource();

  /**
   * What it has done since it was loaded; counted whether anybody records events or not.
   *
   * @return a snapshot, the sum of its events
   */
  Statistics statistics();

  /**
   * What was opened from it and is not closed, for leak checks.
   *
   * @return names, oldest first; empty when nothing is left
   */
  List<String> stillOpen();

  /**
   * Closes what was opened from it, newest first. Idempotent.
   *
   * @throws io.holdfast.error.BusyException while something is in the caller's hands; nothing is
   *     undone
   */
  @Override
  void close();
}
