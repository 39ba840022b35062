package io.holdfast.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.backend.cpusim.SimProfile;
import io.holdfast.conformance.run.Judge;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The whole kit on every simulated machine, and behind every driver that the simulator knows. */
@Tag("full")
final class SimulatedMachinesTest {
  private static final int TESTS = Catalogue.tests().size();

  private static void judge() {
    Judge.Outcome outcome = Judge.judge(ChosenMachine.class, Set.of());
    assertEquals(Map.of(), outcome.failures());
    assertEquals(TESTS, outcome.outcomes().size());
    long core =
        outcome.outcomes().stream()
            .filter(one -> one.rules().getFirst().profile() == Profile.CORE)
            .filter(one -> one.verdict() == Verdict.SKIPPED)
            .count();
    assertEquals(0, core, "CORE has no skips");
    assertTrue(outcome.count(Verdict.PASSED) > 80, outcome.toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"h200", "mi350x", "gb200", "wsl2", "laptop"})
  void every_profile_keeps_the_rules(String profile) {
    ChosenMachine.choose(() -> SimMachine.of(SimProfile.named(profile)));
    judge();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "cuda-550",
        "cuda-580",
        "cuda-615",
        "hip-5.2",
        "hip-5.7",
        "hip-6.4",
        "hip-7.0",
        "hip-7.1",
        "hip-7.2",
        "hip-7.15"
      })
  void every_driver_keeps_the_rules(String personality) {
    ChosenMachine.choose(() -> SimMachine.builder().personality(personality).build());
    judge();
  }

  @Test
  void memory_is_given_across_hosts_where_the_driver_does() {
    ChosenMachine.choose(Mutant::withFabric);
    Judge.Outcome outcome = Judge.judge(ChosenMachine.class, Set.of(Rule.EXP_07));
    assertEquals(1, outcome.count(Verdict.PASSED), outcome.toString());
  }
}
