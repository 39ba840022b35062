package io.holdfast.backend.cpusim.host;

import java.util.Collection;
import java.util.SortedSet;
import java.util.TreeSet;

/** Sets of numbers as the kernel writes them: {@code 0-3,8}. */
final class Numbers {
  private Numbers() {}

  static String list(Collection<Integer> numbers) {
    StringBuilder text = new StringBuilder();
    int begin = -1;
    int last = -2;
    for (int number : new TreeSet<>(numbers)) {
      if (number == last + 1) {
        last = number;
        continue;
      }
      close(text, begin, last);
      begin = number;
      last = number;
    }
    close(text, begin, last);
    return text.toString();
  }

  private static void close(StringBuilder text, int begin, int last) {
    if (begin < 0) {
      return;
    }
    if (!text.isEmpty()) {
      text.append(',');
    }
    text.append(begin);
    if (last > begin) {
      text.append('-').append(last);
    }
  }

  static SortedSet<Integer> parse(String text) {
    SortedSet<Integer> numbers = new TreeSet<>();
    for (String part : text.strip().split(",", -1)) {
      if (part.isBlank()) {
        continue;
      }
      String[] ends = part.strip().split("-", 2);
      int first = Integer.parseInt(ends[0].strip());
      int last = ends.length == 1 ? first : Integer.parseInt(ends[1].strip());
      for (int number = first; number <= last; number++) {
        numbers.add(number);
      }
    }
    return numbers;
  }
}
