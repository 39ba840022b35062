package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.backend.hip.HipDriver.KernelWish;
import io.holdfast.spi.StreamHandle;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.List;

/**
 * HIP's names over a pretended CUDA driver ({@code hip_over_cuda.c} over {@code working_libcuda.c})
 * behind the true binding, and the doors that the latter has for tests.
 */
final class PretendRuntime {
  static final int LATEST = 71_526_333;

  static final int HIP_5_2 = 50_221_153;
  static final int HIP_5_7 = 50_731_921;
  static final int HIP_6_4 = 60_443_484;
  static final int HIP_7_0 = 70_051_830;
  static final int HIP_7_1 = 70_125_424;
  static final int HIP_7_2 = 70_226_015;

  private static final String WORKING_CUDA = "working_libcuda.c";

  private static final String CUDA = "libcuda.so.1";
  static final String COMPILER = "libnvrtc.so";

  private static final List<String> KINDS =
      List.of(
          "registrations",
          "allocations",
          "reservations",
          "mappings",
          "physical allocations",
          "streams",
          "events",
          "modules",
          "host allocations",
          "retained contexts");

  private final SymbolLookup below;
  private final MethodHandle unpark;
  private final HipBindings bindings;
  private final HipDriver driver;

  /** A version that has everything, on a pretended CUDA driver of its own. */
  PretendRuntime(Path folder) {
    this(folder, LATEST);
  }

  /**
   * Compiles libraries of its own into that folder and starts them.
   *
   * @param folder where
   * @param version which HIP version's ways
   * @param flags of the pretended CUDA driver
   */
  PretendRuntime(Path folder, int version, String... flags) {
    this(library(folder, version, flags), folder, version, KernelWish.OFF);
  }

  PretendRuntime(Path library, Path folder, int version, KernelWish kernels) {
    below = symbols(folder.resolve(CUDA));
    unpark =
        linked(
            symbols(library).find("hip_over_cuda_unpark").orElseThrow(),
            FunctionDescriptor.of(JAVA_INT));
    bindings = new HipBindings("pretended", symbols(library));
    assertEquals(List.of(), bindings.missing());
    driver = new HipDriver(bindings, new HipVersion(version), kernels);
  }

  /** Compiles both libraries and lets them know each other; the result is HIP's. */
  static Path library(Path folder, int version, String... flags) {
    Path cuda = CLibrary.compile(folder, WORKING_CUDA, CUDA, flags);
    Path hip =
        CLibrary.compile(folder, "hip_over_cuda.c", "libamdhip64.so.7", "-DHIP_VERSION=" + version);
    try (Arena arena = Arena.ofConfined()) {
      linked(
              symbols(hip).find("hip_over_cuda_libraries").orElseThrow(),
              FunctionDescriptor.ofVoid(ADDRESS, ADDRESS))
          .invokeExact(
              arena.allocateFrom(cuda.toString()),
              arena.allocateFrom(folder.resolve(COMPILER).toString()));
    } catch (Throwable bug) {
      throw new AssertionError(bug);
    }
    return hip;
  }

  private static SymbolLookup symbols(Path library) {
    return ((DynamicLibrary.Opened) DynamicLibrary.open(library.toString())).symbols();
  }

  @SuppressWarnings("restricted")
  private static MethodHandle linked(MemorySegment function, FunctionDescriptor shape) {
    return Linker.nativeLinker().downcallHandle(function, shape);
  }

  HipDriver driver() {
    return driver;
  }

  HipBindings bindings() {
    return bindings;
  }

  /**
   * From now on an engine captures a graph in another thread, in the mode that tolerates nobody.
   */
  void setCapturing(boolean on) {
    call("fake_set_capturing", on ? 1 : 0);
  }

  boolean captureIsDead() {
    try {
      return (int) hook("fake_capture_dead", JAVA_INT).invokeExact() != 0;
    } catch (Throwable bug) {
      throw new AssertionError(bug);
    }
  }

  void setStreamCapture(StreamHandle stream, int status) {
    try {
      hookVoid("fake_set_stream_capture", JAVA_LONG, JAVA_INT).invokeExact(stream.value(), status);
    } catch (Throwable bug) {
      throw new AssertionError(bug);
    }
  }

  /** Work on the stream waits until {@link #letGo}. */
  void hold(StreamHandle stream) {
    callLong("fake_hold", stream.value());
  }

  void letGo(StreamHandle stream) {
    callLong("fake_let_go", stream.value());
  }

  int streamFlags(StreamHandle stream) {
    return ask("fake_stream_flags", stream.value());
  }

  int streamPriority(StreamHandle stream) {
    return ask("fake_stream_priority", stream.value());
  }

  int registrationFlags(MemorySegment range) {
    return ask("fake_registration_flags", range.address());
  }

  int alive(String kind) {
    try {
      return (int) hook("fake_alive", JAVA_INT, JAVA_INT).invokeExact(KINDS.indexOf(kind));
    } catch (Throwable bug) {
      throw new AssertionError(bug);
    }
  }

  /** A variable of the library's. */
  @SuppressWarnings("restricted")
  int variable(String name) {
    return below.find(name).orElseThrow().reinterpret(Integer.BYTES).get(JAVA_INT, 0);
  }

  /** Nothing is left but the runtime's own contexts, which it keeps for the process's life. */
  void assertNothingLeft() {
    try {
      assertEquals(0, (int) unpark.invokeExact());
    } catch (Throwable bug) {
      throw new AssertionError(bug);
    }
    for (String kind : KINDS) {
      if (!kind.equals("retained contexts")) {
        assertEquals(0, alive(kind), kind);
      }
    }
    assertEquals(0, bindings.hipPeekAtLastError(), "last error");
  }

  private void call(String name, int argument) {
    try {
      hookVoid(name, JAVA_INT).invokeExact(argument);
    } catch (Throwable bug) {
      throw new AssertionError(bug);
    }
  }

  private void callLong(String name, long argument) {
    try {
      hookVoid(name, JAVA_LONG).invokeExact(argument);
    } catch (Throwable bug) {
      throw new AssertionError(bug);
    }
  }

  private int ask(String name, long argument) {
    try {
      return (int) hook(name, JAVA_INT, JAVA_LONG).invokeExact(argument);
    } catch (Throwable bug) {
      throw new AssertionError(bug);
    }
  }

  private MethodHandle hook(String name, MemoryLayout result, MemoryLayout... arguments) {
    return linked(below.find(name).orElseThrow(), FunctionDescriptor.of(result, arguments));
  }

  private MethodHandle hookVoid(String name, MemoryLayout... arguments) {
    return linked(below.find(name).orElseThrow(), FunctionDescriptor.ofVoid(arguments));
  }
}
