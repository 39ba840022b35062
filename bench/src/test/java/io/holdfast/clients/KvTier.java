package io.holdfast.clients;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.device.Order;
import io.holdfast.pool.HostPool;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The small KV-offload tier of docs/engine-guide.md: blocks by the hash of their prefix, the least
 * recently used one goes first. One scheduler thread uses it.
 */
final class KvTier {
  // guide: state
  private final HostPool pool;
  private final Map<Long, Long> slotOf = new LinkedHashMap<>(16, 0.75f, true); // oldest first
  private final Deque<Long> free = new ArrayDeque<>();
  private final BlockCopies copies = BlockCopies.withCapacity(256);

  // guide: end

  KvTier(HostPool pool) {
    this.pool = pool;
    for (long slot = 0; slot < pool.slots(); slot++) {
      free.add(slot);
    }
  }

  // guide: match
  /** How many leading blocks of a prompt are here; what is counted is used, hence young again. */
  int match(long[] prefix) {
    int hits = 0;
    while (hits < prefix.length && slotOf.get(prefix[hits]) != null) {
      hits++;
    }
    return hits;
  }

  // guide: end

  // guide: evict
  /** The engine gives device blocks up: what they hold is stored behind the engine's writes. */
  Completion evict(long[] hashes, long[] deviceBlocks, Order written) {
    if (hashes.length > pool.slots()) {
      throw new IllegalArgumentException(hashes.length + " blocks for " + pool.slots() + " slots");
    }
    copies.clear();
    for (int i = 0; i < hashes.length; i++) {
      if (slotOf.get(hashes[i]) == null) {
        long slot = slot();
        slotOf.put(hashes[i], slot);
        copies.add(deviceBlocks[i], slot);
      }
    }
    try {
      return pool.store(copies, written);
    } catch (RuntimeException refused) {
      forget(hashes);
      throw refused;
    }
  }

  /** Blocks whose store failed, or that must not be used again. */
  void forget(long[] hashes) {
    for (long hash : hashes) {
      Long slot = slotOf.remove(hash);
      if (slot != null) {
        free.add(slot);
      }
    }
  }

  /** A free slot, or that of the oldest block. A copy that still reads it goes first by itself. */
  private long slot() {
    Long spare = free.poll();
    if (spare != null) {
      return spare;
    }
    Map.Entry<Long, Long> oldest = slotOf.entrySet().iterator().next();
    slotOf.remove(oldest.getKey());
    return oldest.getValue();
  }

  // guide: end

  // guide: load
  /** Brings the first hits of a prompt into device blocks, before the engine's next kernel. */
  Completion load(long[] prefix, int hits, long[] deviceBlocks, Order.TwoSided order) {
    copies.clear();
    for (int i = 0; i < hits; i++) {
      Long slot = slotOf.get(prefix[i]);
      if (slot == null) {
        throw new IllegalStateException("block " + i + " is not here; match() first");
      }
      copies.add(deviceBlocks[i], slot);
    }
    return pool.load(copies, order);
  }

  // guide: end

  int size() {
    return slotOf.size();
  }
}
