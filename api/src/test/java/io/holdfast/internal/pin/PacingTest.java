package io.holdfast.internal.pin;

import static io.holdfast.internal.pin.Bench.BASE;
import static io.holdfast.internal.pin.Bench.GIB;
import static io.holdfast.internal.pin.Bench.MIB;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.internal.pin.FakeDriver.Call;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRange;
import io.holdfast.pin.PinnedRegion;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** In the fake clock, where a base page takes 100 ns to register and 50 ns to unregister. */
class PacingTest {
  private static final long PAGE = 4096;

  private final Bench bench = new Bench();

  PacingTest() {
    bench.driver.registerNanos = range -> range.byteSize() / PAGE * 100;
    bench.driver.unregisterNanos = range -> range.byteSize() / PAGE * 50;
  }

  @AfterEach
  void nothingIsLeft() {
    bench.close();
    bench.assertNothingLeft();
  }

  private List<Long> pauses(String name) {
    List<Call> calls = bench.driver.calls(name);
    long perPage = name.equals("register") ? 100 : 50;
    return Stream.iterate(1, i -> i < calls.size(), i -> i + 1)
        .map(
            i -> {
              Call before = calls.get(i - 1);
              long end = before.atNanos() + before.bytes() / PAGE * perPage;
              return calls.get(i).atNanos() - end;
            })
        .toList();
  }

  @Test
  void backgroundCallsKeepTheDefaultBudgetWithPausesBetween() {
    FakeRegion region = FakeRegion.of(BASE, GIB);
    PinnedRegion pinned = bench.pinner().pinInBackground(region, PinRequest.strict());
    pinned.ready().join();
    List<Long> pages =
        bench.driver.calls("register").stream().map(call -> call.bytes() / PAGE).toList();
    // Three quarters of 0.4 ms are 3,000 pages; it gets there from 2 MiB by doubling.
    assertEquals(List.of(512L, 1024L, 2048L, 3000L, 3000L), pages.subList(0, 5));
    assertEquals(90, pages.size());
    assertEquals(262_144 - 3584 - 86 * 3000, pages.getLast());
    assertTrue(pages.subList(3, 89).stream().allMatch(each -> each == 3000));
    assertTrue(pauses("register").stream().allMatch(nanos -> nanos == 140_000));
    assertEquals(262_144 * 100 + 89 * 140_000, bench.kernel.nanoTime());
    assertEquals(300_000, pinned.receipt().longestCallNanos());
    assertEquals(3000 * PAGE, pinned.receipt().longestPossibleCallBytes());
  }

  @Test
  void whoWaitsForTheEndGetsNoPauses() {
    FakeRegion region = FakeRegion.of(BASE, GIB);
    PinnedRegion pinned = bench.pinner().pin(region, PinRequest.strict());
    assertEquals(4, pinned.ranges().size());
    assertEquals(262_144 * 100, bench.kernel.nanoTime());
    pinned.close();
    assertEquals(262_144 * 150, bench.kernel.nanoTime());
  }

  @Test
  void flatOutInTheBackgroundGetsNoPauses() {
    FakeRegion region = FakeRegion.of(BASE, GIB);
    PinRequest flatOut = PinRequest.strict().pacing(PinPacing.flatOut());
    bench.pinner().pinInBackground(region, flatOut).ready().join();
    assertEquals(4, bench.driver.calls("register").size());
    assertEquals(262_144 * 100, bench.kernel.nanoTime());
  }

  @Test
  void pausesAreLongerWhileCopiesAreInFlight() {
    AtomicLong inFlight = new AtomicLong(1);
    bench.desk().watchCopies(inFlight::get);
    bench.driver.before =
        _ -> {
          if (bench.driver.calls("register").size() == 45) {
            inFlight.set(0);
          }
        };
    FakeRegion region = FakeRegion.of(BASE, GIB);
    bench.pinner().pinInBackground(region, PinRequest.strict()).ready().join();
    List<Long> pauses = pauses("register");
    assertTrue(pauses.subList(0, 45).stream().allMatch(nanos -> nanos == 280_000));
    assertTrue(pauses.subList(45, 89).stream().allMatch(nanos -> nanos == 140_000));
  }

  @Test
  void callsShrinkAtOnceWhenTheDriverGetsSlower() {
    bench.driver.registerNanos =
        range -> {
          boolean slow = range.address() >= BASE + 512 * MIB;
          return range.byteSize() / PAGE * (slow ? 400 : 100);
        };
    FakeRegion region = FakeRegion.of(BASE, GIB);
    PinnedRegion pinned = bench.pinner().pinInBackground(region, PinRequest.strict());
    pinned.ready().join();
    List<PinnedRange> over =
        pinned.ranges().stream().filter(range -> range.nanos() > 400_000).toList();
    assertEquals(1, over.size());
    assertEquals(1_200_000, pinned.receipt().longestCallNanos());
    assertEquals(750 * PAGE, pinned.ranges().get(100).registeredBytes());
  }

  @Test
  void callsGrowAgainAfterAStall() {
    bench.driver.registerNanos =
        range -> {
          boolean stalled = range.address() <= BASE && BASE < range.address() + range.byteSize();
          return stalled ? 50_000_000 : range.byteSize() / PAGE * 100;
        };
    FakeRegion region = FakeRegion.of(BASE, GIB);
    PinnedRegion pinned = bench.pinner().pinInBackground(region, PinRequest.strict());
    pinned.ready().join();
    List<Long> pages =
        bench.driver.calls("register").stream().map(call -> call.bytes() / PAGE).toList();
    // A stall divides by four at most, else one call of somebody else's would ruin the next ten.
    assertEquals(List.of(512L, 128L, 256L, 512L, 1024L, 2048L, 3000L), pages.subList(0, 7));
  }

  @Test
  void aLargePageIsTheLeastThatOneCallCanTake() {
    FakeRegion region = FakeRegion.of(BASE, 4 * GIB, GIB);
    PinnedRegion pinned = bench.pinner().pinInBackground(region, PinRequest.strict());
    pinned.ready().join();
    assertEquals(4, pinned.ranges().size());
    assertEquals(List.of(140_000L, 140_000L, 140_000L), pauses("register"));
    assertEquals(GIB, pinned.receipt().longestPossibleCallBytes());
    assertEquals(
        List.of(
            "a driver call of 1073741824 bytes, which cannot be smaller here, took 26214 us and"
                + " should take 400: calls of other threads may have waited as long. Nothing has"
                + " failed; allow more by PinPacing.polite, or choose smaller blocks or pages"),
        pinned.receipt().notes());
  }

  @Test
  void callsEndAtLegalCutsBetweenBlocks() {
    FakeRegion region = FakeRegion.of(BASE, 73_728L * 1000, PAGE);
    BlockLayout layout = BlockShape.of(1, 73_728).layerMajor(1000);
    PinnedRegion pinned =
        bench.pinner().pinInBackground(region, PinRequest.strict().around(layout));
    pinned.ready().join();
    assertTrue(pinned.ranges().size() > 5);
    assertTrue(pinned.ranges().stream().allMatch(range -> range.offsetBytes() % 73_728 == 0));
    assertTrue(
        pinned.ranges().stream().allMatch(range -> pinned.plan().isLegalCut(range.offsetBytes())));
  }

  @Test
  void closeKeepsThePacing() {
    FakeRegion region = FakeRegion.of(BASE, GIB);
    PinnedRegion pinned = bench.pinner().pinInBackground(region, PinRequest.strict());
    pinned.ready().join();
    long begun = bench.kernel.nanoTime();
    pinned.close();
    assertEquals(90, bench.driver.calls("unregister").size());
    // The last range is small, so three calls fit into the budget at first; then two of 0.15 ms,
    // and
    // the three small ranges of the beginning together.
    List<Long> pauses = pauses("unregister");
    assertEquals(List.of(0L, 0L, 100_000L, 0L, 100_000L), pauses.subList(0, 5));
    assertEquals(List.of(100_000L, 0L, 0L), pauses.subList(86, 89));
    assertEquals(43, pauses.stream().filter(nanos -> nanos == 100_000).count());
    assertEquals(262_144 * 50 + 43 * 100_000, bench.kernel.nanoTime() - begun);
  }

  @Test
  void closeFlatOutHasNoPauses() {
    FakeRegion region = FakeRegion.of(BASE, GIB);
    PinnedRegion pinned = bench.pinner().pinInBackground(region, PinRequest.strict());
    pinned.ready().join();
    long begun = bench.kernel.nanoTime();
    pinned.closeFlatOut();
    assertEquals(262_144 * 50, bench.kernel.nanoTime() - begun);
  }

  @Test
  void rollBackKeepsThePacing() {
    bench.driver.failAt(20, 2);
    FakeRegion region = FakeRegion.of(BASE, GIB);
    PinnedRegion pinned = bench.pinner().pinInBackground(region, PinRequest.strict());
    CompletionException failed =
        assertThrows(CompletionException.class, () -> pinned.ready().join());
    assertInstanceOf(PinException.class, failed.getCause());
    assertEquals(20, bench.driver.calls("unregister").size());
    List<Long> pauses = pauses("unregister");
    assertEquals(8, pauses.stream().filter(nanos -> nanos == 100_000).count());
    assertEquals(11, pauses.stream().filter(nanos -> nanos == 0).count());
  }

  @Test
  void pauseCanBeChosenApartFromTheCalls() {
    FakeRegion region = FakeRegion.of(BASE, 16 * GIB);
    PinRequest request =
        PinRequest.strict()
            .sliceBytes(GIB)
            .pacing(PinPacing.flatOut().between(Duration.ofMillis(1)));
    bench.pinner().pin(region, request);
    assertEquals(16, bench.driver.calls("register").size());
    assertTrue(pauses("register").stream().allMatch(nanos -> nanos == 1_000_000));
  }

  @Test
  void twoRegionsInTheBackgroundDoNotFillEachOthersPauses() {
    FakeRegion first = FakeRegion.of(BASE, GIB);
    FakeRegion second = FakeRegion.of(BASE + GIB, GIB);
    PinnedRegion one = bench.pinner().pinInBackground(first, PinRequest.strict());
    PinnedRegion other = bench.pinner().pinInBackground(second, PinRequest.strict());
    one.ready().join();
    other.ready().join();
    // The last call of a region has no pause behind it; all others have, whoever calls next.
    assertTrue(pauses("register").stream().filter(nanos -> nanos < 140_000).count() <= 1);
  }

  @Test
  void negativeTimesAreRefused() {
    Duration negative = Duration.ofNanos(-1);
    assertThrows(IllegalArgumentException.class, () -> PinPacing.polite(negative));
    assertThrows(IllegalArgumentException.class, () -> PinPacing.polite(Duration.ZERO));
    assertThrows(IllegalArgumentException.class, () -> PinPacing.auto().between(negative));
  }
}
