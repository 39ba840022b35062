package io.holdfast.bench.gate;

import static io.holdfast.device.Order.unordered;

import com.sun.management.ThreadMXBean;
import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.bench.suite.PlannerBenchmark;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.lang.management.ManagementFactory;

/**
 * Prints what single operations allocate on the calling thread, a name and a number a line. Run
 * with {@code -Xint}: only then is the number the same on every machine and in every run, for no
 * compiler removes an allocation.
 */
final class AllocationProbe {
  private static final int WARM_UP = 20;
  private static final int SAMPLES = 30;
  private static final int BLOCKS = 64;
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

  private static void submissions(CopyPath path) {
    BlockShape shape = BlockShape.of(1, 4096);
    try (Backend backend = Backends.select("cpu-sim");
        Device device = backend.open(0);
        DeviceAllocation memory = device.memory().allocate(BLOCKS * shape.bytes());
        HostPool pool =
            HostPool.open(
                device,
                DeviceBlocks.of(memory.segment(), shape.blockMajor(BLOCKS)),
                HostRequest.ofBytes(2 * BLOCKS * shape.bytes()),
                PoolOptions.defaults().copy(CopyOptions.auto().path(path)))) {
      BlockCopies copies = BlockCopies.withCapacity(BLOCKS);
      for (int block = 0; block < BLOCKS; block++) {
        copies.add(block, 2L * (BLOCKS - 1 - block));
      }
      Completion[] last = {pool.store(copies, unordered())};
      print(
          "submission of " + BLOCKS + " blocks, " + path,
          () -> last[0] = pool.store(copies, unordered(), last[0]),
          () -> last[0].await());
    }
  }

  private static void print(String name, Runnable operation) {
    print(name, operation, () -> {});
  }

  /** The least of many: the simulated driver's own tables grow on the caller's thread. */
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
