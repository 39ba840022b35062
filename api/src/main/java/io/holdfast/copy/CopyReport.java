package io.holdfast.copy;

import java.util.OptionalLong;

/**
 * What a submission was.
 *
 * @param bytes moved
 * @param pairs times parts, before merging
 * @param descriptors after merging and splitting
 * @param path taken
 * @param submitNanos spent by the caller
 * @param deviceNanos spent by the device, where timing was asked for
 */
public record CopyReport(
    long bytes,
    long pairs,
    long descriptors,
    CopyPath path,
    long submitNanos,
    OptionalLong deviceNanos) {}
