package io.holdfast.pin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.layout.ByteRange;
import io.holdfast.layout.Plane;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;

class PlanPropertiesTest {
  private static final long SEED = Long.getLong("holdfast.seed", 0x486f6c6466617374L);
  private static final int GEOMETRIES = 40_000;

  @Test
  void everyAnswerEqualsThatOfLookingAtEveryPageAndEveryBlock(TestReporter reporter) {
    reporter.publishEntry("seed", Long.toString(SEED));
    Random random = new Random(SEED);
    int feasible = 0;
    int infeasible = 0;
    int withStraddling = 0;
    for (int round = 0; round < GEOMETRIES; round++) {
      PlanGeometry geometry = randomGeometry(random);
      String where = "seed " + SEED + ", round " + round + ", " + geometry;
      BruteForce oracle = new BruteForce(geometry);
      assertEquals(oracle.pageCuts(), geometry.pageCutsOnly(), where);
      PlanOutcome never = geometry.plan(CutPolicy.NEVER_INSIDE_BLOCK);
      List<Integer> ends = oracle.ends(CutPolicy.NEVER_INSIDE_BLOCK);
      if (ends.getLast() < 0) {
        infeasible++;
        PlanOutcome.Infeasible why = assertInstanceOf(PlanOutcome.Infeasible.class, never, where);
        int after = ends.size() == 1 ? 0 : ends.get(ends.size() - 2);
        assertEquals(after, why.afterBytes(), where);
        checkReason(oracle, why, where);
      } else {
        feasible++;
        checkPlan(oracle, assertInstanceOf(RegistrationPlan.class, never, where), ends, where);
      }
      RegistrationPlan plan = geometry.plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED).orThrow();
      checkPlan(oracle, plan, oracle.ends(CutPolicy.INSIDE_BLOCK_IF_NEEDED), where);
      withStraddling += plan.straddlingBlocks() > 0 ? 1 : 0;
      checkRunTime(oracle, plan, random, where);
    }
    // The generator must keep all sides of the question alive.
    assertEquals(GEOMETRIES, feasible + infeasible);
    assertTrue(feasible > GEOMETRIES / 5, feasible + " feasible");
    assertTrue(infeasible > GEOMETRIES / 5, infeasible + " infeasible");
    assertTrue(withStraddling > GEOMETRIES / 5, withStraddling + " with straddling blocks");
  }

  @Test
  void longRegularRunsAreCountedAsIfOneByOne(TestReporter reporter) {
    // Few planes with very many blocks: nearly everything is passed over by closed forms.
    reporter.publishEntry("seed", Long.toString(SEED + 1));
    Random random = new Random(SEED + 1);
    for (int round = 0; round < 400; round++) {
      long page = 1L << random.nextInt(4);
      List<Plane> planes = new ArrayList<>();
      long end = random.nextInt(20);
      int count = 1 + random.nextInt(2);
      for (int i = 0; i < count; i++) {
        Plane plane =
            Plane.packed(end, 1 + random.nextInt(40), 1_000 / count + random.nextInt(1_000));
        planes.add(plane);
        end = plane.endBytes() + random.nextInt(3) * 500L;
      }
      long mapped = (end + page - 1) / page * page;
      PlanGeometry geometry =
          new PlanGeometry(
              mapped, page, page + random.nextInt(300), 1 + random.nextInt(300), planes);
      String where = "seed " + (SEED + 1) + ", round " + round + ", " + geometry;
      BruteForce oracle = new BruteForce(geometry);
      checkPlan(
          oracle,
          geometry.plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED).orThrow(),
          oracle.ends(CutPolicy.INSIDE_BLOCK_IF_NEEDED),
          where);
      if (geometry.plan(CutPolicy.NEVER_INSIDE_BLOCK) instanceof RegistrationPlan plan) {
        checkPlan(oracle, plan, oracle.ends(CutPolicy.NEVER_INSIDE_BLOCK), where);
      }
    }
  }

  private static void checkPlan(
      BruteForce oracle, RegistrationPlan plan, List<Integer> ends, String where) {
    List<Long> cuts = plan.cuts().boxed().toList();
    List<Long> expected =
        ends.subList(0, ends.size() - 1).stream().map(Integer::longValue).toList();
    assertEquals(expected, cuts, where);
    assertEquals(ends.size(), plan.registrations(), where);
    long longest = 0;
    long from = 0;
    List<Long> straddling = new ArrayList<>();
    List<Long> rangeEnds = new ArrayList<>();
    for (ByteRange range : plan.ranges()) {
      assertEquals(from, range.offsetBytes(), where);
      longest = Math.max(longest, range.bytes());
      from = range.endBytes();
      rangeEnds.add(from);
      if (!oracle.legal((int) from)) {
        straddling.add(from);
      }
    }
    assertEquals(ends.stream().map(Integer::longValue).toList(), rangeEnds, where);
    assertEquals(longest, plan.longestCallBytes(), where);
    assertTrue(longest <= plan.capBytes(), where);
    assertEquals(straddling.size(), plan.straddlingBlocks(), where);
    List<Long> named = new ArrayList<>();
    for (RegistrationPlan.Straddling block : plan.straddling()) {
      named.add(block.cutBytes());
      Plane plane = plan.geometry().planes().get(block.plane());
      long start = plane.blockOffsetBytes(block.block());
      assertTrue(start < block.cutBytes() && block.cutBytes() < start + plane.strideBytes(), where);
    }
    assertEquals(straddling, named, where);
  }

  private static void checkRunTime(
      BruteForce oracle, RegistrationPlan plan, Random random, String where) {
    RegistrationPlan never =
        plan.geometry().plan(CutPolicy.NEVER_INSIDE_BLOCK) instanceof RegistrationPlan found
            ? found
            : null;
    for (int i = 0; i < 12; i++) {
      int from = random.nextInt(oracle.mapped);
      int most = 1 + random.nextInt(oracle.mapped + 10);
      assertEquals(oracle.furthest(from, most), plan.furthestCut(from, most), where);
      assertEquals(oracle.first(from), plan.firstCut(from), where);
      assertEquals(oracle.legal(from), plan.isLegalCut(from), where);
      boolean onPage = from % oracle.page == 0;
      if (onPage) {
        assertEquals(oracle.legal(from), plan.blockAcross(from).isEmpty(), where);
      }
      long wanted = Math.min(most, plan.capBytes());
      int start = onPage ? from : from - from % oracle.page;
      assertEquals(
          oracle.next(start, wanted, CutPolicy.INSIDE_BLOCK_IF_NEEDED),
          plan.nextCut(start, most),
          where);
      assertEquals(
          oracle.next(start, plan.sliceBytes(), CutPolicy.INSIDE_BLOCK_IF_NEEDED),
          plan.nextCut(start),
          where);
      if (never != null) {
        if (oracle.legal(start)) {
          assertEquals(
              oracle.next(start, wanted, CutPolicy.NEVER_INSIDE_BLOCK),
              never.nextCut(start, most),
              where);
        } else {
          assertThrows(IllegalArgumentException.class, () -> never.nextCut(start, most), where);
        }
      }
    }
    assertTrue(plan.isLegalCut(oracle.mapped), where);
  }

  private static void checkReason(BruteForce oracle, PlanOutcome.Infeasible why, String where) {
    PlanGeometry geometry = oracle.geometry;
    assertEquals(oracle.widestStretch(), why.widestGapBytes(), where);
    Plane plane = geometry.planes().get(why.plane());
    long unit = plane.strideBytes();
    while (unit % oracle.page != 0) {
      unit += plane.strideBytes();
    }
    assertEquals(unit, why.unitBytes(), where);
    // The plane blamed really lies in the stretch.
    assertTrue(plane.offsetBytes() < oracle.first((int) why.afterBytes()), where);
    assertTrue(plane.endBytes() + plane.strideBytes() > why.afterBytes(), where);
    switch (why.reason()) {
      case BLOCK_EXCEEDS_CAP -> assertTrue(plane.strideBytes() > geometry.capBytes(), where);
      case UNIT_EXCEEDS_CAP -> assertTrue(why.unitBytes() > geometry.capBytes(), where);
      case PLANE_START_MISALIGNED -> {
        for (long block = 0; block < oracle.page; block++) {
          assertFalse(
              (plane.offsetBytes() + block * plane.strideBytes()) % oracle.page == 0, where);
        }
      }
      case EDGE_TOO_FAR -> assertTrue(why.unitBytes() <= geometry.capBytes(), where);
    }
    boolean cap = false;
    for (PlanOutcome.Alternative alternative : why.alternatives()) {
      PlanGeometry changed = alternative.geometry();
      assertTrue(
          new BruteForce(changed).ends(CutPolicy.NEVER_INSIDE_BLOCK).getLast() > 0,
          () -> where + " does not work: " + alternative);
      if (alternative.kind() == PlanOutcome.Alternative.Kind.CAP) {
        cap = true;
        List<Integer> less =
            new BruteForce(geometry.withCap(Math.max(oracle.page, alternative.bytes() - 1)))
                .ends(CutPolicy.NEVER_INSIDE_BLOCK);
        assertEquals(-1, less.getLast(), where);
      } else {
        assertEquals(geometry.capBytes(), changed.capBytes(), where);
      }
    }
    assertTrue(cap, where);
  }

  /** Up to five planes in random order, with gaps, padding and odd starts; at most a few KiB. */
  private static PlanGeometry randomGeometry(Random random) {
    long page = 1L << random.nextInt(6);
    List<Plane> planes = new ArrayList<>();
    int count = random.nextInt(6);
    long end = random.nextInt(3) == 0 ? random.nextInt(100) : 0;
    boolean powersOfTwo = random.nextInt(4) == 0;
    for (int i = 0; i < count; i++) {
      long block = powersOfTwo ? 1L << random.nextInt(7) : 1 + random.nextInt(90);
      long stride = random.nextInt(3) == 0 ? block + random.nextInt(40) : block;
      Plane plane = new Plane(end, stride, block, 1 + random.nextInt(25));
      planes.add(plane);
      end = plane.endBytes();
      end +=
          switch (random.nextInt(5)) {
            case 0 -> random.nextInt(200);
            case 1 -> stride - block;
            case 2 -> -end & page - 1;
            default -> 0;
          };
    }
    long tail = random.nextInt(4) == 0 ? random.nextInt(500) : 0;
    long mapped = Math.max(page, (end + tail + page - 1) / page * page);
    Collections.shuffle(planes, random);
    long cap = page + (random.nextInt(8) == 0 ? random.nextInt(6_000) : random.nextInt(300));
    long slice = 1L + random.nextInt((int) cap + 50);
    return new PlanGeometry(mapped, page, cap, slice, planes);
  }
}
