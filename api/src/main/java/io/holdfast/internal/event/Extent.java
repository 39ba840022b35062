package io.holdfast.internal.event;

/**
 * What extensible memory was reserved for, as its events name it.
 *
 * @param shape what a block is made of
 * @param capacity most blocks
 * @param arrangement how they lie
 */
public record Extent(String shape, long capacity, String arrangement) {}
