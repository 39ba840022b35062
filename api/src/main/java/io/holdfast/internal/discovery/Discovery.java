package io.holdfast.internal.discovery;

import io.holdfast.Availability;
import io.holdfast.Availability.Unavailable;
import io.holdfast.BackendKind;
import io.holdfast.Transcript;
import io.holdfast.spi.BackendProvider;
import java.lang.ref.WeakReference;
import java.security.CodeSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;

/** One look at all providers. Not for several threads at once. */
public final class Discovery {
  /** A loader whose every step fails is given up after that many failures in a row. */
  private static final int FAILURES_IN_A_ROW = 50;

  /**
   * A class whose initialiser failed answers later only that it failed; the first cause is kept.
   */
  private static final Map<Class<?>, WeakReference<Throwable>> FIRST_CAUSES = new WeakHashMap<>();

  private final List<Found> found = new ArrayList<>();
  private final List<Transcript.Entry> entries = new ArrayList<>();
  private final Set<Class<?>> seenTypes = new HashSet<>();
  private final Set<String> seenBroken = new HashSet<>();
  private final Map<String, String> artifactById = new HashMap<>();

  /** Nothing seen yet. */
  public Discovery() {}

  /**
   * A provider that answered, with its entry.
   *
   * @param provider the provider
   * @param entry what it said
   */
  public record Found(BackendProvider provider, Transcript.Entry entry) {
    /**
     * Whether it can be used.
     *
     * @return true when available
     */
    public boolean isUsable() {
      return entry.availability() instanceof Availability.Available;
    }
  }

  /**
   * Looks with a class loader.
   *
   * @param loader null for the system loader
   */
  public void look(@Nullable ClassLoader loader) {
    Iterator<ServiceLoader.Provider<BackendProvider>> providers;
    try {
      providers = ServiceLoader.load(BackendProvider.class, loader).stream().iterator();
    } catch (Throwable failure) {
      broken("class loader " + loader, failure);
      return;
    }
    look(providers, "class loader " + (loader == null ? "system" : loader.toString()));
  }

  /**
   * Looks in a module layer and its parents.
   *
   * @param layer where
   */
  public void look(ModuleLayer layer) {
    Iterator<ServiceLoader.Provider<BackendProvider>> providers;
    try {
      providers = ServiceLoader.load(layer, BackendProvider.class).stream().iterator();
    } catch (Throwable failure) {
      broken("module layer " + layer, failure);
      return;
    }
    look(providers, "module layer");
  }

  private void look(Iterator<ServiceLoader.Provider<BackendProvider>> providers, String where) {
    int failures = 0;
    while (failures < FAILURES_IN_A_ROW) {
      ServiceLoader.Provider<BackendProvider> next;
      Class<? extends BackendProvider> type;
      try {
        if (!providers.hasNext()) {
          return;
        }
        next = providers.next();
        type = next.type();
      } catch (Throwable failure) { // ServiceConfigurationError, and raw LinkageError
        broken(where, failure);
        failures++;
        continue;
      }
      failures = 0;
      if (seenTypes.add(type)) {
        ask(next, type);
      }
    }
  }

  private void broken(String where, Throwable failure) {
    String reason = "a registration could not be read: " + describe(failure);
    if (seenBroken.add(reason)) {
      entries.add(
          new Transcript.Entry(
              "broken registration",
              Optional.empty(),
              where,
              List.of(),
              new Unavailable(
                  reason,
                  "Repair or remove META-INF/services/"
                      + BackendProvider.class.getName()
                      + " or the provides line that names it",
                  Optional.of(failure))));
    }
  }

  private void ask(
      ServiceLoader.Provider<BackendProvider> registration, Class<? extends BackendProvider> type) {
    String artifact = artifactOf(type);
    List<Transcript.Attempt> attempts = new ArrayList<>();
    String id = type.getName();
    Optional<BackendKind> kind = Optional.empty();
    BackendProvider provider = null;
    Availability availability;
    try {
      BackendProvider made = registration.get();
      int version = made.spiVersion();
      if (version != BackendProvider.SPI_VERSION) {
        id = idOf(made, type);
        availability =
            Unavailable.because(
                "it was built for version "
                    + version
                    + " of the provider interface, this is version "
                    + BackendProvider.SPI_VERSION,
                "Use the backend and the API of one release");
      } else {
        id = made.id();
        kind = Optional.of(made.kind());
        String earlier = artifactById.putIfAbsent(id, artifact);
        if (earlier != null) {
          availability =
              Unavailable.because(
                  "the id '" + id + "' is taken already, by " + earlier,
                  "Keep only one of the two artifacts");
        } else if (id.contains(":")) {
          availability =
              Unavailable.because(
                  "the id '" + id + "' contains a colon, which begins a variant",
                  "Rename the backend");
        } else {
          availability =
              made.probe((what, outcome) -> attempts.add(new Transcript.Attempt(what, outcome)));
          provider = made;
        }
      }
    } catch (Throwable failure) {
      Throwable first = firstCause(type, rootOf(failure));
      availability =
          new Unavailable(
              "its provider failed: " + describe(first),
              failure instanceof LinkageError
                  ? "Use the backend and the API of one release, with all it needs on the path"
                  : "Report it to whoever made the backend",
              Optional.of(first));
    }
    if (Objects.isNull(availability)) { // a provider may do anything
      availability = Unavailable.because("its probe answered nothing", "Report it");
    }
    Transcript.Entry entry = new Transcript.Entry(id, kind, artifact, attempts, availability);
    entries.add(entry);
    if (provider != null) {
      found.add(new Found(provider, entry));
    }
  }

  private static String idOf(BackendProvider provider, Class<?> type) {
    try {
      String id = provider.id();
      return id == null ? type.getName() : id;
    } catch (Throwable _) { // an old provider's id is a courtesy, not a need
      return type.getName();
    }
  }

  private static Throwable rootOf(Throwable failure) {
    Throwable root = failure;
    while ((root instanceof ServiceConfigurationError
            || root instanceof ExceptionInInitializerError)
        && root.getCause() != null) {
      root = root.getCause();
    }
    return root;
  }

  private static Throwable firstCause(Class<?> type, Throwable now) {
    synchronized (FIRST_CAUSES) {
      WeakReference<Throwable> kept = FIRST_CAUSES.get(type);
      Throwable first = kept == null ? null : kept.get();
      if (first != null && now instanceof NoClassDefFoundError) {
        return first;
      }
      FIRST_CAUSES.put(type, new WeakReference<>(now));
      return now;
    }
  }

  private static String describe(Throwable failure) {
    String message = failure.getMessage();
    String kind = failure.getClass().getSimpleName();
    return message == null ? kind : kind + ": " + message;
  }

  private static String artifactOf(Class<?> type) {
    try {
      CodeSource source = type.getProtectionDomain().getCodeSource();
      String path =
          source == null || source.getLocation() == null ? "" : source.getLocation().getPath();
      String file = path.replaceAll("/+$", "").replaceAll("^.*/", "");
      Module module = type.getModule();
      if (module.isNamed()) {
        return "module " + module.getName() + (file.isEmpty() ? "" : " (" + file + ")");
      }
      return file.isEmpty() ? type.getName() : file;
    } catch (Throwable _) { // a label is no reason to fail
      return type.getName();
    }
  }

  /**
   * Providers that answered.
   *
   * @return in the order seen
   */
  public List<Found> found() {
    return List.copyOf(found);
  }

  /**
   * Everything seen so far.
   *
   * @return a transcript without a choice
   */
  public Transcript transcript() {
    return new Transcript(entries, Optional.empty());
  }
}
