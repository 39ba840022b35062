package io.holdfast.bench.doctor;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** A copied host from one resource: sections of the form {@code == /path} and the file's text. */
final class HostTree {
  private HostTree() {}

  static Path write(String resource, Path folder) throws IOException {
    String all;
    try (InputStream in = HostTree.class.getResourceAsStream(resource)) {
      all = new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
    String[] sections = all.split("(?m)^== /");
    for (int i = 1; i < sections.length; i++) {
      int end = sections[i].indexOf('\n');
      Path file = folder.resolve(sections[i].substring(0, end));
      Files.createDirectories(file.getParent());
      Files.writeString(file, sections[i].substring(end + 1));
    }
    return folder;
  }
}
