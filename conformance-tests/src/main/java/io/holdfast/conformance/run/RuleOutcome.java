package io.holdfast.conformance.run;

import io.holdfast.conformance.Verdict;
import java.util.List;

/** What came of one rule over all its tests. */
enum RuleOutcome {
  /** A test of it failed. */
  FAILED,
  /** A test of it is in quarantine and fails. */
  QUARANTINED,
  /** It should be kept, and is not. */
  FINDING,
  /** This host cannot show all of it. */
  SKIPPED,
  /** It is kept. */
  PASSED,
  /** What it is about is not claimed, and refused as it must be. */
  INVERTED,
  /** Its tests were not run. */
  NOT_RUN,
  /** It has no test. */
  UNTESTED;

  static RuleOutcome of(List<Result> results, boolean hasTests) {
    if (!hasTests) {
      return UNTESTED;
    }
    for (RuleOutcome candidate : List.of(FAILED, QUARANTINED, FINDING, SKIPPED, PASSED, INVERTED)) {
      if (results.stream().anyMatch(one -> one.verdict() == Verdict.valueOf(candidate.name()))) {
        return candidate;
      }
    }
    return NOT_RUN;
  }
}
