package io.holdfast.internal.host;

import java.util.Collections;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;

/** Lists of nodes and CPUs as sysfs and procfs write them: {@code 0-3,8}. */
final class NumberList {
  private NumberList() {}

  /** Reads a list; what is no list is empty. */
  static NavigableSet<Integer> parse(String text) {
    NavigableSet<Integer> numbers = new TreeSet<>();
    for (String part : text.strip().split(",", -1)) {
      if (part.matches("[0-9]{1,6}(-[0-9]{1,6})?")) {
        int dash = part.indexOf('-');
        int first = Integer.parseInt(dash < 0 ? part : part.substring(0, dash));
        int last = Integer.parseInt(part.substring(dash + 1));
        for (int number = first; number <= last; number++) {
          numbers.add(number);
        }
      }
    }
    return Collections.unmodifiableNavigableSet(numbers);
  }

  /** Writes a list, runs folded; an empty one is {@code none}. */
  static String text(Set<Integer> numbers) {
    StringBuilder text = new StringBuilder();
    Integer[] sorted = new TreeSet<>(numbers).toArray(Integer[]::new);
    for (int at = 0; at < sorted.length; ) {
      int end = at;
      while (end + 1 < sorted.length && sorted[end + 1] == sorted[end] + 1) {
        end++;
      }
      text.append(text.isEmpty() ? "" : ",").append(sorted[at]);
      if (end > at) {
        text.append('-').append(sorted[end]);
      }
      at = end + 1;
    }
    return text.isEmpty() ? "none" : text.toString();
  }

  /** Nodes for people: {@code node 0}, {@code nodes 0-3,8}. */
  static String nodes(Set<Integer> numbers) {
    return numbers.isEmpty()
        ? "no node"
        : (numbers.size() == 1 ? "node " : "nodes ") + text(numbers);
  }
}
