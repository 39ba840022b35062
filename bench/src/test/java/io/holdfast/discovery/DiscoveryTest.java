package io.holdfast.discovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Availability;
import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.BackendUnavailableException;
import io.holdfast.Backends;
import io.holdfast.Selection;
import io.holdfast.Transcript;
import io.holdfast.clients.Javac;
import io.holdfast.error.Category;
import io.holdfast.spi.BackendProvider;
import java.io.File;
import java.io.IOException;
import java.lang.module.Configuration;
import java.lang.module.ModuleFinder;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ForkJoinPool;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Discovery meets every broken thing that a class path can hold, and never throws. */
final class DiscoveryTest {
  private static final String SERVICES = "META-INF/services/" + BackendProvider.class.getName();

  /** A provider in source form: name, id, kind, priority, SPI version, body of probe. */
  private static String provider(
      String name, String id, BackendKind kind, int priority, int version, String probe) {
    return """
    package plug;
    import io.holdfast.*;
    import io.holdfast.spi.*;
    public class %s implements BackendProvider {
      public int spiVersion() { return %d; }
      public String id() { return "%s"; }
      public BackendKind kind() { return BackendKind.%s; }
      @Override public int priority() { return %d; }
      public Availability probe(ProbeLog log) { log.tried("lib%s.so", "looked"); %s }
      public Backend open() { throw new IllegalStateException("opened %s"); }
    }
    """
        .formatted(name, version, id, kind, priority, id, probe, id);
  }

  private static final String YES =
      "return new Availability.Available(\"1.0\", java.util.List.of("
          + "new io.holdfast.device.DeviceInfo(0, \"dev\", \"\", \"\", 1, "
          + "java.util.OptionalInt.empty())));";

  private static final String NO =
      "return Availability.Unavailable.because(\"no such card\", \"buy one\");";

  @TempDir Path folder;
  private String savedProperty = "";

  @BeforeEach
  void forgetTheProperty() {
    savedProperty = System.getProperty(Backends.PROPERTY, "");
    System.clearProperty(Backends.PROPERTY);
  }

  @AfterEach
  void restoreTheProperty() {
    if (savedProperty.isEmpty()) {
      System.clearProperty(Backends.PROPERTY);
    } else {
      System.setProperty(Backends.PROPERTY, savedProperty);
    }
  }

  @Test
  void the_shipped_backends_are_seen_with_honest_reasons() {
    Transcript seen = Backends.discover();

    Set<String> ids = seen.entries().stream().map(Transcript.Entry::id).collect(Collectors.toSet());
    assertEquals(Set.of("cpu-sim", "cuda", "hip"), ids);
    assertInstanceOf(Availability.Available.class, entry(seen, "cpu-sim").availability());
    for (String hardware : List.of("cuda", "hip")) {
      if (entry(seen, hardware).availability() instanceof Availability.Unavailable no) {
        assertFalse(no.reason().isBlank());
        assertFalse(no.remedy().isBlank());
        assertFalse(entry(seen, hardware).attempts().isEmpty(), "nothing was tried");
      }
    }
  }

  @Test
  void a_plug_in_is_found_through_its_loader_with_what_it_tried() throws IOException {
    try (URLClassLoader loader = plugIn(Map.of("P", hardware("P", "plug", 0, YES)))) {
      Transcript seen = Backends.discover(loader);

      assertEquals(
          List.of(new Transcript.Attempt("libplug.so", "looked")), entry(seen, "plug").attempts());
      assertInstanceOf(Availability.Available.class, entry(seen, "plug").availability());
    }
  }

  @Test
  void a_virtual_thread_sees_the_context_loader_and_a_common_pool_thread_still_sees_ours()
      throws Exception {
    try (URLClassLoader loader = plugIn(Map.of("P", hardware("P", "plug", 0, YES)))) {
      ClassLoader saved = Thread.currentThread().getContextClassLoader();
      Thread.currentThread().setContextClassLoader(loader);
      try {
        Transcript[] seen = new Transcript[2];
        Thread.ofVirtual().start(() -> seen[0] = Backends.discover()).join();
        ForkJoinPool.commonPool().submit(() -> seen[1] = Backends.discover()).get();

        assertTrue(ids(seen[0]).contains("plug"), seen[0]::describe);
        assertTrue(ids(seen[1]).contains("cpu-sim"), seen[1]::describe);
      } finally {
        Thread.currentThread().setContextClassLoader(saved);
      }
    }
  }

  @Test
  void a_provider_of_another_version_is_unavailable_with_both_numbers() throws IOException {
    String old =
        provider("Old", "old", BackendKind.HARDWARE, 0, BackendProvider.SPI_VERSION + 7, YES);
    try (URLClassLoader loader = plugIn(Map.of("Old", old))) {
      String reason = reason(Backends.discover(loader), "old");

      assertTrue(reason.contains("version " + (BackendProvider.SPI_VERSION + 7)), reason);
      assertTrue(reason.contains("version " + BackendProvider.SPI_VERSION), reason);
    }
  }

  @Test
  void a_provider_without_the_version_method_is_reported_as_a_linkage_error() throws IOException {
    Map<String, String> sources = new HashMap<>();
    sources.put("P", hardware("P", "plug", 0, YES));
    try (URLClassLoader loader =
        plugInAgainst(
            sources,
            """
            package io.holdfast.spi;
            public interface BackendProvider {
              String id(); io.holdfast.BackendKind kind();
              default int priority() { return 0; }
              io.holdfast.Availability probe(ProbeLog log); io.holdfast.Backend open();
            }
            """)) {
      Transcript.Entry entry = entry(Backends.discover(loader), "plug.P");

      Availability.Unavailable no =
          assertInstanceOf(Availability.Unavailable.class, entry.availability());
      assertInstanceOf(LinkageError.class, no.cause().orElseThrow());
    }
  }

  @Test
  void a_throwing_constructor_is_reported_and_the_next_provider_still_found() throws IOException {
    String bad =
        hardware("Bad", "bad", 0, YES)
            .replace(
                "public int spiVersion",
                "public Bad() { throw new UnsatisfiedLinkError(\"no libx\"); } public int"
                    + " spiVersion");
    try (URLClassLoader loader =
        plugIn(Map.of("Bad", bad, "Good", hardware("Good", "good", 0, YES)))) {
      Transcript seen = Backends.discover(loader);

      assertTrue(reason(seen, "plug.Bad").contains("no libx"), seen::describe);
      assertInstanceOf(Availability.Available.class, entry(seen, "good").availability());
    }
  }

  @Test
  void the_first_cause_of_a_failed_initialiser_is_kept_for_later_looks() throws IOException {
    String bad =
        hardware("Init", "init", 0, YES)
            .replace(
                "public int spiVersion",
                "static final int X = fail(); static int fail() { throw new"
                    + " IllegalStateException(\"the first cause\"); } public int spiVersion");
    try (URLClassLoader loader = plugIn(Map.of("Init", bad))) {
      String first = reason(Backends.discover(loader), "plug.Init");
      String second = reason(Backends.discover(loader), "plug.Init");

      assertTrue(first.contains("the first cause"), first);
      assertEquals(first, second);
    }
  }

  @Test
  void a_probe_that_throws_an_error_makes_only_its_backend_unavailable() throws IOException {
    try (URLClassLoader loader =
        plugIn(Map.of("P", hardware("P", "plug", 0, "throw new NoSuchMethodError(\"gone\");")))) {
      Transcript seen = Backends.discover(loader);

      assertTrue(reason(seen, "plug").contains("gone"), seen::describe);
      assertTrue(ids(seen).contains("cpu-sim"));
    }
  }

  @Test
  void a_probe_that_answers_null_is_reported() throws IOException {
    try (URLClassLoader loader = plugIn(Map.of("P", hardware("P", "plug", 0, "return null;")))) {
      assertTrue(reason(Backends.discover(loader), "plug").contains("nothing"));
    }
  }

  @Test
  void two_providers_with_one_id_are_both_reported_and_the_first_counts() throws IOException {
    try (URLClassLoader loader =
        plugIn(Map.of("A", hardware("A", "twin", 0, YES), "B", hardware("B", "twin", 0, YES)))) {
      List<Transcript.Entry> twins =
          Backends.discover(loader).entries().stream()
              .filter(entry -> entry.id().equals("twin"))
              .toList();

      assertEquals(2, twins.size());
      assertInstanceOf(Availability.Available.class, twins.get(0).availability());
      Availability.Unavailable no =
          assertInstanceOf(Availability.Unavailable.class, twins.get(1).availability());
      assertTrue(no.reason().contains("taken already"), no.reason());
    }
  }

  @Test
  void a_missing_class_and_a_class_that_is_no_provider_are_reported() throws IOException {
    try (URLClassLoader loader =
        plugIn(
            Map.of(
                "Good",
                hardware("Good", "good", 0, YES),
                "Other",
                "package plug; public class Other { }"),
            "plug.Missing\nplug.Other\nplug.Good\n")) {
      Transcript seen = Backends.discover(loader);

      assertEquals(2, broken(seen), seen::describe);
      assertTrue(ids(seen).contains("good"), seen::describe);
    }
  }

  @Test
  void a_missing_superclass_is_reported_although_it_comes_as_a_raw_error() throws IOException {
    Map<String, String> sources =
        Map.of(
            "Base", "package plug; public abstract class Base { }",
            "Child",
                hardware("Child", "child", 0, YES)
                    .replace("class Child implements", "class Child extends Base implements"),
            "Good", hardware("Good", "good", 0, YES));
    try (URLClassLoader loader = plugIn(sources, "plug.Child\nplug.Good\n")) {
      Files.delete(folder.resolve("classes/plug/Base.class"));
      Transcript seen = Backends.discover(loader);

      assertEquals(1, broken(seen), seen::describe);
      assertTrue(ids(seen).contains("good"), seen::describe);
    }
  }

  @Test
  void one_malformed_line_loses_its_file_and_is_reported_once() throws IOException {
    try (URLClassLoader loader =
        plugIn(Map.of("Good", hardware("Good", "good", 0, YES)), "plug.Good\nthis is no class\n")) {
      Transcript seen = Backends.discover(loader, loader);

      assertEquals(1, broken(seen), seen::describe);
      assertFalse(ids(seen).contains("good"), "the whole file is lost");
      assertTrue(ids(seen).contains("cpu-sim"), "other files are fine");
    }
  }

  @Test
  void a_public_signature_with_an_absent_type_loses_one_provider_at_most() throws IOException {
    Map<String, String> sources =
        Map.of(
            "Absent", "package plug; public class Absent { }",
            "Odd",
                hardware("Odd", "odd", 0, YES)
                    .replace(
                        "public int spiVersion",
                        "public Absent absent() { return null; } public int spiVersion"),
            "Good", hardware("Good", "good", 0, YES));
    try (URLClassLoader loader = plugIn(sources, "plug.Odd\nplug.Good\n")) {
      Files.delete(folder.resolve("classes/plug/Absent.class"));

      assertTrue(ids(Backends.discover(loader)).contains("good"));
    }
  }

  @Test
  void a_child_layer_is_searched() {
    ModuleLayer layer =
        layer(
            Map.of(
                "plug/L.java",
                hardware("L", "layered", 0, YES),
                "module-info.java",
                "module plug { requires io.holdfast.api;"
                    + " provides io.holdfast.spi.BackendProvider with plug.L; }"));

    // the layer brings an api of its own: it must be asked through that one
    assertTrue(
        discoverInside(layer).contains("layered"), "the layer's provider was not found by its api");
    assertTrue(ids(Backends.discover(layer)).contains("cpu-sim"), "our own are seen as well");
  }

  private static String discoverInside(ModuleLayer layer) {
    try {
      Class<?> backends = layer.findLoader("io.holdfast.api").loadClass("io.holdfast.Backends");
      Object transcript = backends.getMethod("discover", ModuleLayer.class).invoke(null, layer);
      return (String) transcript.getClass().getMethod("describe").invoke(transcript);
    } catch (ReflectiveOperationException failure) {
      throw new LinkageError("the layer's api cannot be asked", failure);
    }
  }

  @Test
  void providers_made_by_methods_that_declare_the_interface_are_all_found_with_their_artifacts() {
    String seen = discoverInside(layer(made("one", "new P(1)"), made("two", "new P(2)")));

    for (String id : List.of("one", "two")) {
      assertTrue(seen.contains(id + " from module " + id + " (" + id + ")\n"), seen);
      assertTrue(seen.contains("tried lib" + id + ".so: looked\n    usable"), seen);
    }
  }

  @Test
  void methods_that_fail_to_make_a_provider_are_all_reported_by_name() {
    String seen =
        discoverInside(
            layer(
                made("one", "null"),
                made("two", "new P(Integer.parseInt(\"no key\"))"),
                made("three", "new P(3)")));

    assertTrue(seen.contains("one.P.provider()"), seen);
    assertTrue(seen.contains("two.P.provider()"), seen);
    assertTrue(seen.contains("NumberFormatException: For input string: \"no key\""), seen);
    assertTrue(seen.contains("three from module three"), seen);
  }

  /** The source of a provider that its own method makes. */
  private static Map<String, String> made(String name, String how) {
    return Map.of(
        name + "/P.java",
        hardware("P", name, 0, YES)
            .replace("package plug;", "package " + name + ";")
            .replace(
                "public int spiVersion",
                "P(int key) { } public static BackendProvider provider() { return "
                    + how
                    + "; } public int spiVersion"),
        "module-info.java",
        "module "
            + name
            + " { requires io.holdfast.api; provides io.holdfast.spi.BackendProvider with "
            + name
            + ".P; }");
  }

  /** Modules of one provider each, over an api of their own. */
  @SafeVarargs
  private ModuleLayer layer(Map<String, String>... modules) {
    Path api = Javac.artifactOf(Backends.class);
    List<Path> folders = new ArrayList<>(List.of(api));
    Set<String> names = new HashSet<>();
    for (Map<String, String> sources : modules) {
      String name = sources.get("module-info.java").split(" ", -1)[1];
      Path classes = Javac.folder(folder, name);
      Javac.Outcome outcome = Javac.compile(classes, List.of("-p", api.toString()), sources);
      assertTrue(outcome.succeeded(), outcome::errors);
      folders.add(classes);
      names.add(name);
    }
    Configuration configuration =
        ModuleLayer.boot()
            .configuration()
            .resolveAndBind(
                ModuleFinder.of(folders.toArray(Path[]::new)), ModuleFinder.of(), names);
    return ModuleLayer.boot()
        .defineModulesWithOneLoader(configuration, ClassLoader.getPlatformClassLoader());
  }

  @Test
  void a_provider_whose_id_is_null_is_reported_and_the_next_still_found() throws IOException {
    String bad = hardware("Bad", "bad", 0, YES).replace("return \"bad\"", "return null");
    try (URLClassLoader loader =
        plugIn(Map.of("Bad", bad, "Good", hardware("Good", "good", 0, YES)))) {
      Transcript seen = Backends.discover(loader);

      assertTrue(reason(seen, "plug.Bad").contains("id() answered nothing"), seen::describe);
      assertInstanceOf(Availability.Available.class, entry(seen, "good").availability());
    }
  }

  @Test
  void an_exception_whose_own_methods_throw_is_reported_by_its_kind() throws IOException {
    String mute =
        "class Mute extends RuntimeException { @Override public String getMessage() { throw new"
            + " IllegalStateException(); } @Override public String toString() { throw new"
            + " IllegalStateException(); } } throw new Mute();";
    try (URLClassLoader loader = plugIn(Map.of("P", hardware("P", "plug", 0, mute)))) {
      String reason = reason(Backends.discover(loader), "plug");

      assertTrue(reason.contains("Mute, whose message cannot be had"), reason);
      assertThrows(
          BackendUnavailableException.class,
          () -> Backends.select(Selection.of("plug").loaders(loader)));
    }
  }

  @Test
  void an_error_whose_causes_never_end_is_reported() throws IOException {
    String endless =
        "class Endless extends java.util.ServiceConfigurationError {"
            + " Endless() { super(\"on and on\"); }"
            + " @Override public Throwable getCause() { return new Endless(); } }"
            + " throw new Endless();";
    try (URLClassLoader loader = plugIn(Map.of("P", hardware("P", "plug", 0, endless)))) {
      assertTrue(reason(Backends.discover(loader), "plug").contains("on and on"));
    }
  }

  @Test
  void a_class_loader_that_has_no_name_is_searched_all_the_same() throws IOException {
    try (URLClassLoader loader = plugIn(Map.of("P", hardware("P", "plug", 0, YES)));
        URLClassLoader nameless =
            new URLClassLoader(loader.getURLs(), DiscoveryTest.class.getClassLoader()) {
              @Override
              public String toString() {
                throw new IllegalStateException("no name");
              }
            }) {
      assertTrue(ids(Backends.discover(nameless)).contains("plug"));
    }
  }

  @Test
  void the_loader_of_a_bootstrap_class_is_searched_although_it_is_null() {
    ClassLoader none = String.class.getClassLoader();

    assertTrue(ids(Backends.discover(none)).contains("cpu-sim"));
    try (Backend backend = Backends.select(Selection.of("cpu-sim").loaders(none))) {
      assertEquals("cpu-sim", backend.id());
    }
  }

  @Test
  void a_good_line_behind_many_dead_ones_is_found() throws IOException {
    try (URLClassLoader loader =
        plugIn(Map.of("Good", hardware("Good", "good", 0, YES)), dead(900) + "plug.Good\n")) {
      Transcript seen = Backends.discover(loader);

      assertEquals(900, broken(seen));
      assertInstanceOf(Availability.Available.class, entry(seen, "good").availability());
    }
  }

  @Test
  void what_is_given_up_is_in_the_transcript() throws IOException {
    try (URLClassLoader loader =
            plugIn(Map.of("Good", hardware("Good", "good", 0, YES)), dead(1100) + "plug.Good\n");
        URLClassLoader unreadable =
            new URLClassLoader(new URL[0], DiscoveryTest.class.getClassLoader()) {
              @Override
              public Enumeration<URL> getResources(String name) throws IOException {
                throw new IOException("the disk is gone");
              }
            }) {
      assertTrue(
          Backends.discover(loader).describe().contains("was not looked at, after 1000 failures"));
      Transcript seen = Backends.discover(unreadable);

      assertTrue(seen.describe().contains("the disk is gone"), seen::describe);
      assertTrue(seen.describe().contains("was not looked at, after 50 failures"), seen::describe);
      assertEquals(2, broken(seen), seen::describe);
    }
  }

  private static String dead(int lines) {
    return IntStream.range(0, lines)
        .mapToObj(line -> "plug.Missing" + line + "\n")
        .collect(Collectors.joining());
  }

  @Test
  void an_unknown_id_is_an_error_with_the_transcript() {
    BackendUnavailableException refused =
        assertThrows(BackendUnavailableException.class, () -> Backends.select("abacus"));

    assertEquals(Category.UNAVAILABLE, refused.category());
    assertTrue(refused.getMessage().contains("abacus"));
    assertTrue(ids(refused.transcript()).contains("cpu-sim"));
  }

  @Test
  void the_property_is_honoured_and_named_in_the_error() {
    System.setProperty(Backends.PROPERTY, "abacus");

    BackendUnavailableException refused =
        assertThrows(BackendUnavailableException.class, () -> Backends.select());

    assertTrue(refused.getMessage().contains(Backends.PROPERTY), refused.getMessage());
  }

  @Test
  void naming_a_simulated_backend_allows_it_and_the_choice_says_why() {
    System.setProperty(Backends.PROPERTY, "cpu-sim");

    try (Backend backend = Backends.select()) {
      assertEquals("cpu-sim", backend.id());
      assertEquals(BackendKind.SIMULATOR, backend.kind());
      assertTrue(backend.transcript().chosen().orElseThrow().because().contains(Backends.PROPERTY));
    }
  }

  @Test
  void an_unavailable_backend_that_was_named_is_an_error_with_its_reason() throws IOException {
    try (URLClassLoader loader = plugIn(Map.of("P", hardware("P", "plug", 0, NO)))) {
      BackendUnavailableException refused =
          assertThrows(
              BackendUnavailableException.class,
              () -> Backends.select(Selection.of("plug").loaders(loader)));

      assertTrue(refused.getMessage().contains("no such card"), refused.getMessage());
      assertTrue(refused.getMessage().contains("buy one"), refused.getMessage());
    }
  }

  @Test
  void the_usable_hardware_of_highest_priority_is_taken() throws IOException {
    try (URLClassLoader loader =
        plugIn(
            Map.of(
                "Low", hardware("Low", "low", 100, YES),
                "High", hardware("High", "high", 200, YES),
                "Best", hardware("Best", "best", 300, NO)))) {
      BackendUnavailableException opened =
          assertThrows(
              BackendUnavailableException.class,
              () -> Backends.select(Selection.byRule().loaders(loader)));

      Transcript.Choice choice = opened.transcript().chosen().orElseThrow();
      assertEquals("high", choice.id());
      assertTrue(opened.getMessage().contains("opened high"), opened.getMessage());
    }
  }

  @Test
  void a_backend_without_a_rank_is_reported_and_the_next_one_taken() throws IOException {
    String bad =
        hardware("Bad", "bad", 0, YES).replace("return 0; }", "throw new Error(\"no rank\"); }");
    try (URLClassLoader loader =
        plugIn(Map.of("Bad", bad, "Good", hardware("Good", "good", -9, YES)))) {
      BackendUnavailableException opened =
          assertThrows(
              BackendUnavailableException.class,
              () -> Backends.select(Selection.byRule().loaders(loader)));

      assertEquals("good", opened.transcript().chosen().orElseThrow().id());
      assertTrue(reason(opened.transcript(), "bad").contains("no rank"), opened.getMessage());
    }
  }

  @ParameterizedTest
  @CsvSource({"throw new Error(\"no list\");,no list", "return null;,nothing"})
  void variants_that_cannot_be_had_are_an_error_only_where_one_is_named(String body, String word)
      throws IOException {
    String bad =
        hardware("P", "va", 0, YES)
            .replace(
                "public Backend open",
                "@Override public java.util.List<String> variants() { "
                    + body
                    + " } public Backend open");
    try (URLClassLoader loader = plugIn(Map.of("P", bad))) {
      BackendUnavailableException plain = refusal("va", loader);
      BackendUnavailableException variant = refusal("va:big", loader);

      assertTrue(plain.getMessage().contains("opened va"), plain.getMessage());
      assertTrue(variant.getMessage().contains("variants()"), variant.getMessage());
      assertTrue(variant.getMessage().contains(word), variant.getMessage());
      assertTrue(ids(variant.transcript()).contains("va"));
    }
  }

  @Test
  void a_backend_that_opens_nothing_is_an_error_with_the_transcript() throws IOException {
    String bad =
        hardware("P", "plug", 0, YES)
            .replace("throw new IllegalStateException(\"opened plug\")", "return null");
    try (URLClassLoader loader = plugIn(Map.of("P", bad))) {
      BackendUnavailableException refused = refusal("plug", loader);

      assertTrue(refused.getMessage().contains("open() answered nothing"), refused.getMessage());
      assertTrue(ids(refused.transcript()).contains("plug"));
    }
  }

  @Test
  void a_named_backend_whose_provider_failed_is_no_unknown_one() throws IOException {
    try (URLClassLoader loader =
        plugIn(
            Map.of("P", hardware("P", "plug", 0, "throw new IllegalStateException(\"off\");")))) {
      BackendUnavailableException refused = refusal("plug", loader);

      assertTrue(
          refused
              .getMessage()
              .startsWith(
                  "backend 'plug' cannot be used (the caller named it):"
                      + " its provider failed: IllegalStateException: off"),
          refused.getMessage());
      assertInstanceOf(IllegalStateException.class, refused.getCause());
    }
  }

  private static BackendUnavailableException refusal(String id, ClassLoader loader) {
    return assertThrows(
        BackendUnavailableException.class, () -> Backends.select(Selection.of(id).loaders(loader)));
  }

  @Test
  void a_hardware_backend_that_fails_to_open_never_becomes_a_simulator() throws IOException {
    try (URLClassLoader loader = plugIn(Map.of("P", hardware("P", "plug", 0, YES)))) {
      assertThrows(
          BackendUnavailableException.class,
          () -> Backends.select(Selection.allowSimulated().loaders(loader)));
    }
  }

  @Test
  void a_variant_that_does_not_exist_is_an_error_that_lists_those_that_do() {
    BackendUnavailableException refused =
        assertThrows(BackendUnavailableException.class, () -> Backends.select("cpu-sim:abacus"));

    assertTrue(refused.getMessage().contains("abacus"), refused.getMessage());
  }

  private static String hardware(String name, String id, int priority, String probe) {
    return provider(name, id, BackendKind.HARDWARE, priority, BackendProvider.SPI_VERSION, probe);
  }

  private URLClassLoader plugIn(Map<String, String> sources) throws IOException {
    return plugIn(
        sources,
        sources.keySet().stream()
            .sorted()
            .map(name -> "plug." + name + "\n")
            .collect(Collectors.joining()));
  }

  private URLClassLoader plugIn(Map<String, String> sources, String services) throws IOException {
    Path classes = Javac.folder(folder, "classes");
    compile(classes, Javac.artifactOf(Backends.class).toString(), sources);
    return loader(classes, services);
  }

  /** Compiled against another shape of the interface than the one that will be there. */
  private URLClassLoader plugInAgainst(Map<String, String> sources, String otherInterface)
      throws IOException {
    Path other = Javac.folder(folder, "other");
    String api = Javac.artifactOf(Backends.class).toString();
    Javac.Outcome outcome =
        Javac.compile(
            other,
            List.of("-cp", api),
            Map.of("io/holdfast/spi/BackendProvider.java", otherInterface));
    assertTrue(outcome.succeeded(), outcome::errors);
    Path classes = Javac.folder(folder, "classes");
    Map<String, String> old = new HashMap<>();
    sources.forEach(
        (name, text) ->
            old.put(name, text.replaceAll("public int spiVersion\\(\\) \\{[^}]*\\}", "")));
    compile(classes, other + File.pathSeparator + api, old);
    return loader(classes, "plug.P\n");
  }

  private static void compile(Path classes, String classPath, Map<String, String> sources) {
    Map<String, String> files = new HashMap<>();
    sources.forEach((name, text) -> files.put("plug/" + name + ".java", text));
    Javac.Outcome outcome = Javac.compile(classes, List.of("-cp", classPath), files);
    assertTrue(outcome.succeeded(), outcome::errors);
  }

  private static URLClassLoader loader(Path classes, String services) throws IOException {
    Files.createDirectories(classes.resolve(SERVICES).getParent());
    Files.writeString(classes.resolve(SERVICES), services);
    return new URLClassLoader(
        new URL[] {classes.toUri().toURL()}, DiscoveryTest.class.getClassLoader());
  }

  private static Set<String> ids(Transcript seen) {
    return seen.entries().stream().map(Transcript.Entry::id).collect(Collectors.toSet());
  }

  private static long broken(Transcript seen) {
    return seen.entries().stream()
        .filter(entry -> entry.kind().equals(Optional.empty()))
        .filter(entry -> entry.id().equals("broken registration"))
        .count();
  }

  private static Transcript.Entry entry(Transcript seen, String id) {
    return seen.entries().stream()
        .filter(entry -> entry.id().equals(id))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no entry " + id + " in\n" + seen.describe()));
  }

  private static String reason(Transcript seen, String id) {
    return assertInstanceOf(Availability.Unavailable.class, entry(seen, id).availability())
        .reason();
  }
}
