package io.holdfast.bench.experiment;

import static io.holdfast.device.Order.unordered;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.copy.BlockCopies;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Limits;
import io.holdfast.host.PageKind;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * From "open a pool" to "every slot usable", in turn with plain C: the simple shape, one madvise
 * and one registration, and pipelines of one registering thread behind several that populate. After
 * the first round only the three fastest pipelines go on; PyTorch allocates as much beside them.
 * The setting {@code threads} names the pipelines to try, {@code torch=0} leaves PyTorch out.
 */
final class StartExperiment implements Experiment {
  private static final BlockShape SHAPE = BlockShape.of(1, 64 << 10);
  private static final int LEFT_PIPELINES = 3;
  private static final int TORCH_ROUNDS = 2;

  /** One contestant's times on one kind of pages. */
  private static final class Shape {
    final String who;
    final String command;
    final Samples seconds = new Samples();

    Shape(String who, String command) {
      this.who = who;
      this.command = command;
    }
  }

  @Override
  public void run(Workbench bench) {
    long bytes = bench.settings().bytes(16L << 30, 256L << 20);
    List<PageKind> kinds =
        bench.settings().simulated()
            ? bench.settings().pagesOr(PageKind.base(), PageKind.thp())
            : bench.settings().pagesOr(PageKind.base(), PageKind.thp(), PageKind.hugeTlb(2L << 20));
    try (DeviceAllocation memory = bench.device().memory().allocate(8 * SHAPE.bytes())) {
      DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(8));
      bench.note("warming up the JVM");
      open(bench, blocks, PageKind.base(), Math.min(bytes, 256L << 20));
      bench
          .yardstick()
          .ifPresent(
              yardstick -> {
                bench.note("touching the machine's memory");
                yardstick.ask("touch threads=8 bytes=" + (bytes + bytes / 4));
              });
      for (PageKind pages : kinds) {
        onPages(bench, blocks, pages, bytes);
      }
    }
    if (bench.settings().number("torch", 1) != 0) {
      bench.torch().ifPresent(torch -> torch(bench, torch, bytes));
    }
  }

  private static void onPages(Workbench bench, DeviceBlocks blocks, PageKind pages, long bytes) {
    int rounds = bench.settings().rounds();
    Optional<LineProcess> yardstick = bench.yardstick();
    String name = Workbench.name(pages);
    Shape simple = new Shape("c-simple", "start threads=0 pages=" + name + " bytes=" + bytes);
    List<Shape> pipelines = new ArrayList<>();
    for (int threads : threads(bench)) {
      for (long slice : new long[] {256L << 20, 1L << 30}) {
        pipelines.add(
            new Shape(
                "c-pipeline-%d-%dMiB".formatted(threads, slice >> 20),
                "start threads=%d slice=%d pages=%s bytes=%d"
                    .formatted(threads, slice, name, bytes)));
      }
    }
    Samples opened = new Samples();
    Samples closed = new Samples();
    try (HugePool _ = HugePool.with(pages, bytes)) {
      for (int round = 0; round < rounds; round++) {
        bench.note("start on " + name + ", round " + (round + 1) + " of " + rounds);
        List<Runnable> turns = new ArrayList<>();
        turns.add(() -> once(bench, blocks, pages, bytes, opened, closed));
        yardstick.ifPresent(
            c -> {
              turns.add(() -> ask(bench, c, simple, pages));
              pipelines.forEach(shape -> turns.add(() -> ask(bench, c, shape, pages)));
            });
        if (round % 2 == 1) {
          Collections.reverse(turns);
        }
        turns.forEach(Runnable::run);
        if (round == 0 && pipelines.size() > LEFT_PIPELINES && yardstick.isPresent()) {
          pipelines.sort(Comparator.comparingDouble(shape -> shape.seconds.median()));
          pipelines.subList(LEFT_PIPELINES, pipelines.size()).clear();
        }
      }
    }
    ObjectNode ours = bench.result("openToReady", pages).put("who", "holdfast").put("bytes", bytes);
    opened.into(ours, "seconds");
    closed.into(ours, "closeSeconds");
    bench.write(ours);
    if (yardstick.isEmpty()) {
      return;
    }
    pipelines.add(simple);
    for (Shape shape : pipelines) {
      ObjectNode node =
          bench.result("openToReady", pages).put("who", shape.who).put("bytes", bytes);
      shape.seconds.into(node, "seconds");
      bench.write(node);
    }
    pipelines.remove(simple);
    double best =
        pipelines.stream().mapToDouble(shape -> shape.seconds.median()).min().orElseThrow();
    bench.atMost(
        "open-to-ready against the best C pipeline, " + name, opened.median() / best, 1.15);
    bench.atLeast(
        "simple C against open-to-ready, " + name,
        simple.seconds.median() / opened.median(),
        pages instanceof PageKind.Base ? 2.8 : 3.2);
  }

  /** The numbers of populating threads that C tries: all, or those of the setting. */
  private static int[] threads(Workbench bench) {
    String named = bench.settings().more().getOrDefault("threads", "2,4,8,16");
    return Arrays.stream(named.split(",")).mapToInt(Integer::parseInt).toArray();
  }

  private static void ask(Workbench bench, LineProcess yardstick, Shape shape, PageKind pages) {
    JsonNode answer = yardstick.ask(shape.command);
    shape.seconds.add(answer.path("seconds").asDouble());
    ObjectNode node = bench.result("turn", pages).put("who", shape.who);
    bench.write(node.put("seconds", answer.path("seconds").asDouble()));
  }

  private static void once(
      Workbench bench,
      DeviceBlocks blocks,
      PageKind pages,
      long bytes,
      Samples opened,
      Samples closed) {
    double[] seconds = open(bench, blocks, pages, bytes);
    opened.add(seconds[0]);
    closed.add(seconds[1]);
    bench.write(
        bench
            .result("turn", pages)
            .put("who", "holdfast")
            .put("seconds", seconds[0])
            .put("populateThreads", (int) seconds[2]));
  }

  /** Seconds from open to ready, and of the close; the number of threads that populated. */
  private static double[] open(Workbench bench, DeviceBlocks blocks, PageKind pages, long bytes) {
    HostRequest request = HostRequest.ofBytes(bytes).pages(pages).limits(Limits.ADVISE);
    long begun = System.nanoTime();
    HostPool pool = HostPool.open(bench.device(), blocks, request);
    double opened = (System.nanoTime() - begun) / 1e9;
    int threads;
    try (pool) {
      threads = pool.region().receipt().populateThreads();
      Workbench.require(
          pool.pinned().registeredBytes() == pool.region().mappedBytes(), "not all is registered");
      for (long slot : new long[] {0, pool.slots() - 1}) {
        thereAndBack(pool, slot);
      }
      begun = System.nanoTime();
    }
    return new double[] {opened, (System.nanoTime() - begun) / 1e9, threads};
  }

  private static void thereAndBack(HostPool pool, long slot) {
    long last = SHAPE.bytes() - Long.BYTES;
    try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
      lease.part(0).set(ValueLayout.JAVA_LONG_UNALIGNED, last, slot + 7);
    }
    pool.load(BlockCopies.device(3).host(slot), unordered()).await();
    try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
      lease.part(0).fill((byte) 0);
    }
    pool.store(BlockCopies.device(3).host(slot), unordered()).await();
    try (SlotLease lease = pool.lease(slot, Access.READ)) {
      Workbench.require(
          lease.part(0).get(ValueLayout.JAVA_LONG_UNALIGNED, last) == slot + 7,
          "slot " + slot + " came back wrong");
    }
  }

  private static void torch(Workbench bench, LineProcess torch, long bytes) {
    Samples seconds = new Samples();
    for (int round = 0; round < TORCH_ROUNDS; round++) {
      bench.note("PyTorch, round " + (round + 1));
      JsonNode answer = torch.tryAsk("pin bytes=" + bytes);
      if (answer.has("error")) {
        bench.write(
            bench
                .result("pinMemory")
                .put("who", "pytorch")
                .put("error", answer.path("error").asText()));
        return;
      }
      seconds.add(answer.path("seconds").asDouble());
    }
    ObjectNode node = bench.result("pinMemory").put("who", "pytorch").put("bytes", bytes);
    seconds.into(node, "seconds");
    bench.write(node);
  }
}
