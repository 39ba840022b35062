package io.holdfast.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The kit about itself. */
final class CatalogueTest {
  private static List<Method> tests() {
    return Arrays.stream(CoreConformance.class.getDeclaredMethods())
        .filter(method -> method.isAnnotationPresent(Test.class))
        .toList();
  }

  @Test
  void every_rule_has_a_test_and_every_test_its_rule() {
    Set<Rule> covered = EnumSet.noneOf(Rule.class);
    for (Method test : tests()) {
      Covers covers = test.getAnnotation(Covers.class);
      assertTrue(covers != null && covers.value().length > 0, test.getName() + " names no rule");
      covered.addAll(List.of(covers.value()));
      String first = covers.value()[0].id().replace("-", "").toLowerCase(Locale.ROOT);
      assertTrue(test.getName().startsWith(first + "_"), test.getName() + " is not " + first);
    }
    assertEquals(EnumSet.allOf(Rule.class), covered);
  }

  @Test
  void the_kit_has_as_many_tests_as_it_should() {
    assertEquals(20, tests().size());
    assertEquals(29, Rule.values().length);
  }
}
