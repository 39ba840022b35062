package io.holdfast.internal.slots;

import io.holdfast.copy.BlockCopies;
import io.holdfast.error.BusyException;
import io.holdfast.host.Hold;
import io.holdfast.host.HostMemory;
import io.holdfast.internal.pin.PinnableMemory;
import io.holdfast.internal.tree.Standing;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.layout.Plane;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.SlotLease;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Slots in memory that no device can reach; the CPU carries their bytes to and from a ring that can
 * be reached.
 *
 * <p>Copies on one slot are ordered here by waiting: a carrier begins when those before it that
 * conflict have ended. Safe from any thread.
 */
public final class UnpinnedSlots implements HostBlocks, LeaseDesk {
  private final BlockLayout layout;
  private final MemorySegment bytes;
  private final Place place;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition ended = lock.newCondition();

  // Guarded by the lock.
  private final Map<Long, Use> uses = new HashMap<>();
  private final Set<Lease> leases = new LinkedHashSet<>();
  private boolean shut;

  /** Who uses one slot now. */
  private static final class Use {
    private int stores;
    private int loads;
    private int readLeases;
    private boolean writeLease;

    private boolean isNone() {
      return stores == 0 && loads == 0 && readLeases == 0 && !writeLease;
    }
  }

  private UnpinnedSlots(Standing device, HostMemory memory, BlockLayout layout) {
    this.layout = layout;
    this.bytes = memory.segment();
    if (memory instanceof PinnableMemory ours) {
      this.place = new Place(this, null, device, ours.standing());
      return;
    }
    // Regions of other page sources stand in no tree, so they are held until the device closes.
    Hold hold = memory.region().hold("staged copies");
    try {
      this.place = new Place(this, hold, device);
    } catch (Throwable failure) {
      hold.close();
      throw failure;
    }
  }

  /**
   * Slots in populated memory.
   *
   * @param device whose engine stages the copies; the slots end with it
   * @param memory not pinned
   * @param layout from its start
   * @return the slots
   * @throws IllegalArgumentException when the layout reaches beyond the logical bytes
   * @throws io.holdfast.host.NotPopulatedException when not every page is there
   */
  public static UnpinnedSlots of(Standing device, HostMemory memory, BlockLayout layout) {
    if (layout.extentBytes() > memory.logicalBytes()) {
      throw new IllegalArgumentException(
          "the layout reaches to byte "
              + layout.extentBytes()
              + ", the memory has "
              + memory.logicalBytes());
    }
    UnpinnedSlots made = new UnpinnedSlots(device, memory, layout);
    try {
      made.place.enrol();
    } catch (Throwable failure) {
      made.place.close(); // gives the hold back
      throw failure;
    }
    return made;
  }

  /**
   * What routes stand on.
   *
   * @return the slots' place in the tree
   */
  public Standing standing() {
    return place;
  }

  @Override
  public BlockLayout layout() {
    return layout;
  }

  @Override
  public MemorySegment usable(long offsetBytes, long byteCount) {
    return bytes.asSlice(offsetBytes, byteCount);
  }

  @Override
  public BlockShape shape() {
    return layout.shape();
  }

  @Override
  public long slots() {
    return layout.blocks();
  }

  @Override
  public long readySlots() {
    return layout.blocks();
  }

  @Override
  public void awaitSlots(long slots) {
    place.requireOpen();
    if (slots < 0 || slots > slots()) {
      throw new IndexOutOfBoundsException(slots + " slots of " + slots());
    }
  }

  // ---- leases

  @Override
  public SlotLease lease(long slot, Access access) {
    lock.lock();
    try {
      place.requireOpen();
      if (shut) {
        throw new IllegalStateException(place.name() + " is closing");
      }
      if (slot < 0 || slot >= slots()) {
        throw new IndexOutOfBoundsException("slot " + slot + " of " + slots());
      }
      Use use = uses.computeIfAbsent(slot, _ -> new Use());
      List<String> holders = new ArrayList<>();
      if (use.stores > 0) {
        holders.add("a store to slot " + slot);
      }
      if (access == Access.WRITE && use.loads > 0) {
        holders.add("a load from slot " + slot);
      }
      if (use.writeLease || (access == Access.WRITE && use.readLeases > 0)) {
        holders.add(leasesOf(slot, use));
      }
      if (!holders.isEmpty()) {
        throw new BusyException(
            "leasing slot " + slot + " for " + access, holders); // use is not none
      }
      if (access == Access.WRITE) {
        use.writeLease = true;
      } else {
        use.readLeases++;
      }
      Lease lease = new Lease(this, slot, access);
      leases.add(lease);
      return lease;
    } finally {
      lock.unlock();
    }
  }

  private static String leasesOf(long slot, Use use) {
    return use.writeLease
        ? "a WRITE lease of slot " + slot
        : use.readLeases
            + (use.readLeases == 1 ? " READ lease of slot " : " READ leases of slot ")
            + slot;
  }

  @Override
  public void giveBack(Lease lease) {
    lock.lock();
    try {
      Use use = uses.get(lease.slot());
      if (leases.remove(lease) && use != null) {
        if (lease.access() == Access.WRITE) {
          use.writeLease = false;
        } else {
          use.readLeases--;
        }
        forgetUnused(lease.slot(), use);
      }
    } finally {
      lock.unlock();
    }
  }

  private void forgetUnused(long slot, Use use) {
    if (use.isNone()) {
      uses.remove(slot);
    }
    ended.signalAll();
  }

  // ---- for staged routes

  /**
   * Takes the slots of all pairs, or none; waits for copies before that conflict.
   *
   * @param copies the pairs
   * @param access WRITE for a store, READ for a load
   * @throws IndexOutOfBoundsException names the first pair out of range
   * @throws IllegalArgumentException names a slot that is stored to twice
   * @throws BusyException while a conflicting lease is out
   */
  public void take(BlockCopies copies, Access access) {
    lock.lock();
    try {
      while (conflicts(copies, access)) {
        ended.awaitUninterruptibly();
      }
      for (int pair = 0; pair < copies.pairs(); pair++) {
        Use use = uses.computeIfAbsent(copies.hostSlot(pair), _ -> new Use());
        if (access == Access.WRITE) {
          use.stores++;
        } else {
          use.loads++;
        }
      }
    } finally {
      lock.unlock();
    }
  }

  private boolean conflicts(BlockCopies copies, Access access) {
    Set<Long> seen = new HashSet<>();
    boolean conflict = false;
    for (int pair = 0; pair < copies.pairs(); pair++) {
      long slot = copies.hostSlot(pair);
      if (slot < 0 || slot >= slots()) {
        throw new IndexOutOfBoundsException(
            "pair " + pair + " names host slot " + slot + " of " + slots());
      }
      if (access == Access.WRITE && !seen.add(slot)) {
        throw new IllegalArgumentException(
            "pair " + pair + " stores to host slot " + slot + ", as an earlier pair does");
      }
      Use use = uses.get(slot);
      if (use == null) {
        continue;
      }
      if (use.writeLease || (access == Access.WRITE && use.readLeases > 0)) {
        throw new BusyException(
            String.format(
                Locale.ROOT,
                "%s slot %d (pair %d)",
                access == Access.WRITE ? "a store to" : "a load from",
                slot,
                pair),
            List.of(leasesOf(slot, use)));
      }
      conflict |= use.stores > 0 || (access == Access.WRITE && use.loads > 0);
    }
    return conflict;
  }

  /**
   * Gives one slot back that was taken.
   *
   * @param slot which
   * @param access for what it was taken
   */
  public void release(long slot, Access access) {
    lock.lock();
    try {
      Use use = uses.get(slot);
      if (use == null) {
        throw new IllegalStateException("slot " + slot + " was not taken");
      }
      if (access == Access.WRITE) {
        use.stores--;
      } else {
        use.loads--;
      }
      forgetUnused(slot, use);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Carries one slot's bytes. The slot is taken.
   *
   * @param slot of these
   * @param other where the parts lie one behind the other
   * @param access WRITE to carry from there to here, READ the other way
   */
  public void carry(long slot, MemorySegment other, Access access) {
    long at = 0;
    for (Plane plane : layout.planes()) {
      long here = plane.blockOffsetBytes(slot);
      if (access == Access.WRITE) {
        MemorySegment.copy(other, at, bytes, here, plane.blockBytes());
      } else {
        MemorySegment.copy(bytes, here, other, at, plane.blockBytes());
      }
      at += plane.blockBytes();
    }
  }

  @Override
  public String toString() {
    return slots() + " unpinned slots of " + layout.shape().bytes() + " bytes";
  }

  /** Their place in the tree: leases are in the caller's hands, so they refuse a close. */
  private static final class Place extends Standing {
    private final UnpinnedSlots slots;
    private final @Nullable Hold hold;

    Place(UnpinnedSlots slots, @Nullable Hold hold, Standing... grounds) {
      super(slots.toString(), grounds);
      this.slots = slots;
      this.hold = hold;
    }

    @Override
    protected void shut() {
      shut(true);
    }

    @Override
    protected void reopen() {
      shut(false);
    }

    private void shut(boolean whether) {
      slots.lock.lock();
      try {
        slots.shut = whether;
      } finally {
        slots.lock.unlock();
      }
    }

    @Override
    protected void refuse(List<String> holders) {
      slots.lock.lock();
      try {
        for (Lease lease : slots.leases) {
          holders.add(lease.toString());
        }
      } finally {
        slots.lock.unlock();
      }
    }

    @Override
    protected void release() {
      if (hold != null) {
        hold.close();
      }
    }
  }
}
