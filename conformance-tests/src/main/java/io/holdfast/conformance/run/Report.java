package io.holdfast.conformance.run;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.conformance.Catalogue;
import io.holdfast.conformance.Profile;
import io.holdfast.conformance.Rule;
import io.holdfast.conformance.Verdict;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * All that is known of one backend's run.
 *
 * @param host what was judged, where
 * @param command how to do it again
 * @param strict whether skips and findings are failures
 * @param results by test
 */
record Report(Host host, String command, boolean strict, List<Result> results) {
  Report {
    results = List.copyOf(results);
  }

  Map<Rule, RuleOutcome> outcomes() {
    Map<Rule, List<String>> coverage = Catalogue.coverage();
    Map<Rule, RuleOutcome> outcomes = new EnumMap<>(Rule.class);
    for (Rule rule : Rule.values()) {
      outcomes.put(
          rule, RuleOutcome.of(of(rule), !coverage.getOrDefault(rule, List.of()).isEmpty()));
    }
    return outcomes;
  }

  private List<Result> of(Rule rule) {
    return results.stream().filter(one -> one.rules().contains(rule)).toList();
  }

  /** Results of the tests that judge by the profile's rules before all others. */
  List<Result> of(Profile profile) {
    return results.stream()
        .filter(one -> !one.rules().isEmpty() && one.rules().getFirst().profile() == profile)
        .toList();
  }

  long count(Profile profile, Verdict verdict) {
    return of(profile).stream().filter(one -> one.verdict() == verdict).count();
  }

  /** What can be said of a profile. */
  String standing(Profile profile) {
    List<Result> all = of(profile);
    if (all.isEmpty()) {
      return "not run";
    }
    if (count(profile, Verdict.FAILED) > 0
        || (profile == Profile.CORE && count(profile, Verdict.SKIPPED) > 0)) {
      return "does not conform";
    }
    if (count(profile, Verdict.QUARANTINED) > 0) {
      return "conforms but for its quarantine";
    }
    if (count(profile, Verdict.INVERTED) == all.size()) {
      return "not claimed, and refused as it must be";
    }
    if (count(profile, Verdict.SKIPPED) > 0) {
      return "conforms as far as this host shows";
    }
    return count(profile, Verdict.FINDING) > 0 ? "conforms, with findings" : "conforms";
  }

  boolean isFine() {
    return results.stream().allMatch(one -> one.verdict().isFine())
        && count(Profile.CORE, Verdict.SKIPPED) == 0;
  }

  ObjectNode toJson() {
    ObjectNode root = Json.MAPPER.createObjectNode();
    root.put("format", 1);
    ObjectNode head = root.putObject("host");
    host.facts().forEach(head::put);
    ArrayNode claims = root.putArray("declaration");
    host.declaration().forEach(claims::add);
    root.put("command", command);
    root.put("strict", strict);
    root.put("fine", isFine());
    root.put("executed", results.size());
    ObjectNode profiles = root.putObject("profiles");
    for (Profile profile : Profile.values()) {
      ObjectNode one = profiles.putObject(profile.name());
      one.put("standing", standing(profile));
      for (Verdict verdict : Verdict.values()) {
        one.put(verdict.name(), count(profile, verdict));
      }
    }
    ObjectNode rules = root.putObject("rules");
    outcomes().forEach((rule, outcome) -> rules.put(rule.id(), outcome.name()));
    ArrayNode limits = root.putArray("limits");
    limits().forEach(limits::add);
    ArrayNode tests = root.putArray("tests");
    results.forEach(one -> tests.add(Json.of(one)));
    return root;
  }

  /** Limits that were seen, each once. */
  List<String> limits() {
    TreeSet<String> seen = new TreeSet<>();
    results.forEach(one -> seen.addAll(one.limits()));
    return List.copyOf(seen);
  }

  /** Rule outcomes of a report that was written. */
  static Map<String, String> outcomesOf(JsonNode report) {
    Map<String, String> outcomes = new TreeMap<>();
    for (Map.Entry<String, JsonNode> one : report.path("rules").properties()) {
      outcomes.put(one.getKey(), one.getValue().asText());
    }
    return outcomes;
  }
}
