package io.holdfast.conformance;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The rules and the tests that judge by them. */
public final class Catalogue {
  private Catalogue() {}

  /**
   * Every test of the kit.
   *
   * @return the methods, group by group
   */
  public static List<Method> tests() {
    return Stream.of(CoreConformance.class, BackendConformance.class)
        .flatMap(one -> Stream.of(one.getDeclaredClasses()))
        .filter(one -> one.isAnnotationPresent(Nested.class))
        .map(Class::getSuperclass)
        .sorted(Comparator.comparing(Class::getName))
        .flatMap(one -> Stream.of(one.getDeclaredMethods()))
        .filter(method -> method.isAnnotationPresent(Test.class))
        .sorted(
            Comparator.comparing((Method method) -> method.getDeclaringClass().getName())
                .thenComparing(Method::getName))
        .toList();
  }

  /**
   * The rules that a test judges by.
   *
   * @param test of this kit
   * @return at least one for a test of the kit; none for others
   */
  public static List<Rule> rulesOf(Method test) {
    return Optional.ofNullable(test.getAnnotation(Covers.class))
        .map(covers -> List.of(covers.value()))
        .orElse(List.of());
  }

  /**
   * The tests of each rule.
   *
   * @return all rules; those that are not tested have an empty list
   */
  public static Map<Rule, List<String>> coverage() {
    Map<Rule, List<String>> coverage = new EnumMap<>(Rule.class);
    for (Rule rule : Rule.values()) {
      coverage.put(rule, new ArrayList<>());
    }
    for (Method test : tests()) {
      for (Rule rule : rulesOf(test)) {
        coverage.computeIfAbsent(rule, _ -> new ArrayList<>()).add(nameOf(test));
      }
    }
    return coverage;
  }

  /**
   * A test's name in reports.
   *
   * @param test of this kit
   * @return group and method
   */
  public static String nameOf(Method test) {
    return test.getDeclaringClass().getSimpleName() + "." + test.getName();
  }

  /**
   * The catalogue as a document.
   *
   * @return Markdown
   */
  public static String markdown() {
    Map<Rule, List<String>> coverage = coverage();
    StringBuilder out = new StringBuilder();
    out.append("# What a backend keeps\n\n");
    out.append("Written from the catalogue (`io.holdfast.conformance.Rule`) by\n");
    out.append("`./holdfast conformance --catalogue`; a test compares. Ids are for ever.\n\n");
    long untested = coverage.values().stream().filter(List::isEmpty).count();
    out.append(
        String.format(
            Locale.ROOT,
            "%d rules, %d tests, %d rules without a test.%n%n",
            Rule.values().length,
            tests().size(),
            untested));
    out.append("A rule that MUST be kept fails a backend; one that SHOULD be kept is a finding,\n");
    out.append("and a failure under `--strict`. Rules about what a backend does not claim are\n");
    out.append("judged the other way round: it must be refused by its type, and nothing may\n");
    out.append("change. The evidence names public reports by project and number.\n");
    out.append(
        "\nMeasured: all profiles take 19 s on the plain simulator on two cores (CORE alone,\n");
    out.append("through the true bindings on a fake CUDA or HIP library, 7 to 8 s).\n");
    for (Profile profile : Profile.values()) {
      out.append("\n## ").append(profile).append(": ").append(profile.about()).append("\n\n");
      out.append("| Rule | | Statement | Evidence | Tests |\n|---|---|---|---|---|\n");
      for (Rule rule : Rule.values()) {
        if (rule.profile() == profile) {
          List<String> tests = coverage.getOrDefault(rule, List.of());
          out.append("| ").append(rule.id());
          out.append(" | ").append(rule.strength());
          out.append(" | ").append(rule.statement());
          out.append(" | ").append(rule.evidence());
          out.append(" | ");
          out.append(tests.isEmpty() ? "**untested**" : "`" + String.join("`, `", tests) + "`");
          out.append(" |\n");
        }
      }
    }
    return out.toString().replace(System.lineSeparator(), "\n");
  }
}
