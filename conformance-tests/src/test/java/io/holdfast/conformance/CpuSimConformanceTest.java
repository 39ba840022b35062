package io.holdfast.conformance;

import io.holdfast.backend.cpusim.LeakPolicy;
import io.holdfast.backend.cpusim.SimMachine;

/** The simulator in its plain form: real pages of this machine, simulated devices. */
final class CpuSimConformanceTest extends SimConformance {
  @Override
  SimMachine boot() {
    return SimMachine.builder().leaks(LeakPolicy.WARN).build();
  }
}
