package io.holdfast.conformance;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.asIfOn;
import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Device;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceStream;
import io.holdfast.error.BusyException;
import io.holdfast.error.DriverException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.pin.PinRequest;
import io.holdfast.pool.HostPool;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.StreamOrigin;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Streams, events, contexts and captures of engines. */
abstract class EngineRules extends Rules {
  EngineRules(Conformance kit) {
    super(kit);
  }

  private Engine engine() {
    return kit.engineBeside(backend.id(), device)
        .orElseThrow(
            () ->
                missing(
                    "an engine beside Holdfast: whoever knows this driver answers"
                        + " Conformance.engine(device), or provides an EngineProvider"));
  }

  /** A stream that Holdfast knows by its raw handle only. */
  private long strangersStream() {
    return tap.port().createStream(0).value();
  }

  @Test
  @Covers({Rule.STR_01, Rule.STR_03})
  final void str01_an_engines_stream_orders_copies_and_is_left_to_its_owner() {
    StreamHandle theirs = tap.port().createStream(0);
    withPool(
        4,
        4,
        pool -> {
          DeviceStream wrapped = device.wrapStream(theirs.value());
          write(pool, 0, 8);
          pool.load(BlockCopies.device(3).host(0), asIfOn(wrapped));
          pool.store(BlockCopies.device(3).host(2), after(wrapped)).await();
          check(pool, 2, 8);
          tap.forget();
          pool.store(BlockCopies.device(3).host(2), after(wrapped)).await();
          assertTrue(
              tap.calls("DevicePort.recordEvent").stream()
                  .anyMatch(call -> call.argument(StreamHandle.class, 1).value() == theirs.value()),
              "nothing was recorded on the engine's stream");
          wrapped.close();
          wrapped.close();
          assertThrows(
              IllegalStateException.class,
              () -> pool.store(BlockCopies.device(3).host(2), after(wrapped)));
        });
    assertEquals(
        0,
        tap.calls("DevicePort.destroyStream").stream()
            .filter(call -> call.argument(StreamHandle.class, 0).equals(theirs))
            .count(),
        "the engine's stream was destroyed");
    tap.port().awaitStream(theirs);
    tap.port().destroyStream(theirs);
  }

  @Test
  @Covers(Rule.STR_02)
  final void str02_a_default_streams_handle_is_refused() {
    DevicePort own = tap.port();
    long legacy = tap.port().legacyDefaultStream().value();
    assertThrows(IllegalArgumentException.class, () -> device.wrapStream(legacy));
    assertThrows(IllegalArgumentException.class, () -> device.wrapStream(0));
    int others = backend.devices().size();
    if (others > 1) {
      try (Device second = backend.open(1)) {
        long elsewhere = strangersStream(); // the port opened last is the second device's
        if (own.originOf(own.adoptStream(elsewhere)) != StreamOrigin.OTHER_DEVICE) {
          tap.port().destroyStream(tap.port().adoptStream(elsewhere));
          throw missing("a driver that tells to whom a stream belongs");
        }
        assertThrows(IllegalArgumentException.class, () -> device.wrapStream(elsewhere));
        second.wrapStream(elsewhere).close();
        tap.port().destroyStream(tap.port().adoptStream(elsewhere));
      }
    }
  }

  @Test
  @Covers(Rule.STR_04)
  final void str04_the_default_stream_by_its_name_is_a_point_of_order() {
    withPool(
        4,
        4,
        pool -> {
          write(pool, 0, 2);
          DeviceStream legacy = device.legacyDefaultStream();
          pool.load(BlockCopies.device(1).host(0), asIfOn(legacy));
          pool.store(BlockCopies.device(1).host(3), after(legacy)).await();
          check(pool, 3, 2);
          long handle = tap.port().legacyDefaultStream().value();
          tap.forget();
          pool.store(BlockCopies.device(1).host(3), after(legacy)).await();
          assertTrue(
              tap.calls("DevicePort.recordEvent").stream()
                  .anyMatch(call -> call.argument(StreamHandle.class, 1).value() == handle),
              "nothing was recorded on the default stream");
          legacy.close();
        });
  }

  @Test
  @Covers({Rule.STR_05, Rule.STR_03})
  final void str05_an_engines_event_orders_copies_and_is_left_to_its_owner() {
    DevicePort port = tap.port();
    StreamHandle theirs = port.createStream(0);
    EventHandle event = port.createEventFor(theirs, EventKind.ORDER);
    port.recordEvent(event, theirs);
    withPool(
        2,
        2,
        pool -> {
          DeviceEvent wrapped = device.wrapEvent(event.value());
          tap.forget();
          pool.store(BlockCopies.device(0).host(1), after(wrapped)).await();
          assertTrue(
              tap.calls("DevicePort.streamWait").stream()
                  .anyMatch(call -> call.argument(EventHandle.class, 1).value() == event.value()),
              "the copy does not wait for the engine's event");
          assertTrue(wrapped.isDone());
          wrapped.close();
        });
    assertTrue(port.eventPassed(event), "the engine's event is gone");
    port.destroyEvent(event);
    port.destroyStream(theirs);
  }

  // ---- what only an engine can show

  @Test
  @Covers(Rule.STR_06)
  final void str06_the_threads_context_is_as_it_was_after_every_call() {
    DevicePort port = tap.port(); // before others are opened
    try (Engine engine = engine()) {
      engine.makeCurrent();
      long before = engine.current();
      List<String> changed = new ArrayList<>();
      for (String call :
          List.of("open", "allocate", "pool", "stream", "store", "event", "close", "refused")) {
        switch (call) {
          case "open" -> backend.open(0).close();
          case "allocate" -> device.memory().allocate(4096).close();
          case "pool" -> withPool(2, 2, pool -> {});
          case "stream" -> device.newStream().close();
          case "store" ->
              withPool(2, 2, pool -> pool.store(BlockCopies.device(0).host(0), unordered()));
          case "event" -> {
            try (DeviceStream stream = device.newStream();
                DeviceEvent event = device.newEvent().record(stream)) {
              event.isDone();
            }
          }
          case "close" -> {
            Device second = backend.open(backend.devices().size() - 1);
            second.close();
          }
          default ->
              assertThrows(DriverException.class, () -> port.free(new DeviceRange(12_345, 1)));
        }
        if (engine.current() != before) {
          changed.add(call);
          engine.makeCurrent();
        }
      }
      assertEquals(List.of(), changed, "these left another context current");
      portLeavesTheContext(port, engine, before);
    }
  }

  /** Each call of the port by itself, made in this thread as submission makes some. */
  private static void portLeavesTheContext(DevicePort port, Engine engine, long before) {
    DeviceRange memory = port.allocate(4096);
    assertEquals(before, engine.current(), "allocate");
    StreamHandle stream = port.createStream(0);
    assertEquals(before, engine.current(), "createStream");
    EventHandle event = port.createEventFor(stream, EventKind.ORDER);
    assertEquals(before, engine.current(), "createEventFor");
    port.fill(memory, (byte) 1, stream);
    assertEquals(before, engine.current(), "fill");
    port.recordEvent(event, stream);
    assertEquals(before, engine.current(), "recordEvent");
    port.streamWait(stream, event);
    assertEquals(before, engine.current(), "streamWait");
    port.awaitEvent(event);
    assertEquals(before, engine.current(), "awaitEvent");
    port.eventPassed(event);
    assertEquals(before, engine.current(), "eventPassed");
    port.streamIdle(stream);
    port.captureState(stream);
    port.originOf(stream);
    port.memoryInfo();
    var _ = port.rangeOf(memory.address());
    assertEquals(before, engine.current(), "questions");
    port.destroyEvent(event);
    port.destroyStream(stream);
    port.free(memory);
    assertEquals(before, engine.current(), "destroying");
  }

  @Test
  @Covers(Rule.STR_07)
  final void str07_a_stream_that_is_captured_from_is_refused_and_the_capture_is_whole() {
    try (Engine engine = engine()) {
      long theirs = engine.newStream();
      DeviceStream before = device.wrapStream(theirs);
      withPool(
          2,
          2,
          pool -> {
            engine.beginCapture(theirs);
            boolean whole;
            try {
              assertThrows(
                  BusyException.class,
                  () -> pool.store(BlockCopies.device(0).host(0), after(before)));
              assertThrows(BusyException.class, () -> device.wrapStream(theirs));
            } finally {
              whole = engine.endCapture(theirs); // else what joined it would never end
            }
            assertTrue(whole, "the capture was broken");
            pool.store(BlockCopies.device(0).host(0), after(before)).await();
          });
      before.close();
    }
  }

  @Test
  @Covers(Rule.STR_08)
  final void str08_work_beside_a_capture_does_not_break_it() {
    try (Engine engine = engine()) {
      long captured = engine.newStream();
      withPool(
          4,
          4,
          pool -> {
            pool.store(BlockCopies.device(0).host(0), unordered()).await();
            engine.beginCapture(captured);
            write(pool, 1, 4);
            pool.load(BlockCopies.device(2).host(1), unordered()).await();
            pool.store(BlockCopies.device(2).host(3), unordered()).await();
            device.memory().allocate(1 << 20).close();
            try (DeviceStream stream = device.newStream()) {
              stream.await();
            }
            try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(1 << 20))) {
              device.pinner().pin(region, PinRequest.strict()).close();
            }
            assertTrue(engine.endCapture(captured), "work on other streams broke the capture");
            check(pool, 3, 4);
          });
    }
  }

  @Test
  @Covers(Rule.STR_09)
  final void str09_an_engines_context_can_be_used_and_is_not_destroyed() {
    try (Engine engine = engine()) {
      if (engine.context() == 0) {
        inverted("contexts of engines");
        assertThrows(UnsupportedException.class, () -> backend.wrapContext(device.info(), 12_345));
        return;
      }
      long theirs = engine.newStream();
      try (Device inside = backend.wrapContext(device.info(), engine.context());
          DeviceAllocation on = inside.memory().allocate(2 * SHAPE.bytes());
          HostPool pool =
              HostPool.open(
                  inside,
                  DeviceBlocks.of(on.segment(), SHAPE.blockMajor(2)),
                  HostRequest.ofBytes(4 * SHAPE.bytes()))) {
        write(pool, 0, 30);
        DeviceStream stream = inside.wrapStream(theirs);
        pool.load(BlockCopies.device(1).host(0), asIfOn(stream));
        pool.store(BlockCopies.device(1).host(3), after(stream)).await();
        check(pool, 3, 30);
        stream.close();
      }
      assertTrue(engine.usable(theirs), "the engine's context is gone");
    }
  }

  @Test
  @Covers({Rule.STR_10, Rule.ORD_03})
  final void str10_a_stream_of_another_context_orders_copies() {
    try (Engine engine = engine()) {
      long theirs = engine.newStream();
      withPool(
          2,
          2,
          pool -> {
            pool.store(BlockCopies.device(0).host(0), unordered()).await();
            DeviceStream wrapped = device.wrapStream(theirs);
            Runnable end = engine.block(theirs);
            Completion stored;
            try {
              stored = pool.store(BlockCopies.device(1).host(1), after(wrapped));
              assertFalse(
                  stored.await(Duration.ofMillis(30)), "the copy did not wait for the stream");
            } finally {
              end.run();
            }
            stored.await();
            long event = engine.recordedEvent(theirs);
            DeviceEvent point = device.wrapEvent(event);
            pool.store(BlockCopies.device(1).host(0), after(point)).await();
            point.close();
            wrapped.close();
          });
      assertTrue(engine.usable(theirs));
    }
  }
}
