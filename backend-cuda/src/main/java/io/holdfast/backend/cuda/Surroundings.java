package io.holdfast.backend.cuda;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What a probe looks at around the library: files, environment and system properties. A folder can
 * stand in for the root, so that a test can tell of any machine.
 *
 * @param root the folder that stands in for {@code /}
 * @param environment gives a variable's value, or null
 * @param properties gives a system property's value, or null
 * @param usable whether this process may read and write a file
 */
record Surroundings(
    Path root,
    Function<String, @Nullable String> environment,
    Function<String, @Nullable String> properties,
    Predicate<Path> usable) {

  /** How a device node stands to this process. */
  enum Access {
    /** There is none. */
    ABSENT,
    /** It can be read and written. */
    USABLE,
    /** It is there, and this process may not read and write it. */
    FORBIDDEN
  }

  /** This machine. */
  static Surroundings present() {
    return new Surroundings(
        Path.of("/"),
        System::getenv,
        System::getProperty,
        file -> Files.isReadable(file) && Files.isWritable(file));
  }

  Optional<String> variable(String name) {
    return Optional.ofNullable(environment.apply(name));
  }

  Optional<String> property(String name) {
    return Optional.ofNullable(properties.apply(name));
  }

  /** The text of a file, its path without the leading slash; empty where it cannot be read. */
  Optional<String> text(String path) {
    try {
      return Optional.of(Files.readString(root.resolve(path)));
    } catch (IOException | SecurityException unreadable) {
      return Optional.empty();
    }
  }

  /** Names in a folder that begin with a prefix, sorted; none where it cannot be listed. */
  List<String> names(String folder, String prefix) {
    List<String> names = new ArrayList<>();
    try (DirectoryStream<Path> entries =
        Files.newDirectoryStream(root.resolve(folder), prefix + "*")) {
      entries.forEach(entry -> names.add(String.valueOf(entry.getFileName())));
    } catch (IOException | SecurityException unreadable) {
      return List.of();
    }
    names.sort(null);
    return names;
  }

  Access access(String path) {
    Path file = root.resolve(path);
    if (!Files.exists(file)) {
      return Access.ABSENT;
    }
    return usable.test(file) ? Access.USABLE : Access.FORBIDDEN;
  }
}
