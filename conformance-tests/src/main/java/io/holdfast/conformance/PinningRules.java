package io.holdfast.conformance;

import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.conformance.tap.Call;
import io.holdfast.copy.BlockCopies;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.error.Category;
import io.holdfast.error.HoldfastException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.Arrangement;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.layout.ByteRange;
import io.holdfast.pin.CutPolicy;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.NoPlanException;
import io.holdfast.pin.NotReadyException;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRange;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import io.holdfast.spi.HostKernel.Advice;
import io.holdfast.spi.Traits;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Registration: boundaries, order, watermark, what is refused. */
abstract class PinningRules extends Rules {
  private static final String REGISTER = "DevicePort.register";
  private static final String UNREGISTER = "DevicePort.unregister";

  PinningRules(Conformance kit) {
    super(kit);
  }

  private HostRegion map(long bytes) {
    return backend.pageSource().map(HostRequest.ofBytes(bytes));
  }

  private static PinRequest inSlices(long bytes) {
    return PinRequest.strict().sliceBytes(bytes).capBytes(bytes);
  }

  @Test
  @Covers({Rule.REG_01, Rule.REG_02, Rule.ACC_01})
  final void reg01_ranges_are_whole_pages_that_tile_the_mapping_below_the_cap() {
    try (HostRegion region = map((5L << 20) + 1)) {
      long page = region.backingPageBytes();
      long slice = Math.max(page, 1L << 20);
      PinRequest request = PinRequest.strict().sliceBytes(slice);
      try (PinnedRegion pinned = device.pinner().pin(region, request)) {
        long end = 0;
        for (PinnedRange range : pinned.ranges()) {
          assertEquals(end, range.offsetBytes());
          assertEquals(0, range.registeredBytes() % page);
          assertTrue(range.registeredBytes() <= pinned.receipt().capBytes());
          assertEquals(range.registeredBytes(), range.seenByDevice().byteSize());
          end += range.registeredBytes();
        }
        assertEquals(region.mappedBytes(), end);
        assertEquals(region.mappedBytes(), pinned.registeredBytes());
        assertEquals(pinned.plan().registrations(), pinned.ranges().size());
        assertTrue(pinned.watermarkBytes() >= region.logicalBytes());
        assertEquals(
            region.mappedBytes(),
            tap.registered().values().stream().mapToLong(one -> one).sum(),
            "the driver was asked for something else");
        assertEquals(pinned.ranges().size(), pinned.receipt().ranges().size());
      }
    }
  }

  @Test
  @Covers({Rule.REG_03, Rule.REG_04})
  final void reg03_an_overlapping_pin_is_refused_and_what_was_closed_can_be_pinned_again() {
    try (HostRegion region = map(1 << 20)) {
      try (PinnedRegion pinned = device.pinner().pin(region, PinRequest.strict())) {
        Map<Long, Long> before = tap.registered();
        assertThrows(
            HoldfastException.class, () -> device.pinner().pin(region, PinRequest.strict()));
        long page = region.backingPageBytes();
        assertThrows(
            HoldfastException.class,
            () -> device.pinner().pin(region.slice(page, page), PinRequest.strict()));
        assertEquals(region.mappedBytes(), pinned.registeredBytes());
        assertEquals(before, tap.registered());
      }
      for (int again = 0; again < 3; again++) {
        try (PinnedRegion pinned = device.pinner().pin(region, PinRequest.strict())) {
          assertEquals(region.mappedBytes(), pinned.registeredBytes());
        }
      }
    }
  }

  @Test
  @Covers(Rule.REG_05)
  final void reg05_a_plan_that_cannot_be_is_an_error_before_any_call() {
    try (HostRegion region = map(4L << 20)) {
      long page = region.backingPageBytes();
      BlockLayout layout = BlockShape.of(1, 3 * page + 8).blockMajor(10);
      PinRequest request =
          PinRequest.strict().around(layout).cuts(CutPolicy.NEVER_INSIDE_BLOCK).capBytes(4 * page);
      tap.forget();

      NoPlanException refused =
          assertThrows(NoPlanException.class, () -> device.pinner().pin(region, request));

      assertFalse(refused.why().wouldWork().isEmpty());
      assertEquals(List.of(), tap.calls(REGISTER));
      device.pinner().pin(region, PinRequest.strict()).close();
    }
  }

  @Test
  @Covers(Rule.REG_06)
  final void reg06_the_driver_is_asked_for_the_planned_ranges_in_ascending_order() {
    try (HostRegion region = map(pages(300) + 7)) {
      long page = region.backingPageBytes();
      BlockLayout layout = BlockShape.of(1, 5 * page / 2).blockMajor(100);
      PinRequest request = inSlices(16 * page).around(layout);
      tap.forget();
      try (PinnedRegion pinned = device.pinner().pin(region, request)) {
        long base = region.segment().address();
        List<String> asked =
            tap.calls(REGISTER).stream()
                .map(call -> call.argument(MemorySegment.class, 0))
                .map(range -> range.address() - base + "+" + range.byteSize())
                .toList();
        List<String> planned = new ArrayList<>();
        for (ByteRange range : pinned.plan().ranges()) {
          planned.add(range.offsetBytes() + "+" + range.bytes());
        }
        assertEquals(planned, asked);
        assertTrue(planned.size() > 1, "one range shows no order");
      }
    }
  }

  @Test
  @Covers({Rule.REG_07, Rule.CAP_02})
  final void reg07_no_call_exceeds_the_cap_of_the_caller_or_the_driver() {
    long page = tap.kernel().basePageBytes();
    long declared = Long.MAX_VALUE;
    for (Traits.RegistrationBound bound : tap.port().traits(page).bounds()) {
      assertTrue(bound.maxBytes() >= page, bound.id() + " is less than a page");
      assertFalse(bound.reason().isBlank(), bound.id() + " has no reason");
      declared = Math.min(declared, bound.maxBytes());
      limit("bound " + bound.id(), bound.maxBytes());
    }
    assertEquals(declared, device.capabilities().maxRegistrationBytes());
    try (HostRegion region = map(2L << 20)) {
      for (long cap : new long[] {page, 3 * page, 64 * page + 1}) {
        tap.forget();
        try (PinnedRegion pinned = device.pinner().pin(region, PinRequest.strict().capBytes(cap))) {
          assertTrue(pinned.receipt().capBytes() <= Math.min(cap, declared));
          for (Call call : tap.calls(REGISTER)) {
            assertTrue(call.argument(MemorySegment.class, 0).byteSize() <= cap, call.toString());
          }
        }
      }
    }
  }

  @Test
  @Covers({Rule.REG_08, Rule.REG_09})
  final void reg08_what_was_registered_is_unregistered_exactly_in_reverse_before_its_pages_go() {
    HostRegion region = map(pages(256));
    PinnedRegion pinned = device.pinner().pin(region, inSlices(16 * region.backingPageBytes()));
    List<String> registered = ranges(REGISTER);
    tap.forget();
    region.close(); // closes the pins that stand on it

    assertEquals(registered.reversed(), ranges(UNREGISTER));
    assertEquals(0, pinned.registeredBytes());
    long lastUnregister = tap.calls(UNREGISTER).getLast().number();
    for (Call call : tap.calls("HostKernel.unmap")) {
      assertTrue(call.number() > lastUnregister, "a page was unmapped while it was registered");
    }
    assertEquals(Map.of(), tap.registered());
  }

  private List<String> ranges(String name) {
    return tap.calls(name).stream()
        .map(call -> call.argument(MemorySegment.class, 0))
        .map(range -> range.address() + "+" + range.byteSize())
        .toList();
  }

  @Test
  @Covers({Rule.REG_10, Rule.CAP_04})
  final void reg10_each_range_is_seen_where_the_driver_says() {
    try (HostRegion region = map(1L << 20)) {
      long page = region.backingPageBytes();
      boolean same = tap.port().traits(page).alias() == Traits.Alias.SAME_ADDRESS;
      limit("alias", tap.port().traits(page).alias());
      long base = region.segment().address();
      try (PinnedRegion pinned = device.pinner().pin(region, inSlices(32 * page))) {
        for (PinnedRange range : pinned.ranges()) {
          MemorySegment host =
              region.segment().asSlice(range.offsetBytes(), range.registeredBytes());
          long told = tap.port().seenByDevice(host).address();
          assertEquals(told, range.seenByDevice().rawAddress());
          if (same) {
            assertEquals(base + range.offsetBytes(), told, "equal addresses are claimed");
          }
        }
      }
    }
  }

  @Test
  @Covers(Rule.REG_11)
  final void reg11_parts_of_one_region_can_be_pinned_apart() {
    try (HostRegion region = map(1L << 20)) {
      long half = region.mappedBytes() / 2;
      PinnedRegion first = device.pinner().pin(region.slice(0, half), PinRequest.strict());
      try (PinnedRegion second =
          device.pinner().pin(region.slice(half, half), PinRequest.strict())) {
        first.close();
        assertEquals(half, second.registeredBytes());
        assertEquals(half, tap.registered().values().stream().mapToLong(one -> one).sum());
        try (PinnedRegion again = device.pinner().pin(region.slice(0, half), PinRequest.strict())) {
          assertEquals(half, again.registeredBytes());
        }
      }
    }
  }

  @Test
  @Covers({Rule.REG_12, Rule.REG_14})
  final void reg12_a_slot_above_the_watermark_is_refused_and_nothing_is_submitted() {
    CountDownLatch mayRegister = new CountDownLatch(1);
    AtomicInteger seen = new AtomicInteger();
    BlockShape shape = BlockShape.of(1, pages(16));
    long cap = 4 * shape.bytes();
    tap.twist(
        REGISTER,
        (call, through) -> {
          // what a route registers for itself is smaller
          boolean slots = call.argument(MemorySegment.class, 0).byteSize() == cap;
          if (slots && seen.incrementAndGet() > 1) {
            await(mayRegister, "nobody let the driver register");
          }
          return through.go();
        });
    PoolOptions options =
        PoolOptions.defaults()
            .arrangement(Arrangement.BLOCK_MAJOR)
            .pin(inSlices(cap).pacing(PinPacing.flatOut())); // no smaller pieces
    try (DeviceAllocation on = device.memory().allocate(4 * shape.bytes());
        HostPool pool =
            HostPool.openInBackground(
                device,
                DeviceBlocks.of(on.segment(), shape.blockMajor(4)),
                HostRequest.ofBytes(32 * shape.bytes()),
                options)) {
      try {
        pool.awaitSlots(4);
        until(() -> seen.get() > 1, "the second range was never asked for");
        assertEquals(4, pool.readySlots());
        assertTrue(
            pool.pinned().watermarkBytes() <= pool.pinned().registeredBytes(),
            "bytes are called usable that are not registered");
        tap.forget();
        NotReadyException refused =
            assertThrows(
                NotReadyException.class,
                () -> pool.store(BlockCopies.device(0, 1).host(0, 4), unordered()));
        assertEquals(4, refused.slot());
        assertEquals(1, refused.pair().orElse(-1));
        assertThrows(NotReadyException.class, () -> pool.lease(31, Access.READ));
        assertEquals(0, submissions(), "something was submitted");
        write(pool, 3, 9);
        pool.load(BlockCopies.device(1).host(3), unordered()).await();
      } finally {
        mayRegister.countDown();
      }
      pool.awaitSlots(32);
      assertEquals(32, pool.readySlots());
      pool.store(BlockCopies.device(1).host(31), unordered()).await();
      check(pool, 31, 9);
    }
  }

  private long submissions() {
    return tap.calls(
            "DevicePort.copyEach",
            "BatchCopyPort.copyBatch",
            "KernelCopyPort.copyByKernel",
            "PitchedCopyPort.copyRows")
        .size();
  }

  @Test
  @Covers(Rule.REG_13)
  final void reg13_pinning_pauses_goes_on_and_can_be_cancelled() {
    AtomicInteger begun = new AtomicInteger();
    CountDownLatch third = new CountDownLatch(1);
    tap.twist(
        REGISTER,
        (_, through) -> {
          if (begun.incrementAndGet() == 3) {
            await(third, "nobody let the third range come");
          }
          return through.go();
        });
    try (HostRegion region = map(pages(256))) {
      long slice = 16 * region.backingPageBytes();
      PinnedRegion pinned =
          device.pinner().pinInBackground(region, inSlices(slice).pacing(PinPacing.flatOut()));
      until(() -> begun.get() == 3, "the third range was never asked for");
      pinned.pause();
      third.countDown();
      until(() -> pinned.registeredBytes() >= 3 * slice, "the present call was not finished");
      assertThrows(TimeoutException.class, () -> pinned.ready().get(300, TimeUnit.MILLISECONDS));
      assertEquals(3, begun.get(), "a call was made after the pause");
      pinned.resume();
      pinned.ready().join();
      assertEquals(region.mappedBytes(), pinned.registeredBytes());
      pinned.close();

      begun.set(1);
      CountDownLatch second = new CountDownLatch(1);
      tap.twist(
          REGISTER,
          (_, through) -> {
            if (begun.incrementAndGet() == 3) {
              await(second, "nobody let the second range come");
            }
            return through.go();
          });
      try (PinnedRegion half =
          device.pinner().pinInBackground(region, inSlices(slice).pacing(PinPacing.flatOut()))) {
        until(() -> begun.get() == 3, "the second range was never asked for");
        half.cancel();
        second.countDown();
        assertThrows(RuntimeException.class, () -> half.ready().join());
        assertTrue(half.registeredBytes() >= slice, "what was pinned is gone");
        assertTrue(half.registeredBytes() < region.mappedBytes(), "pinning went on");
        HostBlocks slots = half.blocks(BlockShape.of(1, slice).blockMajor(2));
        slots.lease(0, Access.WRITE).close();
      }
    }
  }

  @Test
  @Covers(Rule.REG_15)
  final void reg15_a_cap_below_a_page_is_refused_without_asking_the_driver() {
    try (HostRegion region = map(1L << 20)) {
      tap.forget();
      PinException refused =
          assertThrows(
              PinException.class,
              () -> device.pinner().pin(region, PinRequest.strict().capBytes(100)));
      assertEquals(PinException.Reason.CAP_BELOW_PAGE, refused.reason());
      assertEquals(Category.LIMIT, refused.category());
      assertEquals(List.of(), tap.calls(REGISTER));
    }
  }

  /** Registrations in a mapping of at least that size whose pages nobody has populated. */
  private List<Call> registeredTooEarly(long mappedBytes) {
    List<Call> registered = tap.calls(REGISTER); // first: what it stands on has ended by then
    List<MemorySegment> mappings =
        tap.calls("HostKernel.map").stream()
            .filter(Call::worked)
            .map(call -> call.result(MemorySegment.class))
            .filter(range -> range.byteSize() >= mappedBytes)
            .toList();
    List<MemorySegment> populated =
        tap.calls("HostKernel.advise").stream()
            .filter(call -> call.argument(Advice.class, 1) == Advice.POPULATE_WRITE)
            .filter(Call::worked)
            .map(call -> call.argument(MemorySegment.class, 0))
            .toList();
    return registered.stream()
        .filter(
            call -> {
              MemorySegment range = call.argument(MemorySegment.class, 0);
              return bytesIn(mappings, range) > 0 && bytesIn(populated, range) < range.byteSize();
            })
        .toList();
  }

  private static long bytesIn(List<MemorySegment> ranges, MemorySegment range) {
    return ranges.stream()
        .mapToLong(one -> one.asOverlappingSlice(range).map(MemorySegment::byteSize).orElse(0L))
        .sum();
  }

  @Test
  @Covers({Rule.REG_16, Rule.REG_17})
  final void reg16_pages_are_registered_behind_populate_and_not_behind_all_of_it() {
    if (!populatesWhenAsked()) {
      map(1L << 20).close(); // pages that nobody asks for cannot be held up
      return;
    }
    CountDownLatch lastPages = new CountDownLatch(1);
    tap.twist(
        "HostKernel.advise",
        (call, through) -> {
          long base = tap.calls("HostKernel.map").getLast().result(MemorySegment.class).address();
          boolean first = call.argument(MemorySegment.class, 0).address() == base;
          if (call.argument(Advice.class, 1) == Advice.POPULATE_WRITE && !first) {
            await(lastPages, "nobody let the last pages come");
          }
          return through.go();
        });
    long bytes = 48L << 20; // several slices of populate
    BlockShape shape = BlockShape.of(1, 1 << 20);
    PoolOptions options =
        PoolOptions.defaults().arrangement(Arrangement.BLOCK_MAJOR).pin(inSlices(1L << 20));
    tap.forget();
    try (DeviceAllocation on = device.memory().allocate(shape.bytes());
        HostPool pool =
            HostPool.openInBackground(
                device,
                DeviceBlocks.of(on.segment(), shape.blockMajor(1)),
                HostRequest.ofBytes(bytes),
                options)) {
      try {
        pool.awaitSlots(1);
        assertEquals(List.of(), registeredTooEarly(bytes), "registered and not populated yet");
        assertTrue(pool.region().populatedBytes() < bytes, "one populate call took it all");
        assertTrue(
            pool.pinned().registeredBytes() <= pool.region().populatedBytes(),
            "pages were registered that are not there yet");
      } finally {
        lastPages.countDown();
      }
    }
  }
}
