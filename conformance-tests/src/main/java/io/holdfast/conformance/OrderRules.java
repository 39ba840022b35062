package io.holdfast.conformance;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.asIfOn;
import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.conformance.tap.Call;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceStream;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.StreamHandle;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What waits for what, on the device. */
abstract class OrderRules extends Rules {
  private static final String WAIT = "DevicePort.streamWait";
  private static final String RECORD = "DevicePort.recordEvent";

  OrderRules(Conformance kit) {
    super(kit);
  }

  @Test
  @Covers({Rule.ORD_01, Rule.SLT_01})
  final void ord01_what_comes_after_a_copy_sees_its_bytes() {
    withPool(
        4,
        8,
        pool -> {
          try (DeviceStream stream = device.newStream()) {
            for (int round = 0; round < 200; round++) {
              write(pool, 0, round);
              Completion loaded = pool.load(BlockCopies.device(2).host(0), asIfOn(stream));
              pool.store(BlockCopies.device(2).host(1), after(stream));
              // slot 1 is filled by the store above: this load waits for it without being told
              Completion again = pool.load(BlockCopies.device(3).host(1), unordered());
              pool.store(BlockCopies.device(3).host(4), after(again)).await();
              check(pool, 4, round);
              assertTrue(loaded.isDone());
            }
          }
        });
  }

  @Test
  @Covers(Rule.ORD_02)
  final void ord02_an_event_never_recorded_cannot_be_waited_for() {
    withPool(
        4,
        4,
        pool -> {
          try (DeviceEvent event = device.newEvent()) {
            assertThrows(IllegalStateException.class, event::await);
            assertThrows(IllegalStateException.class, event::isDone);
            assertThrows(
                IllegalStateException.class,
                () -> pool.store(BlockCopies.device(0).host(0), after(event)));
          }
          pool.store(BlockCopies.device(0).host(0), unordered()).await();
        });
  }

  /** Streams on which copies were submitted since the tap forgot. */
  private Set<StreamHandle> copyStreams() {
    Set<StreamHandle> streams = new HashSet<>();
    tap.calls("DevicePort.copyEach").forEach(call -> streams.add(stream(call, 3)));
    tap.calls("BatchCopyPort.copyBatch").forEach(call -> streams.add(stream(call, 4)));
    tap.calls("KernelCopyPort.copyByKernel").forEach(call -> streams.add(stream(call, 5)));
    tap.calls("PitchedCopyPort.copyRows").forEach(call -> streams.add(stream(call, 7)));
    return streams;
  }

  private static StreamHandle stream(Call call, int index) {
    return call.argument(StreamHandle.class, index);
  }

  private long firstCopy() {
    return tap.calls(
            "DevicePort.copyEach",
            "BatchCopyPort.copyBatch",
            "KernelCopyPort.copyByKernel",
            "PitchedCopyPort.copyRows")
        .getFirst()
        .number();
  }

  private StreamHandle handleOfNewest() {
    return tap.calls("DevicePort.createStream").getLast().result(StreamHandle.class);
  }

  /** Events that were recorded on a stream, and for which the copies' stream waited in front. */
  private boolean copiesWaitedFor(StreamHandle theirs) {
    Set<EventHandle> recorded = new HashSet<>();
    Set<StreamHandle> copies = copyStreams();
    long copy = firstCopy();
    for (Call call : tap.calls(RECORD, WAIT)) {
      if (call.name().equals(RECORD) && stream(call, 1).equals(theirs)) {
        recorded.add(call.argument(EventHandle.class, 0));
      } else if (call.name().equals(WAIT)
          && call.number() < copy
          && copies.contains(stream(call, 0))
          && recorded.contains(call.argument(EventHandle.class, 1))) {
        return true;
      }
    }
    return false;
  }

  @Test
  @Covers(Rule.ORD_03)
  final void ord03_a_copy_after_a_stream_waits_on_the_device() {
    withPool(
        4,
        4,
        pool -> {
          try (DeviceStream stream = device.newStream()) {
            StreamHandle handle = handleOfNewest();
            tap.forget();
            pool.store(BlockCopies.device(0).host(0), after(stream)).await();
            assertTrue(copiesWaitedFor(handle), "nothing waited for the stream: " + tap.calls());
            assertEquals(0, tap.count("DevicePort.awaitStream"), "the host waited");

            tap.forget();
            pool.store(BlockCopies.device(0).host(0), unordered()).await();
            assertFalse(copiesWaitedFor(handle), "an unordered copy waited for a stream");
          }
        });
  }

  @Test
  @Covers(Rule.ORD_04)
  final void ord04_what_comes_to_a_stream_after_a_load_as_if_on_it_waits_for_the_load() {
    withPool(
        4,
        4,
        pool -> {
          try (DeviceStream stream = device.newStream()) {
            StreamHandle handle = handleOfNewest();
            pool.load(BlockCopies.device(1).host(1), unordered()).await();
            tap.forget();
            // a load that the device has passed already need not be waited for
            try (Held held = new Held()) {
              Completion loaded = pool.load(BlockCopies.device(0).host(0), asIfOn(stream));
              held.release();
              loaded.await();
            }
            assertTrue(copiesWaitedFor(handle), "the load did not wait for the stream");
            Set<StreamHandle> copies = copyStreams();
            Set<EventHandle> behind = new HashSet<>();
            boolean released = false;
            for (Call call : tap.calls(RECORD, WAIT)) {
              if (call.name().equals(RECORD)
                  && call.number() > firstCopy()
                  && copies.contains(stream(call, 1))) {
                behind.add(call.argument(EventHandle.class, 0));
              } else if (call.name().equals(WAIT) && stream(call, 0).equals(handle)) {
                released |= behind.contains(call.argument(EventHandle.class, 1));
              }
            }
            assertTrue(released, "the stream does not wait for the load: " + tap.calls());
          }
        });
  }

  @Test
  @Covers(Rule.ORD_05)
  final void ord05_an_event_that_was_recorded_orders_a_copy_behind_it() {
    withPool(
        4,
        4,
        pool -> {
          try (DeviceStream stream = device.newStream();
              DeviceEvent event = device.newEvent()) {
            tap.forget();
            event.record(stream);
            pool.store(BlockCopies.device(0).host(0), after(event)).await();
            assertTrue(event.isDone());
            EventHandle recorded = tap.calls(RECORD).getFirst().argument(EventHandle.class, 0);
            Set<StreamHandle> copies = copyStreams();
            assertTrue(
                tap.calls(WAIT).stream()
                    .anyMatch(
                        call ->
                            copies.contains(stream(call, 0))
                                && call.argument(EventHandle.class, 1).equals(recorded)
                                && call.number() < firstCopy()),
                "the copy does not wait for the event: " + tap.calls());
          }
        });
  }

  @Test
  @Covers(Rule.ORD_06)
  final void ord06_two_orders_are_both_waited_for() {
    withPool(
        4,
        4,
        pool -> {
          try (DeviceStream one = device.newStream()) {
            StreamHandle first = handleOfNewest();
            try (DeviceStream other = device.newStream()) {
              StreamHandle second = handleOfNewest();
              tap.forget();
              pool.store(BlockCopies.device(0).host(0), after(one).and(other)).await();
              assertTrue(copiesWaitedFor(first), "the first is not waited for");
              assertTrue(copiesWaitedFor(second), "the second is not waited for");
            }
          }
        });
  }
}
