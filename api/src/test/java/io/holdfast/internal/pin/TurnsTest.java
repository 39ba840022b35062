package io.holdfast.internal.pin;

import static io.holdfast.internal.pin.Bench.BASE;
import static io.holdfast.internal.pin.Bench.GIB;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.error.HostKernelException;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Processes of one host take turns at the driver by a lock file. */
class TurnsTest {
  private static final PinRequest REQUEST =
      PinRequest.strict().pacing(PinPacing.flatOut().turns(Path.of("/locks/driver")));

  private final Bench bench = new Bench();
  private final FakeRegion region = FakeRegion.of(BASE, GIB);

  @AfterEach
  void nothingIsLeft() {
    bench.close();
    bench.assertNothingLeft();
    assertFalse(bench.kernel.isLocked("driver"));
  }

  @Test
  void eachCallHasTheTurnAndOthersRestBetween() {
    bench.driver.before = _ -> assertTrue(bench.kernel.isLocked("driver"));
    bench.kernel.duringPause = () -> assertFalse(bench.kernel.isLocked("driver"));
    PinnedRegion pinned = bench.pinner().pin(region, REQUEST);
    assertEquals(3 * TurnFile.REST_NANOS, bench.kernel.nanoTime());
    pinned.close();
    assertEquals(6 * TurnFile.REST_NANOS, bench.kernel.nanoTime());
    assertEquals(4, bench.driver.calls("unregister").size());
  }

  @Test
  void waitsForAnotherProcessAndGoesOnWhenItDies() {
    bench.kernel.lockElsewhere("driver");
    AtomicInteger polls = new AtomicInteger();
    bench.kernel.duringPause =
        () -> {
          if (polls.incrementAndGet() == 7) {
            bench.kernel.dieElsewhere("driver");
          }
        };
    bench.pinner().pin(region, REQUEST);
    long first = bench.driver.calls.getFirst().atNanos();
    assertEquals(7 * TurnFile.POLL_NANOS, first);
  }

  @Test
  void cancelAndCloseDoNotWaitForAnotherProcess() {
    bench.kernel.lockElsewhere("driver");
    CountDownLatch waiting = new CountDownLatch(1);
    bench.kernel.duringPause = waiting::countDown;
    PinnedRegion pinned = bench.pinner().pinInBackground(region, REQUEST);
    Bench.await(waiting);
    pinned.close();
    assertEquals(0, bench.driver.calls.size());
    bench.kernel.dieElsewhere("driver");
  }

  @Test
  void closeFlatOutTakesNoTurns() {
    PinnedRegion pinned = bench.pinner().pin(region, REQUEST);
    bench.kernel.lockElsewhere("driver");
    pinned.closeFlatOut();
    assertEquals(4, bench.driver.calls("unregister").size());
    bench.kernel.dieElsewhere("driver");
  }

  @Test
  void aFileThatCannotBeOpenedIsToldBeforeAnythingIsDone() {
    PinRequest nowhere =
        PinRequest.strict().pacing(PinPacing.flatOut().turns(Path.of("/absent/driver")));
    assertThrows(HostKernelException.class, () -> bench.pinner().pin(region, nowhere));
    PinRequest noName = PinRequest.strict().pacing(PinPacing.flatOut().turns(Path.of("/")));
    assertThrows(IllegalArgumentException.class, () -> bench.pinner().pin(region, noName));
    assertEquals(0, bench.driver.calls.size());
    bench.pinner().pin(region, PinRequest.strict()).close();
  }

  @Test
  void twoRegionsWithOneFileDoNotBlockEachOther() {
    FakeRegion second = FakeRegion.of(BASE + GIB, GIB);
    PinnedRegion one = bench.pinner().pinInBackground(region, REQUEST);
    PinnedRegion other = bench.pinner().pinInBackground(second, REQUEST);
    one.ready().join();
    other.ready().join();
    assertEquals(2 * GIB, bench.driver.registeredBytes());
  }
}
