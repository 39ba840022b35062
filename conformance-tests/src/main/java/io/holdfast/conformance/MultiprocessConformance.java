package io.holdfast.conformance;

import org.junit.jupiter.api.Nested;

/** {@link Profile#MULTIPROCESS} alone. */
public abstract class MultiprocessConformance extends Conformance {
  /** For subclasses. */
  protected MultiprocessConformance() {}

  @Nested
  final class ProcessTests extends ProcessRules {
    ProcessTests() {
      super(MultiprocessConformance.this);
    }
  }
}
