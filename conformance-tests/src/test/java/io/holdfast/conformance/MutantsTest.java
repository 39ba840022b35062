package io.holdfast.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.conformance.run.Judge;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The kit is judged: a broken backend that the rules do not catch fails the build. */
final class MutantsTest {
  /** What some are caught by waiting for in vain; a healthy backend seldom needs as long. */
  private static final Duration SHORT = Duration.ofSeconds(3);

  private static final Duration LONG = Duration.ofSeconds(20);

  static Stream<Mutant> all() {
    return Stream.of(
            DriverMutants.all(),
            PolicyMutants.all(),
            PageSourceMutants.all(),
            PinnerMutants.all(),
            CopyEngineMutants.all(),
            FacadeMutants.all(),
            EventMutants.all(),
            ProviderMutants.all(),
            ThreadMutants.all())
        .flatMap(List::stream);
  }

  /** The first of each area: what every build shows. */
  static Stream<Mutant> firstOfEachArea() {
    Map<String, Mutant> first = new LinkedHashMap<>();
    all().forEach(one -> first.putIfAbsent(one.area(), one));
    return first.values().stream();
  }

  static Stream<Mutant> others() {
    Set<String> first = new HashSet<>(firstOfEachArea().map(Mutant::name).toList());
    return all().filter(one -> !first.contains(one.name()));
  }

  private static void kill(Mutant mutant) {
    long begun = System.nanoTime();
    Judge.Outcome outcome = judge(mutant, SHORT);
    if (System.nanoTime() - begun >= SHORT.toNanos()
        && !judge(mutant.healthy(), SHORT).failures().isEmpty()) {
      outcome = judge(mutant, LONG); // this machine is too slow now for the short time to show it
    }
    List<Rule> missed = new ArrayList<>(mutant.rules());
    missed.removeIf(outcome::caught);
    String told = "'" + mutant.name() + "' survives: " + outcome;
    assertEquals(List.of(), missed, told);
  }

  private static Judge.Outcome judge(Mutant mutant, Duration patience) {
    BrokenBackend.choose(mutant, patience);
    return Judge.judge(BrokenBackend.class, mutant.rules(), LONG.plus(patience));
  }

  @ParameterizedTest
  @MethodSource("firstOfEachArea")
  void one_of_each_area_is_caught(Mutant mutant) {
    kill(mutant);
  }

  @ParameterizedTest
  @MethodSource("others")
  @Tag("full")
  void every_mutant_is_caught(Mutant mutant) {
    kill(mutant);
  }

  @Test
  void every_rule_has_a_mutant() {
    Set<Rule> without = EnumSet.allOf(Rule.class);
    all().forEach(one -> without.removeAll(one.rules()));
    assertEquals(Set.of(), without);
  }

  @Test
  void there_are_as_many_as_there_should_be() {
    assertTrue(all().count() >= 187, "only " + all().count());
    assertEquals(all().count(), all().map(Mutant::name).distinct().count());
    assertEquals(all().count(), firstOfEachArea().count() + others().count());
    assertTrue(all().noneMatch(one -> one.rules().isEmpty()));
  }
}
