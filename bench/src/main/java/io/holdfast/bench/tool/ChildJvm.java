package io.holdfast.bench.tool;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A Java like this one, in a process of its own. */
public final class ChildJvm {
  private ChildJvm() {}

  /**
   * The command line that starts it: this Java, its flags and its class path.
   *
   * @param moreFlags for the JVM, behind its own
   * @param main class to run
   * @param arguments of the program
   * @return the command
   */
  public static List<String> command(
      List<String> moreFlags, Class<?> main, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(moreFlags);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(arguments);
    return command;
  }
}
