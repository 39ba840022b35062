package io.holdfast.architecture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** No row of the field reports loses its test unseen: docs/field-reports.md against the sources. */
final class FieldReportIndexTest {
  private static final int ROWS = 91;
  private static final Pattern ROW = Pattern.compile("^\\| (B\\d{2,3}) \\| [A-Z/]+ \\| (.*) \\|$");
  private static final Pattern NAMED = Pattern.compile("`([A-Za-z0-9]+\\.[A-Za-z0-9_]+)`");

  /** A test that begins with rows: b30_..., B15_B16_..., b101Another. */
  private static final Pattern TEST =
      Pattern.compile("\\bvoid (((?:[bB]\\d{2,3}(?=[_A-Z])_?)+)\\w*)\\(");

  private static final Pattern NUMBER = Pattern.compile("[bB](\\d{2,3})");

  @Test
  void everyRowHasTestsThatExistAndEveryTestOfARowIsListed() throws IOException {
    Path root = root();
    Set<String> rows = new TreeSet<>();
    Set<String> listed = new TreeSet<>();
    for (String line : Files.readAllLines(root.resolve("docs/field-reports.md"))) {
      Matcher row = ROW.matcher(line);
      if (!row.matches()) {
        continue;
      }
      assertTrue(rows.add(row.group(1)), row.group(1) + " is there twice");
      Matcher named = NAMED.matcher(row.group(2));
      int count = 0;
      while (named.find()) {
        listed.add(row.group(1) + " " + named.group(1));
        count++;
      }
      assertTrue(count > 0, row.group(1) + " has no test");
    }

    assertEquals(ROWS, rows.size());
    assertEquals(inSources(root), listed);
  }

  /** Rows and tests as the sources have them. */
  private static Set<String> inSources(Path root) throws IOException {
    Set<String> found = new TreeSet<>();
    try (Stream<Path> files = Files.walk(root)) {
      for (Path file : (Iterable<Path>) files.filter(FieldReportIndexTest::isTest)::iterator) {
        String type = file.getFileName().toString().replace(".java", "");
        Matcher test = TEST.matcher(Files.readString(file));
        while (test.find()) {
          Matcher number = NUMBER.matcher(test.group(2));
          while (number.find()) {
            found.add("B" + number.group(1) + " " + type + "." + test.group(1));
          }
        }
      }
    }
    return found;
  }

  private static boolean isTest(Path file) {
    return file.toString().endsWith(".java") && file.toString().contains("/src/test/java/");
  }

  private static Path root() {
    Path at = Path.of("").toAbsolutePath();
    while (!Files.exists(at.resolve("ARCHITECTURE.md"))) {
      at = Objects.requireNonNull(at.getParent(), "the tests run outside the repository");
    }
    return at;
  }
}
