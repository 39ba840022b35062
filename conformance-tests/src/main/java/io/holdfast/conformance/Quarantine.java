package io.holdfast.conformance;

import java.time.LocalDate;
import java.util.Objects;

/**
 * A rule that is known to be broken for a while. Its tests run; what fails is told as quarantined
 * until the day, and as failed from then on.
 *
 * @param rule which
 * @param issue where it is followed
 * @param until the last day
 */
public record Quarantine(Rule rule, String issue, LocalDate until) {
  /** Checks. */
  public Quarantine {
    Objects.requireNonNull(rule, "rule");
    Objects.requireNonNull(until, "until");
    if (issue.isBlank()) {
      throw new IllegalArgumentException("a quarantine of " + rule.id() + " needs an issue");
    }
  }

  /**
   * Reads {@code RULE-ID ISSUE YYYY-MM-DD}.
   *
   * @param line one line
   * @return the quarantine
   * @throws IllegalArgumentException where it cannot be understood
   */
  public static Quarantine parse(String line) {
    String[] words = line.strip().split("\\s+");
    if (words.length != 3) {
      throw new IllegalArgumentException(
          "a quarantine is RULE-ID ISSUE YYYY-MM-DD, not '" + line + "'");
    }
    return new Quarantine(
        Rule.valueOf(words[0].replace('-', '_')), words[1], LocalDate.parse(words[2]));
  }
}
