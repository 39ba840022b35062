package io.holdfast.backend.cuda;

import io.holdfast.backend.cpusim.LeakPolicy;
import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.backend.cpusim.driver.DeviceSpec;
import io.holdfast.backend.cpusim.driver.Personalities;
import io.holdfast.backend.cpusim.driver.Personality;
import io.holdfast.backend.cpusim.shim.ExportTable;
import io.holdfast.backend.cpusim.shim.NativeShim;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;

/**
 * {@code libcuda.so.1} over a simulated machine: compiled, loaded and answered by the simulator.
 *
 * <p>Each has a library file, and so variables, of its own. Needs a C compiler; skips the test
 * where there is none.
 */
final class SimulatedLibcuda implements AutoCloseable {
  /** The name cannot be taken for hardware. */
  static final String DEVICE_NAME = "Simulated device";

  private static final String SOURCE = "simulated_libcuda.c";
  private static final long DEVICE_BYTES = 8L << 30;

  private final Path file;
  private final SymbolLookup symbols;
  private final CudaKernelLaunches launches = new CudaKernelLaunches();
  private SimMachine machine;
  private CudaExports exports;
  private NativeShim shim;

  /**
   * Loads a library and binds it to a machine.
   *
   * @param folder where its file goes
   * @param hidden exports that it lacks, beside those of the machine's personality
   * @param machine who answers; closed with this
   */
  SimulatedLibcuda(Path folder, Collection<String> hidden, SimMachine machine) {
    this(compile(folder, machine.calls().personality(), hidden), machine);
  }

  /** Binds a library that the process finds, or has loaded, under that name. */
  SimulatedLibcuda(Path library, SimMachine machine) {
    this.file = library;
    this.symbols = ((DynamicLibrary.Opened) DynamicLibrary.open(library.toString())).symbols();
    this.machine = machine;
    this.exports = exports(machine);
    this.shim = NativeShim.bind(symbols, exports.table());
  }

  private CudaExports exports(SimMachine answering) {
    return new CudaExports(
        answering.calls(),
        launches,
        name -> symbols.find(name).map(found -> found.address()).orElse(0L));
  }

  /** From now on another machine answers; the one before is closed. */
  void answerBy(SimMachine other) {
    close();
    machine = other;
    exports = exports(other);
    shim = NativeShim.bind(symbols, exports.table());
  }

  /**
   * A library that the system's loader knows by its name, so that whoever needs {@code
   * libcuda.so.1} in this process gets it. One per process.
   */
  static Path compileForAll(Path folder) {
    return compile(folder, cuda580(), List.of(), "-Wl,-soname,libcuda.so.1");
  }

  static Path compile(
      Path folder, Personality personality, Collection<String> hidden, String... flags) {
    List<String> absent = new ArrayList<>(personality.missingSymbols());
    absent.addAll(hidden);
    absent.sort(null);
    List<String> all = new ArrayList<>(List.of(flags));
    all.add("-I" + Folders.HEADER);
    all.add("-Wl,--version-script=" + Folders.hiding(absent));
    return CLibrary.compile(folder, SOURCE, "libcuda.so.1", all.toArray(new String[0]));
  }

  /** Two devices with PCI addresses, the first one on node 3, behind the driver of that name. */
  static SimMachine machine(Personality personality) {
    return machine(personality, 2);
  }

  static SimMachine machine(Personality personality, int devices) {
    List<DeviceSpec> specs = new ArrayList<>();
    for (int i = 0; i < devices; i++) {
      specs.add(
          new DeviceSpec(
              DEVICE_NAME,
              String.format(Locale.ROOT, "0011%04x-2233-4455-6677-8899aabbcc%02x", i, i),
              String.format(Locale.ROOT, "0000:%02x:00.0", 0xAB + i),
              DEVICE_BYTES,
              i == 0 ? OptionalInt.of(3) : OptionalInt.empty(),
              0));
    }
    return SimMachine.builder()
        .personality(personality)
        .devices(specs)
        .leaks(LeakPolicy.IGNORE)
        .build();
  }

  static Personality cuda580() {
    return Personalities.named("cuda-580");
  }

  Path file() {
    return file;
  }

  SymbolLookup symbols() {
    return symbols;
  }

  SimMachine machine() {
    return machine;
  }

  ExportTable table() {
    return exports.table();
  }

  /** Looks which exported descriptors were closed, which the simulator hears of no other way. */
  void sweep() {
    exports.sweep();
  }

  CudaKernelLaunches launches() {
    return launches;
  }

  /** Nobody answers any more: the library is a stub, as the toolkit's is. */
  @Override
  public void close() {
    shim.close();
    machine.close();
    List<String> problems = exports.table().problems();
    if (!problems.isEmpty()) {
      throw new AssertionError("exports that broke: " + problems);
    }
  }

  /** Files that compilers read, kept while the tests run. */
  private static final class Folders {
    static final Path HEADER = NativeShim.headerInto(folder());

    static Path folder() {
      try {
        Path made = Files.createTempDirectory("holdfast-shim-");
        made.toFile().deleteOnExit();
        return made;
      } catch (IOException unwritable) {
        throw new UncheckedIOException(unwritable);
      }
    }

    static Path hiding(List<String> names) {
      Path into = HEADER.resolve(Integer.toHexString(names.hashCode()));
      try {
        Files.createDirectories(into);
      } catch (IOException unwritable) {
        throw new UncheckedIOException(unwritable);
      }
      Path script = NativeShim.hiding(into, names);
      script.toFile().deleteOnExit();
      return script;
    }
  }
}
