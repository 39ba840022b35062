package io.holdfast.conformance;

import org.junit.jupiter.api.Nested;

/** {@link Profile#BATCH} alone. */
public abstract class BatchConformance extends Conformance {
  /** For subclasses. */
  protected BatchConformance() {}

  @Nested
  final class BatchTests extends BatchRules {
    BatchTests() {
      super(BatchConformance.this);
    }
  }
}
