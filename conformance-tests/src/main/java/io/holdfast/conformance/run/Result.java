package io.holdfast.conformance.run;

import io.holdfast.conformance.Rule;
import io.holdfast.conformance.Verdict;
import java.util.List;

/**
 * What came of one test.
 *
 * @param test group and method
 * @param rules what it judges by
 * @param verdict what came of it
 * @param reason what is missing, refused or wrong; empty for a plain pass
 * @param trace where it failed, as Java prints it; empty for others
 * @param limits limits that were seen, each {@code name=value}
 * @param millis how long it took
 */
record Result(
    String test,
    List<Rule> rules,
    Verdict verdict,
    String reason,
    String trace,
    List<String> limits,
    long millis) {
  Result {
    rules = List.copyOf(rules);
    limits = List.copyOf(limits);
  }
}
