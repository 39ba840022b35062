package io.holdfast.conformance;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.error.BusyException;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Slots, and who uses one now. */
abstract class SlotRules extends Rules {
  SlotRules(Conformance kit) {
    super(kit);
  }

  @Test
  @Covers({Rule.SLT_02, Rule.CLS_01})
  final void slt02_a_lease_refuses_conflicting_copies_and_the_close() {
    withPool(
        4,
        4,
        pool -> {
          try (SlotLease _ = pool.lease(2, Access.WRITE)) {
            assertThrows(
                BusyException.class, () -> pool.load(BlockCopies.device(0).host(2), unordered()));
            assertThrows(
                BusyException.class, () -> pool.store(BlockCopies.device(0).host(2), unordered()));
            Map<Long, Long> registered = tap.registered();
            BusyException refused = assertThrows(BusyException.class, pool::close);
            assertFalse(refused.holders().isEmpty());
            assertEquals(registered, tap.registered(), "the refused close undid something");
          }
          try (SlotLease _ = pool.lease(2, Access.READ);
              SlotLease _ = pool.lease(2, Access.READ)) {
            pool.load(BlockCopies.device(0).host(2), unordered()).await();
            assertThrows(
                BusyException.class, () -> pool.store(BlockCopies.device(0).host(2), unordered()));
          }
          pool.store(BlockCopies.device(0).host(2), unordered()).await();
        });
  }

  @Test
  @Covers({Rule.SLT_03, Rule.SLT_04})
  final void slt03_a_read_lease_is_read_only_and_a_closed_one_is_gone() {
    withPool(
        4,
        4,
        pool -> {
          SlotLease read = pool.lease(1, Access.READ);
          MemorySegment bytes = read.part(1);
          assertEquals(SHAPE.partBytes().get(1), bytes.byteSize());
          assertTrue(bytes.isReadOnly());
          assertThrows(
              IllegalArgumentException.class, () -> bytes.set(ValueLayout.JAVA_BYTE, 0, (byte) 1));
          read.close();
          read.close();
          assertThrows(IllegalStateException.class, () -> bytes.get(ValueLayout.JAVA_BYTE, 0));
          assertThrows(IllegalStateException.class, () -> read.part(0));
          assertThrows(IndexOutOfBoundsException.class, () -> pool.lease(4, Access.READ));
        });
  }

  @Test
  @Covers(Rule.SLT_06)
  final void slt06_a_store_waits_for_the_loads_that_still_read_its_slot() {
    withPool(
        6,
        4,
        pool -> {
          for (int round = 0; round < 100; round++) {
            write(pool, 0, round);
            write(pool, 1, -round);
            pool.load(BlockCopies.device(1).host(1), unordered()).await();
            // the load reads slot 0 while the store behind it fills the same slot from block 1
            Completion read = pool.load(BlockCopies.device(4).host(0), unordered());
            Completion fill = pool.store(BlockCopies.device(1).host(0), unordered());
            pool.store(BlockCopies.device(4).host(2), after(read)).await();
            fill.await();
            check(pool, 2, round);
            check(pool, 0, -round);
          }
        });
  }
}
