package io.holdfast.device;

import java.util.List;
import java.util.Objects;

/**
 * Physical allocations by segment.
 *
 * @param handlesPerSegment one number for each segment; 1 everywhere means exportable, 0 that
 *     nothing is committed or that an ordinary allocation stands in
 * @param physicalBytes all granules, those that could not be given back yet included
 * @param rdmaCapable as the driver says after creation
 * @param notes fallbacks, each with its reason
 */
public record Census(
    List<Integer> handlesPerSegment, long physicalBytes, Support rdmaCapable, List<String> notes) {
  /** Checks and copies. */
  public Census {
    handlesPerSegment = List.copyOf(handlesPerSegment);
    notes = List.copyOf(notes);
    Objects.requireNonNull(rdmaCapable, "rdmaCapable");
  }
}
