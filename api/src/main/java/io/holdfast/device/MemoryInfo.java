package io.holdfast.device;

/**
 * Device memory by its driver's account.
 *
 * @param freeBytes device-wide, other processes included
 * @param totalBytes all
 */
public record MemoryInfo(long freeBytes, long totalBytes) {}
