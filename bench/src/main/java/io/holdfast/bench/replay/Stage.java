package io.holdfast.bench.replay;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.bench.replay.Told.Change;
import io.holdfast.bench.replay.Told.Copy;
import io.holdfast.bench.replay.Told.Ends;
import io.holdfast.bench.replay.Told.Mapping;
import io.holdfast.bench.replay.Told.Range;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.device.Demand;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.HandleKind;
import io.holdfast.error.HoldfastException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.event.Activity;
import io.holdfast.event.Statistics;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.layout.BlockLayout;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One backend of a recording, played by a simulated one. Things that were opened before the
 * recording began are opened when they are first named, and not counted.
 */
final class Stage {
  private final Plot plot;
  private final Outcome outcome;
  private final Backend backend;
  private final Map<Integer, Device> devices = new HashMap<>();
  private final Map<Integer, DeviceStream> streams = new HashMap<>();
  private final Map<Long, HostRegion> regions = new HashMap<>();
  private final Map<Long, PinnedRegion> pins = new HashMap<>();
  private final Map<Long, ExtensibleRegion> extensible = new HashMap<>();
  private final Map<End, DeviceBlocks> deviceBlocks = new HashMap<>();
  private final Map<Way, CopyRoute> routes = new HashMap<>();
  private final Map<Piece, BlockCopies> batches = new HashMap<>();
  private Statistics preparation = Statistics.none();

  private record End(int device, String shape, String arrangement, long blocks) {}

  private record Way(long pins, long region, int device, Ends ends, CopyPath path) {}

  private record Piece(Way way, Activity direction, int blocks, long rows) {}

  /**
   * An empty one.
   *
   * @param backendId the simulated machine
   * @param plot what is to come
   * @param outcome told of everything
   */
  Stage(String backendId, Plot plot, Outcome outcome) {
    this.plot = plot;
    this.outcome = outcome;
    this.backend = Backends.select(backendId);
  }

  /**
   * Does one event again.
   *
   * @throws HoldfastException when the machine refuses
   * @throws IllegalArgumentException when it cannot be
   */
  void play(Told event) {
    switch (event.activity()) {
      case MAP -> regions.put(event.subject(), map((Mapping) event.details()));
      case REGISTER -> {
        if (!pins.containsKey(event.subject())) {
          pins.put(event.subject(), pin(event));
        }
      }
      case STORE, LOAD -> copy(event, (Copy) event.details());
      case COMMIT, SEAL, CONSOLIDATE, EXPORT, SLEEP, WAKE ->
          change(event, (Change) event.details());
      case UNMAP -> close(regions.remove(event.subject()));
      case CLOSE -> {
        close(pins.remove(event.subject()));
        close(extensible.remove(event.subject()));
      }
      case POPULATE, UNREGISTER, READY, PAUSE -> {} // the others bring them about
      case QUARANTINE, RECOVER, FALLBACK, NATIVE_CALL ->
          outcome.leaveOut(event.activity(), "it comes from the machine, not from the engine");
    }
  }

  /** What was done so far, without what had to be there before. */
  Statistics statistics() {
    return backend.statistics().since(preparation);
  }

  /** Closes everything. */
  void close() {
    backend.close();
  }

  private static void close(@Nullable AutoCloseable open) {
    if (open != null) {
      try {
        open.close();
      } catch (RuntimeException refusal) {
        throw refusal;
      } catch (Exception impossible) {
        throw new AssertionError("regions and pins throw nothing checked", impossible);
      }
    }
  }

  // ---- host memory

  private HostRegion map(Mapping mapping) {
    return backend
        .pageSource()
        .map(HostRequest.ofBytes(mapping.logicalBytes()).pages(pages(mapping)));
  }

  private PageKind pages(Mapping mapping) {
    return switch (mapping.pages()) {
      case "HugeTlb" -> PageKind.hugeTlb(mapping.pageBytes());
      case "TransparentHuge" -> PageKind.thp();
      case "Driver" -> {
        var _ = device(0);
        yield PageKind.driver();
      }
      case "Base" -> PageKind.base();
      default -> {
        outcome.note("files in a directory are played by base pages");
        yield PageKind.base();
      }
    };
  }

  private PinnedRegion pin(Told event) {
    Range range = (Range) event.details();
    HostRegion region = regions.get(event.ground());
    if (region == null) {
      requireOlder(event.ground());
      region = prepare(() -> map(new Mapping(range.start() + range.wholeBytes(), 0, "Base")));
      regions.put(event.ground(), region);
      outcome.note("a region was mapped before the recording began");
    }
    long bytes = Math.min(range.wholeBytes(), region.logicalBytes() - range.start());
    return device(event.device())
        .pinner()
        .pin(
            range.start() == 0 && bytes == region.logicalBytes()
                ? region
                : region.slice(range.start(), bytes),
            PinRequest.strict().sliceBytes(plot.largestRange(event)));
  }

  /** What the recording itself opens, and could not be opened here, stays missing. */
  private void requireOlder(long subject) {
    if (plot.opens(subject)) {
      throw new IllegalArgumentException("what it stands on could not be replayed");
    }
  }

  private <T> T prepare(Supplier<T> opening) {
    Statistics before = backend.statistics();
    T opened = opening.get();
    preparation = preparation.plus(backend.statistics().since(before));
    return opened;
  }

  // ---- devices and copies

  private Device device(int ordinal) {
    int there = backend.devices().size();
    if (ordinal >= there) {
      outcome.note("device %d is played by device %d".formatted(ordinal, ordinal % there));
    }
    return devices.computeIfAbsent(ordinal % there, backend::open);
  }

  private DeviceStream stream(int ordinal) {
    return streams.computeIfAbsent(ordinal, number -> device(number).newStream());
  }

  private void copy(Told event, Copy copy) {
    Direction direction = Direction.valueOf(event.activity().name());
    Way way = new Way(event.subject(), event.ground(), event.device(), copy.ends(), copy.path());
    CopyRoute route = routes.computeIfAbsent(way, this::route);
    BlockLayout layout = hostLayout(copy.ends());
    int blocks = Math.toIntExact(copy.pairs() / layout.shape().parts());
    BlockCopies copies =
        batches.computeIfAbsent(
            new Piece(way, event.activity(), blocks, copy.rows()),
            _ ->
                Batch.of(
                    route,
                    direction,
                    blocks,
                    copy.rows(),
                    copy.ends().deviceBlocks(),
                    copy.ends().slots()));
    switch (direction) {
      case STORE -> route.store(copies, unordered()).await();
      case LOAD -> route.load(copies, unordered()).await();
    }
  }

  private CopyRoute route(Way way) {
    Ends ends = way.ends();
    PinnedRegion host = pins.get(way.pins());
    if (host == null) {
      requireOlder(way.pins());
      host = prepare(() -> pinned(way));
      pins.put(way.pins(), host);
      outcome.note("memory was pinned before the recording began");
    }
    DeviceBlocks blocks =
        deviceBlocks.computeIfAbsent(
            new End(way.device(), ends.shape(), ends.deviceArrangement(), ends.deviceBlocks()),
            this::allocate);
    BlockLayout layout = hostLayout(ends);
    Device device = device(way.device());
    try {
      return device
          .copyEngine()
          .route(blocks, host.blocks(layout), CopyOptions.auto().path(way.path()));
    } catch (UnsupportedException absent) {
      outcome.note("path " + way.path() + " is absent here: copied by measurement");
      return device.copyEngine().route(blocks, host.blocks(layout));
    }
  }

  private PinnedRegion pinned(Way way) {
    HostRegion region =
        regions.computeIfAbsent(
            way.region(), _ -> map(new Mapping(hostLayout(way.ends()).extentBytes(), 0, "Base")));
    return device(way.device()).pinner().pin(region, PinRequest.strict());
  }

  private static BlockLayout hostLayout(Ends ends) {
    return Geometry.layout(ends.shape(), ends.hostArrangement(), ends.slots());
  }

  private DeviceBlocks allocate(End end) {
    BlockLayout layout = Geometry.layout(end.shape(), end.arrangement(), end.blocks());
    return DeviceBlocks.of(
        device(end.device()).memory().allocate(layout.extentBytes()).segment(), layout);
  }

  // ---- extensible memory

  private void change(Told event, Change change) {
    ExtensibleRegion region =
        extensible.computeIfAbsent(event.subject(), _ -> reserve(event, change));
    DeviceStream used = stream(event.device());
    switch (event.activity()) {
      case COMMIT -> {
        if (change.blocks() < region.count()) {
          region.shrink(change.blocks(), after(used));
        } else {
          region.commit(change.blocks());
        }
      }
      case SEAL -> region.seal(change.blocks(), Contents.valueOf(change.detail()), after(used));
      case CONSOLIDATE -> region.consolidate(Contents.valueOf(change.detail()), after(used));
      case EXPORT -> region.export(HandleKind.valueOf(change.detail())).close();
      case SLEEP -> region.releasePhysical(after(used));
      case WAKE -> region.recommit();
      default -> throw new AssertionError(event.activity() + " is no change");
    }
  }

  private ExtensibleRegion reserve(Told event, Change change) {
    ExtensibleRegion region =
        device(event.device())
            .memory()
            .reserve(
                ExtensibleRequest.of(
                        Geometry.layout(change.shape(), change.arrangement(), change.capacity()))
                    .shareable(plot.exports(event.subject()) ? Demand.PREFER : Demand.OFF));
    if (event.activity() != Activity.COMMIT && event.activity() != Activity.SEAL) {
      prepare(() -> age(region, event));
      outcome.note("extensible memory had blocks before the recording began");
    }
    return region;
  }

  /** Brings memory to where the first change that was recorded found it. */
  private ExtensibleRegion age(ExtensibleRegion region, Told first) {
    DeviceStream used = stream(first.device());
    long blocks = plot.mostBlocks(first.subject());
    region.commit(1); // two steps: there is something to consolidate
    region.commit(blocks);
    if (first.activity() == Activity.EXPORT) {
      region.seal(blocks, after(used));
    } else if (first.activity() == Activity.WAKE) {
      region.releasePhysical(after(used));
    }
    return region;
  }
}
