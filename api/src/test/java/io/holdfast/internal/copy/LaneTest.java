package io.holdfast.internal.copy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyException;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.Order;
import io.holdfast.error.BusyException;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.internal.core.CoreStream;
import io.holdfast.internal.slots.CopyLane;
import io.holdfast.internal.slots.HostSlots;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.StreamHandle;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Moments at which a lane must not be caught: each of these went wrong once, or could have. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class LaneTest {
  private static final BlockLayout LAYOUT = BlockShape.of(1, 64).layerMajor(32);

  private static long handle(DeviceStream stream) {
    return ((CoreStream) stream).handle().value();
  }

  private static byte[] all(int value) {
    byte[] bytes = new byte[64];
    Arrays.fill(bytes, (byte) value);
    return bytes;
  }

  private static void await(CompletableFuture<?> end) {
    var _ = end.orTimeout(60, TimeUnit.SECONDS).join();
  }

  /** Some questions later, where the poller still has questions. */
  private static void letThePollerLook(FakePort port) {
    long seen = port.questions.get();
    for (int patience = 0; port.questions.get() < seen + 10 && patience < 10_000; patience++) {
      LockSupport.parkNanos(50_000);
    }
  }

  // ---- a stream that joined a capture

  @Test
  void anOrderRefusedBehindACapturedEventLeavesTheCaptureToo() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      long engine = rig.port.engineStream();
      CopyRoute route = rig.route();
      rig.port.capture(engine);
      DeviceEvent captured = rig.core.wrapEvent(rig.port.engineEvent(engine));
      DeviceEvent neverRecorded = rig.core.newEvent();

      IllegalStateException refused =
          assertThrows(
              IllegalStateException.class,
              () ->
                  route.store(
                      BlockCopies.device(0).host(0), Order.after(captured).and(neverRecorded)));

      assertTrue(refused.getSuppressed()[0] instanceof BusyException, refused.toString());
      assertEquals(1, rig.port.destroyed.size()); // so that the capture can end
      var next = route.store(BlockCopies.device(2).host(2), Order.unordered());
      rig.port.run();
      assertTrue(next.isDone());
      assertArrayEquals(rig.onDevice(0, 2), rig.onHost(0, 2));
    }
  }

  @Test
  void aLaneThatCouldNotHaveAnotherStreamTriesAgain() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      long engine = rig.port.engineStream();
      CopyRoute route = rig.route();
      DeviceStream producer = rig.engineStream();
      long gate = rig.port.gate(handle(producer));
      var inFlight = route.store(BlockCopies.device(1).host(1), Order.after(producer));
      rig.port.capture(engine);
      DeviceEvent captured = rig.core.wrapEvent(rig.port.engineEvent(engine));
      rig.port.streamsLeft = 0;

      BusyException refused =
          assertThrows(
              BusyException.class,
              () -> route.store(BlockCopies.device(0).host(0), Order.after(captured)));
      assertEquals(1, refused.getSuppressed().length);
      assertEquals(1, rig.port.destroyed.size());
      assertThrows(
          DriverException.class,
          () -> route.store(BlockCopies.device(0).host(0), Order.unordered()));
      assertEquals(1, rig.owner.uses().uses());

      rig.port.streamsLeft = 9;
      var next = route.store(BlockCopies.device(2).host(1), Order.unordered());
      rig.port.run();
      assertFalse(next.isDone()); // still behind the copy on the old stream
      rig.port.open(gate);
      rig.port.run();
      assertTrue(inFlight.isDone());
      assertTrue(next.isDone());
      assertArrayEquals(rig.onDevice(0, 2), rig.onHost(0, 1)); // the later one came last
    }
  }

  @Test
  void aLaneWithoutAStreamCanBeClosed() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      long engine = rig.port.engineStream();
      int streams = rig.port.streamCount();
      CopyRoute route = rig.route();
      rig.port.capture(engine);
      DeviceEvent captured = rig.core.wrapEvent(rig.port.engineEvent(engine));
      rig.port.streamsLeft = 0;
      assertThrows(
          BusyException.class,
          () -> route.store(BlockCopies.device(0).host(0), Order.after(captured)));

      route.close();

      assertEquals(streams, rig.port.streamCount());
    }
  }

  @Test
  void nobodyAsksAStreamThatMayHaveJoinedACapture() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      long engine = rig.port.engineStream();
      CopyRoute route = rig.route();
      DeviceStream producer = rig.engineStream();
      long gate = rig.port.gate(handle(producer));
      rig.port.asynchronous = FakePort.refusal("eventQuery", DriverFault.OTHER);
      var doubtful = route.store(BlockCopies.device(1).host(1), Order.after(producer));
      assertThrows(CopyException.class, doubtful::await); // from now on the stream is asked
      rig.port.capture(engine);
      DeviceEvent captured = rig.core.wrapEvent(rig.port.engineEvent(engine));

      rig.port.whenAskedForCapture =
          () -> {
            letThePollerLook(rig.port);
          };
      assertThrows(
          BusyException.class,
          () -> route.store(BlockCopies.device(0).host(0), Order.after(captured)));

      assertEquals(0, rig.port.brokenCaptures);
      assertEquals(1, rig.owner.uses().uses());
      rig.port.open(gate);
      rig.port.run();
      rig.slots.lease(1, Access.READ).close();
      assertEquals(0, rig.owner.uses().uses());
      rig.port.asynchronous = null;
    }
  }

  // ---- an end that was not recorded

  @Test
  void othersAreRefusedWhileTheyCannotWaitForACopy() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      DeviceStream producer = rig.engineStream();
      long gate = rig.port.gate(handle(producer));
      Order afterIt = Order.after(producer);
      CopyRoute other = rig.route();
      // The producer is asked first, then marked; our own stream is asked second.
      rig.port.whenAskedForCapture =
          () -> rig.port.whenAskedForCapture = () -> rig.port.refusesToRecord = true;
      assertThrows(CopyException.class, () -> route.store(BlockCopies.device(3).host(5), afterIt));

      BusyException refused =
          assertThrows(
              BusyException.class,
              () -> other.store(BlockCopies.device(4).host(5), Order.unordered()));
      assertTrue(refused.holders().getFirst().contains("would not record"), refused.toString());
      var elsewhere = BlockCopies.device(4).host(6);
      assertThrows(DriverException.class, () -> route.store(elsewhere, Order.unordered()));

      rig.port.refusesToRecord = false;
      var own = route.store(BlockCopies.device(7).host(7), Order.unordered()); // records it, too
      var second = other.store(BlockCopies.device(4).host(5), Order.unordered());
      rig.port.run();
      assertFalse(second.isDone());
      rig.port.open(gate);
      rig.port.run();
      assertTrue(own.isDone());
      assertTrue(second.isDone());
      assertArrayEquals(rig.onDevice(0, 4), rig.onHost(0, 5)); // the later one came last
    }
  }

  @Test
  void anAnswerThatSaysNothingOfTheCopiesKeepsTheirMemory() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      rig.port.asynchronous = FakePort.refusal("eventQuery", DriverFault.OTHER);
      rig.port.idleRefusal = FakePort.refusal("streamIdle", DriverFault.OTHER);
      var stored = route.store(BlockCopies.device(3).host(5), Order.unordered());
      assertThrows(CopyException.class, stored::await);
      letThePollerLook(rig.port);

      assertEquals(1, rig.owner.uses().uses());
      assertThrows(BusyException.class, () -> rig.slots.lease(5, Access.READ));
      rig.port.run();
      rig.port.asynchronous = null;
      rig.slots.lease(5, Access.READ).close();
      assertEquals(0, rig.owner.uses().uses());
    }
  }

  // ---- a completion that is used again at once

  @Test
  void aConsumerWaitsForTheLoadEvenIfItsCompletionIsAnothersAlready() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route(CopyOptions.auto());
      DeviceStream consumer = rig.engineStream();
      DeviceStream never = rig.engineStream();
      long gate = rig.port.gate(handle(never));
      Completion reuse = route.store(BlockCopies.withCapacity(0), Order.unordered());
      // The dry run asks first, our own stream second, the consumer's third: behind the submission.
      rig.port.whenAskedForCapture =
          () ->
              rig.port.whenAskedForCapture =
                  () ->
                      rig.port.whenAskedForCapture =
                          () -> {
                            rig.port.run();
                            await(
                                CompletableFuture.runAsync(
                                    () -> {
                                      reuse.await();
                                      assertSame(
                                          reuse,
                                          route.store(
                                              BlockCopies.device(1).host(1),
                                              Order.after(never),
                                              reuse));
                                    }));
                          };

      var _ = route.load(BlockCopies.device(9).host(9), Order.unordered().and(consumer), reuse);
      rig.port.fill(
          new DeviceRange(rig.device.address() + 9 * 64, 64),
          (byte) 7,
          ((CoreStream) consumer).handle());
      rig.port.run();

      assertFalse(reuse.isDone()); // it is the gated store's
      assertArrayEquals(all(7), rig.onDevice(0, 9)); // which the consumer has nothing to do with
      rig.port.open(gate);
      rig.port.run();
      assertTrue(reuse.isDone());
    }
  }

  // ---- slots whose lanes come and go

  /**
   * A lane takes over a number in whose name old tickets still lie about. Whoever meets it before
   * it knows where it goes on takes old copies for unfinished ones, and waits for ever.
   */
  @Test
  void aLaneKnowsWhereItGoesOnBeforeAnybodyMeetsIt() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      try (CopyRoute before = rig.route()) {
        for (int slot = 0; slot < 32; slot++) {
          var _ = before.store(BlockCopies.device(slot).host(slot), Order.unordered());
        }
        rig.port.run();
      }
      Latecomer lane = new Latecomer(rig.slots);

      rig.slots.enroll(lane);

      assertTrue(lane.met.orTimeout(60, TimeUnit.SECONDS).join()); // slot 31's store has ended
      assertEquals(32, lane.completed());
      rig.slots.withdraw(0, 32);
    }
  }

  /** While it begins, somebody else comes and looks at a slot. */
  private static final class Latecomer implements CopyLane {
    private final HostSlots slots;
    final CompletableFuture<Boolean> met = new CompletableFuture<>();
    private volatile long completed;

    Latecomer(HostSlots slots) {
      this.slots = slots;
    }

    @Override
    public void begin(int number, long lastSequence) {
      assertEquals(0, number);
      Thread other = Thread.ofPlatform().daemon().start(() -> met.complete(slots.isIdle(31)));
      for (int patience = 0; patience < 10_000 && !blockedOrDone(other); patience++) {
        LockSupport.parkNanos(50_000);
      }
      assertFalse(met.isDone());
      completed = lastSequence;
    }

    private static boolean blockedOrDone(Thread thread) {
      return thread.getState() == Thread.State.WAITING
          || thread.getState() == Thread.State.TERMINATED;
    }

    @Override
    public long completed() {
      return completed;
    }

    @Override
    public long completedNow() {
      return completed;
    }

    @Override
    public void holdBack(DevicePort port, StreamHandle stream, long sequence) {
      throw new AssertionError("nobody waits for an old copy");
    }
  }

  @Test
  void routesOpenAndCloseWhileOthersCopyOnTheirSlots() throws Exception {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT);
        AutoCloseable running = rig.port.running()) {
      CopyRoute stays = rig.route();
      var comesAndGoes =
          CompletableFuture.runAsync(
              () -> {
                for (int round = 0; round < 300; round++) {
                  try (CopyRoute brief = rig.route()) {
                    for (int slot = 0; slot < 3; slot++) {
                      var _ = brief.store(BlockCopies.device(slot).host(slot), Order.unordered());
                    }
                  }
                }
              });
      Completion reuse = stays.store(BlockCopies.withCapacity(0), Order.unordered());
      BlockCopies all = BlockCopies.device(0, 1, 2).host(0, 1, 2);
      while (!comesAndGoes.isDone()) {
        stays.store(all, Order.unordered(), reuse).await();
      }
      await(comesAndGoes);
      assertNotNull(running);
    }
  }
}
