package io.holdfast.bench.suite;

import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.layout.Bytes;
import io.holdfast.layout.Plane;
import io.holdfast.pin.CutPolicy;
import io.holdfast.pin.PlanGeometry;
import io.holdfast.pin.RegistrationPlan;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Planning the registrations of 1 TiB that holds 61 planes, one per layer: to the first cut, and
 * through all of them. What was measured is checked against block arithmetic after each trial.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class PlannerBenchmark {
  private static final int LAYERS = 61;
  private static final long BLOCK_BYTES = 73_728;
  private static final long MAPPED_BYTES = Bytes.tib(1);
  private static final long CAP_BYTES = Bytes.gib(256);

  /** Bytes of the backing page. */
  @Param({"4096", "2097152"})
  public long pageBytes;

  private BlockLayout layout;
  private PlanGeometry geometry;
  private RegistrationPlan plan;
  private long firstCut = RegistrationPlan.NO_CUT;
  private long sumOfCuts = -1;

  /** Lays out as many blocks as fit. */
  @Setup
  public void layOut() {
    layout = BlockShape.of(LAYERS, BLOCK_BYTES).layerMajor(MAPPED_BYTES / (LAYERS * BLOCK_BYTES));
    geometry = PlanGeometry.of(MAPPED_BYTES, pageBytes, CAP_BYTES, layout);
    plan = geometry.plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED).orThrow();
  }

  /**
   * From a block layout to the first cut: everything that must happen before the first driver call.
   *
   * @return the first cut
   */
  @Benchmark
  public long toFirstCut() {
    firstCut =
        PlanGeometry.of(MAPPED_BYTES, pageBytes, CAP_BYTES, layout)
            .plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED)
            .orThrow()
            .nextCut(0);
    return firstCut;
  }

  /**
   * The same under the policy that never cuts inside a block.
   *
   * @return the first cut
   */
  @Benchmark
  public long toFirstCutNeverInsideBlock() {
    return PlanGeometry.of(MAPPED_BYTES, pageBytes, CAP_BYTES, layout)
        .plan(CutPolicy.NEVER_INSIDE_BLOCK)
        .orThrow()
        .nextCut(0);
  }

  /**
   * All cuts of a finished plan, one after the other, as a registering thread asks for them.
   *
   * @return the sum of the cuts and the mapped end
   */
  @Benchmark
  public long allCuts() {
    long sum = 0;
    long at = 0;
    while (at < MAPPED_BYTES) {
      at = plan.nextCut(at);
      sum += at;
    }
    sumOfCuts = sum;
    return sum;
  }

  /** Looks at every block a cut could go through, and at the sums that were measured. */
  @TearDown
  public void verify() {
    long at = 0;
    long sum = 0;
    long count = 0;
    while (at < MAPPED_BYTES) {
      long to = plan.nextCut(at);
      check(to > at && to - at <= CAP_BYTES && to % pageBytes == 0, "range " + at + " to " + to);
      for (Plane plane : geometry.planes()) {
        boolean inside = to > plane.offsetBytes() && to < plane.endBytes();
        check(
            !inside || (to - plane.offsetBytes()) % BLOCK_BYTES == 0,
            "cut " + to + " goes through a block of " + plane);
      }
      sum += to;
      count++;
      at = to;
    }
    check(count == plan.registrations(), count + " ranges, not " + plan.registrations());
    check(plan.straddlingBlocks() == 0, plan.straddlingBlocks() + " straddling blocks");
    check(sumOfCuts == -1 || sumOfCuts == sum, "cuts sum to " + sumOfCuts + ", not " + sum);
    check(
        firstCut == RegistrationPlan.NO_CUT || firstCut == plan.nextCut(0),
        "first cut " + firstCut + ", not " + plan.nextCut(0));
  }

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException(what);
    }
  }
}
