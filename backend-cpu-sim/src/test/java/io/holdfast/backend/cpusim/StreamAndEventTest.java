package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.backend.cpusim.driver.Blocker;
import io.holdfast.backend.cpusim.driver.VirtualClock;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.StreamOrigin;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Order on and between streams, and what events say. */
class StreamAndEventTest {
  private final SimMachine machine =
      SimMachine.builder().leaks(LeakPolicy.IGNORE).clock(new VirtualClock()).build();
  private final AcceleratorDriver driver = machine.driver();
  private final DevicePort port = driver.open(0);
  private final StreamHandle first = port.createStream(0);
  private final StreamHandle second = port.createStream(-1);
  private final DeviceRange memory = port.allocate(4096);
  private final SimEngine engine = machine.engine(0);

  @AfterEach
  void close() {
    engine.close();
    port.close();
    driver.close();
    machine.close();
  }

  @Test
  void workOnOneStreamIsDoneInOrder() {
    for (int i = 0; i < 200; i++) {
      port.fill(memory, (byte) i, first);
    }
    port.awaitStream(first);
    assertEquals((byte) 199, engine.read(memory.address() + 4095, 1)[0]);
  }

  @Test
  void streamsDoNotWaitForEachOther() {
    try (Blocker busy = machine.calls().block(first.value())) {
      port.fill(memory, (byte) 1, first);
      port.fill(memory, (byte) 2, second);
      port.awaitStream(second);
      assertFalse(port.streamIdle(first));
      assertEquals(2, engine.read(memory.address(), 1)[0]);
      busy.release();
      port.awaitStream(first);
      assertEquals(1, engine.read(memory.address(), 1)[0]);
    }
  }

  @Test
  void aStreamWaitsForWhatTheEventWasRecordedBehindThen() {
    EventHandle event = port.createEvent(EventKind.ORDER);
    Blocker early = machine.calls().block(first.value());
    port.fill(memory, (byte) 1, first);
    port.recordEvent(event, first);
    port.streamWait(second, event);
    port.fill(memory, (byte) 2, second);
    Blocker late = machine.calls().block(first.value());
    port.recordEvent(event, first);

    assertFalse(port.streamIdle(second));
    early.release();
    port.awaitStream(second);
    assertEquals(2, engine.read(memory.address(), 1)[0]);
    assertFalse(port.eventPassed(event), "it was recorded anew");
    late.release();
    port.awaitEvent(event);
    assertTrue(port.eventPassed(event));
    port.destroyEvent(event);
  }

  @Test
  void anEventNeverRecordedHasPassedAndHoldsNobodyBack() {
    EventHandle event = port.createEvent(EventKind.TIMED);

    assertTrue(port.eventPassed(event));
    port.awaitEvent(event);
    port.streamWait(first, event);
    assertTrue(port.streamIdle(first));
    assertEquals(400, Answer.of(() -> port.nanosBetween(event, event)));
    port.destroyEvent(event);
    assertEquals(400, Answer.of(() -> port.eventPassed(event)), "a stale handle");
  }

  @Test
  void timeBetweenEventsIsTheDevicesTime() {
    EventHandle start = port.createEvent(EventKind.TIMED);
    EventHandle end = port.createEvent(EventKind.TIMED);
    EventHandle clockless = port.createEvent(EventKind.ORDER);
    Blocker busy = machine.calls().block(first.value());
    port.recordEvent(start, first);
    engine.delay(first.value(), 5_000_000);
    port.recordEvent(end, first);
    port.recordEvent(clockless, first);

    assertEquals(600, Answer.of(() -> port.nanosBetween(start, end)), "not yet");
    busy.release();
    port.awaitStream(first);
    assertEquals(5_000_000, port.nanosBetween(start, end));
    assertEquals(-5_000_000, port.nanosBetween(end, start));
    assertEquals(400, Answer.of(() -> port.nanosBetween(start, clockless)));
  }

  @Test
  void aDestroyedStreamFinishesItsWork() {
    StreamHandle gone = port.createStream(0);
    EventHandle event = port.createEvent(EventKind.ORDER);
    Blocker busy = machine.calls().block(gone.value());
    port.fill(memory, (byte) 8, gone);
    port.recordEvent(event, gone);
    port.destroyStream(gone);

    assertEquals(400, Answer.of(() -> port.streamIdle(gone)), "the handle is stale");
    assertFalse(port.eventPassed(event));
    busy.release();
    port.awaitEvent(event);
    assertEquals(8, engine.read(memory.address(), 1)[0]);
  }

  @Test
  void freeingWaitsForTheDevice() throws InterruptedException {
    DeviceRange other = port.allocate(4096);
    Blocker busy = machine.calls().block(first.value());
    port.fill(other, (byte) 1, first);
    Thread freeing = Thread.ofPlatform().start(() -> port.free(other));
    while (freeing.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    assertTrue(port.rangeOf(other.address()).isPresent());
    busy.release();
    freeing.join();
    assertTrue(port.rangeOf(other.address()).isEmpty());
    port.awaitStream(first);
  }

  @Test
  void blockingStreamsAndTheLegacyStreamWaitForEachOther() {
    long blocking = engine.newStream(SimEngine.StreamKind.BLOCKING);
    long free = engine.newStream();
    long mine = engine.allocate(64);
    Blocker busy = engine.block(blocking);
    engine.fill(mine, 64, (byte) 1, blocking);
    engine.fill(mine, 64, (byte) 2, 0);
    engine.fill(mine, 64, (byte) 3, blocking);
    engine.fill(mine + 32, 32, (byte) 9, free);
    engine.synchronize(free);

    assertEquals(600, engine.queryStream(0), "the legacy stream waits");
    assertEquals(9, engine.read(mine + 32, 1)[0], "a non-blocking stream does not");
    busy.release();
    engine.synchronize(blocking);
    assertEquals(3, engine.read(mine, 1)[0]);
    assertEquals(0, engine.queryStream(1), "handles 0 and 1 are one stream");
  }

  @Test
  void aStreamOfAnotherContextIsSeenAsSuch() {
    StreamHandle foreign = port.adoptStream(engine.newStream());

    assertEquals(engine.context(), foreign.context());
    assertEquals(StreamOrigin.FOREIGN_CONTEXT, port.originOf(foreign));
    assertEquals(StreamOrigin.OWN_CONTEXT, port.originOf(first));
    assertEquals(StreamOrigin.DEFAULT_STREAM, port.originOf(port.adoptStream(0)));
    assertEquals(StreamOrigin.DEFAULT_STREAM, port.originOf(port.adoptStream(2)));
    try (SimEngine elsewhere = machine.engine(1)) {
      assertEquals(
          StreamOrigin.OTHER_DEVICE, port.originOf(port.adoptStream(elsewhere.newStream())));
    }
    assertEquals(400, Answer.of(() -> port.adoptStream(0x1234)));
  }

  @Test
  void eventsAreRecordedInTheirStreamsOwnContextOnly() {
    StreamHandle foreign = port.adoptStream(engine.newStream());
    EventHandle own = port.createEvent(EventKind.ORDER);
    EventHandle fitting = port.createEventFor(foreign, EventKind.ORDER);

    assertEquals(400, Answer.of(() -> port.recordEvent(own, foreign)));
    assertEquals(0, Answer.of(() -> port.recordEvent(fitting, foreign)));
    assertEquals(0, Answer.of(() -> port.streamWait(first, fitting)), "waiting crosses contexts");
    port.recordEvent(own, first);
    assertEquals(0, Answer.of(() -> port.streamWait(foreign, own)));
    port.destroyEvent(own);
    port.destroyEvent(fitting);
  }

  @Test
  void aLostDeviceAnswersEverythingAndKeepsNobodyWaiting() {
    EventHandle event = port.createEvent(EventKind.ORDER);
    Blocker busy = machine.calls().block(first.value());
    port.recordEvent(event, first);
    port.streamWait(second, event);
    port.fill(memory, (byte) 1, second);
    machine.calls().loseDevice(0, 719);

    assertEquals(719, Answer.of(() -> port.awaitStream(second)));
    assertEquals(719, Answer.of(() -> port.eventPassed(event)));
    assertEquals(719, Answer.of(() -> port.memoryInfo()));
    busy.release();
    DevicePort other = driver.open(1);
    assertEquals(0, Answer.of(() -> other.memoryInfo()), "the other device is well");
    other.close();
  }
}
