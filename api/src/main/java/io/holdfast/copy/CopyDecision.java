package io.holdfast.copy;

/**
 * A choice and its reason.
 *
 * @param path chosen
 * @param descriptors after merging and splitting
 * @param driverCalls how many
 * @param because the measurement or rule it rests on
 */
public record CopyDecision(CopyPath path, long descriptors, int driverCalls, String because) {}
