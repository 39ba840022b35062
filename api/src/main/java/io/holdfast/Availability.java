package io.holdfast;

import io.holdfast.device.DeviceInfo;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/** Whether a backend can be used; asked without side effects, never thrown. */
public sealed interface Availability {
  /**
   * It can.
   *
   * @param version of library and driver
   * @param devices at least one
   */
  record Available(String version, List<DeviceInfo> devices) implements Availability {
    /** Checks and copies. */
    public Available {
      Objects.requireNonNull(version, "version");
      devices = List.copyOf(devices);
      if (devices.isEmpty()) {
        throw new IllegalArgumentException("an available backend has at least one device");
      }
    }
  }

  /**
   * It cannot.
   *
   * @param reason one sentence
   * @param remedy what to install, set or run; may be empty where nothing helps
   * @param cause where one was thrown
   */
  record Unavailable(String reason, String remedy, Optional<Throwable> cause)
      implements Availability {
    /** Checks. */
    public Unavailable {
      Objects.requireNonNull(reason, "reason");
      Objects.requireNonNull(remedy, "remedy");
      Objects.requireNonNull(cause, "cause");
    }

    /**
     * Without a throwable.
     *
     * @param reason one sentence
     * @param remedy what to install, set or run
     * @return the outcome
     */
    public static Unavailable because(String reason, String remedy) {
      return new Unavailable(reason, remedy, Optional.empty());
    }
  }
}
