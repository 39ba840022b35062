package io.holdfast.conformance.vm;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.conformance.NumaConformance;

/** The kit's NUMA profile on the machine's real nodes, held to its numa_maps. */
public final class GuestNuma extends NumaConformance {
  /** Made by JUnit. */
  public GuestNuma() {}

  @Override
  protected Backend open() {
    return Backends.select("cpu-sim");
  }
}
