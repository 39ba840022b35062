package io.holdfast.conformance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.format.DateTimeParseException;
import java.util.List;
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
    try {
      return new Quarantine(
          Rule.valueOf(words[0].replace('-', '_')), words[1], LocalDate.parse(words[2]));
    } catch (IllegalArgumentException unknown) {
      throw new IllegalArgumentException("there is no rule '" + words[0] + "'", unknown);
    } catch (DateTimeParseException wrong) {
      throw new IllegalArgumentException(
          "the last day of a quarantine is YYYY-MM-DD, not '" + words[2] + "'", wrong);
    }
  }

  /**
   * Reads a file of quarantines, one a line; {@code #} begins a comment.
   *
   * @param file which
   * @return the quarantines
   * @throws IOException where the file cannot be read
   * @throws IllegalArgumentException where a line cannot be understood
   */
  public static List<Quarantine> read(Path file) throws IOException {
    return Files.readString(file)
        .lines()
        .map(line -> line.replaceFirst("(^|\\s)#.*", "").strip())
        .filter(line -> !line.isEmpty())
        .map(Quarantine::parse)
        .toList();
  }
}
