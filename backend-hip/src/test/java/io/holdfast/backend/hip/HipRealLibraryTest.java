package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/**
 * Layer a: AMD's own runtime where it is installed, on a host without a device. Each in a JVM of
 * its own, since Debian's library makes the stack executable and the runtime stays loaded.
 */
final class HipRealLibraryTest {
  private static final List<String> PLACES =
      List.of(
          "/usr/lib/x86_64-linux-gnu/libamdhip64.so.5",
          "/usr/lib/x86_64-linux-gnu/libamdhip64.so.6",
          "/usr/lib/x86_64-linux-gnu/libamdhip64.so.7",
          "/opt/rocm/lib/libamdhip64.so.7",
          "/opt/rocm/lib/libamdhip64.so.6",
          "/opt/rocm/lib/libamdhip64.so.5");

  private static final int HIP_5_2_3 = 50_221_153;

  /** Runs in the child: one line for each thing it finds, with what it found. */
  static final class Child {
    private Child() {}

    public static void main(String[] arguments) {
      switch (arguments[0]) {
        case "probe" -> probe();
        case "calls" -> calls(arguments[1]);
        case "kernels" -> kernels(arguments[1]);
        default -> throw new IllegalArgumentException(arguments[0]);
      }
    }

    private static void tell(String what, Object found) {
      System.out.println(what + " = " + found); // the parent reads it
    }

    private static void probe() {
      tell("outcome", new HipProvider().probe(Child::tell));
    }

    private static HipBindings bindings(String library) {
      return new HipBindings(
          library, ((DynamicLibrary.Opened) DynamicLibrary.open(library)).symbols());
    }

    private static void calls(String library) {
      HipBindings hip = bindings(library);
      tell("missing", hip.missing());
      for (HipFeature feature : HipFeature.values()) {
        tell(feature.name(), hip.offers(feature));
      }
      for (int code : new int[] {0, 1, 100, 101, 713, 801, 12_345}) {
        tell("name " + code, hip.hipGetErrorName(code));
      }
      tell("text 1", hip.hipGetErrorString(1));
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment out = arena.allocate(64, 8);
        MemorySegment host = arena.allocate(1 << 16, 4096);
        tell("driver version", hip.hipDriverGetVersion(out));
        tell("runtime version", hip.hipRuntimeGetVersion(out));
        tell("version", out.get(JAVA_INT, 0));
        out.set(JAVA_INT, 0, 7);
        tell("count", hip.hipGetDeviceCount(out));
        tell("counted", out.get(JAVA_INT, 0));
        tell("last error", hip.hipGetLastError());
        tell("last error again", hip.hipPeekAtLastError());
        tell("set device", hip.hipSetDevice(0));
        tell("get device", hip.hipGetDevice(out));
        tell("register", hip.hipHostRegister(host.address(), 1 << 16, 3));
        tell("malloc", hip.hipMalloc(out, 4096));
        tell("stream", hip.hipStreamCreateWithPriority(out, 1, 0));
        tell("event", hip.hipEventCreateWithFlags(out, 2));
        tell("reserve", hip.hipMemAddressReserve(out, 1 << 21, 0, 0, 0));
        tell("attribute", hip.hipDeviceGetAttribute(out, 85, 0));
      }
    }

    private static void kernels(String library) {
      switch (bindings(library).compiler(new HipVersion(HIP_5_2_3))) {
        case HipCompiler.Search.Absent absent -> tell("compiler", absent.why());
        case HipCompiler.Search.Found found -> {
          try (Arena arena = Arena.ofConfined()) {
            // An architecture that it does not know crashes 5.2.3, so one is given always.
            for (String what : new String[] {"gfx90a", "gfx908", "wrong"}) {
              String[] more =
                  what.equals("wrong")
                      ? new String[] {"--offload-arch=gfx90a", "-Du64=+"}
                      : new String[] {"--offload-arch=" + what};
              switch (found.compiler().compile(64, arena, more)) {
                case HipCompiler.Outcome.Refused no -> tell(what, "refused: " + no.why());
                case HipCompiler.Outcome.Compiled done -> {
                  String code =
                      new String(done.image().toArray(JAVA_BYTE), StandardCharsets.ISO_8859_1);
                  tell(
                      what,
                      "compiled: "
                          + code.contains("holdfast_copy_like.kd")
                          + " "
                          + code.contains("holdfast_copy_mixed.kd"));
                }
              }
            }
          }
        }
      }
    }
  }

  @Test
  void theNoDevicePathIsRightAndTheExecutableStackIsNamed() throws Exception {
    Path library = library();
    Map<String, String> found = run(List.of("-Dholdfast.hip.library=" + library), "probe");

    assertTrue(
        found.get("outcome").contains("the HIP runtime is there, but no /dev/kfd"),
        found::toString);
    assertEquals("all that are needed", found.get("exports of " + library), found::toString);
    assertEquals(
        ExecutableStack.isAskedFor(library), found.containsKey("PT_GNU_STACK of " + library));
  }

  /** What a user of the command sees on a host with Debian's package and without a device. */
  @Test
  void withoutAPathTheLibraryIsNotLoadedAndTheJavaRuntimeDoesNotWarn() throws Exception {
    Path library = library();
    Assumptions.assumeFalse(Files.exists(Path.of("/dev/dxg")), "skipped: there is a /dev/dxg");
    Map<String, String> found = run(List.of(), "probe");

    assertTrue(found.containsKey("libamdhip64"), found::toString);
    assertTrue(found.get("outcome").contains("no need to load"), found::toString);
    assertFalse(found.toString().contains("stack guard"), found::toString);
    assertFalse(found.toString().contains(library.toString()), found::toString);
  }

  @Test
  void everyCallAnswersThatThereIsNoDeviceAndNoneCrashes() throws Exception {
    Path library = library();
    Map<String, String> found = run(List.of(), "calls", library.toString());
    HipVersion version = new HipVersion(Integer.parseInt(found.get("version")));
    String none = version.number() < 60_000_000 ? "101" : "100";

    assertAll(
        () -> assertEquals("[]", found.get("missing")),
        () -> assertEquals("hipSuccess", found.get("name 0")),
        () -> assertEquals("hipErrorInvalidValue", found.get("name 1")),
        () -> assertEquals("hipErrorNoDevice", found.get("name 100")),
        () -> assertEquals("hipErrorInvalidDevice", found.get("name 101")),
        () -> assertEquals("hipErrorHostMemoryNotRegistered", found.get("name 713")),
        () -> assertEquals("hipErrorNotSupported", found.get("name 801")),
        () -> assertEquals("hipErrorUnknown", found.get("name 12345")),
        () -> assertEquals("0", found.get("driver version")),
        () -> assertEquals("0", found.get("runtime version")),
        () -> assertEquals("100", found.get("count")),
        () -> assertEquals("0", found.get("counted")),
        () -> assertFalse(found.get("last error").equals("0"), found::toString),
        () -> assertEquals(none, found.get("register")),
        () -> assertEquals(none, found.get("malloc")),
        () -> assertEquals(none, found.get("stream")),
        () -> assertEquals(none, found.get("event")),
        () -> assertEquals(none, found.get("reserve")));
  }

  @Test
  void version523HasTheExportsThatTheGatesSay() throws Exception {
    Map<String, String> found = run(List.of(), "calls", library().toString());
    Assumptions.assumeTrue(
        found.get("version").equals(String.valueOf(HIP_5_2_3)),
        "skipped: this runtime is " + found.get("version") + " and not 5.2.3");
    Map<HipFeature, Boolean> offers = new TreeMap<>();
    for (HipFeature feature : HipFeature.values()) {
      offers.put(feature, Boolean.valueOf(found.get(feature.name())));
    }

    assertEquals("hipErrorInvalidValue", found.get("text 1")); // the name again
    assertEquals(
        new TreeMap<>(
            Map.of(
                HipFeature.BATCH_COPY, false,
                HipFeature.PITCHED_COPY, true,
                HipFeature.HOST_ALLOCATION, true,
                HipFeature.VIRTUAL_MEMORY, true, // exported, and hollow
                HipFeature.FILE_DESCRIPTORS, true,
                HipFeature.DMA_BUF, false,
                HipFeature.STREAM_DEVICE, false,
                HipFeature.KERNEL_COPY, true)),
        offers);
    assertFalse(new HipVersion(HIP_5_2_3).virtualMemoryIsReal());
  }

  /** AMD's compiler takes the shared source for wavefronts of 64; nothing is run. */
  @Test
  void theRuntimeCompilerTakesTheCopyKernels() throws Exception {
    Map<String, String> found = run(List.of(), "kernels", library().toString());
    Assumptions.assumeFalse(found.containsKey("compiler"), "skipped: " + found.get("compiler"));

    assertEquals("compiled: true true", found.get("gfx90a"), found::toString);
    assertEquals("compiled: true true", found.get("gfx908"), found::toString);
    String refusal = found.get("wrong");
    assertTrue(
        refusal.startsWith("refused: hiprtcCompileProgram answered 6 (HIPRTC_ERROR_COMPILATION): ")
            && refusal.contains("error: "),
        refusal);
  }

  private static Path library() {
    String named = System.getProperty("holdfast.test.hip.library", "");
    Path library =
        Stream.concat(Stream.of(named).filter(path -> !path.isEmpty()), PLACES.stream())
            .map(Path::of)
            .filter(Files::exists)
            .findFirst()
            .orElseGet(
                () ->
                    Assumptions.abort(
                        "skipped: no libamdhip64 in "
                            + PLACES
                            + " (install libamdhip64-5, or set holdfast.test.hip.library)"));
    Assumptions.assumeFalse(
        Files.exists(Path.of("/dev/kfd")), "skipped: this host has a /dev/kfd, and so a device");
    return library;
  }

  /** What the child tells, by what it tells it of; other lines under their own text. */
  private static Map<String, String> run(List<String> options, String... arguments)
      throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Xmx256m",
                "-cp",
                String.join(
                    ":",
                    System.getProperty("java.class.path"),
                    System.getProperty("jdk.module.path", ""), // where tests run inside the module
                    Path.of("target", "test-classes").toAbsolutePath().toString())));
    command.addAll(options);
    command.add(Child.class.getName());
    command.addAll(List.of(arguments));
    Process child = new ProcessBuilder(command).redirectErrorStream(true).start();
    Map<String, String> found = new TreeMap<>();
    try (var output = child.inputReader()) {
      output
          .lines()
          .forEach(
              line -> {
                int equals = line.indexOf(" = ");
                found.put(
                    equals < 0 ? line : line.substring(0, equals),
                    equals < 0 ? "" : line.substring(equals + 3));
              });
    }
    assertEquals(0, child.waitFor(), found::toString);
    return found;
  }
}
