package io.holdfast.backend.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.backend.cpusim.driver.FaultScript;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.CopyTable.Direction;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.KernelCopyPort;
import io.holdfast.spi.StreamHandle;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The copy kernels: how they are launched, what they copy, and that drivers can take their text.
 */
final class KernelCopyTest {
  private static final Path PTX =
      Path.of("src/main/resources/io/holdfast/backend/cuda/copy_rows.ptx");

  @TempDir Path folder;

  private final Arena arena = Arena.ofAuto();

  // ---- how rows are cut

  @ParameterizedTest(name = "{0} rows of {1} bytes by {2} blocks: {3} pieces of {4}")
  @CsvSource({
    // many small rows stay whole
    "100000, 1024, 16, 1, 1024",
    "100000, 4096, 16, 1, 4096",
    // rows of a block's size are whole as long as there are enough of them
    "32768, 16384, 16, 1, 16384",
    // larger ones are cut into equal pieces of at most 64 KiB
    "10000, 147456, 16, 3, 49152",
    "10000, 73728, 16, 2, 36864",
    // few rows are cut finer, so that every warp has some, but never below 4 KiB
    "1, 1073741824, 16, 16384, 65536",
    "1, 1048576, 16, 256, 4096",
    "8, 16384, 16, 4, 4096",
    "1, 100, 16, 1, 112",
  })
  void likeRowsAreCutIntoEqualPieces(
      long rows, long bytes, int blocks, long pieces, long pieceBytes) {
    long warps = (long) blocks * KernelLaunch.WARPS_PER_BLOCK;

    long aimed = KernelLaunch.aimedPieceBytes(rows * bytes, warps);

    assertEquals(pieces, KernelLaunch.pieces(bytes, aimed));
    assertEquals(pieceBytes, KernelLaunch.pieceBytes(bytes, pieces));
    assertTrue(KernelLaunch.alike(rows, pieces, rows * bytes, pieceBytes));
  }

  @Test
  void oneHugeRowAmongSmallOnesIsNotLikeThem() {
    long rows = 10_000;
    long total = (1L << 30) + (rows - 1) * 4096;
    long aimed = KernelLaunch.aimedPieceBytes(total, 256);
    long pieces = KernelLaunch.pieces(1L << 30, aimed);

    assertTrue(!KernelLaunch.alike(rows, pieces, total, KernelLaunch.pieceBytes(1L << 30, pieces)));
  }

  @Test
  void twoSizesOfOneModelAreAlike() {
    long total = 5_000 * 65_536L + 5_000 * 8_192L;
    long aimed = KernelLaunch.aimedPieceBytes(total, 256);
    long pieces = KernelLaunch.pieces(65_536, aimed);

    assertEquals(1, pieces);
    assertTrue(KernelLaunch.alike(10_000, pieces, total, 65_536));
  }

  @Test
  void aWarpTakesMoreAtOnceTheMoreThereIs() {
    assertEquals(1, KernelLaunch.group(100, 256));
    assertEquals(8, KernelLaunch.group(8 * 1024, 256));
    assertEquals(32, KernelLaunch.group(1_000_000, 256));
  }

  @Test
  void noBlockIsLaunchedThatWouldFindNothing() {
    assertEquals(1, KernelLaunch.blocks(1, 16));
    assertEquals(2, KernelLaunch.blocks(17, 16));
    assertEquals(16, KernelLaunch.blocks(1_000_000, 16));
  }

  // ---- through the port, on a driver that pretends

  @ParameterizedTest
  @ValueSource(strings = {"FFM", "JCuda", "register.alias=per-range-and-device"})
  void launchesCoverEveryByteOfEveryRow(String how) {
    PretendDriver pretend =
        switch (how) {
          case "FFM" -> new PretendDriver(folder);
          case "JCuda" -> PretendDriver.throughJCuda();
          default -> new PretendDriver(folder, how);
        };
    DevicePort port = pretend.driver().open(0);
    KernelCopyPort kernels = port.kernelCopies().orElseThrow();
    assertTrue(port.kernelAbsence().isEmpty());
    assertEquals(1, pretend.audit().modules());
    Random random = new Random(3);
    int rows = 300;
    MemorySegment host = arena.allocate(4 << 20, 4096);
    MemorySegment columns = arena.allocate(3 * 8 * (long) rows, 4096);
    port.register(host);
    port.register(columns);
    DeviceRange device = port.allocate(4 << 20);
    StreamHandle stream = port.createStream(0);
    long hostSeen = port.seenByDevice(host).address();
    CopyTable table =
        new CopyTable(
            columns.asSlice(0, 8L * rows),
            columns.asSlice(8L * rows, 8L * rows),
            columns.asSlice(16L * rows, 8L * rows),
            Direction.HOST_TO_DEVICE);
    for (int row = 0; row < rows; row++) {
      table.set(
          row, device.address() + row * 8192L, hostSeen + row * 8192L, 1 + random.nextInt(8192));
    }
    for (long at = 0; at < host.byteSize(); at++) {
      host.set(JAVA_BYTE, at, (byte) (at * 31 + (at >>> 8)));
    }
    kernels.copyByKernel(table, port.seenByDevice(columns), 10, 290, 8, stream);

    MemorySegment there = pretend.read(device);
    for (int row = 0; row < rows; row++) {
      MemorySegment block = there.asSlice(row * 8192L, 8192);
      long bytes = row < 10 || row >= 290 ? 0 : table.bytes(row);
      assertEquals(
          -1, block.asSlice(0, bytes).mismatch(host.asSlice(row * 8192L, bytes)), "row " + row);
      for (long at = bytes; at < 8192; at++) {
        assertEquals(0, block.get(JAVA_BYTE, at));
      }
    }
    assertEquals("holdfast_copy_like", pretend.launches().last().kernel());
    assertEquals(8, pretend.launches().last().blocks());
    assertEquals(512, pretend.launches().last().threads());

    table.set(10, device.address(), hostSeen, 4 << 20); // one row as long as all others together
    kernels.copyByKernel(table, port.seenByDevice(columns), 10, 290, 3, stream);
    assertEquals("holdfast_copy_mixed", pretend.launches().last().kernel());
    assertEquals(3, pretend.launches().last().blocks());
    assertEquals(-1, pretend.read(device).asSlice(3 << 20).mismatch(host.asSlice(3 << 20)));

    kernels.copyByKernel(
        table, port.seenByDevice(columns), 10, 10, 3, stream); // no rows, no launch
    port.destroyStream(stream);
    port.free(device);
    port.unregister(columns);
    port.unregister(host);
    port.close();
    pretend.assertNothingLeft(0);
  }

  @Test
  void aDriverThatDoesNotTakeTheTextIsAReasonAndNotAFailure() {
    PretendDriver pretend = new PretendDriver(folder);
    pretend.machine().faults().add(FaultScript.failCall(Operation.MODULE_LOAD, 1, 222));

    try (DevicePort port = pretend.driver().open(0)) {
      assertTrue(port.kernelCopies().isEmpty());
      assertTrue(
          port.kernelAbsence().orElseThrow().contains("cuModuleLoadData answered 222"),
          port.kernelAbsence().orElseThrow());
    }
  }

  // ---- the kernels themselves

  /**
   * The CUDA source, compiled for the CPU with its threads as fibres, against byte-exact copies.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void kernelsAreByteExactForAnySizeAndAlignment(long seed) throws Exception {
    Path emulation = folder.resolve("emulate");
    assumeTool("c++");
    CLibrary.run(
        List.of(
            "c++",
            "-O1",
            "-Wall",
            "-Wno-unknown-pragmas",
            "-o",
            emulation.toString(),
            "src/test/c/emulate_copy_rows.cpp"));

    Outcome outcome = run(emulation.toString(), String.valueOf(seed), "60");

    assertEquals("60 trials of seed " + seed + " were right", outcome.words());
    assertEquals(0, outcome.code());
  }

  @Test
  void theTextStatesAVersionThatDriversOf12TakeAndTheOldestTarget() throws Exception {
    List<String> lines = Files.readAllLines(PTX);

    assertTrue(lines.contains(".version 8.0"));
    assertTrue(lines.contains(".target sm_75"));
    assertTrue(lines.contains(".address_size 64"));
  }

  @Test
  void theTextAssemblesForEveryKindOfDeviceWithoutSpilling() throws Exception {
    assumeTool("ptxas");
    for (String arch : List.of("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")) {
      Outcome outcome =
          run(
              "ptxas",
              "-v",
              "-arch=" + arch,
              "-o",
              folder.resolve(arch).toString(),
              PTX.toString());

      if (outcome.words().contains("is not defined for option 'gpu-name'")) {
        continue; // an assembler older than the device
      }
      assertEquals(0, outcome.code(), outcome.words());
      assertEquals(
          2,
          outcome.words().split("0 bytes spill stores, 0 bytes spill loads", -1).length - 1,
          outcome.words());
    }
  }

  @Test
  void theTextIsWhatItsSourceMakes() throws Exception {
    assumeTool("nvcc");
    String compiler =
        Files.readAllLines(PTX).stream()
            .filter(line -> line.startsWith("// Cuda compilation tools"))
            .findFirst()
            .orElseThrow();
    String version = compiler.substring(compiler.lastIndexOf('V'));
    Outcome present = run("nvcc", "--version");
    Assumptions.assumeTrue(
        present.words().contains(version),
        "skipped: the text was made by nvcc " + version + ", and another one is here");
    Path made = folder.resolve("made.ptx");

    Outcome outcome =
        run(
            "nvcc",
            "-ptx",
            "-O3",
            "-arch=compute_75",
            "-o",
            made.toString(),
            "src/main/cuda/copy_rows.cu");

    assertEquals(0, outcome.code(), outcome.words());
    assertEquals(
        Files.readString(made).replaceFirst("(?m)^\\.version .*$", ".version 8.0"),
        Files.readString(PTX));
  }

  private record Outcome(int code, String words) {}

  private static Outcome run(String... command) throws Exception {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String words;
    try (var output = process.inputReader()) {
      words = String.join("\n", output.lines().toList());
    }
    return new Outcome(process.waitFor(), words);
  }

  private static void assumeTool(String name) {
    List<String> places = new ArrayList<>();
    for (String entry : System.getenv("PATH").split(":", -1)) {
      places.add(entry);
      if (Files.isExecutable(Path.of(entry, name))) {
        return;
      }
    }
    Assumptions.abort("skipped: there is no " + name + " in " + places);
  }
}
