package io.holdfast.internal.copy;

import com.sun.management.ThreadMXBean;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.Order;
import io.holdfast.internal.Segment;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.slots.HostSlots;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import java.lang.management.ManagementFactory;
import java.util.List;

/**
 * Counts what submissions allocate on this thread, in a JVM of its own: {@code AllocationProbe
 * PLANES BLOCKS WARM_UP COUNTED}. One line for each path and direction: name, bytes, picoseconds of
 * this thread for each descriptor.
 */
final class AllocationProbe {
  private static final int STRETCHES = 4;

  /** A busy machine makes rare paths run, which are compiled anew; that is not the steady state. */
  private static final int MOST_STRETCHES = 20;

  private AllocationProbe() {}

  public static void main(String[] arguments) {
    int planes = Integer.parseInt(arguments[0]);
    int blocks = Integer.parseInt(arguments[1]);
    int warmUp = Integer.parseInt(arguments[2]);
    int counted = Integer.parseInt(arguments[3]);
    NoOpPort port = new NoOpPort();
    CoreDevice core = FakeDriver.open(port);
    BlockLayout layout = BlockShape.of(planes, 64).layerMajor(4L * blocks);
    FakePinned pinned =
        new FakePinned(core, List.of(), 0, layout.extentBytes(), layout.extentBytes() / 2 + 7);
    HostSlots slots = HostSlots.of(pinned, layout);
    Rig.Owner owner = new Rig.Owner(core.standing());
    DeviceBlocks device =
        DeviceBlocks.of(new Segment(core.info(), 1L << 40, layout.extentBytes(), owner), layout);
    DeviceStream engine = core.wrapStream(77);
    Order.TwoSided order = Order.asIfOn(engine);
    int[] ids = new int[blocks];
    for (int i = 0; i < blocks; i++) {
      ids[i] = (i * 7 % blocks) * 3; // scattered, neither up nor down
    }
    for (CopyPath path : CopyPath.values()) {
      try (CopyRoute route =
          core.copyEngine().route(device, slots, CopyOptions.auto().path(path))) {
        count(path + " STORE", route, order, ids, warmUp, counted);
        count(path + " LOAD", route, order, ids, warmUp, counted);
      }
    }
    core.backend().close();
  }

  @SuppressWarnings("SystemOut") // the parent reads it
  private static void count(
      String name, CopyRoute route, Order.TwoSided order, int[] ids, int warmUp, int counted) {
    ThreadMXBean bean = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    boolean store = name.endsWith("STORE");
    BlockCopies copies = BlockCopies.withCapacity(ids.length);
    Completion done = route.store(copies, Order.unordered());
    long leanest = Long.MAX_VALUE;
    long all = 0;
    long nanos = 0;
    for (int stretch = -1;
        stretch < STRETCHES || (leanest > 0 && stretch < MOST_STRETCHES);
        stretch++) {
      int rounds = stretch < 0 ? warmUp : counted;
      long before = bean.getCurrentThreadAllocatedBytes();
      long begun = bean.getCurrentThreadCpuTime();
      for (int round = 0; round < rounds; round++) {
        copies.clear().addAll(ids, ids);
        done = store ? route.store(copies, order, done) : route.load(copies, order, done);
        done.await();
      }
      nanos = bean.getCurrentThreadCpuTime() - begun;
      long bytes = bean.getCurrentThreadAllocatedBytes() - before;
      if (stretch >= 0) {
        leanest = Math.min(leanest, bytes);
      }
      if (stretch >= 0 && stretch < STRETCHES) {
        all += bytes;
      }
    }
    long rows = done.report().descriptors() * counted;
    System.out.println(
        name + ": " + leanest + " of " + all + " bytes, " + nanos * 1000 / rows + " ps");
  }
}
