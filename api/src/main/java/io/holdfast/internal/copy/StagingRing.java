package io.holdfast.internal.copy;

import io.holdfast.error.BusyException;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.pin.HostAddresses;
import io.holdfast.internal.slots.HostSlots;
import io.holdfast.internal.slots.SlotMemory;
import io.holdfast.internal.tree.Standing;
import io.holdfast.internal.tree.UseCount;
import io.holdfast.layout.BlockShape;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Pinned memory through which copies of unpinned slots go: as many places for a block as fit. A
 * place belongs to one copy from {@link #take} to {@link #giveBack}. Safe from any thread.
 */
final class StagingRing implements SlotMemory {
  /** Enough to keep a link busy while the CPU carries: a millisecond of 50 GB/s is 50 MB. */
  private static final long AIMED_BYTES = 32L << 20;

  private final Scratch scratch;
  private final HostSlots places;
  private final UseCount uses = new UseCount();
  private final Place place;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition given = lock.newCondition();
  private final int[] free;
  private int freeCount;

  private StagingRing(CoreDevice device, Standing slots, BlockShape shape, int count) {
    this.scratch = Scratch.pinned(device, shape.blockMajor(count).extentBytes());
    try {
      this.place = new Place(this, device, slots);
      place.enrol(); // a close asks for no more than what is there by now
    } catch (Throwable failure) {
      scratch.free();
      throw failure;
    }
    try {
      this.places = HostSlots.of(this, shape.blockMajor(count));
    } catch (Throwable failure) {
      place.close();
      throw failure;
    }
    this.free = new int[count];
    for (int each = 0; each < count; each++) {
      free[each] = count - 1 - each;
    }
    this.freeCount = count;
  }

  /**
   * Allocates and pins. Blocks.
   *
   * @param device who reaches it first
   * @param slots what the ring serves; closing that closes the ring
   * @param shape of the blocks
   * @param blocks no more places than this are of use
   * @return the ring
   */
  static StagingRing open(CoreDevice device, Standing slots, BlockShape shape, long blocks) {
    long fit = Math.max(2, AIMED_BYTES / shape.bytes());
    return new StagingRing(device, slots, shape, (int) Math.min(fit, Math.max(1, blocks)));
  }

  /** The places, as slots of an ordinary route. */
  HostSlots places() {
    return places;
  }

  /** How many places there are. */
  int count() {
    return free.length;
  }

  /** Entered by each submission, left when its last byte is carried. */
  UseCount uses() {
    return uses;
  }

  /** Closes what copies through it, then frees it. */
  void close() {
    place.close();
  }

  /** Takes up to that many places; waits until there is one. */
  int take(int[] into, int most) {
    lock.lock();
    try {
      while (freeCount == 0) {
        given.awaitUninterruptibly();
      }
      int taken = Math.min(most, freeCount);
      for (int each = 0; each < taken; each++) {
        into[each] = free[--freeCount];
      }
      return taken;
    } finally {
      lock.unlock();
    }
  }

  void giveBack(int one) {
    lock.lock();
    try {
      free[freeCount++] = one;
      given.signal();
    } finally {
      lock.unlock();
    }
  }

  /** Gives a place back once no copy works on it; a device always ends. */
  void giveBackWhenIdle(int one) {
    while (!places.isIdle(one)) {
      LockSupport.parkNanos(this, 50_000);
    }
    giveBack(one);
  }

  /** One place's bytes, the parts one behind the other. */
  MemorySegment bytes(int one) {
    long blockBytes = places.shape().bytes();
    return scratch.segment().asSlice(one * blockBytes, blockBytes);
  }

  @Override
  public Standing standing() {
    return place;
  }

  @Override
  public long logicalBytes() {
    return scratch.segment().byteSize();
  }

  @Override
  public long watermarkBytes() {
    return scratch.segment().byteSize();
  }

  @Override
  public void awaitWatermark(long bytes) {}

  @Override
  public HostAddresses addressesOn(CoreDevice asker) {
    long end = logicalBytes();
    long address = scratch.seenBy(asker).address();
    return new HostAddresses() {
      @Override
      public int rangeOf(long offsetBytes) {
        return 0;
      }

      @Override
      public long endOf(int range) {
        return end;
      }

      @Override
      public long shiftOf(int range) {
        return address;
      }
    };
  }

  @Override
  public MemorySegment usable(long offsetBytes, long bytes) {
    return scratch.segment().asSlice(offsetBytes, bytes);
  }

  /** Its place in the tree. */
  private static final class Place extends Standing {
    private final StagingRing ring;
    private final CoreDevice device;

    Place(StagingRing ring, CoreDevice device, Standing slots) {
      super(
          "staging ring of " + ring.scratch.segment().byteSize() + " bytes",
          device.standing(),
          slots);
      this.ring = ring;
      this.device = device;
    }

    @Override
    protected void shut() {
      ring.uses.shut();
    }

    @Override
    protected void reopen() {
      ring.uses.reopen();
    }

    @Override
    protected void quiesce() {
      if (!ring.uses.awaitUnused(TimeUnit.MINUTES.toNanos(1))) {
        throw new BusyException(
            "closing " + name(), List.of(ring.uses.uses() + " staged copies that do not end"));
      }
    }

    @Override
    protected void release() {
      device.workers().run(ring.scratch::free);
    }
  }
}
