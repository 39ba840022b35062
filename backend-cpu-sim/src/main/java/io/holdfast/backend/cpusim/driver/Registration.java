package io.holdfast.backend.cpusim.driver;

import java.lang.foreign.Arena;
import org.jspecify.annotations.Nullable;

/** Host memory that a driver has pinned, or has allocated itself; guarded by the driver's lock. */
final class Registration {
  final long address;
  final long bytes;
  final int flags;
  final Context context;

  /** Where it lies in each device's window of aliases; -1 where addresses are the same. */
  final long aliasOffset;

  /** Whether its memory was unmapped under it; the device then reaches pages that nobody sees. */
  boolean orphaned;

  /** Not null where the driver allocated the memory. */
  final @Nullable Arena arena;

  Registration(
      long address,
      long bytes,
      int flags,
      Context context,
      long aliasOffset,
      @Nullable Arena arena) {
    this.address = address;
    this.bytes = bytes;
    this.flags = flags;
    this.context = context;
    this.aliasOffset = aliasOffset;
    this.arena = arena;
  }

  long end() {
    return address + bytes;
  }

  boolean portable() {
    return (flags & 1) != 0;
  }
}
