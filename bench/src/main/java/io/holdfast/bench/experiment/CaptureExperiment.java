package io.holdfast.bench.experiment;

import static io.holdfast.device.Order.unordered;

import io.holdfast.bench.experiment.Neighbour.Captured;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.copy.BlockCopies;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Limits;
import io.holdfast.host.PageKind;
import io.holdfast.layout.BlockShape;
import io.holdfast.pool.HostPool;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * An engine captures a graph in global mode on a thread of its own while a pool is opened, pinned
 * in the background, copied with, polled and closed. The graph must replay. The control registers
 * memory plainly, without stepping out of captures, and must kill the capture. The setting {@code
 * captured} names another device to capture on.
 */
final class CaptureExperiment implements Experiment {
  private static final BlockShape SHAPE = BlockShape.of(1, 64 << 10);

  @Override
  public void run(Workbench bench) {
    int captured = (int) bench.settings().number("captured", bench.settings().ordinal());
    Optional<Neighbour> found =
        bench.settings().cuda() ? Optional.of(bench.tools().neighbour(captured)) : Optional.empty();
    if (found.isEmpty()) {
      bench.write(
          bench.result("skipped").put("because", "graphs are captured through the CUDA driver"));
      return;
    }
    Neighbour neighbour = found.get();
    long bytes = bench.settings().bytes(16L << 30, 64L << 20);
    try (DeviceAllocation memory = bench.device().memory().allocate(8 * SHAPE.bytes())) {
      DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(8));
      for (PageKind pages : bench.settings().pagesOr(PageKind.base())) {
        for (int round = 0; round < bench.settings().rounds(); round++) {
          during(bench, neighbour, blocks, pages, bytes, round == 0);
        }
      }
    }
    control(bench, neighbour);
  }

  private static void during(
      Workbench bench,
      Neighbour neighbour,
      DeviceBlocks blocks,
      PageKind pages,
      long bytes,
      boolean telling) {
    HostRequest request = HostRequest.ofBytes(bytes).pages(pages).limits(Limits.ADVISE);
    long moved = 0;
    long registrations;
    double pinSeconds;
    Captured captured;
    try (HugePool _ = HugePool.with(pages, bytes)) {
      neighbour.startCapture();
      try {
        long begun = System.nanoTime();
        HostPool pool = HostPool.openInBackground(bench.device(), blocks, request);
        try (pool) {
          pool.awaitSlots(1);
          while (!pool.ready().isDone()) {
            pool.load(BlockCopies.device(1).host(0), unordered()).await();
            pool.store(BlockCopies.device(2).host(0), unordered()).future().get();
            moved += 2;
          }
          pool.ready().get(10, TimeUnit.MINUTES);
          pinSeconds = (System.nanoTime() - begun) / 1e9;
          registrations = pool.pinned().ranges().size();
          Workbench.require(
              pool.pinned().registeredBytes() == pool.region().mappedBytes(),
              "not all is registered");
        }
      } catch (Exception failure) {
        neighbour.stopCapture();
        throw new RefusedException("pinning during a capture: " + failure);
      }
      captured = neighbour.stopCapture();
    }
    bench.write(
        bench
            .result("capture", pages)
            .put("bytes", bytes)
            .put("openSeconds", pinSeconds)
            .put("registrations", registrations)
            .put("copiesMeanwhile", moved)
            .put("nodes", captured.nodes())
            .put("firstCode", captured.firstCode())
            .put("endCode", captured.endCode())
            .put("replayCode", captured.replayCode())
            .put("wrongBytes", captured.wrongBytes()));
    if (telling || !captured.replayed()) {
      bench.holds(
          "a graph captured in global mode replays after open, pin, copies and close during it",
          captured.replayed());
    }
  }

  private static void control(Workbench bench, Neighbour neighbour) {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(2L << 20, 4096).fill((byte) 1);
      neighbour.startCapture();
      long code = neighbour.plainRegister(memory);
      Captured captured = neighbour.stopCapture();
      bench.write(
          bench
              .result("control")
              .put("registerCode", code)
              .put("firstCode", captured.firstCode())
              .put("nodes", captured.nodes())
              .put("endCode", captured.endCode()));
      bench.holds(
          "the same capture dies of a registration that does not step out of it",
          captured.endCode() != 0);
    }
  }
}
