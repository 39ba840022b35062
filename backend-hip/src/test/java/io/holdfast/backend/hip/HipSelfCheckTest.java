package io.holdfast.backend.hip;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.BackendKind;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The self-check itself, on HIP's names over a pretended CUDA driver: what a host with an NVIDIA
 * device runs, but for the device.
 */
final class HipSelfCheckTest {
  @TempDir Path folder;

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  @ParameterizedTest
  @ValueSource(
      ints = {
        PretendRuntime.HIP_5_7,
        PretendRuntime.HIP_6_4,
        PretendRuntime.HIP_7_2,
        PretendRuntime.LATEST
      })
  void allPartsPassOverAPretendedCudaDriver(int version) {
    CLibrary.compile(folder, "pretend_nvrtc.c", PretendRuntime.COMPILER);
    Path library = PretendRuntime.library(folder, version);

    int code = run(library, 100);

    assertEquals(0, code, this::words);
    assertTrue(words().contains("PASS  thread  last error: 101"), this::words);
    assertTrue(words().contains("PASS  port  each: first byte that differs: -1"), this::words);
    assertTrue(
        words().contains("PASS  batches  random batches with a wrong byte, of 100: 0"),
        this::words);
    assertTrue(words().contains("PASS  engine  AUTO: wrong blocks in "), this::words);
    assertTrue(words().contains("PASS  engine  KERNEL: wrong blocks in "), this::words);
    assertEquals(
        version >= PretendRuntime.HIP_6_4,
        words().contains("PASS  region  asleep and awake: wrong blocks of 48: 0"),
        this::words);
    assertEquals(
        version >= PretendRuntime.HIP_7_2,
        words().contains("PASS  engine  BATCH: wrong blocks in "),
        this::words);
  }

  @Test
  void aByteThatDoesNotArriveFails() {
    Path library = PretendRuntime.library(folder, PretendRuntime.LATEST, "-DLOSES_A_BYTE");

    int code = run(library, 20, "batches");

    assertEquals(1, code, this::words);
    assertTrue(words().contains("FAIL  batches  random batches with a wrong byte"), this::words);
  }

  @Test
  void withoutADeviceItSaysWhy() {
    Path library = CLibrary.compile(folder, "counting_libamdhip64.c", "libamdhip64.so.7");

    assertEquals(3, run(library, 1), this::words);
    assertTrue(words().contains("NONE  the HIP runtime is there, but no /dev/kfd"), this::words);
  }

  @Test
  void aPartThatIsNotThereIsNamed() {
    assertEquals(2, run(folder, 1, "everything"));
    assertTrue(
        words().contains("the parts are thread, answers, port, batches, backend"), this::words);
  }

  private int run(Path library, int batches, String... parts) {
    Surroundings around =
        new Surroundings(
            folder,
            name -> null,
            Map.of(
                    "holdfast.hip.library", library.toString(),
                    "holdfast.hip.kernels", "on",
                    "holdfast.check.batches", String.valueOf(batches))
                ::get,
            file -> true);
    return HipSelfCheck.run(
        java.util.List.of(parts),
        around,
        BackendKind.SIMULATOR,
        new PrintStream(bytes, true, StandardCharsets.UTF_8));
  }

  private String words() {
    return bytes.toString(StandardCharsets.UTF_8);
  }
}
