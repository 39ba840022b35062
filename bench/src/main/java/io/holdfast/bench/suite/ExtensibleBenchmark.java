package io.holdfast.bench.suite;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.copy.BlockCopies;
import io.holdfast.device.CommittedExtent;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockLayout;
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

/**
 * Extensible device memory: the whole of it committed at once, two halves made one, and pages given
 * back and taken again. The last block is looked at after each shot.
 */
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 3)
@Measurement(iterations = 10)
@Fork(
    value = 1,
    jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"})
@State(Scope.Benchmark)
public class ExtensibleBenchmark {
  private static final BlockShape SHAPE = BlockShape.of(1, 2 << 20);

  /** Which backend. */
  @Param("cpu-sim")
  public String backendId = "";

  /** Size when all is committed. */
  @Param("64")
  public long regionMib;

  private Backend backend;
  private Device device;
  private DeviceStream stream;
  private BlockLayout layout;
  private @Nullable ExtensibleRegion region;

  /** For JMH. */
  public ExtensibleBenchmark() {}

  /** Opens a device. */
  @Setup(Level.Trial)
  public void openDevice() {
    backend = Backends.select(backendId);
    device = backend.open(0);
    stream = device.newStream();
    layout = SHAPE.blockMajor(Math.max(2, (regionMib << 20) / SHAPE.bytes()));
  }

  /** Takes addresses, no pages yet. */
  @Setup(Level.Invocation)
  public void reserve() {
    region = device.memory().reserve(layout);
  }

  private ExtensibleRegion region() {
    ExtensibleRegion reserved = region;
    if (reserved == null) {
      throw new IllegalStateException("nothing is reserved");
    }
    return reserved;
  }

  /**
   * All blocks at once, zeroed.
   *
   * @return what is there
   */
  @Benchmark
  public CommittedExtent commit() {
    return region().commit(layout.blocks());
  }

  /**
   * Half, then the rest, then one physical allocation with the contents kept.
   *
   * @return what is there
   */
  @Benchmark
  public CommittedExtent commitTwiceAndConsolidate() {
    region().commit(layout.blocks() / 2);
    region().commit(layout.blocks());
    return region().consolidate(Contents.KEEP, after(stream));
  }

  /** All blocks, pages given back, pages taken again. */
  @Benchmark
  public void commitSleepWake() {
    region().commit(layout.blocks());
    region().releasePhysical(after(stream));
    region().recommit();
  }

  /** The last block is zero, takes bytes and gives them back. */
  @TearDown(Level.Invocation)
  public void verifyAndClose() {
    long last = layout.blocks() - 1;
    try (ExtensibleRegion committed = region();
        HostPool pool = HostPool.open(device, committed, HostRequest.ofBytes(SHAPE.bytes()))) {
      expect(pool, last, (byte) 0);
      try (SlotLease lease = pool.lease(0, Access.WRITE)) {
        lease.part(0).fill((byte) 0x5C);
      }
      pool.load(BlockCopies.device(last).host(0), unordered()).await();
      expect(pool, last, (byte) 0x5C);
    }
    region = null;
  }

  private static void expect(HostPool pool, long block, byte value) {
    try (SlotLease lease = pool.lease(0, Access.WRITE)) {
      lease.part(0).fill((byte) 0xA5);
    }
    pool.store(BlockCopies.device(block).host(0), unordered()).await();
    try (SlotLease lease = pool.lease(0, Access.READ)) {
      byte[] bytes = lease.part(0).toArray(ValueLayout.JAVA_BYTE);
      for (int at = 0; at < bytes.length; at++) {
        if (bytes[at] != value) {
          throw new IllegalStateException("byte " + at + " of block " + block + " is " + bytes[at]);
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
