package io.holdfast.bench.suite;

import static io.holdfast.device.Order.unordered;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.bench.tool.PageOption;
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
import org.jspecify.annotations.Nullable;
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

/** From "open a pool" to "every slot usable": mapped, populated, proven and pinned. */
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 1)
@Measurement(iterations = 5)
@Fork(
    value = 1,
    jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"})
@State(Scope.Benchmark)
public class StartBenchmark {
  private static final BlockShape SHAPE = BlockShape.of(1, 64 << 10);

  /** Which backend. */
  @Param("cpu-sim")
  public String backendId = "";

  /** What backs the pool: base, thp, driver or a HugeTLB size. */
  @Param({"base", "thp"})
  public String pages = "";

  /** Size of the pool. */
  @Param("256")
  public long poolMib;

  private Backend backend;
  private Device device;
  private DeviceAllocation memory;
  private DeviceBlocks blocks;
  private HostRequest request;
  private @Nullable HostPool pool;

  /** For JMH. */
  public StartBenchmark() {}

  /** A device with a few blocks. */
  @Setup(Level.Trial)
  public void openDevice() {
    backend = Backends.select(backendId);
    device = backend.open(0);
    memory = device.memory().allocate(8 * SHAPE.bytes());
    blocks = DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(8));
    PageKind kind = new PageOption().convert(pages);
    request = HostRequest.ofBytes(poolMib << 20).pages(kind);
  }

  /**
   * Opens and waits.
   *
   * @return the pool
   */
  @Benchmark
  public HostPool openToReady() {
    HostPool opened = HostPool.open(device, blocks, request);
    pool = opened;
    return opened;
  }

  /** Moves the first and the last slot through the device, compares, and closes. */
  @TearDown(Level.Invocation)
  public void verifyAndClose() {
    HostPool opened = pool;
    pool = null;
    if (opened == null) {
      throw new IllegalStateException("no pool was opened");
    }
    try (opened) {
      if (opened.pinned().registeredBytes() != opened.region().mappedBytes()) {
        throw new IllegalStateException("not all of the pool is registered");
      }
      for (long slot : new long[] {0, opened.slots() - 1}) {
        long last = SHAPE.bytes() - Long.BYTES;
        try (SlotLease lease = opened.lease(slot, Access.WRITE)) {
          lease.part(0).set(ValueLayout.JAVA_LONG_UNALIGNED, last, slot + 7);
        }
        opened.load(BlockCopies.device(3).host(slot), unordered()).await();
        try (SlotLease lease = opened.lease(slot, Access.WRITE)) {
          lease.part(0).fill((byte) 0);
        }
        opened.store(BlockCopies.device(3).host(slot), unordered()).await();
        try (SlotLease lease = opened.lease(slot, Access.READ)) {
          if (lease.part(0).get(ValueLayout.JAVA_LONG_UNALIGNED, last) != slot + 7) {
            throw new IllegalStateException("slot " + slot + " came back wrong");
          }
        }
      }
    }
  }

  /** Closes the backend. */
  @TearDown(Level.Trial)
  public void closeBackend() {
    backend.close();
  }
}
