package io.holdfast.bench.experiment;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.bench.experiment.ScatteredPool.Pairing;
import io.holdfast.copy.CopyDecision;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.PageKind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Copies against plain C in the same run: bulk, scattered blocks by size and path, merged runs,
 * both directions at once, and beside a busy compute stream. The setting {@code parts} names which;
 * the link is C's bulk rate of the run.
 */
final class CopiesExperiment implements Experiment {
  private static final String AUTO = "AUTO";
  private static final List<CopyPath> PATHS =
      List.of(CopyPath.LOOP, CopyPath.BATCH, CopyPath.KERNEL);
  private static final long MIB = 1L << 20;
  private static final long LEAST_NANOS = 30_000_000;
  private static final int WARM_UP_BATCHES = 3;
  private static final int BUSY_BLOCKS = 132 * 8;
  private static final long BUSY_CYCLES = 1_700_000; // about a millisecond

  @Override
  public void run(Workbench bench) {
    String parts = bench.settings().more().getOrDefault("parts", "bulk,scatter,merged,both,busy");
    Map<Direction, Double> link = new EnumMap<>(Direction.class);
    for (String part : parts.split(",")) {
      bench.note(part);
      switch (part) {
        case "bulk" -> bulk(bench, link);
        case "scatter" -> scatter(bench, link);
        case "merged" -> merged(bench, link);
        case "both" -> both(bench);
        case "busy" -> busy(bench);
        default -> throw new IllegalArgumentException("there is no part '" + part + "'");
      }
    }
  }

  private static PageKind pages(Workbench bench) {
    return bench.settings().pagesOr(PageKind.thp()).getFirst();
  }

  private static long total(Workbench bench) {
    return bench.settings().bytes(256 * MIB, 8 * MIB);
  }

  private static String lower(Object value) {
    return value.toString().toLowerCase(Locale.ROOT);
  }

  /**
   * What the neighbour on the other side of the comparison reaches in bulk, 10^9 bytes a second.
   */
  private static void bulk(Workbench bench, Map<Direction, Double> link) {
    long each = bench.settings().size("bulkBlock", 1024 * MIB, 4 * MIB);
    int copies = 2;
    Map<Direction, Samples> ours = new EnumMap<>(Direction.class);
    Map<Direction, Samples> theirs = new EnumMap<>(Direction.class);
    Optional<LineProcess> yardstick = bench.yardstick();
    String command =
        "bulk rounds=1 copies=" + copies + " bytes=" + each + " pages=" + cPages(bench);
    try (ScatteredPool pool =
        new ScatteredPool(
            bench.device(), pages(bench), each, copies * each, Pairing.SAME, CopyOptions.auto())) {
      for (int round = -1; round < bench.settings().rounds(); round++) {
        boolean counts = round >= 0;
        if (round % 2 == 0) {
          yardstick.ifPresent(c -> askBulk(c, command, theirs, counts));
        }
        for (Direction direction : Direction.values()) {
          double seconds = pool.seconds(direction, LEAST_NANOS);
          if (counts) {
            ours.computeIfAbsent(direction, _ -> new Samples()).add(pool.bytes() / seconds / 1e9);
          }
        }
        if (round % 2 != 0) {
          yardstick.ifPresent(c -> askBulk(c, command, theirs, counts));
        }
      }
      pool.verify();
    }
    for (Direction direction : Direction.values()) {
      Samples our = ours.getOrDefault(direction, new Samples());
      rate(bench, "bulk", direction, "holdfast", AUTO, each, our);
      Samples their = theirs.get(direction);
      if (their != null) {
        rate(bench, "bulk", direction, "c", "LOOP", each, their);
        link.put(direction, their.median());
        bench.atLeast("bulk against C, " + lower(direction), our.median() / their.median(), 0.97);
      }
    }
  }

  private static String cPages(Workbench bench) {
    return Workbench.name(pages(bench));
  }

  private static void askBulk(
      LineProcess yardstick, String command, Map<Direction, Samples> rates, boolean counts) {
    JsonNode answer = yardstick.ask(command);
    if (counts) {
      double bytes = answer.path("bytes").asDouble() / 1e9;
      for (double seconds : numbers(answer.path("storeSeconds"))) {
        rates.computeIfAbsent(Direction.STORE, _ -> new Samples()).add(bytes / seconds);
      }
      for (double seconds : numbers(answer.path("loadSeconds"))) {
        rates.computeIfAbsent(Direction.LOAD, _ -> new Samples()).add(bytes / seconds);
      }
    }
  }

  private static List<Double> numbers(JsonNode array) {
    List<Double> all = new ArrayList<>();
    array.forEach(value -> all.add(value.asDouble()));
    return all;
  }

  private static ObjectNode rate(
      Workbench bench,
      String what,
      Direction direction,
      String who,
      String path,
      long blockBytes,
      Samples rates) {
    ObjectNode node =
        bench
            .result(what, pages(bench))
            .put("who", who)
            .put("path", path)
            .put("direction", lower(direction))
            .put("blockBytes", blockBytes);
    rates.into(node, "gbps");
    bench.write(node);
    return node;
  }

  // ---- scattered blocks

  private static void scatter(Workbench bench, Map<Direction, Double> link) {
    List<Long> sizes =
        bench
            .settings()
            .sizes(
                "blocks",
                1L << 10,
                4L << 10,
                16L << 10,
                64L << 10,
                144L << 10,
                256L << 10,
                1L << 20,
                4L << 20);
    for (long size : sizes) {
      bench.note("scattered blocks of " + size / 1024 + " KiB");
      scatter(bench, link, size);
    }
  }

  private static void scatter(Workbench bench, Map<Direction, Double> link, long blockBytes) {
    Map<String, ScatteredPool> pools = pools(bench, blockBytes, Pairing.PERMUTED);
    Map<Direction, Map<String, Samples>> rates = new EnumMap<>(Direction.class);
    try {
      for (ScatteredPool pool : pools.values()) {
        for (int i = 0; i < WARM_UP_BATCHES; i++) {
          pool.copy(Direction.STORE);
          pool.copy(Direction.LOAD);
        }
      }
      List<String> order = new ArrayList<>(pools.keySet());
      for (int round = 0; round < bench.settings().rounds(); round++) {
        for (Direction direction : Direction.values()) {
          for (String path : order) {
            ScatteredPool pool = pools.get(path);
            double seconds = pool == null ? Double.NaN : pool.seconds(direction, LEAST_NANOS);
            rates
                .computeIfAbsent(direction, _ -> new LinkedHashMap<>())
                .computeIfAbsent(path, _ -> new Samples())
                .add(pool == null ? Double.NaN : pool.bytes() / seconds / 1e9);
          }
        }
        Collections.reverse(order);
      }
      for (Direction direction : Direction.values()) {
        Map<String, Samples> own = rates.getOrDefault(direction, Map.of());
        write(bench, pools, direction, blockBytes, own);
        claims(bench, link, direction, blockBytes, own);
        byC(bench, direction, blockBytes);
      }
      pools.values().forEach(ScatteredPool::verify);
    } finally {
      pools.values().forEach(ScatteredPool::close);
    }
  }

  /** One pool for each path that is there, AUTO first. */
  private static Map<String, ScatteredPool> pools(
      Workbench bench, long blockBytes, Pairing pairing) {
    Map<String, ScatteredPool> pools = new LinkedHashMap<>();
    pools.put(AUTO, pool(bench, blockBytes, pairing, CopyOptions.auto()));
    for (CopyPath path : PATHS) {
      try {
        pools.put(path.name(), pool(bench, blockBytes, pairing, CopyOptions.auto().path(path)));
      } catch (UnsupportedException absent) {
        bench.note(path + " is absent: " + absent.getMessage());
      }
    }
    return pools;
  }

  private static ScatteredPool pool(
      Workbench bench, long blockBytes, Pairing pairing, CopyOptions options) {
    return new ScatteredPool(
        bench.device(), pages(bench), blockBytes, total(bench), pairing, options);
  }

  private static void write(
      Workbench bench,
      Map<String, ScatteredPool> pools,
      Direction direction,
      long blockBytes,
      Map<String, Samples> rates) {
    rates.forEach(
        (path, samples) -> {
          ScatteredPool pool = pools.get(path);
          ObjectNode node =
              bench
                  .result("scatter", pages(bench))
                  .put("who", "holdfast")
                  .put("path", path)
                  .put("direction", lower(direction))
                  .put("blockBytes", blockBytes);
          samples.into(node, "gbps");
          if (pool != null) {
            pool.copy(direction);
            long[] last = pool.lastBatch();
            node.put("descriptors", last[1]).put("submitNanos", last[0]);
            CopyDecision decision = pool.explain(direction);
            node.put("taken", decision.path().name()).put("because", decision.because());
          }
          bench.write(node);
        });
  }

  private static void claims(
      Workbench bench,
      Map<Direction, Double> link,
      Direction direction,
      long blockBytes,
      Map<String, Samples> rates) {
    Samples auto = rates.get(AUTO);
    String best = "";
    Samples control = new Samples();
    for (Map.Entry<String, Samples> one : rates.entrySet()) {
      boolean better = control.isEmpty() || one.getValue().median() > control.median();
      if (!one.getKey().equals(AUTO) && better) {
        best = one.getKey();
        control = one.getValue();
      }
    }
    if (auto == null || control.isEmpty()) {
      return;
    }
    String where = (blockBytes >> 10) + " KiB, " + lower(direction);
    double spread = (control.median() - control.lowerQuartile()) / control.median();
    bench.atLeast(
        "AUTO against the best path (" + best + "), " + where,
        auto.median() / control.median(),
        1 - Math.max(0.05, spread));
    Double most = link.get(direction);
    if (most != null && blockBytes >= 4096) {
      bench.atLeast(
          "AUTO against the link, " + where,
          auto.median() / most,
          blockBytes >= 16384 ? 0.90 : 0.70);
    }
  }

  private static void byC(Workbench bench, Direction direction, long blockBytes) {
    if (bench.yardstick().isEmpty() || bench.settings().number("c", 1) == 0) {
      return;
    }
    for (CopyPath path : PATHS) {
      String ptx = "";
      if (path == CopyPath.KERNEL) {
        Optional<Path> kernels = bench.tools().kernels();
        if (kernels.isEmpty()) {
          continue;
        }
        ptx = " ptx=" + kernels.get();
      }
      JsonNode answer =
          bench
              .yardstick()
              .get()
              .tryAsk(
                  "scatter path=%s direction=%s block=%d bytes=%d rounds=%d pages=%s%s"
                      .formatted(
                          lower(path),
                          lower(direction),
                          blockBytes,
                          total(bench),
                          bench.settings().rounds(),
                          cPages(bench),
                          ptx));
      if (answer.has("error")) {
        bench.note("C " + path + ": " + answer.path("error").asText());
        continue;
      }
      Samples seconds = new Samples();
      seconds.addAll(answer.path("seconds"));
      rate(
          bench,
          "scatter",
          direction,
          "c",
          path.name(),
          blockBytes,
          seconds.ratesOf(answer.path("bytes").asDouble() / 1e9));
    }
  }

  // ---- neighbours on both sides

  private static void merged(Workbench bench, Map<Direction, Double> link) {
    long blockBytes = 16L << 10;
    try (ScatteredPool pool = pool(bench, blockBytes, Pairing.SAME, CopyOptions.auto())) {
      pool.copy(Direction.STORE);
      for (Direction direction : Direction.values()) {
        Samples rates = new Samples();
        for (int round = 0; round < bench.settings().rounds(); round++) {
          rates.add(pool.bytes() / pool.seconds(direction, LEAST_NANOS) / 1e9);
        }
        ObjectNode node =
            bench
                .result("merged", pages(bench))
                .put("who", "holdfast")
                .put("path", AUTO)
                .put("direction", lower(direction))
                .put("blockBytes", blockBytes)
                .put("descriptors", pool.lastBatch()[1]);
        rates.into(node, "gbps");
        Double most = link.get(direction);
        if (most != null) {
          node.put("shareOfLink", rates.median() / most);
        }
        bench.write(node);
      }
      pool.verify();
    }
  }

  // ---- both directions at once

  private static void both(Workbench bench) {
    long blockBytes = 64L << 10;
    try (ScatteredPool storing = pool(bench, blockBytes, Pairing.PERMUTED, CopyOptions.auto());
        ScatteredPool loading = pool(bench, blockBytes, Pairing.PERMUTED, CopyOptions.auto())) {
      Samples rates = new Samples();
      for (int round = -1; round < bench.settings().rounds(); round++) {
        long begun = System.nanoTime();
        long batches = 0;
        do {
          storing.submit(Direction.STORE);
          loading.submit(Direction.LOAD);
          storing.await();
          loading.await();
          batches++;
        } while (System.nanoTime() - begun < LEAST_NANOS);
        if (round >= 0) {
          double seconds = (System.nanoTime() - begun) / 1e9;
          rates.add(batches * (storing.bytes() + loading.bytes()) / seconds / 1e9);
        }
      }
      ObjectNode node =
          bench
              .result("both", pages(bench))
              .put("who", "holdfast")
              .put("path", AUTO)
              .put("direction", "both")
              .put("blockBytes", blockBytes);
      rates.into(node, "gbps");
      bench.write(node);
      storing.verify();
      loading.verify();
    }
    bench
        .yardstick()
        .ifPresent(
            c -> {
              JsonNode answer =
                  c.ask(
                      "bulk copies=4 bytes="
                          + bench.settings().size("bulkBlock", 512 * MIB, 4 * MIB)
                          + " rounds="
                          + bench.settings().rounds());
              Samples seconds = new Samples();
              seconds.addAll(answer.path("bothSeconds"));
              ObjectNode node =
                  bench.result("both").put("who", "c").put("path", "LOOP").put("direction", "both");
              seconds.ratesOf(answer.path("bytes").asDouble() / 1e9).into(node, "gbps");
              bench.write(node);
            });
  }

  // ---- beside a compute stream

  private static void busy(Workbench bench) {
    Optional<Neighbour> neighbour = bench.neighbour();
    Optional<Path> kernels = neighbour.flatMap(_ -> bench.tools().kernels());
    if (neighbour.isEmpty() || kernels.isEmpty()) {
      bench.write(
          bench.result("skipped").put("because", "a busy stream needs the CUDA driver and nvcc"));
      return;
    }
    String ptx = text(kernels.get());
    long blockBytes = 64L << 10;
    Map<String, ScatteredPool> pools = pools(bench, blockBytes, Pairing.PERMUTED);
    try {
      long alone = busyMedian(neighbour.get(), ptx, () -> pause(300));
      pools.forEach(
          (path, pool) -> {
            for (Direction direction : Direction.values()) {
              Samples rates = new Samples();
              long median =
                  busyMedian(
                      neighbour.get(),
                      ptx,
                      () -> {
                        for (int i = 0; i < bench.settings().rounds(); i++) {
                          rates.add(pool.bytes() / pool.seconds(direction, LEAST_NANOS) / 1e9);
                        }
                      });
              ObjectNode node =
                  bench
                      .result("busy", pages(bench))
                      .put("who", "holdfast")
                      .put("path", path)
                      .put("direction", lower(direction))
                      .put("blockBytes", blockBytes)
                      .put("kernelMillisAlone", alone / 1e6)
                      .put("kernelMillis", median / 1e6);
              rates.into(node, "gbps");
              bench.write(node);
            }
            pool.verify();
          });
    } finally {
      pools.values().forEach(ScatteredPool::close);
    }
  }

  private static long busyMedian(Neighbour neighbour, String ptx, Runnable work) {
    neighbour.startBusy(ptx, BUSY_BLOCKS, BUSY_CYCLES);
    long[] result;
    try {
      work.run();
    } finally {
      result = neighbour.stopBusy();
    }
    return result[0];
  }

  private static void pause(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private static String text(Path file) {
    try {
      return Files.readString(file, StandardCharsets.UTF_8);
    } catch (IOException failure) {
      throw new UncheckedIOException("cannot read " + file, failure);
    }
  }
}
