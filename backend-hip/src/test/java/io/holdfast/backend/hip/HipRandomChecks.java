package io.holdfast.backend.hip;

import static io.holdfast.device.Order.unordered;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.device.Capability;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.Order;
import io.holdfast.device.Support;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.BatchCopyPort.SourceReads;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.CopyTable.Direction;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.StreamHandle;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;

/**
 * Random batches through the binding and through the whole backend, every byte compared; and a
 * region that grows, shrinks, sleeps and wakes with contents.
 */
final class HipRandomChecks {
  private static final int CELLS = 256;
  private static final int CELL_BYTES = 4096;
  private static final int MOST_ROWS = 24;
  private static final int BLOCKS = 96;
  private static final int SLOTS = 128;

  private final CheckReport report;
  private final int batches;
  private final SplittableRandom random;

  /**
   * Checks to be.
   *
   * @param report where answers go
   * @param batches how many for each part
   * @param seed of all that is random
   */
  HipRandomChecks(CheckReport report, int batches, long seed) {
    this.report = report;
    this.batches = batches;
    this.random = new SplittableRandom(seed);
  }

  // ---- the port

  /**
   * Rows of any size and alignment, in batches where there are some and one by one in turn: there,
   * to another place, back to a third, against a model of the last on the host.
   */
  void port(DevicePort port) {
    try (Arena arena = Arena.ofShared()) {
      long bytes = (long) CELLS * CELL_BYTES;
      MemorySegment source = arena.allocate(bytes, CELL_BYTES);
      MemorySegment target = arena.allocate(bytes, CELL_BYTES);
      MemorySegment model = arena.allocate(bytes);
      MemorySegment columns = arena.allocate(3 * 3 * 8L * MOST_ROWS, 8);
      port.register(source);
      port.register(target);
      DeviceRange first = port.allocate(bytes);
      DeviceRange second = port.allocate(bytes);
      StreamHandle stream = port.createStream(0);
      CopyTable out = table(columns, 0, Direction.HOST_TO_DEVICE);
      CopyTable across = table(columns, 1, Direction.DEVICE_TO_DEVICE);
      CopyTable in = table(columns, 2, Direction.DEVICE_TO_HOST);
      for (long at = 0; at < bytes; at += Long.BYTES) {
        source.set(JAVA_LONG, at, random.nextLong());
      }
      long wrong = 0;
      long rows = 0;
      long moved = 0;
      for (int batch = 0; batch < batches; batch++) {
        int count = 1 + random.nextInt(MOST_ROWS);
        int[] from = cells(count);
        int[] middle = cells(count);
        int[] far = cells(count);
        int[] to = cells(count);
        for (int row = 0; row < count; row++) {
          long length = 1 + random.nextInt(CELL_BYTES / 2);
          long sourceAt = at(from[row]);
          long middleAt = at(middle[row]);
          long farAt = at(far[row]);
          long targetAt = at(to[row]);
          out.set(row, first.address() + middleAt, source.address() + sourceAt, length);
          across.set(row, second.address() + farAt, first.address() + middleAt, length);
          in.set(row, target.address() + targetAt, second.address() + farAt, length);
          MemorySegment.copy(source, sourceAt, model, targetAt, length);
          moved += 3 * length;
        }
        rows += count;
        copy(port, out, count, stream);
        copy(port, across, count, stream);
        copy(port, in, count, stream);
        port.awaitStream(stream);
        wrong += target.mismatch(model) == -1 ? 0 : 1;
      }
      report.expect("batches", "random batches with a wrong byte, of " + batches, 0L, wrong);
      report.info("batches", "rows and bytes moved", 3 * rows + " and " + moved);
      port.destroyStream(stream);
      port.free(first);
      port.free(second);
      port.unregister(source);
      port.unregister(target);
    }
  }

  private static CopyTable table(MemorySegment columns, int index, Direction direction) {
    long bytes = 8L * MOST_ROWS;
    long at = index * 3 * bytes;
    return new CopyTable(
        columns.asSlice(at, bytes),
        columns.asSlice(at + bytes, bytes),
        columns.asSlice(at + 2 * bytes, bytes),
        direction);
  }

  /** Different cells, so that no two rows of a batch meet. */
  private int[] cells(int count) {
    int[] all = new int[CELLS];
    for (int i = 0; i < CELLS; i++) {
      int other = random.nextInt(i + 1);
      all[i] = all[other];
      all[other] = i;
    }
    return java.util.Arrays.copyOf(all, count);
  }

  private long at(int cell) {
    return (long) cell * CELL_BYTES + random.nextInt(CELL_BYTES / 2);
  }

  private void copy(DevicePort port, CopyTable table, int rows, StreamHandle stream) {
    Optional<BatchCopyPort> batch = port.batchCopies();
    if (batch.isEmpty() || random.nextInt(4) == 0) {
      port.copyEach(table, 0, rows, stream);
    } else {
      // what the batch before has just put there is no stable source
      boolean stable = table.direction() == Direction.HOST_TO_DEVICE && random.nextBoolean();
      SourceReads reads = stable ? SourceReads.ANY_TIME : SourceReads.IN_STREAM_ORDER;
      int half = random.nextInt(rows + 1);
      if (half > 0) {
        batch.get().copyBatch(table, 0, half, reads, stream);
      }
      if (half < rows) {
        batch.get().copyBatch(table, half, rows, reads, stream);
      }
    }
  }

  // ---- the whole backend

  /** Blocks of two parts through a pool, by each path that the device has and by measurement. */
  void engine(Device device) {
    List<Optional<CopyPath>> paths = new ArrayList<>();
    for (CopyPath path : CopyPath.values()) {
      if (has(device, path)) {
        paths.add(Optional.of(path));
      }
    }
    paths.add(Optional.empty());
    report.info(
        "engine",
        "paths",
        paths.stream().map(path -> path.map(Enum::name).orElse("by measurement")).toList());
    for (Optional<CopyPath> path : paths) {
      engine(device, path, Math.ceilDiv(batches, paths.size()));
    }
  }

  private static boolean has(Device device, CopyPath path) {
    return switch (path) {
      case LOOP -> true;
      case BATCH -> device.capabilities().has(Capability.BATCH_COPY);
      case KERNEL -> device.capabilities().has(Capability.KERNEL_COPY);
      case PITCHED -> device.capabilities().has(Capability.PITCHED_COPY);
    };
  }

  private void engine(Device device, Optional<CopyPath> path, int rounds) {
    BlockShape shape = BlockShape.of(2, 6144);
    CopyOptions options =
        path.isPresent() ? CopyOptions.auto().path(path.get()) : CopyOptions.auto();
    long wrong = 0;
    long pairs = 0;
    try (DeviceAllocation memory = device.memory().allocate(BLOCKS * shape.bytes());
        HostPool pool =
            HostPool.open(
                device,
                DeviceBlocks.of(memory.segment(), shape.blockMajor(BLOCKS)),
                HostRequest.ofBytes(SLOTS * shape.bytes()),
                PoolOptions.defaults().copy(options))) {
      for (int round = 0; round < rounds; round++) {
        int count = 1 + random.nextInt(12);
        long[] sources = distinct(SLOTS, count);
        long[] blocks = distinct(BLOCKS, count);
        long[] targets = distinct(SLOTS, count);
        for (int i = 0; i < count; i++) {
          write(pool, sources[i], 31L * round + i);
        }
        pool.load(BlockCopies.device(blocks).host(sources), unordered()).await();
        for (int i = 0; i < count; i++) {
          write(pool, targets[i], -1); // what does not arrive must not be there already
        }
        pool.store(BlockCopies.device(blocks).host(targets), unordered()).await();
        for (int i = 0; i < count; i++) {
          wrong += holds(pool, targets[i], 31L * round + i) ? 0 : 1;
        }
        pairs += count;
      }
    }
    report.expect(
        "engine",
        path.map(Enum::name).orElse("AUTO") + ": wrong blocks in " + rounds + " random batches",
        0L,
        wrong);
    report.info("engine", "blocks there and back", pairs);
  }

  private long[] distinct(int all, int count) {
    int[] order = new int[all];
    for (int i = 0; i < all; i++) {
      int other = random.nextInt(i + 1);
      order[i] = order[other];
      order[other] = i;
    }
    return java.util.Arrays.stream(order).limit(count).asLongStream().toArray();
  }

  private static void write(HostPool pool, long slot, long seed) {
    try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
      for (int part = 0; part < pool.shape().parts(); part++) {
        MemorySegment bytes = lease.part(part);
        for (long at = 0; at < bytes.byteSize(); at += Long.BYTES) {
          bytes.set(JAVA_LONG_UNALIGNED, at, word(seed, part, at));
        }
      }
    }
  }

  private static boolean holds(HostPool pool, long slot, long seed) {
    try (SlotLease lease = pool.lease(slot, Access.READ)) {
      for (int part = 0; part < pool.shape().parts(); part++) {
        MemorySegment bytes = lease.part(part);
        for (long at = 0; at < bytes.byteSize(); at += Long.BYTES) {
          if (bytes.get(JAVA_LONG_UNALIGNED, at) != word(seed, part, at)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  private static long word(long seed, int part, long at) {
    return (seed * 0x9E3779B97F4A7C15L + part) * 0xBF58476D1CE4E5B9L + at;
  }

  // ---- a region whose size changes

  /** Grows, keeps its contents through a consolidation, sleeps, wakes, and gives all back. */
  void region(Device device) {
    Support support = device.memory().extensibleSupport();
    if (support instanceof Support.Unsupported no) {
      report.info("region", "virtual memory", no.reason());
      return;
    }
    report.expect("region", "virtual memory", new Support.Supported(), support);
    BlockShape shape = BlockShape.of(1, 1 << 16);
    int capacity = 256;
    long freeBefore = device.memory().info().freeBytes();
    try (ExtensibleRegion region =
            device.memory().reserve(ExtensibleRequest.of(shape.layerMajor(capacity)));
        DeviceStream stream = device.newStream()) {
      region.commit(16);
      region.commit(40);
      final long address = region.plane(0).memory().rawAddress();
      check(device, region, shape, 40, "grown in two steps");
      region.commit(200);
      check(device, region, shape, 200, "grown again");
      region.consolidate(Contents.KEEP, Order.after(stream));
      report.expect(
          "region", "handles after consolidating", List.of(1), region.census().handlesPerSegment());
      check(device, region, shape, 200, "consolidated");
      region.shrink(48, Order.after(stream));
      check(device, region, shape, 48, "shrunk");
      region.releasePhysical(Order.after(stream));
      region.recommit();
      check(device, region, shape, 48, "asleep and awake");
      report.expect("region", "the address stays", address, region.plane(0).memory().rawAddress());
    }
    report.info(
        "region",
        "free memory before and after",
        freeBefore + " " + device.memory().info().freeBytes());
  }

  private void check(
      Device device, ExtensibleRegion region, BlockShape shape, int blocks, String when) {
    long wrong = 0;
    try (HostPool pool =
        HostPool.open(
            device, region.first(blocks), HostRequest.ofBytes(2L * blocks * shape.bytes()))) {
      long[] device0 = new long[blocks];
      long[] there = new long[blocks];
      long[] back = new long[blocks];
      for (int i = 0; i < blocks; i++) {
        device0[i] = i;
        there[i] = i;
        back[i] = 2L * blocks - 1 - i;
        write(pool, there[i], i + 1L);
      }
      pool.load(BlockCopies.device(device0).host(there), unordered()).await();
      pool.store(BlockCopies.device(device0).host(back), unordered()).await();
      for (int i = 0; i < blocks; i++) {
        wrong += holds(pool, back[i], i + 1L) ? 0 : 1;
      }
    }
    report.expect("region", when + ": wrong blocks of " + blocks, 0L, wrong);
  }

  /** Through the whole backend. */
  void backend(Backend backend, int ordinal) {
    try (Device device = backend.open(ordinal)) {
      report.part("engine: random batches", () -> engine(device));
      report.part("region: sizes that change", () -> region(device));
    }
  }
}
