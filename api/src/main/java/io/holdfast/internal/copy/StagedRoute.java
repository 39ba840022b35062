package io.holdfast.internal.copy;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyDecision;
import io.holdfast.copy.CopyException;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyReport;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.Order;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.slots.UnpinnedSlots;
import io.holdfast.pin.HostBlocks.Access;
import java.util.Arrays;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * A route to slots that no device can reach: an ordinary route to the places of a pinned ring, and
 * the CPU between those and the slots.
 *
 * <p>A load carries in the caller's thread and returns when its last copy is submitted; a store
 * returns when its last copy is submitted, and threads of ours carry what has arrived. So on return
 * the device's side is in order as on any route; only where the ring is too small for a submission
 * does the caller wait for the device. Safe from any thread.
 */
final class StagedRoute implements CopyRoute {
  private final CoreDevice core;
  private final DeviceBlocks device;
  private final UnpinnedSlots slots;
  private final StagingRing ring;
  private final StandardRoute route;

  private StagedRoute(
      CoreDevice core,
      DeviceBlocks device,
      UnpinnedSlots slots,
      StagingRing ring,
      StandardRoute route) {
    this.core = core;
    this.device = device;
    this.slots = slots;
    this.ring = ring;
    this.route = route;
  }

  /** Opens a route whose sides fit. */
  static StagedRoute open(
      CoreDevice core,
      DeviceBlocks device,
      UnpinnedSlots slots,
      CopyOptions options,
      CopyProfile profile) {
    StagingRing ring =
        core.workers()
            .call(() -> StagingRing.open(core, slots.standing(), slots.shape(), slots.slots()));
    try {
      StandardRoute route = StandardRoute.open(core, device, ring.places(), options, profile);
      return new StagedRoute(core, device, slots, ring, route);
    } catch (Throwable failure) {
      ring.close();
      throw failure;
    }
  }

  CoreDevice core() {
    return core;
  }

  @Override
  public Completion store(BlockCopies copies, Order order) {
    return submit(copies, order, Direction.STORE, new StagedCompletion(this));
  }

  @Override
  public Completion load(BlockCopies copies, Order.TwoSided order) {
    return submit(copies, order, Direction.LOAD, new StagedCompletion(this));
  }

  @Override
  public Completion store(BlockCopies copies, Order order, Completion reuse) {
    return submit(copies, order, Direction.STORE, mine(reuse));
  }

  @Override
  public Completion load(BlockCopies copies, Order.TwoSided order, Completion reuse) {
    return submit(copies, order, Direction.LOAD, mine(reuse));
  }

  private StagedCompletion mine(Completion reuse) {
    if (reuse instanceof StagedCompletion completion && completion.route() == this) {
      return completion;
    }
    throw new IllegalArgumentException(reuse + " is not a completion of " + this);
  }

  private Completion submit(
      BlockCopies copies, Order order, Direction direction, StagedCompletion completion) {
    return core.workers()
        .call(
            () -> {
              completion.requireDone();
              new Staged(copies, direction, System.nanoTime()).submit(order, completion);
              return completion;
            });
  }

  @Override
  public CopyDecision explain(BlockCopies copies, Direction direction) {
    CopyPath path = CopyPath.LOOP;
    long descriptors = 0;
    int calls = 0;
    String because = "there is nothing to copy";
    BlockCopies some = BlockCopies.withCapacity(Math.min(copies.pairs(), ring.count()));
    for (int from = 0; from < copies.pairs(); from += ring.count()) {
      some.clear();
      for (int pair = from; pair < Math.min(copies.pairs(), from + ring.count()); pair++) {
        some.add(copies.deviceBlock(pair), pair - from);
      }
      CopyDecision one = route.explain(some, direction);
      path = one.path();
      descriptors += one.descriptors();
      calls += one.driverCalls();
      because = one.because() + "; staged through a pinned ring of " + ring.count() + " blocks";
    }
    return new CopyDecision(path, descriptors, calls, because);
  }

  @Override
  public void close() {
    ring.close(); // the route stands on it
  }

  @Override
  public String toString() {
    return "staged copy route between " + device + " and " + slots;
  }

  /** One submission: pieces of as many pairs as there are free places, one behind the other. */
  private final class Staged {
    private final BlockCopies copies;
    private final Direction direction;
    private final Access access;
    private final long begun;
    private final CompletableFuture<CopyReport> future = new CompletableFuture<>();
    private final int[] places = new int[ring.count()];
    private int next; // the first pair that is not submitted
    private int held; // the first pair whose slot the submitter still has

    // Guarded by this.
    private int outstanding = 1; // the submitter's own
    private long descriptors;
    private CopyPath path = CopyPath.LOOP;
    private OptionalLong deviceNanos = OptionalLong.of(0);
    private long submitNanos;
    private @Nullable Throwable failure;

    Staged(BlockCopies given, Direction direction, long begun) {
      // A copy: stores are carried after the caller may have cleared its own.
      this.copies = BlockCopies.withCapacity(given.pairs());
      for (int pair = 0; pair < given.pairs(); pair++) {
        copies.add(given.deviceBlock(pair), given.hostSlot(pair));
      }
      this.direction = direction;
      this.access = direction == Direction.STORE ? Access.WRITE : Access.READ;
      this.begun = begun;
    }

    void submit(Order order, StagedCompletion completion) {
      route.check(copies, direction);
      if (!ring.uses().tryEnter()) {
        route.requireOpen();
        throw new IllegalStateException(StagedRoute.this + " is closing");
      }
      try {
        slots.take(copies, access);
      } catch (Throwable refusal) {
        ring.uses().leave();
        throw refusal;
      }
      completion.begin(this.future);
      try {
        while (next < copies.pairs()) {
          submitPiece(ring.take(places, copies.pairs() - next), order, completion);
        }
        synchronized (this) {
          submitNanos = System.nanoTime() - begun;
        }
      } catch (Throwable broken) {
        fail(broken);
        while (held < copies.pairs()) {
          slots.release(copies.hostSlot(held++), access);
        }
        throw broken;
      } finally {
        ended();
      }
    }

    /** The places go back whatever happens, here or behind the device. */
    private void submitPiece(int some, Order order, StagedCompletion completion) {
      int first = next;
      int[] taken = Arrays.copyOf(places, some);
      Completion arrived;
      try {
        BlockCopies piece = BlockCopies.withCapacity(some);
        for (int each = 0; each < some; each++) {
          piece.add(copies.deviceBlock(first + each), taken[each]);
          if (direction == Direction.LOAD) {
            slots.carry(copies.hostSlot(first + each), ring.bytes(taken[each]), Access.READ);
            slots.release(copies.hostSlot(held++), Access.READ); // its bytes are in the ring
          }
        }
        arrived =
            direction == Direction.LOAD
                ? route.load(piece, (Order.TwoSided) order)
                : route.store(piece, order);
      } catch (CopyException refused) {
        giveBackWhenIdle(taken);
        throw shifted(refused, first);
      } catch (Throwable refused) {
        giveBackWhenIdle(taken);
        throw refused;
      }
      next += some;
      if (direction == Direction.STORE) {
        held = next; // the carrier releases them
      }
      completion.follows(arrived);
      synchronized (this) {
        outstanding++;
      }
      var _ =
          arrived.future().whenComplete((report, failed) -> arrived(first, taken, report, failed));
    }

    /** A part may have been submitted before the rest was refused. */
    private void giveBackWhenIdle(int[] taken) {
      for (int place : taken) {
        ring.giveBackWhenIdle(place);
      }
    }

    private CopyException shifted(CopyException refused, int first) {
      return refused.pair().isEmpty()
          ? refused
          : new CopyException(
              refused.answer(),
              OptionalLong.of(refused.pair().getAsLong() + first),
              refused.descriptor());
    }

    /** The device is done with a piece. On one of our threads. */
    private void arrived(
        int first, int[] taken, @Nullable CopyReport report, @Nullable Throwable failed) {
      for (int each = 0; each < taken.length; each++) {
        if (direction == Direction.STORE) {
          try {
            if (failed == null) {
              slots.carry(copies.hostSlot(first + each), ring.bytes(taken[each]), Access.WRITE);
            }
          } catch (Throwable broken) {
            fail(broken);
          }
          slots.release(copies.hostSlot(first + each), Access.WRITE);
        }
        if (failed == null) {
          ring.giveBack(taken[each]);
        } else {
          ring.giveBackWhenIdle(taken[each]); // an error was told before the device was done
        }
      }
      if (failed != null) {
        fail(failed);
      } else if (report != null) {
        add(report);
      }
      ended();
    }

    private synchronized void add(CopyReport report) {
      descriptors += report.descriptors();
      path = report.path();
      deviceNanos =
          report.deviceNanos().isPresent() && deviceNanos.isPresent()
              ? OptionalLong.of(deviceNanos.getAsLong() + report.deviceNanos().getAsLong())
              : OptionalLong.empty();
    }

    private synchronized void fail(Throwable broken) {
      if (failure == null) {
        failure = broken instanceof CompletionException wrapped ? wrapped.getCause() : broken;
      }
    }

    private void ended() {
      CopyReport report;
      Throwable broken;
      synchronized (this) {
        outstanding--;
        if (outstanding > 0) {
          return;
        }
        broken = failure;
        long pairs = copies.pairs();
        report =
            new CopyReport(
                pairs * slots.shape().bytes(),
                pairs * slots.shape().parts(),
                descriptors,
                path,
                submitNanos,
                pairs == 0 ? OptionalLong.empty() : deviceNanos);
      }
      ring.uses().leave();
      if (broken == null) {
        future.complete(report);
      } else {
        future.completeExceptionally(broken);
      }
    }
  }
}
