package io.holdfast.conformance.run;

import io.holdfast.conformance.Profile;
import io.holdfast.conformance.Rule;
import io.holdfast.conformance.Verdict;
import java.util.Locale;
import java.util.Map;

/** A report as one page that needs nothing else: no script, no fetched style. */
final class HtmlReport {
  private static final String STYLE =
      """
      body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;\
      color:#1c1c1c;background:#fff}
      h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}
      table{border-collapse:collapse;width:100%}
      td,th{border-bottom:1px solid #ddd;padding:.3rem .6rem;text-align:left;vertical-align:top}
      td.n{text-align:right;font-variant-numeric:tabular-nums}
      code,pre{font:13px/1.4 ui-monospace,monospace;background:#f4f4f4}pre{padding:.8rem}
      .failed{background:#fbdcdc}.skipped{background:#fdf3d0}.inverted{background:#e8eef9}
      .quarantined,.finding{background:#fde8d0}.passed{background:#e3f4e3}
      .untested,.not_run{color:#777}
      """;

  private HtmlReport() {}

  static String of(Report report) {
    String backend = report.host().facts().getOrDefault("backend", "?");
    StringBuilder out = new StringBuilder();
    out.append("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    out.append(text("Conformance of " + backend)).append("</title><style>\n").append(STYLE);
    out.append("</style></head><body>\n<h1>").append(text("Conformance of " + backend));
    out.append("</h1>\n<p>");
    out.append(report.isFine() ? "Nothing failed." : "<strong>Something failed.</strong>");
    out.append("</p>\n<table>\n");
    report
        .host()
        .facts()
        .forEach(
            (name, value) ->
                out.append("<tr><th>")
                    .append(text(name))
                    .append("</th><td>")
                    .append(text(value))
                    .append("</td></tr>\n"));
    out.append("</table>\n<h2>Profiles</h2>\n<table><tr><th>Profile</th><th>Standing</th>");
    for (Verdict verdict : Verdict.values()) {
      out.append("<th>").append(verdict.name().toLowerCase(Locale.ROOT)).append("</th>");
    }
    out.append("</tr>\n");
    for (Profile profile : Profile.values()) {
      out.append("<tr><td>").append(profile).append("<br><small>").append(text(profile.about()));
      out.append("</small></td><td>").append(text(report.standing(profile))).append("</td>");
      for (Verdict verdict : Verdict.values()) {
        out.append("<td class=\"n\">").append(report.count(profile, verdict)).append("</td>");
      }
      out.append("</tr>\n");
    }
    out.append("</table>\n<h2>Rules</h2>\n<table><tr><th>Rule</th><th></th><th>Outcome</th>");
    out.append("<th>Statement</th></tr>\n");
    for (Map.Entry<Rule, RuleOutcome> one : report.outcomes().entrySet()) {
      Rule rule = one.getKey();
      out.append("<tr class=\"").append(one.getValue().name().toLowerCase(Locale.ROOT));
      out.append("\"><td>").append(rule.id()).append("</td><td>").append(rule.strength());
      out.append("</td><td>").append(one.getValue()).append("</td><td>");
      out.append(text(rule.statement())).append("</td></tr>\n");
    }
    out.append("</table>\n<h2>Tests</h2>\n<table><tr><th>Test</th><th>Rules</th><th>Verdict</th>");
    out.append("<th>ms</th><th>Reason</th></tr>\n");
    for (Result one : report.results()) {
      out.append("<tr class=\"").append(one.verdict().name().toLowerCase(Locale.ROOT));
      out.append("\"><td>").append(text(one.test())).append("</td><td>");
      out.append(String.join(", ", one.rules().stream().map(Rule::id).toList()));
      out.append("</td><td>").append(one.verdict()).append("</td><td class=\"n\">");
      out.append(one.millis()).append("</td><td>").append(text(one.reason()));
      out.append("</td></tr>\n");
    }
    out.append("</table>\n<h2>What the backend declares</h2>\n<pre>");
    report.host().declaration().forEach(line -> out.append(text(line)).append('\n'));
    out.append("</pre>\n<h2>Limits that were seen</h2>\n<pre>");
    report.limits().forEach(line -> out.append(text(line)).append('\n'));
    out.append("</pre>\n<h2>To do it again</h2>\n<pre>").append(text(report.command()));
    return out.append("</pre>\n</body></html>\n").toString();
  }

  private static String text(String raw) {
    return raw.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }
}
