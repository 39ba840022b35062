package io.holdfast.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.CopyOptions;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.host.HostRequest;
import io.holdfast.host.SharedRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pool.PoolOptions;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The tables of docs/reference.md name what the code has, all of it and nothing else. */
final class ReferenceTest {
  private static final List<Class<?>> REQUESTS =
      List.of(
          HostRequest.class,
          SharedRequest.class,
          PinRequest.class,
          PinPacing.class,
          PoolOptions.class,
          CopyOptions.class,
          ExtensibleRequest.class);

  private static final Path ROOT = Path.of("").toAbsolutePath().getParent();
  // Keys of test reports, which nobody sets.
  private static final List<String> NO_PROPERTIES =
      List.of("holdfast.limit", "holdfast.reason", "holdfast.verdict");

  @Test
  void every_property_is_in_the_table() throws IOException {
    TreeSet<String> used = new TreeSet<>();
    for (Path file : sources()) {
      if (file.endsWith("HoldfastMetrics.java")) {
        continue; // names of meters, which docs/observability.md has
      }
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

  @Test
  void every_option_of_a_request_is_in_the_table() throws IOException {
    TreeSet<String> options = new TreeSet<>();
    for (Class<?> request : REQUESTS) {
      for (RecordComponent option : request.getRecordComponents()) {
        options.add(request.getSimpleName() + "." + option.getName());
      }
    }

    assertEquals(
        options, table("`((?:\\w+Request|\\w+Options|PinPacing)\\.\\w+)`"), "options of requests");
  }

  @Test
  void every_key_of_a_configuration_file_is_in_the_table() throws IOException {
    // A refusal names them all.
    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                HostRequest.fromConfig(
                    Map.of("no_such_key", 1), BlockShape.of(1, 4096).blockMajor(1)));
    Set<String> keys =
        new TreeSet<>(
            List.of(refused.getMessage().replaceFirst(".*accepted are ", "").split(", ")));

    assertTrue(keys.size() > 5, keys.toString());
    assertEquals(keys, table("`((?:cpu|host|THP)_\\w+)`"));
  }

  @Test
  void every_variable_of_the_environment_is_in_the_table() throws IOException {
    TreeSet<String> read = new TreeSet<>();
    for (Path file : sources()) {
      read.addAll(found("\"(HOLDFAST_[A-Z_]+|XDG_[A-Z_]+)\"", Files.readString(file)));
    }
    read.addAll(found("\\b(HOLDFAST_[A-Z_]+)", Files.readString(ROOT.resolve("holdfast"))));

    assertEquals(read, table("`((?:HOLDFAST|XDG)_[A-Z_]+)`"));
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
