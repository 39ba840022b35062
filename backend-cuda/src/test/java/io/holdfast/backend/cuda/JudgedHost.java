package io.holdfast.backend.cuda;

import io.holdfast.conformance.run.Main;
import java.nio.file.Path;

/**
 * A process that finds a simulated {@code libcuda.so.1}, as {@link SimulatedHost}, and then is the
 * conformance command on a GPU host.
 */
final class JudgedHost {
  private JudgedHost() {}

  /** Ends the process with the command's exit code; the library answers until then. */
  @SuppressWarnings("MustBeClosedChecker") // closed by the end of the process
  public static void main(String[] arguments) {
    new SimulatedLibcuda(
        Path.of(CudaLoader.LIBRARY), SimulatedLibcuda.machine(SimulatedLibcuda.cuda580()));
    Main.main(arguments);
  }
}
