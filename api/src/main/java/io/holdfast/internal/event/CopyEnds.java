package io.holdfast.internal.event;

/**
 * Both ends of a copy, as its event names them.
 *
 * @param host number of the pinned memory
 * @param ground number of what that stands on
 * @param shape what a block is made of
 * @param slots how many the host side has
 * @param hostArrangement how the slots lie
 * @param deviceArrangement how the device blocks lie
 */
public record CopyEnds(
    long host,
    long ground,
    String shape,
    long slots,
    String hostArrangement,
    String deviceArrangement) {}
