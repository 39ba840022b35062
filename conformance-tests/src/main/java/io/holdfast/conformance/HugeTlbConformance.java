package io.holdfast.conformance;

import org.junit.jupiter.api.Nested;

/** {@link Profile#HUGETLB} alone. */
public abstract class HugeTlbConformance extends Conformance {
  /** For subclasses. */
  protected HugeTlbConformance() {}

  @Nested
  final class HugePageTests extends HugePageRules {
    HugePageTests() {
      super(HugeTlbConformance.this);
    }
  }
}
