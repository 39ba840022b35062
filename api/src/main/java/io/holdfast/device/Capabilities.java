package io.holdfast.device;

import java.util.Set;

/**
 * What one open device can do, and how far.
 *
 * @param present derived from the ports the driver has, never declared by hand
 * @param maxRegistrationBytes most bytes of one registration call on base pages
 * @param maxBatchEntries most entries of one batch call; 0 without {@link Capability#BATCH_COPY}
 */
public record Capabilities(
    Set<Capability> present, long maxRegistrationBytes, int maxBatchEntries) {
  /** Copies. */
  public Capabilities {
    present = Set.copyOf(present);
  }

  /**
   * Whether something can be done here.
   *
   * @param capability what
   * @return true when present
   */
  public boolean has(Capability capability) {
    return present.contains(capability);
  }
}
