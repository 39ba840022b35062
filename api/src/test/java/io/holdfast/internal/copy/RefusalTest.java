package io.holdfast.internal.copy;

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
import io.holdfast.device.Order;
import io.holdfast.error.UnsupportedException;
import io.holdfast.internal.Segment;
import io.holdfast.internal.slots.HostSlots;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.NotReadyException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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

  @Test
  void manyScatteredDeviceBlocksAreToldApart() {
    DeviceBlockSet seen = new DeviceBlockSet();
    for (int use = 0; use < 3; use++) {
      seen.begin(10_000);
      for (long block = 0; block < 10_000; block++) {
        assertTrue(seen.add(block * 1_000_003));
      }
      for (long block = 0; block < 10_000; block++) {
        assertFalse(seen.add(block * 1_000_003));
      }
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
