package io.holdfast.internal.pool;

import io.holdfast.Device;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyDecision;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.Order;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.pin.PinCheck;
import io.holdfast.internal.slots.SlotsHolder;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** A pool: a region, pins on it, slots on those and a route over them, seen as one. */
public final class StandardHostPool implements HostPool, SlotsHolder {
  private final HostRegion region;
  private final PinnedRegion pinned;
  private final HostBlocks slots;
  private final CopyRoute route;

  private StandardHostPool(
      HostRegion region, PinnedRegion pinned, HostBlocks slots, CopyRoute route) {
    this.region = region;
    this.pinned = pinned;
    this.slots = slots;
    this.route = route;
  }

  /**
   * Opens a pool and waits until all of it is usable.
   *
   * @param device where the engine's blocks lie
   * @param blocks the engine's blocks
   * @param memory bytes are a budget: the region holds whole blocks
   * @param options how
   * @return the pool
   */
  public static HostPool open(
      Device device, DeviceBlocks blocks, HostRequest memory, PoolOptions options) {
    return open(device, blocks, memory, options, Waiting.FOR_ALL);
  }

  /**
   * Opens a pool that becomes usable from its first slot on.
   *
   * @param device where the engine's blocks lie
   * @param blocks the engine's blocks
   * @param memory bytes are a budget: the region holds whole blocks
   * @param options how
   * @return the pool
   */
  public static HostPool openInBackground(
      Device device, DeviceBlocks blocks, HostRequest memory, PoolOptions options) {
    return open(device, blocks, memory, options, Waiting.NOT_AT_ALL);
  }

  private static HostPool open(
      Device device,
      DeviceBlocks blocks,
      HostRequest memory,
      PoolOptions options,
      Waiting waiting) {
    if (!(device instanceof CoreDevice core)) {
      throw new IllegalArgumentException("the device " + device + " comes from no backend of ours");
    }
    BlockShape shape = blocks.shape();
    long count = Math.max(1, memory.logicalBytes() / shape.bytes());
    BlockLayout layout = options.arrangement().layOut(shape, count);
    HostRequest whole = memory.logicalBytes(layout.extentBytes());
    PinRequest pin = options.pin().around(layout);
    PinCheck.beforeMapping(core, whole, pin);
    // Mapped in the background in either case: pinning follows right behind populating.
    HostRegion region = core.backend().pageSource().mapInBackground(whole);
    PinnedRegion pinned;
    try {
      pinned =
          switch (waiting) {
            case FOR_ALL -> core.pinner().pin(region, pin);
            case NOT_AT_ALL -> core.pinner().pinInBackground(region, pin);
          };
    } catch (Throwable failure) {
      close(region, failure);
      throw failure;
    }
    try {
      HostBlocks slots = pinned.blocks(layout);
      CopyRoute route = core.copyEngine().route(blocks, slots, options.copy());
      if (waiting == Waiting.FOR_ALL) {
        join(region.ready());
      }
      return new StandardHostPool(region, pinned, slots, route);
    } catch (IllegalStateException closed) {
      // Pinning may have failed meanwhile and taken down what was being put on it.
      close(region, closed);
      throw reason(pinned, closed);
    } catch (Throwable failure) {
      close(region, failure);
      throw failure;
    }
  }

  private static void close(HostRegion region, Throwable failure) {
    try {
      region.close();
    } catch (RuntimeException more) {
      failure.addSuppressed(more);
    }
  }

  /** Why pins that are closed by now have failed, if they failed before they were closed. */
  private static RuntimeException reason(PinnedRegion pinned, IllegalStateException closed) {
    try {
      join(pinned.ready());
      return closed;
    } catch (RuntimeException why) {
      if (why instanceof PinException pin && pin.reason() == PinException.Reason.CANCELLED) {
        return closed;
      }
      why.addSuppressed(closed);
      return why;
    }
  }

  private static void join(CompletableFuture<Void> ready) {
    try {
      ready.join();
    } catch (CompletionException wrapped) {
      if (wrapped.getCause() instanceof RuntimeException reason) {
        throw reason;
      }
      throw wrapped;
    }
  }

  @Override
  public CompletableFuture<Void> ready() {
    CompletableFuture<Void> populated = region.ready();
    CompletableFuture<Void> usable = pinned.ready();
    CompletableFuture<Void> both = CompletableFuture.allOf(populated, usable);
    // The first failure counts: the other may take minutes to end.
    var _ = populated.whenComplete((_, failed) -> failTogether(both, failed));
    var _ = usable.whenComplete((_, failed) -> failTogether(both, failed));
    return both;
  }

  private static void failTogether(CompletableFuture<Void> both, @Nullable Throwable failed) {
    if (failed != null) {
      both.completeExceptionally(failed);
    }
  }

  @Override
  public HostRegion region() {
    return region;
  }

  @Override
  public PinnedRegion pinned() {
    return pinned;
  }

  @Override
  public HostBlocks held() {
    return slots;
  }

  @Override
  public void close() {
    region.close();
  }

  @Override
  public Completion store(BlockCopies copies, Order order) {
    return route.store(copies, order);
  }

  @Override
  public Completion load(BlockCopies copies, Order.TwoSided order) {
    return route.load(copies, order);
  }

  @Override
  public Completion store(BlockCopies copies, Order order, Completion reuse) {
    return route.store(copies, order, reuse);
  }

  @Override
  public Completion load(BlockCopies copies, Order.TwoSided order, Completion reuse) {
    return route.load(copies, order, reuse);
  }

  @Override
  public CopyDecision explain(BlockCopies copies, Direction direction) {
    return route.explain(copies, direction);
  }

  @Override
  public BlockShape shape() {
    return slots.shape();
  }

  @Override
  public long slots() {
    return slots.slots();
  }

  @Override
  public long readySlots() {
    return slots.readySlots();
  }

  @Override
  public void awaitSlots(long count) {
    slots.awaitSlots(count);
  }

  @Override
  public SlotLease lease(long slot, Access access) {
    return slots.lease(slot, access);
  }

  @Override
  public String toString() {
    return "pool of " + slots;
  }

  private enum Waiting {
    FOR_ALL,
    NOT_AT_ALL
  }
}
