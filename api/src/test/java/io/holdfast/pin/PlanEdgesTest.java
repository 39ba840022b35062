package io.holdfast.pin;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.holdfast.error.Category;
import io.holdfast.layout.BlockShape;
import io.holdfast.layout.ByteRange;
import io.holdfast.layout.Bytes;
import io.holdfast.layout.OverlapException;
import io.holdfast.layout.Plane;
import io.holdfast.pin.PlanOutcome.Alternative;
import io.holdfast.pin.PlanOutcome.Infeasible;
import java.lang.management.ManagementFactory;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;

/** Sizes at the end of the number range, memory, arguments, and the alternatives' exactness. */
class PlanEdgesTest {
  private static final long SEED = Long.getLong("holdfast.seed", 0x65646765L);

  @Test
  void anExbibyteIn4KiBPagesYieldsItsFirstCutsWithoutListingTheRest() {
    long mapped = 1L << 60;
    RegistrationPlan plan =
        new PlanGeometry(mapped, 4096, 4096, 4096, List.of(Plane.packed(0, 4096, 1L << 48)))
            .plan(CutPolicy.NEVER_INSIDE_BLOCK)
            .orThrow();
    assertEquals(1L << 48, plan.registrations());
    assertEquals(List.of(4096L, 8192L, 12_288L), plan.cuts().limit(3).boxed().toList());
    Iterator<ByteRange> ranges = plan.ranges().iterator();
    assertEquals(new ByteRange(0, 4096), ranges.next());
    assertEquals(new ByteRange(4096, 4096), ranges.next());
    assertEquals(mapped, plan.nextCut(mapped - 4096));
  }

  @Test
  void anExbibyteOfBlocksThatNeverMeetTheCapIsCountedInClosedForm() {
    // Blocks of 3 pages, calls of at most 2: a page cut after 2, a block's end after 1 more.
    long blocks = (1L << 60) / 12_288;
    RegistrationPlan plan =
        new PlanGeometry(1L << 60, 4096, 8192, 8192, List.of(Plane.packed(0, 12_288, blocks)))
            .plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED)
            .orThrow();
    assertEquals(List.of(8192L, 12_288L, 20_480L), plan.cuts().limit(3).boxed().toList());
    assertEquals(blocks, plan.straddlingBlocks());
    // 2^60 bytes are 2^48 pages = 3 * blocks + 1; the page left over goes with the last cut.
    assertEquals(1, (1L << 48) - 3 * blocks);
    assertEquals(2 * blocks, plan.registrations());
    assertEquals(
        new RegistrationPlan.Straddling(0, 1, 20_480),
        skip(plan.straddling().iterator(), 1).next());
  }

  private static <T> Iterator<T> skip(Iterator<T> iterator, int count) {
    for (int i = 0; i < count; i++) {
      iterator.next();
    }
    return iterator;
  }

  @Test
  void aStraddlingBlockBehindAnExbibyteOfLegalCutsIsFoundAtOnce() {
    long mapped = (1L << 60) + 5 * 4096;
    RegistrationPlan plan =
        new PlanGeometry(
                mapped,
                4096,
                8192,
                4096,
                List.of(Plane.packed(0, 4096, 1L << 48), Plane.packed(1L << 60, 5 * 4096, 1)))
            .plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED)
            .orThrow();
    List<RegistrationPlan.Straddling> straddling = new ArrayList<>();
    plan.straddling().forEach(straddling::add);
    assertEquals(
        List.of(
            new RegistrationPlan.Straddling(1, 0, (1L << 60) + 8192),
            new RegistrationPlan.Straddling(1, 0, (1L << 60) + 16_384)),
        straddling);
    assertEquals((1L << 48) + 3, plan.registrations());
  }

  @Test
  void regionsThatEndAtTheLastRepresentablePageArePlannedExactly() {
    long page = 4096;
    long mapped = Long.MAX_VALUE / page * page;
    long stride = 3 * (1L << 40) + 4096;
    long blocks = mapped / stride;
    RegistrationPlan plan =
        new PlanGeometry(
                mapped, page, Long.MAX_VALUE, 1L << 45, List.of(Plane.packed(0, stride, blocks)))
            .plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED)
            .orThrow();
    long perCall = (1L << 45) / stride;
    assertEquals(perCall * stride, plan.nextCut(0));
    long from = 0;
    long count = 0;
    for (ByteRange range : plan.ranges()) {
      assertEquals(from, range.offsetBytes());
      from = range.endBytes();
      count++;
    }
    assertEquals(mapped, from);
    assertEquals(count, plan.registrations());
    assertEquals(1, plan.geometry().plan(CutPolicy.NEVER_INSIDE_BLOCK).orThrow().registrations());
  }

  @Test
  void unitsBeyondALongAreNamedAsSuchAndLeaveOneOrNoCut() {
    long page = 1L << 40;
    long stride = (1L << 61) - 1;
    PlanOutcome outcome =
        PlanGeometry.of(1L << 62, page, 1L << 61, List.of(Plane.packed(0, stride, 2)))
            .plan(CutPolicy.NEVER_INSIDE_BLOCK);
    Infeasible why = assertInstanceOf(Infeasible.class, outcome);
    assertEquals(Long.MAX_VALUE, why.unitBytes());
    assertEquals(0, why.afterBytes());
    assertEquals(1L << 62, why.widestGapBytes());
    assertTrue(why.what().contains("2^63 or more"), why.what());
    // One block between two page boundaries: the cut before it and the one behind it.
    RegistrationPlan once =
        PlanGeometry.of(
                1L << 62, page, 1L << 62, List.of(Plane.packed(page - stride % page, stride, 1)))
            .plan(CutPolicy.NEVER_INSIDE_BLOCK)
            .orThrow();
    assertEquals(Bytes.roundUp(page - stride % page + stride, page), once.firstCut(0));
  }

  @Test
  void residuesOfLargeModuliAgreeWithBigInteger(TestReporter reporter) {
    reporter.publishEntry("seed", Long.toString(SEED));
    Random random = new Random(SEED);
    for (int i = 0; i < 20_000; i++) {
      long unit = 1 + (random.nextLong() >>> (1 + random.nextInt(62))) % (Long.MAX_VALUE - 1);
      long stride = 1 + (random.nextLong() >>> (1 + random.nextInt(62))) % (Long.MAX_VALUE - 1);
      long start = random.nextLong() >>> (1 + random.nextInt(62));
      String where = "seed %d: %d + k * %d by %d".formatted(SEED, start, stride, unit);
      BigInteger bigUnit = BigInteger.valueOf(unit);
      BigInteger divisor = bigUnit.gcd(BigInteger.valueOf(stride));
      assertEquals(divisor.longValueExact(), Residues.gcd(stride, unit), where);
      long found = Residues.firstMultiple(start, stride, unit);
      if (BigInteger.valueOf(start).mod(divisor).signum() != 0) {
        assertEquals(Residues.NONE, found, where);
        continue;
      }
      BigInteger period = bigUnit.divide(divisor);
      BigInteger expected =
          BigInteger.valueOf(start)
              .divide(divisor)
              .negate()
              .multiply(BigInteger.valueOf(stride).divide(divisor).modInverse(period))
              .mod(period);
      assertEquals(expected.longValueExact(), found, where);
      BigInteger lcm = BigInteger.valueOf(stride).multiply(period);
      assertEquals(
          lcm.bitLength() < 64 ? lcm.longValueExact() : Long.MAX_VALUE,
          Residues.lcm(stride, unit),
          where);
    }
  }

  @Test
  void oneTebibyteIn61PlanesIsPlannedInClosedForm() {
    long blocks = Bytes.tib(1) / (61 * 73_728L);
    PlanGeometry geometry =
        PlanGeometry.of(
            Bytes.tib(1), 4096, Bytes.gib(256), BlockShape.of(61, 73_728).layerMajor(blocks));
    RegistrationPlan plan = geometry.plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED).orThrow();
    // All planes have one stride and no gaps, so the region is one row of 72 KiB units, 3,640 to
    // a call; after 4,096 calls exactly one slice is left, with the free pages behind the blocks.
    long perCall = 3_640 * 73_728L;
    assertEquals(Bytes.mib(256), Bytes.tib(1) - 4_096 * perCall);
    assertEquals(4_097, plan.registrations());
    List<Long> cuts = plan.cuts().boxed().toList();
    for (int i = 0; i < 4_096; i++) {
      assertEquals((i + 1) * perCall, cuts.get(i));
    }
    assertEquals(4_096, cuts.size());
    assertEquals(Bytes.mib(256), plan.longestCallBytes());
    assertEquals(0, plan.straddlingBlocks());
  }

  @Test
  void questionsAtRunTimeAllocateNothing() {
    RegistrationPlan plan =
        PlanGeometry.of(
                Bytes.tib(1),
                4096,
                Bytes.gib(256),
                BlockShape.of(61, 73_728).layerMajor(Bytes.tib(1) / (61 * 73_728L)))
            .plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED)
            .orThrow();
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long sum = ask(plan, 2_000);
    long before = threads.getCurrentThreadAllocatedBytes();
    sum += ask(plan, 2_000);
    long allocated = threads.getCurrentThreadAllocatedBytes() - before;
    assertNotEquals(0, sum);
    assertTrue(allocated < 1_000, allocated + " bytes allocated in 8,000 questions");
  }

  private static long ask(RegistrationPlan plan, int times) {
    long at = 0;
    long sum = 0;
    for (int i = 0; i < times; i++) {
      sum += plan.furthestCut(at + 1, Bytes.mib(3)) + plan.firstCut(at + 1);
      sum += plan.isLegalCut(at) ? 1 : 0;
      at = plan.nextCut(at, Bytes.mib(64));
    }
    return sum;
  }

  @Test
  void nearestStridesOfAPlaneAloneAreTheNearestThereAre(TestReporter reporter) {
    reporter.publishEntry("seed", Long.toString(SEED));
    Random random = new Random(SEED);
    int compared = 0;
    for (int round = 0; round < 3_000; round++) {
      long page = 1L << random.nextInt(6);
      long cap = page * (1 + random.nextInt(9));
      long stride = 1L + random.nextInt(150);
      long blocks = 1L + random.nextInt(30);
      PlanGeometry geometry = alone(stride, blocks, page, cap);
      if (!(geometry.plan(CutPolicy.NEVER_INSIDE_BLOCK) instanceof Infeasible why)) {
        continue;
      }
      compared++;
      String where = "seed " + SEED + ", round " + round + ", " + geometry;
      OptionalLong below = OptionalLong.empty();
      for (long tried = stride - 1; tried > 0 && below.isEmpty(); tried--) {
        below = works(tried, blocks, page, cap);
      }
      OptionalLong above = OptionalLong.empty();
      // Beyond the cap no single block fits, unless the region is one block.
      for (long tried = stride + 1; tried <= cap + page && above.isEmpty(); tried++) {
        above = works(tried, blocks, page, cap);
      }
      assertEquals(below, bytesOf(why, Alternative.Kind.SMALLER_STRIDE), where);
      assertEquals(above, bytesOf(why, Alternative.Kind.LARGER_STRIDE), where);
    }
    assertTrue(compared > 500, compared + " infeasible planes compared");
  }

  private static PlanGeometry alone(long stride, long blocks, long page, long cap) {
    return PlanGeometry.of(
        Bytes.roundUp(stride * blocks, page), page, cap, List.of(Plane.packed(0, stride, blocks)));
  }

  private static OptionalLong works(long stride, long blocks, long page, long cap) {
    BruteForce oracle = new BruteForce(alone(stride, blocks, page, cap));
    return oracle.widestStretch() <= cap ? OptionalLong.of(stride) : OptionalLong.empty();
  }

  private static OptionalLong bytesOf(Infeasible why, Alternative.Kind kind) {
    return why.alternatives().stream()
        .filter(alternative -> alternative.kind() == kind)
        .mapToLong(Alternative::bytes)
        .findFirst();
  }

  @Test
  void theLargestBackingPageThatWorksIsNamed() {
    PlanGeometry geometry =
        PlanGeometry.of(
            Bytes.gib(300),
            Bytes.gib(1),
            Bytes.gib(1),
            List.of(Plane.packed(0, 73_728, 4_369_066)));
    Infeasible why =
        assertInstanceOf(Infeasible.class, geometry.plan(CutPolicy.NEVER_INSIDE_BLOCK));
    assertEquals(OptionalLong.of(Bytes.mib(64)), bytesOf(why, Alternative.Kind.BACKING_PAGE));
    // 9 * 64 MiB are within 1 GiB, 9 * 128 MiB are not.
    PlanGeometry next =
        PlanGeometry.of(Bytes.gib(300), Bytes.mib(128), Bytes.gib(1), geometry.planes());
    assertInstanceOf(Infeasible.class, next.plan(CutPolicy.NEVER_INSIDE_BLOCK));
  }

  @Test
  void anInfeasiblePlanThrowsWithItsNumbersAndWhatWouldWork() {
    PlanOutcome outcome =
        PlanGeometry.of(12_582_912, 4096, 1_048_576, List.of(Plane.packed(0, 3_145_728, 4)))
            .plan(CutPolicy.NEVER_INSIDE_BLOCK);
    NoPlanException thrown = assertThrows(NoPlanException.class, outcome::orThrow);
    assertEquals(outcome, thrown.why());
    assertEquals(Category.LIMIT, thrown.category());
    assertEquals(PlanOutcome.Reason.BLOCK_EXCEEDS_CAP, thrown.why().reason());
    assertTrue(thrown.remedy().contains("a cap of at least 3145728 bytes"), thrown.remedy());
    assertTrue(
        thrown
            .why()
            .what()
            .contains("no cut between blocks lies within the cap of 1048576 bytes behind offset 0"),
        thrown.why().what());
  }

  @Test
  void argumentsThatCannotBeAreRefusedWithTheirNumbers() {
    List<Plane> none = List.of();
    assertAll(
        () -> refused("8191", () -> PlanGeometry.of(8191, 4096, 8192, none)),
        () -> refused("0 mapped", () -> PlanGeometry.of(0, 4096, 8192, none)),
        () -> refused("-4096", () -> PlanGeometry.of(-4096, 4096, 8192, none)),
        () -> refused("3000", () -> PlanGeometry.of(9000, 3000, 9000, none)),
        () -> refused("cap of 4095", () -> PlanGeometry.of(8192, 4096, 4095, none)),
        () -> refused("slice of 0", () -> new PlanGeometry(8192, 4096, 4096, 0, none)),
        () ->
            refused(
                "ends at 8193",
                () -> PlanGeometry.of(8192, 4096, 4096, List.of(Plane.packed(1, 8192, 1)))));
    RegistrationPlan plan =
        PlanGeometry.of(16_384, 4096, 8192, List.of(Plane.packed(0, 8192, 2)))
            .plan(CutPolicy.NEVER_INSIDE_BLOCK)
            .orThrow();
    assertAll(
        () -> refused("16384", () -> plan.nextCut(16_384)),
        () -> refused("-1", () -> plan.firstCut(-1)),
        () -> refused("at 4096", () -> plan.nextCut(4096)),
        () -> refused("most 0", () -> plan.nextCut(0, 0)),
        () -> refused("most -5", () -> plan.furthestCut(0, -5)),
        () -> refused("16385", () -> plan.isLegalCut(16_385)));
  }

  private static void refused(String number, org.junit.jupiter.api.function.Executable call) {
    String message =
        String.valueOf(assertThrows(IllegalArgumentException.class, call).getMessage());
    assertTrue(message.contains(number), message);
  }

  @Test
  void planesThatOverlapAreATypedErrorThatNamesBoth() {
    List<Plane> planes =
        List.of(
            Plane.packed(40_000, 4096, 1), Plane.packed(0, 4096, 4), Plane.packed(16_383, 8192, 1));
    OverlapException thrown =
        assertThrows(OverlapException.class, () -> PlanGeometry.of(65_536, 4096, 65_536, planes));
    assertEquals(1, thrown.firstPlane());
    assertEquals(2, thrown.secondPlane());
    // Interleaved planes are not disjoint extents either; the layout folds them.
    BlockShape shape = BlockShape.of(2, 100);
    assertThrows(
        OverlapException.class,
        () -> PlanGeometry.of(4096, 4096, 4096, shape.blockMajor(5).planes()));
    assertEquals(
        List.of(Plane.packed(0, 200, 5)),
        PlanGeometry.of(4096, 4096, 4096, shape.blockMajor(5)).planes());
  }

  @Test
  void plansAreEqualWhenGeometryAndPolicyAre() {
    PlanGeometry geometry = PlanGeometry.of(16_384, 4096, 8192, List.of(Plane.packed(0, 8192, 2)));
    PlanOutcome one = geometry.plan(CutPolicy.NEVER_INSIDE_BLOCK);
    PlanOutcome same =
        geometry.withSlice(1).withSlice(geometry.sliceBytes()).plan(CutPolicy.NEVER_INSIDE_BLOCK);
    assertEquals(one, same);
    assertEquals(one.hashCode(), same.hashCode());
    assertNotEquals(one, geometry.plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED));
    assertNotEquals(one, geometry.withCap(16_384).plan(CutPolicy.NEVER_INSIDE_BLOCK));
    assertFalse(one.toString().isEmpty());
  }

  @Test
  void theOrderOfPlanesChangesIndicesOnly() {
    Plane low = Plane.packed(0, 12_288, 4);
    Plane high = Plane.packed(49_152, 20_480, 4);
    PlanGeometry ascending = new PlanGeometry(131_072, 4096, 8_192, 8_192, List.of(low, high));
    PlanGeometry descending = new PlanGeometry(131_072, 4096, 8_192, 8_192, List.of(high, low));
    RegistrationPlan one = ascending.plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED).orThrow();
    RegistrationPlan other = descending.plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED).orThrow();
    assertEquals(one.cuts().boxed().toList(), other.cuts().boxed().toList());
    assertEquals(0, one.straddling().iterator().next().plane());
    assertEquals(1, other.straddling().iterator().next().plane());
  }
}
