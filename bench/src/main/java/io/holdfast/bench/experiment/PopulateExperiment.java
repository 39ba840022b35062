package io.holdfast.bench.experiment;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Limits;
import io.holdfast.host.PageKind;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Making pages: Holdfast, which finds its number of threads by measuring, in turn with plain C and
 * fixed numbers of threads. Needs no device.
 */
final class PopulateExperiment implements Experiment {
  @Override
  public void run(Workbench bench) {
    long bytes = bench.settings().bytes(16L << 30, 256L << 20);
    try (LineProcess yardstick = bench.tools().yardstick(bench.settings().ordinal())) {
      yardstick.ask("touch threads=4 bytes=" + bytes);
      once(bench, PageKind.base(), Math.min(bytes, 256L << 20), new Samples(), new Samples());
      for (PageKind pages : bench.settings().pagesOr(PageKind.base(), PageKind.thp())) {
        try (HugePool _ = HugePool.with(pages, bytes)) {
          onPages(bench, yardstick, pages, bytes);
        }
      }
    }
  }

  private static void onPages(Workbench bench, LineProcess yardstick, PageKind pages, long bytes) {
    Samples ours = new Samples();
    Samples threadsFound = new Samples();
    Map<Integer, Samples> fixed = new TreeMap<>();
    String name = Workbench.name(pages);
    for (int round = 0; round < bench.settings().rounds(); round++) {
      List<Runnable> turns = new ArrayList<>();
      turns.add(() -> once(bench, pages, bytes, ours, threadsFound));
      for (int threads : new int[] {1, 2, 4, 8, 16}) {
        String command = "touch threads=" + threads + " pages=" + name + " bytes=" + bytes;
        turns.add(
            () ->
                fixed
                    .computeIfAbsent(threads, _ -> new Samples())
                    .add(yardstick.ask(command).path("seconds").asDouble()));
      }
      if (round % 2 == 1) {
        Collections.reverse(turns);
      }
      turns.forEach(Runnable::run);
      bench.note("populate on " + name + ", round " + (round + 1));
    }
    double best = fixed.values().stream().mapToDouble(Samples::median).min().orElse(Double.NaN);
    ObjectNode node =
        bench
            .result("populate", pages)
            .put("who", "holdfast")
            .put("bytes", bytes)
            .put("againstBestFixed", ours.median() / best);
    ours.into(node, "seconds");
    threadsFound.into(node, "threadsFound");
    bench.write(node);
    fixed.forEach(
        (threads, seconds) -> {
          ObjectNode one =
              bench
                  .result("populate", pages)
                  .put("who", "c")
                  .put("threads", threads)
                  .put("bytes", bytes);
          seconds.into(one, "seconds");
          bench.write(one);
        });
  }

  private static void once(
      Workbench bench, PageKind pages, long bytes, Samples seconds, Samples threads) {
    HostRequest request = HostRequest.ofBytes(bytes).pages(pages).limits(Limits.ADVISE);
    long begun = System.nanoTime();
    try (HostRegion region = bench.backend().pageSource().map(request)) {
      seconds.add((System.nanoTime() - begun) / 1e9);
      threads.add(region.receipt().populateThreads());
    }
  }
}
