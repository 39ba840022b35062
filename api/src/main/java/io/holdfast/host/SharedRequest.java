package io.holdfast.host;

import java.time.Duration;
import java.util.Objects;

/**
 * Memory that several processes share, one slice per rank.
 *
 * @param name the same in every rank; letters, digits, dot, dash and underscore, no path
 * @param ranks how many come
 * @param perRank what each rank wants; slices are whole backing pages, names lie in the directory
 *     of its page kind or in the system's shared memory
 * @param patience how long to wait for the others to come, and then for one that populates nothing
 *     more of its slice, which may be dead; for that at least two seconds
 */
public record SharedRequest(String name, int ranks, HostRequest perRank, Duration patience) {
  /** Checks. */
  public SharedRequest {
    if (!name.matches("[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")) {
      throw new IllegalArgumentException(
          "'" + name + "' is no plain name of letters, digits, '.', '-', '_'");
    }
    if (ranks < 1) {
      throw new IllegalArgumentException("ranks must be positive, not " + ranks);
    }
    Objects.requireNonNull(perRank, "perRank");
    if (patience.isNegative()) {
      throw new IllegalArgumentException("patience must not be negative: " + patience);
    }
  }

  /**
   * Waits half a minute for the others.
   *
   * @param name the same in every rank
   * @param ranks how many come
   * @param perRank what each rank wants
   * @return the request
   */
  public static SharedRequest named(String name, int ranks, HostRequest perRank) {
    return new SharedRequest(name, ranks, perRank, Duration.ofSeconds(30));
  }

  /**
   * A changed copy.
   *
   * @param wait how long to wait for the others
   * @return the copy
   */
  public SharedRequest patience(Duration wait) {
    return new SharedRequest(name, ranks, perRank, wait);
  }
}
