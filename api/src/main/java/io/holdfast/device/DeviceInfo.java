package io.holdfast.device;

import java.util.OptionalInt;

/**
 * A device as its driver describes it; looking creates no context.
 *
 * @param ordinal as the driver counts
 * @param name the product's name
 * @param uuid stable over processes, or empty where the driver has none
 * @param pciAddress {@code dddd:bb:dd.f} in lower case, or empty
 * @param totalBytes device memory
 * @param numaNode the host node it hangs on, where known
 */
public record DeviceInfo(
    int ordinal,
    String name,
    String uuid,
    String pciAddress,
    long totalBytes,
    OptionalInt numaNode) {}
