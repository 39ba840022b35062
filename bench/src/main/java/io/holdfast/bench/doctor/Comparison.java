package io.holdfast.bench.doctor;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** What differs between two doctor files. */
public final class Comparison {
  // An array's element is the same thing as that of the other file's which has the same of these.
  private static final List<String> NAMES =
      List.of("node", "name", "ordinal", "pageBytes", "point", "about");

  // What changes on a host that nobody has changed, and what is told or counted from it.
  private static final Set<String> MOMENTARY =
      Set.of(
          "freeBytes",
          "cacheBytes",
          "free",
          "reserved",
          "surplus",
          "used",
          "ranksThatFit",
          "available",
          "missing",
          "verdict.summary",
          "verdict.start",
          "findings[about pool]",
          "remedies",
          "reservations");

  private final List<String> differences = new ArrayList<>();

  private Comparison() {}

  /**
   * Compares two diagnoses, measured speeds and momentary counters left out.
   *
   * @param before one
   * @param after the other
   * @return one line for each difference: where, what it was, what it is
   */
  public static List<String> of(JsonNode before, JsonNode after) {
    Comparison comparison = new Comparison();
    comparison.compare("", before, after);
    return List.copyOf(comparison.differences);
  }

  private void compare(String where, JsonNode before, JsonNode after) {
    if (isMomentary(where) || before.equals(after)) {
      return;
    }
    if (before.isObject() && after.isObject()) {
      Set<String> names = new TreeSet<>();
      before.fieldNames().forEachRemaining(names::add);
      after.fieldNames().forEachRemaining(names::add);
      for (String name : names) {
        compare(where.isEmpty() ? name : where + "." + name, before.path(name), after.path(name));
      }
    } else if (before.isArray() && after.isArray()) {
      elements(where, before, after);
    } else {
      differences.add(where + ": " + text(before) + " -> " + text(after));
    }
  }

  private static boolean isMomentary(String where) {
    return MOMENTARY.contains(where) || MOMENTARY.contains(where.replaceFirst("^.*\\.", ""));
  }

  private void elements(String where, JsonNode before, JsonNode after) {
    Set<String> names = new TreeSet<>();
    for (int i = 0; i < before.size(); i++) {
      names.add(nameOf(before.get(i), i));
    }
    for (int i = 0; i < after.size(); i++) {
      names.add(nameOf(after.get(i), i));
    }
    for (String name : names) {
      compare(where + "[" + name + "]", find(before, name), find(after, name));
    }
  }

  private static JsonNode find(JsonNode array, String name) {
    for (int i = 0; i < array.size(); i++) {
      if (nameOf(array.get(i), i).equals(name)) {
        return array.get(i);
      }
    }
    return array.path(array.size()); // a missing node
  }

  private static String nameOf(JsonNode element, int index) {
    return NAMES.stream()
        .filter(element::hasNonNull)
        .findFirst()
        .map(name -> name + " " + element.path(name).asText())
        .orElse(Integer.toString(index));
  }

  private static String text(JsonNode node) {
    return node.isMissingNode() ? "absent" : node.toString();
  }
}
