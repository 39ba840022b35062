package io.holdfast.internal.portable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A tree of sysfs, procfs and cgroup texts: the machine's own, or a copy that stands in for one.
 *
 * @param root the folder that paths start from
 */
public record TextTree(Path root) {

  /**
   * Reads a text whole; bytes that are not UTF-8 are replaced.
   *
   * @param path its path from the root, with or without a leading slash
   * @return the text, or empty where there is none that this process can read
   * @throws IllegalArgumentException where the path steps upwards
   */
  public Optional<String> text(String path) {
    try {
      return Optional.of(new String(Files.readAllBytes(resolve(path)), StandardCharsets.UTF_8));
    } catch (IOException absent) {
      return Optional.empty();
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
