package io.holdfast.device;

/**
 * What is really there.
 *
 * @param blocks usable blocks
 * @param logicalBytes bytes of those blocks
 * @param physicalBytes whole granules under them
 */
public record CommittedExtent(long blocks, long logicalBytes, long physicalBytes) {}
