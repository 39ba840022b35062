package io.holdfast.pin;

import io.holdfast.device.DeviceSegment;

/**
 * One registration.
 *
 * @param offsetBytes from the memory's start
 * @param registeredBytes whole backing pages
 * @param seenByDevice the same bytes at the device's address, which may differ per range
 * @param nanos what the driver call took
 */
public record PinnedRange(
    long offsetBytes, long registeredBytes, DeviceSegment seenByDevice, long nanos) {}
