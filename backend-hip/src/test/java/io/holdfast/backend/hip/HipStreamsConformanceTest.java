package io.holdfast.backend.hip;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.conformance.Engine;
import io.holdfast.conformance.StreamsConformance;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;

/** Layer b: beside an engine that makes its calls to the same simulated runtime of HIP 7.2. */
final class HipStreamsConformanceTest extends StreamsConformance {
  private static final SimulatedVersions RUNTIMES = new SimulatedVersions();

  @Override
  protected Backend open() {
    return RUNTIMES.open("hip-7.2");
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
