package io.holdfast.backend.cuda;

import io.holdfast.backend.cpusim.driver.Personalities;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A process that finds a simulated {@code libcuda.so.1} where the system's loader finds a driver:
 * started with {@code LD_LIBRARY_PATH}, it answers the library and then runs the self-check as on a
 * GPU host.
 *
 * <p>Arguments with {@code =} change the personality, {@code devices=N} the number of devices; the
 * others are parts of the self-check, or {@code interior} to unregister an address inside a range.
 */
final class SimulatedHost {
  private SimulatedHost() {}

  public static void main(String[] arguments) {
    Map<String, String> changes = new HashMap<>();
    List<String> parts = new ArrayList<>();
    for (String argument : arguments) {
      int equals = argument.indexOf('=');
      if (equals < 0) {
        parts.add(argument);
      } else {
        changes.put(argument.substring(0, equals), argument.substring(equals + 1));
      }
    }
    int devices = Integer.parseInt(changes.getOrDefault("devices", "2"));
    changes.remove("devices");
    int code;
    try (SimulatedLibcuda library =
        new SimulatedLibcuda(
            Path.of(CudaLoader.LIBRARY),
            SimulatedLibcuda.machine(Personalities.named("cuda-580", changes), devices))) {
      code =
          parts.contains("interior")
              ? interior(new RawCalls(library.symbols()))
              : SelfCheck.run(parts, Surroundings.present(), System.out);
      library.sweep();
      System.out.println("AUDIT " + library.machine().audit());
    }
    System.out.flush();
    System.exit(code);
  }

  private static int interior(RawCalls cuda) {
    var memory = java.lang.foreign.Arena.global().allocate(1 << 16, 4096);
    cuda.call("cuInit", 0);
    cuda.call("cuDevicePrimaryCtxRetain", memory, 0);
    cuda.call("cuCtxSetCurrent", memory.get(java.lang.foreign.ValueLayout.JAVA_LONG, 0));
    cuda.call("cuMemHostRegister_v2", memory, 1L << 16, 1);
    return cuda.call("cuMemHostUnregister", memory.address() + 4096);
  }
}
