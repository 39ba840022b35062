package io.holdfast.internal.copy;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyDecision;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.Order;
import io.holdfast.device.StaleException;
import io.holdfast.error.BusyException;
import io.holdfast.internal.SegmentOwner;
import io.holdfast.internal.config.SystemSetting;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.event.CopyEnds;
import io.holdfast.internal.event.Geometries;
import io.holdfast.internal.pin.HostAddresses;
import io.holdfast.internal.slots.HostSlots;
import io.holdfast.internal.tree.Standing;
import io.holdfast.internal.tree.UseCount;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.KernelCopyPort;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A route between device blocks and slots in pinned memory. Safe from any thread. */
final class StandardRoute implements CopyRoute {
  /** No call names more rows, whatever was asked for: drivers have broken above (52 thousand). */
  private static final int MOST_ROWS = 1 << 16;

  /** Tables are not made for less, so that small submissions share one. */
  private static final int FEWEST_ROWS = 1 << 10;

  /** How many rows a kernel's first launch takes; for comparing on a machine. */
  static final String FIRST_ROWS_PROPERTY = "holdfast.copy.firstRows";

  /** Two MiB of 4 KiB blocks, some 40 us of a link: the launch itself takes a fifth of that. */
  private static final int FIRST_ROWS = 512;

  private static final long PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** How long a closing thread leaves looking to the poller. */
  private static final long OWN_LOOK_NANOS = 200_000;

  private final CoreDevice core;
  private final DeviceBlocks device;
  private final HostSlots slots;
  private final CopyOptions options;
  private final HostAddresses hostAddresses;
  private final @Nullable BatchCopyPort batch;
  private final @Nullable KernelCopyPort kernel;
  private final PathChooser chooser;
  private final int firstRows =
      (int) SystemSetting.number(FIRST_ROWS_PROPERTY, 1, Integer.MAX_VALUE).orElse(FIRST_ROWS);
  private final long blockBytes;
  private final int shapeParts;
  private final UseCount uses = new UseCount();
  private final LongSupplier inFlight = uses::uses;
  private final Lane stores;
  private final Lane loads;
  private final Place place;
  private volatile @Nullable Geometry geometry;
  private volatile @Nullable CopyEnds ends;
  private volatile boolean severalBlocks;

  private StandardRoute(
      CoreDevice core,
      DeviceBlocks device,
      HostSlots slots,
      CopyOptions options,
      CopyProfile profile) {
    this.core = core;
    this.device = device;
    this.slots = slots;
    this.options = options;
    this.hostAddresses = slots.memory().addressesOn(core);
    this.batch = core.port().batchCopies().orElse(null);
    this.kernel = core.port().kernelCopies().orElse(null);
    this.chooser =
        new PathChooser(
            core.port(),
            options,
            batch == null ? 1 : Math.min(batch.maxRows(), options.maxBatchEntries()),
            profile);
    this.blockBytes = device.shape().bytes();
    this.shapeParts = device.shape().parts();
    Set<Standing> grounds = new LinkedHashSet<>();
    grounds.add(core.standing());
    grounds.add(slots.standing());
    if (device instanceof Standing region) {
      grounds.add(region);
    }
    if (device.count() > 0) {
      for (SegmentOwner owner : resolve().owners) {
        grounds.add(owner.standing());
      }
    }
    this.stores = new Lane(this, Direction.STORE);
    try {
      this.loads = new Lane(this, Direction.LOAD);
    } catch (Throwable failure) {
      stores.free();
      throw failure;
    }
    try {
      this.place = new Place(this, grounds.toArray(Standing[]::new));
    } catch (Throwable failure) {
      stores.free();
      loads.free();
      throw failure;
    }
  }

  /** Opens a route whose sides fit. */
  static StandardRoute open(
      CoreDevice core,
      DeviceBlocks device,
      HostSlots slots,
      CopyOptions options,
      CopyProfile profile) {
    StandardRoute route = new StandardRoute(core, device, slots, options, profile);
    core.poller().add(route.stores);
    core.poller().add(route.loads);
    core.backend().pins().watchCopies(route.inFlight); // pinning steps back meanwhile
    try {
      route.place.enrol();
    } catch (Throwable failure) {
      route.place.close(); // undoes all of it
      throw failure;
    }
    return route;
  }

  // ---- what lanes ask

  CoreDevice core() {
    return core;
  }

  HostSlots slots() {
    return slots;
  }

  CopyOptions options() {
    return options;
  }

  HostAddresses hostAddresses() {
    return hostAddresses;
  }

  PathChooser chooser() {
    return chooser;
  }

  long blockBytes() {
    return blockBytes;
  }

  int shapeParts() {
    return shapeParts;
  }

  UseCount uses() {
    return uses;
  }

  String name() {
    return place.name();
  }

  void requireOpen() {
    place.requireOpen();
  }

  /** From where to where, once a geometry was resolved. */
  CopyEnds ends() {
    CopyEnds known = ends;
    if (known == null) {
      throw new IllegalStateException("nothing was submitted yet on " + name());
    }
    return known;
  }

  /** How many blocks the device side has now. */
  long deviceBlocks() {
    return device.count();
  }

  /** How many blocks a submission may name that has entered this geometry. */
  long countIn(Geometry entered) {
    return entered == Geometry.nothing() ? 0 : device.count();
  }

  BatchCopyPort batchPort() {
    return there(batch);
  }

  KernelCopyPort kernelPort() {
    return there(kernel);
  }

  private static <T> T there(@Nullable T port) {
    if (port == null) {
      throw new IllegalStateException("the driver lacks the path that was chosen");
    }
    return port;
  }

  /** Rows of a table: whole driver calls. */
  int rowsOfTable() {
    return Math.clamp(options.maxBatchEntries(), FEWEST_ROWS, MOST_ROWS);
  }

  /**
   * Most rows of the next driver call. The first launches of a kernel are short, so that the device
   * begins while the CPU still prepares the rest, and each is as long as all before.
   *
   * @param path by which
   * @param done rows of the submission that were submitted
   */
  long mostRows(CopyPath path, long done) {
    long most = Math.min(options.maxBatchEntries(), MOST_ROWS);
    return switch (path) {
      case BATCH -> Math.min(most, batchPort().maxRows());
      case KERNEL -> Math.min(most, Math.max(firstRows, done));
      case LOOP, PITCHED -> most;
    };
  }

  /** How many driver calls that many rows take. */
  long calls(CopyPath path, long rows) {
    long calls = 0;
    for (long done = 0; done < rows; done += mostRows(path, done)) {
      calls++;
    }
    return calls;
  }

  /** Enters everything a submission stands on; the answer says where blocks lie now. */
  Geometry enter() {
    if (!uses.tryEnter()) {
      place.requireOpen();
      throw new IllegalStateException(place.name() + " is closing");
    }
    try {
      Geometry now = geometry;
      if (now == null || (!severalBlocks && device.count() > 1)) {
        now = resolve();
      }
      try {
        enter(now.owners);
      } catch (StaleException exchanged) {
        now = resolve(); // live blocks have new pages under the same addresses; fixed ones refuse
        enter(now.owners);
      }
      return now;
    } catch (Throwable refusal) {
      uses.leave();
      throw refusal;
    }
  }

  private static void enter(SegmentOwner[] owners) {
    int entered = 0;
    try {
      while (entered < owners.length) {
        SegmentOwner owner = owners[entered];
        if (!owner.uses().tryEnter()) {
          owner.requireUsable();
          throw new BusyException(
              "a copy", List.of("a change of pages of " + owner.standing().name()));
        }
        entered++;
        owner.requireUsable();
      }
    } catch (Throwable refusal) {
      for (int i = 0; i < entered; i++) {
        owners[i].uses().leave();
      }
      throw refusal;
    }
  }

  /** Refuses device blocks as a submission would. */
  void check(BlockCopies copies, Direction direction) {
    (direction == Direction.STORE ? stores : loads).check(copies);
  }

  private Geometry resolve() {
    long count = device.count();
    if (count == 0) {
      return Geometry.nothing();
    }
    Geometry now = Geometry.of(device, slots.layout());
    ends = ends(now);
    geometry = now;
    severalBlocks = count > 1;
    return now;
  }

  private CopyEnds ends(Geometry now) {
    Standing host = slots.memory().standing();
    return new CopyEnds(
        host.number(),
        host.groundNumber(),
        Geometries.text(device.shape()),
        slots.slots(),
        Geometries.arrangement(slots.layout()),
        Geometries.arrangement(device.shape(), now.deviceStrides));
  }

  /** The device is done with a submission. */
  void leave(SegmentOwner[] owners) {
    for (SegmentOwner owner : owners) {
      owner.uses().leave();
    }
    uses.leave();
  }

  // ---- what engines ask

  @Override
  public Completion store(BlockCopies copies, Order order) {
    return stores.submit(copies, order, new StandardCompletion(this));
  }

  @Override
  public Completion load(BlockCopies copies, Order.TwoSided order) {
    return loads.submit(copies, order, new StandardCompletion(this));
  }

  @Override
  public Completion store(BlockCopies copies, Order order, Completion reuse) {
    return stores.submit(copies, order, mine(reuse));
  }

  @Override
  public Completion load(BlockCopies copies, Order.TwoSided order, Completion reuse) {
    return loads.submit(copies, order, mine(reuse));
  }

  private StandardCompletion mine(Completion reuse) {
    if (reuse instanceof StandardCompletion completion && completion.route() == this) {
      return completion;
    }
    throw new IllegalArgumentException(reuse + " is not a completion of " + name());
  }

  @Override
  public CopyDecision explain(BlockCopies copies, Direction direction) {
    Lane lane = direction == Direction.STORE ? stores : loads;
    return lane.explain(copies);
  }

  @Override
  public void close() {
    place.close();
  }

  @Override
  public String toString() {
    return name();
  }

  /** Its place in the tree. */
  private static final class Place extends Standing {
    private final StandardRoute route;

    Place(StandardRoute route, Standing... grounds) {
      super("copy route between " + route.device + " and " + route.slots, grounds);
      this.route = route;
    }

    @Override
    protected void shut() {
      route.uses.shut();
    }

    @Override
    protected void reopen() {
      route.uses.reopen();
    }

    @Override
    protected void quiesce() {
      long begun = System.nanoTime();
      while (!route.uses.awaitUnused(OWN_LOOK_NANOS)) {
        if (System.nanoTime() - begun > PATIENCE_NANOS) {
          throw new BusyException(
              "closing " + name(), List.of(route.uses.uses() + " copies that do not end"));
        }
        route.stores.look(); // the poller's thread may come late
        route.loads.look();
      }
    }

    @Override
    protected void release() {
      route.core.backend().pins().unwatchCopies(route.inFlight);
      route.core.poller().remove(route.stores);
      route.core.poller().remove(route.loads);
      route.core.workers().run(route::free);
    }
  }

  private void free() {
    try {
      stores.free();
    } finally {
      loads.free();
    }
  }
}
