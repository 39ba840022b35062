package io.holdfast.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.Device;
import io.holdfast.conformance.Engine;
import io.holdfast.conformance.engine.CudaEngine;
import io.holdfast.spi.HostKernels;
import io.holdfast.spi.StandardBackend;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** One library, and one machine behind it, for a kit that opens many backends: as on a host. */
final class JudgedLibcuda {
  private final List<SimulatedLibcuda> libraries = new ArrayList<>();

  /** The whole backend over the true bindings to the library. */
  Backend open(Path folder) {
    if (libraries.isEmpty()) {
      Path file = SimulatedLibcuda.compile(folder, SimulatedLibcuda.cuda580(), List.of());
      libraries.add(
          new SimulatedLibcuda(file, SimulatedLibcuda.machine(SimulatedLibcuda.cuda580(), 2)));
    }
    CudaBindings bindings = new CudaBindings("simulated", libraries.getFirst().symbols());
    assertEquals(0, bindings.cuInit(0));
    long page = HostKernels.system().basePageBytes();
    return StandardBackend.builder("cuda", new CudaDriver(bindings, 13_000, Optional.empty(), page))
        .kind(BackendKind.SIMULATOR) // no copy path is measured and its profile kept
        .build();
  }

  /** An engine beside it, by raw calls to the same library. */
  Optional<Engine> engine(Device device) {
    return Optional.of(new CudaEngine(libraries.getFirst().symbols(), device.info().ordinal()));
  }

  /** Nobody answers any more. */
  void close() {
    libraries.forEach(SimulatedLibcuda::close);
    libraries.clear();
  }
}
