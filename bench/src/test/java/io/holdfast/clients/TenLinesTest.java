package io.holdfast.clients;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.asIfOn;
import static io.holdfast.layout.Bytes.gib;
import static io.holdfast.layout.Bytes.mib;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceStream;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The README's engine, compiled and run; and a loop beside it that makes no garbage. */
final class TenLinesTest {
  private static final BlockShape SHAPE = BlockShape.of(2, 4096);

  /** What an engine has before it meets Holdfast. */
  interface Engine {
    DeviceBlocks kvOn(Device device);

    DeviceStream compute();

    DeviceEvent kvWritten();
  }

  /** As the README has it, for an engine on a device. */
  static void readme(Engine engine) {
    HostRequest memory = HostRequest.ofBytes(gib(64)).pages(PageKind.thp());
    try (Backend backend = Backends.select();
        Device device = backend.open(0);
        HostPool pool = HostPool.openInBackground(device, engine.kvOn(device), memory)) {

      pool.awaitSlots(3); // the rest is still being pinned
      BlockCopies copies = BlockCopies.device(7, 8, 9).host(0, 1, 2);
      pool.store(copies, after(engine.kvWritten())).await();
      pool.load(copies, asIfOn(engine.compute()));
    }
  }

  @Test
  void the_readme_example_runs() {
    try (Backend backend = Backends.select("cpu-sim");
        Device device = backend.open(0)) {
      Engine engine = engineOn(device);
      HostRequest memory = HostRequest.ofBytes(mib(8)).pages(PageKind.thp());
      try (HostPool pool = HostPool.openInBackground(device, engine.kvOn(device), memory)) {

        pool.awaitSlots(3); // the rest is still being pinned
        BlockCopies copies = BlockCopies.device(7, 8, 9).host(0, 1, 2);
        pool.store(copies, after(engine.kvWritten())).await();
        pool.load(copies, asIfOn(engine.compute()));
      }
      assertEquals(List.of(), pools(backend));
    }
  }

  @Test
  void a_loop_reuses_pairs_order_and_completion() {
    try (Backend backend = Backends.select("cpu-sim");
        Device device = backend.open(0)) {
      Engine engine = engineOn(device);
      try (HostPool pool =
          HostPool.open(device, engine.kvOn(device), HostRequest.ofBytes(mib(1)))) {
        BlockCopies copies = BlockCopies.withCapacity(256);
        var order = after(engine.kvWritten());
        Completion done = pool.store(copies, order); // empty: a no-op that is done
        for (int slot = 0; slot < 50; slot++) {
          done.await();
          done = pool.store(copies.clear().add(slot % 16, slot), order, done);
        }
        done.await();

        try (SlotLease lease = pool.lease(49, Access.READ)) {
          assertEquals(4096, lease.part(1).byteSize());
        }
        assertEquals(2 * 4096, done.report().bytes());
      }
    }
  }

  private static List<String> pools(Backend backend) {
    return backend.stillOpen().stream().filter(name -> name.contains("pool")).toList();
  }

  private static Engine engineOn(Device device) {
    DeviceAllocation memory = device.memory().allocate(16 * SHAPE.bytes());
    DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(16));
    DeviceStream stream = device.newStream();
    DeviceEvent written = device.newEvent().record(stream);
    return new Engine() {
      @Override
      public DeviceBlocks kvOn(Device ignored) {
        return blocks;
      }

      @Override
      public DeviceStream compute() {
        return stream;
      }

      @Override
      public DeviceEvent kvWritten() {
        return written;
      }
    };
  }
}
