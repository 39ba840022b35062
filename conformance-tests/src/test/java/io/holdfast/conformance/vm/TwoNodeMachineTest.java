package io.holdfast.conformance.vm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicContainer;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.opentest4j.TestAbortedException;

/**
 * Boots the two-node machine once for each kernel that {@code vm/kernels} has fetched, runs the
 * guest's tests in it, and counts each of them as a test of this build.
 */
@Tag("full")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class TwoNodeMachineTest {
  private static final int SKIPPED = 77;
  private static final int LEAST_TESTS = 60;

  private static final List<Class<?>> TESTS =
      List.of(
          GuestPolicies.class,
          GuestInherit.class,
          GuestNearest.class,
          GuestShortage.class,
          GuestNuma.class,
          GuestWrongNode.class);

  @TempDir Path folder;

  @TestFactory
  Stream<DynamicNode> on_each_kernel() throws IOException {
    Path kernels = kernels();
    List<Path> found = new ArrayList<>();
    if (Files.isDirectory(kernels)) {
      try (Stream<Path> all = Files.list(kernels)) {
        all.filter(kernel -> Files.exists(kernel.resolve("vmlinuz"))).sorted().forEach(found::add);
      }
    }
    assumeTrue(
        !found.isEmpty(),
        "needs a kernel in " + kernels + ": conformance-tests/vm/kernels fetches some");
    return found.stream().map(this::on);
  }

  private static Path kernels() {
    String named = System.getenv("HOLDFAST_VM_KERNELS");
    if (named != null) {
      return Path.of(named);
    }
    String cache = System.getenv("XDG_CACHE_HOME");
    return (cache != null ? Path.of(cache) : Path.of(System.getProperty("user.home"), ".cache"))
        .resolve("holdfast/vm-kernels");
  }

  private DynamicNode on(Path kernel) {
    String name = kernel.getFileName().toString();
    return DynamicContainer.dynamicContainer(name, Stream.of(kernel).flatMap(this::boot));
  }

  // A machine that does not come up is one failed test, or one skipped, of its kernel.
  private Stream<DynamicNode> boot(Path kernel) {
    try {
      Path out = Files.createDirectory(folder.resolve(kernel.getFileName()));
      List<String> command = new ArrayList<>();
      command.add(vm().resolve("two-nodes").toString());
      command.add(kernel.toString());
      command.add(out.toString());
      command.addAll(guest());
      Path messages = out.resolve("messages");
      Process process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(messages.toFile())
              .start();
      int status = process.waitFor();
      String said = read(messages);
      if (status == SKIPPED) {
        return Stream.of(
            DynamicTest.dynamicTest(
                "the machine boots",
                () -> {
                  throw new TestAbortedException(said.strip());
                }));
      }
      return results(status, said, out);
    } catch (IOException | InterruptedException failure) {
      return Stream.of(
          DynamicTest.dynamicTest("the machine boots", () -> fail(failure.toString(), failure)));
    }
  }

  private static Path vm() {
    Path here = Path.of("vm").toAbsolutePath();
    return Files.exists(here) ? here : Path.of("conformance-tests/vm").toAbsolutePath();
  }

  /** The guest's command: our classes and libraries, wherever this build has them. */
  private static List<String> guest() {
    Set<String> places = new LinkedHashSet<>();
    places.add(home(GuestMain.class));
    for (String property :
        List.of("java.class.path", "surefire.test.class.path", "jdk.module.path")) {
      Arrays.stream(System.getProperty(property, "").split(File.pathSeparator, -1))
          .filter(place -> !place.isEmpty())
          .map(place -> Path.of(place).toAbsolutePath().toString())
          .forEach(places::add);
    }
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            String.join(File.pathSeparator, places),
            GuestMain.class.getName(),
            "/out/results"));
    TESTS.forEach(type -> command.add(type.getName()));
    return command;
  }

  // Where a class file really lies; a patched module names its own place for test classes too.
  private static String home(Class<?> type) {
    String name = type.getName().replace('.', '/') + ".class";
    String url = Objects.requireNonNull(type.getResource("/" + name)).toString();
    return Path.of(URI.create(url.substring(0, url.length() - name.length()))).toString();
  }

  private static Stream<DynamicNode> results(int status, String said, Path out) throws IOException {
    Map<String, List<DynamicNode>> tests = new LinkedHashMap<>();
    String running = "";
    boolean ended = false;
    int count = 0;
    for (String line : read(out.resolve("results")).lines().toList()) {
      String[] fields = line.split("\t", -1);
      String text = new String(Base64.getDecoder().decode(fields[3]), StandardCharsets.UTF_8);
      switch (fields[0]) {
        case "begin" -> running = fields[1] + " " + fields[2];
        case "end" -> ended = true;
        default -> {
          running = "";
          count++;
          tests
              .computeIfAbsent(fields[1], _ -> new ArrayList<>())
              .add(DynamicTest.dynamicTest(fields[2], () -> replay(fields[0], text)));
        }
      }
    }
    List<DynamicNode> nodes = new ArrayList<>();
    tests.forEach(
        (type, its) ->
            nodes.add(
                DynamicContainer.dynamicContainer(type.substring(type.lastIndexOf('.') + 1), its)));
    boolean whole = ended;
    int seen = count;
    String during = running;
    String console = said + read(out.resolve("output")) + read(out.resolve("console.log"));
    nodes.add(
        DynamicTest.dynamicTest(
            "the machine ran all of its tests to the end",
            () -> {
              assertEquals(0, status, console);
              assertTrue(whole, "it stopped in " + during + ":\n" + console);
              assertTrue(seen >= LEAST_TESTS, "only " + seen + " tests were run");
            }));
    return nodes.stream();
  }

  private static void replay(String status, String text) {
    switch (status) {
      case "SUCCESSFUL" -> {}
      case "ABORTED" -> throw new TestAbortedException(text);
      default -> fail(text);
    }
  }

  private static String read(Path file) throws IOException {
    return Files.exists(file) ? Files.readString(file) : "";
  }
}
