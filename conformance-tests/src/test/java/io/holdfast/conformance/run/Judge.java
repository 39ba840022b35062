package io.holdfast.conformance.run;

import io.holdfast.conformance.Catalogue;
import io.holdfast.conformance.Rule;
import io.holdfast.conformance.Verdict;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.EngineFilter;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs the rules inside a test of the kit. */
public final class Judge {
  private Judge() {}

  /**
   * What came of some rules.
   *
   * @param outcomes of the tests
   */
  public record Outcome(List<Told> outcomes) {
    /** Tests that failed, with their reasons. */
    public TreeMap<String, String> failures() {
      TreeMap<String, String> failures = new TreeMap<>();
      for (Told one : outcomes) {
        if (one.verdict() == Verdict.FAILED) {
          failures.put(one.test(), one.reason());
        }
      }
      return failures;
    }

    /** Whether a test of that rule failed, or found what should not be. */
    public boolean caught(Rule rule) {
      return outcomes.stream()
          .filter(one -> one.rules().contains(rule))
          .anyMatch(one -> one.verdict() == Verdict.FAILED || one.verdict() == Verdict.FINDING);
    }

    /** How many tests came to that verdict. */
    public long count(Verdict verdict) {
      return outcomes.stream().filter(one -> one.verdict() == verdict).count();
    }
  }

  /** What came of one test. */
  public record Told(String test, List<Rule> rules, Verdict verdict, String reason) {}

  /** Runs the tests of some rules; none: all. A test that hangs for a minute has failed. */
  public static Outcome judge(Class<?> subject, Set<Rule> rules) {
    return judge(subject, rules, Duration.ofMinutes(1));
  }

  /** Runs the tests of some rules, of which none may take longer than that; no rules: all. */
  public static Outcome judge(Class<?> subject, Set<Rule> rules, Duration longest) {
    List<Told> told = new ArrayList<>();
    PostDiscoveryFilter wanted =
        test -> {
          if (!(test.getSource().orElse(null) instanceof MethodSource source)) {
            return FilterResult.included("a container");
          }
          Method method = source.getJavaMethod();
          boolean in =
              rules.isEmpty() || Catalogue.rulesOf(method).stream().anyMatch(rules::contains);
          return FilterResult.includedIf(in);
        };
    LauncherFactory.create(
            LauncherConfig.builder()
                .enableLauncherSessionListenerAutoRegistration(false)
                .enableLauncherDiscoveryListenerAutoRegistration(false)
                .enablePostDiscoveryFilterAutoRegistration(false)
                .enableTestExecutionListenerAutoRegistration(false)
                .build())
        .execute(
            LauncherDiscoveryRequestBuilder.request()
                .selectors(DiscoverySelectors.selectClass(subject))
                .filters(EngineFilter.includeEngines("junit-jupiter"), wanted)
                .configurationParameter(
                    "junit.jupiter.execution.timeout.testable.method.default",
                    longest.toMillis() + " ms")
                .configurationParameter(
                    "junit.jupiter.execution.timeout.thread.mode.default", "SEPARATE_THREAD")
                .build(),
            new Collector(
                one -> told.add(new Told(one.test(), one.rules(), one.verdict(), one.reason()))));
    return new Outcome(List.copyOf(told));
  }
}
