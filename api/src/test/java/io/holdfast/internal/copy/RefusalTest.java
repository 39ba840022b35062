package io.holdfast.internal.copy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DevicePlane;
import io.holdfast.device.Order;
import io.holdfast.error.UnsupportedException;
import io.holdfast.internal.Segment;
import io.holdfast.internal.slots.HostSlots;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.NotReadyException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is refused, by which index, and that nothing was submitted then. */
class RefusalTest {
  private static final BlockLayout LAYOUT = BlockShape.of(2, 64).layerMajor(16);

  private static void assertUntouched(Rig rig) {
    assertEquals(List.of(), rig.port.calls);
    assertEquals(0, rig.owner.uses().uses());
  }

  @ParameterizedTest(name = "{0}: device {1}, host {2}")
  @CsvSource({
    "STORE, 16, 0, pair 1 names device block 16 of 16",
    "LOAD, -1, 0, pair 1 names device block -1 of 16",
    "LOAD, 9223372036854775797, 0, pair 1 names device block 9223372036854775797 of 16",
    "STORE, 0, 16, pair 1 names host slot 16 of 16",
    "LOAD, 0, -1, pair 1 names host slot -1 of 16",
    "LOAD, 0, 9223372036854775797, pair 1 names host slot 9223372036854775797 of 16",
  })
  void b36_idsOutOfRangeAreNamedByPair(Direction direction, long block, long slot, String message) {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      BlockCopies copies = BlockCopies.device(3, block).host(3, slot);

      IndexOutOfBoundsException refused =
          assertThrows(
              IndexOutOfBoundsException.class,
              () -> {
                if (direction == Direction.STORE) {
                  var _ = route.store(copies, Order.unordered());
                } else {
                  var _ = route.load(copies, Order.unordered());
                }
              });

      assertEquals(message, refused.getMessage());
      assertThrows(IndexOutOfBoundsException.class, () -> route.explain(copies, direction));
      assertUntouched(rig);
    }
  }

  @Test
  void aSlotThatIsStoredTwiceIsNamedByPair() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();

      IllegalArgumentException refused =
          assertThrows(
              IllegalArgumentException.class,
              () -> route.store(BlockCopies.device(1, 2, 3).host(5, 6, 5), Order.unordered()));

      assertEquals("pair 2 stores to host slot 5, as an earlier pair does", refused.getMessage());
      assertUntouched(rig);
      var _ = route.store(BlockCopies.device(1, 1).host(5, 6), Order.unordered()); // one source
      assertEquals(1, rig.owner.uses().uses());
    }
  }

  @Test
  void aDeviceBlockThatIsLoadedTwiceIsNamedByPair() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();

      IllegalArgumentException refused =
          assertThrows(
              IllegalArgumentException.class,
              () -> route.load(BlockCopies.device(9, 2, 7, 2).host(1, 2, 3, 4), Order.unordered()));

      assertEquals(
          "pair 3 loads into device block 2, as an earlier pair does", refused.getMessage());
      assertUntouched(rig);
      var _ = route.load(BlockCopies.device(9, 2, 7).host(1, 1, 1), Order.unordered());
    }
  }

  /** With one bit for each block, and with a table where there are too many blocks for that. */
  @ParameterizedTest
  @ValueSource(longs = {3L * 10_000, DeviceBlockSet.MOST_BITS + 1})
  void manyScatteredDeviceBlocksAreToldApart(long count) {
    DeviceBlockSet seen = new DeviceBlockSet();
    for (int use = 0; use < 3; use++) {
      BlockCopies copies = BlockCopies.withCapacity(0);
      for (long pair = 0; pair < 10_000; pair++) {
        copies.add(pair * 7_919 % 29_989, 0);
      }
      assertEquals(-1, seen.firstTwice(copies, count));
      copies.add(5L * 7_919 % 29_989, 0).add(29_990, 0);
      assertEquals(10_000, seen.firstTwice(copies, count));
    }
  }

  /** A refusal that comes after the slots were claimed leaves no ticket behind. */
  @Test
  void aRefusalBehindTheClaimLeavesTheSlotsAsTheyWere() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      DeviceEvent neverRecorded = rig.core.newEvent();
      var inFlight = route.store(BlockCopies.device(1).host(1), Order.unordered());
      BlockCopies copies = BlockCopies.device(2, 3, 4).host(0, 1, 2);
      assertThrows(
          IllegalStateException.class, () -> route.store(copies, Order.after(neverRecorded)));
      assertThrows(
          IllegalStateException.class,
          () -> route.load(copies, Order.after(neverRecorded).untilDone()));
      assertThrows(
          IllegalArgumentException.class,
          () -> route.store(BlockCopies.device(2, 3, 4).host(0, 2, 0), Order.unordered()));
      assertTrue(rig.slots.isIdle(0));
      assertTrue(rig.slots.isIdle(2));
      assertFalse(rig.slots.isIdle(1)); // the one in flight
      rig.port.run();
      assertTrue(inFlight.isDone());
      assertTrue(rig.slots.isIdle(1));
    }
  }

  /** Blocks that are committed while a submission is on its way are there for the next one. */
  @Test
  void blocksThatComeBetweenAreNotCopiedSilently() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      Growing growing = new Growing(rig.blocks);
      CopyRoute route = rig.core.copyEngine().route(growing, rig.slots, CopyOptions.auto());
      growing.answers.add(0L); // asked once more, it says sixteen

      IndexOutOfBoundsException refused =
          assertThrows(
              IndexOutOfBoundsException.class,
              () -> route.store(BlockCopies.device(3).host(3), Order.unordered()));

      assertEquals("pair 0 names device block 3 of 0", refused.getMessage());
      assertUntouched(rig);
      var stored = route.store(BlockCopies.device(3).host(3), Order.unordered());
      rig.port.run();
      assertTrue(stored.isDone());
      assertArrayEquals(rig.onDevice(0, 3), rig.onHost(0, 3));
    }
  }

  /** Device blocks that are none at first, then as the test says. */
  private static final class Growing implements DeviceBlocks {
    private final DeviceBlocks all;
    private final Queue<Long> answers = new ArrayDeque<>(List.of(0L));

    Growing(DeviceBlocks all) {
      this.all = all;
    }

    @Override
    public DeviceInfo device() {
      return all.device();
    }

    @Override
    public BlockShape shape() {
      return all.shape();
    }

    @Override
    public long count() {
      Long answer = answers.poll();
      return answer == null ? all.count() : answer;
    }

    @Override
    public DevicePlane plane(int part) {
      return all.plane(part);
    }
  }

  @Test
  void aSlotAboveTheWatermarkIsNamedWithItsPair() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      rig.pinned.watermark(16 * 64 + 64 * 4 + 63);

      NotReadyException refused =
          assertThrows(
              NotReadyException.class,
              () -> route.store(BlockCopies.device(1, 2, 3).host(3, 0, 4), Order.unordered()));

      assertEquals(4, refused.slot());
      assertEquals(4, refused.readySlots());
      assertEquals(2, refused.pair().orElseThrow());
      assertUntouched(rig);
      rig.pinned.watermark(16 * 64 + 64 * 5);
      assertEquals(5, rig.slots.readySlots());
      var _ = route.store(BlockCopies.device(1, 2, 3).host(3, 0, 4), Order.unordered());
    }
  }

  @Test
  void slotsOfBlockMajorMemoryAreReadyOneByOne() {
    BlockShape shape = BlockShape.of(2, 10);
    try (Rig rig = Rig.of(shape.layerMajor(8), shape.blockMajor(8, 32))) {
      rig.pinned.watermark(0);
      assertEquals(0, rig.slots.readySlots());
      rig.pinned.watermark(19);
      assertEquals(0, rig.slots.readySlots());
      rig.pinned.watermark(20);
      assertEquals(1, rig.slots.readySlots());
      rig.pinned.watermark(32 + 20);
      assertEquals(2, rig.slots.readySlots());
      rig.pinned.watermark(7 * 32 + 20);
      assertEquals(8, rig.slots.readySlots());
    }
  }

  @Test
  void nothingToCopyIsDoneAtOnceAndCallsNoDriver() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();

      var done = route.store(BlockCopies.withCapacity(8), Order.unordered());

      assertTrue(done.isDone());
      assertEquals(0, done.report().bytes());
      assertEquals(0, done.report().descriptors());
      assertUntouched(rig);
      assertEquals(List.of(), rig.port.order);
      assertSame(
          done, route.load(BlockCopies.device(1).host(1), Order.unordered(), done)); // of use
    }
  }

  @Test
  void aCompletionInFlightOrOfAnotherRouteIsNotUsedAgain() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      CopyRoute other = rig.route();
      BlockCopies copies = BlockCopies.device(1).host(1);
      var done = route.store(copies, Order.unordered());

      assertThrows(IllegalStateException.class, () -> route.store(copies, Order.unordered(), done));
      rig.port.run();
      assertThrows(
          IllegalArgumentException.class, () -> other.store(copies, Order.unordered(), done));
      assertEquals(1, rig.port.calls.size());
      assertSame(done, route.store(copies, Order.unordered(), done));
    }
  }

  @Test
  void aRefusedSubmissionLeavesItsCompletionAsItWas() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      var done = route.store(BlockCopies.device(1, 2).host(1, 2), Order.unordered());
      rig.port.run();
      assertTrue(done.isDone());

      assertThrows(
          IndexOutOfBoundsException.class,
          () -> route.store(BlockCopies.device(99).host(1), Order.unordered(), done));

      assertTrue(done.isDone());
      assertEquals(256, done.report().bytes());
    }
  }

  @Test
  void shapesMustBeEqualPartByPart() {
    BlockShape narrow = new BlockShape(List.of(64L, 32L));
    BlockShape wide = new BlockShape(List.of(32L, 64L));
    try (Rig rig = Rig.of(narrow.layerMajor(16), narrow.layerMajor(16))) {
      HostSlots slots = HostSlots.of(rig.pinned, wide.layerMajor(16));
      assertThrows(
          IllegalArgumentException.class,
          () -> rig.core.copyEngine().route(rig.blocks, slots, CopyOptions.auto()));
    }
  }

  @Test
  void aPathThatTheDriverLacksIsRefusedAtTheRoute() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      rig.port.hasBatch = false;
      for (CopyPath path : List.of(CopyPath.BATCH, CopyPath.KERNEL, CopyPath.PITCHED)) {
        UnsupportedException refused =
            assertThrows(
                UnsupportedException.class, () -> rig.route(CopyOptions.auto().path(path)));
        assertEquals("the copy path " + path, refused.capability());
      }
      var done = rig.route().store(BlockCopies.device(1, 3).host(1, 3), Order.unordered());
      rig.port.run();
      assertEquals(CopyPath.LOOP, done.report().path());
    }
  }

  @Test
  void blocksOfAnotherDeviceAreRefused() {
    FakePort one = new FakePort();
    FakePort two = new FakePort();
    var devices = FakeDriver.openAll(List.of(one, two));
    FakePinned pinned = new FakePinned(devices.getFirst(), List.of(one, two), FakePort.ALIAS, 2048);
    var memory = one.deviceMemory(2048);
    DeviceBlocks onOne =
        DeviceBlocks.of(
            new Segment(
                devices.getFirst().info(),
                memory.address(),
                2048,
                new Rig.Owner(devices.getFirst().standing())),
            LAYOUT);

    assertThrows(
        IllegalArgumentException.class,
        () -> devices.get(1).copyEngine().route(onOne, HostSlots.of(pinned, LAYOUT)));
    devices.getFirst().backend().close();
  }

  @Test
  void equalLayoutsInOneMemoryAreTheSameSlots() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      assertSame(rig.slots, rig.pinned.blocks(BlockShape.of(2, 64).layerMajor(16)));
      assertThrows(
          IllegalArgumentException.class,
          () -> rig.pinned.blocks(BlockShape.of(2, 64).layerMajor(17)));
    }
  }
}
