package io.holdfast.internal.slots;

import static io.holdfast.internal.slots.SlotWords.LEASES;
import static io.holdfast.internal.slots.SlotWords.READER;
import static io.holdfast.internal.slots.SlotWords.WRITER;

import io.holdfast.copy.BlockCopies;
import io.holdfast.error.BusyException;
import io.holdfast.internal.tree.Standing;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.layout.Plane;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.NotReadyException;
import io.holdfast.pin.SlotLease;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.StreamHandle;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Slots in memory that devices can reach, and who uses each of them.
 *
 * <p>Every slot remembers the last copy that writes it and the last that reads it, as a ticket: the
 * lane's number and the submission's number in that lane. A lane's submissions end in order, so one
 * ticket of each kind is enough: a copy waits, on the device, for the tickets that conflict with it
 * and leaves its own in their place. A second lane that reads a slot waits for the first lane's
 * read, since the slot has room for one reader's ticket.
 *
 * <p>A lane claims the slots of a submission under {@link #lock}, so two lanes see the slots of two
 * submissions in the same order. Two calls of {@link #of} with one memory and equal layouts give
 * the same slots; slots of different layouts in one memory do not know of each other.
 */
public final class HostSlots implements HostBlocks, LeaseDesk {
  private static final int LANE_SHIFT = 48;
  private static final long SEQUENCE_MASK = (1L << LANE_SHIFT) - 1;
  private static final int MOST_LANES = 1 << 15;
  private static final long LEASED_FOR_WRITING = -1;

  /** Weak on both ends: the slots live as long as the memory, in whose tree they are enrolled. */
  private static final Map<SlotMemory, List<WeakReference<HostSlots>>> KNOWN = new WeakHashMap<>();

  private final SlotMemory memory;
  private final BlockLayout layout;
  private final long slots;
  private final long extentBytes;
  private final SlotWords words;
  private final Place place;
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by the lock.
  private @Nullable CopyLane[] lanes = new CopyLane[4];
  private long[] lastSequences = new long[4];
  private int laneNumbers;

  /** The tickets that the claim at hand replaced, pair by pair. */
  private long[] replaced = new long[64];

  private boolean shut;
  private final Set<Lease> leases = new LinkedHashSet<>();

  private volatile Ready ready = new Ready(-1, 0);

  /** How many slots lie below a watermark; remembered because the watermark seldom moves. */
  private record Ready(long watermarkBytes, long slots) {}

  private HostSlots(SlotMemory memory, BlockLayout layout) {
    this.memory = memory;
    this.layout = layout;
    this.slots = layout.blocks();
    this.extentBytes = layout.extentBytes();
    this.words = new SlotWords(slots);
    this.place = new Place(this);
  }

  /**
   * Slots in memory that devices can reach.
   *
   * @param memory pinned, or being pinned
   * @param layout from its start
   * @return the slots; the same again for the same memory and an equal layout
   * @throws IllegalArgumentException when the layout reaches beyond the logical bytes
   * @throws IllegalStateException when the memory is closed
   */
  public static HostSlots of(SlotMemory memory, BlockLayout layout) {
    if (layout.extentBytes() > memory.logicalBytes()) {
      throw new IllegalArgumentException(
          "the layout reaches to byte "
              + layout.extentBytes()
              + ", the memory has "
              + memory.logicalBytes());
    }
    memory.standing().requireOpen();
    synchronized (KNOWN) {
      List<WeakReference<HostSlots>> known = KNOWN.computeIfAbsent(memory, _ -> new ArrayList<>());
      known.removeIf(reference -> reference.get() == null);
      for (WeakReference<HostSlots> reference : known) {
        HostSlots one = reference.get();
        if (one != null && one.layout.equals(layout)) {
          return one;
        }
      }
      HostSlots made = new HostSlots(memory, layout);
      made.place.enrol();
      known.add(new WeakReference<>(made));
      return made;
    }
  }

  /**
   * The memory they lie in.
   *
   * @return pinned memory
   */
  public SlotMemory memory() {
    return memory;
  }

  /**
   * How they lie, from the memory's start.
   *
   * @return the layout
   */
  @Override
  public BlockLayout layout() {
    return layout;
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
  public BlockShape shape() {
    return layout.shape();
  }

  @Override
  public long slots() {
    return slots;
  }

  @Override
  public long readySlots() {
    long watermark = memory.watermarkBytes();
    Ready known = ready;
    if (known.watermarkBytes != watermark) {
      known = new Ready(watermark, slotsBelow(watermark));
      ready = known;
    }
    return known.slots;
  }

  private long slotsBelow(long watermark) {
    if (watermark >= extentBytes) {
      return slots;
    }
    long least = slots;
    for (Plane plane : layout.planes()) {
      long room = watermark - plane.offsetBytes() - plane.blockBytes();
      least = room < 0 ? 0 : Math.min(least, room / plane.strideBytes() + 1);
    }
    return least;
  }

  @Override
  public void awaitSlots(long wanted) {
    if (wanted < 0 || wanted > slots) {
      throw new IndexOutOfBoundsException(wanted + " slots of " + slots);
    }
    place.requireOpen();
    if (wanted <= readySlots()) {
      return;
    }
    long bytes = 0;
    for (Plane plane : layout.planes()) {
      bytes = Math.max(bytes, plane.blockOffsetBytes(wanted - 1) + plane.blockBytes());
    }
    memory.awaitWatermark(bytes);
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
      if (slot < 0 || slot >= slots) {
        throw new IndexOutOfBoundsException("slot " + slot + " of " + slots);
      }
      if (slot >= readySlots()) {
        throw new NotReadyException(slot, readySlots());
      }
      long[] chunk = words.chunk(slot);
      int first = SlotWords.first(slot);
      long leased = chunk[first + LEASES];
      List<String> holders = new ArrayList<>();
      if (inFlight(chunk[first + WRITER])) {
        holders.add("a store to slot " + slot);
      }
      if (access == Access.WRITE) {
        if (inFlight(chunk[first + READER])) {
          holders.add("a load from slot " + slot);
        }
        if (leased != 0) {
          holders.add(leasesOf(slot, leased));
        }
      } else if (leased == LEASED_FOR_WRITING) {
        holders.add(leasesOf(slot, leased));
      }
      if (!holders.isEmpty()) {
        throw new BusyException("leasing slot " + slot + " for " + access, holders);
      }
      chunk[first + LEASES] = access == Access.WRITE ? LEASED_FOR_WRITING : leased + 1;
      Lease lease = new Lease(this, slot, access);
      leases.add(lease);
      return lease;
    } finally {
      lock.unlock();
    }
  }

  private static String leasesOf(long slot, long leased) {
    return leased == LEASED_FOR_WRITING
        ? "a WRITE lease of slot " + slot
        : leased + (leased == 1 ? " READ lease" : " READ leases") + " of slot " + slot;
  }

  /**
   * Whether no copy works on a slot now. Looks at the device.
   *
   * @param slot which
   * @return false while a store or a load of it is in flight
   */
  public boolean isIdle(long slot) {
    lock.lock();
    try {
      long[] chunk = words.chunk(slot);
      int first = SlotWords.first(slot);
      return !inFlight(chunk[first + WRITER]) && !inFlight(chunk[first + READER]);
    } finally {
      lock.unlock();
    }
  }

  private boolean inFlight(long ticket) {
    CopyLane lane = ticket == 0 ? null : lanes[(int) (ticket >>> LANE_SHIFT)];
    long sequence = ticket & SEQUENCE_MASK;
    return lane != null && lane.completed() < sequence && lane.completedNow() < sequence;
  }

  @Override
  public MemorySegment usable(long offsetBytes, long bytes) {
    return memory.usable(offsetBytes, bytes);
  }

  @Override
  public void giveBack(Lease lease) {
    lock.lock();
    try {
      if (leases.remove(lease)) {
        long[] chunk = words.chunk(lease.slot());
        int leased = SlotWords.first(lease.slot()) + LEASES;
        chunk[leased] = lease.access() == Access.WRITE ? 0 : chunk[leased] - 1;
      }
    } finally {
      lock.unlock();
    }
  }

  // ---- for copy lanes

  /** Before a claim; no other lane claims slots until {@link #unlock}. */
  public void lock() {
    lock.lock();
  }

  /** The other lanes may go on. */
  public void unlock() {
    lock.unlock();
  }

  /**
   * Gives a lane a number.
   *
   * @param lane who will submit copies on these slots
   */
  public void enroll(CopyLane lane) {
    lock.lock();
    try {
      int number = 0;
      while (number < laneNumbers && lanes[number] != null) {
        number++;
      }
      if (number == MOST_LANES) {
        throw new IllegalStateException(MOST_LANES + " lanes copy on " + place.name() + " already");
      }
      if (number == lanes.length) {
        lanes = Arrays.copyOf(lanes, 2 * number);
        lastSequences = Arrays.copyOf(lastSequences, 2 * number);
      }
      lane.begin(number, lastSequences[number]);
      lanes[number] = lane;
      laneNumbers = Math.max(laneNumbers, number + 1);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Forgets a lane whose copies have all ended.
   *
   * @param number of the lane
   * @param lastSequence the last number it used
   */
  public void withdraw(int number, long lastSequence) {
    lock.lock();
    try {
      lanes[number] = null;
      lastSequences[number] = lastSequence;
    } finally {
      lock.unlock();
    }
  }

  /**
   * How many lanes there can be in {@link #claim}'s answer.
   *
   * @return one more than the highest number; call under the lock
   */
  public int laneNumbers() {
    return laneNumbers;
  }

  /**
   * Checks every pair's slot, finds out for whom the copies must wait, and leaves tickets: from the
   * unlock on others wait for this submission. A refusal leaves everything as it was; one that
   * comes later, under the same lock, is followed by {@link #giveUp}. Call under the lock;
   * allocates nothing once it has seen a claim as large.
   *
   * @param copies the pairs
   * @param use WRITE for a store, READ for a load
   * @param number of the lane that asks
   * @param sequence of the submission in that lane
   * @param waits of at least {@link #laneNumbers} zeros; afterwards per lane the submission to wait
   *     for, or 0
   * @return whether no other lane's copy still writes one of the slots
   */
  public boolean claim(BlockCopies copies, Access use, int number, long sequence, long[] waits) {
    int pairs = copies.pairs();
    if (pairs > replaced.length) {
      replaced = new long[Math.max(pairs, 2 * replaced.length)];
    }
    long ticket = (long) number << LANE_SHIFT | sequence;
    int own = use == Access.READ ? READER : WRITER;
    long readyNow = readySlots();
    boolean settled = true;
    long lastWriter = 0; // neighbours mostly have the same tickets
    long lastReader = 0;
    int pair = 0;
    try {
      for (; pair < pairs; pair++) {
        long slot = copies.hostSlot(pair);
        if (slot < 0 || slot >= readyNow) {
          throw refusal(pair, slot, readyNow);
        }
        long[] chunk = words.chunk(slot);
        int first = SlotWords.first(slot);
        long leased = chunk[first + LEASES];
        if (leased != 0 && (use == Access.WRITE || leased == LEASED_FOR_WRITING)) {
          throw leased(pair, slot, use, leased);
        }
        long writer = chunk[first + WRITER];
        if (writer != lastWriter) {
          settled &= !await(writer, number, waits);
          lastWriter = writer;
        }
        long reader = chunk[first + READER];
        if (reader != lastReader) {
          var _ = await(reader, number, waits);
          lastReader = reader;
        }
        if (use == Access.WRITE && writer == ticket) {
          throw new IllegalArgumentException(
              "pair " + pair + " stores to host slot " + slot + ", as an earlier pair does");
        }
        replaced[pair] = chunk[first + own];
        chunk[first + own] = ticket;
      }
    } catch (Throwable refusal) {
      giveUp(copies, use, pair);
      throw refusal;
    }
    return settled;
  }

  /**
   * The claim just made comes to nothing; all tickets are as before. Call under the lock.
   *
   * @param copies the pairs
   * @param use as they were claimed
   */
  public void giveUp(BlockCopies copies, Access use) {
    giveUp(copies, use, copies.pairs());
  }

  private void giveUp(BlockCopies copies, Access use, int pairs) {
    for (int pair = pairs - 1; pair >= 0; pair--) { // a slot can be read from twice
      long slot = copies.hostSlot(pair);
      int own = SlotWords.first(slot) + (use == Access.READ ? READER : WRITER);
      words.chunk(slot)[own] = replaced[pair];
    }
  }

  private static BusyException leased(int pair, long slot, Access use, long leased) {
    return new BusyException(
        (use == Access.WRITE ? "a store to" : "a load from")
            + " slot "
            + slot
            + " (pair "
            + pair
            + ")",
        List.of(leasesOf(slot, leased)));
  }

  /**
   * Checks that every pair's slot exists and is ready.
   *
   * @param copies the pairs
   */
  public void requireReady(BlockCopies copies) {
    long readyNow = readySlots();
    for (int pair = 0; pair < copies.pairs(); pair++) {
      long slot = copies.hostSlot(pair);
      if (slot < 0 || slot >= readyNow) {
        throw refusal(pair, slot, readyNow);
      }
    }
  }

  /** Whether the copy is in flight on another lane; then that lane is waited for. */
  private boolean await(long ticket, int number, long[] waits) {
    int other = (int) (ticket >>> LANE_SHIFT);
    if (ticket == 0 || other == number) {
      return false; // a lane's own copies follow each other anyway
    }
    long sequence = ticket & SEQUENCE_MASK;
    CopyLane lane = lanes[other];
    if (lane == null || lane.completed() >= sequence) {
      return false;
    }
    waits[other] = Math.max(waits[other], sequence);
    return true;
  }

  private RuntimeException refusal(int pair, long slot, long readyNow) {
    return slot < 0 || slot >= slots
        ? new IndexOutOfBoundsException(
            "pair " + pair + " names host slot " + slot + " of " + slots)
        : new NotReadyException(slot, readyNow, pair);
  }

  /**
   * Makes a stream wait for what {@link #claim} found. Call under the lock.
   *
   * @param waits as claim left it; zeros afterwards
   * @param port of the stream's device
   * @param stream who waits
   */
  public void holdBack(long[] waits, DevicePort port, StreamHandle stream) {
    for (int other = 0; other < laneNumbers; other++) {
      long sequence = waits[other];
      waits[other] = 0;
      CopyLane lane = lanes[other];
      if (sequence != 0 && lane != null) {
        lane.holdBack(port, stream, sequence);
      }
    }
  }

  @Override
  public String toString() {
    return slots + " slots of " + layout.shape().bytes() + " bytes";
  }

  /** Their place in the tree: leases are in the caller's hands, so they refuse a close. */
  private static final class Place extends Standing {
    private final HostSlots slots;

    Place(HostSlots slots) {
      super(slots.toString(), slots.memory.standing());
      this.slots = slots;
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
    protected void release() {}
  }
}
