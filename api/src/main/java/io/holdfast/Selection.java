package io.holdfast;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What backend is wanted.
 *
 * @param id that one, possibly with a variant behind a colon; empty: by rule
 * @param simulated whether a simulated one may be taken by rule
 * @param loaders further class loaders whose providers count, for example a plug-in's
 */
public record Selection(Optional<String> id, Simulated simulated, List<ClassLoader> loaders) {
  /** Checks and copies. */
  public Selection {
    id.ifPresent(
        wanted -> {
          if (wanted.isBlank()) {
            throw new IllegalArgumentException("a backend id must not be blank");
          }
        });
    Objects.requireNonNull(simulated, "simulated");
    loaders = List.copyOf(loaders);
  }

  /**
   * By rule: the one named by the system property {@code holdfast.backend} or the environment
   * variable {@code HOLDFAST_BACKEND}, else the usable hardware of highest priority.
   *
   * @return the selection
   */
  public static Selection byRule() {
    return new Selection(Optional.empty(), Simulated.REFUSED, List.of());
  }

  /**
   * By rule, and a simulated one where no hardware is usable.
   *
   * @return the selection
   */
  public static Selection allowSimulated() {
    return new Selection(Optional.empty(), Simulated.ALLOWED, List.of());
  }

  /**
   * That one or an error. Naming a simulated one allows it.
   *
   * @param id for example {@code cuda} or {@code cpu-sim:mi350x}
   * @return the selection
   */
  public static Selection of(String id) {
    return new Selection(Optional.of(id), Simulated.REFUSED, List.of());
  }

  /**
   * A changed copy.
   *
   * @param more class loaders whose providers count too; null, as bootstrap classes have it, is as
   *     good as the platform's
   * @return the copy
   */
  @SuppressWarnings("exports") // naming @Nullable binds nobody to have it
  public Selection loaders(@Nullable ClassLoader... more) {
    return new Selection(id, simulated, Backends.known(more));
  }

  /** Whether a simulated backend may be taken by rule. */
  public enum Simulated {
    /** No: an engine must not find itself on a simulator because a driver broke. */
    REFUSED,
    /** Where no hardware is usable. */
    ALLOWED
  }
}
