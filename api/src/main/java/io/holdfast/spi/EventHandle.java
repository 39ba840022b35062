package io.holdfast.spi;

/**
 * An event as the driver names it.
 *
 * @param value the driver's handle
 * @param context raw handle of the context it belongs to; 0 for the device's own or unknown
 */
public record EventHandle(long value, long context) {}
