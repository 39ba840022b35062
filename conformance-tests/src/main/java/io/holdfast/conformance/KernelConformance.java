package io.holdfast.conformance;

import org.junit.jupiter.api.Nested;

/** {@link Profile#KERNEL} alone. */
public abstract class KernelConformance extends Conformance {
  /** For subclasses. */
  protected KernelConformance() {}

  @Nested
  final class KernelTests extends KernelRules {
    KernelTests() {
      super(KernelConformance.this);
    }
  }
}
