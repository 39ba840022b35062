package io.holdfast.internal.copy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyException;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyRoute;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.Order;
import io.holdfast.error.BusyException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.internal.core.CoreStream;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.layout.Plane;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Copies of memory that is not pinned, through a ring that is. */
class StagedTest {
  // Blocks of 8 MiB: the ring holds four.
  private static final BlockShape SHAPE = new BlockShape(List.of(5L << 20, 3L << 20));
  private static final BlockLayout DEVICE = SHAPE.layerMajor(6);
  private static final BlockLayout HOST = SHAPE.blockMajor(6);

  private static final BlockShape SMALL_SHAPE = BlockShape.of(2, 64);
  private static final BlockLayout SMALL = SMALL_SHAPE.layerMajor(16);

  private static HostRegion unpinned(Rig rig, BlockLayout layout) {
    return rig.core.backend().pageSource().map(HostRequest.ofBytes(layout.extentBytes()));
  }

  private static HostBlocks slots(Rig rig, HostRegion region, BlockLayout layout) {
    return rig.core.copyEngine().staged(region, layout);
  }

  private static void assertEqualPart(
      Rig rig, HostRegion region, BlockLayout layout, int part, long block, long slot) {
    Plane here = layout.planes().get(part);
    Plane there = rig.deviceLayout.planes().get(part);
    assertEquals(
        -1,
        region
            .segment()
            .asSlice(here.blockOffsetBytes(slot), here.blockBytes())
            .mismatch(rig.device.asSlice(there.blockOffsetBytes(block), there.blockBytes())));
  }

  @Test
  void aSubmissionLargerThanTheRingGoesInPieces() throws Exception {
    try (Rig rig = Rig.of(DEVICE, SMALL_SHAPE.layerMajor(1));
        AutoCloseable device = rig.port.running()) {
      assertFalse(device.toString().isEmpty());
      HostRegion region = unpinned(rig, HOST);
      CopyRoute route = rig.core.copyEngine().route(rig.blocks, slots(rig, region, HOST));
      BlockCopies copies = BlockCopies.device(0, 1, 2, 3, 4, 5).host(3, 4, 5, 0, 1, 2);

      Completion stored = route.store(copies, Order.unordered());
      stored.await();
      for (int pair = 0; pair < 6; pair++) {
        for (int part = 0; part < 2; part++) {
          assertEqualPart(rig, region, HOST, part, copies.deviceBlock(pair), copies.hostSlot(pair));
        }
      }
      assertEquals(6 * SHAPE.bytes(), stored.report().bytes());
      assertEquals(12, stored.report().pairs());

      rig.device.fill((byte) 0);
      Completion loaded = route.load(copies, Order.unordered(), stored);
      loaded.await();
      for (int pair = 0; pair < 6; pair++) {
        assertEqualPart(rig, region, HOST, 1, copies.deviceBlock(pair), copies.hostSlot(pair));
      }
      route.close();
    }
  }

  @Test
  void aStoreReturnsBeforeTheDeviceIsDoneAndTheCallerMayReuseItsPairs() {
    try (Rig rig = Rig.of(SMALL, SMALL)) {
      HostRegion region = unpinned(rig, SMALL);
      HostBlocks slots = slots(rig, region, SMALL);
      CopyRoute route = rig.core.copyEngine().route(rig.blocks, slots);
      BlockCopies copies = BlockCopies.device(3, 4).host(5, 6);

      Completion stored = route.store(copies, Order.unordered());
      copies.clear();
      assertFalse(stored.isDone());
      assertFalse(stored.await(Duration.ofMillis(1)));
      assertThrows(IllegalStateException.class, stored::report);
      assertThrows(
          IllegalStateException.class, () -> route.store(copies, Order.unordered(), stored));
      BusyException busy = assertThrows(BusyException.class, () -> slots.lease(5, Access.READ));
      rig.port.run();
      stored.await();

      assertEquals(List.of("a store to slot 5"), busy.holders());
      assertEqualPart(rig, region, SMALL, 0, 3, 5);
      assertEqualPart(rig, region, SMALL, 1, 4, 6);
      try (SlotLease lease = slots.lease(5, Access.WRITE)) {
        assertEquals(64, lease.part(1).byteSize());
        assertThrows(
            BusyException.class,
            () -> route.load(BlockCopies.device(1).host(5), Order.unordered()));
        assertThrows(BusyException.class, region::close);
      }
    }
  }

  @Test
  void aStagedLoadIsOrderedOnBothSidesAndTheSlotIsFreeAtOnce() {
    try (Rig rig = Rig.of(SMALL, SMALL)) {
      HostRegion region = unpinned(rig, SMALL);
      region.segment().fill((byte) 0x5A);
      HostBlocks slots = slots(rig, region, SMALL);
      CopyRoute route = rig.core.copyEngine().route(rig.blocks, slots);
      DeviceStream compute = rig.engineStream();
      long gate = rig.port.gate(((CoreStream) compute).handle().value());
      byte before = rig.onDevice(0, 2)[0];

      Completion loaded = route.load(BlockCopies.device(2).host(9), Order.asIfOn(compute));
      try (SlotLease lease = slots.lease(9, Access.WRITE)) { // its bytes are in the ring
        lease.part(0).fill((byte) 0);
      }
      rig.port.run();
      assertEquals(before, rig.onDevice(0, 2)[0]);
      rig.port.open(gate);
      rig.port.run();
      loaded.await();

      assertEquals(0x5A, rig.onDevice(0, 2)[0]);
    }
  }

  @Test
  void aLoadBehindAStoreOfTheSameSlotReadsWhatWasStored() throws Exception {
    try (Rig rig = Rig.of(SMALL, SMALL);
        AutoCloseable device = rig.port.running()) {
      assertFalse(device.toString().isEmpty());
      HostRegion region = unpinned(rig, SMALL);
      CopyRoute route = rig.core.copyEngine().route(rig.blocks, slots(rig, region, SMALL));
      for (int round = 0; round < 50; round++) {
        rig.device.asSlice(0, 64).fill((byte) round);
        var _ = route.store(BlockCopies.device(0).host(7), Order.unordered());
        route.load(BlockCopies.device(1).host(7), Order.unordered()).await();
        assertEquals((byte) round, rig.onDevice(0, 1)[63]);
      }
    }
  }

  @Test
  void refusalsNameThePairAndTakeNothing() {
    try (Rig rig = Rig.of(SMALL, SMALL)) {
      HostRegion region = unpinned(rig, SMALL);
      HostBlocks slots = slots(rig, region, SMALL);
      CopyRoute route = rig.core.copyEngine().route(rig.blocks, slots);

      assertThrows(
          IndexOutOfBoundsException.class,
          () -> route.store(BlockCopies.device(0, 16).host(0, 1), Order.unordered()));
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> route.store(BlockCopies.device(0, 1).host(0, 16), Order.unordered()));
      assertThrows(
          IllegalArgumentException.class,
          () -> route.store(BlockCopies.device(0, 1).host(4, 4), Order.unordered()));
      assertThrows(
          IllegalArgumentException.class,
          () -> route.load(BlockCopies.device(5, 5).host(4, 3), Order.unordered()));

      assertEquals(List.of(), rig.port.calls);
      for (long slot = 0; slot < 16; slot++) {
        slots.lease(slot, Access.WRITE).close();
      }
      assertTrue(route.store(BlockCopies.withCapacity(0), Order.unordered()).isDone());
    }
  }

  @Test
  void aFailureNamesThePairOfTheWholeSubmission() throws Exception {
    try (Rig rig = Rig.of(DEVICE, SMALL_SHAPE.layerMajor(1));
        AutoCloseable device = rig.port.running()) {
      assertFalse(device.toString().isEmpty());
      HostRegion region = unpinned(rig, HOST);
      HostBlocks slots = slots(rig, region, HOST);
      CopyRoute route =
          rig.core.copyEngine().route(rig.blocks, slots, CopyOptions.auto().maxBatchEntries(1024));
      Completion reuse = route.store(BlockCopies.withCapacity(0), Order.unordered());
      rig.port.failingCall = 1;
      rig.port.failingRow = 0;

      CopyException failure =
          assertThrows(
              CopyException.class,
              () ->
                  route.store(
                      BlockCopies.device(5, 3, 1, 4, 2, 0).host(0, 1, 2, 3, 4, 5),
                      Order.unordered(),
                      reuse));

      assertTrue(failure.pair().orElseThrow() >= 1, failure.toString());
      CopyException seen =
          assertInstanceOf(CopyException.class, assertThrows(RuntimeException.class, reuse::await));
      assertEquals(failure, seen);
      for (long slot = 0; slot < 6; slot++) {
        slots.lease(slot, Access.WRITE).close();
      }
      route.store(BlockCopies.device(0).host(0), Order.unordered(), reuse).await();
    }
  }

  @Test
  void explainSumsUpThePieces() {
    try (Rig rig = Rig.of(DEVICE, SMALL_SHAPE.layerMajor(1))) {
      HostRegion region = unpinned(rig, HOST);
      CopyRoute route = rig.core.copyEngine().route(rig.blocks, slots(rig, region, HOST));

      var decision =
          route.explain(
              BlockCopies.device(0, 1, 2, 3, 4, 5).host(0, 1, 2, 3, 4, 5), Direction.STORE);

      assertEquals(12, decision.descriptors()); // the ring is block-major
      assertTrue(decision.because().contains("ring of 4 blocks"), decision.because());
    }
  }

  @Test
  void closingTheMemoryClosesRouteAndRingAndGivesTheirPinsBack() {
    try (Rig rig = Rig.of(SMALL, SMALL)) {
      int registrations = rig.port.registrationCount();
      HostRegion region = unpinned(rig, SMALL);
      CopyRoute route = rig.core.copyEngine().route(rig.blocks, slots(rig, region, SMALL));
      assertEquals(registrations + 1, rig.port.registrationCount());
      Completion stored = route.store(BlockCopies.device(0).host(0), Order.unordered());
      rig.port.run();

      region.close();

      assertTrue(stored.isDone());
      assertEquals(registrations, rig.port.registrationCount());
      assertThrows(
          IllegalStateException.class,
          () -> route.store(BlockCopies.device(0).host(0), Order.unordered()));
      route.close();
    }
  }
}
