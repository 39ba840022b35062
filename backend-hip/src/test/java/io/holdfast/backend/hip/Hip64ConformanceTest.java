package io.holdfast.backend.hip;

import io.holdfast.Backend;
import io.holdfast.conformance.CoreConformance;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;

/** Layer b: the conformance kit on a simulated runtime of HIP 6.4. */
@Tag("full")
final class Hip64ConformanceTest extends CoreConformance {
  private static final SimulatedVersions RUNTIMES = new SimulatedVersions();

  @Override
  protected Backend open() {
    return RUNTIMES.open("hip-6.4");
  }

  @AfterAll
  static void nothingIsLeft() {
    RUNTIMES.close();
  }
}
