package io.holdfast.clients;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.asIfOn;
import static io.holdfast.layout.Bytes.gib;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.copy.BlockCopies;
import io.holdfast.device.Demand;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.ExportedRegion;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.HandleKind;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import io.holdfast.host.SharedRegion;
import io.holdfast.host.SharedRequest;
import io.holdfast.layout.BlockLayout;
import io.holdfast.pool.HostPool;

/** The recipes of docs/engine-guide.md: compiled with every build. */
final class Recipes {
  private Recipes() {}

  static HostRequest pages(Device device, Backend backend) {
    // guide: pages
    HostRequest huge =
        HostRequest.ofBytes(gib(64))
            .pages(PageKind.hugeTlb(1L << 30))
            .numa(NumaPolicy.nearest(device.info()));
    HostRequest request =
        backend.pageSource().check(huge).isEmpty() ? huge : huge.pages(PageKind.thp());
    // guide: end
    return request;
  }

  static void engineStream(
      Backend backend, DeviceInfo info, long context, long stream, HostRequest memory) {
    // guide: foreign
    try (Device device = backend.wrapContext(info, context);
        DeviceStream compute = device.wrapStream(stream)) {
      DeviceBlocks blocks = kvOn(device);
      try (HostPool pool = HostPool.open(device, blocks, memory)) {
        pool.load(BlockCopies.device(7).host(0), asIfOn(compute)).await();
      }
    }
    // guide: end
  }

  static void warmUp(Device device, BlockLayout capacity, DeviceStream compute) {
    // guide: warm-up
    ExtensibleRegion kv =
        device.memory().reserve(ExtensibleRequest.of(capacity).shareable(Demand.PREFER));
    kv.commit(64); // enough for warm-up and graph capture: addresses never change
    kv.seal(4096, Contents.KEEP, after(compute)); // the size that was measured
    kv.releasePhysical(after(compute)); // sleep
    kv.recommit(); // wake, at the same addresses
    // guide: end
    kv.close();
  }

  static SharedRegion ranks(Backend backend, HostRequest perRank, int rank) {
    // guide: ranks
    SharedRegion shared =
        backend.pageSource().share(SharedRequest.named("kv-tier", 8, perRank), rank);
    // guide: end
    return shared;
  }

  static ExportedRegion export(ExtensibleRegion sealed) {
    return sealed.export(HandleKind.POSIX_FD);
  }

  private static DeviceBlocks kvOn(Device device) {
    throw new UnsupportedOperationException("the engine's own, on " + device);
  }
}
