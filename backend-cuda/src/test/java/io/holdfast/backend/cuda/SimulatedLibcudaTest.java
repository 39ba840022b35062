package io.holdfast.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.backend.cpusim.driver.Personalities;
import io.holdfast.backend.cpusim.shim.NativeShim;
import io.holdfast.spi.LibraryFile;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The true bindings on the simulated driver's library: the suite that runs on GPU hosts passes, and
 * machines without a device are told apart.
 */
final class SimulatedLibcudaTest {
  private static final int ABORTED = 128 + 6;

  @TempDir Path folder;

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  @Test
  void everyExportIsAnsweredAndEveryAnswerIsExported() {
    try (SimulatedLibcuda library = library("cuda-580")) {
      assertEquals(
          library.table().names(), new TreeSet<>(NativeShim.exportedBy(library.symbols())));
    }
  }

  @Test
  void theSelfCheckPassesThroughTheForeignFunctionInterface() throws Exception {
    HostProcess child = child(List.of("-Dholdfast.cuda.binding=ffm"), "answers", "foreign", "port");

    assertEquals(0, child.code(), child.words());
    assertTrue(child.words().contains("libcuda.so.1 through FFM"), child.words());
    assertTrue(child.words().endsWith("AUDIT nothing leaked"), child.words());
  }

  @Test
  void theSelfCheckPassesThroughJCuda() throws Exception {
    String natives = System.getProperty("java.library.path", "");
    Assumptions.assumeTrue(
        natives.contains("jcuda-natives") || Files.exists(Path.of(natives, nativesFile())),
        "skipped: JCuda's natives are not in java.library.path " + natives);
    LibraryFile.distrust(Path.of(natives, nativesFile()).toString())
        .ifPresent(distrust -> Assumptions.abort("skipped: " + distrust.reason()));

    HostProcess child =
        child(
            List.of("-Dholdfast.cuda.binding=jcuda", "-Djava.library.path=" + natives),
            "answers",
            "foreign",
            "port",
            "kernel");

    assertEquals(0, child.code(), child.words());
    assertTrue(child.words().contains("libcuda.so.1 through JCuda 12.6.0"), child.words());
    assertTrue(child.words().endsWith("AUDIT nothing leaked"), child.words());
  }

  /** The library adds nothing to the simulator's answers and loses none. */
  @Test
  void theAnswersAreTheSimulatorsOwn() {
    try (SimulatedLibcuda library = library("cuda-580");
        SimMachine machine = SimulatedLibcuda.machine(SimulatedLibcuda.cuda580())) {
      assertEquals(0, selfCheck(library, "answers"), this::words);
      List<String> throughC = checks();
      bytes.reset();
      CheckReport report = new CheckReport(new PrintStream(bytes, true, StandardCharsets.UTF_8));
      SimulatedCalls calls = new SimulatedCalls(machine.calls());
      calls.call("cuInit", 0);

      new AnswerChecks(report, calls, 0).all();

      assertEquals(0, report.failed(), this::words);
      assertEquals(throughC, checks());
    }
  }

  /** All that has a right answer; of addresses only that they are some. */
  private List<String> checks() {
    return words()
        .lines()
        .filter(line -> line.startsWith("PASS"))
        .map(line -> line.replaceAll(": \\d{10,}$", ": an address"))
        .toList();
  }

  @Test
  void theKernelsPartPassesToo() {
    try (SimulatedLibcuda library = library("cuda-580")) {
      assertEquals(0, selfCheck(library, "kernel"), this::words);
    }
  }

  @Test
  void withoutADeviceTheDriverAnswers100() throws Exception {
    HostProcess child = child(List.of(), "devices=0");

    assertEquals(3, child.code(), child.words());
    assertTrue(child.words().contains("cuInit: 100"), child.words());
    assertTrue(
        child.words().contains("NONE  the driver library is there, but no NVIDIA"), child.words());
  }

  @Test
  void aLibraryThatNobodyAnswersIsTheToolkitsStub() {
    SimulatedLibcuda library = library("cuda-580");
    library.close();

    assertEquals(3, selfCheck(library, "port"), this::words);
    assertTrue(words().contains("stub"), this::words);
  }

  @Test
  void whatAnOlderDriverLacksIsNotExported() {
    try (SimulatedLibcuda library = library("cuda-550")) {
      CudaBindings bindings = new CudaBindings("older", library.symbols());

      assertEquals("absent", bindings.batchForm());
      assertTrue(bindings.offers(CudaFeature.VIRTUAL_MEMORY));
      assertEquals(List.of(), bindings.missing());
    }
  }

  @Test
  void aForkedChildIsAnswered3WithoutJava() {
    try (SimulatedLibcuda library = library("cuda-580")) {
      RawCalls raw = new RawCalls(library.symbols());

      assertEquals(0, raw.call("cuInit", 0));
      assertEquals(3, raw.call("test_answer_in_child"));
    }
  }

  @Test
  void whatWouldEndAProcessEndsIt() throws Exception {
    HostProcess child =
        child(List.of("-XX:-CreateCoredumpOnCrash"), "register.interior=aborts", "interior");

    assertEquals(ABORTED, child.code(), child.words());
    assertTrue(
        child.words().contains("cuMemHostUnregister: the driver aborts when"), child.words());
  }

  private SimulatedLibcuda library(String personality) {
    return new SimulatedLibcuda(
        folder, List.of(), SimulatedLibcuda.machine(Personalities.named(personality)));
  }

  private int selfCheck(SimulatedLibcuda library, String... parts) {
    Surroundings around =
        new Surroundings(
            folder,
            name -> null,
            Map.of(CudaLoader.LIBRARY_PROPERTY, library.file().toString())::get,
            file -> true);
    return SelfCheck.run(
        List.of(parts), around, new PrintStream(bytes, true, StandardCharsets.UTF_8));
  }

  private String words() {
    return bytes.toString(StandardCharsets.UTF_8);
  }

  private static String nativesFile() {
    return JCudaBindings.nativeLibrary("x86_64");
  }

  private HostProcess child(List<String> options, String... arguments) throws Exception {
    return HostProcess.run(folder, SimulatedHost.class, options, arguments);
  }
}
