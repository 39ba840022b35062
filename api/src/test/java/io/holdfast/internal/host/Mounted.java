package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** A file system that is mounted for one test; closing unmounts it. */
final class Mounted implements AutoCloseable {
  private final Path point;

  private Mounted(Path point) {
    this.point = point;
  }

  static Mounted tmpfs(Path folder, String size) throws IOException {
    return mount(folder, "tmpfs", "size=" + size);
  }

  static Mounted hugetlbfs(Path folder, String options) throws IOException {
    return mount(folder, "hugetlbfs", options);
  }

  private static Mounted mount(Path folder, String type, String options) throws IOException {
    Path point = Files.createTempDirectory(folder, "mount");
    String answer = run("mount", "-t", type, "-o", options, "none", point.toString());
    assumeTrue(answer.isEmpty(), "needs the right to mount " + type + ": " + answer);
    return new Mounted(point);
  }

  Path point() {
    return point;
  }

  long freeBytes() throws IOException {
    return Files.getFileStore(point).getUnallocatedSpace();
  }

  /** Files of it that this process has open, by name. */
  List<String> openFiles() throws IOException {
    List<String> open = new ArrayList<>();
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
      for (Path descriptor : descriptors.toList()) {
        String file = target(descriptor);
        if (file.startsWith(point.toString())) {
          open.add(file);
        }
      }
    }
    return open;
  }

  private static String target(Path descriptor) throws IOException {
    try {
      return Files.readSymbolicLink(descriptor).toString();
    } catch (NoSuchFileException closed) {
      return ""; // the listing's own, for one
    }
  }

  @Override
  public void close() throws IOException {
    String answer = run("umount", point.toString());
    if (!answer.isEmpty()) {
      throw new IOException(answer);
    }
  }

  private static String run(String... command) throws IOException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    try {
      return process.waitFor() == 0 ? "" : String.join(" ", command) + ": " + output;
    } catch (InterruptedException interrupted) {
      throw new IOException(interrupted);
    }
  }
}
