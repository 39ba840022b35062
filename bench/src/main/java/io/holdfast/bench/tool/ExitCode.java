package io.holdfast.bench.tool;

/** What the command's exit codes mean, everywhere. */
public final class ExitCode {
  /** All is well. */
  public static final int OK = 0;

  /** Something failed, or was refused. */
  public static final int FAILED = 1;

  /** The command line makes no sense. */
  public static final int USAGE = 2;

  /** What was asked for cannot be had under the limits given. */
  public static final int INFEASIBLE = 3;

  private ExitCode() {}
}
