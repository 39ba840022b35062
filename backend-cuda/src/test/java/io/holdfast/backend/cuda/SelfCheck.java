package io.holdfast.backend.cuda;

import io.holdfast.backend.cuda.CudaLoader.Outcome.Refused;
import io.holdfast.backend.cuda.CudaLoader.Outcome.Started;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.HostKernels;
import java.io.PrintStream;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Checks the backend against a real driver on the machine it runs on.
 *
 * <pre>
 * java --enable-native-access=ALL-UNNAMED -cp 'lib/*' io.holdfast.backend.cuda.SelfCheck [PART ...]
 * </pre>
 *
 * <p>{@code lib} holds the jars of the API, of this backend and of its tests; JUnit is not needed.
 * The parts are {@code port}, {@code foreign}, {@code answers}, {@code kernel} and {@code rates},
 * all by default. The device is 0, or {@code -Dholdfast.check.device=N}; the binding is chosen by
 * {@code -Dholdfast.cuda.binding}. Each line begins with PASS, FAIL or INFO; the exit code is 0
 * when nothing failed, 1 when something did, 2 for wrong arguments, and 3 where there is no device.
 */
final class SelfCheck {
  private static final List<String> PARTS =
      List.of("port", "foreign", "answers", "kernel", "rates");

  private SelfCheck() {}

  public static void main(String[] arguments) {
    int code = run(List.of(arguments), Surroundings.present(), System.out);
    System.out.flush();
    System.exit(code);
  }

  static int run(List<String> arguments, Surroundings around, PrintStream out) {
    Set<String> parts = new LinkedHashSet<>(arguments.isEmpty() ? PARTS : arguments);
    if (!PARTS.containsAll(parts)) {
      out.println("the parts are " + String.join(", ", PARTS));
      return 2;
    }
    CudaLoader.Outcome outcome =
        CudaLoader.load(around, (what, answer) -> out.println("TRY   " + what + ": " + answer));
    return switch (outcome) {
      case Refused no -> {
        out.println("NONE  " + no.why().reason() + ". " + no.why().remedy());
        yield 3;
      }
      case Started started -> check(parts, around, started, out);
    };
  }

  private static int check(
      Set<String> parts, Surroundings around, Started started, PrintStream out) {
    CheckReport report = new CheckReport(out);
    int device = around.property("holdfast.check.device").map(Integer::parseInt).orElse(0);
    String library = around.property(CudaLoader.LIBRARY_PROPERTY).orElse(CudaLoader.LIBRARY);
    RawCalls raw = new RawCalls(((DynamicLibrary.Opened) DynamicLibrary.open(library)).symbols());
    CudaDriver driver =
        new CudaDriver(
            started.calls(),
            started.version(),
            started.module(),
            HostKernels.system().basePageBytes());
    // First of all, while nothing holds the primary context.
    if (parts.contains("answers")) {
      new AnswerChecks(report, raw, device).all();
    }
    if (parts.contains("foreign")) {
      new ForeignWorkChecks(report, raw, driver, device).all();
    }
    try (DevicePort port = driver.open(device)) {
      if (parts.contains("port")) {
        new PortChecks(report, driver, port).all();
      }
      if (parts.contains("kernel")) {
        KernelChecks.bytes(report, port);
      }
      if (parts.contains("rates")) {
        KernelChecks.rates(report, port);
      }
    }
    out.println("DONE  " + report.passed() + " passed, " + report.failed() + " failed");
    return report.failed() == 0 ? 0 : 1;
  }
}
