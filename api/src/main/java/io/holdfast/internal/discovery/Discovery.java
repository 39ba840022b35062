package io.holdfast.internal.discovery;

import io.holdfast.Availability;
import io.holdfast.Availability.Unavailable;
import io.holdfast.BackendKind;
import io.holdfast.Transcript;
import io.holdfast.spi.BackendProvider;
import java.lang.ref.WeakReference;
import java.lang.reflect.Modifier;
import java.security.CodeSource;
import java.util.ArrayList;
import java.util.Collections;
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
  /** A loader whose steps fail in one way is given up after that many in a row. */
  private static final int SAME_FAILURES_IN_A_ROW = 50;

  /** However they fail: more than any file of dead lines has. */
  private static final int FAILURES_IN_A_ROW = 1000;

  /** A chain of causes may go round in a ring, or never end. */
  private static final int DEEPEST_CAUSE = 100;

  /**
   * A class whose initialiser failed answers later only that it failed; the first cause is kept.
   */
  private static final Map<Class<?>, WeakReference<Throwable>> FIRST_CAUSES = new WeakHashMap<>();

  private final List<Found> found = new ArrayList<>();
  private final List<Transcript.Entry> entries = new ArrayList<>();
  private final Set<Identity> seen = new HashSet<>();
  private final Set<Identity> seenFailed = new HashSet<>();
  private final Set<String> seenBroken = new HashSet<>();
  private final Map<String, String> artifactById = new HashMap<>();

  /** One class may be several providers, made by {@code provider()} methods. */
  private record Identity(Class<?> type, String words) {}

  /** Nothing seen yet. */
  public Discovery() {}

  /**
   * A provider that answered, with its entry.
   *
   * @param provider the provider
   * @param priority its rank
   * @param entry what it said
   */
  public record Found(BackendProvider provider, int priority, Transcript.Entry entry) {
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
    String where = "class loader " + (loader == null ? "system" : text(loader));
    Iterator<ServiceLoader.Provider<BackendProvider>> providers;
    try {
      providers = ServiceLoader.load(BackendProvider.class, loader).stream().iterator();
    } catch (Throwable failure) {
      broken(where, failure);
      return;
    }
    look(providers, where);
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
    int same = 0;
    String last = "";
    while (failures < FAILURES_IN_A_ROW && same < SAME_FAILURES_IN_A_ROW) {
      ServiceLoader.Provider<BackendProvider> next;
      Class<? extends BackendProvider> type;
      try {
        if (!providers.hasNext()) {
          return;
        }
        next = providers.next();
        type = next.type();
      } catch (Throwable failure) { // ServiceConfigurationError, and raw LinkageError
        String reason = broken(where, failure);
        failures++;
        same = reason.equals(last) ? same + 1 : 1;
        last = reason;
        continue;
      }
      failures = 0;
      same = 0;
      last = "";
      ask(next, type, where);
    }
    broken(
        where,
        "the rest of " + where + " was not looked at, after " + failures + " failures in a row",
        Optional.empty());
  }

  private String broken(String where, Throwable failure) {
    String reason = "a registration could not be read: " + describe(failure);
    Throwable cause = causeOf(failure);
    if (cause != null) {
      reason += " (" + describe(cause) + ")";
    }
    broken(where, reason, Optional.of(failure));
    return reason;
  }

  private void broken(String where, String reason, Optional<Throwable> cause) {
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
                  cause)));
    }
  }

  private void ask(
      ServiceLoader.Provider<BackendProvider> registration,
      Class<? extends BackendProvider> type,
      String where) {
    BackendProvider made;
    try {
      made = registration.get();
    } catch (Throwable failure) {
      notMade(type, where, failure);
      return;
    }
    // What a provider() method declares to return may be the interface.
    Class<?> maker = made.getClass();
    if (seen.add(new Identity(maker, idOf(made, maker)))) {
      ask(made, maker);
    }
  }

  private void notMade(Class<?> type, String where, Throwable failure) {
    // An abstract type is what a provider() method declares, and says not whose it is.
    boolean own = !Modifier.isAbstract(type.getModifiers());
    Throwable root = rootOf(failure);
    Unavailable no = failed(failure, own ? firstCause(type, root) : root);
    if (!own && isWrapper(failure) && causeOf(failure) != null) { // the outer one names the method
      no = new Unavailable(no.reason() + " (" + describe(failure) + ")", no.remedy(), no.cause());
    }
    if (seenFailed.add(new Identity(type, no.reason()))) {
      entries.add(
          new Transcript.Entry(
              type.getName(), Optional.empty(), own ? artifactOf(type) : where, List.of(), no));
    }
  }

  private void ask(BackendProvider made, Class<?> type) {
    String artifact = artifactOf(type);
    // A probe may write from a thread that it leaves behind.
    List<Transcript.Attempt> attempts = Collections.synchronizedList(new ArrayList<>());
    String id = type.getName();
    Optional<BackendKind> kind = Optional.empty();
    int priority = 0;
    boolean answered = false;
    Availability availability;
    try {
      int version = made.spiVersion();
      String said = version == BackendProvider.SPI_VERSION ? made.id() : idOf(made, type);
      if (Objects.isNull(said)) { // a provider may do anything
        availability = Unavailable.because("its id() answered nothing", "Report it");
      } else if (version != BackendProvider.SPI_VERSION) {
        id = said;
        availability =
            Unavailable.because(
                "it was built for version "
                    + version
                    + " of the provider interface, this is version "
                    + BackendProvider.SPI_VERSION,
                "Use the backend and the API of one release");
      } else {
        id = said;
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
          if (availability instanceof Availability.Available) {
            priority = made.priority();
          }
          answered = true;
        }
      }
    } catch (Throwable failure) {
      availability = failed(failure, firstCause(type, rootOf(failure)));
    }
    if (Objects.isNull(availability)) {
      availability = Unavailable.because("its probe answered nothing", "Report it");
    }
    Transcript.Entry entry = new Transcript.Entry(id, kind, artifact, attempts, availability);
    entries.add(entry);
    if (answered) {
      found.add(new Found(made, priority, entry));
    }
  }

  private static Unavailable failed(Throwable failure, Throwable first) {
    return new Unavailable(
        "its provider failed: " + describe(first),
        failure instanceof LinkageError
            ? "Use the backend and the API of one release, with all it needs on the path"
            : "Report it to whoever made the backend",
        Optional.of(first));
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
    for (int depth = 0; depth < DEEPEST_CAUSE; depth++) {
      Throwable cause = isWrapper(root) ? causeOf(root) : null;
      if (cause == null) {
        return root;
      }
      root = cause;
    }
    return failure;
  }

  private static boolean isWrapper(Throwable failure) {
    return failure instanceof ServiceConfigurationError
        || failure instanceof ExceptionInInitializerError;
  }

  private static @Nullable Throwable causeOf(Throwable failure) {
    try {
      return failure.getCause();
    } catch (Throwable _) { // an exception may do anything
      return null;
    }
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

  /**
   * A failure in words, whatever its own methods do.
   *
   * @param failure what was thrown
   * @return its kind and its message, where it has one
   */
  public static String describe(Throwable failure) {
    String kind = failure.getClass().getName();
    try {
      kind = failure.getClass().getSimpleName();
      String message = failure.getMessage();
      return message == null ? kind : kind + ": " + message;
    } catch (Throwable _) {
      return kind + ", whose message cannot be had";
    }
  }

  private static String text(ClassLoader loader) {
    try {
      return loader.toString();
    } catch (Throwable _) { // a label is no reason to fail
      return loader.getClass().getName();
    }
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
