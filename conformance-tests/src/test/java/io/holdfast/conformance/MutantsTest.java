package io.holdfast.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.conformance.run.Judge;
import java.time.Duration;
import java.util.ArrayList;
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
  /**
   * Some are caught by hanging; a rule that a healthy backend keeps takes a few seconds at most.
   */
  private static final Duration LONGEST = Duration.ofSeconds(20);

  static Stream<Mutant> all() {
    return Stream.of(
            DriverMutants.all(),
            PolicyMutants.all(),
            PartMutants.all(),
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
    BrokenBackend.choose(mutant);
    Judge.Outcome outcome = Judge.judge(BrokenBackend.class, mutant.rules(), LONGEST);
    List<Rule> missed = new ArrayList<>(mutant.rules());
    missed.removeIf(outcome::caught);
    assertEquals(List.of(), missed, () -> "'" + mutant.name() + "' survives: " + outcome);
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
  void there_are_as_many_as_there_should_be() {
    assertTrue(all().count() >= 135, "only " + all().count());
    assertEquals(all().count(), all().map(Mutant::name).distinct().count());
    assertEquals(all().count(), firstOfEachArea().count() + others().count());
    assertTrue(all().noneMatch(one -> one.rules().isEmpty()));
  }
}
