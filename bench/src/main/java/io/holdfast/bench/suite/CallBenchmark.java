package io.holdfast.bench.suite;

import static io.holdfast.device.Order.unordered;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.lang.foreign.ValueLayout;
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
 * One asynchronous copy through each binding of the CUDA driver, in a loop of 1,024 of 4 KiB each;
 * the end is waited for. JCuda needs its natives in {@code java.library.path}.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
    value = 1,
    jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"})
@State(Scope.Benchmark)
public class CallBenchmark {
  private static final int BLOCKS = 1024;
  private static final int STEP = 389; // no two neighbours on both sides

  /** Which binding. */
  @Param({"ffm", "jcuda"})
  public String binding = "";

  /** Which backend. */
  @Param("cuda")
  public String backendId = "";

  private Backend backend;
  private DeviceAllocation memory;
  private HostPool pool;
  private BlockCopies copies;
  private Completion done;

  /** For JMH. */
  public CallBenchmark() {}

  /** A pool through that binding; every slot says which it is. */
  @Setup(Level.Trial)
  public void open() {
    System.setProperty("holdfast.cuda.binding", binding);
    BlockShape shape = BlockShape.of(1, 4096);
    backend = Backends.select(backendId);
    Device device = backend.open(0);
    memory = device.memory().allocate(BLOCKS * shape.bytes());
    pool =
        HostPool.open(
            device,
            DeviceBlocks.of(memory.segment(), shape.blockMajor(BLOCKS)),
            HostRequest.ofBytes(BLOCKS * shape.bytes()),
            PoolOptions.defaults().copy(CopyOptions.auto().path(CopyPath.LOOP)));
    copies = BlockCopies.withCapacity(BLOCKS);
    for (int block = 0; block < BLOCKS; block++) {
      copies.add(block, (block * STEP) % BLOCKS);
      try (SlotLease lease = pool.lease(block, Access.WRITE)) {
        lease.part(0).set(ValueLayout.JAVA_LONG_UNALIGNED, 0, block + 1L);
      }
    }
    done = pool.load(copies, unordered());
    done.await();
  }

  /** 1,024 copies to the host; the figure is for one of them. */
  @Benchmark
  @OperationsPerInvocation(BLOCKS)
  public void copy() {
    done = pool.store(copies, unordered(), done);
    done.await();
  }

  /** Every slot still says which it is, from the device. */
  @TearDown(Level.Trial)
  public void verify() {
    try {
      for (int slot = 0; slot < BLOCKS; slot++) {
        try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
          lease.part(0).fill((byte) 0xA5);
        }
      }
      pool.store(copies, unordered()).await();
      for (int slot = 0; slot < BLOCKS; slot++) {
        try (SlotLease lease = pool.lease(slot, Access.READ)) {
          if (lease.part(0).get(ValueLayout.JAVA_LONG_UNALIGNED, 0) != slot + 1) {
            throw new IllegalStateException("slot " + slot + " came back wrong");
          }
        }
      }
    } finally {
      backend.close();
    }
  }
}
