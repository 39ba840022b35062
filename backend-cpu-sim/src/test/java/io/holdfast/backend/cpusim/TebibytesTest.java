package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.copy.BlockCopies;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.Order;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.layout.Plane;
import io.holdfast.pool.HostPool;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A pool larger than any laptop's memory, under a small heap. */
class TebibytesTest {
  private static final long BLOCK = 1L << 20;

  /** Pools are outside the Java heap, and no limit of Holdfast's own counts them to it. */
  @Test
  void b95_aPoolOfSixGibibytesWorksIn64MibOfHeap() throws Exception {
    run("-Xmx64m", 6L << 30);
  }

  @Test
  void aPoolOfFourTebibytesOpensPinsCopiesAtItsEndsAndClosesIn256MibOfHeap() throws Exception {
    run("-Xmx256m", 4L << 40);
  }

  private static void run(String heap, long bytes) throws Exception {
    // How long it took, for people.
    System.out.println(ChildJvm.run(List.of(heap), Child.class, Long.toString(bytes)));
  }

  /** What runs there. */
  static final class Child {
    private Child() {}

    public static void main(String[] arguments) {
      long begun = System.nanoTime();
      long bytes = Long.parseLong(arguments[0]);
      openCopyAndClose(bytes);
      System.out.printf(
          "a pool of %d GiB, from its machine to its end: %d ms%n",
          bytes >> 30, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun));
    }
  }

  private static void openCopyAndClose(long bytes) {
    long slots = bytes / BLOCK;
    try (SimMachine machine =
            SimMachine.builder()
                .profile(SimProfile.named("mi350x"))
                .leaks(LeakPolicy.FAIL)
                .build();
        Backend backend = machine.backend();
        Device device = backend.open(0);
        SimEngine engine = machine.engineOnSharedContext(0)) {
      DeviceAllocation memory = device.memory().allocate(4 * BLOCK);
      BlockShape shape = BlockShape.of(1, BLOCK);
      DeviceBlocks blocks =
          DeviceBlocks.of(
              memory.segment(), new BlockLayout(shape, List.of(Plane.packed(0, BLOCK, 4))));
      byte[] content = new byte[(int) BLOCK];
      java.util.Arrays.fill(content, (byte) 0x3C);
      engine.write(memory.segment().rawAddress(), content);
      try (HostPool pool =
          HostPool.open(
              device,
              blocks,
              HostRequest.ofBytes(slots * BLOCK).pages(PageKind.hugeTlb(1L << 30)))) {
        long registrations = machine.ledger().count(Operation.HOST_REGISTER);
        assertEquals(bytes >> 30, registrations, "a slice is one page of 1 GiB");
        pool.store(BlockCopies.device(0, 0).host(0, slots - 1), Order.unordered()).await();
        pool.load(BlockCopies.device(1, 2).host(0, slots - 1), Order.unordered()).await();
        assertEquals(0x3C, engine.read(memory.segment().rawAddress() + 3 * BLOCK - 1, 1)[0]);
        assertTrue(machine.audit().hostBytes() >= bytes, "all of it is pinned");
      }
      memory.close();
      long calls = machine.ledger().mark();
      assertTrue(calls < 100_000, "some 24 calls for each of 4096 registrations: " + calls);
    }
  }
}
