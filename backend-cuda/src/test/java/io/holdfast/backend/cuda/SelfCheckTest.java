package io.holdfast.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The self-check itself, on a driver that pretends: what it can say there must be PASS. */
final class SelfCheckTest {
  @TempDir Path folder;

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  @Test
  void thePortsPartPassesOnThePretendedDriver() {
    Path library = library();

    int code = run(library, "port");

    assertEquals(0, code, this::words);
    assertTrue(words().contains("PASS  port  each: first byte that differs: -1"), this::words);
    assertTrue(words().contains("12800"), this::words);
  }

  @Test
  void anAnswerThatIsNotTheRightOneFails() {
    Path library = library("cuCtxCreate_v2");

    int code = run(library, "foreign"); // needs what this library lacks

    assertEquals(1, code, this::words);
    assertTrue(words().contains("FAIL  8a an engine's own context  ended early"), this::words);
  }

  @Test
  void withoutADeviceItSaysWhy() {
    Path library = CLibrary.compile(folder, "refusing_libcuda.c", "libcuda.so.1");

    assertEquals(3, run(library));
    assertTrue(words().contains("NONE  the driver library is there, but no NVIDIA"), this::words);
  }

  @Test
  void aPartThatIsNotThereIsNamed() {
    assertEquals(2, run(folder, "everything"));
    assertTrue(
        words().contains("the parts are port, foreign, answers, kernel, rates"), this::words);
  }

  private Path library(String... hidden) {
    return new SimulatedLibcuda(
            folder, List.of(hidden), SimulatedLibcuda.machine(SimulatedLibcuda.cuda580()))
        .file();
  }

  private int run(Path library, String... parts) {
    Surroundings around =
        new Surroundings(
            folder,
            name -> null,
            Map.of("holdfast.cuda.library", library.toString())::get,
            file -> true);
    return SelfCheck.run(
        List.of(parts), around, new PrintStream(bytes, true, StandardCharsets.UTF_8));
  }

  private String words() {
    return bytes.toString(StandardCharsets.UTF_8);
  }
}
