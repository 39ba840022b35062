package io.holdfast.backend.hip;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Availability;
import io.holdfast.Availability.Available;
import io.holdfast.Availability.Unavailable;
import io.holdfast.BackendKind;
import io.holdfast.Backends;
import io.holdfast.Transcript;
import io.holdfast.device.DeviceInfo;
import io.holdfast.spi.BackendProvider;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Why a machine cannot use the HIP backend, told apart: each machine is a folder, each library
 * compiled.
 */
final class HipProbeTest {
  @TempDir Path machine;

  private final List<String> transcript = new ArrayList<>();
  private final Map<String, String> variables = new HashMap<>();
  private final Map<String, String> properties = new HashMap<>();
  private final Set<String> forbidden = new HashSet<>();

  @Test
  void b52_withoutLibraryAndNodeTheRuntimeIsToBeInstalled() {
    properties.put("holdfast.hip.library", machine.resolve("libamdhip64.so.7").toString());

    Unavailable why = probe();

    assertEquals(
        machine + "/libamdhip64.so.7 was not found, and there is no /dev/kfd", why.reason());
    assertEquals("Install the ROCm runtime, version 5.2 or later", why.remedy());
    assertAll(
        () -> assertTranscript("/dev/kfd: not there"),
        () -> assertTranscript("/dev/dri/renderD*: none"));
  }

  @Test
  void withoutLibraryButWithTheNodeThePathCanBeNamed() throws IOException {
    node("kfd");
    properties.put("holdfast.hip.library", machine.resolve("libamdhip64.so.7").toString());

    Unavailable why = probe();

    assertTrue(why.reason().endsWith("was not found although there is /dev/kfd"), why.reason());
    assertTrue(why.remedy().contains("holdfast.hip.library"), why.remedy());
  }

  @Test
  void relativeLibraryPathIsRefusedBeforeAnythingIsLoaded() {
    properties.put("holdfast.hip.library", "libamdhip64.so.7");

    Unavailable why = probe();

    assertEquals(
        "holdfast.hip.library is not followed: 'libamdhip64.so.7' is not an absolute path",
        why.reason());
    assertTranscript("libamdhip64.so.7: not loaded");
  }

  @Test
  void libraryThatOthersCanWriteToIsRefusedBeforeAnythingIsLoaded() throws IOException {
    Path library = counting();
    Files.setPosixFilePermissions(library, PosixFilePermissions.fromString("rwxrwxr-x"));

    Unavailable why = probe();

    assertEquals(
        "holdfast.hip.library is not followed: other users may write to " + library + " (mode 775)",
        why.reason());
    assertTrue(why.remedy().startsWith("chmod go-w '" + library + "'"), why.remedy());
    assertTranscript(library + ": not loaded: other users may write to ");
    assertTrue(transcript.stream().noneMatch(line -> line.startsWith("hipRuntimeGetVersion")));
  }

  @Test
  void aCompilerThatOthersCanWriteToIsNotTakenFromBesideTheRuntime() throws IOException {
    Path runtime = counting();
    DynamicLibrary.Opened opened = (DynamicLibrary.Opened) DynamicLibrary.open(runtime.toString());
    Path compiler = Files.copy(runtime, machine.resolve("libhiprtc.so.99"));
    Files.setPosixFilePermissions(compiler, PosixFilePermissions.fromString("rwxrwxrwx"));

    HipCompiler.Search.Absent absent =
        assertInstanceOf(
            HipCompiler.Search.Absent.class,
            HipCompiler.find(runtime.toString(), opened.symbols(), new HipVersion(990_000_000)));

    assertTrue(absent.why().contains("other users may write to " + compiler), absent.why());
  }

  @Test
  void libraryThatNeedsAnotherOneIsToldFromOneThatIsNotThere() throws IOException {
    counting();
    Path needed =
        CLibrary.compile(machine, "counting_libamdhip64.c", "libgone.so", "-DCOUNT_CODE=0");
    Path needing =
        CLibrary.compile(
            machine,
            "counting_libamdhip64.c",
            "libneeding.so",
            "-Wl,--no-as-needed",
            "-L" + machine,
            "-lgone");
    Files.delete(needed);
    properties.put("holdfast.hip.library", needing.toString());

    Unavailable why = probe();

    assertTrue(
        why.reason().startsWith(needing + " is there but cannot be opened: libgone.so"),
        why.reason());
  }

  @Test
  void libraryThatLacksExportsIsRefusedByTheirNames() {
    counting("-DWITHOUT_COUNT");

    Unavailable why = probe();

    assertTrue(why.reason().endsWith("it lacks hipGetDeviceCount"), why.reason());
  }

  @Test
  void noDeviceWithoutTheNodeAsksForTheKernelModule() {
    counting();

    Unavailable why = probe();

    assertEquals(
        "the HIP runtime is there, but no /dev/kfd: hipGetDeviceCount answered 100", why.reason());
    assertAll(
        () -> assertTranscript("hipRuntimeGetVersion: 60443484, HIP 6.4.43484"),
        () ->
            assertTranscript(
                "hipGetDeviceCount: 100 hipErrorNoDevice, no ROCm-capable device is detected"));
  }

  @Test
  void version5AnswersAnotherCodeForTheSameThing() {
    counting("-DCOUNT_CODE=101", "-DVERSION=50221153");

    Unavailable why = probe();

    assertEquals(
        "the HIP runtime is there, but no /dev/kfd: hipGetDeviceCount answered 101", why.reason());
    assertTranscript("HIP 5.2.21153");
  }

  @Test
  void forbiddenNodesAskForTheGroups() throws IOException {
    node("kfd");
    node("dri/renderD128");
    node("dri/renderD129");
    node("dri/card0");
    forbidden.addAll(List.of("kfd", "renderD129", "card0"));
    counting();

    Unavailable why = probe();

    assertEquals(
        "no permission to read and write /dev/kfd, /dev/dri/renderD129:"
            + " hipGetDeviceCount answered 100",
        why.reason());
    assertTrue(why.remedy().contains("render and video"), why.remedy());
    assertTranscript("/dev/dri/renderD128: readable and writable");
  }

  @Test
  void missingRenderNodesAreNamed() throws IOException {
    node("kfd");
    counting();

    Unavailable why = probe();

    assertEquals(
        "/dev/kfd is there, but no /dev/dri/renderD*: hipGetDeviceCount answered 100",
        why.reason());
  }

  @Test
  void hiddenDevicesNameTheVariable() throws IOException {
    node("kfd");
    node("dri/renderD128");
    variables.put("ROCR_VISIBLE_DEVICES", "");
    counting();

    Unavailable why = probe();

    assertEquals(
        "no device is visible with ROCR_VISIBLE_DEVICES='': hipGetDeviceCount answered 100",
        why.reason());
    assertTranscript("ROCR_VISIBLE_DEVICES: ''");
  }

  @Test
  void anyOtherAnswerIsSpelledOut() {
    counting("-DCOUNT_CODE=999");

    Unavailable why = probe();

    assertEquals(
        "the HIP runtime does not start: hipGetDeviceCount answered 999 hipErrorUnknown",
        why.reason());
  }

  @Test
  void handledFailureLeavesNoLastErrorToOthersOnTheThread() {
    Path library = counting();

    probe();

    DynamicLibrary.Opened opened = (DynamicLibrary.Opened) DynamicLibrary.open(library.toString());
    assertEquals(0, new HipBindings("counting", opened.symbols()).hipGetLastError());
  }

  @Test
  void aRuntimeThatIsTooOldIsRefusedByItsVersion() {
    counting("-DCOUNT_CODE=0", "-DCOUNT=1", "-DVERSION=50120532");

    assertEquals(
        "the HIP runtime is 5.1.20532, and 5.2 is the oldest that is known", probe().reason());
  }

  @Test
  void aRuntimeWithDevicesIsAvailableAndItsFeaturesAreInTheTranscript() {
    properties.put(
        "holdfast.hip.library", PretendRuntime.library(machine, PretendRuntime.HIP_7_2).toString());

    Available available = assertInstanceOf(Available.class, availability());

    assertEquals(
        List.of("Pretend 0", "Pretend 1"),
        available.devices().stream().map(DeviceInfo::name).toList());
    assertTrue(available.version().startsWith("HIP runtime 7.2.26015, "), available.version());
    assertAll(
        () -> assertTranscript("hipGetDeviceCount: 2 devices"),
        () -> assertTranscript("batched copies: exported, as a loop inside the runtime"),
        () -> assertTranscript("virtual memory: exported"),
        () -> assertTranscript("system property holdfast.hip.kernels: off"));
  }

  @Test
  void whatIsExportedAndDoesNotWorkIsSaidInTheTranscript() {
    properties.put(
        "holdfast.hip.library", PretendRuntime.library(machine, PretendRuntime.HIP_5_2).toString());

    assertInstanceOf(Available.class, availability());

    assertAll(
        () -> assertTranscript("virtual memory: exported, and hollow before 6.1"),
        () -> assertTranscript("memory by file descriptor: exported, and refused before 6.2"),
        () -> assertTranscript("batched copies: absent"));
  }

  /** Loading Debian's makes the Java runtime warn of the stack guard on every start. */
  @Test
  void withoutADeviceNodeAndWithoutAPathNothingIsLoaded() throws IOException {
    Unavailable why = probe();

    assertEquals(
        "there is no /dev/kfd, so no AMD device and no need to load the HIP runtime", why.reason());
    assertTranscript("libamdhip64: not loaded");
    node("dxg"); // Windows' kernel for Linux has this one instead
    assertFalse(probe().reason().contains("no need to load"), probe()::reason);
  }

  @Test
  void aLibraryThatAsksForAnExecutableStackIsNamedBeforeTheJavaRuntimeWarns() {
    Path asking =
        CLibrary.compile(machine, "counting_libamdhip64.c", "libasking.so", "-Wl,-z,execstack");
    Path plain = CLibrary.compile(machine, "counting_libamdhip64.c", "libplain.so");

    assertTrue(ExecutableStack.isAskedFor(asking));
    assertFalse(ExecutableStack.isAskedFor(plain));
    assertFalse(ExecutableStack.isAskedFor(machine.resolve("libnone.so")));
    assertFalse(ExecutableStack.isAskedFor(Path.of("/proc/self/maps")));
  }

  @Test
  void runtimeThatSomethingElseLoadedWinsOverThePathGiven() throws IOException {
    Path loaded = counting("-DVERSION=60443484");
    Path other = machine.resolve("other/libamdhip64.so.7");
    properties.put("holdfast.hip.library", other.toString());
    Files.createDirectories(machine.resolve("proc/self"));
    Files.writeString(
        machine.resolve("proc/self/maps"),
        "7f0000000000-7f0000001000 r-xp 00000000 00:00 0    " + loaded + "\n");

    probe();

    assertTranscript(loaded + " is loaded already, so it is taken");
    assertTranscript("HIP 6.4.43484");
  }

  @Test
  void discoveryFindsTheProviderOnceByBothOfItsRegistrations() throws IOException {
    List<Transcript.Entry> entries =
        Backends.discover().entries().stream().filter(entry -> entry.id().equals("hip")).toList();

    assertEquals(1, entries.size());
    assertEquals(Optional.of(BackendKind.HARDWARE), entries.getFirst().kind());
    assertEquals(BackendProvider.SPI_VERSION, new HipProvider().spiVersion());
    String services = "/META-INF/services/" + BackendProvider.class.getName();
    try (var registered = HipProvider.class.getResourceAsStream(services)) {
      assertNotNull(registered, "no " + services + " for the class path");
      assertEquals(
          HipProvider.class.getName(), new String(registered.readAllBytes(), UTF_8).strip());
    }
  }

  private Path counting(String... flags) {
    Path library = CLibrary.compile(machine, "counting_libamdhip64.c", "libamdhip64.so.7", flags);
    properties.put("holdfast.hip.library", library.toString());
    return library;
  }

  private void node(String name) throws IOException {
    Path file = machine.resolve("dev").resolve(name);
    Files.createDirectories(file.getParent());
    Files.createFile(file);
  }

  private Unavailable probe() {
    return assertInstanceOf(Unavailable.class, availability());
  }

  private Availability availability() {
    Surroundings around =
        new Surroundings(
            machine,
            variables::get,
            properties::get,
            file -> !forbidden.contains(file.getFileName().toString()));
    return HipProvider.probe(around, (what, outcome) -> transcript.add(what + ": " + outcome));
  }

  private void assertTranscript(String part) {
    assertTrue(
        transcript.stream().anyMatch(line -> line.contains(part)),
        () -> part + " is not in\n" + String.join("\n", transcript));
  }
}
