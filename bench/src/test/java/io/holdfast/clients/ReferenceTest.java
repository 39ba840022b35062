package io.holdfast.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The tables of docs/reference.md name what the code has, all of it and nothing else. */
final class ReferenceTest {
  private static final Path ROOT = Path.of("").toAbsolutePath().getParent();
  // Keys of test reports, which nobody sets.
  private static final List<String> NO_PROPERTIES =
      List.of("holdfast.limit", "holdfast.reason", "holdfast.verdict");

  @Test
  void every_property_is_in_the_table() throws IOException {
    TreeSet<String> used = new TreeSet<>();
    for (Path file : sources()) {
      used.addAll(found("\"(holdfast\\.[A-Za-z.]+[A-Za-z])\"", Files.readString(file)));
    }
    used.removeIf(name -> name.startsWith("holdfast.conformance."));
    used.removeAll(NO_PROPERTIES);

    assertTrue(used.size() > 10, used.toString());
    assertEquals(used, table("`(holdfast\\.[A-Za-z.]+)`"));
  }

  @Test
  void every_exception_is_in_the_catalogue() throws IOException {
    TreeSet<String> thrown = new TreeSet<>();
    for (Path file : sources()) {
      if (!file.toString().contains("/bench/") && !file.toString().contains("/internal/")) {
        thrown.addAll(
            found(
                "public (?:final )?(?:abstract )?(?:sealed )?(?:non-sealed )?class"
                    + " (\\w+Exception)\\b",
                Files.readString(file)));
      }
    }

    assertTrue(thrown.size() > 10, thrown.toString());
    assertEquals(thrown, table("`(\\w+Exception)`"));
  }

  /** First columns of the tables' rows. */
  private static Set<String> table(String cell) throws IOException {
    return found("(?m)^\\| " + cell + " \\|", Files.readString(ROOT.resolve("docs/reference.md")));
  }

  private static Set<String> found(String pattern, String text) {
    TreeSet<String> all = new TreeSet<>();
    Matcher matcher = Pattern.compile(pattern).matcher(text);
    while (matcher.find()) {
      all.add(matcher.group(1));
    }
    return all;
  }

  private static List<Path> sources() throws IOException {
    try (Stream<Path> files = Files.walk(ROOT, 20)) {
      return files
          .filter(file -> file.toString().endsWith(".java"))
          .filter(file -> file.toString().contains("/src/main/java/"))
          .toList();
    }
  }
}
