package io.holdfast.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.backend.cpusim.LeakPolicy;
import io.holdfast.backend.cpusim.SimEngine;
import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.backend.cpusim.driver.Blocker;
import io.holdfast.backend.cpusim.driver.DeviceSpec;
import io.holdfast.backend.cpusim.driver.LeakAudit;
import io.holdfast.backend.cpusim.driver.Ledger;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.backend.cpusim.driver.Personalities;
import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.backend.cpusim.driver.SimSchedule;
import io.holdfast.backend.cpusim.driver.VirtualClock;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.StreamHandle;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import org.junit.jupiter.api.Assumptions;

/**
 * The true binding over a simulated driver that does work at once, and what an engine beside it
 * does. Two devices of 8 GiB, of which the second knows no node; contexts cost no memory.
 */
final class PretendDriver {
  static final long BASE_PAGE_BYTES = 4096;

  private static final int GLOBAL = 0;
  private static final int RELAXED = 2;

  private final SimulatedLibcuda library;
  private final CudaBindings bindings;
  private final CudaDriver driver;
  private final Map<Long, Blocker> held = new HashMap<>();
  private final ExecutorService engine =
      Executors.newSingleThreadExecutor(
          task -> Thread.ofPlatform().daemon().name("engine").unstarted(task));
  private long capturing;

  /**
   * A library of its own in that folder.
   *
   * @param changes lines of the personality as {@code key=value}, and exports to hide
   */
  PretendDriver(Path folder, String... changes) {
    this(new SimulatedLibcuda(folder, hidden(changes), boot(changes)), Optional.empty());
  }

  private PretendDriver(SimulatedLibcuda library, Optional<CudaCalls> calls) {
    this.library = library;
    bindings = new CudaBindings("pretended", library.symbols());
    assertEquals(List.of(), bindings.missing());
    assertEquals(0, bindings.cuInit(0));
    driver = new CudaDriver(calls.orElse(bindings), 13_000, Optional.empty(), BASE_PAGE_BYTES);
  }

  private static List<String> hidden(String... changes) {
    return List.of(changes).stream().filter(change -> !change.contains("=")).toList();
  }

  private static SimMachine boot(String... changes) {
    Map<String, String> lines = new HashMap<>(Map.of("context-bytes", "0"));
    for (String change : changes) {
      int equals = change.indexOf('=');
      if (equals > 0) {
        lines.put(change.substring(0, equals), change.substring(equals + 1));
      }
    }
    return SimMachine.builder()
        .personality(Personalities.named("cuda-580", lines))
        .devices(
            List.of(
                device("Pretend 0", "00112233-4455-6677-8899-aabbccddeeff", "0000:ab:00.0", 3),
                device("Pretend 1", "01122334-4556-6778-899a-abbccddeef00", "0000:ac:00.0", -1)))
        .clock(new VirtualClock())
        .schedule(SimSchedule.eager())
        .freshByte((byte) 0)
        .leaks(LeakPolicy.IGNORE)
        .build();
  }

  private static DeviceSpec device(String name, String uuid, String pci, int node) {
    return new DeviceSpec(name, uuid, pci, 8L << 30, OptionalInt.of(node), 0);
  }

  /**
   * The same through JCuda. Its natives find the one library of their name that the process has
   * loaded, so all tests share the library, each with a machine of its own; skips, visibly, where
   * the natives are not.
   */
  static PretendDriver throughJCuda() {
    ThroughJCuda.LIBRARY.answerBy(boot());
    return switch (JCudaSupport.open(Surroundings.present(), (what, outcome) -> {})) {
      case JCudaSupport.Outcome.Found found ->
          new PretendDriver(ThroughJCuda.LIBRARY, Optional.of(found.calls()));
      case JCudaSupport.Outcome.Refused no ->
          Assumptions.abort("skipped: " + no.why().reason() + ". " + no.why().remedy());
    };
  }

  private static final class ThroughJCuda {
    static final SimulatedLibcuda LIBRARY = open();

    private static SimulatedLibcuda open() {
      try {
        Path folder = Files.createTempDirectory("holdfast-jcuda-");
        return new SimulatedLibcuda(SimulatedLibcuda.compileForAll(folder), boot());
      } catch (IOException unwritable) {
        throw new UncheckedIOException(unwritable);
      }
    }
  }

  CudaDriver driver() {
    return driver;
  }

  CudaBindings bindings() {
    return bindings;
  }

  SimMachine machine() {
    return library.machine();
  }

  CudaKernelLaunches launches() {
    return library.launches();
  }

  private SimDriver raw() {
    return library.machine().calls();
  }

  /** On the engine's own thread. */
  private <T> T byTheEngine(Supplier<T> work) {
    return CompletableFuture.supplyAsync(work, engine).join();
  }

  /** On the engine's thread, in the shared context of the first device. */
  private <T> T inSharedContext(Supplier<T> work) {
    return byTheEngine(
        () -> {
          long[] context = new long[1];
          assertEquals(0, raw().primaryCtxRetain(context, 0));
          assertEquals(0, raw().ctxSetCurrent(context[0]));
          try {
            return work.get();
          } finally {
            assertEquals(0, raw().primaryCtxRelease(0));
          }
        });
  }

  /** An engine's own context on a device. */
  long createContext(int device) {
    return byTheEngine(
        () -> {
          long[] context = new long[1];
          assertEquals(0, raw().ctxCreate(context, device));
          return context[0];
        });
  }

  /**
   * From now on an engine captures a graph in another thread, in the mode that tolerates nobody.
   */
  void setCapturing(boolean on) {
    inSharedContext(
        () -> {
          long[] out = new long[1];
          if (on) {
            assertEquals(0, raw().streamCreate(out, 0, 0));
            capturing = out[0];
            assertEquals(0, raw().streamBeginCapture(capturing, GLOBAL));
          } else {
            raw().streamEndCapture(capturing, out);
            assertEquals(0, raw().streamDestroy(capturing));
          }
          return null;
        });
  }

  boolean captureIsDead() {
    return inSharedContext(() -> raw().streamIsCapturing(capturing)) == 2;
  }

  /** 1 captured by an engine, 2 captured and broken, 0 no more. */
  void setStreamCapture(StreamHandle stream, int status) {
    inSharedContext(
        () ->
            switch (status) {
              case 0 -> raw().streamEndCapture(stream.value(), new long[1]);
              case 1 -> raw().streamBeginCapture(stream.value(), RELAXED);
              default -> raw().streamQuery(stream.value());
            });
  }

  /** Work on the stream waits until {@link #letGo}. */
  void hold(StreamHandle stream) {
    held.put(stream.value(), raw().block(stream.value()));
  }

  void letGo(StreamHandle stream) {
    Blocker blocker = held.remove(stream.value());
    if (blocker != null) {
      blocker.release();
    }
  }

  /** Work of that length on the machine's clock. */
  void delay(StreamHandle stream, long nanos) {
    assertEquals(0, inSharedContext(() -> raw().launchDelay(stream.value(), nanos)));
  }

  int streamFlags() {
    return (int) last(Operation.STREAM_CREATE).first();
  }

  int streamPriority() {
    return (int) last(Operation.STREAM_CREATE).second();
  }

  int registrationFlags() {
    return (int) last(Operation.HOST_REGISTER).third();
  }

  private Ledger.Call last(Operation operation) {
    return library.machine().ledger().since(0).stream()
        .filter(call -> call.operation() == operation)
        .reduce((one, later) -> later)
        .orElseThrow();
  }

  /** What is in device memory, which no CPU reaches. */
  MemorySegment read(DeviceRange range) {
    return byTheEngine(
        () -> {
          try (SimEngine reader = library.machine().engine(0)) {
            MemorySegment bytes = Arena.ofAuto().allocate(range.bytes(), Long.BYTES);
            return bytes.copyFrom(
                MemorySegment.ofArray(reader.read(range.address(), (int) range.bytes())));
          }
        });
  }

  int retainedContexts() {
    return audit().retains();
  }

  LeakAudit audit() {
    library.sweep();
    return library.machine().audit();
  }

  /** Nothing is left but contexts: those that are still open, and engines'. */
  void assertNothingLeft(int contexts) {
    List<String> left = new ArrayList<>(audit().leaks());
    left.removeIf(one -> one.endsWith("engine contexts"));
    assertEquals(contexts == 0 ? List.of() : List.of(contexts + " context retains"), left);
  }
}
