package io.holdfast.pin;

import java.lang.foreign.MemorySegment;

/** One slot in the CPU's hands; copies that conflict are refused meanwhile. */
public interface SlotLease extends AutoCloseable {
  /**
   * One part's bytes.
   *
   * @param part 0 to the number of parts - 1
   * @return the bytes, read-only under a read lease; unusable once this is closed
   */
  MemorySegment part(int part);

  /** Gives the slot back. Idempotent. */
  @Override
  void close();
}
