package io.holdfast.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.backend.cpusim.LeakPolicy;
import io.holdfast.backend.cpusim.SimMachine;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;

/** The simulator in its plain form: real pages of this machine, simulated devices. */
final class CpuSimConformanceTest extends SimConformance {
  private static final Set<Rule> JUDGED = EnumSet.noneOf(Rule.class);
  private static final List<String> RUN = new ArrayList<>();

  @Override
  SimMachine boot() {
    return SimMachine.builder().leaks(LeakPolicy.WARN).build();
  }

  @BeforeEach
  void count(TestInfo test) {
    RUN.add(test.getTestMethod().orElseThrow().getName());
    JUDGED.addAll(Catalogue.rulesOf(test.getTestMethod().orElseThrow()));
  }

  @AfterAll
  static void every_rule_was_judged() {
    assertEquals(Catalogue.tests().size(), RUN.size(), "run this class as a whole");
    assertEquals(EnumSet.allOf(Rule.class), JUDGED);
  }
}
