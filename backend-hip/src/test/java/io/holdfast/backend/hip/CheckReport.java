package io.holdfast.backend.hip;

import java.io.PrintStream;
import java.util.Objects;

/** What a self-check found: a line for each answer, and how many were not the right one. */
final class CheckReport {
  private final PrintStream out;
  private int passed;
  private int failed;

  CheckReport(PrintStream out) {
    this.out = out;
  }

  /** One answer against the right one. */
  void expect(String id, String what, Object right, Object answer) {
    if (Objects.equals(right, answer)) {
      passed++;
      out.println("PASS  " + id + "  " + what + ": " + answer);
    } else {
      failed++;
      out.println("FAIL  " + id + "  " + what + ": " + answer + ", and not " + right);
    }
  }

  /** Something that has no right answer, only one that is worth knowing. */
  void info(String id, String what, Object answer) {
    out.println("INFO  " + id + "  " + what + ": " + answer);
  }

  /** Runs a part; a throw is a failure of that part and not the end. */
  void part(String name, Part part) {
    out.println("----  " + name);
    try {
      part.run();
    } catch (Throwable thrown) {
      failed++;
      out.println("FAIL  " + name + "  ended early: " + thrown);
      thrown.printStackTrace(out);
    }
    out.flush();
  }

  int passed() {
    return passed;
  }

  int failed() {
    return failed;
  }

  /** A part of the checks. */
  @FunctionalInterface
  interface Part {
    void run() throws Throwable;
  }
}
