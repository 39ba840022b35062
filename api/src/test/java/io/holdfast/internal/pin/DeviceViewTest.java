package io.holdfast.internal.pin;

import static io.holdfast.internal.pin.Bench.BASE;
import static io.holdfast.internal.pin.Bench.GIB;
import static io.holdfast.internal.pin.Bench.MIB;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.sun.management.ThreadMXBean;
import io.holdfast.error.DriverException;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinRequest.OnFailure;
import io.holdfast.spi.Traits;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Addresses of registrations, per device. */
class DeviceViewTest {
  private static final PinRequest FLAT_OUT = PinRequest.strict().pacing(PinPacing.flatOut());

  private final Bench bench = new Bench();
  private final FakeRegion region = FakeRegion.of(BASE, GIB);

  DeviceViewTest() {
    bench.driver.traits =
        new Traits(
            Traits.PinModel.HARD,
            List.of(),
            Long.MAX_VALUE,
            Long.MAX_VALUE,
            Traits.Alias.PER_RANGE,
            Set.of());
    bench.driver.aliasOffset = 1L << 44;
  }

  @AfterEach
  void nothingIsLeft() {
    bench.close();
    bench.assertNothingLeft();
  }

  private PinnedMemory inBackground() {
    return (PinnedMemory) bench.pinner().pinInBackground(region, FLAT_OUT);
  }

  @Test
  void everyOpenDeviceHasItsOwnAddresses() {
    PinnedMemory pinned = inBackground();
    pinned.ready().join();
    CoreDevice second = bench.openSecond();
    HostAddresses own = pinned.addressesOn(bench.device);
    HostAddresses others = pinned.addressesOn(second);
    assertEquals(BASE + 300 * MIB + (1L << 44), own.addressOf(300 * MIB));
    assertEquals(BASE + 300 * MIB + (2L << 44), others.addressOf(300 * MIB));
    assertEquals(512 * MIB, others.endOfRange(300 * MIB));
    assertSame(others, pinned.addressesOn(second));
    assertEquals(8, bench.driver.calls("seenByDevice").size());
  }

  @Test
  void aViewGrowsWithTheWatermark() {
    region.populated(256 * MIB);
    PinnedMemory pinned = inBackground();
    pinned.awaitWatermark(256 * MIB);
    CoreDevice second = bench.openSecond();
    HostAddresses others = pinned.addressesOn(second);
    assertThrows(IllegalStateException.class, () -> others.addressOf(256 * MIB));
    region.populated(GIB);
    pinned.ready().join();
    assertEquals(BASE + GIB - 1 + (2L << 44), others.addressOf(GIB - 1));
    assertEquals(GIB, others.endOfRange(GIB - 1));
    assertThrows(IllegalStateException.class, () -> others.addressOf(GIB));
    assertThrows(IllegalStateException.class, () -> others.endOfRange(-1));
  }

  @Test
  void anotherDeviceThatCannotNameARangeDoesNotStopPinning() {
    region.populated(256 * MIB);
    PinnedMemory pinned = inBackground();
    pinned.awaitWatermark(256 * MIB);
    CoreDevice second = bench.openSecond();
    HostAddresses others = pinned.addressesOn(second);
    bench.driver.failAt(2, 999); // register, own address, the other's address
    region.populated(GIB);
    pinned.ready().join();
    assertEquals(BASE + GIB - 1 + (1L << 44), pinned.addressesOn(bench.device).addressOf(GIB - 1));
    IllegalStateException broken =
        assertThrows(IllegalStateException.class, () -> others.addressOf(300 * MIB));
    assertInstanceOf(DriverException.class, broken.getCause());
    HostAddresses again = pinned.addressesOn(second);
    assertNotSame(others, again);
    assertEquals(BASE + 300 * MIB + (2L << 44), again.addressOf(300 * MIB));
  }

  @Test
  void aDeviceThatWasClosedIsAskedNoMore() {
    region.populated(256 * MIB);
    PinnedMemory pinned = inBackground();
    pinned.awaitWatermark(256 * MIB);
    CoreDevice second = bench.openSecond();
    HostAddresses _ = pinned.addressesOn(second);
    second.close();
    region.populated(GIB);
    pinned.ready().join();
    assertEquals(5, bench.driver.calls("seenByDevice").size());
  }

  @Test
  void aRangeWithoutAnAddressIsUnregisteredAndRefused() {
    bench.driver.failAt(3, 999);
    PinException refused =
        assertThrows(PinException.class, () -> bench.pinner().pin(region, FLAT_OUT));
    assertEquals(256 * MIB, refused.offsetBytes());
    assertEquals(999, refused.driver().orElseThrow().code());
    assertEquals(2, bench.driver.calls("unregister").size());
  }

  @Test
  void aRangeWithoutAnAddressIsNotAmongWhatWorked() {
    bench.driver.failAt(3, 999);
    PinnedMemory pinned =
        (PinnedMemory) bench.pinner().pin(region, FLAT_OUT.onFailure(OnFailure.KEEP_WHAT_WORKED));
    assertEquals(1, bench.driver.calls("unregister").size());
    assertEquals(256 * MIB, pinned.registeredBytes());
    assertEquals(256 * MIB, bench.desk().pinnedBytes());
    assertEquals(1, pinned.ranges().size());
    // What was not kept is free for others.
    bench.pinner().pin(FakeRegion.of(BASE + 256 * MIB, 256 * MIB), FLAT_OUT).close();
  }

  @Test
  void halvingStopsWhereARangeIsStuck() {
    bench.driver.before =
        call -> {
          if (!call.name().equals("register")) {
            throw FakeDriver.error(call.name(), 999);
          }
        };
    PinException refused =
        assertThrows(
            PinException.class,
            () -> bench.pinner().pin(region, FLAT_OUT.onFailure(OnFailure.HALVE)));
    assertEquals(1, bench.driver.registered().size());
    assertInstanceOf(PinException.class, refused.getSuppressed()[0]);
    assertEquals(1, bench.pinner().quarantine().size());
    bench.driver.before = _ -> {};
    assertEquals(List.of(), bench.pinner().retryQuarantine());
  }

  @Test
  void otherBackendsAreMisuse() {
    PinnedMemory pinned = inBackground();
    try (Bench other = new Bench()) {
      assertThrows(IllegalArgumentException.class, () -> pinned.addressesOn(other.device));
    }
    pinned.close();
    assertThrows(IllegalStateException.class, () -> pinned.addressesOn(bench.device));
  }

  @Test
  void anyByteIsFoundAmongManyRangesWithoutGarbage() {
    PinnedMemory pinned = (PinnedMemory) bench.pinner().pin(region, FLAT_OUT.sliceBytes(64 << 10));
    assertEquals(16_384, pinned.ranges().size());
    HostAddresses addresses = pinned.addressesOn(bench.device);
    long[] offsets = new SplittableRandom(7).longs(10_000, 0, GIB).toArray();
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long wrong = 0;
    long least = Long.MAX_VALUE;
    for (int round = 0; round < 20; round++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      for (long offset : offsets) {
        wrong |= addresses.addressOf(offset) - (BASE + (1L << 44) + offset);
        wrong |= addresses.endOfRange(offset) - (offset / (64 << 10) + 1) * (64 << 10);
      }
      least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
    }
    assertEquals(0, wrong);
    assertEquals(0, least);
  }

  @Test
  void anyByteIsFoundAmongRangesOfVeryDifferentSizesWhileTheyGrow() {
    DeviceView view = new DeviceView(bench.device, 4096);
    SplittableRandom random = new SplittableRandom(11);
    List<Long> ends = new ArrayList<>();
    long offset = 0;
    for (int each = 0; each < 600; each++) { // 4 KiB to 128 GiB, small ones among large ones
      long bytes = (random.nextLong(1, 17) * 4096) << random.nextInt(0, 1 + each / 30);
      MemorySegment range = MemorySegment.ofAddress(BASE + offset).reinterpret(bytes);
      assertEquals(BASE + offset + (1L << 44), view.append(range, offset));
      long start = offset;
      offset += bytes;
      ends.add(offset);
      for (long asked :
          new long[] {0, start - 1, start, offset - 1, random.nextLong(offset), start / 2}) {
        if (asked >= 0) {
          int right = 0;
          while (ends.get(right) <= asked) {
            right++;
          }
          assertEquals(right, view.rangeOf(asked), () -> asked + " of " + ends);
          assertEquals(ends.get(right), view.endOfRange(asked));
          assertEquals(BASE + asked + (1L << 44), view.addressOf(asked));
        }
      }
      long end = offset;
      assertThrows(IllegalStateException.class, () -> view.rangeOf(end));
    }
  }
}
