package io.holdfast.internal.slots;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Three words for each slot, zero until written: who writes, who reads, and the leases.
 *
 * <p>The words lie off-heap in chunks that are made when one of their slots is first used, so that
 * sixteen million slots cost a table of references until then; the collector frees them with this
 * object. Guarded by the slots' lock.
 */
final class SlotWords {
  private static final int CHUNK_BITS = 12;
  private static final int SLOT_BYTES = 3 * Long.BYTES;

  private final @Nullable MemorySegment[] chunks;

  /** Words for that many slots. */
  SlotWords(long slots) {
    chunks = new MemorySegment[Math.toIntExact(Math.ceilDiv(slots, 1L << CHUNK_BITS))];
  }

  /** The chunk that holds a slot's words. */
  MemorySegment chunk(long slot) {
    int index = (int) (slot >>> CHUNK_BITS);
    MemorySegment chunk = chunks[index];
    if (chunk == null) {
      chunk = Arena.ofAuto().allocate((long) SLOT_BYTES << CHUNK_BITS, Long.BYTES);
      chunks[index] = chunk;
    }
    return chunk;
  }

  /** Where in its chunk a slot's words are. */
  static long offset(long slot) {
    return (slot & ((1L << CHUNK_BITS) - 1)) * SLOT_BYTES;
  }

  /** Ticket of the last copy that writes the slot. */
  static long writer(MemorySegment chunk, long offset) {
    return chunk.get(JAVA_LONG, offset);
  }

  static void writer(MemorySegment chunk, long offset, long ticket) {
    chunk.set(JAVA_LONG, offset, ticket);
  }

  /** Ticket of the last copy that reads the slot. */
  static long reader(MemorySegment chunk, long offset) {
    return chunk.get(JAVA_LONG, offset + Long.BYTES);
  }

  static void reader(MemorySegment chunk, long offset, long ticket) {
    chunk.set(JAVA_LONG, offset + Long.BYTES, ticket);
  }

  /** How many lease it for reading, or all ones where it is leased for writing. */
  static long leases(MemorySegment chunk, long offset) {
    return chunk.get(JAVA_LONG, offset + 2L * Long.BYTES);
  }

  static void leases(MemorySegment chunk, long offset, long leases) {
    chunk.set(JAVA_LONG, offset + 2L * Long.BYTES, leases);
  }
}
