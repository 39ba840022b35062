package io.holdfast.bench.experiment;

import io.holdfast.bench.soak.RandomShapes;
import io.holdfast.host.PageKind;
import java.util.ArrayList;
import java.util.List;

/**
 * Batches of random shapes on random pages while children really fork, every byte compared. The
 * settings {@code batches}, {@code forks}, {@code threads} and {@code seed} say how much; it goes
 * on until both numbers are reached.
 */
final class SoakExperiment implements Experiment {
  private static final long BATCHES_OF_ONE_POOL = 200;

  @Override
  public void run(Workbench bench) {
    boolean simulated = bench.settings().simulated();
    long batches = bench.settings().number("batches", simulated ? 100 : 20_000);
    long children = bench.settings().number("forks", simulated ? 50 : 30_000);
    int threads =
        (int)
            bench
                .settings()
                .number("threads", Math.min(8, Runtime.getRuntime().availableProcessors()));
    long poolBytes = bench.settings().bytes(128L << 20, 16L << 20);
    List<PageKind> pages =
        bench.settings().pagesOr(PageKind.base(), PageKind.thp(), PageKind.hugeTlb(2L << 20));
    Neighbour forker = bench.tools().neighbour(-1);
    List<HugePool> pools = new ArrayList<>();
    pages.forEach(kind -> pools.add(HugePool.with(kind, 3 * poolBytes)));
    long freeBefore = bench.device().memory().info().freeBytes();
    RandomShapes shapes =
        new RandomShapes(
            bench.device(), pages, poolBytes, bench.settings().number("seed", 42), bench::note);
    long sessions = 0;
    long forked;
    forker.startForks(children);
    try {
      while (shapes.batches() < batches || forker.forksDone() < children) {
        String shape = shapes.once(Math.min(BATCHES_OF_ONE_POOL, batches), threads);
        sessions++;
        if (sessions % 20 == 1) {
          bench.note(shapes.batches() + " batches, " + forker.forksDone() + " children; " + shape);
        }
      }
    } finally {
      forked = forker.stopForks(false);
      pools.forEach(HugePool::close);
    }
    bench.write(
        bench
            .result("soak")
            .put("batches", shapes.batches())
            .put("pools", sessions)
            .put("roundTrips", shapes.roundTrips())
            .put("bytesMoved", shapes.bytesMoved())
            .put("children", forked)
            .put("mismatches", shapes.mismatches())
            .put("deviceBytesMissing", freeBefore - bench.device().memory().info().freeBytes()));
    bench.holds(
        "%d batches of random shapes, %d children forked meanwhile, no byte wrong"
            .formatted(shapes.batches(), forked),
        shapes.mismatches() == 0 && shapes.batches() >= batches && forked >= children);
    bench.holds("every pin was given back", bench.device().pinner().quarantine().isEmpty());
  }
}
