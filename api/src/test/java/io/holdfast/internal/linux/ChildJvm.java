package io.holdfast.internal.linux;

import io.holdfast.spi.HostKernel;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** Starts a second Java process with our classes, its error stream joined to its output. */
public final class ChildJvm {
  private ChildJvm() {}

  public static Process start(Class<?> main, List<String> flags, String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx64m");
    command.addAll(flags);
    command.add("-cp");
    command.add(home(HostKernel.class) + File.pathSeparator + home(main));
    command.add(main.getName());
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).redirectErrorStream(true).start();
  }

  // Where a class file really lies; a patched module names its own place for test classes too.
  private static Path home(Class<?> type) {
    String name = type.getName().replace('.', '/') + ".class";
    String url = Objects.requireNonNull(type.getResource("/" + name)).toString();
    String place = url.substring(0, url.length() - name.length());
    if (place.startsWith("jar:")) {
      place = place.substring("jar:".length(), place.lastIndexOf('!'));
    }
    return Path.of(URI.create(place));
  }
}
