package io.holdfast.conformance;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.conformance.tap.Tap;
import io.holdfast.spi.BackendProvider;
import io.holdfast.spi.StandardBackend;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * The backend that is judged. Extend {@link CoreConformance} or {@link BackendConformance}, say how
 * the backend is opened, and run the class with JUnit.
 */
@ExtendWith(Gates.class)
public abstract class Conformance {
  /** For subclasses. */
  protected Conformance() {}

  /**
   * The backend to judge, a new one each time. It is opened on the calling thread, for the kit
   * stands between its policy and its ports meanwhile.
   *
   * @return open
   */
  protected abstract Backend open();

  /**
   * An engine beside Holdfast, for rules about contexts and captures. Whoever knows the driver
   * writes one. Where this answers none, the {@link EngineProvider} of the backend's id is asked;
   * without that, too, those rules are skipped and say so.
   *
   * @param device on which it works
   * @return the engine, or empty
   */
  protected Optional<Engine> engine(Device device) {
    return Optional.empty();
  }

  /**
   * Rules that are known to be broken, each with an issue and a day.
   *
   * @return none by default
   */
  protected List<Quarantine> quarantine() {
    return List.of();
  }

  /**
   * The provider of that id, as discovery finds it.
   *
   * @param id the backend's, with or without a variant
   * @return the provider; empty where the backend is not registered as a service
   */
  protected Optional<BackendProvider> provider(String id) {
    for (BackendProvider provider : ServiceLoader.load(BackendProvider.class)) {
      if (provider.id().equals(plain(id))) {
        return Optional.of(provider);
      }
    }
    return Optional.empty();
  }

  /** The engine beside a device of that backend, wherever there is one. */
  final Optional<Engine> engineBeside(String backend, Device device) {
    Optional<Engine> own = engine(device);
    if (own.isPresent()) {
      return own;
    }
    for (EngineProvider provider : ServiceLoader.load(EngineProvider.class)) {
      if (provider.backend().equals(plain(backend))) {
        return provider.engine(device);
      }
    }
    return Optional.empty();
  }

  private static String plain(String id) {
    return id.contains(":") ? id.substring(0, id.indexOf(':')) : id;
  }

  /** Longest wait for what must happen; what never happens is told then. */
  Duration patience() {
    return Duration.ofSeconds(30);
  }

  /** Opens the backend with the kit between its policy and its ports. */
  Backend openBehind(Tap tap) {
    return StandardBackend.interposing(tap, this::open);
  }
}
