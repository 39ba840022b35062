package io.holdfast.conformance;

import org.junit.jupiter.api.Nested;

/** {@link Profile#STREAMS} alone. */
public abstract class StreamsConformance extends Conformance {
  /** For subclasses. */
  protected StreamsConformance() {}

  @Nested
  final class EngineTests extends EngineRules {
    EngineTests() {
      super(StreamsConformance.this);
    }
  }
}
