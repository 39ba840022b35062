package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.backend.hip.HipLoader.Outcome.Refused;
import io.holdfast.backend.hip.HipLoader.Outcome.Started;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.StandardBackend;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Checks the backend against a runtime on the machine it runs on.
 *
 * <pre>
 * java --enable-native-access=ALL-UNNAMED -cp 'lib/*' io.holdfast.backend.hip.HipSelfCheck [PART ...]
 * </pre>
 *
 * <p>{@code lib} holds the jars of the API, of this backend and of its tests; JUnit is not needed.
 * The parts are {@code thread}, {@code port}, {@code batches} and {@code backend}, all by default.
 * The device is 0, or {@code -Dholdfast.check.device=N}; {@code -Dholdfast.check.batches=N} random
 * batches are run for each part that has some, 20,000 by default, of the seed {@code
 * -Dholdfast.check.seed=N}. Each line begins with PASS, FAIL or INFO; the exit code is 0 when
 * nothing failed, 1 when something did, 2 for wrong arguments, and 3 where there is no device.
 *
 * <p>Over {@code hip_over_cuda.c} it shows that the binding is right on a device of NVIDIA's. It
 * says which runtime it ran on; only AMD's own is a test on AMD hardware.
 */
final class HipSelfCheck {
  private static final List<String> PARTS =
      List.of("thread", "answers", "port", "batches", "backend");
  private static final int BATCHES = 20_000;

  private HipSelfCheck() {}

  public static void main(String[] arguments) {
    int code = run(List.of(arguments), Surroundings.present(), BackendKind.HARDWARE, System.out);
    System.out.flush();
    System.exit(code);
  }

  /** Hardware is measured for its copy paths, and a profile of it kept; what pretends is not. */
  static int run(List<String> arguments, Surroundings around, BackendKind kind, PrintStream out) {
    Set<String> parts = new LinkedHashSet<>(arguments.isEmpty() ? PARTS : arguments);
    if (!PARTS.containsAll(parts)) {
      out.println("the parts are " + String.join(", ", PARTS));
      return 2;
    }
    HipLoader.Outcome outcome =
        HipLoader.load(around, (what, answer) -> out.println("TRY   " + what + ": " + answer));
    return switch (outcome) {
      case Refused no -> {
        out.println("NONE  " + no.why().reason() + ". " + no.why().remedy());
        yield 3;
      }
      case Started started -> check(parts, around, started, kind, out);
    };
  }

  private static int check(
      Set<String> parts, Surroundings around, Started started, BackendKind kind, PrintStream out) {
    CheckReport report = new CheckReport(out);
    int device = number(around, "holdfast.check.device", 0);
    HipDriver driver = new HipDriver(started.bindings(), started.version(), started.kernels());
    HipRandomChecks random =
        new HipRandomChecks(
            report,
            number(around, "holdfast.check.batches", BATCHES),
            number(around, "holdfast.check.seed", 42));
    report.info("all", "runtime", driver.version());
    if (parts.contains("thread")) {
      report.part("thread: implicit device and last error", () -> thread(report, started, device));
    }
    if (parts.contains("answers")) {
      report.part(
          "answers: the matrices by version",
          () -> new HipAnswerChecks(report, started.bindings(), started.version(), device).all());
    }
    if (parts.contains("port") || parts.contains("batches")) {
      try (DevicePort port = driver.open(device)) {
        if (parts.contains("port")) {
          new HipPortChecks(report, driver, port).all();
        }
        if (parts.contains("batches")) {
          report.part("batches: random ones through the binding", () -> random.port(port));
        }
      }
    }
    if (parts.contains("backend")) {
      try (Backend backend = StandardBackend.builder(HipProvider.ID, driver).kind(kind).build()) {
        random.backend(backend, device);
      }
    }
    out.println("DONE  " + report.passed() + " passed, " + report.failed() + " failed");
    return report.failed() == 0 ? 0 : 1;
  }

  private static int number(Surroundings around, String property, int otherwise) {
    return around.property(property).map(Integer::parseInt).orElse(otherwise);
  }

  /** What the runtime keeps of a thread, by raw calls. */
  private static void thread(CheckReport report, Started started, int device) throws Exception {
    HipBindings hip = started.bindings();
    Thread fresh =
        Thread.ofPlatform()
            .start(
                () -> {
                  try (Arena arena = Arena.ofConfined()) {
                    MemorySegment number = arena.allocate(JAVA_INT);
                    report.expect("thread", "hipGetDevice", 0, hip.hipGetDevice(number));
                    report.expect("thread", "its device", 0, number.get(JAVA_INT, 0));
                    report.expect("thread", "hipSetDevice(99)", 101, hip.hipSetDevice(99));
                    report.expect("thread", "last error", 101, hip.hipPeekAtLastError());
                    report.expect("thread", "taken", 101, hip.hipGetLastError());
                    report.expect("thread", "and gone", 0, hip.hipPeekAtLastError());
                    report.expect("thread", "hipSetDevice", 0, hip.hipSetDevice(device));
                    report.expect(
                        "thread", "name of 101", "hipErrorInvalidDevice", hip.hipGetErrorName(101));
                    report.expect(
                        "thread",
                        "unknown attribute",
                        1,
                        hip.hipDeviceGetAttribute(number, 12_345, device));
                    int _ = hip.hipGetLastError();
                  }
                });
    fresh.join();
  }
}
