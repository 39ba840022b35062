package io.holdfast.internal.copy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.Order;
import io.holdfast.error.BusyException;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.NotReadyException;
import io.holdfast.pin.SlotLease;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Slots in the CPU's hands. */
class LeaseTest {
  private static final BlockLayout LAYOUT = BlockShape.of(2, 64).layerMajor(16);
  private static final BlockCopies SLOT_5 = BlockCopies.device(3).host(5);

  /** Field report B37: the slot of a load in flight is not given out for writing. */
  @Test
  void b37_aSlotIsNotGivenOutForWritingWhileALoadReadsIt() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      rig.pinned.segment().fill((byte) 0x11);
      var loaded = rig.route().load(SLOT_5, Order.unordered());

      BusyException refused =
          assertThrows(BusyException.class, () -> rig.slots.lease(5, Access.WRITE));
      try (SlotLease shared = rig.slots.lease(5, Access.READ)) {
        assertEquals(0x11, shared.part(0).get(ValueLayout.JAVA_BYTE, 0));
      }
      rig.port.run();
      try (SlotLease lease = rig.slots.lease(5, Access.WRITE)) {
        lease.part(0).fill((byte) 0x22);
        lease.part(1).fill((byte) 0x33);
      }

      assertEquals(List.of("a load from slot 5"), refused.holders());
      assertTrue(loaded.isDone());
      assertEquals(0x11, rig.onDevice(0, 3)[63]);
      assertEquals(0x22, rig.onHost(0, 5)[0]);
      assertEquals(0x33, rig.onHost(1, 5)[63]);
    }
  }

  @Test
  void aSlotIsNotGivenOutAtAllWhileAStoreWritesIt() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      var _ = rig.route().store(SLOT_5, Order.unordered());

      for (Access access : Access.values()) {
        BusyException refused = assertThrows(BusyException.class, () -> rig.slots.lease(5, access));
        assertEquals(List.of("a store to slot 5"), refused.holders());
      }
      rig.slots.lease(6, Access.WRITE).close();
      rig.port.run();
      try (SlotLease lease = rig.slots.lease(5, Access.READ)) {
        assertArrayEquals(rig.onDevice(1, 3), lease.part(1).toArray(ValueLayout.JAVA_BYTE));
      }
    }
  }

  @Test
  void readersShareAndAWriterIsAlone() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      SlotLease one = rig.slots.lease(5, Access.READ);
      SlotLease two = rig.slots.lease(5, Access.READ);

      BusyException writer =
          assertThrows(BusyException.class, () -> rig.slots.lease(5, Access.WRITE));
      one.close();
      one.close(); // idempotent: the other reader's lease is still counted
      assertThrows(BusyException.class, () -> rig.slots.lease(5, Access.WRITE));
      two.close();
      SlotLease alone = rig.slots.lease(5, Access.WRITE);
      BusyException reader =
          assertThrows(BusyException.class, () -> rig.slots.lease(5, Access.READ));
      alone.close();
      rig.slots.lease(5, Access.READ).close();

      assertEquals(List.of("2 READ leases of slot 5"), writer.holders());
      assertEquals(List.of("a WRITE lease of slot 5"), reader.holders());
    }
  }

  @Test
  void copiesThatConflictWithALeaseAreRefusedByPair() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      BlockCopies copies = BlockCopies.device(0, 3).host(1, 5);
      try (SlotLease reading = rig.slots.lease(5, Access.READ)) {
        assertFalse(reading.part(0).byteSize() == 0);
        BusyException refused =
            assertThrows(BusyException.class, () -> route.store(copies, Order.unordered()));
        assertEquals("a store to slot 5 (pair 1)", refused.operation());
        var _ = route.load(copies, Order.unordered());
        rig.port.run();
      }
      try (SlotLease writing = rig.slots.lease(5, Access.WRITE)) {
        assertFalse(writing.part(0).isReadOnly());
        BusyException refused =
            assertThrows(BusyException.class, () -> route.load(copies, Order.unordered()));
        assertEquals("a load from slot 5 (pair 1)", refused.operation());
      }
      assertEquals(1, rig.port.calls.size());
      var _ = route.store(copies, Order.unordered());
      assertEquals(2, rig.port.calls.size());
    }
  }

  @Test
  void whatALeaseShowsEndsWithTheLease() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      SlotLease lease = rig.slots.lease(0, Access.READ);
      MemorySegment part = lease.part(0);
      assertTrue(part.isReadOnly());
      assertEquals(64, part.byteSize());
      assertThrows(IndexOutOfBoundsException.class, () -> lease.part(2));
      lease.close();

      assertThrows(IllegalStateException.class, () -> part.get(ValueLayout.JAVA_BYTE, 0));
      assertThrows(IllegalStateException.class, () -> lease.part(0));
    }
  }

  @Test
  void slotsOutOfRangeOrNotReadyAreNotGivenOut() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      assertThrows(IndexOutOfBoundsException.class, () -> rig.slots.lease(16, Access.READ));
      assertThrows(IndexOutOfBoundsException.class, () -> rig.slots.lease(-1, Access.READ));
      rig.pinned.watermark(100);
      NotReadyException refused =
          assertThrows(NotReadyException.class, () -> rig.slots.lease(2, Access.READ));
      assertEquals(2, refused.slot());
      assertTrue(refused.pair().isEmpty());
    }
  }

  @Test
  void aLeaseRefusesEveryCloseBelowItAndNothingIsUndone() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      SlotLease lease = rig.slots.lease(7, Access.READ);

      BusyException pins = assertThrows(BusyException.class, rig.pinned::close);
      BusyException device = assertThrows(BusyException.class, rig.core::close);
      route.close(); // the route does not own the slot

      assertEquals(List.of("a READ lease of slot 7"), pins.holders());
      assertEquals(List.of("a READ lease of slot 7"), device.holders());
      assertEquals(64, lease.part(0).byteSize());
      lease.close();
      rig.pinned.close();
      assertThrows(IllegalStateException.class, () -> rig.slots.lease(0, Access.READ));
    }
  }

  @Test
  void aSixteenMillionSlotTableCostsNothingUntilUsed() {
    BlockLayout many = BlockShape.of(1, 1).layerMajor(1 << 24);
    try (Rig rig = Rig.of(BlockShape.of(1, 1).layerMajor(2), many)) {
      var done =
          rig.route().store(BlockCopies.device(0, 1).host(0, (1 << 24) - 1), Order.unordered());
      rig.port.run();
      assertTrue(done.isDone());
    }
  }
}
