package io.holdfast.pin;

import io.holdfast.error.DriverException;
import java.time.Duration;

/**
 * A range whose unregister failed.
 *
 * @param hostAddress its first byte
 * @param registeredBytes whole backing pages, still pinned
 * @param age since the first failure
 * @param attempts how often unregistering was tried
 * @param failure the driver's last answer
 */
public record QuarantinedRange(
    long hostAddress, long registeredBytes, Duration age, int attempts, DriverException failure) {}
