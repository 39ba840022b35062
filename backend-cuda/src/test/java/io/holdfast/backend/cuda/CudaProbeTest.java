package io.holdfast.backend.cuda;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Availability.Unavailable;
import io.holdfast.BackendKind;
import io.holdfast.Backends;
import io.holdfast.Transcript;
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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Why a machine cannot use the CUDA backend, told apart: each machine is a folder, each library
 * compiled.
 */
final class CudaProbeTest {
  private static final String MODULE_TEXT =
      """
      NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (builder@host)
      GCC version:  gcc version 14.2.0
      """;

  @TempDir Path machine;

  private final List<String> transcript = new ArrayList<>();
  private final Map<String, String> variables = new HashMap<>();
  private final Map<String, String> properties = new HashMap<>();
  private final Set<String> forbidden = new HashSet<>();

  @Test
  void withoutLibraryAndDeviceNodesTheDriverIsToBeInstalled() {
    properties.put("holdfast.cuda.library", machine.resolve("libcuda.so.1").toString());

    Unavailable why = probe();

    assertEquals(
        machine + "/libcuda.so.1 was not found, and there is no NVIDIA device node in /dev",
        why.reason());
    assertEquals("Install the NVIDIA driver, version 525 or later", why.remedy());
    assertAll(
        () -> assertTranscript("/dev/nvidia*: none"),
        () -> assertTranscript("/proc/driver/nvidia/version: not there"),
        () -> assertTranscript("system property holdfast.cuda.library: " + machine),
        () -> assertTranscript("cannot open shared object file: No such file or directory"));
  }

  @Test
  void withoutLibraryButWithDeviceNodesTheContainerIsToBlame() throws IOException {
    node("nvidiactl");
    node("nvidia0");
    properties.put("holdfast.cuda.library", machine.resolve("libcuda.so.1").toString());

    Unavailable why = probe();

    assertTrue(
        why.reason().endsWith("although there are NVIDIA device nodes in /dev"), why.reason());
    assertTrue(why.remedy().contains("NVIDIA_DRIVER_CAPABILITIES=compute,utility"), why.remedy());
    assertTranscript("/dev/nvidia0: readable and writable");
  }

  @Test
  void relativeLibraryPathIsRefusedBeforeAnythingIsLoaded() {
    properties.put("holdfast.cuda.library", "libcuda.so.1");

    Unavailable why = probe();

    assertEquals(
        "holdfast.cuda.library is not followed: 'libcuda.so.1' is not an absolute path",
        why.reason());
    assertTranscript("libcuda.so.1: not loaded");
  }

  @Test
  void libraryThatOthersCanWriteToIsRefusedBeforeAnythingIsLoaded() throws IOException {
    refusing();
    Path library = machine.resolve("libcuda.so.1");
    Files.setPosixFilePermissions(library, PosixFilePermissions.fromString("rwxr-xrwx"));

    Unavailable why = probe();

    assertEquals(
        "holdfast.cuda.library is not followed: other users may write to "
            + library
            + " (mode 757)",
        why.reason());
    assertTrue(why.remedy().startsWith("chmod go-w '" + library + "'"), why.remedy());
    assertTranscript(library + ": not loaded: other users may write to ");
    assertTrue(transcript.stream().noneMatch(line -> line.startsWith("exports of")));
  }

  @Test
  void folderThatOthersCanWriteToIsRefusedToo() throws IOException {
    refusing();
    Path folder = Files.createDirectory(machine.resolve("open"));
    Path library = Files.copy(machine.resolve("libcuda.so.1"), folder.resolve("libcuda.so.1"));
    Files.setPosixFilePermissions(library, PosixFilePermissions.fromString("rwxr-xr-x"));
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxrwxr-x"));
    properties.put("holdfast.cuda.library", library.toString());

    assertTrue(probe().reason().endsWith("other users may write to " + folder + " (mode 775)"));
  }

  @Test
  void libraryThatNeedsAnotherOneIsToldFromOneThatIsNotThere() throws IOException {
    Path needed = CLibrary.compile(machine, "refusing_libcuda.c", "libgone.so");
    refusing("-Wl,--no-as-needed", "-L" + machine, "-lgone");
    Files.delete(needed);

    Unavailable why = probe();

    assertTrue(
        why.reason()
            .startsWith(machine + "/libcuda.so.1 is there but cannot be opened: libgone.so"),
        why.reason());
  }

  @Test
  void libraryThatLacksExportsIsRefusedByTheirNames() {
    refusing("-DWITHOUT_STREAMS");

    Unavailable why = probe();

    assertTrue(why.reason().endsWith("it lacks cuStreamSynchronize, cuStreamQuery"), why.reason());
  }

  @Test
  void stubForLinkingIsToldFromDriver() {
    refusing("-DVERSION_CODE=34");

    Unavailable why = probe();

    assertEquals(
        "libcuda.so.1 is the toolkit's stub for linking, not a driver: it answered 34",
        why.reason());
    assertTrue(why.remedy().contains("stubs"), why.remedy());
  }

  @Test
  void driverOlderThanCuda12IsRefusedWithBothVersions() {
    refusing("-DVERSION=11080");

    Unavailable why = probe();

    assertEquals(
        "the driver speaks CUDA 11.8, and 12.0 is the oldest that can be used", why.reason());
  }

  @Test
  void noDeviceWithoutNodesAsksForTheKernelModule() {
    refusing("-DINIT_CODE=100");

    Unavailable why = probe();

    assertEquals(
        "the driver library is there, but no NVIDIA device node in /dev: cuInit answered 100",
        why.reason());
    assertAll(
        () -> assertTranscript("cuDriverGetVersion: 13000, CUDA 13.0"),
        () -> assertTranscript("cuInit: 100 CUDA_ERROR_NO_DEVICE"),
        () -> assertTranscript("batched copies: absent"));
  }

  @Test
  void noDeviceBehindHiddenDevicesNamesTheVariable() throws IOException {
    node("nvidiactl");
    node("nvidia0");
    variables.put("CUDA_VISIBLE_DEVICES", "7");
    refusing("-DINIT_CODE=100");

    Unavailable why = probe();

    assertEquals(
        "no device is visible with CUDA_VISIBLE_DEVICES='7': cuInit answered 100", why.reason());
    assertTranscript("CUDA_VISIBLE_DEVICES: '7'");
  }

  @Test
  void noDeviceBehindForbiddenNodesNamesThem() throws IOException {
    node("nvidiactl");
    node("nvidia-uvm");
    node("nvidia0");
    node("nvidia-modeset"); // not one that CUDA opens
    forbidden.addAll(List.of("nvidia0", "nvidia-uvm", "nvidia-modeset"));
    variables.put("CUDA_VISIBLE_DEVICES", "7");
    refusing("-DINIT_CODE=100");

    Unavailable why = probe();

    assertEquals(
        "no permission to read and write /dev/nvidia-uvm, /dev/nvidia0: cuInit answered 100",
        why.reason());
    assertTranscript("/dev/nvidia-uvm: no permission");
  }

  @Test
  void mismatchOfLibraryAndModuleNamesBothVersions() throws IOException {
    Files.createDirectories(machine.resolve("proc/driver/nvidia"));
    Files.writeString(machine.resolve("proc/driver/nvidia/version"), MODULE_TEXT);
    refusing("-DINIT_CODE=803", "-DVERSION=12080");

    Unavailable why = probe();

    assertEquals(
        "the driver library (CUDA 12.8) and the kernel module (580.159.04) do not belong together:"
            + " cuInit answered 803",
        why.reason());
    assertTranscript("/proc/driver/nvidia/version: 580.159.04");
  }

  @ParameterizedTest
  @CsvSource({
    "3, forked, new process",
    "46, exclusive mode, compute mode",
    "304, kernel module, nvidia_uvm",
    "802, not ready, fabric manager",
    "804, forward-compatibility, compat",
    "805, multi-process service, MPS daemon",
    "999, CUDA_ERROR_UNKNOWN, nvidia_uvm",
    "12345, does not start, nvidia-smi",
  })
  void everyOtherRefusalHasItsOwnReason(int code, String reason, String remedy) {
    refusing("-DINIT_CODE=" + code);

    Unavailable why = probe();

    assertAll(
        () -> assertTrue(why.reason().contains(reason), why.reason()),
        () -> assertTrue(why.reason().contains(String.valueOf(code)), why.reason()),
        () -> assertTrue(why.remedy().contains(remedy), why.remedy()));
  }

  @Test
  void kernelModuleIsReadInBothItsForms() {
    String closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 2023\n";

    assertEquals(580, KernelModule.parse(MODULE_TEXT).orElseThrow().branch());
    assertEquals("535.104.05", KernelModule.parse(closed).orElseThrow().version());
    assertTrue(KernelModule.parse("nouveau").isEmpty());
  }

  @Test
  void discoveryFindsTheProviderOnceByBothOfItsRegistrations() throws IOException {
    List<Transcript.Entry> entries =
        Backends.discover().entries().stream().filter(entry -> entry.id().equals("cuda")).toList();

    assertEquals(1, entries.size());
    assertEquals(Optional.of(BackendKind.HARDWARE), entries.getFirst().kind());
    assertEquals(BackendProvider.SPI_VERSION, new CudaProvider().spiVersion());
    String services = "/META-INF/services/" + BackendProvider.class.getName();
    try (var registered = CudaProvider.class.getResourceAsStream(services)) {
      assertNotNull(registered, "no " + services + " for the class path");
      assertEquals(
          CudaProvider.class.getName(), new String(registered.readAllBytes(), UTF_8).strip());
    }
  }

  private void refusing(String... flags) {
    Path library = CLibrary.compile(machine, "refusing_libcuda.c", "libcuda.so.1", flags);
    properties.put("holdfast.cuda.library", library.toString());
  }

  private void node(String name) throws IOException {
    Files.createDirectories(machine.resolve("dev"));
    Files.createFile(machine.resolve("dev").resolve(name));
  }

  private Unavailable probe() {
    Surroundings around =
        new Surroundings(
            machine,
            variables::get,
            properties::get,
            file -> !forbidden.contains(file.getFileName().toString()));
    return (Unavailable)
        CudaProvider.probe(around, (what, outcome) -> transcript.add(what + ": " + outcome));
  }

  private void assertTranscript(String part) {
    assertTrue(
        transcript.stream().anyMatch(line -> line.contains(part)),
        () -> part + " is not in\n" + String.join("\n", transcript));
  }
}
