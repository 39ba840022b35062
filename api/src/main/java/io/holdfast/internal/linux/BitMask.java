package io.holdfast.internal.linux;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;

/**
 * Node and CPU masks as the kernel takes them: an array of 64-bit words, bit {@code n % 64} of word
 * {@code n / 64} for number {@code n}.
 *
 * @param words the words in the kernel's form, whole
 */
record BitMask(MemorySegment words) {
  // Above what any kernel can take (a page of bits, 64 KiB pages): more is a mistake, not a node.
  private static final int MOST_BITS = 64 * 1024 * Byte.SIZE;

  /**
   * Encodes numbers in the fewest words that hold the highest; no numbers are no words, which the
   * calls want as a null pointer.
   *
   * @throws IllegalArgumentException for a number that is negative or beyond any kernel
   */
  static BitMask of(Set<Integer> numbers, Arena arena) {
    if (numbers.isEmpty()) {
      return new BitMask(MemorySegment.NULL);
    }
    for (int number : numbers) {
      if (number < 0 || number >= MOST_BITS) {
        throw new IllegalArgumentException("No kernel has a node or CPU " + number + ".");
      }
    }
    BitMask mask = ofBits(Collections.max(numbers) + 1, arena);
    for (int number : numbers) {
      long word = number / Long.SIZE;
      long bits = mask.words.getAtIndex(JAVA_LONG, word) | 1L << (number % Long.SIZE);
      mask.words.setAtIndex(JAVA_LONG, word, bits);
    }
    return mask;
  }

  /** Makes an empty mask of at least so many bits, for the kernel to fill. */
  static BitMask ofBits(int bits, Arena arena) {
    return new BitMask(arena.allocate(JAVA_LONG, Math.ceilDiv(bits, Long.SIZE)));
  }

  /**
   * The {@code maxnode} argument of the memory policy calls: one more than the bits, because the
   * kernel subtracts one before it counts them (mm/mempolicy.c, get_nodes); 0 for no mask.
   */
  long maxnode() {
    return words.byteSize() == 0 ? 0 : words.byteSize() * Byte.SIZE + 1;
  }

  /** Decodes the numbers, in order. */
  Set<Integer> numbers() {
    Set<Integer> numbers = new TreeSet<>();
    for (long word = 0; word < words.byteSize() / Long.BYTES; word++) {
      long bits = words.getAtIndex(JAVA_LONG, word);
      while (bits != 0) {
        numbers.add((int) (word * Long.SIZE) + Long.numberOfTrailingZeros(bits));
        bits &= bits - 1;
      }
    }
    return numbers;
  }
}
