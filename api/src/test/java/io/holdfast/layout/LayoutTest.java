package io.holdfast.layout;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.function.Executable;

class LayoutTest {
  private static final long SEED = Long.getLong("holdfast.seed", 0x6c61796f7574L);

  @Test
  void layerMajorPutsPartAfterPart() {
    BlockLayout layout = new BlockShape(List.of(100L, 7L, 30L)).layerMajor(4);
    assertEquals(
        List.of(new Plane(0, 100, 100, 4), new Plane(400, 7, 7, 4), new Plane(428, 30, 30, 4)),
        layout.planes());
    assertEquals(548, layout.extentBytes());
    assertEquals(4, layout.blocks());
    assertEquals(layout.planes(), layout.rows());
  }

  @Test
  void layerMajorCanStartEveryPlaneAtAMultiple() {
    BlockLayout layout = new BlockShape(List.of(100L, 7L, 30L)).layerMajor(4, 64);
    assertEquals(
        List.of(new Plane(0, 100, 100, 4), new Plane(448, 7, 7, 4), new Plane(512, 30, 30, 4)),
        layout.planes());
    assertEquals(632, layout.extentBytes());
  }

  @Test
  void blockMajorPutsBlockAfterBlockAndFoldsIntoOneRow() {
    BlockLayout layout = new BlockShape(List.of(100L, 7L, 30L)).blockMajor(4);
    assertEquals(
        List.of(new Plane(0, 137, 100, 4), new Plane(100, 137, 7, 4), new Plane(107, 137, 30, 4)),
        layout.planes());
    assertEquals(548, layout.extentBytes());
    assertEquals(List.of(new Plane(0, 137, 137, 4)), layout.rows());
  }

  @Test
  void blockMajorPadsUpToTheStrideButNotBehindTheLastBlock() {
    BlockLayout layout = BlockShape.of(2, 36_864).blockMajor(3, 131_072);
    assertEquals(2 * 131_072 + 73_728, layout.extentBytes());
    assertEquals(List.of(new Plane(0, 131_072, 73_728, 3)), layout.rows());
    assertThrows(
        IllegalArgumentException.class, () -> BlockShape.of(2, 36_864).blockMajor(3, 73_727));
  }

  @Test
  void b99_aStrideForDirectInputAndOutputIsARoundedBlockAndItsPaddingIsCounted() {
    BlockShape shape = BlockShape.of(1, 73_728);
    BlockLayout wide = shape.blockMajor(8, Bytes.roundUp(73_728, 65_536));
    assertEquals(131_072, wide.planes().getFirst().strideBytes());
    assertEquals(7 * 131_072 + 73_728, wide.extentBytes());
    BlockLayout packed = shape.blockMajor(8, Bytes.roundUp(73_728, 4096));
    assertEquals(73_728, packed.planes().getFirst().strideBytes());
    assertEquals(8 * 73_728, packed.extentBytes());
  }

  @Test
  void oneBlockHasNoRowsToFold() {
    BlockLayout layout = new BlockShape(List.of(100L, 7L)).blockMajor(1, 4096);
    assertEquals(107, layout.extentBytes());
    assertEquals(List.of(new Plane(0, 4096, 100, 1), new Plane(100, 4096, 7, 1)), layout.rows());
  }

  @Test
  void keysAndValuesSplitIntoHalvesMakeTwiceTheParts() {
    BlockShape joint = BlockShape.of(61, 73_728);
    BlockShape split = BlockShape.of(2 * 61, 36_864);
    assertEquals(joint.bytes(), split.bytes());
    assertEquals(122, split.parts());
    assertNotEquals(joint, split);
    assertEquals(joint.layerMajor(1_000).extentBytes(), split.layerMajor(1_000).extentBytes());
    assertEquals(36_864L * 1_000 * 121, split.layerMajor(1_000).planes().getLast().offsetBytes());
  }

  @Test
  void shapesAreEqualByTheirPartsWhereverTheyLie() {
    BlockShape mixed = BlockShape.of(2, 36_864).and(BlockShape.of(2, 8_448));
    assertEquals(new BlockShape(List.of(36_864L, 36_864L, 8_448L, 8_448L)), mixed);
    assertNotEquals(BlockShape.of(2, 8_448).and(BlockShape.of(2, 36_864)), mixed);
    assertEquals(mixed.layerMajor(5).shape(), mixed.blockMajor(5, 100_000).shape());
    assertEquals(90_624, mixed.bytes());
    assertEquals(4, mixed.parts());
  }

  @Test
  void arrangementsLayOutTheSameBytes() {
    BlockShape shape = new BlockShape(List.of(100L, 28L));
    assertEquals(shape.layerMajor(9), Arrangement.LAYER_MAJOR.layOut(shape, 9));
    assertEquals(shape.blockMajor(9), Arrangement.BLOCK_MAJOR.layOut(shape, 9));
  }

  @Test
  void blocksOfAPlaneStartOneStrideApart() {
    Plane plane = new Plane(10, 100, 60, 3);
    assertEquals(210, plane.blockOffsetBytes(2));
    assertEquals(270, plane.endBytes());
    assertThrows(IndexOutOfBoundsException.class, () -> plane.blockOffsetBytes(3));
    assertThrows(IndexOutOfBoundsException.class, () -> plane.blockOffsetBytes(-1));
  }

  @Test
  void partsThatInterleaveWithoutTouchingAreFineInAnyOrder() {
    // Values first: part 1 lies before part 0 in every row, with a hole between.
    BlockLayout layout =
        new BlockLayout(
            new BlockShape(List.of(40L, 30L)),
            List.of(new Plane(50, 100, 40, 8), new Plane(10, 100, 30, 8)));
    assertEquals(List.of(new Plane(10, 100, 80, 8)), layout.rows());
    assertEquals(790, layout.extentBytes());
  }

  @Test
  void planesShiftedByWholeRowsFoldIntoRowsThatCoverBoth() {
    BlockLayout layout =
        new BlockLayout(
            new BlockShape(List.of(40L, 30L)),
            List.of(new Plane(0, 100, 40, 8), new Plane(250, 100, 30, 8)));
    assertEquals(List.of(new Plane(0, 100, 80, 10)), layout.rows());
  }

  @Test
  void groupsOfPlanesFoldEachByThemselves() {
    BlockLayout layout =
        new BlockLayout(
            BlockShape.of(4, 10),
            List.of(
                new Plane(0, 20, 10, 5),
                new Plane(100, 20, 10, 5),
                new Plane(10, 20, 10, 5),
                new Plane(110, 20, 10, 5)));
    assertEquals(List.of(new Plane(0, 20, 20, 5), new Plane(100, 20, 20, 5)), layout.rows());
  }

  @Test
  void planesThatShareBytesAreATypedErrorThatNamesBoth() {
    OverlapException touching =
        assertThrows(
            OverlapException.class,
            () ->
                new BlockLayout(
                    BlockShape.of(3, 10),
                    List.of(
                        new Plane(0, 30, 10, 5),
                        new Plane(20, 30, 10, 5),
                        new Plane(9, 30, 10, 5))));
    assertEquals(0, touching.firstPlane());
    assertEquals(2, touching.secondPlane());
    OverlapException wrapped =
        assertThrows(
            OverlapException.class,
            () ->
                new BlockLayout(
                    BlockShape.of(2, 10),
                    List.of(new Plane(0, 30, 10, 5), new Plane(21, 30, 10, 5))));
    assertEquals(0, wrapped.firstPlane());
    assertEquals(1, wrapped.secondPlane());
    assertThrows(
        OverlapException.class,
        () ->
            new BlockLayout(
                BlockShape.of(2, 10), List.of(new Plane(0, 10, 10, 5), new Plane(0, 10, 10, 5))));
  }

  @Test
  void planesThatInterleaveWithUnequalStridesAreRefused() {
    OverlapException thrown =
        assertThrows(
            OverlapException.class,
            () ->
                new BlockLayout(
                    BlockShape.of(2, 10),
                    List.of(new Plane(0, 100, 10, 5), new Plane(20, 40, 10, 5))));
    assertTrue(String.valueOf(thrown.getMessage()).contains("strides differ"));
  }

  @Test
  void foldingFindsExactlyTheLayoutsWhoseBlocksShareBytes(TestReporter reporter) {
    reporter.publishEntry("seed", Long.toString(SEED));
    Random random = new Random(SEED);
    int overlapping = 0;
    int folded = 0;
    for (int round = 0; round < 20_000; round++) {
      // Parts inside one row, so that every layout without shared bytes has common rows.
      long stride = 10L + random.nextInt(30);
      long blocks = 2L + random.nextInt(6);
      List<Plane> planes = new ArrayList<>();
      List<Long> parts = new ArrayList<>();
      for (int part = 0; part < 2 + random.nextInt(3); part++) {
        long bytes = 1L + random.nextInt(8);
        parts.add(bytes);
        planes.add(new Plane(random.nextInt((int) (stride - bytes) + 1), stride, bytes, blocks));
      }
      Collections.shuffle(planes, random);
      parts.replaceAll(any -> 1L);
      for (int part = 0; part < parts.size(); part++) {
        parts.set(part, planes.get(part).blockBytes());
      }
      String where = "seed " + SEED + ", round " + round + ", " + planes;
      if (shareBytes(planes)) {
        overlapping++;
        assertThrows(
            OverlapException.class, () -> new BlockLayout(new BlockShape(parts), planes), where);
      } else {
        folded++;
        List<Plane> rows = new BlockLayout(new BlockShape(parts), planes).rows();
        long start = planes.stream().mapToLong(Plane::offsetBytes).min().orElseThrow();
        long end = planes.stream().mapToLong(Plane::endBytes).max().orElseThrow();
        assertEquals(
            List.of(new Plane(start, stride, end - (blocks - 1) * stride - start, blocks)),
            rows,
            where);
      }
    }
    assertTrue(overlapping > 3_000 && folded > 3_000, overlapping + " and " + folded);
  }

  private static boolean shareBytes(List<Plane> planes) {
    boolean[] taken = new boolean[1_000];
    for (Plane plane : planes) {
      for (long block = 0; block < plane.blocks(); block++) {
        long start = plane.blockOffsetBytes(block);
        for (long offset = start; offset < start + plane.blockBytes(); offset++) {
          if (taken[(int) offset]) {
            return true;
          }
          taken[(int) offset] = true;
        }
      }
    }
    return false;
  }

  @Test
  void layoutsThatDoNotMatchTheirShapeAreRefused() {
    BlockShape shape = BlockShape.of(2, 10);
    assertAll(
        () -> refused(() -> new BlockLayout(shape, List.of(Plane.packed(0, 10, 5)))),
        () ->
            refused(
                () ->
                    new BlockLayout(
                        shape, List.of(Plane.packed(0, 10, 5), Plane.packed(50, 11, 5)))),
        () ->
            refused(
                () ->
                    new BlockLayout(
                        shape, List.of(Plane.packed(0, 10, 5), Plane.packed(50, 10, 4)))));
  }

  @Test
  void numbersThatCannotBeAreRefused() {
    assertAll(
        () -> refused(() -> new Plane(-1, 10, 10, 1)),
        () -> refused(() -> new Plane(0, 9, 10, 1)),
        () -> refused(() -> new Plane(0, 10, 0, 1)),
        () -> refused(() -> new Plane(0, 10, 10, 0)),
        () -> refused(() -> new BlockShape(List.of())),
        () -> refused(() -> new BlockShape(List.of(10L, 0L))),
        () -> refused(() -> BlockShape.of(0, 10)),
        () -> refused(() -> BlockShape.of(10, -1)),
        () -> refused(() -> BlockShape.of(1, 10).layerMajor(0)),
        () -> refused(() -> new ByteRange(-1, 5)),
        () -> refused(() -> new ByteRange(0, 0)),
        () -> refused(() -> new ByteRange(Long.MAX_VALUE, 1)));
  }

  @Test
  void sizesBeyondALongAreRefusedNeverWrapped() {
    assertAll(
        () -> refused(() -> BlockShape.of(4, 1L << 61)),
        () -> refused(() -> BlockShape.of(1, 1L << 40).layerMajor(1L << 23)),
        () -> refused(() -> BlockShape.of(8, 1L << 40).layerMajor(1L << 20)),
        () -> refused(() -> new Plane(0, 1L << 32, 1, (1L << 32) + 1)),
        () -> refused(() -> new Plane(Long.MAX_VALUE, 1, 1, 1)),
        () -> refused(() -> Bytes.gib(1L << 33)),
        () -> refused(() -> Bytes.kib(-1)),
        () -> refused(() -> Bytes.roundUp(Long.MAX_VALUE, 4096)),
        () -> refused(() -> Bytes.roundDown(1, 0)));
    assertEquals(Long.MAX_VALUE, new Plane(Long.MAX_VALUE - 1, 1, 1, 1).endBytes());
    assertEquals(1L << 62, BlockShape.of(4, 1L << 40).layerMajor(1L << 20).extentBytes());
  }

  @Test
  void byteNamesAreBinary() {
    assertEquals(1024, Bytes.kib(1));
    assertEquals(1_048_576, Bytes.mib(1));
    assertEquals(1_073_741_824, Bytes.gib(1));
    assertEquals(1_099_511_627_776L, Bytes.tib(1));
    assertEquals((1L << 62) + (1L << 61) + (1L << 60), Bytes.tib(7L << 20));
  }

  private static void refused(Executable call) {
    assertThrows(IllegalArgumentException.class, call);
  }
}
