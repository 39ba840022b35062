package io.holdfast.bench.experiment;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.host.PageKind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Several processes that open pools at once, with and without the node-wide token that lets them
 * take turns at the driver. The setting {@code ranks} says how many; they share out the devices.
 */
final class RanksExperiment implements Experiment {
  @Override
  public void run(Workbench bench) {
    int ranks = (int) bench.settings().number("ranks", bench.settings().simulated() ? 2 : 4);
    long each = bench.settings().bytes(4L << 30, 32L << 20);
    int devices = bench.backend().devices().size();
    PageKind pages = bench.settings().pagesOr(PageKind.thp()).getFirst();
    Path lock = temporary();
    List<LineProcess> processes = new ArrayList<>();
    try (HugePool _ = HugePool.with(pages, ranks * each)) {
      for (int rank = 0; rank < ranks; rank++) {
        processes.add(
            new LineProcess(
                "rank " + rank,
                DyingJvm.command(
                    RankStart.class,
                    List.of(
                        bench.settings().backend(),
                        Integer.toString(rank % devices),
                        Workbench.name(pages),
                        Long.toString(each)))));
      }
      processes.forEach(LineProcess::read);
      for (String token : List.of("none", lock.toString())) { // once to warm up
        together(processes, token, new Samples(), new Samples());
      }
      Samples[] slowest = {new Samples(), new Samples()};
      Samples[] longest = {new Samples(), new Samples()};
      for (int round = 0; round < bench.settings().rounds(); round++) {
        for (int turn = 0; turn < 2; turn++) {
          int which = (round + turn) % 2;
          together(
              processes, which == 0 ? "none" : lock.toString(), slowest[which], longest[which]);
        }
        bench.note("ranks, round " + (round + 1));
      }
      for (int which = 0; which < 2; which++) {
        ObjectNode node =
            bench
                .result("ranks", pages)
                .put("ranks", ranks)
                .put("devices", devices)
                .put("bytesEach", each)
                .put("token", which == 1);
        slowest[which].into(node, "slowestSeconds");
        longest[which].into(node, "longestCallMs");
        bench.write(node);
      }
    } finally {
      processes.forEach(LineProcess::close);
      delete(lock);
    }
  }

  private static void together(
      List<LineProcess> processes, String token, Samples slowest, Samples longest) {
    processes.forEach(process -> process.write(token));
    double seconds = 0;
    double call = 0;
    for (LineProcess process : processes) {
      JsonNode answer = process.read();
      seconds = Math.max(seconds, answer.path("seconds").asDouble());
      call = Math.max(call, answer.path("longestCallMs").asDouble());
    }
    slowest.add(seconds);
    longest.add(call);
  }

  private static Path temporary() {
    try {
      return Files.createTempFile("holdfast-turns-", ".lock");
    } catch (IOException failure) {
      throw new UncheckedIOException("cannot make a lock file", failure);
    }
  }

  private static void delete(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException failure) {
      throw new UncheckedIOException("cannot delete " + file, failure);
    }
  }
}
