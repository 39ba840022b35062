package io.holdfast.bench.experiment;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Limits;
import io.holdfast.host.PageKind;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/**
 * What pinning and releasing populated memory in the background does to another thread's driver
 * calls, by an open-loop probe at 2 kHz: with the default budget, flat out in small chunks, flat
 * out in slices, and nothing at all as the control; and with any other budgets and pauses that are
 * named, as {@code -P also=300/180,400/140} in microseconds.
 */
final class ProbeExperiment implements Experiment {
  private static final long PERIOD_NANOS = 500_000;
  private static final int SIGNIFICANT_DIGITS = 3;
  private static final long IDLE_MILLIS = 1_000;

  /** One way to pin, its times and what the probe saw. */
  private static final class Way {
    final String name;
    final PinRequest request;
    final boolean closeFlatOut;
    final Samples pinSeconds = new Samples();
    final Samples releaseSeconds = new Samples();
    final Map<String, Latencies> seen = new LinkedHashMap<>();

    Way(String name, PinRequest request, boolean closeFlatOut) {
      this.name = name;
      this.request = request;
      this.closeFlatOut = closeFlatOut;
    }
  }

  /** Percentiles of each round, and all rounds in one histogram. */
  private static final class Latencies {
    final Histogram all = new Histogram(SIGNIFICANT_DIGITS);
    final Samples p50 = new Samples();
    final Samples p99 = new Samples();
    final Samples worst = new Samples();

    void add(long[] nanos) {
      Histogram one = new Histogram(SIGNIFICANT_DIGITS);
      for (long value : nanos) {
        one.recordValue(Math.max(0, value));
      }
      p50.add(one.getValueAtPercentile(50) / 1e6);
      p99.add(one.getValueAtPercentile(99) / 1e6);
      worst.add(one.getMaxValue() / 1e6);
      all.add(one);
    }

    void into(ObjectNode node) {
      node.put("samples", all.getTotalCount());
      p50.into(node, "p50Ms");
      p99.into(node, "p99Ms");
      worst.into(node, "worstMs");
      var curve = node.putArray("percentilesMs");
      for (double percentile : new double[] {50, 75, 90, 95, 99, 99.5, 99.9, 99.99, 100}) {
        curve.addArray().add(percentile).add(all.getValueAtPercentile(percentile) / 1e6);
      }
      var counts = node.putArray("histogramMs");
      all.logarithmicBucketValues(1_000, 1.5)
          .forEach(
              bucket -> {
                if (bucket.getCountAddedInThisIterationStep() > 0) {
                  counts
                      .addArray()
                      .add(bucket.getValueIteratedTo() / 1e6)
                      .add(bucket.getCountAddedInThisIterationStep());
                }
              });
    }
  }

  @Override
  public void run(Workbench bench) {
    long bytes = bench.settings().bytes(16L << 30, 64L << 20);
    for (PageKind pages : bench.settings().pagesOr(PageKind.base())) {
      try (HugePool _ = HugePool.with(pages, bytes);
          Probe probe =
              bench
                  .neighbour()
                  .map(neighbour -> Probe.ofNeighbour(neighbour, PERIOD_NANOS))
                  .orElseGet(() -> Probe.ofCopies(bench.device(), PERIOD_NANOS));
          HostRegion region =
              bench
                  .backend()
                  .pageSource()
                  .map(HostRequest.ofBytes(bytes).pages(pages).limits(Limits.ADVISE))) {
        onPages(bench, probe, region, pages);
      }
    }
  }

  private static void onPages(Workbench bench, Probe probe, HostRegion region, PageKind pages) {
    List<Way> ways = new ArrayList<>();
    ways.add(new Way("paced", PinRequest.strict(), false));
    bench
        .settings()
        .list("also")
        .forEach(also -> ways.add(new Way(also, PinRequest.strict().pacing(pacing(also)), false)));
    ways.add(
        new Way(
            "chunked",
            PinRequest.strict().sliceBytes(64L << 20).pacing(PinPacing.flatOut()),
            true));
    ways.add(new Way("unpaced", PinRequest.strict().pacing(PinPacing.flatOut()), true));
    Latencies idle = new Latencies();
    for (int round = 0; round < bench.settings().rounds(); round++) {
      bench.note("probe, round " + (round + 1) + " of " + bench.settings().rounds());
      probe.start();
      pause(bench.settings().simulated() ? IDLE_MILLIS / 10 : IDLE_MILLIS);
      idle.add(probe.stop());
      List<Way> order = new ArrayList<>(ways);
      if (round % 2 == 1) {
        Collections.reverse(order);
      }
      order.forEach(way -> once(bench, probe, region, way));
    }
    ObjectNode control = bench.result("latency", pages).put("way", "idle").put("phase", "idle");
    idle.into(control);
    bench.write(control);
    for (Way way : ways) {
      way.seen.forEach(
          (phase, latencies) -> {
            ObjectNode node =
                bench
                    .result("latency", pages)
                    .put("way", way.name)
                    .put("phase", phase)
                    .put("bytes", region.mappedBytes());
            (phase.equals("pin") ? way.pinSeconds : way.releaseSeconds).into(node, "seconds");
            latencies.into(node);
            bench.write(node);
          });
    }
    Way paced = ways.getFirst();
    Way unpaced = ways.getLast();
    bench.atMost("p99 ms while pinned, default budget", p99(paced, "pin"), 0.6);
    bench.atMost("p99 ms while released, default budget", p99(paced, "release"), 0.6);
    bench.atMost(
        "paced pinning against unpaced",
        paced.pinSeconds.median() / unpaced.pinSeconds.median(),
        2.2);
    bench.atMost(
        "paced release against unpaced",
        paced.releaseSeconds.median() / unpaced.releaseSeconds.median(),
        2.2);
  }

  /** Budget and pause in microseconds, with a slash between. */
  private static PinPacing pacing(String text) {
    String[] parts = text.split("/", -1);
    if (parts.length != 2) {
      throw new RefusedException("also: BUDGET/PAUSE in microseconds, not " + text);
    }
    return PinPacing.polite(micros(parts[0])).between(micros(parts[1]));
  }

  private static Duration micros(String text) {
    return Duration.of(Long.parseLong(text), ChronoUnit.MICROS);
  }

  private static double p99(Way way, String phase) {
    Latencies latencies = way.seen.get(phase);
    return latencies == null ? Double.NaN : latencies.p99.median();
  }

  private static void once(Workbench bench, Probe probe, HostRegion region, Way way) {
    probe.start();
    long begun = System.nanoTime();
    PinnedRegion pinned = bench.device().pinner().pinInBackground(region, way.request);
    try {
      pinned.ready().get(10, TimeUnit.MINUTES);
    } catch (Exception failure) {
      throw new RefusedException("pinning " + way.name + ": " + failure);
    }
    double pinSeconds = (System.nanoTime() - begun) / 1e9;
    way.seen.computeIfAbsent("pin", _ -> new Latencies()).add(probe.stop());
    way.pinSeconds.add(pinSeconds);
    Workbench.require(pinned.registeredBytes() == region.mappedBytes(), "not all is registered");
    int ranges = pinned.ranges().size();
    double longestCall = pinned.receipt().longestCallNanos() / 1e6;
    probe.start();
    begun = System.nanoTime();
    if (way.closeFlatOut) {
      pinned.closeFlatOut();
    } else {
      pinned.close();
    }
    double releaseSeconds = (System.nanoTime() - begun) / 1e9;
    way.seen.computeIfAbsent("release", _ -> new Latencies()).add(probe.stop());
    way.releaseSeconds.add(releaseSeconds);
    bench.write(
        bench
            .result("turn")
            .put("way", way.name)
            .put("pinSeconds", pinSeconds)
            .put("releaseSeconds", releaseSeconds)
            .put("ranges", ranges)
            .put("longestCallMs", longestCall));
  }

  private static void pause(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }
}
