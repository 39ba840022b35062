package io.holdfast.example.tiny;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Availability;
import io.holdfast.BackendUnavailableException;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The guide, held to what is compiled here. */
final class VendorGuideTest {
  private static final Path SOURCES = Path.of("src/test/java/io/holdfast/example/tiny");

  /** Lines without their margin, blank ones left out. */
  private static String plain(String code) {
    return code.lines()
        .map(String::strip)
        .filter(line -> !line.isEmpty())
        .collect(Collectors.joining("\n"));
  }

  private static List<String> blocks(String guide) {
    List<String> blocks = new ArrayList<>();
    StringBuilder block = null;
    for (String line : guide.lines().toList()) {
      if (block == null && (line.equals("```java") || line.equals("```c"))) {
        block = new StringBuilder();
      } else if (block != null && line.equals("```")) {
        blocks.add(block.toString());
        block = null;
      } else if (block != null) {
        block.append(line).append('\n');
      }
    }
    return blocks;
  }

  @Test
  void every_block_of_code_is_in_a_source_that_is_compiled() throws IOException {
    String guide = Files.readString(Path.of("..", "docs", "vendor-guide.md"));
    List<String> sources = new ArrayList<>();
    sources.add(plain(TinyLibrary.source()));
    try (Stream<Path> files = Files.list(SOURCES)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        sources.add(plain(Files.readString(file)));
      }
    }
    List<String> blocks = blocks(guide);
    assertTrue(blocks.size() >= 12, "only " + blocks.size() + " blocks of code");
    List<String> strange = new ArrayList<>();
    for (String block : blocks) {
      if (sources.stream().noneMatch(source -> source.contains(plain(block)))) {
        strange.add(block);
      }
    }
    assertEquals(List.of(), strange, "not in the sources any more");
  }

  @ParameterizedTest
  @CsvSource({"pom.xml,cannot be loaded", "target/no-such-file,not found"})
  void a_file_that_is_no_library_is_an_answer_and_no_exception(String file, String reason) {
    String saved = System.getProperty("tiny.library", "");
    System.setProperty("tiny.library", file);
    try {
      List<String> tried = new ArrayList<>();
      Availability.Unavailable no =
          assertInstanceOf(
              Availability.Unavailable.class,
              new TinyProvider().probe((what, _) -> tried.add(what)));

      assertTrue(no.reason().contains(reason), no.reason());
      assertEquals(List.of(file), tried);
      assertThrows(BackendUnavailableException.class, () -> new TinyProvider().open());
    } finally {
      if (saved.isEmpty()) {
        System.clearProperty("tiny.library");
      } else {
        System.setProperty("tiny.library", saved);
      }
    }
  }

  /** As a vendor runs it: the command, a folder of classes, a service file, a report. */
  @Test
  @Tag("full")
  void the_command_finds_the_backend_in_a_folder_and_reports_core_green(@TempDir Path folder)
      throws IOException, InterruptedException {
    Path library = TinyLibrary.compile();
    Path vendor = folder.resolve("vendor");
    Path packages = vendor.resolve("io/holdfast/example/tiny");
    Files.createDirectories(packages);
    Path compiled = Path.of("target", "test-classes", "io", "holdfast", "example", "tiny");
    try (Stream<Path> files = Files.list(compiled)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        Files.copy(file, packages.resolve(String.valueOf(file.getFileName())));
      }
    }
    Path services = vendor.resolve("META-INF/services");
    Files.createDirectories(services);
    Files.writeString(
        services.resolve("io.holdfast.spi.BackendProvider"), TinyProvider.class.getName() + "\n");
    Path report = folder.resolve("report");
    String classPath =
        Stream.of(
                System.getProperty("java.class.path", ""),
                System.getProperty("jdk.module.path", ""))
            .flatMap(one -> Stream.of(one.split(File.pathSeparator)))
            .filter(one -> !one.isEmpty() && !one.contains("test-c"))
            .collect(Collectors.joining(File.pathSeparator));
    Path said = folder.resolve("said.txt");
    Process command =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-Dtiny.library=" + library,
                "-cp",
                classPath,
                "io.holdfast.conformance.run.Main",
                "--backend",
                "tiny",
                "--backend-path",
                vendor.toString(),
                "--profile",
                "CORE",
                "--report",
                report.toString())
            .redirectErrorStream(true)
            .redirectOutput(said.toFile())
            .start();
    assertTrue(command.waitFor(5, TimeUnit.MINUTES), "the command does not end");
    String words = Files.readString(said, StandardCharsets.UTF_8);
    assertEquals(0, command.exitValue(), words);
    String json = Files.readString(report.resolve("report.json"));
    assertTrue(json.contains("\"REG-01\" : \"PASSED\""), json);
    assertTrue(json.contains("\"DSC-02\" : \"PASSED\""), "found as a service: " + words);
    assertTrue(words.contains("0 failed, 0 skipped"), words);
  }
}
