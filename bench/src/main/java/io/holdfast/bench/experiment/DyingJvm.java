package io.holdfast.bench.experiment;

import io.holdfast.bench.tool.ChildJvm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.util.List;

/** A Java like this one that may die in any way and leaves no file behind. */
final class DyingJvm {
  private static final List<String> FLAGS =
      List.of("-XX:-CreateCoredumpOnCrash", "-XX:+ErrorFileToStderr");

  private DyingJvm() {}

  /** The command line that starts it. */
  static List<String> command(Class<?> main, List<String> arguments) {
    return ChildJvm.command(FLAGS, main, arguments);
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
