package io.holdfast.internal.slots;

import io.holdfast.layout.Plane;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** One slot in the CPU's hands. Safe from any thread. */
final class Lease implements SlotLease {
  private final LeaseDesk desk;
  private final long slot;
  private final Access access;
  private @Nullable Arena arena;
  private boolean closed;

  Lease(LeaseDesk desk, long slot, Access access) {
    this.desk = desk;
    this.slot = slot;
    this.access = access;
  }

  long slot() {
    return slot;
  }

  Access access() {
    return access;
  }

  @Override
  // Narrows the life of a view that outlives this lease; the arena is closed by close().
  @SuppressWarnings({"restricted", "MustBeClosedChecker"})
  public synchronized MemorySegment part(int part) {
    if (closed) {
      throw new IllegalStateException(this + " is closed");
    }
    Plane plane = desk.layout().planes().get(part);
    if (arena == null) {
      arena = Arena.ofShared(); // the bytes may be handed to another thread
    }
    MemorySegment view =
        desk.usable(plane.blockOffsetBytes(slot), plane.blockBytes()).reinterpret(arena, null);
    return access == Access.READ ? view.asReadOnly() : view;
  }

  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    if (arena != null) {
      arena.close(); // refuses, with nothing undone, while a native call uses a part
    }
    closed = true;
    desk.giveBack(this);
  }

  @Override
  public String toString() {
    return "a " + access + " lease of slot " + slot;
  }
}
