package io.holdfast.internal.extensible;

import static io.holdfast.internal.extensible.Rig.assertSays;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.holdfast.device.ExtensibleRequest;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.layout.OverlapException;
import io.holdfast.layout.Plane;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Section 14.3: which segments a layout has. */
final class SegmentPlanTest {
  private static final long PAGE = 16L * 2 * 64 * 2;

  private static SegmentPlan plan(BlockLayout layout) {
    return SegmentPlan.of(ExtensibleRequest.of(layout).capacity(), FakeMemory.GRANULE);
  }

  static Stream<Arguments> layouts() {
    return Stream.of(
        Arguments.of("split K/V (2, B, ...)", BlockShape.of(2, PAGE / 2).layerMajor(8), 2),
        Arguments.of("block-major", BlockShape.of(2, PAGE / 2).blockMajor(8), 1),
        Arguments.of("stride order (1,0,2,3,4)", BlockShape.of(2, PAGE / 2).blockMajor(8), 1),
        Arguments.of("one state tensor", BlockShape.of(1, 149_504).layerMajor(8), 1),
        Arguments.of(
            "hybrid",
            BlockShape.of(3, PAGE).and(BlockShape.of(1, 18_432 + 131_072)).blockMajor(8),
            1),
        Arguments.of("packed with padding", BlockShape.of(3, 1000).blockMajor(8, 4096), 1),
        Arguments.of("LBHNC, 1 layer", BlockShape.of(1, PAGE).layerMajor(8), 1),
        Arguments.of("LBHNC, 4 layers", BlockShape.of(4, PAGE).layerMajor(8), 4),
        Arguments.of("LBNHC, 4 layers", BlockShape.of(4, PAGE).layerMajor(8), 4),
        Arguments.of("BLHNC, 4 layers", BlockShape.of(4, PAGE).blockMajor(8), 1),
        Arguments.of("LHBNC, 3 layers of 2 heads", BlockShape.of(6, PAGE / 2).layerMajor(8), 6),
        Arguments.of("planes with gaps", BlockShape.of(2, 1000).layerMajor(8, 4096), 2));
  }

  @ParameterizedTest(name = "{0}: {2}")
  @MethodSource("layouts")
  void segments_of(String name, BlockLayout layout, int segments) {
    assertEquals(segments, plan(layout).segments().size(), name);
  }

  @Test
  void mixed_strides_keep_their_own_and_each_segment_starts_on_a_granule() {
    SegmentPlan plan = plan(new BlockShape(List.of(4096L, 8192L, 4096L)).layerMajor(1000));

    assertEquals(
        List.of(4096L, 8192L, 4096L),
        plan.segments().stream().map(SegmentPlan.Row::strideBytes).toList());
    assertEquals(
        List.of(4L << 20, 8L << 20, 4L << 20),
        List.of(plan.reservedBytes(0), plan.reservedBytes(1), plan.reservedBytes(2)));
  }

  @Test
  void parts_of_a_row_keep_their_place_in_it_whatever_their_order() {
    // Part 0 lies behind part 1 in each row.
    BlockLayout layout =
        new BlockLayout(
            BlockShape.of(2, 100), List.of(new Plane(300, 512, 100, 4), new Plane(0, 512, 100, 4)));

    SegmentPlan plan = plan(layout);

    assertEquals(
        List.of(new SegmentPlan.Part(0, 300, 100), new SegmentPlan.Part(0, 0, 100)), plan.parts());
    assertEquals(3 * 512 + 100, plan.planeBytes(0, 4));
    assertEquals(0, plan.planeBytes(0, 0));
  }

  @Test
  void rows_of_which_some_hold_no_block_are_refused() {
    // The second part starts 4 rows behind the first: 8 rows for 4 blocks, and no prefix of them.
    BlockLayout shifted =
        new BlockLayout(
            BlockShape.of(2, 100),
            List.of(new Plane(0, 512, 100, 5), new Plane(1024 + 200, 512, 100, 5)));

    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> ExtensibleRequest.of(shifted));

    assertSays("7 rows for 5 blocks", refused);
  }

  @Test
  void one_offset_with_two_strides_is_no_layout_at_all() {
    assertThrows(
        OverlapException.class,
        () ->
            new BlockLayout(
                BlockShape.of(2, 100),
                List.of(new Plane(0, 512, 100, 4), new Plane(0, 1024, 100, 4))));
  }
}
