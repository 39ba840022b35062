package io.holdfast.internal.slots;

import org.jspecify.annotations.Nullable;

/**
 * Three words for each slot, zero until written: who writes, who reads, and the leases.
 *
 * <p>The words lie in chunks that are made when one of their slots is first used, so that sixteen
 * million slots cost a table of references until then. Guarded by the slots' lock.
 */
final class SlotWords {
  /** Where in a slot's words the ticket of the last copy that writes it is. */
  static final int WRITER = 0;

  /** Where in a slot's words the ticket of the last copy that reads it is. */
  static final int READER = 1;

  /** How many lease it for reading, or all ones where it is leased for writing. */
  static final int LEASES = 2;

  private static final int CHUNK_BITS = 12;
  private static final int WORDS = 3;

  private final long[] @Nullable [] chunks;

  /** Words for that many slots. */
  SlotWords(long slots) {
    chunks = new long[Math.toIntExact(Math.ceilDiv(slots, 1L << CHUNK_BITS))][];
  }

  /** The chunk that holds a slot's words. */
  long[] chunk(long slot) {
    int index = (int) (slot >>> CHUNK_BITS);
    long[] chunk = chunks[index];
    if (chunk == null) {
      chunk = new long[WORDS << CHUNK_BITS];
      chunks[index] = chunk;
    }
    return chunk;
  }

  /** Where in its chunk a slot's words begin. */
  static int first(long slot) {
    return (int) (slot & ((1 << CHUNK_BITS) - 1)) * WORDS;
  }
}
