package io.holdfast.pin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.layout.ByteRange;
import io.holdfast.layout.Bytes;
import io.holdfast.layout.Plane;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;

class SplitterTest {
  private static final long SEED = Long.getLong("holdfast.seed", 0x73706c6974L);
  private static final long PAGE = 4096;

  @Test
  void anUnalignedStartGivesAShortFirstPieceAndAlignedInnerEdges() {
    ByteRange range = new ByteRange(100 * PAGE + 64, 4 * PAGE);
    List<Long> lengths = new ArrayList<>();
    new Splitter(2 * PAGE, PAGE).split(range).forEach(piece -> lengths.add(piece.bytes()));
    assertEquals(List.of(2 * PAGE - 64, 2 * PAGE, 64L), lengths);
  }

  @Test
  void fortyBlocksOf31232BytesSplitIntoFiveEqualPieces() {
    Splitter splitter = Splitter.onCommonEdges(249_856, 31_232, PAGE);
    List<Long> lengths = new ArrayList<>();
    splitter.split(new ByteRange(0, 40 * 31_232)).forEach(piece -> lengths.add(piece.bytes()));
    assertEquals(List.of(249_856L, 249_856L, 249_856L, 249_856L, 249_856L), lengths);
  }

  @Test
  void rowsOfThreePagesUnderSevenPagesGoTwoByTwo() {
    List<ByteRange> pieces = new ArrayList<>();
    new Splitter(7 * PAGE, 3 * PAGE).split(new ByteRange(0, 15 * PAGE)).forEach(pieces::add);
    assertEquals(
        List.of(
            new ByteRange(0, 6 * PAGE),
            new ByteRange(6 * PAGE, 6 * PAGE),
            new ByteRange(12 * PAGE, 3 * PAGE)),
        pieces);
  }

  @Test
  void rowsUnder64GiB() {
    long rows80MiB = new Splitter(Bytes.gib(64), Bytes.mib(80)).nextEdge(0, Bytes.tib(1));
    long rows2764800 = new Splitter(Bytes.gib(64), 2_764_800).nextEdge(0, Bytes.tib(1));
    assertEquals(68_702_699_520L, rows80MiB);
    assertEquals(68_719_104_000L, rows2764800);
  }

  @Test
  void aRowLargerThanTheMaximumIsRefusedNotStretched() {
    IllegalArgumentException thrown =
        assertThrows(
            IllegalArgumentException.class, () -> new Splitter(Bytes.gib(64), Bytes.gib(70)));
    assertTrue(String.valueOf(thrown.getMessage()).contains("75161927680"));
    assertThrows(IllegalArgumentException.class, () -> new Splitter(4096, 0));
    assertThrows(
        IllegalArgumentException.class, () -> Splitter.onCommonEdges(8 * PAGE, 73_728, 65_536));
    assertThrows(IllegalArgumentException.class, () -> Splitter.onCommonEdges(4096, 0, 4096));
  }

  @Test
  void b85_networkCardsWithRegionsOf2GiBNeverShareABlockOf48MiB() {
    // 42 whole blocks per region.
    Splitter splitter = Splitter.onCommonEdges(Bytes.gib(2), Bytes.mib(48), Bytes.mib(2));
    assertEquals(2_113_929_216L, splitter.nextEdge(0, Bytes.tib(1)));
    assertEquals(4, splitter.pieces(new ByteRange(0, 128 * Bytes.mib(48))));
  }

  @Test
  void b85_sixteenPartsOf34MiBOnHugePagesHaveHugePageEdges() {
    // An equal part of 2,228,224 bytes would break the pages.
    Splitter splitter = Splitter.intoAtMost(16, Bytes.mib(34), Bytes.mib(2));
    List<ByteRange> pieces = new ArrayList<>();
    splitter.split(new ByteRange(0, Bytes.mib(34))).forEach(pieces::add);
    assertTrue(pieces.size() <= 16);
    for (ByteRange piece : pieces) {
      assertEquals(0, piece.endBytes() % Bytes.mib(2));
    }
    assertEquals(Bytes.mib(34), pieces.getLast().endBytes());
  }

  @Test
  void onlyTheCommonMultipleIsALegalChunkFor73728ByteBlocksOn64KiBPages() {
    // Known as B03: cap 1 MiB, eight blocks of 589,824 bytes.
    Splitter splitter = Splitter.onCommonEdges(Bytes.mib(1), 73_728, 65_536);
    assertEquals(589_824, splitter.nextEdge(0, Bytes.mib(100)));
    RegistrationPlan plan =
        PlanGeometry.of(
                Bytes.roundUp(73_728 * 1_000, 65_536),
                65_536,
                Bytes.mib(1),
                List.of(Plane.packed(0, 73_728, 1_000)))
            .plan(CutPolicy.NEVER_INSIDE_BLOCK)
            .orThrow();
    assertEquals(589_824, plan.nextCut(0));
    // Block 7 ends at the cut; a copy of as many bytes from 552,960 would cross it.
    assertTrue(plan.blockAcross(589_824).isEmpty());
    assertEquals(7, plan.blockAcross(552_960).orElseThrow().block());
  }

  @Test
  void piecesCoverTheRangeAndAreCountedWithoutSplitting(TestReporter reporter) {
    reporter.publishEntry("seed", Long.toString(SEED));
    Random random = new Random(SEED);
    for (int round = 0; round < 20_000; round++) {
      long unit = 1L + random.nextInt(50);
      Splitter splitter = new Splitter(unit + random.nextInt(200), unit);
      ByteRange range = new ByteRange(random.nextInt(300), 1 + random.nextInt(3_000));
      String where = "seed %d, round %d, %s, %s".formatted(SEED, round, splitter, range);
      long count = 0;
      long at = range.offsetBytes();
      for (ByteRange piece : splitter.split(range)) {
        count++;
        assertEquals(at, piece.offsetBytes(), where);
        assertTrue(piece.bytes() <= splitter.maxBytes(), where);
        at = piece.endBytes();
        if (at < range.endBytes()) {
          assertEquals(0, at % unit, where);
          assertTrue(at + unit - piece.offsetBytes() > splitter.maxBytes(), where);
        }
      }
      assertEquals(range.endBytes(), at, where);
      assertEquals(count, splitter.pieces(range), where);
    }
  }

  @Test
  void rangesAtTheEndOfTheNumberRangeDoNotOverflow() {
    Splitter splitter = new Splitter(Long.MAX_VALUE, 3);
    ByteRange all = new ByteRange(1, Long.MAX_VALUE - 1);
    assertEquals(1, splitter.pieces(all));
    assertEquals(Long.MAX_VALUE, splitter.nextEdge(Long.MAX_VALUE - 5, Long.MAX_VALUE));
    Splitter bytes = new Splitter(1, 1);
    assertEquals(Long.MAX_VALUE - 1, bytes.pieces(all));
  }
}
