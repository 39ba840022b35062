package io.holdfast.copy;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;

/**
 * Pairs of a device block and a host slot; the same pairs serve a store and a load.
 *
 * <p>Reusable: a submission copies what it needs before it returns. Not for several threads at
 * once. Ids are checked against the two sides at submission, not here.
 */
public final class BlockCopies {
  private long[] deviceBlocks;
  private long[] hostSlots;
  private int pairs;

  private BlockCopies(int capacity) {
    deviceBlocks = new long[capacity];
    hostSlots = new long[capacity];
  }

  /**
   * Begins a short list; the host slots follow in the same order.
   *
   * @param blocks device block ids
   * @return waits for as many slots
   */
  public static Pairing device(long... blocks) {
    long[] copy = blocks.clone();
    return slots -> {
      if (slots.length != copy.length) {
        throw new IllegalArgumentException(
            copy.length + " device blocks but " + slots.length + " host slots");
      }
      return withCapacity(copy.length).addAll(copy, slots);
    };
  }

  /**
   * Empty, with room for that many pairs.
   *
   * @param pairs 0 or more
   * @return the list
   */
  public static BlockCopies withCapacity(int pairs) {
    if (pairs < 0) {
      throw new IllegalArgumentException("capacity " + pairs + " is negative");
    }
    return new BlockCopies(pairs);
  }

  /**
   * Forgets all pairs.
   *
   * @return this
   */
  public BlockCopies clear() {
    pairs = 0;
    return this;
  }

  /**
   * One more pair. Allocates only when the capacity is exceeded.
   *
   * @param deviceBlock device block id
   * @param hostSlot host slot id
   * @return this
   */
  public BlockCopies add(long deviceBlock, long hostSlot) {
    room(1);
    deviceBlocks[pairs] = deviceBlock;
    hostSlots[pairs] = hostSlot;
    pairs++;
    return this;
  }

  /**
   * Many more pairs.
   *
   * @param blocks device block ids
   * @param slots as many host slot ids
   * @return this
   */
  public BlockCopies addAll(int[] blocks, int[] slots) {
    sameLength(blocks.length, slots.length);
    room(blocks.length);
    for (int i = 0; i < blocks.length; i++) {
      deviceBlocks[pairs + i] = blocks[i];
      hostSlots[pairs + i] = slots[i];
    }
    pairs += blocks.length;
    return this;
  }

  /**
   * Many more pairs.
   *
   * @param blocks device block ids
   * @param slots as many host slot ids
   * @return this
   */
  public BlockCopies addAll(long[] blocks, long[] slots) {
    sameLength(blocks.length, slots.length);
    room(blocks.length);
    System.arraycopy(blocks, 0, deviceBlocks, pairs, blocks.length);
    System.arraycopy(slots, 0, hostSlots, pairs, slots.length);
    pairs += blocks.length;
    return this;
  }

  /**
   * Many more pairs, from ids in memory.
   *
   * @param blocks device block ids, in the platform's byte order
   * @param slots as many host slot ids
   * @param width of each id
   * @return this
   */
  public BlockCopies addAll(MemorySegment blocks, MemorySegment slots, IdWidth width) {
    Objects.requireNonNull(width, "width");
    long idBytes = width == IdWidth.INT ? Integer.BYTES : Long.BYTES;
    if (blocks.byteSize() != slots.byteSize() || blocks.byteSize() % idBytes != 0) {
      throw new IllegalArgumentException(
          blocks.byteSize()
              + " bytes of device blocks and "
              + slots.byteSize()
              + " bytes of host slots are not equally many ids of "
              + idBytes
              + " bytes");
    }
    int more = Math.toIntExact(blocks.byteSize() / idBytes);
    room(more);
    for (int i = 0; i < more; i++) {
      long at = i * idBytes;
      if (width == IdWidth.INT) {
        deviceBlocks[pairs + i] = blocks.get(JAVA_INT_UNALIGNED, at);
        hostSlots[pairs + i] = slots.get(JAVA_INT_UNALIGNED, at);
      } else {
        deviceBlocks[pairs + i] = blocks.get(JAVA_LONG_UNALIGNED, at);
        hostSlots[pairs + i] = slots.get(JAVA_LONG_UNALIGNED, at);
      }
    }
    pairs += more;
    return this;
  }

  /**
   * One pair's device block.
   *
   * @param pair 0 to {@link #pairs()} - 1
   * @return the id
   */
  public long deviceBlock(int pair) {
    return deviceBlocks[Objects.checkIndex(pair, pairs)];
  }

  /**
   * One pair's host slot.
   *
   * @param pair 0 to {@link #pairs()} - 1
   * @return the id
   */
  public long hostSlot(int pair) {
    return hostSlots[Objects.checkIndex(pair, pairs)];
  }

  /**
   * How many pairs.
   *
   * @return pairs
   */
  public int pairs() {
    return pairs;
  }

  @Override
  public String toString() {
    return pairs + " pairs of device block and host slot";
  }

  private void room(int more) {
    int needed = Math.addExact(pairs, more);
    if (needed > deviceBlocks.length) {
      int capacity = Math.max(needed, (int) Math.min(Integer.MAX_VALUE - 8L, 2L * pairs));
      deviceBlocks = Arrays.copyOf(deviceBlocks, capacity);
      hostSlots = Arrays.copyOf(hostSlots, capacity);
    }
  }

  private static void sameLength(int blocks, int slots) {
    if (blocks != slots) {
      throw new IllegalArgumentException(blocks + " device blocks but " + slots + " host slots");
    }
  }

  /** The second half of a short list. */
  public interface Pairing {
    /**
     * The host slots, in the order of the device blocks.
     *
     * @param slots as many as there are device blocks
     * @return the pairs
     */
    BlockCopies host(long... slots);
  }

  /** Width of ids in memory. */
  public enum IdWidth {
    /** 32 bits. */
    INT,
    /** 64 bits. */
    LONG
  }
}
