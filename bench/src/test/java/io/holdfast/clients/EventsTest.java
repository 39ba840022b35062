package io.holdfast.clients;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;
import static io.holdfast.layout.Bytes.mib;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.backend.cpusim.LeakPolicy;
import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.backend.cpusim.driver.FaultScript;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyException;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.device.Demand;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.HandleKind;
import io.holdfast.event.Activity;
import io.holdfast.event.Statistics;
import io.holdfast.event.Statistics.Series;
import io.holdfast.event.Statistics.Tally;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinRequest;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import jdk.jfr.EventType;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an engine's operator sees of it in a recording, and in sums. */
final class EventsTest {
  private static final BlockShape SHAPE = BlockShape.of(2, 4096);

  @TempDir Path folder;

  /**
   * Everything that can be done once; every activity, also those that need something to go wrong.
   */
  private static Statistics work() {
    return well().plus(badly());
  }

  private static Statistics badly() {
    SimMachine machine =
        SimMachine.builder().personality("cuda-580").leaks(LeakPolicy.IGNORE).build();
    machine
        .faults()
        .add(
            FaultScript.parse(
                """
                host-register   2 fail 2
                host-unregister 2 fail 999
                mem-alloc       2 delay 12ms
                memcpy-*        3 fail 1
                """));
    PinRequest pin = PinRequest.strict().sliceBytes(mib(1)).onFailure(PinRequest.OnFailure.HALVE);
    Backend backend = machine.intoBackend();
    try (backend;
        Device device = backend.open(0);
        DeviceAllocation memory = device.memory().allocate(16 * SHAPE.bytes());
        DeviceAllocation slow = device.memory().allocate(4096)) {
      assertEquals(4096, slow.segment().byteSize());
      HostPool pool =
          HostPool.open(
              device,
              DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(16)),
              HostRequest.ofBytes(mib(4)),
              PoolOptions.defaults().pin(pin).copy(CopyOptions.auto().path(CopyPath.LOOP)));
      pool.store(BlockCopies.device(1).host(1), unordered()).await();
      assertThrows(
          CopyException.class,
          () -> {
            Completion wrong = pool.store(BlockCopies.device(2).host(2), unordered());
            wrong.await();
          });
      assertThrows(PinException.class, pool::close);
      assertEquals(1, device.pinner().quarantine().size());
      assertTrue(backend.statistics().quarantinedBytes() > 0);
      assertEquals(List.of(), device.pinner().retryQuarantine());
    }
    return backend.statistics();
  }

  private static Statistics well() {
    Backend backend = Backends.select("cpu-sim:h200");
    try (backend) {
      try (Device device = backend.open(0);
          DeviceAllocation memory = device.memory().allocate(16 * SHAPE.bytes());
          DeviceStream stream = device.newStream();
          DeviceEvent written = device.newEvent().record(stream)) {
        DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(16));
        PoolOptions fine = PoolOptions.defaults().pin(PinRequest.strict().sliceBytes(mib(1)));
        try (HostPool pool =
            HostPool.openInBackground(device, blocks, HostRequest.ofBytes(mib(8)), fine)) {
          pool.awaitSlots(pool.slots());
          pool.pinned().ready().join();
          BlockCopies copies = BlockCopies.device(7, 8, 9).host(0, 1, 2);
          pool.store(copies, after(written)).await();
          pool.load(copies, unordered()).await();
        }
        extend(device);
      }
    }
    return backend.statistics();
  }

  private static void extend(Device device) {
    try (DeviceStream used = device.newStream();
        ExtensibleRegion region =
            device
                .memory()
                .reserve(ExtensibleRequest.of(SHAPE.layerMajor(4096)).shareable(Demand.REQUIRE))) {
      region.commit(256);
      region.commit(1024);
      region.consolidate(Contents.KEEP, after(used));
      region.seal(2048, Contents.KEEP, after(used));
      region.export(HandleKind.POSIX_FD).close();
      region.releasePhysical(after(used));
      region.recommit();
    }
  }

  private static Statistics fold(List<RecordedEvent> events) {
    Statistics sum = Statistics.none();
    for (RecordedEvent event : events) {
      if (!event.getEventType().getName().startsWith("io.holdfast.")) {
        continue;
      }
      boolean failed = event.getString("failure") != null;
      sum =
          sum.plus(
              series(event),
              new Tally(1, failed ? 1 : 0, event.getLong("bytes"), event.getLong("took")));
    }
    return sum;
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
  void statistics_are_the_fold_of_events() throws IOException {
    Path file = folder.resolve("work.jfr");
    work(); // the events' classes are loaded while nobody records, as in an engine that runs
    // already
    Statistics counted;
    try (Recording recording = new Recording()) {
      recording.start();
      counted = work();
      recording.stop();
      recording.dump(file);
    }

    List<RecordedEvent> events =
        RecordingFile.readAllEvents(file).stream()
            .filter(event -> event.getEventType().getName().startsWith("io.holdfast."))
            .toList();

    assertEquals(counted, fold(events));
    Set<Activity> seen = EnumSet.noneOf(Activity.class);
    counted
        .tallies()
        .forEach(
            (activity, tally) -> {
              if (tally.count() > 0) {
                seen.add(activity);
              }
            });
    assertEquals(EnumSet.allOf(Activity.class), seen);
    assertTrue(counted.of(Activity.REGISTER).failures() > 0, "a refused registration");
    assertTrue(counted.of(Activity.STORE).failures() > 0, "a copy that failed");
    assertEquals(0, counted.mappedRegions());
    assertEquals(0, counted.quarantinedBytes(), "what was stuck was given back");
    assertEquals(0, counted.mappedBytes(), "what was mapped is closed");
    assertEquals(0, counted.registeredBytes(), "what was registered is not any more");
    assertEquals(4 * SHAPE.bytes(), counted.of(Activity.STORE).bytes());
    RecordedEvent store =
        events.stream()
            .filter(event -> event.hasField("direction"))
            .filter(event -> "STORE".equals(event.getString("direction")))
            .filter(event -> "cpu-sim:h200".equals(event.getString("backend")))
            .findFirst()
            .orElseThrow();
    assertEquals(6, store.getLong("pairs"));
    assertTrue(store.getDuration().toNanos() > 0, "a submission takes time");
  }

  @Test
  void every_event_says_what_it_is_and_in_which_unit() {
    work();
    List<EventType> types = new ArrayList<>();
    try (Recording recording = new Recording()) {
      recording.start();
      work();
      for (EventType type : jdk.jfr.FlightRecorder.getFlightRecorder().getEventTypes()) {
        if (type.getName().startsWith("io.holdfast.")) {
          types.add(type);
        }
      }
    }
    assertEquals(
        new TreeSet<>(
            List.of(Activity.values()).stream()
                .map(Activity::eventName)
                .collect(Collectors.toSet())),
        new TreeSet<>(types.stream().map(EventType::getName).collect(Collectors.toSet())));
    for (EventType type : types) {
      assertFalse(type.getLabel().isBlank(), type.getName());
      assertEquals("Holdfast", type.getCategoryNames().getFirst(), type.getName());
      assertEquals("jdk.jfr.DataAmount", annotation(type, "bytes"), type.getName());
      assertEquals("jdk.jfr.Timespan", annotation(type, "took"), type.getName());
    }
  }

  private static String annotation(EventType type, String field) {
    return type.getField(field).getAnnotationElements().stream()
        .map(element -> element.getTypeName())
        .filter(name -> name.equals("jdk.jfr.DataAmount") || name.equals("jdk.jfr.Timespan"))
        .findFirst()
        .orElse("none");
  }

  @Test
  void a_fallback_is_logged_once_and_counted_each_time() {
    List<String> heard = new CopyOnWriteArrayList<>();
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord message) {
            heard.add(message.getMessage());
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Logger logger = Logger.getLogger("io.holdfast");
    logger.addHandler(handler);
    try (Backend backend = Backends.select("cpu-sim:gb200");
        Device device = backend.open(0)) {
      for (int i = 0; i < 2; i++) {
        device
            .memory()
            .reserve(ExtensibleRequest.of(SHAPE.layerMajor(64)).shareable(Demand.REQUIRE))
            .close();
      }
      assertEquals(2, backend.statistics().of(Activity.FALLBACK).count());
    } finally {
      logger.removeHandler(handler);
    }
    assertEquals(1, heard.size(), heard.toString());
    assertTrue(heard.getFirst().startsWith("backend cpu-sim:gb200: "), heard.toString());
  }
}
