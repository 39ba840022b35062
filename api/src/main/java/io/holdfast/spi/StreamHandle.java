package io.holdfast.spi;

/**
 * A stream as the driver names it. Made once and kept: submission paths make no handles.
 *
 * @param value the driver's handle
 * @param context raw handle of the context it belongs to; 0 for the device's own
 */
public record StreamHandle(long value, long context) {}
