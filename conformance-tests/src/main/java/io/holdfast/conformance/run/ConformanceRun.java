package io.holdfast.conformance.run;

import io.holdfast.conformance.Catalogue;
import io.holdfast.conformance.NamedBackend;
import io.holdfast.conformance.Profile;
import io.holdfast.conformance.Rule;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.EngineFilter;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.reporting.legacy.xml.LegacyXmlReportGeneratingListener;

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

  /** The chosen tests that are not done yet, in an order that is always the same. */
  private List<TestIdentifier> chosen(Launcher launcher, Set<String> done) {
    TestPlan plan =
        launcher.discover(
            request().selectors(DiscoverySelectors.selectClass(NamedBackend.class)).build());
    List<TestIdentifier> all = new ArrayList<>();
    for (TestIdentifier root : plan.getRoots()) {
      plan.getDescendants(root).stream().filter(TestIdentifier::isTest).forEach(all::add);
    }
    all.removeIf(test -> !wanted(rulesOf(test)));
    all.sort(Comparator.comparing(TestIdentifier::getUniqueId));
    List<TestIdentifier> mine = new ArrayList<>();
    for (int i = part - 1; i < all.size(); i += parts) {
      String name = Collector.methodOf(all.get(i).getSource()).map(Catalogue::nameOf).orElse("");
      if (!done.contains(name)) {
        mine.add(all.get(i));
      }
    }
    return mine;
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
   * @param xml where JUnit's XML goes
   * @param progress told of each result as it comes
   * @return how many tests were run
   */
  int run(Set<String> done, Optional<Path> xml, Consumer<Result> progress) {
    System.setProperty(NamedBackend.ID, backend);
    Launcher launcher =
        LauncherFactory.create(
            LauncherConfig.builder()
                .enableLauncherSessionListenerAutoRegistration(false)
                .enableLauncherDiscoveryListenerAutoRegistration(false)
                .enablePostDiscoveryFilterAutoRegistration(false)
                .enableTestExecutionListenerAutoRegistration(false)
                .build());
    List<TestIdentifier> tests = chosen(launcher, done);
    if (tests.isEmpty()) {
      return 0;
    }
    LauncherDiscoveryRequest request =
        request()
            .selectors(
                tests.stream()
                    .map(test -> DiscoverySelectors.selectUniqueId(test.getUniqueId()))
                    .toList())
            .build();
    List<TestExecutionListener> listeners = new ArrayList<>();
    listeners.add(new Collector(progress));
    xml.ifPresent(
        folder ->
            listeners.add(
                new LegacyXmlReportGeneratingListener(
                    folder, new PrintWriter(Writer.nullWriter()))));
    launcher.execute(request, listeners.toArray(TestExecutionListener[]::new));
    return tests.size();
  }
}
