package io.holdfast.conformance;

import org.junit.jupiter.api.Nested;

/** {@link Profile#NUMA} alone, for machines of several nodes on which nothing else need run. */
public abstract class NumaConformance extends Conformance {
  /** For subclasses. */
  protected NumaConformance() {}

  @Nested
  final class PlacementTests extends PlacementRules {
    PlacementTests() {
      super(NumaConformance.this);
    }
  }
}
