package io.holdfast.backend.cuda;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.conformance.CoreConformance;
import io.holdfast.conformance.Engine;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.io.TempDir;

/** The core of the kit on the true bindings over the simulated driver's library, through FFM. */
final class SimulatedLibcudaConformanceTest extends CoreConformance {
  @TempDir static Path folder;
  private static final JudgedLibcuda LIBRARY = new JudgedLibcuda();

  @Override
  protected Backend open() {
    return LIBRARY.open(folder);
  }

  @Override
  protected Optional<Engine> engine(Device device) {
    return LIBRARY.engine(device);
  }

  @AfterAll
  static void nobodyAnswersAnyMore() {
    LIBRARY.close();
  }
}
