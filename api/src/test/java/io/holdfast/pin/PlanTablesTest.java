package io.holdfast.pin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.layout.Bytes;
import io.holdfast.layout.Plane;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Known figures of real key-value cache geometries. */
class PlanTablesTest {
  private static final long NO_CAP = Bytes.gib(1L << 20);

  @ParameterizedTest
  @CsvSource({
    "73728, 72KiB, 576KiB, 18MiB, 9GiB",
    "36864, 36KiB, 576KiB, 18MiB, 9GiB",
    "8448, 132KiB, 2112KiB, 66MiB, 33GiB",
    "41984, 164KiB, 2624KiB, 82MiB, 41GiB",
    "31232, 244KiB, 3904KiB, 122MiB, 61GiB",
    "98304, 96KiB, 192KiB, 6MiB, 3GiB",
    "147456, 144KiB, 576KiB, 18MiB, 9GiB",
    "32768, 32KiB, 64KiB, 2MiB, 1GiB",
    "65536, 64KiB, 64KiB, 2MiB, 1GiB",
    "131072, 128KiB, 128KiB, 2MiB, 1GiB",
    "3145728, 3MiB, 3MiB, 6MiB, 3GiB",
    "2764800, 2700KiB, 43200KiB, 1350MiB, 675GiB",
    "2818048, 2752KiB, 2752KiB, 86MiB, 43GiB"
  })
  void cutsInsideAPlaneAtOffsetZeroAreOneUnitApart(
      long block, String small, String medium, String large, String huge) {
    assertUnit(block, Bytes.kib(4), small);
    assertUnit(block, Bytes.kib(64), medium);
    assertUnit(block, Bytes.mib(2), large);
    assertUnit(block, Bytes.gib(1), huge);
  }

  private static void assertUnit(long block, long page, String expected) {
    long blocks = Bytes.tib(2) / block;
    RegistrationPlan plan =
        PlanGeometry.of(Bytes.tib(2), page, Bytes.tib(2), List.of(Plane.packed(0, block, blocks)))
            .plan(CutPolicy.NEVER_INSIDE_BLOCK)
            .orThrow();
    assertEquals(bytes(expected), plan.firstCut(0));
    assertEquals(2 * bytes(expected), plan.firstCut(bytes(expected)));
  }

  @Test
  void gibibytePagesAreFeasibleUpToAnOddPartOf256() {
    // 2,764,800 = 675 * 4,096 and 2,818,048 = 43 * 65,536, cap 256 GiB on 1 GiB pages.
    PlanOutcome odd675 = single(2_764_800, Bytes.gib(300), Bytes.gib(1), Bytes.gib(256));
    PlanOutcome odd43 = single(2_818_048, Bytes.gib(300), Bytes.gib(1), Bytes.gib(256));
    PlanOutcome.Infeasible why = assertInstanceOf(PlanOutcome.Infeasible.class, odd675);
    assertEquals(PlanOutcome.Reason.UNIT_EXCEEDS_CAP, why.reason());
    assertEquals(Bytes.gib(675), why.unitBytes());
    assertEquals(Bytes.gib(300), why.widestGapBytes());
    assertEquals(List.of(Bytes.gib(215)), cuts(odd43));
  }

  @Test
  void aGibibyteCapOnGibibytePagesAdmitsOnlyBlocksThatDivideIt() {
    // Known as B04: 73,728-byte blocks need 9 GiB.
    PlanOutcome outcome = single(73_728, Bytes.gib(300), Bytes.gib(1), Bytes.gib(1));
    PlanOutcome.Infeasible why = assertInstanceOf(PlanOutcome.Infeasible.class, outcome);
    assertEquals(0, why.afterBytes());
    assertEquals(0, why.plane());
    assertEquals(9_663_676_416L, why.unitBytes());
    assertEquals(Bytes.gib(9), why.widestGapBytes());
    assertEquals(PlanOutcome.Reason.UNIT_EXCEEDS_CAP, why.reason());
    assertEquals(
        "smaller blocks, at strides of 65536 bytes; strides of 131072 bytes; "
            + "backing pages of at most 67108864 bytes; a cap of at least 9663676416 bytes",
        why.wouldWork());
    RegistrationPlan byDefault = why.geometry().plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED).orThrow();
    assertEquals(300, byDefault.registrations());
    assertEquals(266, byDefault.straddlingBlocks());
  }

  @Test
  void blocksThatMeetTheCapInUnitsOf9GiBGiveRangesOf252GiB() {
    PlanOutcome outcome = single(73_728, Bytes.gib(300), Bytes.gib(1), Bytes.gib(256));
    assertEquals(List.of(270_582_939_648L), cuts(outcome));
  }

  @Test
  void aPoolThatFitsTheCapIsOneCallWhateverItsUnit() {
    PlanOutcome outcome = single(73_728, Bytes.gib(9), Bytes.gib(1), Bytes.gib(9));
    assertEquals(1, outcome.orThrow().registrations());
  }

  @Test
  void sixtyOneTensorsOfOneSizeOnGibibytePages() {
    assertEquals(
        List.of(270_582_939_648L), cuts(mla(Bytes.gib(300), Bytes.gib(1), Bytes.gib(256))));
    assertEquals(33, mla(Bytes.gib(300), Bytes.gib(1), Bytes.gib(16)).orThrow().registrations());
  }

  @Test
  void sixtyOneTensorsOfOneSizeOnSmallerPages() {
    assertEquals(
        List.of(274_877_890_560L), cuts(mla(322_122_350_592L, Bytes.kib(4), Bytes.gib(256))));
    assertEquals(
        17_066, mla(Bytes.gib(300), Bytes.mib(2), Bytes.mib(32)).orThrow().registrations());
  }

  private static PlanOutcome mla(long mapped, long page, long cap) {
    return PlanGeometry.of(mapped, page, cap, BlockShape.of(61, 73_728).layerMajor(71_624))
        .plan(CutPolicy.NEVER_INSIDE_BLOCK);
  }

  @ParameterizedTest
  @CsvSource({
    "4KiB, 5719101440, 256MiB, 1906298880",
    "64KiB, 5719130112, 256MiB, 1904541696",
    "2MiB, 5721030656, 256MiB, 1893728256",
    "2MiB, 5721030656, 64MiB, 1547698176"
  })
  void threeLayersOfTwoBlockSizesHaveNoPlan(String page, long mapped, String cap, long at) {
    PlanOutcome outcome =
        PlanGeometry.of(mapped, bytes(page), bytes(cap), dsa(3, 42_072))
            .plan(CutPolicy.NEVER_INSIDE_BLOCK);
    assertEquals(at, assertInstanceOf(PlanOutcome.Infeasible.class, outcome).afterBytes());
  }

  @Test
  void threeLayersOfTwoBlockSizesBelowTheCapAreOneRange() {
    PlanOutcome outcome =
        PlanGeometry.of(Bytes.gib(6), Bytes.gib(1), Bytes.gib(64), dsa(3, 42_072))
            .plan(CutPolicy.NEVER_INSIDE_BLOCK);
    assertEquals(1, outcome.orThrow().registrations());
  }

  @ParameterizedTest
  @CsvSource({
    "42072, 108.3, 1.445, 1.447, 1.506, 19",
    "42071, 108.3, 1.445, 1.447, 1.535, 88",
    "169000, 435.0, 5.802, 5.805, 5.918, 45",
    "169001, 435.0, 5.802, 5.804, 5.889, 231",
    "169004, 435.1, 5.802, 5.805, 5.930, 102",
    "169024, 435.1, 0.00013, 0.002, 0.076, 33"
  })
  void theWidestStretchOfSixtyOneMixedLayersDependsOnTheBlockCount(
      long blocks, double total, String small, String medium, String large, String huge) {
    BlockLayout layout = dsa(61, blocks);
    assertEquals(
        String.format(Locale.ROOT, "%.1f", total),
        String.format(Locale.ROOT, "%.1f", gib(layout.extentBytes())));
    assertWidest(small, layout, Bytes.kib(4));
    assertWidest(medium, layout, Bytes.kib(64));
    assertWidest(large, layout, Bytes.mib(2));
    assertWidest(huge, layout, Bytes.gib(1));
  }

  private static void assertWidest(String expected, BlockLayout layout, long page) {
    int digits = expected.contains(".") ? expected.length() - expected.indexOf('.') - 1 : 0;
    assertEquals(
        expected, String.format(Locale.ROOT, "%." + digits + "f", gib(widest(layout, page))));
  }

  private static long widest(BlockLayout layout, long page) {
    long mapped = Bytes.roundUp(layout.extentBytes(), page);
    PlanOutcome outcome =
        PlanGeometry.of(mapped, page, page, layout).plan(CutPolicy.NEVER_INSIDE_BLOCK);
    return assertInstanceOf(PlanOutcome.Infeasible.class, outcome).widestGapBytes();
  }

  @Test
  void planesThatStartAtMultiplesOfThePageHaveCutsThroughout() {
    BlockShape shape = dsaShape(61);
    long page = Bytes.kib(4);
    BlockLayout aligned = shape.layerMajor(169_001, page);
    long padding = aligned.extentBytes() - shape.layerMajor(169_001).extentBytes();
    assertTrue(padding <= 122 * page, padding + " bytes of padding");
    // The widest stretch is the larger unit, plus what a plane's end is off the page grid.
    assertTrue(widest(aligned, page) <= 2 * Bytes.kib(132), "widest " + widest(aligned, page));
    assertTrue(widest(shape.layerMajor(169_001), page) > Bytes.gib(5));
  }

  @Test
  void aPlaneThatStartsOffThePageGridIsNamedWithTheAlignmentThatCuresIt() {
    PlanOutcome.Infeasible why =
        assertInstanceOf(
            PlanOutcome.Infeasible.class,
            PlanGeometry.of(5_719_101_440L, Bytes.kib(4), Bytes.mib(256), dsa(3, 42_072))
                .plan(CutPolicy.NEVER_INSIDE_BLOCK));
    assertEquals(PlanOutcome.Reason.PLANE_START_MISALIGNED, why.reason());
    assertEquals(2, why.plane());
    PlanOutcome.Alternative first = why.alternatives().getFirst();
    assertEquals(PlanOutcome.Alternative.Kind.PLANE_ALIGNMENT, first.kind());
    assertEquals(4096, first.bytes());
    for (PlanOutcome.Alternative alternative : why.alternatives()) {
      alternative.geometry().plan(CutPolicy.NEVER_INSIDE_BLOCK).orThrow();
    }
  }

  @Test
  void theDefaultPolicyTakesTheFirstCutBehindTheSliceWhereNoneIsWithin() {
    // 73,728-byte blocks on 1 GiB pages: the unit is 9 GiB, the slice one page.
    RegistrationPlan plan =
        PlanGeometry.of(
                Bytes.gib(300),
                Bytes.gib(1),
                Bytes.gib(256),
                List.of(Plane.packed(0, 73_728, 4_369_066)))
            .plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED)
            .orThrow();
    assertEquals(Bytes.gib(1), plan.sliceBytes());
    assertEquals(Bytes.gib(9), plan.nextCut(0));
    assertEquals(Bytes.gib(9), plan.longestCallBytes());
    // 33 units to 297 GiB, then one range to the end, where the last block ends in the last page.
    assertEquals(34, plan.registrations());
    assertEquals(0, plan.straddlingBlocks());
  }

  @Test
  void theDefaultSliceOf256MiBGivesOneTebibyteIn4096Calls() {
    RegistrationPlan plan =
        PlanGeometry.of(
                Bytes.tib(1),
                Bytes.kib(4),
                Bytes.gib(256),
                List.of(Plane.packed(0, 65_536, 1L << 24)))
            .plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED)
            .orThrow();
    assertEquals(4096, plan.registrations());
    assertEquals(Bytes.mib(256), plan.longestCallBytes());
  }

  @ParameterizedTest
  @CsvSource({
    "73728, 268369920",
    "36864, 268406784",
    "8448, 268308480",
    "41984, 268361728",
    "32768, 268435456",
    "2101248, 266858496"
  })
  void aSliceOf256MiBHoldsThatManyWholeUnits(long block, long piece) {
    RegistrationPlan plan =
        PlanGeometry.of(
                Bytes.roundUp(block * 100_000, 4096),
                4096,
                Bytes.gib(256),
                List.of(Plane.packed(0, block, 100_000)))
            .plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED)
            .orThrow();
    assertEquals(piece, plan.nextCut(0));
    assertEquals(2 * piece, plan.nextCut(piece));
    Splitter splitter = Splitter.onCommonEdges(Bytes.mib(256), block, 4096);
    assertEquals(piece, splitter.nextEdge(0, NO_CAP));
  }

  @Test
  void aBlockOf300MiBIsOneCallUnderASliceOf256MiB() {
    RegistrationPlan plan =
        PlanGeometry.of(
                Bytes.mib(900), 4096, Bytes.gib(256), List.of(Plane.packed(0, Bytes.mib(300), 3)))
            .plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED)
            .orThrow();
    assertEquals(List.of(314_572_800L, 629_145_600L), plan.cuts().boxed().toList());
  }

  @Test
  void aLimitOfOnePageAndBlocksOfOnePageCutAtEveryPage() {
    RegistrationPlan plan =
        PlanGeometry.of(40_960, 4096, 4096, List.of(Plane.packed(0, 4096, 10)))
            .plan(CutPolicy.NEVER_INSIDE_BLOCK)
            .orThrow();
    assertEquals(10, plan.registrations());
    assertEquals(4096, plan.longestCallBytes());
  }

  @Test
  void paddingBehindTheLastPlaneLargerThanTheCapIsCutAtPages() {
    RegistrationPlan plan =
        PlanGeometry.of(65_536, 4096, 12_288, List.of(Plane.packed(0, 3_000, 3)))
            .plan(CutPolicy.NEVER_INSIDE_BLOCK)
            .orThrow();
    assertEquals(
        List.of(12_288L, 24_576L, 36_864L, 49_152L, 61_440L), plan.cuts().boxed().toList());
  }

  @Test
  void cutsExactlyAtAPlanesStartAndEndAndInGapsAreLegal() {
    // Blocks of 3 pages at pages 2 to 4 and 7 to 9 of 12; a gap of two pages between them.
    RegistrationPlan plan =
        PlanGeometry.of(
                49_152,
                4096,
                49_152,
                List.of(Plane.packed(8_192, 12_288, 1), Plane.packed(28_672, 12_288, 1)))
            .plan(CutPolicy.NEVER_INSIDE_BLOCK)
            .orThrow();
    List<Long> legal = new ArrayList<>();
    for (long offset = 0; offset <= 49_152; offset += 4096) {
      if (plan.isLegalCut(offset)) {
        legal.add(offset / 4096);
      }
    }
    assertEquals(List.of(0L, 1L, 2L, 5L, 6L, 7L, 10L, 11L, 12L), legal);
  }

  @Test
  void aPlaneWhoseStartIsNoMultipleOfTheDivisorForbidsOnlyCutsInsideIt() {
    // gcd(8,192, 4,096) = 4,096 does not divide 12,800, so nothing inside 12,800 to 45,568.
    RegistrationPlan plan =
        PlanGeometry.of(
                81_920,
                4096,
                49_152,
                List.of(
                    Plane.packed(0, 12_800, 1),
                    Plane.packed(12_800, 8_192, 4),
                    Plane.packed(49_152, 8_192, 4)))
            .plan(CutPolicy.NEVER_INSIDE_BLOCK)
            .orThrow();
    assertEquals(49_152, plan.firstCut(0));
    assertEquals(57_344, plan.firstCut(49_152));
    assertEquals(List.of(49_152L), plan.cuts().boxed().toList());
  }

  @Test
  void paddingCountsAsBlockBetweenBlocksAndBehindTheLast() {
    // One page of block, two of padding, four blocks, then four free pages.
    RegistrationPlan plan =
        PlanGeometry.of(16 * 4096, 4096, 16 * 4096, List.of(new Plane(0, 3 * 4096, 4096, 4)))
            .plan(CutPolicy.NEVER_INSIDE_BLOCK)
            .orThrow();
    List<Long> legal = new ArrayList<>();
    for (long offset = 0; offset <= plan.mappedBytes(); offset += 4096) {
      if (plan.isLegalCut(offset)) {
        legal.add(offset / 4096);
      }
    }
    assertEquals(List.of(0L, 3L, 6L, 9L, 12L, 13L, 14L, 15L, 16L), legal);
    // Another plane may begin in the padding behind the last block: then it ends there.
    RegistrationPlan shared =
        PlanGeometry.of(
                16 * 4096,
                4096,
                16 * 4096,
                List.of(new Plane(0, 3 * 4096, 4096, 4), Plane.packed(11 * 4096, 4096, 5)))
            .plan(CutPolicy.NEVER_INSIDE_BLOCK)
            .orThrow();
    assertTrue(shared.isLegalCut(11 * 4096));
    assertEquals(10 * 4096L, shared.blockAcross(10 * 4096).orElseThrow().cutBytes());
  }

  @Test
  void noPlanesMeanThatEveryPageIsLegal() {
    RegistrationPlan plan =
        PlanGeometry.of(Bytes.gib(1), 4096, Bytes.gib(256), List.of())
            .plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED)
            .orThrow();
    assertEquals(4, plan.registrations());
    assertFalse(plan.straddling().iterator().hasNext());
    assertEquals(4096, plan.firstCut(0));
  }

  @Test
  void blockMajorRowsArePlannedAsOnePlane() {
    BlockLayout rows = dsaShape(61).blockMajor(1_000, 2_818_048);
    PlanGeometry geometry =
        PlanGeometry.of(Bytes.roundUp(rows.extentBytes(), 65_536), 65_536, Bytes.gib(256), rows);
    assertEquals(List.of(new Plane(0, 2_818_048, 61 * 45_312, 1_000)), geometry.planes());
    RegistrationPlan plan = geometry.plan(CutPolicy.NEVER_INSIDE_BLOCK).orThrow();
    assertEquals(2_818_048, plan.firstCut(0));
  }

  private static PlanOutcome single(long block, long mapped, long page, long cap) {
    PlanGeometry geometry =
        PlanGeometry.of(mapped, page, cap, List.of(Plane.packed(0, block, mapped / block)));
    return geometry.withSlice(cap).plan(CutPolicy.NEVER_INSIDE_BLOCK);
  }

  private static List<Long> cuts(PlanOutcome outcome) {
    return outcome.orThrow().cuts().boxed().toList();
  }

  private static BlockShape dsaShape(int layers) {
    BlockShape layer = new BlockShape(List.of(36_864L, 8_448L));
    BlockShape shape = layer;
    for (int i = 1; i < layers; i++) {
      shape = shape.and(layer);
    }
    return shape;
  }

  private static BlockLayout dsa(int layers, long blocks) {
    return dsaShape(layers).layerMajor(blocks);
  }

  private static double gib(long bytes) {
    return bytes / (double) Bytes.gib(1);
  }

  private static long bytes(String text) {
    long count = Long.parseLong(text.substring(0, text.length() - 3));
    return switch (text.substring(text.length() - 3)) {
      case "KiB" -> Bytes.kib(count);
      case "MiB" -> Bytes.mib(count);
      case "GiB" -> Bytes.gib(count);
      default -> throw new IllegalArgumentException(text);
    };
  }
}
