package io.holdfast.spi;

import java.util.OptionalInt;

/**
 * A device as its driver describes it.
 *
 * @param ordinal as the driver counts
 * @param name the product's name
 * @param uuid stable over processes, or empty where the driver has none
 * @param pciAddress {@code dddd:bb:dd.f} in lower case, or empty
 * @param totalBytes device memory
 * @param numaNode by the driver's account; sysfs is asked above
 */
public record DeviceFacts(
    int ordinal,
    String name,
    String uuid,
    String pciAddress,
    long totalBytes,
    OptionalInt numaNode) {}
