package io.holdfast.bench.experiment;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.copy.BlockCopies;
import io.holdfast.device.Demand;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.ExportedRegion;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.HandleKind;
import io.holdfast.device.ShareableHandle;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Limits;
import io.holdfast.host.PageKind;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.pool.HostPool;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * Device memory that is committed, grown, put to sleep, cycled and exported. The setting {@code
 * parts} names which of commit, grow, sleep, cycles and export to run.
 */
final class ExtensibleExperiment implements Experiment {
  private static final long SEED = 42;
  private static final long ANSWER_SEED = 4711;
  private static final long GIB = 1L << 30;
  private static final long MIB = 1L << 20;

  @Override
  public void run(Workbench bench) {
    String parts = bench.settings().more().getOrDefault("parts", "commit,grow,sleep,cycles,export");
    for (String part : parts.split(",")) {
      bench.note(part);
      switch (part) {
        case "commit" -> commit(bench);
        case "grow" -> grow(bench);
        case "sleep" -> sleep(bench);
        case "cycles" -> cycles(bench);
        case "export" -> export(bench);
        default -> throw new IllegalArgumentException("there is no part '" + part + "'");
      }
    }
  }

  private static long blockBytes(Workbench bench) {
    return bench.settings().size("block", 2 * MIB, 2 * MIB);
  }

  private static BlockLayout layout(Workbench bench, long bytes) {
    long block = blockBytes(bench);
    return BlockShape.of(1, block).blockMajor(Math.max(1, bytes / block));
  }

  /** A pool through which blocks are written and checked. */
  private static HostPool pool(Workbench bench, ExtensibleRegion region, long bytes) {
    return HostPool.open(
        bench.device(),
        region,
        HostRequest.ofBytes(bytes).pages(PageKind.thp()).limits(Limits.ADVISE));
  }

  // ---- commit against plain C

  private static void commit(Workbench bench) {
    long bytes = bench.settings().size("commitBytes", 8 * GIB, 64 * MIB);
    int rounds = 3 * bench.settings().rounds();
    BlockLayout layout = layout(bench, bytes);
    Samples ours = new Samples();
    Samples theirs = new Samples();
    Samples zeroing = new Samples();
    Optional<LineProcess> yardstick = bench.yardstick();
    for (int round = -2; round < rounds; round++) { // the first two warm up
      boolean counts = round >= 0;
      if (round % 2 == 0) {
        committed(bench, layout, ours, counts);
        yardstick.ifPresent(c -> committedByC(c, bytes, theirs, zeroing, counts));
      } else {
        yardstick.ifPresent(c -> committedByC(c, bytes, theirs, zeroing, counts));
        committed(bench, layout, ours, counts);
      }
    }
    ObjectNode node = bench.result("commit").put("who", "holdfast").put("bytes", bytes);
    ours.into(node, "seconds");
    bench.write(node);
    if (yardstick.isPresent()) {
      node = bench.result("commit").put("who", "c").put("bytes", bytes);
      theirs.into(node, "seconds");
      zeroing.into(node, "zeroSeconds");
      node.put("zeroShare", zeroing.median() / theirs.median());
      bench.write(node);
      bench.atMost(
          "commit against plain C's create, map, access, zero and synchronise",
          ours.median() / theirs.median(),
          1.15);
    }
  }

  /** Twice, as the C program does it: the first warms up. */
  private static void committed(
      Workbench bench, BlockLayout layout, Samples seconds, boolean counts) {
    for (int time = 0; time < 2; time++) {
      try (ExtensibleRegion region = bench.device().memory().reserve(layout)) {
        long begun = System.nanoTime();
        region.commit(layout.blocks());
        double took = (System.nanoTime() - begun) / 1e9;
        Workbench.require(region.committed().blocks() == layout.blocks(), "not all is committed");
        if (counts && time == 1) {
          seconds.add(took);
        }
      }
    }
  }

  private static void committedByC(
      LineProcess yardstick, long bytes, Samples seconds, Samples zeroing, boolean counts) {
    JsonNode answer = yardstick.ask("commit rounds=1 bytes=" + bytes);
    if (counts) {
      seconds.addAll(answer.path("seconds"));
      zeroing.addAll(answer.path("zeroSeconds"));
    }
  }

  // ---- grow

  private static void grow(Workbench bench) {
    long from = bench.settings().size("growFrom", 2 * GIB, 8 * MIB);
    long to = bench.settings().size("growTo", 64 * GIB, 64 * MIB);
    int steps = (int) bench.settings().number("steps", bench.settings().simulated() ? 10 : 100);
    BlockLayout layout = layout(bench, to);
    SplittableRandom random = new SplittableRandom(SEED);
    Samples commits = new Samples();
    try (ExtensibleRegion region = bench.device().memory().reserve(layout)) {
      long before = Math.max(1, from / blockBytes(bench));
      region.commit(before);
      long address = region.plane(0).memory().rawAddress();
      try (HostPool pool = pool(bench, region, bench.settings().size("staging", GIB, 16 * MIB))) {
        BlockBytes bytes = new BlockBytes(pool, SEED);
        bytes.checkZero(before - 1, before);
        bytes.write(0, before);
        for (int step = 1; step <= steps; step++) {
          long now = before + (layout.blocks() - before) * step / steps;
          now = step == steps ? layout.blocks() : Math.max(now, before);
          long first = region.committed().blocks();
          long begun = System.nanoTime();
          region.commit(now);
          commits.add((System.nanoTime() - begun) / 1e9);
          Workbench.require(
              region.plane(0).memory().rawAddress() == address, "the address changed");
          if (now > first) {
            bytes.checkZero(first, Math.min(now, first + 2));
            bytes.checkZero(now - 1, now);
            bytes.write(first, now);
          }
          long old = random.nextLong(first);
          bytes.check(old, old + 1);
          bytes.check(first - 1, first);
        }
        bench.note("checking all " + layout.blocks() + " blocks");
        bytes.check(0, layout.blocks());
      }
      Workbench.require(region.epoch() == 0, "growing exchanged pages");
      ObjectNode node =
          bench
              .result("grow")
              .put("fromBytes", from)
              .put("toBytes", region.committed().logicalBytes())
              .put("physicalBytes", region.committed().physicalBytes())
              .put("steps", steps);
      commits.into(node, "commitSeconds");
      bench.write(node);
      bench.holds(
          "grown in " + steps + " steps at one address, every byte as written",
          region.committed().blocks() == layout.blocks());
    }
  }

  // ---- sleep and wake

  private static void sleep(Workbench bench) {
    long size = bench.settings().size("sleepBytes", 32 * GIB, 64 * MIB);
    long offloaded = bench.settings().size("offloadBytes", 4 * GIB, 8 * MIB);
    BlockLayout layout = layout(bench, size);
    long saved = offloaded / blockBytes(bench);
    Samples asleep = new Samples();
    Samples awake = new Samples();
    long returned = Long.MAX_VALUE;
    try (ExtensibleRegion region = bench.device().memory().reserve(layout);
        DeviceStream stream = bench.device().newStream()) {
      region.commit(layout.blocks());
      long address = region.plane(0).memory().rawAddress();
      try (HostPool pool = pool(bench, region, offloaded);
          HostPool staging = pool(bench, region, Math.min(offloaded, GIB))) {
        BlockBytes checks = new BlockBytes(staging, SEED);
        for (int round = 0; round < bench.settings().rounds(); round++) {
          checks.write(0, layout.blocks());
          offload(pool, saved, layout.blocks() - saved);
          long free = bench.device().memory().info().freeBytes();
          long begun = System.nanoTime();
          region.releasePhysical(after(stream));
          asleep.add((System.nanoTime() - begun) / 1e9);
          returned = Math.min(returned, bench.device().memory().info().freeBytes() - free);
          begun = System.nanoTime();
          region.recommit();
          awake.add((System.nanoTime() - begun) / 1e9);
          Workbench.require(
              region.plane(0).memory().rawAddress() == address, "the address changed");
          checks.checkZero(0, 1);
          checks.checkZero(layout.blocks() / 2, layout.blocks() / 2 + 1);
          checks.checkZero(layout.blocks() - 1, layout.blocks());
          restore(pool, saved, layout.blocks() - saved);
          checks.check(layout.blocks() - saved, layout.blocks());
        }
      }
    }
    ObjectNode node =
        bench
            .result("sleep")
            .put("bytes", size)
            .put("offloadedBytes", offloaded)
            .put("returnedBytes", returned);
    asleep.into(node, "sleepSeconds");
    awake.into(node, "wakeSeconds");
    bench.write(node);
    bench.atLeast(
        "share of physical memory that returns in sleep", (double) returned / size, 0.999);
    bench.holds("address unchanged, woken to zeros, offloaded blocks right across a sleep", true);
  }

  private static void offload(HostPool pool, long count, long firstBlock) {
    pool.store(pairs(count, firstBlock), unordered()).await();
  }

  private static void restore(HostPool pool, long count, long firstBlock) {
    pool.load(pairs(count, firstBlock), unordered()).await();
  }

  private static BlockCopies pairs(long count, long firstBlock) {
    BlockCopies copies = BlockCopies.withCapacity((int) count);
    for (int i = 0; i < count; i++) {
      copies.add(firstBlock + i, i);
    }
    return copies;
  }

  // ---- cycles

  private static void cycles(Workbench bench) {
    long size = bench.settings().size("cycleBytes", 4 * GIB, 16 * MIB);
    int cycles = (int) bench.settings().number("cycles", 64);
    BlockLayout layout = layout(bench, size);
    long before = 0;
    for (int cycle = -2; cycle < cycles; cycle++) { // the first two let the driver settle
      if (cycle == 0) {
        before = bench.device().memory().info().freeBytes();
      }
      try (ExtensibleRegion region = bench.device().memory().reserve(layout);
          DeviceStream stream = bench.device().newStream()) {
        region.commit(Math.max(1, layout.blocks() / 3));
        region.commit(layout.blocks());
        try (HostPool pool = pool(bench, region, 2 * blockBytes(bench))) {
          BlockBytes bytes = new BlockBytes(pool, SEED);
          bytes.write(layout.blocks() - 1, layout.blocks());
          bytes.check(layout.blocks() - 1, layout.blocks());
          region.releasePhysical(after(stream));
          region.recommit();
          bytes.checkZero(layout.blocks() - 1, layout.blocks());
        }
      }
    }
    long lost = before - bench.device().memory().info().freeBytes();
    bench.write(
        bench.result("cycles").put("bytes", size).put("cycles", cycles).put("lostBytes", lost));
    bench.atMost("MiB of free memory lost after " + cycles + " cycles", lost / (double) MIB, 2);
  }

  // ---- export

  private static void export(Workbench bench) {
    long size = bench.settings().size("exportBytes", GIB, 16 * MIB);
    BlockLayout layout = layout(bench, size);
    long files = openFiles();
    try (ExtensibleRegion region =
            bench
                .device()
                .memory()
                .reserve(ExtensibleRequest.of(layout).shareable(Demand.REQUIRE));
        DeviceStream stream = bench.device().newStream()) {
      region.commit(Math.max(1, layout.blocks() / 3));
      region.seal(layout.blocks(), after(stream));
      try (HostPool pool = pool(bench, region, Math.min(size, 256 * MIB));
          ExportedRegion exported = region.export(HandleKind.POSIX_FD)) {
        BlockBytes bytes = new BlockBytes(pool, SEED);
        bytes.write(0, layout.blocks());
        Workbench.require(exported.handles().size() == 1, "one segment has not one handle");
        ShareableHandle handle = exported.handles().getFirst();
        if (bench.yardstick().isEmpty()) {
          bench.write(bench.result("skipped").put("because", "the peer is a C program on CUDA"));
          return;
        }
        JsonNode answer =
            bench
                .yardstick()
                .get()
                .ask(
                    "import pid=%d fd=%d bytes=%d physicalBytes=%d stride=%d seed=%d answer=%d"
                        .formatted(
                            ProcessHandle.current().pid(),
                            handle.fileDescriptor(),
                            layout.blocks() * blockBytes(bench),
                            handle.physicalBytes(),
                            blockBytes(bench),
                            SEED,
                            ANSWER_SEED));
        new BlockBytes(pool, ANSWER_SEED).check(0, 1);
        bytes.check(1, layout.blocks());
        bench.write(
            bench
                .result("export")
                .put("bytes", size)
                .put("peerPid", answer.path("pid").asLong())
                .put("checkedBytes", answer.path("checkedBytes").asLong()));
        bench.holds(
            "a C process imports the exported descriptor, sees every byte, and its answer is seen",
            answer.path("checkedBytes").asLong() == layout.blocks() * blockBytes(bench));
      }
    }
    bench.holds("no descriptor is left open by the export", openFiles() <= files);
  }

  private static long openFiles() {
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      return all.count();
    } catch (IOException failure) {
      throw new UncheckedIOException("cannot count descriptors", failure);
    }
  }
}
