package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.backend.hip.HipDriver.KernelWish;
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
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The copy kernels on HIP: whether they are wanted, compiled, launched right, and byte-exact. */
final class HipKernelCopyTest {
  @TempDir Path folder;

  private final Arena arena = Arena.ofAuto();

  // ---- how rows are cut

  @ParameterizedTest(name = "{0} lanes: {1} rows of {2} bytes by {3} blocks: {4} pieces of {5}")
  @CsvSource({
    // a wavefront of 64 has twice a warp's bytes in flight, so its smallest piece is twice as large
    "64, 1, 1048576, 16, 128, 8192",
    "64, 8, 16384, 16, 2, 8192",
    "64, 10000, 147456, 16, 3, 49152",
    "64, 100000, 1024, 16, 1, 1024",
    "32, 1, 1048576, 16, 256, 4096",
    "32, 10000, 147456, 16, 3, 49152",
  })
  void likeRowsAreCutIntoEqualPieces(
      int lanes, long rows, long bytes, int blocks, long pieces, long pieceBytes) {
    HipLaunch launch = new HipLaunch(lanes);
    long wavefronts = (long) blocks * launch.wavefrontsPerBlock();

    long aimed = launch.aimedPieceBytes(rows * bytes, wavefronts);

    assertEquals(pieces, HipLaunch.pieces(bytes, aimed));
    assertEquals(pieceBytes, HipLaunch.pieceBytes(bytes, pieces));
    assertTrue(HipLaunch.alike(rows, pieces, rows * bytes, pieceBytes));
  }

  @Test
  void oneHugeRowAmongSmallOnesIsNotLikeThem() {
    long total = (1L << 30) + 9_999 * 4096;
    long pieces = HipLaunch.pieces(1L << 30, new HipLaunch(64).aimedPieceBytes(total, 128));

    assertTrue(!HipLaunch.alike(10_000, pieces, total, HipLaunch.pieceBytes(1L << 30, pieces)));
  }

  @Test
  void aWavefrontReadsNoMoreDescriptorsThanItHasLanes() {
    assertEquals(1, HipLaunch.group(100, 256));
    assertEquals(32, HipLaunch.group(1_000_000, 256));
    assertEquals(1, new HipLaunch(64).blocks(8, 16));
    assertEquals(2, new HipLaunch(64).blocks(9, 16));
    assertThrows(IllegalArgumentException.class, () -> new HipLaunch(16));
    assertThrows(IllegalArgumentException.class, () -> new HipLaunch(48));
  }

  // ---- through the port

  @Test
  void theyAreOffUnlessAskedForAndSayWhy() {
    try (DevicePort port = new PretendRuntime(folder).driver().open(0)) {
      assertTrue(port.kernelCopies().isEmpty());
      assertEquals(
          "they are off on HIP until somebody reports a run on AMD hardware;"
              + " -Dholdfast.hip.kernels=on turns them on",
          port.kernelAbsence().orElseThrow());
    }
  }

  @Test
  void launchesCoverEveryByteOfEveryRow() {
    PretendRuntime pretend = withKernels("-DALIAS");
    DevicePort port = pretend.driver().open(0);
    KernelCopyPort kernels = port.kernelCopies().orElseThrow();
    assertTrue(port.kernelAbsence().isEmpty());
    assertEquals(1, pretend.alive("modules"));
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

    for (int row = 0; row < rows; row++) {
      MemorySegment there = deviceMemory(device).asSlice(row * 8192L, 8192);
      long bytes = row < 10 || row >= 290 ? 0 : table.bytes(row);
      assertEquals(
          -1, there.asSlice(0, bytes).mismatch(host.asSlice(row * 8192L, bytes)), "row " + row);
      for (long at = bytes; at < 8192; at++) {
        assertEquals(0, there.get(JAVA_BYTE, at));
      }
    }
    assertEquals(0, pretend.variable("fake_last_mixed"));
    assertEquals(8, pretend.variable("fake_last_grid"));
    assertEquals(512, pretend.variable("fake_last_block"));

    table.set(10, device.address(), hostSeen, 4 << 20); // one row as long as all others together
    kernels.copyByKernel(table, port.seenByDevice(columns), 10, 290, 3, stream);
    assertEquals(1, pretend.variable("fake_last_mixed"));
    assertEquals(3, pretend.variable("fake_last_grid"));
    assertEquals(-1, deviceMemory(device).asSlice(3 << 20).mismatch(host.asSlice(3 << 20)));

    port.destroyStream(stream);
    port.free(device);
    port.unregister(columns);
    port.unregister(host);
    port.close();
    pretend.assertNothingLeft();
  }

  @Test
  void aCompilerThatIsNotThereIsAReasonAndNotAFailure() {
    Path library = PretendRuntime.library(folder, PretendRuntime.LATEST);
    PretendRuntime pretend =
        new PretendRuntime(library, folder, PretendRuntime.LATEST, KernelWish.ON);

    try (DevicePort port = pretend.driver().open(0)) {
      assertTrue(port.kernelCopies().isEmpty());
      assertEquals(
          "the copy kernels do not compile: hiprtcCreateProgram answered 11"
              + " (HIPRTC_ERROR_INTERNAL_ERROR)",
          port.kernelAbsence().orElseThrow());
    }
  }

  @Test
  void aLibraryWithoutTheCompilersNamesIsToldFromOneThatIsNotThere() {
    Path counting = CLibrary.compile(folder, "counting_libamdhip64.c", "libhiprtc.so.7");
    Path library = folder.resolve("libamdhip64.so.7");
    var symbols = ((DynamicLibrary.Opened) DynamicLibrary.open(counting.toString())).symbols();

    HipCompiler.Search search =
        HipCompiler.find(library.toString(), symbols, new HipVersion(PretendRuntime.LATEST));

    String why = ((HipCompiler.Search.Absent) search).why();
    assertTrue(why.contains(counting + ": not a compiler that can be used"), why);
    assertTrue(why.contains("; libhiprtc.so.7: "), why);
  }

  @Test
  void whatTheCompilerRefusesIsToldInItsFirstLine() {
    PretendRuntime pretend = withKernels("");
    CLibrary.compile(folder, "pretend_nvrtc.c", "refusing.so", "-DREFUSES")
        .toFile()
        .renameTo(folder.resolve(PretendRuntime.COMPILER).toFile());

    try (DevicePort port = pretend.driver().open(0)) {
      assertEquals(
          "the copy kernels do not compile: hiprtcCompileProgram answered 6"
              + " (HIPRTC_ERROR_COMPILATION): copy_rows.cu(1): error: not today",
          port.kernelAbsence().orElseThrow());
    }
  }

  private PretendRuntime withKernels(String flag) {
    CLibrary.compile(folder, "pretend_nvrtc.c", PretendRuntime.COMPILER);
    String[] flags = flag.isEmpty() ? new String[0] : new String[] {flag};
    Path library = PretendRuntime.library(folder, PretendRuntime.LATEST, flags);
    return new PretendRuntime(library, folder, PretendRuntime.LATEST, KernelWish.ON);
  }

  @SuppressWarnings("restricted")
  private static MemorySegment deviceMemory(DeviceRange range) {
    return MemorySegment.ofAddress(range.address()).reinterpret(range.bytes());
  }

  // ---- the kernels themselves

  /**
   * The shared source as HIP's compiler sees it, compiled for the CPU with its threads as fibres,
   * for wavefronts of 64 lanes and of 32, against byte-exact copies.
   */
  @ParameterizedTest
  @CsvSource({"64, 1", "32, 2"})
  void kernelsAreByteExactForAnySizeAndAlignment(int lanes, long seed) throws Exception {
    emulate(lanes, seed, 15);
  }

  @Tag("full")
  @ParameterizedTest
  @CsvSource({"64, 3", "64, 4", "32, 5"})
  void kernelsAreByteExactOnceMore(int lanes, long seed) throws Exception {
    emulate(lanes, seed, 60);
  }

  private void emulate(int lanes, long seed, int trials) throws Exception {
    Path emulation = folder.resolve("emulate");
    Assumptions.assumeTrue(
        Files.isExecutable(Path.of("/usr/bin/c++")), "skipped: there is no C++ compiler");
    CLibrary.run(
        List.of(
            "c++",
            "-O1",
            "-Wall",
            "-Wno-unknown-pragmas",
            "-D__HIP__",
            "-DLANES=" + lanes + "u",
            "-o",
            emulation.toString(),
            "../backend-cuda/src/test/c/emulate_copy_rows.cpp"));
    Process process =
        new ProcessBuilder(emulation.toString(), String.valueOf(seed), String.valueOf(trials))
            .redirectErrorStream(true)
            .start();
    String words;
    try (var output = process.inputReader()) {
      words = String.join("\n", output.lines().toList());
    }

    assertEquals(trials + " trials of seed " + seed + " were right", words);
    assertEquals(0, process.waitFor());
  }
}
