package io.holdfast.conformance.run;

import io.holdfast.conformance.Catalogue;
import io.holdfast.conformance.Verdict;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.reporting.ReportEntry;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/** Makes results of what JUnit tells. */
final class Collector implements TestExecutionListener {
  private final Consumer<Result> results;
  private final Map<String, Long> begun = new ConcurrentHashMap<>();
  private final Map<String, List<Map<String, String>>> told = new ConcurrentHashMap<>();

  Collector(Consumer<Result> results) {
    this.results = results;
  }

  /** The kit's method behind a test, in the class that declares it. */
  static Optional<Method> methodOf(Optional<TestSource> source) {
    return source
        .filter(MethodSource.class::isInstance)
        .map(one -> ((MethodSource) one).getJavaMethod());
  }

  private static String trace(Throwable failure) {
    StringWriter words = new StringWriter();
    failure.printStackTrace(new PrintWriter(words));
    return words.toString();
  }

  @Override
  public void executionStarted(TestIdentifier test) {
    begun.put(test.getUniqueId(), System.nanoTime());
  }

  @Override
  public void reportingEntryPublished(TestIdentifier test, ReportEntry entry) {
    told.computeIfAbsent(test.getUniqueId(), _ -> new ArrayList<>()).add(entry.getKeyValuePairs());
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult outcome) {
    if (!test.isTest()) {
      // a class that cannot even be made is a failure of everything in it
      outcome
          .getThrowable()
          .ifPresent(
              failure ->
                  results.accept(
                      new Result(
                          test.getDisplayName(),
                          List.of(),
                          Verdict.FAILED,
                          String.valueOf(failure),
                          trace(failure),
                          List.of(),
                          0)));
      return;
    }
    Method method = methodOf(test.getSource()).orElseThrow();
    Verdict verdict =
        outcome.getStatus() == TestExecutionResult.Status.FAILED ? Verdict.FAILED : Verdict.PASSED;
    String reason = outcome.getThrowable().map(String::valueOf).orElse("");
    List<String> limits = new ArrayList<>();
    for (Map<String, String> entry : told.getOrDefault(test.getUniqueId(), List.of())) {
      if (entry.containsKey(Verdict.LIMIT)) {
        limits.add(entry.get(Verdict.LIMIT));
      }
      if (verdict != Verdict.FAILED && entry.containsKey(Verdict.KEY)) {
        verdict = Verdict.valueOf(entry.get(Verdict.KEY));
        reason = entry.getOrDefault(Verdict.REASON, reason);
      }
    }
    if (outcome.getStatus() == TestExecutionResult.Status.ABORTED && verdict == Verdict.PASSED) {
      verdict = Verdict.SKIPPED;
    }
    long nanos = System.nanoTime() - begun.getOrDefault(test.getUniqueId(), System.nanoTime());
    results.accept(
        new Result(
            Catalogue.nameOf(method),
            Catalogue.rulesOf(method),
            verdict,
            reason,
            verdict == Verdict.FAILED
                ? outcome.getThrowable().map(Collector::trace).orElse("")
                : "",
            limits,
            nanos / 1_000_000));
  }
}
