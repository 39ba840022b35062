package io.holdfast.bench.suite;

import static io.holdfast.device.Order.unordered;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyPath;
import io.holdfast.pool.HostPool;
import java.util.concurrent.TimeUnit;
import jdk.jfr.Recording;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What a recording costs a batch: one descriptor, submitted to a CUDA driver that does nothing and
 * seen done, in a Java without Flight Recorder, with it while nobody records, and while somebody
 * does. The first two differ by what Holdfast's events cost when nobody wants them. With {@code
 * -prof gc} also what is allocated. Needs a C compiler.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
    value = 1,
    jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"})
@State(Scope.Benchmark)
public class RecordingBenchmark {
  private NoOpPool noOp;
  private HostPool pool;
  private BlockCopies copies;
  private Completion done;

  /** For JMH. */
  public RecordingBenchmark() {}

  /** A pool of one block on the driver that does nothing. */
  @Setup(Level.Trial)
  public void open() {
    noOp = NoOpPool.open(1, CopyPath.LOOP);
    pool = noOp.pool();
    copies = BlockCopies.device(0).host(0);
    done = pool.store(copies, unordered());
    done.await();
  }

  /** Everything goes. */
  @TearDown(Level.Trial)
  public void close() {
    noOp.close();
  }

  private void batch() {
    done = pool.store(copies, unordered(), done);
    done.await();
  }

  /** A Java that has no Flight Recorder. */
  @Benchmark
  @Fork(
      value = 1,
      jvmArgsAppend = {
        "--enable-native-access=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow",
        "--limit-modules",
        "java.base,java.logging,java.management,java.xml,jdk.management,jdk.unsupported"
      })
  public void absent() {
    batch();
  }

  /** Nobody records. */
  @Benchmark
  public void off() {
    batch();
  }

  /** Somebody records. */
  @Benchmark
  public void on(Recorded recorded) {
    batch();
  }

  /** A recording that goes on meanwhile. */
  @State(Scope.Benchmark)
  public static class Recorded {
    private Recording recording;

    /** For JMH. */
    public Recorded() {}

    /** Begins. */
    @Setup(Level.Trial)
    public void start() {
      recording = new Recording();
      recording.setMaxSize(64L << 20);
      recording.start();
    }

    /** Ends. */
    @TearDown(Level.Trial)
    public void stop() {
      recording.close();
    }
  }
}
