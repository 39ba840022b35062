package io.holdfast.internal.pin;

import static io.holdfast.internal.pin.Bench.BASE;
import static io.holdfast.internal.pin.Bench.GIB;
import static io.holdfast.internal.pin.Bench.MIB;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.internal.pin.FakeDriver.Call;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRange;
import io.holdfast.pin.PinnedRegion;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class StandardPinnerTest {
  private final Bench bench = new Bench();

  @AfterEach
  void nothingIsLeft() {
    bench.close();
    bench.assertNothingLeft();
    assertEquals(0, bench.driver.openPorts.get());
  }

  @Test
  void pinsInSlicesInOrderAndUnpinsInReverse() {
    FakeRegion region = FakeRegion.of(BASE, GIB);
    try (PinnedRegion pinned = bench.pinner().pin(region, PinRequest.strict())) {
      assertEquals(GIB, pinned.watermarkBytes());
      assertEquals(GIB, pinned.registeredBytes());
      assertTrue(pinned.ready().isDone());
      assertEquals(
          List.of(0L, 256 * MIB, 512 * MIB, 768 * MIB),
          pinned.ranges().stream().map(PinnedRange::offsetBytes).toList());
      assertEquals(GIB, bench.desk().pinnedBytes());
    }
    List<Long> made = bench.driver.calls("register").stream().map(Call::address).toList();
    List<Long> undone = bench.driver.calls("unregister").stream().map(Call::address).toList();
    assertEquals(made, undone.reversed());
    assertEquals(4, made.size());
  }

  @Test
  void closingTheRegionUnpinsFirst() {
    FakeRegion region = FakeRegion.of(BASE, GIB);
    PinnedRegion pinned = bench.pinner().pin(region, PinRequest.strict());
    bench.driver.before = call -> assertFalse(region.unmapped, "unmapped before " + call.name());
    region.close();
    assertTrue(region.unmapped);
    assertEquals(0, pinned.registeredBytes());
    pinned.close();
    assertEquals(4, bench.driver.calls("unregister").size());
  }

  @Test
  void overlapIsRefusedBeforeTheDriverIsAsked() {
    FakeRegion region = FakeRegion.of(BASE, GIB);
    PinnedRegion pinned = bench.pinner().pin(region, PinRequest.strict());
    int calls = bench.driver.calls.size();
    FakeRegion part = FakeRegion.of(BASE + 512 * MIB, GIB);
    PinException refused =
        assertThrows(PinException.class, () -> bench.pinner().pin(part, PinRequest.strict()));
    assertEquals(PinException.Reason.PINNED_ALREADY, refused.reason());
    assertEquals(calls, bench.driver.calls.size());
    pinned.close();
    bench.pinner().pin(part, PinRequest.strict()).close();
  }

  @Test
  void receiptNamesBoundsAndCalls() {
    bench.driver.registerNanos = range -> range.byteSize() / MIB;
    FakeRegion region = FakeRegion.of(BASE, GIB);
    try (PinnedRegion pinned = bench.pinner().pin(region, PinRequest.strict())) {
      assertEquals(256 * GIB, pinned.receipt().capBytes());
      assertEquals("HARD", pinned.receipt().pinModel());
      assertEquals(256, pinned.receipt().longestCallNanos());
      assertEquals(256 * MIB, pinned.receipt().longestPossibleCallBytes());
      assertEquals(4, pinned.receipt().ranges().size());
      assertTrue(pinned.receipt().bounds().getFirst().startsWith("holdfast-256gib:"));
    }
  }

  @Test
  void memoryOfTheDriversOwnIsNeitherRegisteredNorUnregistered() {
    FakeRegion region = FakeRegion.of(BASE, GIB);
    region.pinnedByDriver = true;
    try (PinnedRegion pinned = bench.pinner().pin(region, PinRequest.strict())) {
      assertEquals(GIB, pinned.watermarkBytes());
      assertTrue(pinned.receipt().notes().getFirst().contains("allocated this memory pinned"));
    }
    assertEquals(List.of(), bench.driver.calls);
  }

  @Test
  void memoryOfAnotherPageSourceIsHeldWhileItIsPinned() {
    OtherRegion region = new OtherRegion(FakeRegion.of(BASE, GIB));
    PinnedRegion pinned = bench.pinner().pin(region, PinRequest.strict());
    assertSame(region, pinned.memory());
    assertEquals(List.of("pinned memory"), region.holders);
    assertThrows(PinException.class, () -> bench.pinner().pin(region, PinRequest.strict()));
    assertEquals(List.of("pinned memory"), region.holders);
    bench.driver.failAt(0, 999);
    assertThrows(PinException.class, pinned::close);
    assertEquals(List.of("268435456 bytes whose unregister failed"), region.holders);
    assertEquals(List.of(), bench.pinner().retryQuarantine());
    assertEquals(List.of(), region.holders);
  }
}
