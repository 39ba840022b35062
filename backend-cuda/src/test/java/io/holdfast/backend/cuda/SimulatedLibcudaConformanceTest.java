package io.holdfast.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.Backend;
import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.conformance.CoreConformance;
import io.holdfast.spi.HostKernels;
import io.holdfast.spi.StandardBackend;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/** The conformance kit on the true bindings over the simulated driver's library, through FFM. */
final class SimulatedLibcudaConformanceTest extends CoreConformance {
  @TempDir static Path folder;
  private static Path file = Path.of("");
  private static final List<SimulatedLibcuda> LIBRARIES = new ArrayList<>();

  @BeforeAll
  static void compile() {
    file = SimulatedLibcuda.compile(folder, SimulatedLibcuda.cuda580(), List.of());
  }

  @Override
  protected Backend open() {
    SimMachine machine = SimulatedLibcuda.machine(SimulatedLibcuda.cuda580(), 2);
    if (LIBRARIES.isEmpty()) {
      LIBRARIES.add(new SimulatedLibcuda(file, machine));
    } else {
      LIBRARIES.getFirst().answerBy(machine);
    }
    CudaBindings bindings = new CudaBindings("simulated", LIBRARIES.getFirst().symbols());
    assertEquals(0, bindings.cuInit(0));
    return StandardBackend.over(
        "cuda",
        new CudaDriver(bindings, 13_000, Optional.empty(), HostKernels.system().basePageBytes()));
  }

  @AfterAll
  static void nobodyAnswersAnyMore() {
    LIBRARIES.forEach(SimulatedLibcuda::close);
    LIBRARIES.clear();
  }
}
