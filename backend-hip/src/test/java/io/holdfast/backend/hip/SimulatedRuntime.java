package io.holdfast.backend.hip;

import io.holdfast.Availability;
import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.backend.cpusim.LeakPolicy;
import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.backend.cpusim.driver.DeviceSpec;
import io.holdfast.backend.cpusim.driver.LeakAudit;
import io.holdfast.backend.cpusim.driver.Personalities;
import io.holdfast.backend.cpusim.driver.Personality;
import io.holdfast.backend.cpusim.shim.ExportTable;
import io.holdfast.backend.cpusim.shim.NativeShim;
import io.holdfast.spi.BackendProvider;
import io.holdfast.spi.ProbeLog;
import io.holdfast.spi.StandardBackend;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;

/**
 * {@code libamdhip64} over a simulated machine with the ways of one HIP version: compiled, loaded
 * and answered by the simulator.
 *
 * <p>Each has a library file, and so variables, of its own. Needs a C compiler; skips the test
 * where there is none. What it shows of a device is what the simulator was told of it: nothing here
 * is a test on AMD hardware.
 */
final class SimulatedRuntime implements AutoCloseable {
  /** The name cannot be taken for hardware. */
  static final String DEVICE_NAME = "Simulated device";

  /** All versions that the simulator knows, oldest first. */
  static final List<String> VERSIONS =
      Personality.shipped().stream().filter(id -> id.startsWith("hip-")).toList();

  private static final String SOURCE = "simulated_libamdhip64.c";
  private static final long DEVICE_BYTES = 8L << 30;

  private final Path file;
  private final SymbolLookup symbols;
  private final HipKernelLaunches launches = new HipKernelLaunches();
  private final SimMachine machine;
  private final HipExports exports;
  private final NativeShim shim;

  /** Two devices behind the version of that name, for example {@code hip-7.2}. */
  SimulatedRuntime(Path folder, String version) {
    this(folder, Personalities.named(version), 2);
  }

  SimulatedRuntime(Path folder, Personality personality, int devices) {
    this(folder, machine(personality, devices));
  }

  /**
   * Loads a library and binds it to a machine.
   *
   * @param folder where its file goes
   * @param machine who answers; closed with this
   */
  SimulatedRuntime(Path folder, SimMachine machine) {
    this.machine = machine;
    file = compile(folder, machine.calls().personality());
    symbols = ((DynamicLibrary.Opened) DynamicLibrary.open(file.toString())).symbols();
    exports = new HipExports(machine.calls(), launches);
    shim = NativeShim.bind(symbols, exports.table());
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
              OptionalInt.empty(),
              0));
    }
    return SimMachine.builder()
        .personality(personality)
        .devices(specs)
        .leaks(LeakPolicy.IGNORE)
        .build();
  }

  /** What an older version lacks is not exported. */
  private static Path compile(Path folder, Personality personality) {
    List<String> absent = new ArrayList<>(personality.missingSymbols());
    absent.sort(null);
    return CLibrary.compile(
        folder,
        SOURCE,
        "libamdhip64.so." + personality.version() / 10_000_000,
        "-I" + Folders.HEADER,
        "-Wl,--version-script=" + Folders.hiding(absent));
  }

  /** The driver as the provider opens it, kernels included. */
  HipDriver driver() {
    return HipProvider.openDriver(around(Map.of(HipLoader.KERNELS_PROPERTY, "on")));
  }

  /** As users have it who ask for nothing. */
  Backend backendWithoutKernels() {
    return simulated(HipProvider.openDriver(around(Map.of())));
  }

  /** Nobody chooses it by accident, and no copy path is measured and its profile kept. */
  private static Backend simulated(HipDriver driver) {
    return StandardBackend.builder(HipProvider.ID, driver).kind(BackendKind.SIMULATOR).build();
  }

  /** Discovery's view of this library, in place of the machine's own. */
  BackendProvider provider() {
    return new BackendProvider() {
      @Override
      public int spiVersion() {
        return SPI_VERSION;
      }

      @Override
      public String id() {
        return HipProvider.ID;
      }

      @Override
      public BackendKind kind() {
        return BackendKind.SIMULATOR;
      }

      @Override
      public Availability probe(ProbeLog log) {
        return HipProvider.probe(around(Map.of()), log);
      }

      @Override
      public Backend open() {
        return backendWithoutKernels();
      }
    };
  }

  /** The whole backend: the core's policy over the true binding over this library. */
  Backend backend() {
    return simulated(driver());
  }

  /** A machine without device nodes whose library is this one. */
  Surroundings around(Map<String, String> properties) {
    Map<String, String> all = new HashMap<>(properties);
    all.put(HipLoader.LIBRARY_PROPERTY, file.toString());
    return new Surroundings(file.getParent(), name -> null, all::get, node -> true);
  }

  Path file() {
    return file;
  }

  SymbolLookup symbols() {
    return symbols;
  }

  HipBindings bindings() {
    return new HipBindings(file.toString(), symbols);
  }

  SimMachine machine() {
    return machine;
  }

  ExportTable table() {
    return exports.table();
  }

  HipKernelLaunches launches() {
    return launches;
  }

  /** What is not given back, closed descriptors taken off. */
  LeakAudit audit() {
    exports.sweep();
    return machine.calls().audit();
  }

  /** Nobody answers any more. */
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
      return NativeShim.hiding(into, names);
    }
  }
}
