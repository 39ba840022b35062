package io.holdfast.backend.cpusim.driver;

import org.jspecify.annotations.Nullable;

/** Device addresses with memory behind them: an allocation or a mapping; guarded by the lock. */
final class Backed {
  final long address;
  final long bytes;
  final PhysicalMemory memory;

  /** Null for a mapping: those belong to no context. */
  final @Nullable Context context;

  /** Null for a plain allocation. */
  final @Nullable Reservation reservation;

  /** The allocation that was mapped, or null. */
  final @Nullable Physical physical;

  /** Devices that may read, one bit each in the first 64. */
  long readers;

  /** Devices that may write. */
  long writers;

  Backed(
      long address,
      long bytes,
      PhysicalMemory memory,
      @Nullable Context context,
      @Nullable Reservation reservation,
      @Nullable Physical physical) {
    this.address = address;
    this.bytes = bytes;
    this.memory = memory;
    this.context = context;
    this.reservation = reservation;
    this.physical = physical;
  }

  long end() {
    return address + bytes;
  }
}
