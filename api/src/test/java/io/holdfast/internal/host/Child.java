package io.holdfast.internal.host;

import io.holdfast.spi.HostKernel;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** A second Java process with our classes, so that a crash of it is a failed test and no more. */
final class Child implements AutoCloseable {
  private final Process process;

  private Child(Process process) {
    this.process = process;
  }

  /** Starts a main class. */
  static Child start(Class<?> main, Object... arguments) throws IOException {
    return start(List.of(), main, arguments);
  }

  /** Starts a main class behind a command that takes the rest as its arguments. */
  static Child start(List<String> before, Class<?> main, Object... arguments) throws IOException {
    List<String> command = new ArrayList<>(before);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx64m");
    command.add("-XX:+UseSerialGC");
    command.add("-XX:TieredStopAtLevel=1");
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-Djdk.lang.Process.launchMechanism=FORK");
    command.add("-cp");
    command.add(home(HostKernel.class) + File.pathSeparator + home(main));
    command.add(main.getName());
    for (Object argument : arguments) {
      command.add(argument.toString());
    }
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    // The command's own environment: no path to search, no library to preload.
    builder.environment().clear();
    return new Child(builder.start());
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

  long pid() {
    return process.pid();
  }

  /** Reads one line of its output, waiting for it; empty at the end. */
  String line() throws IOException {
    StringBuilder line = new StringBuilder();
    for (int letter = process.getInputStream().read();
        letter >= 0 && letter != '\n';
        letter = process.getInputStream().read()) {
      line.append((char) letter);
    }
    return line.toString();
  }

  /** Tells it to go on, where it waits for a line. */
  void tell(String line) throws IOException {
    process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
    process.getOutputStream().flush();
  }

  /** Waits for its end; the rest of its output, or an error with all of it where it failed. */
  String output() throws Exception {
    String rest = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    int status = process.waitFor();
    if (status != 0) {
      throw new AssertionError("the process ended with status " + status + ":\n" + rest);
    }
    return rest.strip();
  }

  /** Kills it as nothing can prevent, and waits until it is gone. */
  void kill() {
    process.destroyForcibly().onExit().join();
  }

  @Override
  public void close() {
    kill();
  }
}
