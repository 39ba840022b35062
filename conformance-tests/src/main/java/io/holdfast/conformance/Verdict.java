package io.holdfast.conformance;

/** What came of one test. */
public enum Verdict {
  /** The backend keeps the rules. */
  PASSED,
  /** It breaks one, or the test could not be run to its end. */
  FAILED,
  /** It does not claim what the rules are about, refuses it, and changes nothing. */
  INVERTED,
  /** It claims it, and this host cannot show it; the reason names what is missing. */
  SKIPPED,
  /** It breaks a rule that is in quarantine. */
  QUARANTINED,
  /** It breaks a rule that it should keep. */
  FINDING;

  /** Key of the report entry by which a test tells its verdict. */
  public static final String KEY = "holdfast.verdict";

  /** Key of the report entry with the reason. */
  public static final String REASON = "holdfast.reason";

  /** Key of a report entry with a limit that was seen; its value is {@code name=value}. */
  public static final String LIMIT = "holdfast.limit";

  /**
   * Whether the backend can be said to conform.
   *
   * @return false for a failure only
   */
  public boolean isFine() {
    return this != FAILED;
  }
}
