package io.holdfast.bench.suite;

import static io.holdfast.device.Order.unordered;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.copy.BlockCopies;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** What a test pays for a simulated machine: opened, blocks there and back, closed. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
    value = 1,
    jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"})
@State(Scope.Benchmark)
public class SimulatorBenchmark {
  private static final BlockShape SHAPE = BlockShape.of(2, 4096);
  private static final int BLOCKS = 16;

  /** Which simulated machine. */
  @Param("cpu-sim")
  public String backendId = "";

  private long serial;

  /** For JMH. */
  public SimulatorBenchmark() {}

  /**
   * A machine's whole life.
   *
   * @return what came back
   */
  @Benchmark
  public long openRoundTripClose() {
    serial++;
    try (Backend backend = Backends.select(backendId);
        Device device = backend.open(0);
        DeviceAllocation memory = device.memory().allocate(BLOCKS * SHAPE.bytes());
        HostPool pool =
            HostPool.open(
                device,
                DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(BLOCKS)),
                HostRequest.ofBytes(BLOCKS * SHAPE.bytes()))) {
      try (SlotLease lease = pool.lease(1, Access.WRITE)) {
        lease.part(1).set(ValueLayout.JAVA_LONG_UNALIGNED, 8, serial);
      }
      pool.load(BlockCopies.device(3).host(1), unordered()).await();
      pool.store(BlockCopies.device(3).host(2), unordered()).await();
      try (SlotLease lease = pool.lease(2, Access.READ)) {
        long back = lease.part(1).get(ValueLayout.JAVA_LONG_UNALIGNED, 8);
        if (back != serial) {
          throw new IllegalStateException(back + " came back, not " + serial);
        }
        return back;
      }
    }
  }

  /**
   * The life of a pool of 4 TiB in a Java that has just started, under 256 MiB of heap: opened,
   * pinned page by page of 1 GiB, copied at both ends, closed. It is to take less than a second.
   *
   * @return what came back from its end
   */
  @Benchmark
  @BenchmarkMode(Mode.SingleShotTime)
  @OutputTimeUnit(TimeUnit.MILLISECONDS)
  @Warmup(iterations = 0)
  @Measurement(iterations = 1)
  @Fork(
      value = 5,
      jvmArgsAppend = {
        "-Xmx256m",
        "--enable-native-access=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow"
      })
  public long fourTebibytes() {
    BlockShape shape = BlockShape.of(1, 1 << 20);
    try (Backend backend = Backends.select("cpu-sim:mi350x");
        Device device = backend.open(0);
        DeviceAllocation memory = device.memory().allocate(2 * shape.bytes());
        HostPool pool =
            HostPool.open(
                device,
                DeviceBlocks.of(memory.segment(), shape.blockMajor(2)),
                HostRequest.ofBytes(4L << 40).pages(PageKind.hugeTlb(1L << 30)))) {
      long last = pool.slots() - 1;
      try (SlotLease lease = pool.lease(last, Access.WRITE)) {
        lease.part(0).set(ValueLayout.JAVA_LONG_UNALIGNED, 0, last);
      }
      pool.load(BlockCopies.device(1).host(last), unordered()).await();
      pool.store(BlockCopies.device(1).host(0), unordered()).await();
      try (SlotLease lease = pool.lease(0, Access.READ)) {
        long back = lease.part(0).get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
        if (back != last) {
          throw new IllegalStateException(back + " came back, not " + last);
        }
        return back;
      }
    }
  }
}
