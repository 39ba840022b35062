package io.holdfast.backend.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.spi.StreamHandle;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;

/**
 * The compiled {@code working_libcuda.c} behind the true binding, and the doors it has for tests.
 */
final class PretendDriver {
  static final long BASE_PAGE_BYTES = 4096;

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

  private final SymbolLookup symbols;
  private final CudaBindings bindings;
  private final CudaDriver driver;

  /** Compiles a library of its own into that folder and starts it. */
  PretendDriver(Path folder, String... flags) {
    this(CLibrary.compile(folder, "working_libcuda.c", "libcuda.so.1", flags));
  }

  private PretendDriver(Path library) {
    symbols = ((DynamicLibrary.Opened) DynamicLibrary.open(library.toString())).symbols();
    bindings = new CudaBindings("pretended", symbols);
    assertEquals(List.of(), bindings.missing());
    assertEquals(0, bindings.cuInit(0));
    driver = new CudaDriver(bindings, 13_000, Optional.empty(), BASE_PAGE_BYTES);
  }

  private PretendDriver(PretendDriver other, CudaCalls calls) {
    symbols = other.symbols;
    bindings = other.bindings;
    driver = new CudaDriver(calls, 13_000, Optional.empty(), BASE_PAGE_BYTES);
  }

  /**
   * The same through JCuda. Its natives find the one library of their name that the process has
   * loaded, so all tests share this one; skips, visibly, where the natives are not.
   */
  static PretendDriver throughJCuda() {
    return ThroughJCuda.DRIVER;
  }

  private static final class ThroughJCuda {
    static final PretendDriver DRIVER = open();

    private static PretendDriver open() {
      PretendDriver direct;
      try {
        direct =
            new PretendDriver(
                CLibrary.compile(
                    Files.createTempDirectory("holdfast-jcuda-"),
                    "working_libcuda.c",
                    "libcuda.so.1",
                    "-Wl,-soname,libcuda.so.1"));
      } catch (IOException unwritable) {
        throw new UncheckedIOException(unwritable);
      }
      return switch (JCudaSupport.open(Surroundings.present(), (what, outcome) -> {})) {
        case JCudaSupport.Outcome.Found found -> new PretendDriver(direct, found.calls());
        case JCudaSupport.Outcome.Refused no ->
            Assumptions.abort("skipped: " + no.why().reason() + ". " + no.why().remedy());
      };
    }
  }

  CudaDriver driver() {
    return driver;
  }

  CudaBindings bindings() {
    return bindings;
  }

  /** An engine's own context on a device. */
  long createContext(int device) {
    try {
      return (long) hook("fake_create_context", JAVA_LONG, JAVA_INT).invokeExact(device);
    } catch (Throwable bug) {
      throw new AssertionError(bug);
    }
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
    return symbols.find(name).orElseThrow().reinterpret(Integer.BYTES).get(JAVA_INT, 0);
  }

  /** Nothing is left but the contexts that are still open. */
  void assertNothingLeft(int contexts) {
    for (String kind : KINDS) {
      assertEquals(kind.equals("retained contexts") ? contexts : 0, alive(kind), kind);
    }
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

  @SuppressWarnings("restricted")
  private MethodHandle hook(String name, MemoryLayout result, MemoryLayout... arguments) {
    return Linker.nativeLinker()
        .downcallHandle(symbols.find(name).orElseThrow(), FunctionDescriptor.of(result, arguments));
  }

  @SuppressWarnings("restricted")
  private MethodHandle hookVoid(String name, MemoryLayout... arguments) {
    return Linker.nativeLinker()
        .downcallHandle(symbols.find(name).orElseThrow(), FunctionDescriptor.ofVoid(arguments));
  }
}
