package io.holdfast.bench.suite;

import static io.holdfast.device.Order.unordered;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.bench.tool.PageOption;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
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
 * Scattered blocks by size, path and direction: one operation submits all of them in one batch and
 * waits for the device. The counter {@code megabytes} is what moved in a second, in 10^6 bytes.
 */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
    value = 1,
    jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"})
@State(Scope.Benchmark)
public class CopyBenchmark {
  /** Which backend. */
  @Param("cpu-sim")
  public String backendId = "";

  /** AUTO lets the engine choose. */
  @Param({"AUTO", "LOOP", "BATCH", "KERNEL"})
  public String path = "";

  /** Which way. */
  @Param({"STORE", "LOAD"})
  public Direction direction = Direction.STORE;

  /** Size of a block. */
  @Param({"1", "4", "16", "64", "144", "256", "1024", "4096"})
  public int blockKib;

  /** All blocks of one operation together. */
  @Param("64")
  public int batchMib;

  /** PERMUTED: hardly any two neighbours on both sides; SAME: neighbours everywhere, merged. */
  @Param("PERMUTED")
  public String order = "";

  /** What backs the pool. */
  @Param("thp")
  public String pages = "";

  private Backend backend;
  private Device device;
  private DeviceAllocation memory;
  private HostPool pool;
  private BlockCopies copies;
  private Completion done;
  private int[] permutation;

  /** For JMH. */
  public CopyBenchmark() {}

  /** Bytes that moved. */
  @AuxCounters(AuxCounters.Type.OPERATIONS)
  @State(Scope.Thread)
  public static class Moved {
    /** In 10^6 bytes. */
    public double megabytes;

    /** For JMH. */
    public Moved() {}
  }

  /** A pool of twice the blocks, and a random permutation between the two sides. */
  @Setup(Level.Trial)
  public void open() {
    int blocks = Math.max(1, (batchMib << 10) / blockKib);
    BlockShape shape = BlockShape.of(1, (long) blockKib << 10);
    backend = Backends.select(backendId);
    device = backend.open(0);
    memory = device.memory().allocate(blocks * shape.bytes());
    CopyOptions options =
        path.equals("AUTO") ? CopyOptions.auto() : CopyOptions.auto().path(CopyPath.valueOf(path));
    pool =
        HostPool.open(
            device,
            DeviceBlocks.of(memory.segment(), shape.blockMajor(blocks)),
            HostRequest.ofBytes(blocks * shape.bytes()).pages(new PageOption().convert(pages)),
            PoolOptions.defaults().copy(options));
    permutation = permutation(blocks, order.equals("SAME") ? 0 : blocks);
    copies = BlockCopies.withCapacity(blocks);
    for (int block = 0; block < blocks; block++) {
      copies.add(block, permutation[block]);
    }
    for (int block = 0; block < blocks; block++) { // the device gets what can be checked later
      mark(permutation[block], block);
    }
    done = pool.load(copies, unordered());
    done.await();
  }

  /** The first so many at random places, the rest each at its own. */
  private static int[] permutation(int count, int mixed) {
    SplittableRandom random = new SplittableRandom(42);
    int[] order = new int[count];
    for (int i = 0; i < count; i++) {
      int at = i < mixed ? random.nextInt(i + 1) : i;
      order[i] = order[at];
      order[at] = i;
    }
    return order;
  }

  private void mark(int slot, long value) {
    try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
      long last = lease.part(0).byteSize() - Long.BYTES;
      lease.part(0).set(ValueLayout.JAVA_LONG_UNALIGNED, 0, value);
      lease.part(0).set(ValueLayout.JAVA_LONG_UNALIGNED, last / 2, ~value);
      lease.part(0).set(ValueLayout.JAVA_LONG_UNALIGNED, last, value * 31);
    }
  }

  /** Stores once more into poisoned slots and compares the ends and the middle of every block. */
  @TearDown(Level.Trial)
  public void verify() {
    try {
      for (int block = 0; block < permutation.length; block++) {
        mark(permutation[block], -1);
      }
      pool.store(copies, unordered()).await();
      for (int block = 0; block < permutation.length; block++) {
        try (SlotLease lease = pool.lease(permutation[block], Access.READ)) {
          long last = lease.part(0).byteSize() - Long.BYTES;
          if (lease.part(0).get(ValueLayout.JAVA_LONG_UNALIGNED, 0) != block
              || lease.part(0).get(ValueLayout.JAVA_LONG_UNALIGNED, last / 2) != ~(long) block
              || lease.part(0).get(ValueLayout.JAVA_LONG_UNALIGNED, last) != block * 31L) {
            throw new IllegalStateException("block " + block + " came back wrong");
          }
        }
      }
    } finally {
      backend.close();
    }
  }

  /**
   * One batch, there or back, waited for.
   *
   * @param moved counts bytes
   */
  @Benchmark
  public void batch(Moved moved) {
    done =
        direction == Direction.STORE
            ? pool.store(copies, unordered(), done)
            : pool.load(copies, unordered(), done);
    done.await();
    moved.megabytes += (double) permutation.length * (blockKib << 10) / 1e6;
  }
}
