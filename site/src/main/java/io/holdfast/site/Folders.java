package io.holdfast.site;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Files in and out. */
final class Folders {
  private Folders() {}

  /** Removes a folder of an earlier run with all that is in it. */
  static void clear(Path folder) throws IOException {
    if (Files.exists(folder)) {
      try (Stream<Path> all = Files.walk(folder)) {
        for (Path one : all.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(one);
        }
      }
    }
  }

  static void write(Path file, String text) throws IOException {
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }

  /** Regular files below a folder whose names end so, in the order of their paths. */
  static List<Path> filesBelow(Path folder, String suffix) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(Files::isRegularFile)
          .filter(file -> file.toString().endsWith(suffix))
          .sorted()
          .toList();
    }
  }

  /** The same path on every system. */
  static String slashed(Path path) {
    return path.toString().replace('\\', '/');
  }

  /** The text of a resource beside this class. */
  static String resource(String name) throws IOException {
    try (InputStream in = Folders.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new SiteException("the site's own " + name + " is missing: build it with Maven");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
