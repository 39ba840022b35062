package io.holdfast.internal.extensible;

import io.holdfast.device.Census;
import io.holdfast.device.CommittedExtent;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DevicePlane;
import io.holdfast.device.DeviceSegment;
import io.holdfast.device.DmaBufExport;
import io.holdfast.device.ExportedRegion;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.HandleKind;
import io.holdfast.device.NotFinalException;
import io.holdfast.device.Order;
import io.holdfast.device.RegionChange;
import io.holdfast.device.RegionChange.Kind;
import io.holdfast.device.ReservedExtent;
import io.holdfast.device.StaleException;
import io.holdfast.device.Subscription;
import io.holdfast.error.BusyException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.event.Activity;
import io.holdfast.internal.Segment;
import io.holdfast.internal.SegmentOwner;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.event.Extent;
import io.holdfast.internal.event.Geometries;
import io.holdfast.internal.event.Journal;
import io.holdfast.internal.tree.Standing;
import io.holdfast.internal.tree.UseCount;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * An extensible region over one {@link Backing}.
 *
 * <p>One lock lets one change go on at a time. Everything that is only asked is one immutable
 * {@link Now}, replaced when a change is done. A change that takes pages away shuts the gate that
 * copies go through, lets those in flight end, lets the device pass the caller's last use, and
 * opens the gate again whatever happened.
 */
final class StandardRegion extends Standing implements ExtensibleRegion {
  private static final long PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(1);

  private final CoreDevice device;
  private final BlockShape shape;
  private final SegmentPlan plan;
  private final Backing backing;
  private final ChangeStream stream;
  private final ReservedExtent reserved;
  private final Extent recorded;
  private final UseCount uses = new UseCount();
  private final Listeners listeners = new Listeners();
  private final List<Standing> exports = new CopyOnWriteArrayList<>();
  private final CompletableFuture<CommittedExtent> finalExtent = new CompletableFuture<>();
  private final ReentrantLock changes = new ReentrantLock();
  private volatile Now now;

  /** Blocks that waking brings back. Guarded by {@link #changes}. */
  private long asleep;

  /** Whether the size is final. Guarded by {@link #changes}. */
  private boolean sealed;

  /** Whether {@link #changes} is locked by a close. Guarded by itself. */
  private boolean closing;

  StandardRegion(
      CoreDevice device,
      BlockLayout capacity,
      SegmentPlan plan,
      Backing backing,
      ChangeStream stream) {
    super(
        String.format(
            Locale.ROOT,
            "extensible region for %d blocks of %d bytes at 0x%x",
            plan.capacity(),
            capacity.shape().bytes(),
            backing.address(0)),
        device.standing());
    this.device = device;
    this.shape = capacity.shape();
    this.recorded =
        new Extent(Geometries.text(shape), plan.capacity(), Geometries.arrangement(capacity));
    this.plan = plan;
    this.backing = backing;
    this.stream = stream;
    this.reserved = ReservedExtent.ofBytes(plan.reservedBytes());
    this.now = look(State.RESERVED, 0, new Era(this, 0));
  }

  /** What can be asked without waiting for a change. */
  private record Now(State state, long blocks, Era era, CommittedExtent extent, Census census) {
    long epoch() {
      return era.epoch;
    }
  }

  private Now look(State state, long blocks, Era era) {
    long physicalBytes = backing.physicalBytes();
    return new Now(
        state,
        blocks,
        era,
        new CommittedExtent(blocks, blocks * shape.bytes(), physicalBytes),
        new Census(
            backing.handlesPerSegment(),
            physicalBytes + backing.owedBytes(),
            backing.rdmaCapable(),
            backing.notes()));
  }

  // ---- what is

  @Override
  public DeviceInfo device() {
    return device.info();
  }

  @Override
  public BlockShape shape() {
    return shape;
  }

  @Override
  public long count() {
    return now.blocks;
  }

  @Override
  public DevicePlane plane(int part) {
    requireOpen();
    Now at = now;
    return plane(part, at.blocks, at.era);
  }

  private DevicePlane plane(int part, long blocks, Era era) {
    SegmentPlan.Part where = plan.parts().get(Objects.checkIndex(part, plan.parts().size()));
    return new DevicePlane(
        new Segment(
            device.info(),
            backing.address(where.segment()) + where.offsetBytes(),
            plan.planeBytes(part, blocks),
            era),
        plan.segments().get(where.segment()).strideBytes());
  }

  @Override
  public DeviceBlocks first(long blocks) {
    requireOpen();
    Now at = now;
    if (blocks < 1 || blocks > at.blocks) {
      throw new IllegalArgumentException(
          blocks + " blocks are not between 1 and the " + at.blocks + " that can be used");
    }
    return new FixedView(this, blocks, at.era);
  }

  @Override
  public State state() {
    return now.state;
  }

  @Override
  public ReservedExtent reserved() {
    return reserved;
  }

  @Override
  public CommittedExtent committed() {
    return now.extent;
  }

  @Override
  public long epoch() {
    return now.epoch();
  }

  @Override
  public Census census() {
    return now.census;
  }

  @Override
  public CompletableFuture<CommittedExtent> whenFinal() {
    return finalExtent.copy();
  }

  @Override
  public Subscription beforeChange(Consumer<RegionChange> listener) {
    requireOpen();
    return listeners.add(Objects.requireNonNull(listener, "listener"));
  }

  // ---- changes

  @Override
  public CommittedExtent commit(long blocks) {
    requireWithinCapacity(blocks);
    begin("committing blocks");
    try {
      Now before = requireAwake("committing blocks");
      if (blocks <= before.blocks) {
        return before.extent;
      }
      if (before.state == State.SEALED) {
        throw sealedAlready(before, blocks);
      }
      return told(Activity.COMMIT, "", () -> grow(State.COMMITTED, blocks));
    } finally {
      changes.unlock();
    }
  }

  @Override
  public CommittedExtent shrink(long blocks, Order.After lastUse) {
    Objects.requireNonNull(lastUse, "lastUse");
    begin("shrinking");
    try {
      Now before = requireAwake("shrinking");
      if (blocks < 1 || blocks > before.blocks) {
        throw new IllegalArgumentException(
            blocks + " blocks are not between 1 and the " + before.blocks + " committed");
      }
      if (blocks == before.blocks) {
        return before.extent;
      }
      if (before.state == State.SEALED) {
        throw sealedAlready(before, blocks);
      }
      return told(
          Activity.COMMIT,
          "",
          () ->
              exchange(
                  Kind.EXCHANGE,
                  "shrinking",
                  lastUse,
                  State.COMMITTED,
                  blocks,
                  () -> backing.shrink(before.blocks, blocks)));
    } finally {
      changes.unlock();
    }
  }

  @Override
  public CommittedExtent consolidate(Contents contents, Order.After lastUse) {
    Objects.requireNonNull(contents, "contents");
    Objects.requireNonNull(lastUse, "lastUse");
    begin("consolidating");
    try {
      Now before = requireAwake("consolidating");
      if (before.blocks == 0 || backing.isConsolidated(before.blocks)) {
        return before.extent;
      }
      return told(
          Activity.CONSOLIDATE,
          contents.name(),
          () ->
              exchange(
                  Kind.EXCHANGE,
                  "consolidating",
                  lastUse,
                  before.state,
                  before.blocks,
                  () -> backing.consolidate(before.blocks, before.blocks, contents)));
    } finally {
      changes.unlock();
    }
  }

  @Override
  public CommittedExtent seal(long finalBlocks, Contents contents, Order.After lastUse) {
    requireWithinCapacity(finalBlocks);
    Objects.requireNonNull(contents, "contents");
    Objects.requireNonNull(lastUse, "lastUse");
    CommittedExtent extent;
    begin("sealing");
    try {
      extent = told(Activity.SEAL, contents.name(), () -> sealed(finalBlocks, contents, lastUse));
    } finally {
      changes.unlock();
    }
    finalExtent.complete(extent); // dependents may export: the lock is free
    return extent;
  }

  private CommittedExtent sealed(long blocks, Contents contents, Order.After lastUse) {
    Now before = requireAwake("sealing");
    if (before.state == State.SEALED && blocks != before.blocks) {
      throw sealedAlready(before, blocks);
    }
    if (blocks < before.blocks) {
      throw new IllegalArgumentException(
          String.format(
              Locale.ROOT,
              "sealing at %d blocks would take away %d committed ones; shrink first",
              blocks,
              before.blocks - blocks));
    }
    boolean exchanges =
        before.blocks > 0 && backing.isForOthers() && !backing.isConsolidated(blocks);
    CommittedExtent extent =
        exchanges
            ? exchange(
                Kind.EXCHANGE,
                "sealing",
                lastUse,
                State.SEALED,
                blocks,
                () -> backing.consolidate(before.blocks, blocks, contents))
            : blocks > before.blocks
                ? grow(State.SEALED, blocks)
                : publish(State.SEALED, blocks, before.era);
    sealed = true;
    return extent;
  }

  @Override
  public void releasePhysical(Order.After lastUse) {
    Objects.requireNonNull(lastUse, "lastUse");
    begin("releasing physical memory");
    try {
      Now before = now;
      if (before.blocks > 0) {
        backing.requireReleasable();
        asleep = before.blocks;
        told(
            Activity.SLEEP,
            "",
            () ->
                exchange(
                    Kind.RELEASE,
                    "releasing physical memory",
                    lastUse,
                    State.RELEASED,
                    0,
                    backing::release));
      } else if (backing.owedBytes() > 0) {
        settle(onPlatformThread(backing::release), before.state, 0, before.era); // offers it again
      }
    } finally {
      changes.unlock();
    }
  }

  @Override
  public void recommit() {
    begin("waking");
    try {
      Now before = now;
      if (before.state == State.RELEASED) {
        told(Activity.WAKE, "", () -> wake(before));
      }
    } finally {
      changes.unlock();
    }
  }

  private CommittedExtent wake(Now before) {
    listeners.tell(new RegionChange(Kind.RECOMMIT, before.epoch()));
    Outcome outcome = onPlatformThread(() -> backing.wake(asleep));
    return settle(outcome, sealed ? State.SEALED : State.COMMITTED, asleep, before.era);
  }

  /** Counts a change, whatever becomes of it. */
  private <T> T told(Activity activity, String detail, Supplier<T> change) {
    Journal journal = device.journal();
    Object begun = journal.begin(activity);
    long bytesBefore = now.extent.physicalBytes();
    long from = System.nanoTime();
    try {
      T result = change.get();
      Now at = now;
      long bytes = activity == Activity.SLEEP ? bytesBefore : at.extent.physicalBytes();
      long nanos = System.nanoTime() - from;
      journal.changed(activity, begun, this, recorded, detail, at.blocks, bytes, at.epoch(), nanos);
      return result;
    } catch (RuntimeException | Error failure) {
      journal.failed(activity, begun, this, System.nanoTime() - from, failure);
      throw failure;
    }
  }

  /** New pages behind the old ones: copies go on, and views stay good. */
  private CommittedExtent grow(State after, long blocks) {
    Now before = now;
    listeners.tell(new RegionChange(Kind.GROW, before.epoch()));
    Outcome outcome = onPlatformThread(() -> backing.grow(before.blocks, blocks));
    return settle(outcome, after, blocks, before.era);
  }

  /** Pages go, or others come: nobody may be at them. */
  private CommittedExtent exchange(
      Kind kind,
      String operation,
      Order.After lastUse,
      State after,
      long blocks,
      Supplier<Outcome> pages) {
    Now before = now;
    List<String> holders = exports.stream().map(Standing::name).toList();
    if (!holders.isEmpty()) {
      throw new BusyException(operation, holders);
    }
    Era next = new Era(this, before.epoch() + 1);
    listeners.tell(new RegionChange(kind, next.epoch));
    uses.shut();
    try {
      awaitCopies(operation);
      Outcome outcome =
          onPlatformThread(
              () -> {
                stream.awaitLastUse(lastUse);
                return pages.get();
              });
      return settle(outcome, after, blocks, next);
    } finally {
      uses.reopen();
    }
  }

  private void awaitCopies(String operation) {
    if (!uses.awaitUnused(PATIENCE_NANOS)) {
      throw new BusyException(operation, List.of(uses.uses() + " copies that do not end"));
    }
  }

  private Outcome onPlatformThread(Supplier<Outcome> change) {
    return device.workers().call(change);
  }

  private CommittedExtent settle(Outcome outcome, State after, long blocks, Era era) {
    Now before = now;
    return switch (outcome) {
      case Outcome.Done() -> publish(after, blocks, era);
      case Outcome.Refused(Throwable why) -> {
        publish(before.state, before.blocks, before.era); // with new notes
        throw thrown(why);
      }
      case Outcome.Exchanged(Throwable why) -> {
        publish(before.state, before.blocks, new Era(this, before.epoch() + 1));
        throw thrown(why);
      }
      case Outcome.Lost(Throwable why) -> {
        asleep = before.blocks;
        publish(State.RELEASED, 0, new Era(this, before.epoch() + 1));
        throw thrown(why);
      }
    };
  }

  private static RuntimeException thrown(Throwable why) {
    if (why instanceof Error error) {
      throw error;
    }
    return (RuntimeException) why;
  }

  private CommittedExtent publish(State state, long blocks, Era era) {
    Now after = look(state, blocks, era);
    now = after;
    return after.extent;
  }

  // ---- who may

  private void begin(String operation) {
    if (changes.isHeldByCurrentThread()) {
      throw new IllegalStateException(
          operation + " is not possible while listeners are told of a change of " + name());
    }
    changes.lock();
    try {
      requireOpen();
    } catch (IllegalStateException closed) {
      changes.unlock();
      throw closed;
    }
  }

  private void requireWithinCapacity(long blocks) {
    if (blocks < 1 || blocks > plan.capacity()) {
      throw new IllegalArgumentException(
          blocks + " blocks are not between 1 and the capacity of " + plan.capacity());
    }
  }

  private Now requireAwake(String operation) {
    Now at = now;
    if (at.state == State.RELEASED) {
      throw new IllegalStateException(
          operation + ": " + name() + " sleeps; recommit() wakes its " + asleep + " blocks");
    }
    return at;
  }

  private IllegalStateException sealedAlready(Now at, long blocks) {
    return new IllegalStateException(
        String.format(
            Locale.ROOT,
            "%s is sealed at %d blocks and cannot have %d",
            name(),
            at.blocks,
            blocks));
  }

  // ---- sharing

  @Override
  public ExportedRegion export(HandleKind kind) {
    Objects.requireNonNull(kind, "kind");
    String operation = "exporting by " + kind;
    begin(operation);
    try {
      PagedBacking paged = requireFinalPages(operation);
      if (!paged.form().form().exports().contains(kind)) {
        throw new UnsupportedException(
            operation,
            paged.form().notes().isEmpty()
                ? "the memory was not created for it"
                : "the memory was not created for it: " + String.join("; ", paged.form().notes()),
            "Reserve with shareable(Demand.REQUIRE), where the device has that kind of handle");
      }
      for (int segment = 0; segment < plan.segments().size(); segment++) {
        requireOneAllocation(operation, paged, segment);
      }
      Now at = now;
      return told(
          Activity.EXPORT,
          kind.name(),
          () ->
              device
                  .workers()
                  .call(() -> StandardExport.open(this, paged, kind, at.epoch(), at.blocks)));
    } finally {
      changes.unlock();
    }
  }

  @Override
  public DmaBufExport exportDmaBuf(DeviceSegment range) {
    String operation = "exporting a dma-buf";
    if (!(((Segment) range).owner() instanceof Era era) || era.region != this) {
      throw new IllegalArgumentException(range + " is not memory of " + name());
    }
    if (range.byteSize() == 0) {
      throw new IllegalArgumentException("a dma-buf has at least one byte");
    }
    begin(operation);
    try {
      PagedBacking paged = requireFinalPages(operation);
      if (paged.vmm().port().dmaBuf().isEmpty()) {
        throw new UnsupportedException(
            operation, "the driver exports no dma-bufs here", "Use a driver and kernel that do");
      }
      long address = range.rawAddress(); // refuses a stale range
      int segment = segmentAt(paged, address);
      requireOneAllocation(operation, paged, segment);
      return device
          .workers()
          .call(() -> StandardDmaBuf.open(this, paged, segment, address, range.byteSize()));
    } finally {
      changes.unlock();
    }
  }

  private int segmentAt(PagedBacking paged, long address) {
    for (int segment = 0; segment < plan.segments().size(); segment++) {
      long offset = address - paged.address(segment);
      if (offset >= 0 && offset < plan.reservedBytes(segment)) {
        return segment;
      }
    }
    throw new AssertionError("no segment has 0x" + Long.toHexString(address));
  }

  /** Handles for others exist only of pages that stay. */
  private PagedBacking requireFinalPages(String operation) {
    if (!sealed) {
      throw new NotFinalException(operation, now.state);
    }
    requireAwake(operation);
    if (!(backing instanceof PagedBacking paged)) {
      throw new UnsupportedException(
          operation,
          String.join("; ", backing.notes()),
          "Use a driver with virtual memory for this device");
    }
    return paged;
  }

  private static void requireOneAllocation(String operation, PagedBacking paged, int segment) {
    int handles = paged.handlesPerSegment().get(segment);
    if (handles != 1) {
      throw new UnsupportedException(
          operation,
          "segment "
              + segment
              + " has "
              + handles
              + " physical allocations, and a handle names one",
          "Consolidate the region first");
    }
  }

  CoreDevice core() {
    return device;
  }

  SegmentPlan plan() {
    return plan;
  }

  void opened(Standing export) {
    exports.add(export);
  }

  void ended(Standing export) {
    exports.remove(export);
  }

  // ---- the end

  @Override
  protected void shut() {
    if (changes.isHeldByCurrentThread()) {
      throw new IllegalStateException(
          "closing is not possible while listeners are told of a change of " + name());
    }
    if (!lockPatiently()) {
      throw new BusyException("closing " + name(), List.of("a change of its pages"));
    }
    closing = true;
    uses.shut();
  }

  /** Not for ever: a listener can be closing something that stands on this. */
  private boolean lockPatiently() {
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return changes.tryLock(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException _) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  protected void reopen() {
    if (changes.isHeldByCurrentThread() && closing) {
      closing = false;
      uses.reopen();
      changes.unlock();
    }
  }

  @Override
  protected void quiesce() {
    awaitCopies("closing " + name());
  }

  @Override
  protected void detach() {
    listeners.tell(new RegionChange(Kind.CLOSE, now.epoch() + 1));
  }

  @Override
  protected void release() {
    try {
      Era last = new Era(this, now.epoch() + 1);
      try {
        device
            .workers()
            .run(
                () -> {
                  try {
                    backing.close();
                  } finally {
                    stream.close();
                  }
                });
      } finally {
        publish(State.CLOSED, 0, last);
      }
    } finally {
      device.journal().done(Activity.CLOSE, null, this, 0, 0);
      closing = false;
      changes.unlock();
      finalExtent.completeExceptionally(
          new IllegalStateException(name() + " was closed before its size was final"));
    }
  }

  /**
   * Answers for all memory handed out between two exchanges. Allocates nothing while it is good.
   */
  private static final class Era implements SegmentOwner {
    final StandardRegion region;
    final long epoch;

    Era(StandardRegion region, long epoch) {
      this.region = region;
      this.epoch = epoch;
    }

    @Override
    public void requireUsable() {
      region.requireOpen();
      long current = region.now.epoch();
      if (current != epoch) {
        throw new StaleException(epoch, current);
      }
    }

    @Override
    public Standing standing() {
      return region;
    }

    @Override
    public UseCount uses() {
      return region.uses;
    }
  }

  /** The first blocks for as long as their pages are the same. Immutable. */
  private record FixedView(StandardRegion region, long blocks, Era era) implements DeviceBlocks {
    @Override
    public DeviceInfo device() {
      return region.device();
    }

    @Override
    public BlockShape shape() {
      return region.shape;
    }

    @Override
    public long count() {
      era.requireUsable();
      return blocks;
    }

    @Override
    public DevicePlane plane(int part) {
      era.requireUsable();
      return region.plane(part, blocks, era);
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return this == other;
    }

    @Override
    public int hashCode() {
      return System.identityHashCode(this);
    }

    @Override
    public String toString() {
      return "the first " + blocks + " blocks of " + region.name() + " in epoch " + era.epoch;
    }
  }
}
