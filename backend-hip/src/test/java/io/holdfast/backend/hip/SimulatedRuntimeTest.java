package io.holdfast.backend.hip;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Availability.Unavailable;
import io.holdfast.BackendKind;
import io.holdfast.backend.cpusim.driver.Personalities;
import io.holdfast.backend.cpusim.shim.NativeShim;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The true binding on the simulated runtime's library, with the ways of every version that the
 * simulator knows: the checks that run on GPU hosts pass, and nothing is left behind.
 */
final class SimulatedRuntimeTest {
  @TempDir Path folder;

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  static Stream<String> versions() {
    return SimulatedRuntime.VERSIONS.stream();
  }

  @Test
  void allVersionsOfTheIssueAreThere() {
    assertEquals(
        List.of("hip-5.2", "hip-5.7", "hip-6.4", "hip-7.0", "hip-7.1", "hip-7.2", "hip-7.15"),
        SimulatedRuntime.VERSIONS);
  }

  @Test
  void everyExportIsAnsweredAndEveryAnswerIsExported() {
    try (SimulatedRuntime runtime = new SimulatedRuntime(folder, "hip-7.15")) {
      assertEquals(
          runtime.table().names(), new TreeSet<>(NativeShim.exportedBy(runtime.symbols())));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"hip-5.2", "hip-7.2"})
  void theSelfCheckPassesOnAHollowAndOnARealVersion(String version) {
    theSelfCheckPasses(version);
  }

  @ParameterizedTest
  @Tag("full")
  @MethodSource("versions")
  void theSelfCheckPassesOnEveryVersion(String version) {
    theSelfCheckPasses(version);
  }

  private void theSelfCheckPasses(String version) {
    try (SimulatedRuntime runtime = new SimulatedRuntime(folder, version)) {
      assertEquals(0, selfCheck(runtime), this::words);

      assertTrue(words().contains("PASS  engine  KERNEL: wrong blocks in "), this::words);
      assertFalse(runtime.launches().seen().isEmpty());
      assertEquals("nothing leaked", runtime.audit().toString());
    }
  }

  @ParameterizedTest
  @MethodSource("versions")
  void whatAVersionLacksIsAbsentAndNotAFailure(String version) {
    try (SimulatedRuntime runtime = new SimulatedRuntime(folder, version)) {
      HipBindings bindings = runtime.bindings();

      assertEquals(List.of(), bindings.missing());
      assertEquals(
          runtime.machine().calls().personality().copies().batch().present(),
          bindings.offers(HipFeature.BATCH_COPY));
      assertEquals(!version.equals("hip-5.2"), bindings.offers(HipFeature.STREAM_DEVICE));
    }
  }

  /** 5.x has another code for it; both mean the same, and neither stays as the last error. */
  @ParameterizedTest
  @CsvSource({"hip-5.2", "hip-6.4", "hip-7.15"})
  void withoutADeviceTheReasonIsToldAndNothingIsThrown(String version) {
    try (SimulatedRuntime runtime = new SimulatedRuntime(folder, Personalities.named(version), 0)) {
      Unavailable why =
          assertInstanceOf(
              Unavailable.class,
              HipProvider.probe(runtime.around(Map.of()), (what, outcome) -> {}));

      assertEquals(
          "the HIP runtime is there, but no /dev/kfd: hipGetDeviceCount answered 100",
          why.reason());
      assertEquals(3, selfCheck(runtime), this::words);
    }
  }

  @Test
  void aLibraryThatNobodyAnswersSaysThatThereIsNoDevice() {
    SimulatedRuntime runtime = new SimulatedRuntime(folder, "hip-7.2");
    Surroundings around = runtime.around(Map.of());
    runtime.close();

    Unavailable why =
        assertInstanceOf(Unavailable.class, HipProvider.probe(around, (what, outcome) -> {}));

    assertTrue(
        why.reason().contains("the HIP runtime does not tell its version: 100 hipErrorNoDevice"),
        why.reason());
  }

  private int selfCheck(SimulatedRuntime runtime) {
    Surroundings around =
        runtime.around(Map.of("holdfast.hip.kernels", "on", "holdfast.check.batches", "40"));
    return HipSelfCheck.run(
        List.of(),
        around,
        BackendKind.SIMULATOR,
        new PrintStream(bytes, true, StandardCharsets.UTF_8));
  }

  private String words() {
    return bytes.toString(StandardCharsets.UTF_8);
  }
}
