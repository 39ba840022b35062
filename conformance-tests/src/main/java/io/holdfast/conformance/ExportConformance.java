package io.holdfast.conformance;

import org.junit.jupiter.api.Nested;

/** {@link Profile#EXPORT} alone. */
public abstract class ExportConformance extends Conformance {
  /** For subclasses. */
  protected ExportConformance() {}

  @Nested
  final class SharingTests extends SharingRules {
    SharingTests() {
      super(ExportConformance.this);
    }
  }
}
