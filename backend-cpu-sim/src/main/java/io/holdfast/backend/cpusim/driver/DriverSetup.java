package io.holdfast.backend.cpusim.driver;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a driver is set up with.
 *
 * @param personality whose ways it has
 * @param devices what it drives, possibly nothing
 * @param host what it can learn of host pages
 * @param clock its time
 * @param seed of everything that is left to chance
 * @param freshByte what device memory reads as before it is written
 * @param schedule in which order work is done; null where it is done by threads as it comes
 */
@SuppressWarnings("exports") // naming @Nullable binds nobody to have it
public record DriverSetup(
    Personality personality,
    List<DeviceSpec> devices,
    HostSpace host,
    SimClock clock,
    long seed,
    byte freshByte,
    @Nullable SimSchedule schedule) {
  /** Checks and copies. */
  public DriverSetup {
    Objects.requireNonNull(personality, "personality");
    devices = List.copyOf(devices);
    Objects.requireNonNull(host, "host");
    Objects.requireNonNull(clock, "clock");
    if (devices.size() > Addresses.MAX_DEVICES) {
      throw new IllegalArgumentException(
          "at most " + Addresses.MAX_DEVICES + " devices, not " + devices.size());
    }
  }
}
