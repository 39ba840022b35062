package io.holdfast.architecture;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import java.io.IOException;
import java.lang.foreign.Linker;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

/** The rules of the house. A failure's text is what a newcomer needs to know. */
final class ArchitectureTest {
  private static final String[] EXPORTED = {
    "io.holdfast",
    "io.holdfast.copy",
    "io.holdfast.device",
    "io.holdfast.error",
    "io.holdfast.event",
    "io.holdfast.host",
    "io.holdfast.layout",
    "io.holdfast.micrometer",
    "io.holdfast.pin",
    "io.holdfast.pool",
    "io.holdfast.spi"
  };

  /** The static factories and sealed types through which internal code is reached. */
  private static final Set<String> DOORS =
      Set.of(
          "io.holdfast.Backends",
          "io.holdfast.device.DeviceBlocks",
          "io.holdfast.device.DeviceSegment",
          "io.holdfast.host.HostRequest",
          "io.holdfast.host.PlacementReceipt",
          "io.holdfast.pool.HostPool",
          "io.holdfast.spi.HostKernels",
          "io.holdfast.spi.StandardBackend",
          "io.holdfast.spi.StandardBackend$Builder");

  private static final JavaClasses ALL =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .withImportOption(location -> !location.contains("/jmh_generated/"))
          .importPackages("io.holdfast");

  @Test
  void the_rules_see_the_whole_house() {
    assertTrue(ALL.size() > 220, "only " + ALL.size() + " classes were imported");
    Set<String> rooms = new TreeSet<>();
    ALL.forEach(one -> rooms.add(one.getPackageName()));
    assertTrue(
        rooms.containsAll(
            List.of(
                "io.holdfast.backend.cuda",
                "io.holdfast.backend.hip",
                "io.holdfast.backend.cpusim",
                "io.holdfast.bench",
                "io.holdfast.spi")),
        "a module is missing from the import: " + rooms);
  }

  @Test
  void the_api_knows_no_backend_and_no_tool() {
    noClasses()
        .that()
        .resideInAnyPackage(EXPORTED)
        .or()
        .resideInAPackage("io.holdfast.internal..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(
            "io.holdfast.backend..", "io.holdfast.bench..", "io.holdfast.conformance..")
        .because("dependencies point one way: backends, kit and bench know the api")
        .check(ALL);
  }

  @Test
  void a_backend_knows_only_the_exported_api() {
    for (String backend : List.of("cuda", "hip", "cpusim")) {
      classes()
          .that()
          .resideInAPackage("io.holdfast.backend." + backend + "..")
          .should()
          .onlyDependOnClassesThat(
              resideInAnyPackage(EXPORTED)
                  .or(resideInAnyPackage("io.holdfast.backend." + backend + ".."))
                  .or(resideInAnyPackage("java..", "jdk.jfr..", "org.jspecify..", "jcuda.."))
                  .or(describe("arrays of primitives", JavaClass::isPrimitive))
                  .or(describe("arrays", JavaClass::isArray)))
          .because("a backend knows only api, so that backends can be added and left out freely")
          .check(ALL);
    }
  }

  @Test
  void the_kit_and_the_tools_use_the_api_as_engines_do() {
    noClasses()
        .that()
        .resideInAnyPackage("io.holdfast.bench..", "io.holdfast.conformance..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.holdfast.internal..")
        .because("what the tools need, engines need: put it into an exported package")
        .check(ALL);
  }

  @Test
  void jcuda_stays_in_its_own_package_and_its_one_binding_class() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.holdfast.backend.cuda.jcuda..")
        .and(
            describe(
                "are not the binding to JCuda",
                (JavaClass one) ->
                    !one.getName().startsWith("io.holdfast.backend.cuda.JCudaBindings")))
        .should()
        .dependOnClassesThat()
        .resideInAPackage("jcuda..")
        .because("JCuda is optional: only what is about it may name its types")
        .check(ALL);
  }

  @Test
  void micrometer_stays_in_its_own_package() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.holdfast.micrometer..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.micrometer..", "io.holdfast.micrometer..")
        .because("Micrometer is optional: without it nothing of ours may fail to load")
        .check(ALL);
  }

  @Test
  void only_binding_packages_link_native_code() {
    noClasses()
        .that()
        .resideOutsideOfPackages(
            "io.holdfast.internal.linux..",
            "io.holdfast.backend.cuda..",
            "io.holdfast.backend.hip..",
            "io.holdfast.bench.experiment..", // the C library that experiments bring along
            "io.holdfast.conformance.engine..", // engines share nothing with what is judged
            "io.holdfast.backend.cpusim.shim..") // answers a library instead of calling one
        .should()
        .dependOnClassesThat()
        .areAssignableTo(Linker.class)
        .because("native handles are declared once, in one binding class for each library")
        .check(ALL);
  }

  @Test
  void no_call_is_critical() {
    noClasses()
        .should()
        .callMethodWhere(
            describe(
                "Linker.Option.critical",
                (JavaAccess<?> call) ->
                    call.getTargetOwner().isEquivalentTo(Linker.Option.class)
                        && call.getTarget().getName().equals("critical")))
        .because("a critical call holds up every safepoint until it returns, for a gain of 1 ns")
        .check(ALL);
  }

  @Test
  void exported_packages_have_no_cycles() {
    slices()
        .matching("io.holdfast.(**)")
        .namingSlices("$1")
        .should()
        .beFreeOfCycles()
        .ignoreDependency(resideInAnyPackage(EXPORTED), resideInAPackage("io.holdfast.internal.."))
        .ignoreDependency(
            resideInAPackage("io.holdfast.internal.."), resideInAnyPackage("io.holdfast.."))
        .because(
            "each exported package stands on those below it: error, layout, device, host, pin,"
                + " copy")
        .check(ALL);
  }

  @Test
  void internal_code_is_reached_from_static_factories_only() {
    noClasses()
        .that()
        .resideInAnyPackage(EXPORTED)
        .and(describe("are no door", (JavaClass one) -> !DOORS.contains(one.getName())))
        .and(describe("are no part of a door", (JavaClass one) -> !isPartOfDoor(one)))
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.holdfast.internal..")
        .because(
            "exported types are words; what they do lives in internal, behind a few named doors")
        .check(ALL);
  }

  private static boolean isPartOfDoor(JavaClass one) {
    return DOORS.contains(one.getName().replaceAll("\\$.*", ""));
  }

  @Test
  void exported_packages_expose_no_internal_type() {
    classes()
        .that()
        .resideInAnyPackage(EXPORTED)
        .and()
        .arePublic()
        .should(exposeNothingInternal())
        .because("a user cannot name what is not exported")
        .check(ALL);
  }

  private static ArchCondition<JavaClass> exposeNothingInternal() {
    return new ArchCondition<>("expose nothing internal in public signatures") {
      @Override
      public void check(JavaClass one, ConditionEvents events) {
        one.getMethods().stream()
            .filter(
                method ->
                    method.getModifiers().contains(JavaModifier.PUBLIC)
                        || method.getModifiers().contains(JavaModifier.PROTECTED))
            .filter(method -> !method.getModifiers().contains(JavaModifier.SYNTHETIC))
            .filter(
                method ->
                    Stream.concat(
                            method.getRawParameterTypes().stream(),
                            Stream.of(method.getRawReturnType()))
                        .anyMatch(type -> type.getPackageName().startsWith("io.holdfast.internal")))
            .forEach(
                method ->
                    events.add(
                        SimpleConditionEvent.violated(
                            method, method.getFullName() + " names an internal type")));
      }
    };
  }

  @Test
  void nobody_but_the_command_writes_to_standard_streams() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.holdfast.bench..")
        .and()
        .resideOutsideOfPackage("io.holdfast.conformance..")
        .should()
        .accessField(System.class, "out")
        .orShould()
        .accessField(System.class, "err")
        .because("a library is silent; warnings go to System.Logger")
        .check(ALL);
  }

  @Test
  void nobody_formats_in_the_language_of_the_machine() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.holdfast.bench..") // its command sets the locale when it starts
        .should()
        .callMethodWhere(
            describe(
                "a method that formats with the default locale", ArchitectureTest::isLocalised))
        .because("a message has the same digits on every machine: String.format(Locale.ROOT, ...)")
        .check(ALL);
  }

  private static boolean isLocalised(JavaAccess<?> call) {
    return Set.of("format", "formatted", "printf").contains(call.getTarget().getName())
        && call.getTargetOwner().getPackageName().matches("java\\.(lang|io|util)")
        && call.getTarget() instanceof AccessTarget.CodeUnitAccessTarget target
        && target.getRawParameterTypes().stream()
            .noneMatch(type -> type.isEquivalentTo(Locale.class));
  }

  @Test
  void every_package_is_null_marked_and_says_what_it_is_for() throws IOException {
    Set<String> packages = new TreeSet<>();
    ALL.forEach(one -> packages.add(one.getPackageName()));
    Set<String> unmarked = new TreeSet<>();
    for (String name : packages) {
      boolean marked =
          ALL.contain(name + ".package-info")
              && ALL.get(name + ".package-info").isAnnotatedWith(NullMarked.class);
      if (!marked) {
        unmarked.add(name);
      }
    }
    assertEquals(Set.of(), unmarked, "packages without @NullMarked in package-info.java");

    Path root = Path.of("").toAbsolutePath().getParent();
    Set<String> undocumented = new TreeSet<>();
    int seen = 0;
    try (Stream<Path> files = Files.walk(root)) {
      for (Path file : (Iterable<Path>) files.filter(ArchitectureTest::isPackageInfo)::iterator) {
        seen++;
        if (!Files.readString(file).startsWith("/**\n * ")) {
          undocumented.add(root.relativize(file).toString());
        }
      }
    }
    assertTrue(seen >= packages.size() - 1, "only " + seen + " package-info.java were found");
    assertEquals(Set.of(), undocumented, "packages that do not say what they are for");
  }

  private static boolean isPackageInfo(Path file) {
    return file.endsWith("package-info.java") && file.toString().contains("/src/main/java/");
  }
}
