package io.holdfast.backend.cuda;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Assumptions;

/** Shared libraries for tests, compiled from the C sources beside the tests. */
final class CLibrary {
  private static final Map<List<String>, Path> COMPILED = new ConcurrentHashMap<>();

  private CLibrary() {}

  /**
   * A library from one source of {@code src/test/c}; skips the test, visibly, where no compiler is.
   * The same source with the same flags is compiled once, and each call gets a copy of the file:
   * the system loader takes a copy for another library, with variables of its own.
   */
  static Path compile(Path into, String source, String library, String... flags) {
    List<String> key = new ArrayList<>(List.of(source));
    key.addAll(List.of(flags));
    try {
      Path compiled = COMPILED.computeIfAbsent(key, CLibrary::compile);
      Path copy = Files.copy(compiled, into.resolve(library));
      // Whatever the umask: one that others can write to is not loaded.
      return Files.setPosixFilePermissions(copy, PosixFilePermissions.fromString("rwxr-xr-x"));
    } catch (IOException unwritable) {
      throw new UncheckedIOException(unwritable);
    }
  }

  private static Path compile(List<String> sourceAndFlags) {
    try {
      Path target = Files.createTempFile("holdfast-test-", ".so");
      target.toFile().deleteOnExit();
      List<String> command =
          new ArrayList<>(List.of("cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-pthread"));
      command.addAll(sourceAndFlags.subList(1, sourceAndFlags.size()));
      command.addAll(
          List.of(
              "-o",
              target.toString(),
              Path.of("src/test/c", sourceAndFlags.getFirst()).toString()));
      run(command);
      return target;
    } catch (IOException unwritable) {
      throw new UncheckedIOException(unwritable);
    }
  }

  static void run(List<String> command) {
    Process compiler;
    try {
      compiler = new ProcessBuilder(command).redirectErrorStream(true).start();
    } catch (IOException none) {
      compiler = Assumptions.abort("skipped: there is no C compiler named cc on the path");
    }
    try (var output = compiler.inputReader()) {
      String words = String.join("\n", output.lines().toList());
      if (compiler.waitFor() != 0) {
        throw new AssertionError(String.join(" ", command) + "\n" + words);
      }
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    } catch (InterruptedException stop) {
      throw new IllegalStateException("interrupted while compiling", stop);
    }
  }
}
