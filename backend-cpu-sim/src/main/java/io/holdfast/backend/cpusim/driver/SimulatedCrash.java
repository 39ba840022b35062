package io.holdfast.backend.cpusim.driver;

import java.io.Serial;

/** A real driver would have ended the process here. */
public final class SimulatedCrash extends Error {
  @Serial private static final long serialVersionUID = 1L;

  /**
   * Says what a real driver would have died of.
   *
   * @param what one sentence
   */
  public SimulatedCrash(String what) {
    super(what);
  }
}
