package io.holdfast.internal.pin;

import static io.holdfast.internal.pin.Bench.BASE;
import static io.holdfast.internal.pin.Bench.GIB;
import static io.holdfast.internal.pin.Bench.MIB;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.error.BusyException;
import io.holdfast.internal.tree.Standing;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pin.QuarantinedRange;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

class LifecycleTest {
  private static final PinRequest FLAT_OUT = PinRequest.strict().pacing(PinPacing.flatOut());

  private final Bench bench = new Bench();
  private final FakeRegion region = FakeRegion.of(BASE, GIB);

  @AfterEach
  void nothingIsLeft() {
    bench.close();
    bench.assertNothingLeft();
    assertEquals(0, bench.driver.openPorts.get());
  }

  private PinnedMemory inBackground(PinRequest request) {
    return (PinnedMemory) bench.pinner().pinInBackground(region, request);
  }

  private static Throwable failureOf(PinnedRegion pinned) {
    return Objects.requireNonNull(
        assertThrows(CompletionException.class, () -> pinned.ready().join()).getCause());
  }

  private static PinException.Reason reasonOf(PinnedRegion pinned) {
    return assertInstanceOf(PinException.class, failureOf(pinned)).reason();
  }

  @Test
  void pinsBehindPopulateAndTheWatermarkMoves() {
    region.populated(0);
    PinnedMemory pinned = inBackground(FLAT_OUT);
    assertEquals(0, pinned.watermarkBytes());
    region.populated(512 * MIB);
    pinned.awaitWatermark(512 * MIB);
    assertEquals(512 * MIB, pinned.watermarkBytes());
    assertEquals(2, bench.driver.calls("register").size());
    assertFalse(pinned.ready().isDone());
    region.populated(GIB);
    pinned.ready().join();
    assertEquals(GIB, pinned.watermarkBytes());
  }

  @Test
  void failedPopulateRollsBackAndKeepsItsOwnError() {
    region.populated(512 * MIB);
    PinnedMemory pinned = inBackground(FLAT_OUT);
    pinned.awaitWatermark(512 * MIB);
    IllegalStateException why = new IllegalStateException("no more pages");
    region.failPopulate(why);
    assertSame(why, failureOf(pinned));
    assertEquals(2, bench.driver.calls("unregister").size());
    assertSame(why, assertThrows(RuntimeException.class, () -> pinned.awaitWatermark(GIB)));
  }

  @Test
  void closeDoesNotWaitForPopulate() {
    region.populated(256 * MIB);
    PinnedMemory pinned = inBackground(FLAT_OUT);
    pinned.awaitWatermark(256 * MIB);
    pinned.close();
    assertEquals(1, bench.driver.calls("unregister").size());
    assertEquals(PinException.Reason.CANCELLED, reasonOf(pinned));
    region.populated(GIB); // the thread wakes up and must not register any more
    bench.close();
    assertEquals(1, bench.driver.calls("register").size());
  }

  @Test
  void startsOnASignal() {
    CompletableFuture<String> captured = new CompletableFuture<>();
    PinnedMemory pinned =
        inBackground(PinRequest.strict().pacing(PinPacing.flatOut().startAfter(captured)));
    assertEquals(0, bench.driver.calls.size());
    captured.complete("graphs are captured");
    pinned.ready().join();
    assertEquals(4, bench.driver.calls("register").size());
  }

  @Test
  void aSignalThatFailsFailsPinning() {
    CompletableFuture<String> captured = new CompletableFuture<>();
    PinnedMemory pinned =
        inBackground(PinRequest.strict().pacing(PinPacing.flatOut().startAfter(captured)));
    captured.completeExceptionally(new IllegalStateException("no graph"));
    assertEquals(PinException.Reason.NOT_STARTED, reasonOf(pinned));
    assertEquals(0, bench.driver.calls.size());
  }

  @Test
  void closedBeforeTheSignalNothingIsEverRegistered() {
    CompletableFuture<String> captured = new CompletableFuture<>();
    PinnedMemory pinned =
        inBackground(PinRequest.strict().pacing(PinPacing.flatOut().startAfter(captured)));
    pinned.close();
    captured.complete("too late");
    assertEquals(PinException.Reason.CANCELLED, reasonOf(pinned));
    assertEquals(0, bench.driver.calls.size());
  }

  @Test
  void pauseEndsAfterThePresentCallAndResumeGoesOn() {
    CountDownLatch inSecond = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    AtomicInteger calls = new AtomicInteger();
    bench.driver.before =
        _ -> {
          if (calls.incrementAndGet() == 2) {
            inSecond.countDown();
            Bench.await(goOn);
          }
        };
    PinnedMemory pinned = inBackground(FLAT_OUT);
    Bench.await(inSecond);
    pinned.pause();
    goOn.countDown();
    pinned.awaitWatermark(512 * MIB);
    assertEquals(512 * MIB, pinned.watermarkBytes());
    assertEquals(2, calls.get());
    pinned.resume();
    pinned.ready().join();
    assertEquals(4, calls.get());
  }

  @Test
  void noCallIsMadeWhenPausedWhileWaitingForPages() throws InterruptedException {
    region.populated(256 * MIB);
    PinnedMemory pinned = inBackground(FLAT_OUT);
    pinned.awaitWatermark(256 * MIB);
    pinned.pause();
    region.populated(GIB);
    Thread.sleep(60); // it would have been made by now
    assertEquals(1, bench.driver.calls("register").size());
    pinned.resume();
    pinned.ready().join();
  }

  @Test
  void noCallIsMadeWhileACloseMayStillBeRefused() {
    region.populated(256 * MIB);
    PinnedMemory pinned = inBackground(FLAT_OUT);
    pinned.awaitWatermark(256 * MIB);
    AtomicInteger calls = new AtomicInteger();
    Lease lease =
        new Lease(pinned.standing()) {
          @Override
          protected void refuse(List<String> holders) {
            region.populated(GIB);
            try {
              Thread.sleep(60); // it would have been made by now
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
            calls.set(bench.driver.calls("register").size());
            super.refuse(holders);
          }
        };
    assertThrows(BusyException.class, pinned::close);
    assertEquals(1, calls.get());
    pinned.ready().join();
    lease.out = false;
    pinned.close();
  }

  @Test
  void pausedPinsCanBeClosed() {
    PinnedMemory pinned = inBackground(FLAT_OUT);
    pinned.pause();
    pinned.close();
    assertEquals(0, pinned.registeredBytes());
  }

  @Test
  void cancelKeepsExactlyTheDoneRangesUntilClosed() {
    AtomicInteger calls = new AtomicInteger();
    AtomicReference<PinnedRegion> itself = new AtomicReference<>();
    CountDownLatch known = new CountDownLatch(1);
    bench.driver.before =
        _ -> {
          Bench.await(known);
          if (calls.incrementAndGet() == 3) {
            itself.get().cancel(); // the third call is under way and still counts
          }
        };
    PinnedMemory pinned = inBackground(FLAT_OUT);
    itself.set(pinned);
    known.countDown();
    assertEquals(PinException.Reason.CANCELLED, reasonOf(pinned));
    assertEquals(3, pinned.ranges().size());
    assertEquals(768 * MIB, pinned.watermarkBytes());
    pinned.awaitWatermark(768 * MIB);
    assertThrows(PinException.class, () -> pinned.awaitWatermark(GIB));
    // What was given up can be pinned by others.
    FakeRegion rest = FakeRegion.of(BASE + 768 * MIB, 256 * MIB);
    bench.pinner().pin(rest, PinRequest.strict()).close();
    pinned.cancel();
    pinned.close();
    assertEquals(0, pinned.registeredBytes());
    assertEquals(0, pinned.watermarkBytes());
    assertThrows(IllegalStateException.class, () -> pinned.awaitWatermark(1));
  }

  @Test
  void whoWaitsForTheRangeUnderWayGetsItDespiteACancel() {
    CountDownLatch inCall = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    bench.driver.before =
        call -> {
          if (call.name().equals("register")) {
            inCall.countDown();
            Bench.await(goOn);
          }
        };
    PinnedMemory pinned = inBackground(FLAT_OUT);
    Bench.await(inCall);
    pinned.cancel();
    CompletableFuture<Void> first =
        CompletableFuture.runAsync(() -> pinned.awaitWatermark(256 * MIB));
    CompletableFuture<Void> second =
        CompletableFuture.runAsync(() -> pinned.awaitWatermark(257 * MIB));
    assertThrows(TimeoutException.class, () -> first.get(20, TimeUnit.MILLISECONDS));
    assertFalse(second.isDone());
    goOn.countDown();
    first.join();
    CompletionException beyond = assertThrows(CompletionException.class, second::join);
    PinException cancelled = assertInstanceOf(PinException.class, beyond.getCause());
    assertEquals(PinException.Reason.CANCELLED, cancelled.reason());
    assertEquals(256 * MIB, cancelled.offsetBytes());
  }

  @Test
  void closeWaitsForThePresentCall() {
    CountDownLatch inCall = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    bench.driver.before =
        call -> {
          if (call.name().equals("register")) {
            inCall.countDown();
            Bench.await(goOn);
          }
        };
    PinnedMemory pinned = inBackground(FLAT_OUT);
    Bench.await(inCall);
    Thread closer = Thread.ofPlatform().start(pinned::close);
    while (pinned.standing().isOpen() || closer.getState() != Thread.State.WAITING) {
      Thread.onSpinWait(); // until it waits for the call's end
    }
    goOn.countDown();
    assertDoesNotHang(closer);
    assertEquals(1, bench.driver.calls("register").size());
    assertEquals(1, bench.driver.calls("unregister").size());
  }

  private static void assertDoesNotHang(Thread thread) {
    try {
      assertTrue(thread.join(Duration.ofSeconds(30)), thread + " hangs");
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void aRefusedCloseUndoesNothingAndPinningGoesOn() {
    region.populated(256 * MIB);
    PinnedMemory pinned = inBackground(FLAT_OUT);
    pinned.awaitWatermark(256 * MIB);
    Standing lease = new Lease(pinned.standing());
    BusyException busy = assertThrows(BusyException.class, pinned::close);
    assertEquals(List.of("a lease"), busy.holders());
    assertThrows(BusyException.class, pinned::closeFlatOut);
    assertEquals(0, bench.driver.calls("unregister").size());
    region.populated(GIB);
    pinned.ready().join();
    assertEquals(GIB, pinned.watermarkBytes());
    ((Lease) lease).out = false;
    pinned.close();
  }

  /** Something in the caller's hands. */
  private static class Lease extends Standing {
    volatile boolean out = true;

    Lease(Standing ground) {
      super("a lease", ground);
      enrol();
    }

    @Override
    protected void refuse(List<String> holders) {
      if (out) {
        holders.add(name());
      }
    }

    @Override
    protected void release() {}
  }

  @Test
  void aFailureUnderALeaseKeepsWhatIsPinnedUntilClosed() {
    region.populated(256 * MIB);
    PinnedMemory pinned = inBackground(FLAT_OUT);
    pinned.awaitWatermark(256 * MIB);
    Lease lease = new Lease(pinned.standing());
    bench.driver.failAt(0, 2);
    region.populated(GIB);
    Throwable failure = failureOf(pinned);
    assertInstanceOf(BusyException.class, failure.getSuppressed()[0]);
    assertEquals(256 * MIB, pinned.watermarkBytes());
    assertTrue(pinned.receipt().notes().getLast().contains("until closed"));
    lease.out = false;
    pinned.close();
    assertEquals(1, bench.driver.calls("unregister").size());
  }

  @Test
  void whatStandsOnAFailedBackgroundPinIsClosedBeforeItGoesBack() {
    region.populated(256 * MIB);
    PinnedMemory pinned = inBackground(FLAT_OUT);
    pinned.awaitWatermark(256 * MIB);
    Lease slots = new Lease(pinned.standing());
    slots.out = false;
    bench.driver.before =
        call -> {
          if (call.name().equals("unregister")) {
            assertFalse(slots.isOpen());
          }
        };
    bench.driver.failAt(0, 2);
    region.populated(GIB);
    assertEquals(PinException.Reason.DRIVER_REFUSED, reasonOf(pinned));
    assertFalse(slots.isOpen());
  }

  @Test
  void readyMayCloseWhatHasBecomeReady() {
    PinnedMemory pinned = inBackground(FLAT_OUT);
    CompletableFuture<Void> closed = pinned.ready().thenRun(pinned::close);
    closed.join();
    assertEquals(4, bench.driver.calls("unregister").size());
  }

  @Test
  void whoIsToldOfACancelMayCloseToo() {
    AtomicReference<PinnedRegion> itself = new AtomicReference<>();
    CountDownLatch known = new CountDownLatch(1);
    bench.driver.before =
        call -> {
          Bench.await(known);
          if (call.name().equals("register")) {
            itself.get().cancel();
          }
        };
    PinnedMemory pinned = inBackground(FLAT_OUT);
    itself.set(pinned);
    CompletableFuture<Void> closed = pinned.ready().exceptionally(_ -> null).thenRun(pinned::close);
    known.countDown();
    closed.join();
    assertEquals(1, bench.driver.calls("unregister").size());
  }

  @RepeatedTest(50)
  void ofTwoClosersOneDoesTheWorkAndBothSeeTheEnd() throws InterruptedException {
    PinnedMemory pinned = inBackground(FLAT_OUT);
    AtomicInteger seen = new AtomicInteger();
    Runnable close =
        () -> {
          pinned.close();
          if (bench.driver.registered().isEmpty()) {
            seen.incrementAndGet();
          }
        };
    Thread one = Thread.ofPlatform().start(close);
    Thread other = Thread.ofVirtual().start(close);
    one.join();
    other.join();
    assertEquals(2, seen.get());
    assertEquals(bench.driver.calls("register").size(), bench.driver.calls("unregister").size());
  }

  @RepeatedTest(50)
  void closingRegionAndPinsAtOnceUndoesEachOnce() throws InterruptedException {
    PinnedMemory pinned = inBackground(FLAT_OUT);
    Thread one = Thread.ofPlatform().start(region::close);
    Thread other = Thread.ofPlatform().start(pinned::closeFlatOut);
    one.join();
    other.join();
    assertTrue(region.unmapped);
    assertEquals(bench.driver.calls("register").size(), bench.driver.calls("unregister").size());
  }

  @RepeatedTest(50)
  void closingTheBackendMeanwhileLeavesNothing() {
    inBackground(FLAT_OUT);
    bench.close();
    assertEquals(bench.driver.calls("register").size(), bench.driver.calls("unregister").size());
    assertThrows(
        IllegalStateException.class, () -> bench.pinner().pin(region, PinRequest.strict()));
  }

  @Test
  void anInterruptedCloserKeepsThePauses() {
    // Two of these do not fit into the budget together.
    bench.driver.unregisterNanos = _ -> 250_000;
    PinnedMemory pinned = inBackground(PinRequest.strict());
    pinned.ready().join();
    long begun = bench.kernel.nanoTime();
    int ranges = pinned.ranges().size();
    Thread.currentThread().interrupt();
    pinned.close();
    assertTrue(Thread.interrupted());
    assertEquals(ranges * 250_000L + (ranges - 1) * 100_000L, bench.kernel.nanoTime() - begun);
  }

  @Test
  void aRangeThatCannotBeUnregisteredIsQuarantinedAndCanBeRetried() {
    PinnedMemory pinned = inBackground(FLAT_OUT);
    pinned.ready().join();
    bench.driver.failAt(1, 999);
    PinException failed = assertThrows(PinException.class, pinned::close);
    assertEquals(PinException.Reason.STILL_PINNED, failed.reason());
    assertEquals(512 * MIB, failed.offsetBytes());
    assertEquals(256 * MIB, pinned.receipt().longestPossibleCallBytes() + 256 * MIB);
    assertEquals(4, bench.driver.calls("unregister").size());
    assertEquals(256 * MIB, bench.desk().pinnedBytes());
    assertEquals(List.of(new FakeRegion.KeptRange(512 * MIB, 256 * MIB)), region.kept);

    bench.kernel.advance(5_000);
    QuarantinedRange one = bench.pinner().quarantine().getFirst();
    assertEquals(BASE + 512 * MIB, one.hostAddress());
    assertEquals(256 * MIB, one.registeredBytes());
    assertEquals(Duration.ofNanos(5_000), one.age());
    assertEquals(1, one.attempts());
    assertEquals(999, one.failure().code());

    PinException taken =
        assertThrows(PinException.class, () -> bench.pinner().pin(region, PinRequest.strict()));
    assertEquals(PinException.Reason.PINNED_ALREADY, taken.reason());
    assertTrue(String.valueOf(taken.getMessage()).contains("quarantine"));

    bench.driver.failAt(0, 998);
    assertEquals(2, bench.pinner().retryQuarantine().getFirst().attempts());
    assertEquals(998, bench.pinner().quarantine().getFirst().failure().code());
    assertEquals(List.of(), bench.pinner().retryQuarantine());
    assertEquals(List.of(), region.kept);
    bench.pinner().pin(region, PinRequest.strict()).close();
  }

  @Test
  void severalFailuresAreAllTriedAndAllTold() {
    PinnedMemory pinned = inBackground(FLAT_OUT);
    pinned.ready().join();
    bench.driver.before =
        call -> {
          if (call.name().equals("unregister")) {
            throw FakeDriver.error("unregister", 999);
          }
        };
    PinException failed = assertThrows(PinException.class, region::close);
    assertEquals(3, failed.getSuppressed().length);
    assertEquals(4, bench.pinner().quarantine().size());
    assertTrue(region.unmapped);
    assertEquals(4, region.kept.size());
    bench.driver.before = _ -> {};
    assertEquals(List.of(), bench.pinner().retryQuarantine());
  }

  @Test
  void quarantineOutlivesItsDeviceAndAnotherCanRetry() {
    PinnedMemory pinned = inBackground(FLAT_OUT);
    pinned.ready().join();
    var second = bench.openSecond();
    bench.driver.failAt(0, 999);
    assertThrows(PinException.class, bench.device::close);
    assertEquals(1, second.pinner().quarantine().size());
    assertEquals(List.of(), second.pinner().retryQuarantine());
    assertEquals(0, pinned.registeredBytes());
  }

  @Test
  void pinsCannotBeMadeOnClosedThings() {
    region.close();
    assertThrows(
        IllegalStateException.class, () -> bench.pinner().pin(region, PinRequest.strict()));
    assertEquals(0, bench.desk().pinnedBytes());
    FakeRegion again = FakeRegion.of(BASE, GIB);
    bench.pinner().pin(again, PinRequest.strict()).close();
  }

  @Test
  void waitingForMoreThanThereIsIsMisuse() {
    PinnedMemory pinned = inBackground(FLAT_OUT);
    assertThrows(IndexOutOfBoundsException.class, () -> pinned.awaitWatermark(GIB + 1));
    assertThrows(IndexOutOfBoundsException.class, () -> pinned.awaitWatermark(-1));
  }
}
