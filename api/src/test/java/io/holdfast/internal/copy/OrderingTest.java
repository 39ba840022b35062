package io.holdfast.internal.copy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.Order;
import io.holdfast.error.BusyException;
import io.holdfast.internal.Segment;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.core.CoreStream;
import io.holdfast.internal.slots.HostSlots;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.StreamHandle;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Who comes before whom: engines' streams and events, slots, captures. */
class OrderingTest {
  private static final BlockLayout LAYOUT = BlockShape.of(2, 64).layerMajor(16);

  private static StreamHandle handle(DeviceStream stream) {
    return ((CoreStream) stream).handle();
  }

  private static DeviceRange block(Rig rig, int part, long block) {
    return new DeviceRange(
        rig.device.address() + LAYOUT.planes().get(part).blockOffsetBytes(block), 64);
  }

  private static byte[] all(int value) {
    byte[] bytes = new byte[64];
    Arrays.fill(bytes, (byte) value);
    return bytes;
  }

  private static int mismatchesWithDelayedProducer(boolean ordered) {
    int mismatches = 0;
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      DeviceStream producer = rig.engineStream();
      CopyRoute route = rig.route();
      Order afterIt = Order.after(producer);
      for (int iteration = 0; iteration < 150; iteration++) {
        long gate = rig.port.gate(handle(producer).value());
        rig.port.fill(block(rig, 0, 3), (byte) iteration, handle(producer));

        var _ = route.store(BlockCopies.device(3).host(5), ordered ? afterIt : Order.unordered());
        rig.port.run(); // the producer is late: whatever can run, runs
        rig.port.open(gate);
        rig.port.run();

        mismatches += Arrays.equals(all(iteration), rig.onHost(0, 5)) ? 0 : 1;
      }
    }
    return mismatches;
  }

  @Test
  void aStoreBehindADelayedProducerIsClean() {
    assertEquals(0, mismatchesWithDelayedProducer(true));
  }

  @Test
  void theSameWithoutTheOrderCorrupts() {
    assertEquals(150, mismatchesWithDelayedProducer(false));
  }

  /** Field report B08: delayed zero fill of block 7, then a load into it; the load must win. */
  @Test
  void b08_aLoadComesAfterWhatIsQueuedOnTheConsumer() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      DeviceStream compute = rig.engineStream();
      CopyRoute route = rig.route();
      rig.pinned.segment().fill((byte) 0x5A);
      for (int iteration = 0; iteration < 100; iteration++) {
        long gate = rig.port.gate(handle(compute).value());
        rig.port.fill(block(rig, 1, 7), (byte) 0, handle(compute));

        var loaded = route.load(BlockCopies.device(7).host(2), Order.asIfOn(compute));
        rig.port.run();
        assertFalse(loaded.isDone());
        rig.port.open(gate);
        rig.port.run();

        assertArrayEquals(all(0x5A), rig.onDevice(1, 7));
      }
    }
  }

  @Test
  void aConsumersLaterWorkComesAfterTheLoad() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      DeviceStream compute = rig.engineStream();
      DeviceEvent never = rig.core.newEvent();
      DeviceStream producer = rig.engineStream();
      long gate = rig.port.gate(handle(producer).value());
      never.record(producer);
      CopyRoute route = rig.route();
      rig.pinned.segment().fill((byte) 1);

      var _ = route.load(BlockCopies.device(0).host(0), Order.after(never).before(compute));
      rig.port.fill(block(rig, 0, 0), (byte) 2, handle(compute));
      rig.port.run();
      rig.port.open(gate);
      rig.port.run();

      assertArrayEquals(all(2), rig.onDevice(0, 0)); // the fill came last
    }
  }

  /** Field report B76: a dependency that is taken is used, in both directions. */
  @Test
  void b76_bothDirectionsWaitForTheirDependencyBeforeTheyCopy() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      DeviceEvent event = rig.core.newEvent();
      event.record(rig.engineStream());
      CopyRoute route = rig.route();
      rig.port.order.clear();

      var _ = route.store(BlockCopies.device(0).host(0), Order.after(event));
      var _ = route.load(BlockCopies.device(1).host(1), Order.after(event).untilDone());

      long storeStream = rig.port.calls.get(0).stream();
      long loadStream = rig.port.calls.get(1).stream();
      assertTrue(rig.port.order.get(0).startsWith(storeStream + " waits for "));
      assertTrue(rig.port.order.get(1).startsWith(storeStream + " records "));
      assertTrue(rig.port.order.get(2).startsWith(loadStream + " waits for "));
      assertTrue(rig.port.order.get(3).startsWith(loadStream + " records "));
      assertEquals(4, rig.port.order.size());
    }
  }

  @Test
  void anEventThatWasNeverRecordedIsRefusedAndNothingIsSubmitted() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      DeviceEvent event = rig.core.newEvent();

      assertThrows(
          IllegalStateException.class,
          () -> route.store(BlockCopies.device(0).host(0), Order.after(event)));

      assertEquals(List.of(), rig.port.calls);
      assertEquals(0, rig.owner.uses().uses());
      var after = route.store(BlockCopies.device(0).host(0), Order.unordered());
      rig.port.run();
      assertTrue(after.isDone());
    }
  }

  @Test
  void sourcesAreReadInStreamOrderByStoresAndAnyTimeByLoads() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      var _ = route.store(BlockCopies.device(0, 2).host(0, 4), Order.unordered());
      var _ = route.load(BlockCopies.device(0, 2).host(1, 5), Order.unordered());

      assertEquals("batch IN_STREAM_ORDER", rig.port.calls.get(0).kind());
      assertEquals("batch ANY_TIME", rig.port.calls.get(1).kind());
    }
  }

  /** What may be read at any time may be read before the store that is waited for. */
  @Test
  void aLoadFromASlotThatIsBeingStoredToReadsInStreamOrder() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      byte[] stored = rig.onDevice(1, 2);

      var _ = route.store(BlockCopies.device(0, 2).host(0, 4), Order.unordered());
      var _ = route.load(BlockCopies.device(8, 10).host(2, 4), Order.unordered());
      assertEquals("batch IN_STREAM_ORDER", rig.port.calls.get(1).kind());
      rig.port.run();
      assertArrayEquals(stored, rig.onDevice(1, 10));

      rig.slots.lease(4, Access.WRITE).close(); // seen to have ended
      var _ = route.load(BlockCopies.device(12, 14).host(2, 4), Order.unordered());
      assertEquals("batch ANY_TIME", rig.port.calls.get(2).kind());
      rig.port.run();
      assertArrayEquals(stored, rig.onDevice(1, 14));
    }
  }

  /** Field report B92. */
  @Test
  void b92_storesAndLoadsRunOnStreamsOfTheirOwn() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      var _ = route.store(BlockCopies.device(0).host(0), Order.unordered());
      var _ = route.load(BlockCopies.device(1).host(1), Order.unordered());

      assertTrue(rig.port.calls.get(0).stream() != rig.port.calls.get(1).stream());
    }
  }

  // ---- slots

  @Test
  void aLoadWaitsOnTheDeviceForTheStoreThatFillsItsSlot() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      DeviceStream producer = rig.engineStream();
      CopyRoute route = rig.route();
      long gate = rig.port.gate(handle(producer).value());
      byte[] stored = rig.onDevice(0, 3);

      var _ = route.store(BlockCopies.device(3).host(5), Order.after(producer));
      var loaded = route.load(BlockCopies.device(9).host(5), Order.unordered());
      rig.port.run();
      assertFalse(loaded.isDone());
      rig.port.open(gate);
      rig.port.run();

      assertTrue(loaded.isDone());
      assertArrayEquals(stored, rig.onDevice(0, 9));
    }
  }

  @Test
  void aStoreWaitsForTheLoadThatStillReadsItsSlot() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      DeviceStream consumer = rig.engineStream();
      CopyRoute route = rig.route();
      rig.pinned.segment().fill((byte) 9);
      long gate = rig.port.gate(handle(consumer).value());

      var _ = route.load(BlockCopies.device(1).host(5), Order.asIfOn(consumer));
      var stored = route.store(BlockCopies.device(3).host(5), Order.unordered());
      rig.port.run();
      assertFalse(stored.isDone());
      rig.port.open(gate);
      rig.port.run();

      assertArrayEquals(all(9), rig.onDevice(0, 1));
      assertArrayEquals(rig.onDevice(0, 3), rig.onHost(0, 5));
    }
  }

  @Test
  void copiesOnDifferentSlotsDoNotWaitForEachOther() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      DeviceStream consumer = rig.engineStream();
      CopyRoute route = rig.route();
      long gate = rig.port.gate(handle(consumer).value());
      var _ = route.load(BlockCopies.device(1).host(5), Order.asIfOn(consumer));

      var stored = route.store(BlockCopies.device(3).host(6), Order.unordered());
      rig.port.run();

      assertTrue(stored.isDone());
      rig.port.open(gate);
    }
  }

  @Test
  void oneSubmissionWaitsOnceForEachOtherLane() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      for (int slot = 0; slot < 8; slot++) {
        var _ = route.store(BlockCopies.device(slot).host(slot), Order.unordered());
      }
      rig.port.order.clear();

      var loaded = route.load(BlockCopies.device(8, 9, 10).host(2, 6, 4), Order.unordered());

      assertEquals(1, rig.port.order.stream().filter(line -> line.contains("waits")).count());
      rig.port.run();
      assertArrayEquals(rig.onDevice(1, 6), rig.onDevice(1, 9));
      assertTrue(loaded.isDone());
    }
  }

  @Test
  void twoDevicesOverOneSlotAreOrderedToo() {
    FakePort one = new FakePort();
    FakePort two = new FakePort();
    List<CoreDevice> devices = FakeDriver.openAll(List.of(one, two));
    FakePinned pinned = new FakePinned(devices.getFirst(), List.of(one, two), FakePort.ALIAS, 2048);
    HostSlots slots = HostSlots.of(pinned, LAYOUT);
    var first = memory(one, devices.get(0), 1);
    var second = memory(two, devices.get(1), 2);
    CopyRoute fromOne = devices.get(0).copyEngine().route(first, slots, CopyOptions.auto());
    CopyRoute toTwo = devices.get(1).copyEngine().route(second, slots, CopyOptions.auto());

    var stored = fromOne.store(BlockCopies.device(0).host(3), Order.unordered());
    two.borrow(one); // events of one device can be waited for on another
    var loaded = toTwo.load(BlockCopies.device(4).host(3), Order.unordered());
    two.run();
    assertFalse(loaded.isDone());
    one.run();
    two.run();

    assertTrue(stored.isDone());
    assertTrue(loaded.isDone());
    devices.getFirst().backend().close();
  }

  private static DeviceBlocks memory(FakePort port, CoreDevice core, int fill) {
    var memory = port.deviceMemory(LAYOUT.extentBytes()).fill((byte) fill);
    return DeviceBlocks.of(
        new Segment(
            core.info(), memory.address(), memory.byteSize(), new Rig.Owner(core.standing())),
        LAYOUT);
  }

  // ---- captures

  @Test
  void anOrderOnACapturedEventReplacesTheCopyStreamAndTheCaptureLives() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      long engine = rig.port.engineStream();
      CopyRoute route = rig.route();
      DeviceStream producer = rig.engineStream();
      long gate = rig.port.gate(handle(producer).value());
      var inFlight = route.store(BlockCopies.device(1).host(1), Order.after(producer));
      rig.port.capture(engine);
      DeviceEvent captured = rig.core.wrapEvent(rig.port.engineEvent(engine));
      long joined = rig.port.calls.getFirst().stream();

      BusyException refused =
          assertThrows(
              BusyException.class,
              () -> route.store(BlockCopies.device(0).host(0), Order.after(captured)));

      assertTrue(refused.holders().getFirst().contains("graph capture"), refused.toString());
      assertEquals(List.of(joined), rig.port.destroyed);
      assertTrue(rig.port.isCapturing(engine));
      assertEquals(1, rig.port.calls.size());
      assertEquals(1, rig.owner.uses().uses()); // the one in flight

      var next = route.store(BlockCopies.device(2).host(2), Order.unordered());
      rig.port.run();
      assertFalse(next.isDone()); // still behind the copy on the old stream
      rig.port.open(gate);
      rig.port.run();
      assertTrue(inFlight.isDone());
      assertTrue(next.isDone());
      assertArrayEquals(rig.onDevice(0, 2), rig.onHost(0, 2));
    }
  }

  @Test
  void aCapturingStreamIsRefusedByNameBeforeAnythingIsSubmitted() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      DeviceStream engine = rig.engineStream();
      CopyRoute route = rig.route();
      rig.port.capture(handle(engine).value());

      BusyException before =
          assertThrows(
              BusyException.class,
              () -> route.store(BlockCopies.device(0).host(0), Order.after(engine)));
      BusyException behind =
          assertThrows(
              BusyException.class,
              () ->
                  route.load(
                      BlockCopies.device(0).host(0),
                      Order.after(rig.core.wrapEvent(rig.port.engineEvent(rig.port.engineStream())))
                          .before(engine)));

      assertTrue(before.holders().getFirst().contains("graph capture"), before.toString());
      assertTrue(behind.holders().getFirst().contains("graph capture"), behind.toString());
      assertEquals(List.of(), rig.port.calls);
      assertTrue(rig.port.isCapturing(handle(engine).value()));
      assertEquals(0, rig.owner.uses().uses());
    }
  }
}
