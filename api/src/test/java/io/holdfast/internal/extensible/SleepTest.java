package io.holdfast.internal.extensible;

import static io.holdfast.internal.extensible.Rig.assertSays;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.CommittedExtent;
import io.holdfast.device.Demand;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.State;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Memory goes and comes back; addresses and the number of blocks do not. */
final class SleepTest {
  @Test
  void release_gives_all_memory_back_and_waking_gives_as_many_zeros_at_the_same_addresses() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(1);
      region.commit(40);
      rig.write(region, 0, 40);
      List<Long> addresses = Rig.addresses(region);

      region.releasePhysical(rig.now());

      assertEquals(State.RELEASED, region.state());
      assertEquals(0, region.count());
      assertEquals(new CommittedExtent(0, 0, 0), region.committed());
      assertEquals(0, rig.memory.usedBytes());
      assertEquals(addresses, Rig.addresses(region));

      region.recommit();

      assertEquals(State.COMMITTED, region.state());
      assertEquals(40, region.count());
      assertEquals(addresses, Rig.addresses(region));
      assertEquals(List.of(1, 1), region.census().handlesPerSegment());
      assertTrue(rig.isZero(region, 0, 40));
    }
  }

  /** B43: nothing stays behind after many cycles. */
  @Test
  void b43_64_cycles_leave_as_much_free_memory_as_there_was() {
    try (Rig rig = new Rig()) {
      for (int cycle = 0; cycle < 64; cycle++) {
        try (ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES)) {
          region.commit(40);
          region.releasePhysical(rig.now());
          region.recommit();
        }
        assertEquals(0, rig.memory.usedBytes());
      }
    }
  }

  @Test
  void a_sealed_region_wakes_sealed() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region =
          rig.reserve(ExtensibleRequest.of(Rig.TWO_PLANES).shareable(Demand.REQUIRE));
      region.seal(40, rig.now());
      region.releasePhysical(rig.now());

      region.recommit();

      assertEquals(State.SEALED, region.state());
      assertEquals(List.of(1, 1), region.census().handlesPerSegment());
    }
  }

  @Test
  void a_sleeping_region_refuses_what_needs_pages_and_says_how_to_wake_it() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(40);
      region.releasePhysical(rig.now());

      IllegalStateException asleep =
          assertThrows(IllegalStateException.class, () -> region.commit(41));

      assertSays("recommit()", asleep);
      assertThrows(IllegalStateException.class, () -> region.seal(41, rig.now()));
      assertThrows(IllegalStateException.class, () -> region.shrink(1, rig.now()));
      assertThrows(
          IllegalStateException.class,
          () -> region.consolidate(ExtensibleRegion.Contents.KEEP, rig.now()));
      assertThrows(IllegalArgumentException.class, () -> region.first(1));
    }
  }

  @Test
  void waking_what_is_awake_and_releasing_what_is_empty_do_nothing() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.releasePhysical(rig.now());
      assertEquals(State.RESERVED, region.state());
      region.recommit();
      assertEquals(State.RESERVED, region.state());
      region.commit(3);
      rig.write(region, 0, 3);

      region.recommit();

      assertTrue(rig.isWritten(region, 0, 3));
      assertEquals(0, region.epoch());
    }
  }

  @Test
  void waking_without_memory_sleeps_on_and_succeeds_later() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(40);
      region.releasePhysical(rig.now());
      rig.memory.totalBytes = 3 * Rig.GRANULE; // of 4

      assertThrows(DriverException.class, region::recommit);

      assertEquals(State.RELEASED, region.state());
      assertEquals(0, rig.memory.usedBytes());
      rig.memory.totalBytes = 1L << 30;
      region.recommit();
      assertEquals(40, region.count());
    }
  }

  @Test
  void a_release_that_the_driver_refuses_half_way_puts_the_pages_back_with_their_bytes() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(1);
      region.commit(40);
      rig.write(region, 0, 40);
      var last = rig.now();
      rig.memory.fail(3, 1, DriverFault.OTHER); // await, two unmaps, the third unmap

      assertThrows(DriverException.class, () -> region.releasePhysical(last));

      assertEquals(State.COMMITTED, region.state());
      assertEquals(0, region.epoch());
      assertTrue(rig.isWritten(region, 0, 40));
    }
  }

  @Test
  void memory_that_the_driver_does_not_take_back_is_counted_noted_and_offered_again() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(40);
      var last = rig.now();
      rig.memory.fail(4, 1, DriverFault.OTHER); // await, two unmaps, await; the first release

      region.releasePhysical(last);

      assertEquals(State.RELEASED, region.state());
      assertEquals(0, region.committed().physicalBytes());
      assertEquals(2 * Rig.GRANULE, region.census().physicalBytes());
      assertEquals(
          List.of(
              "4194304 bytes of segment 0 could not be given back yet; the next change tries"
                  + " again"),
          region.census().notes());
      region.releasePhysical(last);
      assertEquals(List.of(), region.census().notes());
      assertEquals(0, region.census().physicalBytes());
      assertEquals(0, rig.memory.usedBytes());
    }
  }
}
