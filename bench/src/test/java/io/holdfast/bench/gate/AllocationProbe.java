package io.holdfast.bench.gate;

import com.sun.management.ThreadMXBean;
import io.holdfast.bench.suite.PlannerBenchmark;
import io.holdfast.bench.suite.SubmissionBenchmark;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute.Direction;
import java.lang.management.ManagementFactory;

/**
 * Prints what single operations allocate on the calling thread, a name and a number a line. Run
 * with {@code -Xint}: only then is the number the same on every machine and in every run, for no
 * compiler removes an allocation.
 */
final class AllocationProbe {
  private static final int WARM_UP = 20;
  private static final int SAMPLES = 30;
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private AllocationProbe() {}

  public static void main(String[] arguments) {
    for (long page : new long[] {4096, 2L << 20}) {
      PlannerBenchmark planner = new PlannerBenchmark();
      planner.pageBytes = page;
      planner.layOut();
      print("planner.toFirstCut, pages of " + page, planner::toFirstCut);
      print("planner.allCuts, pages of " + page, planner::allCuts);
    }
    for (CopyPath path : new CopyPath[] {CopyPath.LOOP, CopyPath.BATCH, CopyPath.KERNEL}) {
      submissions(path);
    }
  }

  /** Whole batches of 1,024 blocks against a CUDA driver that does nothing. */
  private static void submissions(CopyPath path) {
    for (Direction direction : Direction.values()) {
      SubmissionBenchmark submission = new SubmissionBenchmark();
      submission.path = path;
      submission.direction = direction;
      submission.open();
      print("batch, " + path + " " + direction, submission::batch);
      submission.verify();
    }
  }

  private static void print(String name, Runnable operation) {
    print(name, operation, () -> {});
  }

  /** The least of many: a table that has grown once, and a first call, are not what is meant. */
  private static void print(String name, Runnable operation, Runnable between) {
    for (int i = 0; i < WARM_UP; i++) {
      between.run();
      operation.run();
    }
    long least = Long.MAX_VALUE;
    for (int i = 0; i < SAMPLES; i++) {
      between.run();
      long before = THREADS.getCurrentThreadAllocatedBytes();
      operation.run();
      least = Math.min(least, THREADS.getCurrentThreadAllocatedBytes() - before);
    }
    System.out.println(name + "\t" + least);
  }
}
