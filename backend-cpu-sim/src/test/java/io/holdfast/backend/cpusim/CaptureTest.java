package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.backend.cpusim.SimEngine.CaptureMode;
import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.StreamHandle;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Who may break an engine's graph capture, and that the port never does. */
class CaptureTest {
  private final SimMachine machine = SimMachine.builder().leaks(LeakPolicy.FAIL).build();
  private final AcceleratorDriver driver = machine.driver();
  private final DevicePort port = driver.open(0);
  private final SimEngine engine = machine.engine(0);
  private final long captured = engine.newStream();
  private final long other = engine.newStream();
  private final long memory = engine.allocate(4096);
  private final ExecutorService elsewhere = Executors.newSingleThreadExecutor();

  @AfterEach
  void close() {
    elsewhere.shutdown();
    engine.close();
    port.close();
    driver.close();
    machine.close();
  }

  private int inAnotherThread(java.util.function.IntSupplier call) {
    return CompletableFuture.supplyAsync(call::getAsInt, elsewhere).join();
  }

  @ParameterizedTest
  @EnumSource(CaptureMode.class)
  void aQueryInAnotherThreadBreaksOnlyAGlobalCapture(CaptureMode mode) {
    engine.beginCapture(captured, mode);
    int answer = inAnotherThread(() -> engine.queryStream(other));

    assertEquals(mode == CaptureMode.GLOBAL ? 900 : 0, answer);
    assertEquals(mode == CaptureMode.GLOBAL ? 901 : 0, engine.endCaptureCode(captured));
  }

  @ParameterizedTest
  @EnumSource(CaptureMode.class)
  void aQueryInTheCapturingThreadBreaksAllButARelaxedCapture(CaptureMode mode) {
    engine.beginCapture(captured, mode);
    int answer = engine.queryStream(other);

    assertEquals(mode == CaptureMode.RELAXED ? 0 : 900, answer);
    assertEquals(mode == CaptureMode.RELAXED ? 0 : 901, engine.endCaptureCode(captured));
  }

  @ParameterizedTest
  @EnumSource(CaptureMode.class)
  void anEventOfTheCaptureCannotBeAskedFor(CaptureMode mode) {
    long event = engine.newEvent();
    engine.beginCapture(captured, mode);
    engine.record(event, captured);

    assertEquals(907, inAnotherThread(() -> engine.query(event)));
    assertEquals(901, engine.endCaptureCode(captured));
  }

  @ParameterizedTest
  @EnumSource(CaptureMode.class)
  void whoWaitsForAnEventOfTheCaptureJoinsIt(CaptureMode mode) {
    long event = engine.newEvent();
    long joining = engine.newStream();
    engine.fill(memory, 4096, (byte) 1, other);
    engine.synchronize(other);
    engine.beginCapture(captured, mode);
    engine.record(event, captured);
    engine.wait(joining, event);
    engine.fill(memory, 4096, (byte) 2, joining);
    engine.destroyStream(joining);
    long graph = engine.endCapture(captured);

    assertEquals(1, engine.read(memory, 1)[0], "what was put there has not run");
    assertEquals(1, engine.nodesOf(graph));
    engine.launch(graph, captured);
    engine.synchronize(captured);
    assertEquals(2, engine.read(memory, 1)[0]);
  }

  @Test
  void aStreamThatJoinedAndDoesNotComeBackSpoilsTheGraph() {
    long event = engine.newEvent();
    engine.beginCapture(captured, CaptureMode.RELAXED);
    engine.record(event, captured);
    engine.wait(other, event);
    engine.fill(memory, 1, (byte) 2, other);
    assertEquals(904, engine.endCaptureCode(captured));

    engine.beginCapture(captured, CaptureMode.RELAXED);
    engine.record(event, captured);
    engine.wait(other, event);
    engine.fill(memory, 1, (byte) 2, other);
    engine.record(event, other);
    engine.wait(captured, event);
    assertEquals(0, engine.endCaptureCode(captured), "joined back");
  }

  @Test
  void workOnOtherStreamsGoesOnMeanwhile() {
    long event = engine.newEvent();
    engine.beginCapture(captured, CaptureMode.GLOBAL);
    engine.fill(memory, 4096, (byte) 7, other);
    engine.record(event, other);

    assertEquals(0, engine.endCaptureCode(captured));
    engine.synchronize(other);
    assertEquals(7, engine.read(memory, 1)[0]);
  }

  @Test
  void theCapturedStreamCannotWaitForWorkOutside() {
    long event = engine.newEvent();
    engine.record(event, other);
    engine.beginCapture(captured, CaptureMode.RELAXED);

    assertEquals(905, Answer.of(() -> engine.wait(captured, event)));
    assertEquals(901, engine.endCaptureCode(captured));
  }

  @ParameterizedTest
  @EnumSource(CaptureMode.class)
  void nothingThatThePortDoesBreaksACapture(CaptureMode mode) {
    StreamHandle ours = port.createStream(0);
    EventHandle mark = port.createEvent(EventKind.TIMED);
    DeviceRange range = port.allocate(4096);
    engine.beginCapture(captured, mode);
    Runnable everything =
        () -> {
          try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate(8192, 4096);
            port.register(host);
            port.seenByDevice(host);
            DeviceRange more = port.allocate(4096);
            port.fill(more, (byte) 3, ours);
            port.recordEvent(mark, ours);
            port.eventPassed(mark);
            port.streamIdle(ours);
            port.awaitStream(ours);
            port.awaitEvent(mark);
            port.free(more);
            port.memoryInfo();
            port.captureState(ours);
            port.unregister(host);
          }
        };
    everything.run();
    inAnotherThread(
        () -> {
          everything.run();
          return 0;
        });

    assertEquals(CaptureState.ACTIVE, port.captureState(port.adoptStream(captured)));
    long graph = engine.endCapture(captured);
    assertEquals(0, engine.nodesOf(graph), "and nothing of ours is in it");
    port.free(range);
    port.destroyEvent(mark);
    port.destroyStream(ours);
  }

  @Test
  void withoutSteppingOutTheSameCallsBreakIt() {
    SimDriver raw = machine.calls();
    engine.makeCurrent();
    engine.beginCapture(captured, CaptureMode.GLOBAL);
    try (Arena arena = Arena.ofConfined()) {
      assertEquals(900, raw.memHostRegister(arena.allocate(4096, 4096).address(), 4096, 3));
    }
    assertEquals(901, engine.endCaptureCode(captured));
    engine.makeNoneCurrent();
  }

  @Test
  void aCopyStreamThatJoinedIsSeenAndDroppedWithoutHarm() {
    long event = engine.newEvent();
    StreamHandle ours = port.createStream(0);
    engine.beginCapture(captured, CaptureMode.GLOBAL);
    engine.record(event, captured);
    port.streamWait(ours, port.adoptEvent(event));

    assertEquals(CaptureState.ACTIVE, port.captureState(ours));
    port.destroyStream(ours);
    assertEquals(0, engine.endCaptureCode(captured));
  }

  @Test
  void theThreadIsLeftAsItWas() {
    SimDriver raw = machine.calls();
    engine.makeCurrent();
    assertEquals(0, raw.threadExchangeStreamCaptureMode(1));
    port.memoryInfo();
    Answer.of(() -> port.free(new DeviceRange(12345, 1)));

    assertEquals(engine.context(), raw.ctxGetCurrent());
    assertEquals(1, raw.threadExchangeStreamCaptureMode(0));
    engine.makeNoneCurrent();
    port.memoryInfo();
    assertEquals(0, raw.ctxGetCurrent());
  }

  @Test
  void theLegacyStreamTakesNoPartInACapture() {
    long blocking = engine.newStream(SimEngine.StreamKind.BLOCKING);
    engine.beginCapture(blocking, CaptureMode.GLOBAL);

    assertEquals(906, Answer.of(() -> engine.fill(memory, 1, (byte) 1, 0)));
    assertEquals(901, engine.endCaptureCode(blocking));
    assertTrue(engine.queryStream(0) == 0);
    assertFalse(engine.queryStream(blocking) == 900);
  }
}
