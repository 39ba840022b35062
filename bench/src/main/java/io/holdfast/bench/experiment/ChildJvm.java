package io.holdfast.bench.experiment;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A Java like this one, in a process of its own. */
final class ChildJvm {
  private ChildJvm() {}

  /** The command line that starts it. */
  static List<String> command(Class<?> main, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(
        List.of(
            "-XX:-CreateCoredumpOnCrash",
            "-XX:+ErrorFileToStderr", // no file is left behind
            "-cp",
            System.getProperty("java.class.path"),
            main.getName()));
    command.addAll(arguments);
    return command;
  }

  /**
   * Starts it; what it says on standard output can be read, what it complains about is discarded or
   * shown.
   */
  static Process start(Class<?> main, List<String> arguments, Redirect complaints) {
    List<String> command = command(main, arguments);
    try {
      return new ProcessBuilder(command).redirectError(complaints).start();
    } catch (IOException failure) {
      throw new UncheckedIOException("cannot start " + command, failure);
    }
  }
}
