package io.holdfast.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.bench.run.Target.Scale;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.openjdk.jmh.runner.BenchmarkList;
import org.openjdk.jmh.runner.BenchmarkListEntry;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.VerboseMode;

/** What a run consists of. */
final class PlanTest {
  private static Plan plan(Scale scale, boolean simulated) {
    return Plan.of(
        new Target(
            simulated ? "cpu-sim" : "cuda",
            simulated,
            scale,
            List.of("base", "thp", "2MB"),
            simulated ? 256 : 16 << 10,
            List.of("cc", "jcuda")));
  }

  private static Set<BenchmarkListEntry> known() {
    return BenchmarkList.defaultList()
        .getAll(
            OutputFormatFactory.createFormatInstance(System.out, VerboseMode.SILENT), List.of());
  }

  @Test
  void every_benchmark_that_is_there_is_in_a_full_plan() {
    Set<String> named = new TreeSet<>();
    Stream.of(plan(Scale.FULL, true), plan(Scale.FULL, false))
        .flatMap(plan -> plan.items().stream())
        .forEach(
            item -> {
              if (item instanceof Item.Benchmark benchmark) {
                named.add(benchmark.benchmark());
              }
            });
    Set<String> there = new TreeSet<>();
    for (BenchmarkListEntry entry : known()) {
      String[] name = entry.getUsername().split("\\.");
      there.add(name[name.length - 2] + "." + name[name.length - 1]);
    }

    assertEquals(
        there, named, "bench/src/main/java/io/holdfast/bench/run/Plan.java must name each");
  }

  @Test
  void every_parameter_that_a_plan_sets_is_one_of_the_benchmark() {
    List<Item> items = new ArrayList<>(plan(Scale.FULL, true).items());
    items.addAll(plan(Scale.FULL, false).items());
    for (Item item : items) {
      if (item instanceof Item.Benchmark benchmark) {
        BenchmarkListEntry entry =
            known().stream()
                .filter(one -> one.getUsername().endsWith("." + benchmark.benchmark()))
                .findFirst()
                .orElseThrow();
        for (String name : benchmark.parameters().keySet()) {
          assertTrue(
              entry.getParams().orElse(Map.of()).containsKey(name),
              name + " is no parameter of " + entry.getUsername());
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void parts_have_every_item_once_and_none_takes_longer_than_it_may(Scale scale) {
    for (boolean simulated : new boolean[] {true, false}) {
      Plan plan = plan(scale, simulated);
      int parts = plan.leastParts();
      List<Item> all = new ArrayList<>();
      for (int part = 1; part <= parts; part++) {
        Plan own = plan.part(part, parts);
        assertTrue(own.seconds() <= Plan.PART_SECONDS, scale + " part " + part);
        all.addAll(own.items());
      }

      assertEquals(plan.items(), all);
      assertEquals(all.size(), new HashSet<>(all.stream().map(Item::id).toList()).size());
      assertTrue(parts == 1 || plan.longestPart(parts - 1) > Plan.PART_SECONDS);
    }
  }

  @Test
  void a_quick_run_on_a_simulator_is_planned_for_two_minutes() {
    double seconds = plan(Scale.QUICK, true).seconds();

    assertTrue(seconds < 130, seconds + " s planned, 180 may be taken");
  }
}
