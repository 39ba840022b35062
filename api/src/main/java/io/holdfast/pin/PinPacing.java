package io.holdfast.pin;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * How politely to pin and unpin. Drivers serialise these calls with everybody's, and their lock is
 * unfair: short calls with pauses between them let others in, short calls alone do not.
 *
 * @param perCall longest a driver call should take; zero: no limit; empty: no limit when somebody
 *     waits for the end, {@link #DEFAULT_BUDGET} in the background
 * @param between pause behind each call that pins, and behind as many calls that unpin as {@code
 *     perCall} allows one, twice as long while copies are in flight; empty: 35 % of the budget
 *     behind calls that pin and 25 % behind those that unpin; {@code perCall} bounds the calls, and
 *     the request's slice where there is no budget
 * @param startAfter nothing is registered before this
 * @param turns processes of this host that name the same lock file take turns
 */
public record PinPacing(
    Optional<Duration> perCall,
    Optional<Duration> between,
    Optional<CompletionStage<?>> startAfter,
    Optional<Path> turns) {
  /** Budget of one driver call in the background. */
  public static final Duration DEFAULT_BUDGET = Duration.ofNanos(400_000);

  /** Checks. */
  public PinPacing {
    requireNotNegative("perCall", perCall);
    requireNotNegative("between", between);
    Objects.requireNonNull(startAfter, "startAfter");
    Objects.requireNonNull(turns, "turns");
  }

  private static void requireNotNegative(String name, Optional<Duration> duration) {
    if (duration.isPresent() && duration.get().isNegative()) {
      throw new IllegalArgumentException(name + " must not be negative: " + duration.get());
    }
  }

  /**
   * Flat out when waited for, polite in the background.
   *
   * @return the pacing
   */
  public static PinPacing auto() {
    return new PinPacing(Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty());
  }

  /**
   * As fast as it goes; other threads' driver calls stall for the whole time.
   *
   * @return the pacing
   */
  public static PinPacing flatOut() {
    return new PinPacing(
        Optional.of(Duration.ZERO), Optional.empty(), Optional.empty(), Optional.empty());
  }

  /**
   * Calls of about that, with pauses in which others get the driver's lock.
   *
   * @param perCall longest a driver call should take, positive
   * @return the pacing
   */
  public static PinPacing polite(Duration perCall) {
    if (perCall.isZero()) {
      throw new IllegalArgumentException("perCall must be positive; flatOut() has no budget");
    }
    return new PinPacing(
        Optional.of(perCall), Optional.empty(), Optional.empty(), Optional.empty());
  }

  /**
   * A changed copy.
   *
   * @param pause behind each call, in which others get the driver's lock
   * @return the copy
   */
  public PinPacing between(Duration pause) {
    return new PinPacing(perCall, Optional.of(pause), startAfter, turns);
  }

  /**
   * A changed copy.
   *
   * @param signal nothing is registered before this
   * @return the copy
   */
  public PinPacing startAfter(CompletionStage<?> signal) {
    return new PinPacing(perCall, between, Optional.of(signal), turns);
  }

  /**
   * A changed copy.
   *
   * @param lockFile processes of this host that name the same one take turns
   * @return the copy
   */
  public PinPacing turns(Path lockFile) {
    return new PinPacing(perCall, between, startAfter, Optional.of(lockFile));
  }
}
