package io.holdfast.backend.hip;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.conformance.BackendConformance;
import io.holdfast.conformance.Engine;
import io.holdfast.spi.BackendProvider;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;

/** Layer b: all profiles of the conformance kit on a simulated runtime of HIP 5.2. */
@Tag("full")
final class Hip52ConformanceTest extends BackendConformance {
  private static final SimulatedVersions RUNTIMES = new SimulatedVersions();

  @Override
  protected Backend open() {
    return RUNTIMES.open("hip-5.2");
  }

  @Override
  protected Optional<BackendProvider> provider(String id) {
    return RUNTIMES.provider();
  }

  @Override
  protected Optional<Engine> engine(Device device) {
    return RUNTIMES.engine(device);
  }

  @AfterAll
  static void nothingIsLeft() {
    RUNTIMES.close();
  }
}
