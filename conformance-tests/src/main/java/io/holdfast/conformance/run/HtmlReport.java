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
      :root{color-scheme:light dark;--ink:#1c1c1c;--paper:#fff;--line:#ddd;--code:#f4f4f4;\
      --pale:#666;--failed:#fbdcdc;--skipped:#fdf3d0;--inverted:#e8eef9;--finding:#fde8d0;\
      --passed:#e3f4e3}
      @media(prefers-color-scheme:dark){:root{--ink:#e4e4e4;--paper:#16181b;--line:#3a3d42;\
      --code:#23262b;--pale:#9a9fa6;--failed:#5a2626;--skipped:#4d4318;--inverted:#27354d;\
      --finding:#553a1c;--passed:#1f3d24}}
      body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;\
      color:var(--ink);background:var(--paper)}
      h1{font-size:1.6rem;overflow-wrap:anywhere}h2{font-size:1.2rem;margin-top:2rem}
      .box,pre{overflow-x:auto}
      table{border-collapse:collapse;width:100%}
      td,th{border-bottom:1px solid var(--line);padding:.3rem .6rem;text-align:left;\
      vertical-align:top}
      .facts td{overflow-wrap:anywhere}td.text{min-width:16rem}
      td.n{text-align:right;font-variant-numeric:tabular-nums}
      pre{font:13px/1.4 ui-monospace,monospace;background:var(--code);padding:.8rem}
      .failed{background:var(--failed)}.skipped{background:var(--skipped)}
      .inverted{background:var(--inverted)}.passed{background:var(--passed)}
      .quarantined,.finding{background:var(--finding)}
      .untested,.not_run{color:var(--pale)}
      """;

  private HtmlReport() {}

  static String of(Report report) {
    String backend = report.host().facts().getOrDefault("backend", "?");
    StringBuilder out = new StringBuilder();
    out.append("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    out.append("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>");
    out.append(text("Conformance of " + backend)).append("</title><style>\n").append(STYLE);
    out.append("</style></head><body>\n<h1>").append(text("Conformance of " + backend));
    out.append("</h1>\n<p>");
    out.append(report.isFine() ? "Nothing failed." : "<strong>Something failed.</strong>");
    out.append("</p>\n<div class=\"box\"><table class=\"facts\">\n");
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
    out.append("</table></div>\n<h2>Profiles</h2>\n<div class=\"box\"><table>");
    out.append("<tr><th>Profile</th><th>Standing</th>");
    for (Verdict verdict : Verdict.values()) {
      out.append("<th>").append(verdict.name().toLowerCase(Locale.ROOT)).append("</th>");
    }
    out.append("</tr>\n");
    for (Profile profile : Profile.values()) {
      out.append("<tr><td class=\"text\">")
          .append(profile)
          .append("<br><small>")
          .append(text(profile.about()));
      out.append("</small></td><td>").append(text(report.standing(profile))).append("</td>");
      for (Verdict verdict : Verdict.values()) {
        out.append("<td class=\"n\">").append(report.count(profile, verdict)).append("</td>");
      }
      out.append("</tr>\n");
    }
    out.append("</table></div>\n<h2>Rules</h2>\n<div class=\"box\"><table>");
    out.append("<tr><th>Rule</th><th></th><th>Outcome</th>");
    out.append("<th>Statement</th></tr>\n");
    for (Map.Entry<Rule, RuleOutcome> one : report.outcomes().entrySet()) {
      Rule rule = one.getKey();
      out.append("<tr class=\"").append(one.getValue().name().toLowerCase(Locale.ROOT));
      out.append("\"><td>").append(rule.id()).append("</td><td>").append(rule.strength());
      out.append("</td><td>").append(one.getValue()).append("</td><td class=\"text\">");
      out.append(text(rule.statement())).append("</td></tr>\n");
    }
    out.append("</table></div>\n<h2>Tests</h2>\n<div class=\"box\"><table>");
    out.append("<tr><th>Test</th><th>Rules</th><th>Verdict</th>");
    out.append("<th>ms</th><th>Reason</th></tr>\n");
    for (Result one : report.results()) {
      out.append("<tr class=\"").append(one.verdict().name().toLowerCase(Locale.ROOT));
      out.append("\"><td>").append(text(one.test())).append("</td><td>");
      out.append(String.join(", ", one.rules().stream().map(Rule::id).toList()));
      out.append("</td><td>").append(one.verdict()).append("</td><td class=\"n\">");
      out.append(one.millis()).append("</td><td class=\"text\">").append(text(one.reason()));
      out.append("</td></tr>\n");
    }
    out.append("</table></div>\n<h2>What the backend declares</h2>\n<pre>");
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
