package io.holdfast.clients;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;
import static io.holdfast.layout.Bytes.gib;
import static io.holdfast.layout.Bytes.mib;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.clients.Recipes.Engine;
import io.holdfast.clients.Recipes.Peer;
import io.holdfast.clients.Recipes.Transport;
import io.holdfast.copy.BlockCopies;
import io.holdfast.device.Demand;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.State;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.ImportedRegion;
import io.holdfast.device.NotFinalException;
import io.holdfast.device.Subscription;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.layout.Bytes;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The guide's recipes do what the guide says, on a simulated device. */
final class RecipesTest {
  private static final BlockShape SHAPE = BlockShape.of(2, 16_384);
  private static final BlockLayout CAPACITY = SHAPE.layerMajor(4096);

  private final Backend backend = Backends.select("cpu-sim");
  private final Device device = backend.open(0);
  private final DeviceStream compute = device.newStream();

  @AfterEach
  void close() {
    backend.close();
  }

  private ExtensibleRegion sealed(ExtensibleRequest request) {
    ExtensibleRegion region = device.memory().reserve(request);
    region.seal(256, after(compute));
    return region;
  }

  private HostPool poolOf(DeviceBlocks blocks) {
    return HostPool.open(device, blocks, HostRequest.ofBytes(8 * SHAPE.bytes()));
  }

  private static void fill(HostPool pool, long slot, byte value) {
    try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
      lease.part(0).fill(value);
      lease.part(1).fill(value);
    }
  }

  private static byte firstByte(HostPool pool, long slot) {
    try (SlotLease lease = pool.lease(slot, Access.READ)) {
      return lease.part(0).get(ValueLayout.JAVA_BYTE, 0);
    }
  }

  @Test
  void the_largest_pages_that_suffice_are_chosen_and_transparent_ones_where_none_do() {
    try (Backend machine = Backends.select("cpu-sim:h200");
        Device gpu = machine.open(0)) {
      assertEquals(PageKind.hugeTlb(gib(1)), Recipes.pages(gpu, machine, gib(64)).pages());
      assertEquals(PageKind.thp(), Recipes.pages(gpu, machine, gib(1L << 20)).pages());
    }
    try (Backend machine = Backends.select("cpu-sim:laptop");
        Device gpu = machine.open(0)) {
      assertEquals(PageKind.hugeTlb(mib(2)), Recipes.pages(gpu, machine, mib(8)).pages());
      assertEquals(PageKind.thp(), Recipes.pages(gpu, machine, mib(256)).pages());
    }
  }

  @Test
  void warm_up_ends_with_the_size_that_was_measured_at_the_same_address() {
    AtomicLong warm = new AtomicLong();
    Engine engine =
        new Engine() {
          @Override
          public DeviceBlocks kvOn(Device ignored) {
            throw new AssertionError("not asked for");
          }

          @Override
          public void warmUp(DeviceBlocks kv) {
            assertEquals(64, kv.count());
            warm.set(kv.plane(0).memory().rawAddress());
          }

          @Override
          public long shortLivedBytes() {
            return mib(3);
          }
        };

    try (ExtensibleRegion kv = Recipes.warmUp(device, CAPACITY, mib(67), compute, engine)) {
      // 64 MiB are left of 67: 1024 blocks of 2 * 16 KiB for each 32 MiB, in whole granules.
      assertEquals(State.SEALED, kv.state());
      assertEquals(2048, kv.count());
      assertEquals(warm.get(), kv.plane(0).memory().rawAddress());
    }
  }

  @Test
  void what_was_worth_keeping_is_back_after_sleep() {
    try (ExtensibleRegion kv = sealed(ExtensibleRequest.of(CAPACITY));
        HostPool pool = poolOf(kv)) {
      fill(pool, 0, (byte) 0x5A);
      pool.load(BlockCopies.device(7).host(0), unordered()).await();

      Recipes.sleepAndWake(kv, pool, BlockCopies.device(7).host(1), compute);

      assertEquals(256, kv.count());
      pool.store(BlockCopies.device(7).host(2), after(compute)).await();
      pool.store(BlockCopies.device(8).host(3), after(compute)).await();
      assertEquals(0x5A, firstByte(pool, 2));
      assertEquals(0, firstByte(pool, 3), "was not kept");
    }
  }

  @Test
  void a_rank_that_is_alone_is_its_own_neighbour() {
    DeviceAllocation memory = device.memory().allocate(16 * SHAPE.bytes());
    DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(16));
    try (HostPool pool = poolOf(blocks)) {
      fill(pool, 0, (byte) 0x21);
      pool.load(BlockCopies.device(7).host(0), unordered()).await();
    }
    List<Byte> seen = new ArrayList<>();

    Recipes.ranks(
        backend,
        device,
        blocks,
        SHAPE.blockMajor(4),
        0,
        1,
        unordered(),
        slice -> seen.add(slice.segment().get(ValueLayout.JAVA_BYTE, 0)));

    assertEquals(List.of((byte) 0x21), seen);
  }

  /** Writes down what a network library would be told. */
  private static final class Notes implements Transport {
    private final List<String> calls = new ArrayList<>();

    @Override
    public void registerDmaBuf(int fileDescriptor, long offsetBytes, long address, long bytes) {
      calls.add("buffer of " + bytes + " from " + offsetBytes);
    }

    @Override
    public void register(long address, long bytes, int deviceOrdinal) {
      calls.add(bytes + " on " + deviceOrdinal);
    }

    @Override
    public void deregister(long address) {
      calls.add("gone");
    }
  }

  @Test
  void a_transport_registers_what_is_sealed_and_lets_go_before_it_sleeps() {
    Notes notes = new Notes();
    try (ExtensibleRegion kv = sealed(ExtensibleRequest.of(CAPACITY).rdma(Demand.REQUIRE));
        Subscription _ = Recipes.registerWithTransport(kv, notes)) {
      assertEquals(List.of("buffer of " + 256 * 16_384 + " from 0"), notes.calls);

      kv.releasePhysical(after(compute));

      assertEquals("gone", notes.calls.getLast());
    }
  }

  @Test
  void a_transport_cannot_register_what_may_still_change() {
    try (ExtensibleRegion kv =
        device.memory().reserve(ExtensibleRequest.of(CAPACITY).rdma(Demand.REQUIRE))) {
      kv.commit(64);
      Notes notes = new Notes();

      assertThrows(NotFinalException.class, () -> Recipes.registerWithTransport(kv, notes));

      assertEquals(List.of(), notes.calls);
    }
  }

  @Test
  void host_memory_is_registered_elsewhere_in_pieces_without_a_torn_block() {
    Notes notes = new Notes();
    try (ExtensibleRegion kv = sealed(ExtensibleRequest.of(CAPACITY));
        HostRegion tier = backend.pageSource().map(HostRequest.ofBytes(mib(3)))) {
      Recipes.registerPlain(kv, tier, 3 * SHAPE.bytes(), notes);

      assertEquals(
          List.of(256 * 16_384 + " on 0", tier.mappedBytes() + " on " + Transport.HOST),
          notes.calls);
    }
  }

  @Test
  void a_peer_imports_while_the_export_is_open() throws Exception {
    try (ExtensibleRegion kv = sealed(ExtensibleRequest.of(CAPACITY).shareable(Demand.REQUIRE))) {
      CompletableFuture<String> line = new CompletableFuture<>();
      CountDownLatch imported = new CountDownLatch(1);
      Peer peer =
          new Peer() {
            @Override
            public void send(String text) {
              line.complete(text);
            }

            @Override
            public void awaitImported() {
              try {
                imported.await();
              } catch (InterruptedException stopped) {
                throw new IllegalStateException(stopped);
              }
            }
          };
      Thread exporter = Thread.ofPlatform().start(() -> Recipes.export(kv, peer));
      try (ImportedRegion theirs = Recipes.imported(device, line.get())) {
        imported.countDown();
        exporter.join();
        assertEquals(2, theirs.segments());
        assertEquals(256 * 16_384L, theirs.segment(1).byteSize());
        assertEquals(0, theirs.segment(1).byteSize() % Bytes.mib(2));
      }
    }
  }
}
