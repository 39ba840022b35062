package io.holdfast.clients;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.asIfOn;
import static io.holdfast.layout.Bytes.gib;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.Demand;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DeviceSegment;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.DmaBufExport;
import io.holdfast.device.ExportedRegion;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.HandleKind;
import io.holdfast.device.ImportedRegion;
import io.holdfast.device.MemoryInfo;
import io.holdfast.device.Order;
import io.holdfast.device.RegionDescriptor;
import io.holdfast.device.Sizing;
import io.holdfast.device.Subscription;
import io.holdfast.host.HostMemory;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostSurvey;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import io.holdfast.host.PageSource;
import io.holdfast.host.SharedRegion;
import io.holdfast.host.SharedRequest;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.ByteRange;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pin.Splitter;
import io.holdfast.pool.HostPool;
import java.util.Comparator;

/** The recipes of docs/engine-guide.md: compiled with every build, and run by RecipesTest. */
final class Recipes {
  private Recipes() {}

  static HostRequest pages(Device device, Backend backend, long bytes) {
    // guide: pages
    PageSource source = backend.pageSource();
    HostRequest memory = HostRequest.ofBytes(bytes).numa(NumaPolicy.nearest(device.info()));
    HostRequest request =
        source.survey().pools().stream()
            .sorted(Comparator.comparingLong(HostSurvey.Pool::pageBytes).reversed())
            .map(pool -> memory.pages(PageKind.hugeTlb(pool.pageBytes())))
            .filter(huge -> source.check(huge).isEmpty())
            .findFirst()
            .orElse(memory.pages(PageKind.thp()));
    // guide: end
    return request;
  }

  static void engineStream(
      Backend backend,
      DeviceInfo info,
      long context,
      long stream,
      HostRequest memory,
      Engine engine) {
    // guide: foreign
    try (Device device = backend.wrapContext(info, context);
        DeviceStream compute = device.wrapStream(stream)) {
      DeviceBlocks blocks = engine.kvOn(device);
      try (HostPool pool = HostPool.open(device, blocks, memory)) {
        pool.load(BlockCopies.device(7).host(0), asIfOn(compute)).await();
      }
    }
    // guide: end
  }

  static ExtensibleRegion warmUp(
      Device device, BlockLayout capacity, long engineBytes, DeviceStream compute, Engine engine) {
    // guide: warm-up
    MemoryInfo atStart = device.memory().info();
    ExtensibleRequest request = ExtensibleRequest.of(capacity).rdma(Demand.PREFER);
    ExtensibleRegion kv = device.memory().reserve(request);
    kv.commit(64); // enough to warm up with
    engine.warmUp(kv); // and to capture graphs: addresses never change

    Sizing.WarmUp measured =
        Sizing.WarmUp.between(engineBytes, atStart, device.memory().info(), kv.committed())
            .peak(engine.shortLivedBytes())
            .margin(gib(1), 45);
    long granule = device.memory().granuleBytes(request);
    long blocks = Sizing.alignedBlocksWithin(capacity, Sizing.finalBudget(measured), granule);
    kv.seal(blocks, Contents.KEEP, after(compute)); // the captured graphs stay good
    // guide: end
    return kv;
  }

  static void sleepAndWake(
      ExtensibleRegion kv, HostPool pool, BlockCopies worthKeeping, DeviceStream compute) {
    // guide: sleep
    pool.store(worthKeeping, after(compute)).await();
    kv.releasePhysical(after(compute)); // others can have the memory now

    kv.recommit(); // the same addresses and number of blocks, zeroed
    pool.load(worthKeeping, asIfOn(compute));
    // guide: end
  }

  static void ranks(
      Backend backend,
      Device device,
      DeviceBlocks kv,
      BlockLayout slots,
      int rank,
      int ranks,
      Order order,
      Neighbour neighbour) {
    // guide: ranks
    HostRequest perRank = HostRequest.ofBytes(slots.extentBytes());
    try (SharedRegion shared =
            backend.pageSource().share(SharedRequest.named("kv-tier", ranks, perRank), rank);
        PinnedRegion pinned =
            device.pinner().pin(shared.mine(), PinRequest.strict().around(slots));
        CopyRoute route = device.copyEngine().route(kv, pinned.blocks(slots))) {
      route.store(BlockCopies.device(7).host(0), order).await();
      neighbour.reads(shared.of((rank + 1) % ranks)); // waits until that rank has populated it
    }
    // guide: end
  }

  static Subscription registerWithTransport(ExtensibleRegion kv, Transport transport) {
    // guide: transport
    DeviceSegment keys = kv.plane(0).memory(); // sealed: else a NotFinalException comes
    try (DmaBufExport buffer = kv.exportDmaBuf(keys)) {
      transport.registerDmaBuf(
          buffer.fileDescriptor(), buffer.offsetBytes(), keys.rawAddress(), keys.byteSize());
    } // the card's driver keeps what it has made of the descriptor

    Subscription untilGone =
        kv.beforeChange(
            change -> {
              switch (change.kind()) {
                case EXCHANGE, RELEASE, CLOSE -> transport.deregister(keys.rawAddress());
                case GROW, RECOMMIT -> {} // new pages: register again when they are there
              }
            });
    // guide: end
    return untilGone;
  }

  static void registerPlain(
      ExtensibleRegion kv, HostMemory tier, long blockBytes, Transport transport) {
    // guide: plain
    DeviceSegment keys = kv.plane(0).memory();
    transport.register(keys.rawAddress(), keys.byteSize(), kv.device().ordinal());

    Splitter pieces = Splitter.onCommonEdges(gib(2), blockBytes, tier.backingPageBytes());
    for (ByteRange piece : pieces.split(new ByteRange(0, tier.mappedBytes()))) {
      transport.register(
          tier.segment().address() + piece.offsetBytes(), piece.bytes(), Transport.HOST);
    }
    // guide: end
  }

  static void export(ExtensibleRegion sealed, Peer peer) {
    // guide: export
    try (ExportedRegion exported = sealed.export(HandleKind.POSIX_FD)) {
      String line = exported.descriptor().text(); // to be sent by any means
      peer.send(line);
      peer.awaitImported(); // an open export holds the pages
    }
    // guide: end
  }

  static ImportedRegion imported(Device device, String line) {
    // guide: import
    ImportedRegion theirs = device.memory().importRegion(RegionDescriptor.parse(line));
    DeviceSegment first = theirs.segment(0);
    // guide: end
    if (first.byteSize() == 0) {
      throw new IllegalStateException("an empty segment came from " + line);
    }
    return theirs;
  }

  /** What an engine brings. */
  interface Engine {
    DeviceBlocks kvOn(Device device);

    void warmUp(DeviceBlocks kv);

    long shortLivedBytes();
  }

  /** What a rank does with another's slice. */
  interface Neighbour {
    void reads(HostMemory slice);
  }

  /** A network library: UCX, NIXL, libibverbs. */
  interface Transport {
    int HOST = -1;

    void registerDmaBuf(int fileDescriptor, long offsetBytes, long address, long bytes);

    void register(long address, long bytes, int deviceOrdinal);

    void deregister(long address);
  }

  /** The process that shall see the memory. */
  interface Peer {
    void send(String line);

    void awaitImported();
  }
}
