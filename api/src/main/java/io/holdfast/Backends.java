package io.holdfast;

import io.holdfast.Transcript.Choice;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.discovery.Discovery;
import io.holdfast.internal.discovery.Discovery.Found;
import io.holdfast.spi.BackendProvider;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Finds and chooses backends. Safe from any thread.
 *
 * <p>Providers are looked for with the thread's context loader, then with our own. Looking loads no
 * driver that is not there and creates no context.
 */
public final class Backends {
  /** System property that names the backend. */
  public static final String PROPERTY = "holdfast.backend";

  /** Environment variable that names the backend where the property does not. */
  public static final String VARIABLE = "HOLDFAST_BACKEND";

  private Backends() {}

  /**
   * Asks every provider; never throws.
   *
   * @param more class loaders whose providers count too, for example a plug-in's; null, as
   *     bootstrap classes have it, is as good as the platform's
   * @return what was seen
   */
  @SuppressWarnings("exports") // naming @Nullable binds nobody to have it
  public static Transcript discover(@Nullable ClassLoader... more) {
    return look(known(more)).transcript();
  }

  /**
   * Asks the providers of a module layer and its parents as well; never throws.
   *
   * @param layer where to look first
   * @return what was seen
   */
  public static Transcript discover(ModuleLayer layer) {
    Discovery discovery = new Discovery();
    discovery.look(layer);
    look(discovery, List.of());
    return discovery.transcript();
  }

  /**
   * The backend named by {@value #PROPERTY} or {@value #VARIABLE}, else the usable hardware of
   * highest priority. Never a simulated one that nobody named.
   *
   * @return the backend, loaded
   * @throws BackendUnavailableException with the transcript
   */
  public static Backend select() {
    return select(Selection.byRule());
  }

  /**
   * That one or an exception with the transcript.
   *
   * @param id for example {@code cuda} or {@code cpu-sim:mi350x}
   * @return the backend, loaded
   * @throws BackendUnavailableException when it is unknown or unavailable
   */
  public static Backend select(String id) {
    return select(Selection.of(id));
  }

  /**
   * The one that is wanted or an exception with the transcript.
   *
   * @param selection what is wanted
   * @return the backend, loaded
   * @throws BackendUnavailableException with the transcript
   */
  public static Backend select(Selection selection) {
    Discovery discovery = look(selection.loaders());
    Optional<Named> named = named(selection);
    return named.isPresent()
        ? byName(discovery, named.get())
        : byRule(discovery, selection.simulated());
  }

  static List<ClassLoader> known(@Nullable ClassLoader... loaders) {
    if (Objects.isNull(loaders)) { // in place of one null loader
      return List.of();
    }
    return Stream.of(loaders)
        .map(one -> one == null ? ClassLoader.getPlatformClassLoader() : one)
        .toList();
  }

  private static Discovery look(List<ClassLoader> more) {
    Discovery discovery = new Discovery();
    look(discovery, more);
    return discovery;
  }

  private static void look(Discovery discovery, List<ClassLoader> more) {
    more.forEach(discovery::look);
    discovery.look(Thread.currentThread().getContextClassLoader());
    discovery.look(Backends.class.getClassLoader());
    ModuleLayer ours = Backends.class.getModule().getLayer();
    if (ours != null) {
      discovery.look(ours);
    }
  }

  /** A name and who said it. */
  private record Named(String name, String because) {
    String id() {
      int colon = name.indexOf(':');
      return colon < 0 ? name : name.substring(0, colon);
    }

    Optional<String> variant() {
      int colon = name.indexOf(':');
      return colon < 0 ? Optional.empty() : Optional.of(name.substring(colon + 1));
    }
  }

  private static Optional<Named> named(Selection selection) {
    if (selection.id().isPresent()) {
      return Optional.of(new Named(selection.id().get(), "the caller named it"));
    }
    String property = System.getProperty(PROPERTY, "").strip();
    if (!property.isEmpty()) {
      return Optional.of(new Named(property, "the system property " + PROPERTY + " names it"));
    }
    String variable = Optional.ofNullable(System.getenv(VARIABLE)).orElse("").strip();
    if (!variable.isEmpty()) {
      return Optional.of(new Named(variable, "the environment variable " + VARIABLE + " names it"));
    }
    return Optional.empty();
  }

  private static Backend byName(Discovery discovery, Named named) {
    Optional<Found> known =
        discovery.found().stream()
            .filter(found -> found.entry().id().equals(named.id()))
            .findFirst();
    if (known.isEmpty()) {
      throw absent(named, discovery.transcript());
    }
    Found found = known.get();
    if (!found.isUsable()) {
      throw unavailable(found.entry(), named.because(), discovery.transcript());
    }
    if (named.variant().isPresent()) {
      requireVariant(found, named, named.variant().get(), discovery.transcript());
    }
    return open(found, named.variant(), named.because(), discovery.transcript());
  }

  private static BackendUnavailableException absent(Named named, Transcript transcript) {
    for (Transcript.Entry entry : transcript.entries()) {
      if (entry.id().equals(named.id())) {
        return unavailable(entry, named.because(), transcript);
      }
    }
    return new BackendUnavailableException(
        "there is no backend '" + named.id() + "' (" + named.because() + ")",
        "Put its artifact on the class path or module path, or name one of these:",
        transcript,
        null);
  }

  private static void requireVariant(
      Found found, Named named, String variant, Transcript transcript) {
    List<String> variants;
    try {
      List<String> said = found.provider().variants();
      variants = List.copyOf(Objects.requireNonNull(said, "it answered nothing"));
    } catch (Throwable failure) { // a provider may do anything
      throw new BackendUnavailableException(
          "backend '"
              + named.id()
              + "' cannot say whether it has the variant '"
              + variant
              + "' ("
              + named.because()
              + "): its variants() failed: "
              + Discovery.describe(failure),
          "Report it to whoever made the backend, or name it without a variant",
          transcript,
          failure);
    }
    if (!variants.contains(variant)) {
      throw new BackendUnavailableException(
          "backend '"
              + named.id()
              + "' has no variant '"
              + variant
              + "' ("
              + named.because()
              + "); it has "
              + variants,
          "Name one of them",
          transcript,
          null);
    }
  }

  private static BackendUnavailableException unavailable(
      Transcript.Entry entry, String because, Transcript transcript) {
    Availability.Unavailable no = (Availability.Unavailable) entry.availability();
    return new BackendUnavailableException(
        "backend '" + entry.id() + "' cannot be used (" + because + "): " + no.reason(),
        no.remedy(),
        transcript,
        no.cause().orElse(null));
  }

  private static Backend byRule(Discovery discovery, Selection.Simulated simulated) {
    Optional<Found> hardware = best(discovery, BackendKind.HARDWARE);
    if (hardware.isPresent()) {
      return open(
          hardware.get(),
          Optional.empty(),
          "it is the usable hardware of highest priority",
          discovery.transcript());
    }
    if (simulated == Selection.Simulated.ALLOWED) {
      Optional<Found> simulator = best(discovery, BackendKind.SIMULATOR);
      if (simulator.isPresent()) {
        return open(
            simulator.get(),
            Optional.empty(),
            "no hardware backend is usable and the caller allows a simulated one",
            discovery.transcript());
      }
    }
    throw new BackendUnavailableException(
        simulated == Selection.Simulated.ALLOWED
            ? "no backend is usable, not even a simulated one"
            : "no hardware backend is usable",
        simulated == Selection.Simulated.ALLOWED
            ? "What was tried:"
            : "Follow a remedy below; or name a simulated backend, by Backends.select(\"cpu-sim\"),"
                + " -Dholdfast.backend=cpu-sim or HOLDFAST_BACKEND=cpu-sim:",
        discovery.transcript(),
        null);
  }

  private static Optional<Found> best(Discovery discovery, BackendKind kind) {
    return discovery.found().stream()
        .filter(found -> found.isUsable() && found.entry().kind().equals(Optional.of(kind)))
        .min(
            Comparator.comparingInt(Found::priority)
                .reversed()
                .thenComparing(found -> found.entry().id()));
  }

  private static Backend open(
      Found found, Optional<String> variant, String because, Transcript seen) {
    BackendProvider provider = found.provider();
    String name = found.entry().id() + variant.map(one -> ":" + one).orElse("");
    Transcript transcript = new Transcript(seen.entries(), Optional.of(new Choice(name, because)));
    Backend backend;
    try {
      backend = variant.isPresent() ? provider.open(variant.get()) : provider.open();
    } catch (Throwable failure) {
      if (failure instanceof BackendUnavailableException known) {
        throw known;
      }
      throw new BackendUnavailableException(
          "backend '"
              + name
              + "' was chosen ("
              + because
              + ") and failed to open: "
              + Discovery.describe(failure),
          "Its probe said it is usable; see the cause",
          transcript,
          failure);
    }
    if (Objects.isNull(backend)) {
      throw new BackendUnavailableException(
          "backend '" + name + "' was chosen (" + because + ") and its open() answered nothing",
          "Report it to whoever made the backend",
          transcript,
          null);
    }
    if (backend instanceof CoreBackend core) {
      core.transcript(transcript);
    }
    return backend;
  }
}
