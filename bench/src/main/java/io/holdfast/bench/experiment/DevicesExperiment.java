package io.holdfast.bench.experiment;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.Device;
import io.holdfast.bench.soak.Pattern;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyRoute;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Limits;
import io.holdfast.host.PageKind;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import java.util.Locale;
import java.util.stream.IntStream;

/**
 * Two devices of one host through one pool: alone, at once, and a block that one device stores and
 * the other loads. The setting {@code second} names the other device.
 */
final class DevicesExperiment implements Experiment {
  private static final long LEAST_NANOS = 200_000_000;
  private static final long MIB = 1L << 20;

  @Override
  public void run(Workbench bench) {
    int second = (int) bench.settings().number("second", bench.settings().ordinal() + 1);
    if (bench.backend().devices().stream().noneMatch(device -> device.ordinal() == second)) {
      bench.write(bench.result("skipped").put("because", "there is no second device"));
      return;
    }
    long bytes = bench.settings().bytes(2048 * MIB, 16 * MIB);
    BlockShape shape = BlockShape.of(1, bench.settings().size("block", 256 << 10, 64 << 10));
    long each = Math.max(1, bytes / 2 / shape.bytes());
    PageKind pages = bench.settings().pagesOr(PageKind.thp()).getFirst();
    try (Device other = bench.backend().open(second);
        DeviceAllocation here = bench.device().memory().allocate(each * shape.bytes());
        DeviceAllocation there = other.memory().allocate(each * shape.bytes());
        HostPool pool =
            HostPool.open(
                bench.device(),
                DeviceBlocks.of(here.segment(), shape.blockMajor(each)),
                HostRequest.ofBytes(2 * each * shape.bytes()).pages(pages).limits(Limits.ADVISE));
        CopyRoute route =
            other
                .copyEngine()
                .route(DeviceBlocks.of(there.segment(), shape.blockMajor(each)), pool)) {
      BlockCopies first = pairs(each, 0);
      BlockCopies upper = pairs(each, each);
      fill(pool);
      pool.load(first, unordered()).await();
      route.load(upper, unordered()).await();
      for (Direction direction : Direction.values()) {
        Samples alone = new Samples();
        Samples beside = new Samples();
        Samples together = new Samples();
        for (int round = 0; round < bench.settings().rounds(); round++) {
          alone.add(rate(each * shape.bytes(), () -> copy(pool, first, direction).await()));
          beside.add(rate(each * shape.bytes(), () -> copy(route, upper, direction).await()));
          together.add(
              rate(
                  2 * each * shape.bytes(),
                  () -> {
                    Completion one = copy(pool, first, direction);
                    Completion two = copy(route, upper, direction);
                    one.await();
                    two.await();
                  }));
        }
        ObjectNode node =
            bench
                .result("devices", pages)
                .put("direction", direction.name().toLowerCase(Locale.ROOT))
                .put("blockBytes", shape.bytes());
        alone.into(node, "firstGbps");
        beside.into(node, "secondGbps");
        together.into(node, "togetherGbps");
        bench.write(node);
      }
      poison(pool);
      pool.store(first, unordered()).await();
      route.store(upper, unordered()).await();
      check(pool, 0);
      across(pool, route, first);
      bench.holds("two devices copied at once through one pool, no byte wrong", true);
    }
  }

  private static BlockCopies pairs(long count, long firstSlot) {
    BlockCopies copies = BlockCopies.withCapacity((int) count);
    for (long i = 0; i < count; i++) {
      copies.add(i, firstSlot + count - 1 - i);
    }
    return copies;
  }

  private static Completion copy(CopyRoute route, BlockCopies copies, Direction direction) {
    return direction == Direction.STORE
        ? route.store(copies, unordered())
        : route.load(copies, unordered());
  }

  private static double rate(long bytes, Runnable copies) {
    long begun = System.nanoTime();
    long times = 0;
    do {
      copies.run();
      times++;
    } while (System.nanoTime() - begun < LEAST_NANOS);
    return (double) bytes * times / (System.nanoTime() - begun);
  }

  /** What the first device stores, the second loads and stores back: ordered on the device only. */
  private static void across(HostPool pool, CopyRoute route, BlockCopies lower) {
    pool.load(lower, unordered()).await();
    IntStream.range(0, (int) (pool.slots() / 2)).parallel().forEach(slot -> poison(pool, slot));
    Completion stored = pool.store(lower, unordered());
    Completion loaded = route.load(lower, after(stored).untilDone());
    loaded.await();
    IntStream.range(0, (int) (pool.slots() / 2)).parallel().forEach(slot -> poison(pool, slot));
    route.store(lower, unordered()).await();
    check(pool, 0);
  }

  private static void fill(HostPool pool) {
    IntStream.range(0, (int) pool.slots())
        .parallel()
        .forEach(
            slot -> {
              try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
                Pattern.fill(lease.part(0), Pattern.mix(slot));
              }
            });
  }

  private static void poison(HostPool pool) {
    IntStream.range(0, (int) pool.slots()).parallel().forEach(slot -> poison(pool, slot));
  }

  private static void poison(HostPool pool, int slot) {
    try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
      lease.part(0).fill((byte) 0xA5);
    }
  }

  private static void check(HostPool pool, int from) {
    IntStream.range(from, (int) pool.slots())
        .parallel()
        .forEach(
            slot -> {
              try (SlotLease lease = pool.lease(slot, Access.READ)) {
                long wrong = Pattern.firstDifference(lease.part(0), Pattern.mix(slot));
                Workbench.require(wrong < 0, "byte " + wrong + " of slot " + slot + " differs");
              }
            });
  }
}
