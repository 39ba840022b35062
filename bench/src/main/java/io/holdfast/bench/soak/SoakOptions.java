package io.holdfast.bench.soak;

import io.holdfast.device.DeviceInfo;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import java.util.Optional;
import java.util.function.Function;

/**
 * What one rank does.
 *
 * @param backend that one, or by rule
 * @param bytes budget of the pool
 * @param blockBytes bytes of a block
 * @param pages what backs the pool
 * @param numa where it lies
 * @param limits whether a shortfall of available memory is an error
 * @param seconds how long blocks move
 * @param threads how many move them
 * @param forks children forked meanwhile
 * @param seed of patterns and choices
 * @param rank which rank this is; picks the device
 */
public record SoakOptions(
    Optional<String> backend,
    long bytes,
    long blockBytes,
    PageKind pages,
    Function<DeviceInfo, NumaPolicy> numa,
    HostRequest.Limits limits,
    double seconds,
    int threads,
    int forks,
    long seed,
    int rank) {}
