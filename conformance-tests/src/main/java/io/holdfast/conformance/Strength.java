package io.holdfast.conformance;

/** How much a rule counts. */
public enum Strength {
  /** A backend that breaks it does not conform. */
  MUST,
  /** A backend that breaks it conforms with a finding; under {@code --strict} it does not. */
  SHOULD
}
