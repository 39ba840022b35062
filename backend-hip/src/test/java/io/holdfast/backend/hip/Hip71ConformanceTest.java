package io.holdfast.backend.hip;

import io.holdfast.Backend;
import io.holdfast.conformance.CoreConformance;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;

/** Layer b: the conformance kit on a simulated runtime of HIP 7.1. */
@Tag("full")
final class Hip71ConformanceTest extends CoreConformance {
  private static final SimulatedVersions RUNTIMES = new SimulatedVersions();

  @Override
  protected Backend open() {
    return RUNTIMES.open("hip-7.1");
  }

  @AfterAll
  static void nothingIsLeft() {
    RUNTIMES.close();
  }
}
