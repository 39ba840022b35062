package io.holdfast.internal.host;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** What callers see of a region, until it is taken from them. */
sealed interface Views {
  /** The logical bytes. */
  MemorySegment whole();

  /**
   * Makes every view unusable.
   *
   * @throws IllegalStateException while a native call uses one
   */
  void takeAway();

  /** Makes new views where the old ones were taken away. */
  void renew();

  /** Views of memory that is ours. */
  static Views over(long address, long bytes) {
    return new Own(address, bytes);
  }

  /** Views of somebody else's memory, which lives as long as its owner lets it. */
  static Views of(MemorySegment foreign) {
    return new Foreign(foreign);
  }

  /**
   * Views whose arena owns no memory, only their life. Called by one thread at a time but whole.
   */
  final class Own implements Views {
    private final long address;
    private final long bytes;
    private Arena arena;
    private volatile MemorySegment whole;

    private Own(long address, long bytes) {
      this.address = address;
      this.bytes = bytes;
      this.arena = fresh();
      this.whole = view();
    }

    @SuppressWarnings("MustBeClosed") // takeAway closes it
    private static Arena fresh() {
      return Arena.ofShared();
    }

    @SuppressWarnings("restricted") // the region keeps the memory mapped while this arena lives
    private MemorySegment view() {
      return MemorySegment.ofAddress(address).reinterpret(bytes, arena, null);
    }

    @Override
    public MemorySegment whole() {
      return whole;
    }

    @Override
    public void takeAway() {
      arena.close();
    }

    @Override
    public void renew() {
      if (!arena.scope().isAlive()) {
        arena = fresh();
        whole = view();
      }
    }
  }

  /** Somebody else's segment, as it is. */
  record Foreign(MemorySegment whole) implements Views {
    @Override
    public void takeAway() {}

    @Override
    public void renew() {}
  }
}
