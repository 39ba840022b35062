package io.holdfast.bench.suite;

import static io.holdfast.device.Order.unordered;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.pool.HostPool;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What Holdfast itself spends on a descriptor: whole batches, submitted through the FFM binding to
 * a CUDA driver that does nothing, and seen done. With {@code -prof gc} also what is allocated.
 * Needs a C compiler.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
    value = 1,
    jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"})
@State(Scope.Benchmark)
public class SubmissionBenchmark {
  private static final int BLOCKS = 1024;
  private static final int STEP = 389; // no two neighbours on both sides

  /** Which path. */
  @Param({"LOOP", "BATCH", "KERNEL"})
  public CopyPath path = CopyPath.LOOP;

  /** Which way. */
  @Param({"STORE", "LOAD"})
  public Direction direction = Direction.STORE;

  private NoOpPool noOp;
  private HostPool pool;
  private BlockCopies copies;
  private Completion done;

  /** For JMH. */
  public SubmissionBenchmark() {}

  /** A pool on the driver that does nothing. */
  @Setup(Level.Trial)
  public void open() {
    noOp = NoOpPool.open(BLOCKS, path);
    pool = noOp.pool();
    copies = BlockCopies.withCapacity(BLOCKS);
    for (int block = 0; block < BLOCKS; block++) {
      copies.add(block, (block * STEP) % BLOCKS);
    }
    done = pool.load(copies, unordered());
    done.await();
  }

  /** One batch of 1,024 descriptors; the figure is for one of them. */
  @Benchmark
  @OperationsPerInvocation(BLOCKS)
  public void batch() {
    done =
        direction == Direction.STORE
            ? pool.store(copies, unordered(), done)
            : pool.load(copies, unordered(), done);
    done.await();
  }

  /** Each pair was a descriptor of its own, on that path. */
  @TearDown(Level.Trial)
  public void verify() {
    try {
      if (done.report().descriptors() != BLOCKS || done.report().path() != path) {
        throw new IllegalStateException("not what was to be measured: " + done.report());
      }
    } finally {
      noOp.close();
    }
  }
}
