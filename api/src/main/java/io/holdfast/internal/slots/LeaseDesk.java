package io.holdfast.internal.slots;

import io.holdfast.layout.BlockLayout;
import java.lang.foreign.MemorySegment;

/** Who gives slots to the CPU and takes them back. */
interface LeaseDesk {
  /** How the slots lie. */
  BlockLayout layout();

  /** Bytes that are there. */
  MemorySegment usable(long offsetBytes, long bytes);

  /** The lease is over. */
  void giveBack(Lease lease);
}
