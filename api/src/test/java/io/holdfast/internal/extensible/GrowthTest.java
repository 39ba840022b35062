package io.holdfast.internal.extensible;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.CommittedExtent;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DevicePlane;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.State;
import io.holdfast.device.Sizing;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Section 14.4 row by row, and what views show while a region grows and shrinks. */
final class GrowthTest {
  /** Three layers of 16 tokens x 2 heads x 64 elements of 2 bytes. */
  private static final BlockShape THREE_LAYERS = BlockShape.of(3, 16L * 2 * 64 * 2);

  private static final BlockLayout EIGHT = THREE_LAYERS.layerMajor(8);

  @Test
  void a_reserved_region_has_addresses_and_no_memory() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);

      assertEquals(State.RESERVED, region.state());
      assertEquals(0, region.count());
      assertEquals(new CommittedExtent(0, 0, 0), region.committed());
      assertEquals(0, rig.memory.usedBytes());
      assertEquals(List.of(0, 0), region.census().handlesPerSegment());
      assertEquals(0, region.plane(0).memory().byteSize());
      assertEquals(10 * Rig.GRANULE + " bytes of addresses", region.reserved().toString());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void committed_2_written_then_8_the_first_2_survive_and_6_are_zero(boolean layerMajor) {
    BlockLayout capacity = layerMajor ? EIGHT : THREE_LAYERS.blockMajor(8);
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(capacity);
      region.commit(2);
      rig.write(region, 0, 2);

      CommittedExtent extent = region.commit(8);

      assertEquals(8, extent.blocks());
      assertEquals(8 * THREE_LAYERS.bytes(), extent.logicalBytes());
      assertTrue(rig.isWritten(region, 0, 2));
      assertTrue(rig.isZero(region, 2, 8));
      assertEquals(layerMajor ? 3 : 1, region.census().handlesPerSegment().size());
    }
  }

  @Test
  void more_than_the_capacity_is_refused_and_nothing_changes() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(EIGHT);
      region.commit(3);

      assertThrows(IllegalArgumentException.class, () -> region.commit(13));

      assertEquals(3, region.count());
    }
  }

  @Test
  void fewer_blocks_than_committed_is_a_no_op_that_keeps_what_is_there() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(EIGHT);
      region.commit(6);
      rig.write(region, 0, 6);
      rig.memory.forget();

      CommittedExtent extent = region.commit(4);

      assertEquals(6, extent.blocks());
      assertEquals(List.of(), rig.memory.calls);
      assertTrue(rig.isWritten(region, 0, 6));
    }
  }

  @Test
  void shrinking_by_name_6_to_4_zeroes_and_gives_physical_memory_back() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(150); // 5 granules for each of the two segments
      rig.write(region, 0, 150);
      List<Long> addresses = Rig.addresses(region);

      CommittedExtent extent = region.shrink(33, rig.now());

      assertEquals(33, extent.blocks());
      assertEquals(Sizing.physicalBytes(Rig.TWO_PLANES, 33, Rig.GRANULE), extent.physicalBytes());
      assertEquals(4 * Rig.GRANULE, rig.memory.usedBytes());
      assertTrue(rig.isZero(region, 0, 33));
      assertEquals(addresses, Rig.addresses(region));
      assertEquals(1, region.epoch());
      assertThrows(IndexOutOfBoundsException.class, () -> rig.isZero(region, 33, 34));
    }
  }

  @Test
  void shrinking_keeps_whole_chunks_and_exchanges_only_the_one_across_the_new_end() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(BlockShape.of(1, Rig.KIB64).layerMajor(320));
      region.commit(32);
      region.commit(64);
      region.commit(160);
      rig.memory.forget();

      region.shrink(96, rig.now());

      assertEquals(List.of("create"), rig.memory.names("create"));
      assertEquals(List.of("unmap"), rig.memory.names("unmap"));
      assertEquals(List.of(3), region.census().handlesPerSegment());
    }
  }

  @Test
  void shrinking_a_full_device_needs_no_room() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(160);
      rig.memory.totalBytes = rig.memory.usedBytes();

      region.shrink(33, rig.now());

      assertEquals(33, region.count());
      assertTrue(rig.isZero(region, 0, 33));
      assertEquals(4 * Rig.GRANULE, rig.memory.usedBytes());
    }
  }

  @Test
  void mixed_strides_have_a_segment_each_and_views_of_exactly_the_committed_blocks() {
    BlockShape shape = new BlockShape(List.of(4096L, 8192L, 4096L));
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(shape.layerMajor(8));
      List<Long> before = Rig.addresses(region);

      region.commit(3);

      assertEquals(List.of(1, 1, 1), region.census().handlesPerSegment());
      assertEquals(before, Rig.addresses(region));
      for (int part = 0; part < 3; part++) {
        DevicePlane plane = region.plane(part);
        assertEquals(3 * shape.partBytes().get(part), plane.memory().byteSize());
        assertEquals(shape.partBytes().get(part), plane.strideBytes());
      }
    }
  }

  @Test
  void hybrid_layers_share_block_major_rows_with_a_layers_states_summed_into_one_part() {
    long attention = 24_576;
    long convolutionAndRecurrentState = 18_432 + 131_072;
    BlockShape hybrid = new BlockShape(List.of(attention, convolutionAndRecurrentState, attention));
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(hybrid.blockMajor(100));

      region.commit(11);
      rig.write(region, 0, 11);
      region.commit(100);

      assertEquals(List.of(2), region.census().handlesPerSegment());
      assertEquals(
          198_656,
          region.plane(2).memory().rawAddress()
              - region.plane(0).memory().rawAddress()
              + attention);
      assertTrue(rig.isWritten(region, 0, 11));
      assertTrue(rig.isZero(region, 11, 100));
    }
  }

  @Test
  void padded_rows_show_no_byte_behind_the_last_part() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(BlockShape.of(2, 1000).blockMajor(10, 4096));

      region.commit(3);

      assertEquals(2 * 4096 + 1000, region.plane(1).memory().byteSize());
      assertEquals(4096, region.plane(1).strideBytes());
      assertThrows(
          IndexOutOfBoundsException.class, () -> region.plane(1).memory().slice(3 * 4096, 1));
    }
  }

  @Test
  void only_what_is_new_is_mapped_and_zeroed() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(BlockShape.of(1, Rig.KIB64).layerMajor(160));
      region.commit(40);
      long base = region.plane(0).memory().rawAddress();
      rig.memory.forget();

      region.commit(100);

      assertEquals(
          List.of(
              new FakeMemory.Call("create", 0, 2 * Rig.GRANULE),
              new FakeMemory.Call("map", base + 2 * Rig.GRANULE, 2 * Rig.GRANULE),
              new FakeMemory.Call("allowAccess", base + 2 * Rig.GRANULE, 2 * Rig.GRANULE),
              new FakeMemory.Call("fill", base + 40 * Rig.KIB64, 4 * Rig.GRANULE - 40 * Rig.KIB64)),
          rig.memory.calls.subList(0, 4));
    }
  }

  @Test
  void growth_inside_the_last_granule_makes_no_memory_and_still_gives_zeros() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(BlockShape.of(1, Rig.KIB64).layerMajor(160));
      region.commit(3);
      rig.memory.write(region.plane(0).memory().rawAddress(), Rig.GRANULE, 0x77); // a stray kernel
      rig.write(region, 0, 3);
      rig.memory.forget();

      region.commit(32);

      assertEquals(List.of(), rig.memory.names("create"));
      assertTrue(rig.isWritten(region, 0, 3));
      assertTrue(rig.isZero(region, 3, 32));
    }
  }

  /** B50: a view is as long as what is committed, and a byte behind it cannot be named. */
  @Test
  void b50_committed_6_mib_of_1_gib_shows_6_mib_and_touches_nothing_behind() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(BlockShape.of(1, 1L << 20).layerMajor(1024));
      region.commit(6);
      DevicePlane plane = region.plane(0);
      rig.memory.forget();

      assertEquals(6_291_456, plane.memory().byteSize());
      assertThrows(IndexOutOfBoundsException.class, () -> plane.memory().slice(6_291_456, 1));
      assertEquals(List.of(), rig.memory.calls);
    }
  }

  @Test
  void b50_growing_gives_new_views_and_old_ones_keep_their_bounds_and_their_use() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(3);
      DevicePlane old = region.plane(0);
      DeviceBlocks fixed = region.first(3);

      region.commit(100);

      assertEquals(3 * Rig.KIB64, old.memory().byteSize());
      assertEquals(old.memory().rawAddress(), region.plane(0).memory().rawAddress());
      assertEquals(100 * Rig.KIB64, region.plane(0).memory().byteSize());
      assertEquals(3, fixed.count());
      assertEquals(0, region.epoch());
    }
  }

  /** Section 14.7: narrowing keeps the address; blocks of a split kernel keep their ratio. */
  @Test
  void narrowing_8_to_3_keeps_the_address_and_a_split_kernel_block_counts_6() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(EIGHT);
      region.commit(8);
      DevicePlane whole = region.plane(1);

      DevicePlane narrow = region.first(3).plane(1);

      assertEquals(whole.memory().rawAddress(), narrow.memory().rawAddress());
      assertEquals(3 * whole.strideBytes(), narrow.memory().byteSize());
      DevicePlane kernel = narrow.split(2);
      assertEquals(6, kernel.memory().byteSize() / kernel.strideBytes());
      assertEquals(narrow.memory().rawAddress(), kernel.memory().rawAddress());
      assertSame(narrow.memory(), kernel.memory());
    }
  }

  @Test
  void blocks_that_do_not_lie_back_to_back_cannot_be_split() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(THREE_LAYERS.blockMajor(8));
      region.commit(8);

      assertThrows(IllegalArgumentException.class, () -> region.plane(0).split(2));
      assertThrows(IllegalArgumentException.class, () -> region.first(1).plane(0).split(3000));
    }
  }

  /** B44: four segments, the third creation fails. */
  @Test
  void b44_a_commit_that_fails_half_way_leaves_the_old_size_and_a_second_one_succeeds() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(BlockShape.of(4, Rig.KIB64).layerMajor(160));
      region.commit(3);
      rig.write(region, 0, 3);
      rig.memory.forget();
      rig.memory.totalBytes = rig.memory.usedBytes() + 2 * Rig.GRANULE; // two of four fit

      DriverException full = assertThrows(DriverException.class, () -> region.commit(64));

      assertEquals("OUT_OF_MEMORY", full.codeName());
      assertEquals(4, rig.memory.handles());
      assertEquals(4, rig.memory.mappingCount());
      assertEquals(3, region.count());
      assertEquals(List.of("release", "release"), rig.memory.names("release"));
      assertTrue(rig.isWritten(region, 0, 3));
      rig.memory.totalBytes = 1L << 30;
      assertEquals(64, region.commit(64).blocks());
      assertTrue(rig.isWritten(region, 0, 3));
      assertTrue(rig.isZero(region, 3, 64));
    }
  }

  @Test
  void undoing_unmaps_before_it_releases() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      rig.memory.forget();
      rig.memory.fail(5, 1, DriverFault.OTHER); // the second segment's access

      assertThrows(DriverException.class, () -> region.commit(3));

      assertEquals(
          List.of(
              "create",
              "create",
              "map",
              "allowAccess",
              "map",
              "allowAccess",
              "awaitStream",
              "unmap",
              "release",
              "unmap",
              "release"),
          rig.memory.calls.stream().map(FakeMemory.Call::name).toList());
      assertEquals(State.RESERVED, region.state());
    }
  }

  @Test
  void views_of_two_regions_never_touch() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion one = rig.reserve(Rig.TWO_PLANES);
      ExtensibleRegion two = rig.reserve(Rig.TWO_PLANES);
      one.commit(160);
      two.commit(160);
      rig.write(one, 0, 160);

      assertNotEquals(Rig.addresses(one), Rig.addresses(two));
      assertTrue(rig.isZero(two, 0, 160));
      assertFalse(rig.isZero(one, 0, 1));
    }
  }
}
