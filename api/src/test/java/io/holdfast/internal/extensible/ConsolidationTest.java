package io.holdfast.internal.extensible;

import static io.holdfast.internal.extensible.Rig.assertSays;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.CommittedExtent;
import io.holdfast.device.Demand;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.ExtensibleRegion.State;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.HandleKind;
import io.holdfast.error.DriverException;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** One allocation for each segment at the same addresses; and the size that is final. */
final class ConsolidationTest {
  private static final long A = 32; // blocks of 64 KiB in a granule

  private static ExtensibleRequest shareable(BlockLayout capacity) {
    return ExtensibleRequest.of(capacity).shareable(Demand.REQUIRE);
  }

  /**
   * Section 14.4's last row: commits 1 then A+1 give two chunks for each segment. Its capacity of
   * 2A + A/2 never came to one chunk there, for segments began in the middle of granules; here each
   * begins on one.
   */
  @ParameterizedTest
  @EnumSource(Contents.class)
  void commits_of_1_and_A_plus_1_are_two_chunks_and_one_after_consolidating(Contents contents) {
    for (long capacity : new long[] {2 * A + A / 2, 2 * A}) {
      try (Rig rig = new Rig()) {
        ExtensibleRegion region = rig.reserve(BlockShape.of(3, Rig.KIB64).layerMajor(capacity));
        region.commit(1);
        region.commit(A + 1);
        rig.write(region, 0, A + 1);
        List<Long> addresses = Rig.addresses(region);
        assertEquals(List.of(2, 2, 2), region.census().handlesPerSegment());

        CommittedExtent extent = region.consolidate(contents, rig.now());

        assertEquals(List.of(1, 1, 1), region.census().handlesPerSegment());
        assertEquals(addresses, Rig.addresses(region));
        assertEquals(A + 1, extent.blocks());
        assertEquals(6 * Rig.GRANULE, rig.memory.usedBytes());
        assertEquals(1, region.epoch());
        if (contents == Contents.KEEP) {
          assertTrue(rig.isWritten(region, 0, A + 1));
        } else {
          assertTrue(rig.isZero(region, 0, A + 1));
        }
      }
    }
  }

  /** The bug to avoid: a consolidation with nothing to do once destroyed live data. */
  @ParameterizedTest
  @EnumSource(Contents.class)
  void consolidating_what_is_one_chunk_already_does_nothing(Contents contents) {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(40);
      rig.write(region, 0, 40);
      rig.memory.forget();

      region.consolidate(contents, rig.now());

      assertEquals(List.of(), rig.memory.calls);
      assertTrue(rig.isWritten(region, 0, 40));
      assertEquals(0, region.epoch());
    }
  }

  @Test
  void keeping_on_a_nearly_full_device_goes_segment_by_segment() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(BlockShape.of(3, Rig.KIB64).layerMajor(160));
      region.commit(1);
      region.commit(64);
      rig.write(region, 0, 64);
      rig.memory.totalBytes = rig.memory.usedBytes() + 2 * Rig.GRANULE; // a second copy of one

      region.consolidate(Contents.KEEP, rig.now());

      assertEquals(List.of(1, 1, 1), region.census().handlesPerSegment());
      assertTrue(rig.isWritten(region, 0, 64));
    }
  }

  @Test
  void keeping_without_room_for_one_segment_is_refused_and_changes_nothing() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(1);
      region.commit(64);
      rig.write(region, 0, 64);
      rig.memory.totalBytes = rig.memory.usedBytes() + Rig.GRANULE;

      assertThrows(DriverException.class, () -> region.consolidate(Contents.KEEP, rig.now()));

      assertEquals(List.of(2, 2), region.census().handlesPerSegment());
      assertEquals(0, region.epoch());
      assertTrue(rig.isWritten(region, 0, 64));
    }
  }

  @Test
  void discarding_needs_no_room_at_all() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(1);
      region.commit(64);
      rig.memory.totalBytes = rig.memory.usedBytes();

      region.consolidate(Contents.DISCARD, rig.now());

      assertEquals(List.of(1, 1), region.census().handlesPerSegment());
      assertTrue(rig.isZero(region, 0, 64));
    }
  }

  @Test
  void discarded_memory_that_somebody_else_took_leaves_the_region_asleep_not_broken() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(1);
      region.commit(64);
      rig.memory.totalBytes = rig.memory.usedBytes();
      rig.memory.takesWhenReleased = true; // another process is quicker

      assertThrows(DriverException.class, () -> region.consolidate(Contents.DISCARD, rig.now()));

      assertEquals(State.RELEASED, region.state());
      assertEquals(0, region.count());
      assertEquals(1, region.epoch());
      rig.memory.takesWhenReleased = false;
      rig.memory.totalBytes = 1L << 30;
      region.recommit();
      assertEquals(64, region.count());
      assertTrue(rig.isZero(region, 0, 64));
    }
  }

  // ---- the final size

  @Test
  void sealing_commits_consolidates_and_keeps_what_warm_up_wrote() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(shareable(Rig.TWO_PLANES));
      region.commit(1);
      region.commit(40);
      rig.write(region, 0, 40);
      List<Long> addresses = Rig.addresses(region);

      CommittedExtent extent = region.seal(100, rig.now());

      assertEquals(State.SEALED, region.state());
      assertEquals(100, extent.blocks());
      assertEquals(List.of(1, 1), region.census().handlesPerSegment());
      assertEquals(addresses, Rig.addresses(region));
      assertTrue(rig.isWritten(region, 0, 40));
      assertTrue(rig.isZero(region, 40, 100));
      assertEquals(8 * Rig.GRANULE, rig.memory.usedBytes());
    }
  }

  @Test
  void sealing_keeps_with_room_for_a_second_copy_of_what_was_committed_only() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(shareable(Rig.TWO_PLANES));
      region.commit(1);
      rig.write(region, 0, 1);
      rig.memory.totalBytes = 10 * Rig.GRANULE + 2 * Rig.GRANULE;

      region.seal(160, rig.now()); // 10 granules, beside the old 2

      assertTrue(rig.isWritten(region, 0, 1));
      assertEquals(10 * Rig.GRANULE, rig.memory.usedBytes());
    }
  }

  @Test
  void sealing_private_memory_does_not_exchange_pages() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(1);

      region.seal(100, rig.now());

      assertEquals(List.of(2, 2), region.census().handlesPerSegment());
      assertEquals(0, region.epoch());
      assertEquals(State.SEALED, region.state());
    }
  }

  @Test
  void sealing_a_region_that_never_committed_maps_each_segment_once() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(shareable(Rig.TWO_PLANES));

      region.seal(100, rig.now());

      assertEquals(List.of(1, 1), region.census().handlesPerSegment());
      assertEquals(0, region.epoch());
    }
  }

  @Test
  void sealing_fewer_than_committed_is_refused_with_the_name_of_what_does_it() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(40);

      IllegalArgumentException refused =
          assertThrows(IllegalArgumentException.class, () -> region.seal(39, rig.now()));

      assertSays("shrink", refused);
      assertEquals(State.COMMITTED, region.state());
      region.shrink(39, rig.now());
      region.seal(39, rig.now());
      assertEquals(39, region.count());
    }
  }

  @Test
  void a_sealed_size_is_final() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.seal(40, rig.now());

      assertThrows(IllegalStateException.class, () -> region.commit(41));
      assertThrows(IllegalStateException.class, () -> region.shrink(39, rig.now()));
      assertThrows(IllegalStateException.class, () -> region.seal(41, rig.now()));
      assertEquals(40, region.commit(40).blocks());
      assertEquals(40, region.commit(7).blocks());
      assertEquals(40, region.seal(40, rig.now()).blocks());
    }
  }

  @Test
  void a_seal_that_fails_leaves_the_size_open() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(shareable(Rig.TWO_PLANES));
      region.commit(1);
      rig.write(region, 0, 1);
      rig.memory.totalBytes = rig.memory.usedBytes() + Rig.GRANULE;

      assertThrows(DriverException.class, () -> region.seal(160, rig.now()));

      assertEquals(State.COMMITTED, region.state());
      assertFalse(region.whenFinal().isDone());
      assertTrue(rig.isWritten(region, 0, 1));
    }
  }

  @Test
  void when_final_dependents_run_after_the_seal_and_can_export() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(shareable(Rig.TWO_PLANES));
      List<Long> seen = new ArrayList<>();
      AtomicReference<Integer> exported = new AtomicReference<>(-1);
      var dependent =
          region
              .whenFinal()
              .thenAccept(
                  extent -> {
                    seen.add(extent.blocks());
                    try (var export = region.export(HandleKind.POSIX_FD)) {
                      exported.set(export.handles().size());
                    }
                  });
      region.commit(3);
      assertEquals(List.of(), seen);

      region.seal(40, rig.now());

      assertEquals(List.of(40L), seen);
      assertEquals(2, exported.get());
      assertTrue(dependent.isDone());
    }
  }

  @Test
  void a_region_that_is_closed_before_its_size_is_final_says_so_to_those_who_wait() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      var waiting = region.whenFinal();

      region.close();

      CompletionException end = assertThrows(CompletionException.class, waiting::join);
      assertInstanceOf(IllegalStateException.class, end.getCause());
    }
  }
}
