package io.holdfast.internal.copy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyException;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.Order;
import io.holdfast.error.BusyException;
import io.holdfast.error.Category;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.internal.core.CoreStream;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What happens when a driver call or the device fails, and what stays alive until it is over. */
class FailureTest {
  private static final BlockLayout LAYOUT = BlockShape.of(1, 64).layerMajor(32);

  private static BlockCopies scattered() {
    return BlockCopies.device(0, 2, 4, 6, 8, 10, 12, 14, 16).host(1, 3, 5, 7, 9, 11, 13, 15, 17);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void aFailureAtAnyCallKeepsTheLaneUsableAndEverythingAliveUntilTheDeviceIsDone(int call) {
    for (CopyPath path : new CopyPath[] {CopyPath.LOOP, CopyPath.BATCH}) {
      try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
        CopyRoute route = rig.route(CopyOptions.auto().maxBatchEntries(3).path(path));
        var reuse = route.store(BlockCopies.withCapacity(0), Order.unordered());
        rig.port.failingCall = call;
        rig.port.failingRow = 3L * call + 1;

        CopyException failure =
            assertThrows(
                CopyException.class, () -> route.store(scattered(), Order.unordered(), reuse));

        assertEquals(3L * call + 1, failure.pair().orElseThrow());
        CopyException.Descriptor descriptor = failure.descriptor().orElseThrow();
        assertEquals(64, descriptor.bytes());
        assertEquals(rig.device.address() + (3L * call + 1) * 128, descriptor.source());
        assertEquals(1, rig.owner.uses().uses());
        assertThrows(BusyException.class, () -> rig.slots.lease(1, Access.READ));
        assertThrows(CopyException.class, reuse::isDone);

        rig.port.run();
        rig.slots.lease(1, Access.READ).close();
        assertEquals(0, rig.owner.uses().uses());
        rig.port.failingCall = -1;
        assertSame(reuse, route.store(scattered(), Order.unordered(), reuse));
        rig.port.run();
        assertTrue(reuse.isDone());
        assertArrayEquals(rig.onDevice(0, 16), rig.onHost(0, 17));
        assertEquals(0, rig.owner.uses().uses());
      }
    }
  }

  /** Field report B74: all ones means that the driver names no copy. */
  @Test
  void b74_aFailureThatNamesNoRowNamesNoPair() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      rig.port.failingCall = 0;
      CopyException failure =
          assertThrows(CopyException.class, () -> route.store(scattered(), Order.unordered()));
      assertTrue(failure.pair().isEmpty());
      assertTrue(failure.descriptor().isEmpty());
      assertEquals(Category.DRIVER, failure.category());
    }
  }

  @Test
  void thePairOfAMergedAndCutRowIsTheFirstOfItsRun() {
    BlockLayout layout = BlockShape.of(2, 10).layerMajor(10);
    try (Rig rig = Rig.of(layout, layout, 15)) {
      CopyRoute route = rig.route();
      rig.port.failingCall = 0;
      // Part 0: pair 0 alone; pairs 1 to 3 go down over slots 3, 2, 1 and are cut at byte 15 into
      // two
      // rows. Part 1: the same runs, uncut.
      BlockCopies copies = BlockCopies.device(9, 3, 2, 1).host(0, 3, 2, 1);
      int[] pairs = {0, 1, 1, 0, 1};
      for (int row = 0; row < pairs.length; row++) {
        rig.port.failingRow = rowInTable(rig, row);
        rig.port.failingCall = rig.port.calls.size();
        CopyException failure =
            assertThrows(CopyException.class, () -> route.store(copies, Order.unordered()));
        assertEquals(pairs[row], failure.pair().orElseThrow(), "row " + row);
        rig.port.run();
        rig.slots.lease(0, Access.READ).close(); // seen to have ended: the table starts again
      }
    }
  }

  private static long rowInTable(Rig rig, int row) {
    assertEquals(0, rig.owner.uses().uses());
    return row;
  }

  @Test
  void aConsumerWaitsForWhatAFailedLoadStillWrites() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      DeviceStream consumer = rig.engineStream();
      CopyRoute route = rig.route(CopyOptions.auto().maxBatchEntries(3));
      rig.port.failingCall = 1;
      rig.port.order.clear();

      assertThrows(CopyException.class, () -> route.load(scattered(), Order.asIfOn(consumer)));

      long stream = ((CoreStream) consumer).handle().value();
      assertTrue(
          rig.port.order.getLast().startsWith(stream + " waits for "), rig.port.order.toString());
    }
  }

  @Test
  void whenNotEvenAnEventCanBeRecordedTheIdleStreamTells() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      rig.port.refusesToRecord = true;

      assertThrows(CopyException.class, () -> route.store(scattered(), Order.unordered()));

      assertEquals(1, rig.owner.uses().uses());
      assertThrows(BusyException.class, () -> rig.slots.lease(1, Access.READ));
      rig.port.refusesToRecord = false;
      rig.port.run();
      rig.slots.lease(1, Access.READ).close();
      assertEquals(0, rig.owner.uses().uses());
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = DriverFault.class,
      names = {"DEVICE_LOST", "OTHER"})
  void anAsynchronousErrorSurfacesWhereverOneWaits(DriverFault fault) throws Exception {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      var done = route.store(scattered(), Order.unordered());
      var future = done.future();
      rig.port.asynchronous = FakePort.refusal("eventQuery", fault);

      CopyException seen = assertThrows(CopyException.class, done::await);

      assertEquals(fault.category(), seen.category());
      assertThrows(CopyException.class, () -> done.await(Duration.ofNanos(1)));
      assertThrows(CopyException.class, done::isDone);
      assertThrows(CopyException.class, done::report);
      CompletionException wrapped = assertThrows(CompletionException.class, future::join);
      assertSame(seen, wrapped.getCause());
      if (fault == DriverFault.OTHER) {
        assertEquals(1, rig.owner.uses().uses()); // the device may still be at it
      }
      rig.port.run();
      rig.slots.lease(1, Access.READ).close();
      assertEquals(0, rig.owner.uses().uses());
      rig.port.asynchronous = null;
    }
  }

  @Test
  void aCloseWaitsForTheDevice() throws Exception {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      var stored = route.store(scattered(), Order.unordered());
      CountDownLatch closed = new CountDownLatch(1);
      Thread closer =
          Thread.ofPlatform()
              .start(
                  () -> {
                    rig.pinned.close();
                    closed.countDown();
                  });

      while (!refusesUse(route)) {
        Thread.onSpinWait();
      }
      assertFalse(closed.await(20, TimeUnit.MILLISECONDS));
      rig.port.run();
      closer.join();

      assertEquals(0, closed.getCount());
      assertTrue(stored.isDone());
      assertThrows(IllegalStateException.class, () -> route.store(scattered(), Order.unordered()));
    }
  }

  private static boolean refusesUse(CopyRoute route) {
    try {
      var _ = route.store(BlockCopies.withCapacity(0), Order.unordered());
      return false;
    } catch (IllegalStateException closing) {
      return true;
    }
  }

  @Test
  void closingGivesBackEveryStreamEventAndRegistration() {
    FakePort port = new FakePort();
    port.hasKernel = true;
    try (Rig rig = new Rig(port, LAYOUT, LAYOUT)) {
      int streams = port.streamCount();
      int events = port.eventCount();
      int registrations = port.registrationCount();
      CopyRoute route =
          rig.route(CopyOptions.auto().timing(CopyOptions.Timing.ON).maxBatchEntries(2));
      for (int i = 0; i < 40; i++) {
        var _ = route.store(scattered(), Order.unordered());
        var _ = route.load(scattered(), Order.unordered());
      }
      assertTrue(port.registrationCount() > registrations);
      assertEquals(80, rig.owner.uses().uses());
      port.run();

      route.close();
      route.close();

      assertEquals(streams, port.streamCount());
      assertEquals(events, port.eventCount());
      assertEquals(registrations, port.registrationCount());
      assertEquals(0, rig.owner.uses().uses());
    }
  }

  @Test
  void closingTheDeviceWithARouteInFlightUnwindsOnce() {
    Rig rig = Rig.of(LAYOUT, LAYOUT);
    CopyRoute route = rig.route();
    var stored = route.store(scattered(), Order.unordered());
    rig.port.run();
    rig.core.backend().close();
    rig.core.backend().close();
    assertTrue(stored.isDone());
    assertTrue(rig.port.closed);
    assertEquals(0, rig.owner.uses().uses());
  }

  /** A stream without its marker was left in the tree once, and broke the close. */
  @Test
  void aStreamThatCouldNotBeMadeLeavesNothing() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      int streams = rig.port.streamCount();
      int above = rig.core.standing().namesAbove().size();
      rig.port.eventsLeft = 0;
      assertThrows(DriverException.class, rig.core::newStream);
      assertThrows(DriverException.class, rig.core::newEvent);
      assertEquals(streams, rig.port.streamCount());
      assertEquals(above, rig.core.standing().namesAbove().size());
    }
  }

  @Test
  void aMemoryWhosePagesAreJustExchangedIsBusy() {
    try (Rig rig = Rig.of(LAYOUT, LAYOUT)) {
      CopyRoute route = rig.route();
      rig.owner.uses().shut();
      BusyException refused =
          assertThrows(BusyException.class, () -> route.store(scattered(), Order.unordered()));
      assertTrue(refused.holders().getFirst().contains("the test's device memory"));
      rig.owner.uses().reopen();
      var _ = route.store(scattered(), Order.unordered());
      assertEquals(1, rig.owner.uses().uses());
    }
  }
}
