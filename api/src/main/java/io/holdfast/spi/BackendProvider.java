package io.holdfast.spi;

import io.holdfast.Availability;
import io.holdfast.Backend;
import io.holdfast.BackendKind;
import java.util.List;

/**
 * One backend, found by {@link java.util.ServiceLoader}. Its constructor loads nothing and never
 * throws; its public signatures name no optional types. Safe from any thread.
 */
public interface BackendProvider {
  /**
   * The version of this package that the provider was compiled against.
   *
   * <p>It is a compile-time constant, so that each provider carries the number it was built with.
   */
  int SPI_VERSION = 1;

  /**
   * The version this provider was built with; implementations return {@link #SPI_VERSION}.
   *
   * @return the number inlined at compile time
   */
  int spiVersion();

  /**
   * The backend's name.
   *
   * @return short, lower case, the same for ever, without a colon
   */
  String id();

  /**
   * What kind it is; a simulated one is never chosen by accident.
   *
   * @return the kind
   */
  BackendKind kind();

  /**
   * Rank among usable hardware backends; higher is taken first, equal ones by id.
   *
   * @return 0 by default
   */
  default int priority() {
    return 0;
  }

  /**
   * Names that may follow the id behind a colon, for example simulated machines.
   *
   * @return the variants, none by default
   */
  default List<String> variants() {
    return List.of();
  }

  /**
   * Looks without side effects and writes down everything it tries. Never throws; a throw is
   * reported as unavailability.
   *
   * @param log the transcript's pen
   * @return the outcome
   */
  Availability probe(ProbeLog log);

  /**
   * Loads it.
   *
   * @return the backend
   * @throws io.holdfast.error.HoldfastException with the words of {@link #probe} where that says no
   */
  Backend open();

  /**
   * Loads one of its {@link #variants()}.
   *
   * @param variant what follows the colon
   * @return the backend
   * @throws IllegalArgumentException where there is no such variant, with those there are
   */
  default Backend open(String variant) {
    throw new IllegalArgumentException(
        "backend " + id() + " has no variant '" + variant + "'; it has " + variants());
  }
}
