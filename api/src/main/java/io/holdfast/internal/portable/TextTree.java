package io.holdfast.internal.portable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A tree of sysfs, procfs and cgroup texts: the machine's own, or a copy that stands in for one.
 *
 * @param root the folder that paths start from
 */
public record TextTree(Path root) {
  private static final int FIRST_READ_BYTES = 8192;


  /**
   * Reads a text whole; bytes that are not UTF-8 are replaced.
   *
   * @param path its path from the root, with or without a leading slash
   * @return the text, or empty where there is none that this process can read
   * @throws IllegalArgumentException where the path steps upwards
   */
  public Optional<String> text(String path) {
    try (FileChannel file = FileChannel.open(resolve(path), StandardOpenOption.READ)) {
      return Optional.of(new String(readWhole(file), StandardCharsets.UTF_8));
    } catch (IOException absent) {
      return Optional.empty();
    }
  }

  /**
   * Files of sysctl give their number to the first read and end there, however little that read took;
   * {@code Files.readAllBytes} begins with one byte where a file says that it is empty.
   */
  private static byte[] readWhole(FileChannel file) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(FIRST_READ_BYTES);
    while (file.read(buffer) >= 0) {
      if (!buffer.hasRemaining()) {
        buffer = ByteBuffer.allocate(2 * buffer.capacity()).put(buffer.flip());
      }
    }
    return Arrays.copyOf(buffer.array(), buffer.position());
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
