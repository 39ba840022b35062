package io.holdfast.conformance.run;

import io.holdfast.conformance.Catalogue;
import io.holdfast.conformance.NamedBackend;
import io.holdfast.conformance.Profile;
import io.holdfast.conformance.Rule;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.EngineFilter;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * One run of the rules against one backend, or of a part of them.
 *
 * @param backend its id
 * @param profiles which; tests whose first rule is in one of them are run
 * @param rules which; empty for all of the profiles
 * @param part which part, from 1
 * @param parts of how many
 * @param strict whether skips and findings are failures
 * @param patienceSeconds longest time for one test
 */
record ConformanceRun(
    String backend,
    Set<Profile> profiles,
    Set<Rule> rules,
    int part,
    int parts,
    boolean strict,
    int patienceSeconds) {

  private static Launcher launcher() {
    return LauncherFactory.create(
        LauncherConfig.builder()
            .enableLauncherSessionListenerAutoRegistration(false)
            .enableLauncherDiscoveryListenerAutoRegistration(false)
            .enablePostDiscoveryFilterAutoRegistration(false)
            .enableTestExecutionListenerAutoRegistration(false)
            .build());
  }

  /** The chosen tests of all parts, in an order that is always the same. */
  private List<TestIdentifier> chosen(Launcher launcher) {
    TestPlan plan =
        launcher.discover(
            request().selectors(DiscoverySelectors.selectClass(NamedBackend.class)).build());
    List<TestIdentifier> all = new ArrayList<>();
    for (TestIdentifier root : plan.getRoots()) {
      plan.getDescendants(root).stream().filter(TestIdentifier::isTest).forEach(all::add);
    }
    all.removeIf(test -> !wanted(rulesOf(test)));
    all.sort(Comparator.comparing(TestIdentifier::getUniqueId));
    return all;
  }

  /** Those of this part that are not done yet. */
  private List<TestIdentifier> mine(Launcher launcher, Set<String> done) {
    List<TestIdentifier> all = chosen(launcher);
    List<TestIdentifier> mine = new ArrayList<>();
    for (int i = part - 1; i < all.size(); i += parts) {
      String name = Collector.methodOf(all.get(i).getSource()).map(Catalogue::nameOf).orElse("");
      if (!done.contains(name)) {
        mine.add(all.get(i));
      }
    }
    return mine;
  }

  /** Whether profiles and rules choose a test at all, in whatever part. */
  boolean choosesSomething() {
    return !chosen(launcher()).isEmpty();
  }

  private static List<Rule> rulesOf(TestIdentifier test) {
    return Collector.methodOf(test.getSource()).map(Catalogue::rulesOf).orElse(List.of());
  }

  private boolean wanted(List<Rule> of) {
    return !of.isEmpty()
        && profiles.contains(of.getFirst().profile())
        && (rules.isEmpty() || of.stream().anyMatch(rules::contains));
  }

  private LauncherDiscoveryRequestBuilder request() {
    return LauncherDiscoveryRequestBuilder.request()
        .filters(EngineFilter.includeEngines("junit-jupiter"))
        .configurationParameter("holdfast.conformance.strict", Boolean.toString(strict))
        .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "false")
        .configurationParameter(
            "junit.jupiter.execution.timeout.testable.method.default", patienceSeconds + " s")
        // a native call that hangs hears no interrupt: the run goes on without it
        .configurationParameter(
            "junit.jupiter.execution.timeout.thread.mode.default", "SEPARATE_THREAD");
  }

  /**
   * Runs.
   *
   * @param done tests that are not run again
   * @param progress told of each result as it comes
   * @return how many tests were run
   */
  int run(Set<String> done, Consumer<Result> progress) {
    System.setProperty(NamedBackend.ID, backend);
    Launcher launcher = launcher();
    List<TestIdentifier> tests = mine(launcher, done);
    if (tests.isEmpty()) {
      return 0;
    }
    launcher.execute(
        request()
            .selectors(
                tests.stream()
                    .map(test -> DiscoverySelectors.selectUniqueId(test.getUniqueId()))
                    .toList())
            .build(),
        new Collector(progress));
    return tests.size();
  }
}
