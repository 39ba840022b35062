package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A program of the tests in a JVM of its own. */
final class ChildJvm {
  private ChildJvm() {}

  /**
   * Runs it to its end, which must be a good one and come within a hundred seconds.
   *
   * @param options of the JVM
   * @param program has a main method
   * @param arguments for it
   * @return what it said
   */
  static String run(List<String> options, Class<?> program, String... arguments) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(options);
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-cp");
    command.add(
        String.join(
            ":",
            System.getProperty("java.class.path"),
            System.getProperty("jdk.module.path", ""), // where tests run inside the module
            Path.of("target", "test-classes").toAbsolutePath().toString()));
    command.add(program.getName());
    command.addAll(Arrays.asList(arguments));
    Process child = new ProcessBuilder(command).redirectErrorStream(true).start();
    CompletableFuture.delayedExecutor(100, TimeUnit.SECONDS).execute(child::destroyForcibly);
    String words;
    try (var output = child.inputReader()) {
      words = String.join("\n", output.lines().toList());
    }
    assertEquals(0, child.waitFor(), words);
    return words;
  }
}
