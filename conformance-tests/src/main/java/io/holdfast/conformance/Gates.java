package io.holdfast.conformance;

import java.lang.reflect.Method;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/**
 * Turns what a test throws into its verdict: what this host cannot show is a skip with its reason,
 * what is in quarantine is told as such until its day, what should be kept is a finding.
 */
public final class Gates implements InvocationInterceptor {
  /** Configuration parameter or system property: skips and findings are failures. */
  public static final String STRICT = "holdfast.conformance.strict";

  /** Made by JUnit. */
  public Gates() {}

  /** Thrown by a test that cannot be shown here. */
  static final class Missing extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Missing(String thing) {
      super(thing);
    }
  }

  @Override
  public void interceptTestMethod(
      Invocation<Void> invocation,
      ReflectiveInvocationContext<Method> test,
      ExtensionContext context)
      throws Throwable {
    boolean strict =
        context.getConfigurationParameter(STRICT).map(Boolean::parseBoolean).orElse(false);
    try {
      invocation.proceed();
    } catch (Missing missing) {
      String reason = String.valueOf(missing.getMessage());
      if (strict) {
        throw new AssertionFailedError("not shown on this host, which lacks: " + reason, missing);
      }
      tell(context, Verdict.SKIPPED, reason);
      throw new TestAbortedException("this host lacks: " + reason, missing);
    } catch (TestAbortedException aborted) {
      throw aborted;
    } catch (Throwable failure) {
      List<Rule> rules = rules(test.getExecutable());
      Optional<Quarantine> quarantined =
          quarantine(context).stream().filter(one -> rules.contains(one.rule())).findFirst();
      if (quarantined.isPresent()) {
        Quarantine known = quarantined.get();
        String words = known.rule().id() + ", " + known.issue() + ", until " + known.until();
        if (!LocalDate.now(ZoneOffset.UTC).isAfter(known.until())) {
          tell(context, Verdict.QUARANTINED, words + ": " + failure);
          throw new TestAbortedException("quarantined: " + words, failure);
        }
        failure.addSuppressed(new AssertionFailedError("its quarantine has ended: " + words));
      } else if (!strict && rules.stream().allMatch(one -> one.strength() == Strength.SHOULD)) {
        tell(context, Verdict.FINDING, String.valueOf(failure.getMessage()));
        throw new TestAbortedException("a finding: " + failure.getMessage(), failure);
      }
      throw failure;
    }
  }

  private static void tell(ExtensionContext context, Verdict verdict, String reason) {
    context.publishReportEntry(Map.of(Verdict.KEY, verdict.name(), Verdict.REASON, reason));
  }

  private static List<Rule> rules(Method test) {
    Covers covers = test.getAnnotation(Covers.class);
    return covers == null ? List.of() : List.of(covers.value());
  }

  private static List<Quarantine> quarantine(ExtensionContext context) {
    return context
        .getTestInstances()
        .map(all -> all.getAllInstances().stream())
        .orElse(Stream.empty())
        .filter(Conformance.class::isInstance)
        .flatMap(one -> ((Conformance) one).quarantine().stream())
        .toList();
  }
}
