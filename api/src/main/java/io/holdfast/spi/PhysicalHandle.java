package io.holdfast.spi;

/**
 * A physical allocation as the driver names it.
 *
 * @param value the driver's handle
 */
public record PhysicalHandle(long value) {}
