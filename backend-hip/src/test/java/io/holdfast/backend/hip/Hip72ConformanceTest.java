package io.holdfast.backend.hip;

import io.holdfast.Backend;
import io.holdfast.conformance.CoreConformance;
import org.junit.jupiter.api.AfterAll;

/** Layer b: the conformance kit on a simulated runtime of HIP 7.2. */
final class Hip72ConformanceTest extends CoreConformance {
  private static final SimulatedVersions RUNTIMES = new SimulatedVersions();

  @Override
  protected Backend open() {
    return RUNTIMES.open("hip-7.2");
  }

  @AfterAll
  static void nothingIsLeft() {
    RUNTIMES.close();
  }
}
