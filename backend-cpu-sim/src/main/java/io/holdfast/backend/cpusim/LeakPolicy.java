package io.holdfast.backend.cpusim;

/** What a machine does at its end about what was not given back. */
public enum LeakPolicy {
  /** Logs a warning that names it. */
  WARN,
  /** Throws an {@link IllegalStateException} that names it, after everything is closed. */
  FAIL,
  /** Nothing: the test looks at the audit itself, or leaves things on purpose. */
  IGNORE
}
