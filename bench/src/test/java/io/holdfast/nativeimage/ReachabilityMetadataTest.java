package io.holdfast.nativeimage;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The files that tell GraalVM's native-image what is linked and looked up at run time are those
 * that the code gives rise to: everything is linked here once, and written down.
 *
 * <p>{@code -Dholdfast.test.metadata=write} writes the files instead.
 */
@Tag("full")
@EnabledOnOs(value = OS.LINUX, disabledReason = "the calls are those of Linux")
final class ReachabilityMetadataTest {
  private static final boolean WRITES =
      "write".equals(System.getProperty("holdfast.test.metadata"));
  private static final String REMEDY =
      "write them anew: ./mvnw -Pfull -pl bench -am test -Dtest=ReachabilityMetadataTest"
          + " -Dholdfast.test.metadata=write";

  /** Is linked only where there is a JCuda, which has natives and metadata of its own. */
  private static final String JCUDA = "io.holdfast.backend.cuda.JCuda";

  private static RecordingLoader loader;

  /** Makes every class that links do so, and every method that links late be called. */
  @BeforeAll
  static void linkEverything() throws Exception {
    loader = new RecordingLoader(ReachabilityMetadataTest.class.getClassLoader());
    for (String method : asking()) {
      Class.forName(
          method.substring(0, method.indexOf('(')).replaceAll("\\.[^.]+$", ""), true, loader);
    }

    // What this machine has, another one may lack.
    call(
        type("io.holdfast.internal.linux.LibcBindings"),
        "systemCall",
        (SymbolLookup) name -> Optional.empty(),
        -1,
        FunctionDescriptor.of(ValueLayout.JAVA_LONG));
    for (String module : new String[] {"cuda", "hip"}) {
      Class<?> library = type("io.holdfast.backend." + module + ".DynamicLibrary");
      assertTrue(
          call(library, "open", "/no/such/library.so").toString().startsWith("Refused"),
          "a library that is not there has the loader asked for its words");
    }
    linkTheShim();
  }

  /** Over a function that takes anything and answers 0, in place of a library made for it. */
  private static void linkTheShim() throws Exception {
    SymbolLookup anything = name -> Linker.nativeLinker().defaultLookup().find("sched_yield");
    Class<?> table = type("io.holdfast.backend.cpusim.shim.ExportTable");
    Object shim =
        call(
            type("io.holdfast.backend.cpusim.shim.NativeShim"),
            "bind",
            anything,
            table.getConstructor(int.class).newInstance(0));
    ((AutoCloseable) shim).close();
    Object descriptor =
        call(type("io.holdfast.backend.cpusim.shim.Descriptors"), "newFile", "test");
    assertEquals(0, closed((int) descriptor));
  }

  @ParameterizedTest
  @EnumSource
  void the_file_is_what_the_code_gives_rise_to(Artifact artifact) throws IOException {
    String wanted = metadata(artifact).text();
    Path file = artifact.metadata();
    if (WRITES) {
      Files.createDirectories(file.getParent());
      Files.writeString(file, wanted);
    }

    assertTrue(Files.exists(file), () -> file + " is missing; " + REMEDY);
    assertEquals(
        wanted,
        Files.readString(file),
        () -> Artifact.ROOT.relativize(file) + " is not what the code gives rise to; " + REMEDY);
  }

  @Test
  void every_method_that_asks_was_reached() {
    Set<String> unreached = new TreeSet<>(asking());
    unreached.removeAll(LinkRecorder.reached());

    assertEquals(Set.of(), unreached, "let linkEverything call them");
    assertTrue(LinkRecorder.uses().size() > 150, "only " + LinkRecorder.uses().size());
  }

  @Test
  void nothing_is_asked_for_in_a_way_that_is_not_written_down() {
    Set<String> unknown = new TreeSet<>();
    for (Artifact artifact : Artifact.values()) {
      artifact
          .classes()
          .values()
          .forEach(file -> unknown.addAll(RecordingLoader.askingOtherwise(file)));
    }
    unknown.removeIf(method -> method.startsWith(JCUDA));

    assertEquals(Set.of(), unknown, "RecordingLoader must lead these calls through LinkRecorder");
  }

  @Test
  void a_changed_descriptor_or_a_missing_resource_changes_the_file() {
    Metadata with = new Metadata();
    Metadata without = new Metadata();
    LinkRecorder.Use call =
        new LinkRecorder.Use.Downcall(
            "x",
            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS),
            List.of(Linker.Option.captureCallState("errno"), Linker.Option.firstVariadicArg(1)));
    with.add(call);
    with.add(call);
    with.addResource("META-INF/services/some.Service", "# one\nsome.Provider\n".getBytes(UTF_8));

    assertFalse(with.text().equals(without.text()));
    assertEquals(
        """
        {
          "reflection" : [
            {
              "type" : "some.Provider",
              "methods" : [
                {
                  "name" : "<init>",
                  "parameterTypes" : [ ]
                }
              ]
            }
          ],
          "resources" : [
            {
              "glob" : "META-INF/services/some.Service"
            }
          ],
          "foreign" : {
            "downcalls" : [
              {
                "returnType" : "jint",
                "parameterTypes" : [
                  "void*"
                ],
                "options" : {
                  "captureCallState" : true,
                  "firstVariadicArg" : 1
                }
              }
            ],
            "upcalls" : [ ]
          }
        }
        """,
        with.text());
  }

  private static Metadata metadata(Artifact artifact) {
    Metadata metadata = new Metadata();
    LinkRecorder.uses().stream()
        .filter(use -> Artifact.of(use.by()) == artifact)
        .forEach(metadata::add);
    artifact.resources().forEach(metadata::addResource);
    return metadata;
  }

  private static Set<String> asking() {
    Set<String> methods = new HashSet<>();
    for (Artifact artifact : Artifact.values()) {
      artifact.classes().values().forEach(file -> methods.addAll(RecordingLoader.asking(file)));
    }
    methods.removeIf(method -> method.startsWith(JCUDA));
    return methods;
  }

  private static Class<?> type(String name) throws ClassNotFoundException {
    return Class.forName(name, true, loader);
  }

  /** A static method, of whatever access, by its name alone. */
  private static Object call(Class<?> type, String name, Object... arguments) throws Exception {
    for (Method method : type.getDeclaredMethods()) {
      if (method.getName().equals(name) && method.getParameterCount() == arguments.length) {
        method.setAccessible(true);
        return method.invoke(null, arguments);
      }
    }
    throw new NoSuchMethodException(type + "." + name);
  }

  private static int closed(int descriptor) throws Exception {
    return (int) (long) call(type("io.holdfast.internal.linux.LibcBindings"), "close", descriptor);
  }
}
