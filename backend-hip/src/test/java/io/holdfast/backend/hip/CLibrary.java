package io.holdfast.backend.hip;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;

/** Shared libraries for tests, compiled from the C sources beside the tests. */
final class CLibrary {
  private CLibrary() {}

  /** Compiles one source of {@code src/test/c}; skips the test, visibly, where no compiler is. */
  static Path compile(Path into, String source, String library, String... flags) {
    List<String> command =
        new ArrayList<>(List.of("cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-pthread"));
    command.addAll(List.of(flags));
    command.addAll(
        List.of("-o", into.resolve(library).toString(), Path.of("src/test/c", source).toString()));
    Process compiler;
    try {
      compiler = new ProcessBuilder(command).redirectErrorStream(true).start();
    } catch (IOException none) {
      return Assumptions.abort("skipped: there is no C compiler named cc on the path");
    }
    try (var output = compiler.inputReader()) {
      String words = String.join("\n", output.lines().toList());
      if (compiler.waitFor() != 0) {
        throw new AssertionError(String.join(" ", command) + "\n" + words);
      }
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    } catch (InterruptedException stop) {
      throw new IllegalStateException("interrupted while compiling " + source, stop);
    }
    Path file = into.resolve(library);
    if (!Files.exists(file)) {
      throw new AssertionError(file + " was not made");
    }
    return file;
  }
}
