package io.holdfast.internal.copy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyOptions.Timing;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyReport;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.Order;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** The end of a submission, seen from every side. */
class CompletionTest {
  private static final BlockLayout LAYOUT = BlockShape.of(2, 64).layerMajor(32);
  private static final BlockCopies COPIES = BlockCopies.device(0, 1, 5).host(1, 2, 9);

  @Test
  void aReportTellsBytesDescriptorsPathAndTimes() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route(CopyOptions.auto().timing(Timing.ON));
      Completion done = route.store(COPIES, Order.unordered());
      assertThrows(IllegalStateException.class, done::report);
      rig.port.run();

      CopyReport report = done.report();

      assertEquals(3 * 128, report.bytes());
      assertEquals(6, report.pairs());
      assertEquals(4, report.descriptors());
      assertEquals(CopyPath.BATCH, report.path());
      assertTrue(report.submitNanos() > 0);
      assertEquals(1000, report.deviceNanos().orElseThrow());
    }
  }

  @Test
  void withoutTimingTheDevicesTimeIsAbsent() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      Completion done = rig.route().store(COPIES, Order.unordered());
      rig.port.run();
      assertTrue(done.report().deviceNanos().isEmpty());
    }
  }

  @Test
  void everyWaiterIsWoken() throws Exception {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      Completion done = route.load(COPIES, Order.unordered());
      List<Thread> waiters = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        waiters.add(Thread.ofVirtual().start(done::await));
        waiters.add(Thread.ofPlatform().start(done::await));
        waiters.add(Thread.ofPlatform().start(() -> done.await(Duration.ofDays(400_000_000))));
      }
      assertFalse(done.await(Duration.ofMillis(1)));
      assertFalse(done.await(Duration.ZERO));

      rig.port.run();

      for (Thread waiter : waiters) {
        waiter.join();
      }
      assertTrue(done.await(Duration.ZERO));
    }
  }

  @Test
  void anInterruptedWaiterWaitsOnAndStaysInterrupted() throws Exception {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      Completion done = rig.route().load(COPIES, Order.unordered());
      AtomicReference<Boolean> interrupted = new AtomicReference<>();
      Thread waiter =
          Thread.ofPlatform()
              .start(
                  () -> {
                    Thread.currentThread().interrupt();
                    done.await();
                    interrupted.set(Thread.currentThread().isInterrupted());
                  });
      waiter.join(20);
      assertTrue(waiter.isAlive());
      rig.port.run();
      waiter.join();
      assertEquals(true, interrupted.get());
    }
  }

  @Test
  void aFutureIsCompletedByAThreadOfHoldfast() throws Exception {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      Completion done = rig.route().store(COPIES, Order.unordered());
      CompletableFuture<String> thread =
          done.future().thenApply(_ -> Thread.currentThread().getName());
      assertSame(done.future(), done.future());

      rig.port.run();

      assertTrue(thread.get().startsWith("holdfast-"), thread.get());
      assertEquals(384, done.future().get().bytes());
    }
  }

  @Test
  void anArmedAgainCompletionHasAFutureOfItsOwn() throws Exception {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      Completion done = route.store(COPIES, Order.unordered());
      CompletableFuture<CopyReport> first = done.future();
      rig.port.run();
      done.await();

      var _ = route.store(BlockCopies.device(1).host(1), Order.unordered(), done);
      CompletableFuture<CopyReport> second = done.future();
      assertEquals(384, first.get().bytes());
      assertNotSame(first, second);
      rig.port.run();

      assertEquals(128, second.get().bytes());
    }
  }

  @Test
  void aPointOfOrderHoldsBackOnlyWhileInFlight() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      Completion stored = route.store(COPIES, Order.unordered());
      var _ = route.load(BlockCopies.device(20).host(20), Order.after(stored).untilDone());
      assertEquals(1, rig.port.order.stream().filter(line -> line.contains("waits")).count());
      rig.port.run();
      assertTrue(stored.isDone());

      var _ = route.load(BlockCopies.device(20).host(20), Order.after(stored).untilDone());

      assertEquals(1, rig.port.order.stream().filter(line -> line.contains("waits")).count());
    }
  }

  @Test
  void tablesAreReadLateAndStayUntilThen() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route(CopyOptions.auto().maxBatchEntries(64));
      int[] lastStored = new int[32];
      for (int round = 0; round < 3; round++) {
        List<Completion> all = new ArrayList<>();
        for (int i = 0; i < 200; i++) { // the device reads no row before all are submitted
          int block = i * 5 % 32;
          int slot = (i + 3) % 32;
          lastStored[slot] = block;
          lastStored[31 - slot] = 31 - block;
          all.add(
              route.store(
                  BlockCopies.device(block, 31 - block).host(slot, 31 - slot), Order.unordered()));
        }
        rig.port.run();
        for (Completion each : all) {
          assertTrue(each.isDone());
        }
        for (int slot = 0; slot < 32; slot++) {
          assertArrayEquals(rig.onDevice(1, lastStored[slot]), rig.onHost(1, slot));
        }
      }
      assertEquals(0, rig.owner.uses().uses());
    }
  }
}
