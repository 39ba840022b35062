package io.holdfast.spi;

import java.lang.foreign.MemorySegment;

/** Host memory that the driver allocates, pinned from the start. */
public interface HostAllocationPort {
  /**
   * Allocates pinned, mapped, portable host memory. Can take seconds.
   *
   * @param bytes how much, positive
   * @param caching how the CPU sees it
   * @return native memory that lives until {@link #free}
   */
  MemorySegment allocate(long bytes, Caching caching);

  /**
   * Frees it.
   *
   * @param memory exactly as {@link #allocate} returned it
   */
  void free(MemorySegment memory);

  /** How the CPU sees the memory. */
  enum Caching {
    /** As any memory. */
    NORMAL,
    /** Writes are combined, reads are very slow. */
    WRITE_COMBINED
  }
}
