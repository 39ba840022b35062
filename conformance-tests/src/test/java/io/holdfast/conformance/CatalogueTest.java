package io.holdfast.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The kit about itself. */
final class CatalogueTest {
  @Test
  void every_test_names_its_rules_and_begins_with_the_first() {
    Set<String> names = new HashSet<>();
    for (Method test : Catalogue.tests()) {
      List<Rule> rules = Catalogue.rulesOf(test);
      assertFalse(rules.isEmpty(), test.getName() + " names no rule");
      String first = rules.getFirst().id().replace("-", "").toLowerCase(Locale.ROOT);
      assertTrue(test.getName().startsWith(first + "_"), test.getName() + " is not " + first);
      assertTrue(names.add(test.getName()), test.getName() + " is there twice");
    }
  }

  @Test
  void every_rule_has_a_test() {
    Set<Rule> untested = new HashSet<>();
    Catalogue.coverage()
        .forEach(
            (rule, tests) -> {
              if (tests.isEmpty()) {
                untested.add(rule);
              }
            });
    assertEquals(Set.of(), untested);
  }

  @Test
  void every_rule_says_what_and_why_in_one_sentence() {
    Set<String> statements = new HashSet<>();
    for (Rule rule : Rule.values()) {
      assertTrue(rule.id().matches("[A-Z]{3}-[0-9]{2}"), rule.id());
      assertFalse(rule.statement().endsWith("."), rule.id());
      assertTrue(statements.add(rule.statement()), rule.id() + " says what another says");
      assertFalse(rule.evidence().isBlank(), rule.id());
    }
    assertTrue(Rule.values().length >= 80, "only " + Rule.values().length);
  }

  @Test
  void the_document_is_what_the_catalogue_says() throws IOException {
    Path document = Path.of("..", "docs", "conformance.md");
    assertEquals(
        Catalogue.markdown(),
        Files.readString(document),
        "write it anew: ./holdfast conformance --catalogue > docs/conformance.md");
  }
}
