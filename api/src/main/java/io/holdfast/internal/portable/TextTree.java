package io.holdfast.internal.portable;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * A tree of sysfs, procfs and cgroup texts: the machine's own, or a copy that stands in for one.
 *
 * @param root the folder that paths start from
 */
public record TextTree(Path root) {
  // The files of /proc/sys answer the first read only, so it must be large enough for all of it.
  // Files.readAllBytes begins with one byte where a file says that it is empty, as these do.
  private static final int BUFFER_BYTES = 64 * 1024;

  /**
   * Reads a text whole; bytes that are not UTF-8 are replaced.
   *
   * @param path its path from the root, with or without a leading slash
   * @return the text, or empty where there is none that this process can read
   * @throws IllegalArgumentException where the path steps upwards
   */
  public Optional<String> text(String path) {
    try (InputStream in = Files.newInputStream(resolve(path))) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      byte[] buffer = new byte[BUFFER_BYTES];
      for (int read = in.read(buffer); read > 0; read = in.read(buffer)) {
        bytes.write(buffer, 0, read);
      }
      return Optional.of(bytes.toString(StandardCharsets.UTF_8));
    } catch (IOException absent) {
      return Optional.empty();
    }
  }

  /**
   * Reads a text line by line until a reader has enough; bytes that are not UTF-8 are replaced.
   *
   * @param path its path from the root, with or without a leading slash
   * @param reader takes one line without its end; false when it has enough
   * @throws IllegalArgumentException where the path steps upwards
   */
  public void lines(String path, Predicate<String> reader) {
    try (InputStream in = Files.newInputStream(resolve(path));
        BufferedReader text =
            new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
      for (String line = text.readLine(); line != null; line = text.readLine()) {
        if (!reader.test(line)) {
          return;
        }
      }
    } catch (IOException absent) {
      // As good as no text, or as no more of it.
    }
  }

  /**
   * Lists the names in a folder.
   *
   * @param path its path from the root, with or without a leading slash
   * @return the names in order; empty where there is no folder that this process can read
   * @throws IllegalArgumentException where the path steps upwards
   */
  public List<String> names(String path) {
    try (Stream<Path> entries = Files.list(resolve(path))) {
      return entries.map(entry -> String.valueOf(entry.getFileName())).sorted().toList();
    } catch (IOException | UncheckedIOException absent) {
      return List.of();
    }
  }

  private Path resolve(String path) {
    int start = 0;
    while (start < path.length() && path.charAt(start) == '/') {
      start++;
    }
    try {
      Path relative = root.getFileSystem().getPath(path.substring(start));
      for (Path step : relative) {
        if (step.toString().equals("..")) {
          throw new IllegalArgumentException("A path in the tree does not step upwards: " + path);
        }
      }
      return root.resolve(relative);
    } catch (InvalidPathException bad) {
      throw new IllegalArgumentException("Not a path: " + path, bad);
    }
  }
}
