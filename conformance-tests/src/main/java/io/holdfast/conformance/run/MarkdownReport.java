package io.holdfast.conformance.run;

import io.holdfast.conformance.Profile;
import io.holdfast.conformance.Rule;
import io.holdfast.conformance.Verdict;
import java.util.List;
import java.util.Map;

/** A report for people who read text. */
final class MarkdownReport {
  private MarkdownReport() {}

  static String of(Report report) {
    StringBuilder out = new StringBuilder();
    String backend = report.host().facts().getOrDefault("backend", "?");
    out.append("# Conformance of ").append(backend).append("\n\n");
    out.append(report.isFine() ? "Nothing failed.\n\n" : "**Something failed.**\n\n");
    out.append("| | |\n|---|---|\n");
    report.host().facts().forEach((name, value) -> row(out, name, value));
    out.append("\n## Profiles\n\n");
    out.append("| Profile | Standing | Passed | Failed | Skipped | Inverted | Quarantined |");
    out.append(" Findings |\n|---|---|---|---|---|---|---|---|\n");
    for (Profile profile : Profile.values()) {
      out.append("| ").append(profile).append(" | ").append(report.standing(profile));
      for (Verdict verdict :
          List.of(
              Verdict.PASSED,
              Verdict.FAILED,
              Verdict.SKIPPED,
              Verdict.INVERTED,
              Verdict.QUARANTINED,
              Verdict.FINDING)) {
        out.append(" | ").append(report.count(profile, verdict));
      }
      out.append(" |\n");
    }
    section(out, report, Verdict.FAILED, "Failed");
    section(out, report, Verdict.QUARANTINED, "In quarantine");
    section(out, report, Verdict.FINDING, "Findings");
    section(out, report, Verdict.SKIPPED, "Skipped, with what is missing");
    section(out, report, Verdict.INVERTED, "Not claimed, and refused as it must be");
    out.append("\n## What the backend declares\n\n");
    report.host().declaration().forEach(line -> out.append("- ").append(line).append('\n'));
    if (!report.limits().isEmpty()) {
      out.append("\n## Limits that were seen\n\n");
      report.limits().forEach(line -> out.append("- ").append(line).append('\n'));
    }
    out.append("\n## Rules\n\n| Rule | | Outcome | Statement |\n|---|---|---|---|\n");
    for (Map.Entry<Rule, RuleOutcome> one : report.outcomes().entrySet()) {
      Rule rule = one.getKey();
      out.append("| ").append(rule.id()).append(" | ").append(rule.strength());
      out.append(" | ").append(one.getValue()).append(" | ").append(rule.statement());
      out.append(" |\n");
    }
    out.append("\n## To do it again\n\n```sh\n").append(report.command()).append("\n```\n");
    return out.toString();
  }

  private static void section(StringBuilder out, Report report, Verdict verdict, String title) {
    List<Result> all = report.results().stream().filter(one -> one.verdict() == verdict).toList();
    if (all.isEmpty()) {
      return;
    }
    out.append("\n## ").append(title).append("\n\n| Test | Rules | Reason |\n|---|---|---|\n");
    for (Result one : all) {
      out.append("| ").append(one.test()).append(" | ");
      out.append(String.join(", ", one.rules().stream().map(Rule::id).toList()));
      out.append(" | ").append(cell(one.reason())).append(" |\n");
    }
  }

  private static void row(StringBuilder out, String name, String value) {
    out.append("| ").append(cell(name)).append(" | ").append(cell(value)).append(" |\n");
  }

  private static String cell(String text) {
    return text.replace("|", "\\|").replace('\n', ' ').replace('\r', ' ');
  }
}
