package io.holdfast.nativeimage;

import io.holdfast.Backends;
import io.holdfast.clients.Javac;
import io.holdfast.spi.BackendProvider;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ServiceLoader;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** What is published and can become part of a native image. */
enum Artifact {
  API("api", "io.holdfast."),
  CPU_SIM("backend-cpu-sim", "io.holdfast.backend.cpusim."),
  CUDA("backend-cuda", "io.holdfast.backend.cuda."),
  HIP("backend-hip", "io.holdfast.backend.hip.");

  static final Path ROOT = Path.of("").toAbsolutePath().getParent();

  private final String module;
  private final String packages;

  Artifact(String module, String packages) {
    this.module = module;
    this.packages = packages;
  }

  /** Which one a class of Holdfast's comes from: the longest name of packages that fits. */
  static Artifact of(String className) {
    Artifact best = API;
    for (Artifact one : values()) {
      if (className.startsWith(one.packages) && one.packages.length() > best.packages.length()) {
        best = one;
      }
    }
    return best;
  }

  /** The file in the sources. */
  Path metadata() {
    return ROOT.resolve(module)
        .resolve("src/main/resources/META-INF/native-image/io.holdfast")
        .resolve("holdfast-" + module)
        .resolve("reachability-metadata.json");
  }

  /** Class files by name. */
  SortedMap<String, byte[]> classes() {
    return files(name -> name.endsWith(".class") && !name.equals("module-info.class"));
  }

  /** What code reads from the jar, by name; no classes, and nothing that describes the jar. */
  SortedMap<String, byte[]> resources() {
    return files(
        name ->
            !name.endsWith(".class")
                && (!name.startsWith("META-INF/") || name.startsWith("META-INF/services/")));
  }

  private SortedMap<String, byte[]> files(Predicate<String> wanted) {
    Path place = place();
    try {
      if (Files.isDirectory(place)) {
        return files(place, wanted);
      }
      try (FileSystem jar = FileSystems.newFileSystem(place)) {
        return files(jar.getPath("/"), wanted);
      }
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  private static SortedMap<String, byte[]> files(Path root, Predicate<String> wanted)
      throws IOException {
    SortedMap<String, byte[]> found = new TreeMap<>();
    try (Stream<Path> all = Files.walk(root)) {
      for (Path file : all.filter(Files::isRegularFile).toList()) {
        String name = root.relativize(file).toString();
        if (wanted.test(name)) {
          found.put(name, Files.readAllBytes(file));
        }
      }
    }
    return found;
  }

  /** The jar or folder that this process has it from. */
  private Path place() {
    if (this == API) {
      return Javac.artifactOf(Backends.class);
    }
    return ServiceLoader.load(BackendProvider.class).stream()
        .filter(provider -> provider.type().getName().startsWith(packages))
        .map(provider -> Javac.artifactOf(provider.type()))
        .findFirst()
        .orElseThrow(() -> new AssertionError(module + " is not on the class path"));
  }
}
