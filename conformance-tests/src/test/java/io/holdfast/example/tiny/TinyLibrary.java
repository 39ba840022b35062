package io.holdfast.example.tiny;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/** Compiles libtiny, once for each JVM: several may run tests at a time. */
final class TinyLibrary {
  private static final Path FOLDER =
      Path.of("target", "tiny", Long.toString(ProcessHandle.current().pid()));

  private TinyLibrary() {}

  /** Leaves its path in {@code tiny.library}. */
  static synchronized Path compile() throws IOException, InterruptedException {
    Files.createDirectories(FOLDER);
    Path source = FOLDER.resolve("tiny.c");
    Path library = FOLDER.resolve("libtiny.so").toAbsolutePath();
    Files.writeString(source, source());
    if (System.getProperty("tiny.library") == null) {
      Process gcc =
          new ProcessBuilder(
                  "gcc",
                  "-O2",
                  "-Wall",
                  "-Werror",
                  "-shared",
                  "-fPIC",
                  "-pthread",
                  "-o",
                  library.toString(),
                  source.toString())
              .redirectErrorStream(true)
              .start();
      String said = new String(gcc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (!gcc.waitFor(60, TimeUnit.SECONDS) || gcc.exitValue() != 0) {
        throw new IOException("gcc did not compile libtiny: " + said);
      }
      System.setProperty("tiny.library", library.toString());
    }
    return library;
  }

  static String source() throws IOException {
    try (InputStream in =
        Objects.requireNonNull(TinyLibrary.class.getResourceAsStream("/tiny/tiny.c"))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
