package io.holdfast.conformance.run;

import io.holdfast.error.HoldfastException;
import java.io.PrintWriter;
import picocli.CommandLine;

/** The kit as a program of its own: {@code java -jar holdfast-conformance-tests-all.jar}. */
public final class Main {
  private Main() {}

  /**
   * Runs the command and ends the process with its exit code.
   *
   * @param arguments of the command line
   */
  public static void main(String[] arguments) {
    PrintWriter out = new PrintWriter(System.out, true, System.out.charset());
    PrintWriter err = new PrintWriter(System.err, true, System.err.charset());
    System.exit(run(arguments, out, err));
  }

  /**
   * Runs the command.
   *
   * @param arguments of the command line
   * @param out results
   * @param err notes, progress, errors
   * @return the exit code
   */
  static int run(String[] arguments, PrintWriter out, PrintWriter err) {
    return new CommandLine(new ConformanceCommand())
        .setOut(out)
        .setErr(err)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setExecutionExceptionHandler(
            (failure, command, _) -> {
              if (failure instanceof HoldfastException known) {
                command.getErr().println("conformance: " + known.getMessage());
              } else {
                failure.printStackTrace(command.getErr());
              }
              command.getErr().flush();
              return 1;
            })
        .execute(arguments);
  }
}
