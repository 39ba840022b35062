package io.holdfast.conformance;

import io.holdfast.Backend;
import io.holdfast.Backends;

/** The simulator in its plain form: real pages of this machine, a simulated device. */
final class CpuSimConformanceTest extends BackendConformance {
  @Override
  protected Backend open() {
    return Backends.select("cpu-sim");
  }
}
