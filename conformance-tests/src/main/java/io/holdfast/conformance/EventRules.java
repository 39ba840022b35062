package io.holdfast.conformance;

import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyPath;
import io.holdfast.error.DriverFault;
import io.holdfast.event.Activity;
import io.holdfast.event.Statistics;
import io.holdfast.event.Statistics.Series;
import io.holdfast.event.Statistics.Tally;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;

/** What a backend tells of its doings: sums, and events of JDK Flight Recorder. */
abstract class EventRules extends Rules {
  private static final String REGISTER = "DevicePort.register";
  private static final String UNREGISTER = "DevicePort.unregister";

  EventRules(Conformance kit) {
    super(kit);
  }

  /** Holdfast's events of this backend while something is done. */
  private List<RecordedEvent> recorded(Runnable work) {
    try {
      Path file = Files.createTempFile("holdfast-events-", ".jfr");
      try (Recording recording = new Recording()) {
        for (Activity activity : Activity.values()) {
          recording.enable(activity.eventName()).withoutThreshold();
        }
        recording.start();
        work.run();
        recording.stop();
        recording.dump(file);
        return RecordingFile.readAllEvents(file).stream()
            .filter(event -> event.getEventType().getName().startsWith("io.holdfast."))
            .filter(event -> backend.id().equals(event.getString("backend")))
            .toList();
      } finally {
        Files.delete(file);
      }
    } catch (IOException unwritable) {
      throw new UncheckedIOException("the recording", unwritable);
    }
  }

  private void pinHalving() {
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(pages(64)))) {
      long page = region.backingPageBytes();
      tap.twist(
          REGISTER,
          (call, through) -> {
            if (call.argument(MemorySegment.class, 0).byteSize() > 16 * page) {
              throw refusal(DriverFault.OUT_OF_MEMORY);
            }
            return through.go();
          });
      PinRequest request =
          PinRequest.strict()
              .sliceBytes(64 * page)
              .capBytes(64 * page)
              .onFailure(PinRequest.OnFailure.HALVE);
      device.pinner().pin(region, request).close();
      tap.untwist();
    }
  }

  @Test
  @Covers(Rule.EVT_01)
  final void evt01_a_fallback_is_counted_and_recorded() {
    Statistics before = backend.statistics();
    List<RecordedEvent> events = recorded(this::pinHalving);
    long counted = backend.statistics().since(before).of(Activity.FALLBACK).count();

    assertTrue(counted > 0, "ranges were halved, and nobody counted it");
    List<RecordedEvent> fallbacks =
        events.stream()
            .filter(event -> event.getEventType().getName().equals(Activity.FALLBACK.eventName()))
            .toList();
    assertEquals(counted, fallbacks.size(), "fallbacks counted, and recorded");
    for (RecordedEvent fallback : fallbacks) {
      assertTrue(!String.valueOf(fallback.getString("what")).isBlank(), fallback.toString());
    }
  }

  /** Maps, pins, copies there and back, and closes. */
  private void roundTrip() {
    withPool(
        4,
        4,
        pool -> {
          pool.store(BlockCopies.device(0, 2).host(1, 3), unordered()).await();
          pool.load(BlockCopies.device(1).host(1), unordered()).await();
        });
  }

  @Test
  @Covers(Rule.EVT_02)
  final void evt02_what_is_done_is_counted_as_the_ports_were_asked() {
    roundTrip(); // what is measured once is measured now
    tap.forget();
    Statistics before = backend.statistics();
    roundTrip();
    device.close();
    Statistics counted = backend.statistics().since(before);

    long pinned =
        tap.calls(REGISTER).stream()
            .mapToLong(call -> call.argument(MemorySegment.class, 0).byteSize())
            .sum();
    assertTrue(pinned > 0, "nothing was pinned");
    assertEquals(pinned, counted.of(Activity.REGISTER).bytes());
    assertEquals(tap.count(REGISTER), counted.of(Activity.REGISTER).count());
    assertEquals(pinned, counted.of(Activity.UNREGISTER).bytes());
    assertEquals(0, counted.registeredBytes());
    long mapped =
        tap.calls("HostKernel.map").stream()
            .mapToLong(call -> call.result(MemorySegment.class).byteSize())
            .sum();
    assertTrue(mapped > 0, "nothing was mapped");
    assertEquals(mapped, counted.of(Activity.MAP).bytes());
    assertEquals(mapped, counted.of(Activity.UNMAP).bytes());
    assertEquals(0, counted.mappedBytes());
    assertEquals(2 * SHAPE.bytes(), counted.of(Activity.STORE).bytes());
    assertEquals(1, counted.of(Activity.STORE).count());
    assertEquals(SHAPE.bytes(), counted.of(Activity.LOAD).bytes());
    assertEquals(1, counted.of(Activity.LOAD).count());
    assertEquals(
        0, counted.tallies().values().stream().mapToLong(Tally::failures).sum(), "failures");
  }

  @Test
  @Covers(Rule.EVT_03)
  final void evt03_what_is_recorded_adds_up_to_what_is_counted() {
    roundTrip(); // the events' classes are loaded while nobody records
    Statistics before = backend.statistics();
    List<RecordedEvent> events =
        recorded(
            () -> {
              roundTrip();
              device.close();
            });
    Statistics counted = backend.statistics().since(before);
    Statistics sum = Statistics.none();
    for (RecordedEvent event : events) {
      long failures = event.getString("failure") == null ? 0 : 1;
      sum =
          sum.plus(
              series(event), new Tally(1, failures, event.getLong("bytes"), event.getLong("took")));
    }
    assertEquals(counted, sum);
  }

  private static Series series(RecordedEvent event) {
    int device = event.getInt("deviceOrdinal");
    return new Series(
        activity(event),
        device < 0 ? OptionalInt.empty() : OptionalInt.of(device),
        event.hasField("path")
            ? Optional.of(CopyPath.valueOf(event.getString("path")))
            : Optional.empty());
  }

  private static Activity activity(RecordedEvent event) {
    if (event.hasField("direction")) {
      return Activity.valueOf(event.getString("direction"));
    }
    for (Activity activity : Activity.values()) {
      if (activity.eventName().equals(event.getEventType().getName())) {
        return activity;
      }
    }
    throw new AssertionError("no activity has the event " + event);
  }

  @Test
  @Covers(Rule.EVT_04)
  final void evt04_a_refused_call_is_counted_as_a_failure() {
    Statistics before = backend.statistics();
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(pages(64)))) {
      long slice = 16 * region.backingPageBytes();
      PinRequest inSlices = PinRequest.strict().sliceBytes(slice).capBytes(slice);
      tap.refuse(REGISTER, 3, refusal(DriverFault.INVALID_ARGUMENT));
      assertThrows(PinException.class, () -> device.pinner().pin(region, inSlices));
      assertEquals(
          new Tally(3, 1, 2 * slice, 0),
          withoutTime(backend.statistics().since(before).of(Activity.REGISTER)));
      assertEquals(
          new Tally(2, 0, 2 * slice, 0),
          withoutTime(backend.statistics().since(before).of(Activity.UNREGISTER)));

      Statistics then = backend.statistics();
      PinnedRegion pinned = device.pinner().pin(region, inSlices);
      tap.refuse(UNREGISTER, 1, refusal(DriverFault.OTHER));
      try {
        pinned.close();
      } catch (PinException told) {
        assertEquals(PinException.Reason.STILL_PINNED, told.reason());
      }
      tap.untwist();
      assertEquals(
          new Tally(1, 0, slice, 0),
          withoutTime(backend.statistics().since(then).of(Activity.QUARANTINE)));
      assertEquals(List.of(), device.pinner().retryQuarantine());
    }
    assertEquals(Map.of(), tap.registered());
  }

  private static Tally withoutTime(Tally tally) {
    return new Tally(tally.count(), tally.failures(), tally.bytes(), 0);
  }
}
