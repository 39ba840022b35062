package io.holdfast.conformance;

import org.junit.jupiter.api.Nested;

/** {@link Profile#SIMULATION} alone. */
public abstract class SimulationConformance extends Conformance {
  /** For subclasses. */
  protected SimulationConformance() {}

  @Nested
  final class FailureTests extends FailureRules {
    FailureTests() {
      super(SimulationConformance.this);
    }
  }
}
