package io.holdfast.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.Backend;
import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.conformance.run.Judge;
import io.holdfast.conformance.tap.Tap;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What is known to be broken is told as such until its day. */
final class QuarantineTest {
  private static LocalDate until = LocalDate.EPOCH;

  /** Forgets an unregister; its rule is in quarantine. */
  public static final class Known extends SimConformance {
    /** Made by JUnit. */
    public Known() {}

    @Override
    SimMachine boot() {
      return Mutant.plain();
    }

    @Override
    Backend openBehind(Tap tap) {
      Mutant broken =
          Mutant.driver(
              "has no version",
              "claims",
              Set.of(Rule.DEV_02),
              _ -> Wrong.call("AcceleratorDriver.version", (_, _) -> ""));
      return broken.opening().apply(fresh(), tap);
    }

    @Override
    protected List<Quarantine> quarantine() {
      return List.of(new Quarantine(Rule.DEV_02, "https://issues.example/1", until));
    }
  }

  @Test
  void a_broken_rule_is_quarantined_until_its_day_and_failed_after_it() {
    until = LocalDate.now(ZoneOffset.UTC).plusDays(1);
    Judge.Outcome before = Judge.judge(Known.class, Set.of(Rule.DEV_02, Rule.DEV_05));
    assertEquals(1, before.count(Verdict.QUARANTINED), before.toString());
    assertEquals(1, before.count(Verdict.PASSED), before.toString());

    until = LocalDate.now(ZoneOffset.UTC).minusDays(1);
    Judge.Outcome after = Judge.judge(Known.class, Set.of(Rule.DEV_02));
    assertEquals(1, after.count(Verdict.FAILED), after.toString());
  }
}
