package io.holdfast.conformance;

import org.junit.jupiter.api.Nested;

/** {@link Profile#VMM} alone. */
public abstract class VmmConformance extends Conformance {
  /** For subclasses. */
  protected VmmConformance() {}

  @Nested
  final class ExtensibleTests extends ExtensibleRules {
    ExtensibleTests() {
      super(VmmConformance.this);
    }
  }
}
