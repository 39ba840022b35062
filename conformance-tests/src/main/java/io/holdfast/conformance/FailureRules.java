package io.holdfast.conformance;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.asIfOn;
import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.conformance.tap.Call;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyException;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceStream;
import io.holdfast.error.Category;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.error.Errno;
import io.holdfast.error.HoldfastException;
import io.holdfast.error.HostKernelException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.NotReadyException;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRange;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pin.QuarantinedRange;
import io.holdfast.pool.PoolOptions;
import io.holdfast.spi.HostKernel.Advice;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** What happens when calls fail: the kit refuses them between policy and the ports. */
abstract class FailureRules extends Rules {
  private static final String REGISTER = "DevicePort.register";
  private static final String UNREGISTER = "DevicePort.unregister";

  FailureRules(Conformance kit) {
    super(kit);
  }

  private HostRegion map(long bytes) {
    return backend.pageSource().map(HostRequest.ofBytes(bytes));
  }

  private static PinRequest inSlices(HostRegion region) {
    long slice = 16 * region.backingPageBytes();
    return PinRequest.strict().sliceBytes(slice).capBytes(slice);
  }

  private List<String> worked(String name) {
    return tap.calls(name).stream()
        .filter(Call::worked)
        .map(call -> call.argument(MemorySegment.class, 0))
        .map(range -> range.address() + "+" + range.byteSize())
        .toList();
  }

  @Test
  @Covers({Rule.FLT_01, Rule.FLT_02, Rule.ERR_01})
  final void flt01_a_refused_range_takes_all_back_in_reverse_and_is_named() {
    try (HostRegion region = map(pages(256))) {
      long slice = 16 * region.backingPageBytes();
      tap.forget();
      tap.refuse(REGISTER, 4, refusal(DriverFault.INVALID_ARGUMENT));
      PinException refused =
          assertThrows(PinException.class, () -> device.pinner().pin(region, inSlices(region)));

      assertEquals(PinException.Reason.DRIVER_REFUSED, refused.reason());
      assertEquals(3 * slice, refused.offsetBytes());
      assertEquals(slice, refused.bytes());
      DriverException answer = refused.driver().orElseThrow();
      assertEquals(9_999, answer.code());
      assertEquals("KIT_REFUSED", answer.codeName());
      assertTrue(refused.surroundings().isPresent());
      assertFalse(String.valueOf(refused.getMessage()).isBlank());
      assertEquals(3, worked(REGISTER).size());
      assertEquals(worked(REGISTER).reversed(), worked(UNREGISTER));
      assertEquals(Map.of(), tap.registered());
      assertEquals(List.of(), device.pinner().quarantine());

      tap.untwist();
      try (PinnedRegion pinned = device.pinner().pin(region, inSlices(region))) {
        assertEquals(region.mappedBytes(), pinned.registeredBytes());
      }
    }
  }

  @Test
  @Covers({Rule.FLT_03, Rule.FLT_04, Rule.REG_09})
  final void flt03_a_range_whose_unregister_failed_is_in_quarantine_and_stays_mapped() {
    HostRegion region = map(pages(256));
    long page = region.backingPageBytes();
    PinnedRegion pinned = device.pinner().pin(region, inSlices(region));
    int ranges = pinned.ranges().size();
    MemorySegment base = region.segment();
    long address = base.address();
    tap.forget();
    tap.refuse(UNREGISTER, 2, refusal(DriverFault.OTHER));
    try {
      region.close();
    } catch (PinException told) {
      assertEquals(PinException.Reason.STILL_PINNED, told.reason());
    }
    tap.untwist();

    List<QuarantinedRange> left = device.pinner().quarantine();
    assertEquals(1, left.size());
    QuarantinedRange range = left.getFirst();
    assertEquals(9_999, range.failure().code());
    assertEquals(1, range.attempts());
    assertEquals(16 * page, range.registeredBytes());
    assertEquals(address + (ranges - 2) * 16L * page, range.hostAddress());
    assertEquals(
        Map.of(range.hostAddress(), range.registeredBytes()),
        tap.registered(),
        "the others were not unregistered");
    for (Call call : tap.calls("HostKernel.unmap")) {
      MemorySegment gone = call.argument(MemorySegment.class, 0);
      assertFalse(
          gone.address() < range.hostAddress() + range.registeredBytes()
              && range.hostAddress() < gone.address() + gone.byteSize(),
          "pages were unmapped under a registration: " + call);
    }
    assertTrue(tap.mappedBytes() >= range.registeredBytes(), "the pages are gone");

    assertEquals(List.of(), device.pinner().retryQuarantine());
    assertEquals(List.of(), device.pinner().quarantine());
    assertEquals(Map.of(), tap.registered());
    region.close();
    assertEquals(0, tap.mappedBytes(), "the pages were not given back afterwards");
  }

  @Test
  @Covers(Rule.FLT_05)
  final void flt05_halving_goes_down_along_legal_cuts_and_is_visible() {
    try (HostRegion region = map(pages(256))) {
      long page = region.backingPageBytes();
      BlockLayout layout = BlockShape.of(1, 4 * page).blockMajor(region.mappedBytes() / (4 * page));
      long most = 8 * page;
      tap.twist(
          REGISTER,
          (call, through) -> {
            if (call.argument(MemorySegment.class, 0).byteSize() > most) {
              throw refusal(DriverFault.OUT_OF_MEMORY);
            }
            return through.go();
          });
      PinRequest request =
          PinRequest.strict()
              .around(layout)
              .sliceBytes(64 * page)
              .capBytes(64 * page)
              .onFailure(PinRequest.OnFailure.HALVE);
      try (PinnedRegion pinned = device.pinner().pin(region, request)) {
        assertEquals(region.mappedBytes(), pinned.registeredBytes());
        for (PinnedRange range : pinned.ranges()) {
          assertTrue(range.registeredBytes() <= most);
          assertTrue(pinned.plan().isLegalCut(range.offsetBytes()), "a cut inside a block");
        }
        assertFalse(pinned.receipt().notes().isEmpty(), "nobody is told that ranges were halved");
      }
      tap.twist(
          REGISTER,
          (_, _) -> {
            throw refusal(DriverFault.OUT_OF_MEMORY);
          });
      PinException never =
          assertThrows(PinException.class, () -> device.pinner().pin(region, request));
      assertEquals(PinException.Reason.DRIVER_REFUSED, never.reason());
      assertEquals(Map.of(), tap.registered());
    }
  }

  @Test
  @Covers(Rule.FLT_06)
  final void flt06_where_what_worked_is_kept_slots_beyond_it_are_refused() {
    try (HostRegion region = map(pages(256));
        DeviceAllocation on = device.memory().allocate(pages(256))) {
      long slice = 16 * region.backingPageBytes();
      tap.refuse(REGISTER, 3, refusal(DriverFault.OUT_OF_MEMORY));
      try (PinnedRegion pinned =
          device
              .pinner()
              .pinInBackground(
                  region,
                  inSlices(region)
                      .pacing(PinPacing.flatOut())
                      .onFailure(PinRequest.OnFailure.KEEP_WHAT_WORKED))) {
        assertThrows(RuntimeException.class, () -> pinned.ready().join());
        assertEquals(2 * slice, pinned.registeredBytes());
        assertEquals(2 * slice, pinned.watermarkBytes());
        BlockShape shape = BlockShape.of(1, slice);
        HostBlocks slots = pinned.blocks(shape.blockMajor(8));
        assertEquals(2, slots.readySlots());
        try (CopyRoute route =
            device.copyEngine().route(DeviceBlocks.of(on.segment(), shape.blockMajor(2)), slots)) {
          write(slots, 1, 6);
          route.load(BlockCopies.device(0).host(1), unordered()).await();
          assertThrows(
              NotReadyException.class,
              () -> route.load(BlockCopies.device(0).host(2), unordered()));
          assertThrows(HoldfastException.class, () -> slots.awaitSlots(3));
        }
      }
    }
  }

  @Test
  @Covers(Rule.FLT_07)
  final void flt07_a_range_that_somebody_else_registered_is_told_apart() {
    try (HostRegion region = map(pages(256))) {
      tap.refuse(REGISTER, 2, refusal(DriverFault.ALREADY_REGISTERED));
      PinException refused =
          assertThrows(PinException.class, () -> device.pinner().pin(region, inSlices(region)));
      assertEquals(PinException.Reason.REGISTERED_BY_OTHERS, refused.reason());
      assertEquals(Map.of(), tap.registered());
    }
  }

  @Test
  @Covers(Rule.FLT_08)
  final void flt08_a_refused_copy_is_told_and_its_slots_are_usable_afterwards() {
    withPool(
        SHAPE,
        4,
        4,
        PoolOptions.defaults().copy(CopyOptions.auto().path(CopyPath.LOOP)),
        pool -> {
          write(pool, 0, 12);
          pool.load(BlockCopies.device(0, 1).host(0, 0), unordered()).await();
          tap.refuse("DevicePort.copyEach", 1, refusal(DriverFault.INVALID_ARGUMENT).atEntry(0));
          HoldfastException told =
              assertThrows(
                  HoldfastException.class,
                  () -> pool.store(BlockCopies.device(1).host(2), unordered()).await());
          CopyException refused = assertInstanceOf(CopyException.class, told);
          assertEquals(9_999, refused.answer().code());
          assertEquals(0, refused.pair().orElse(-1));
          tap.untwist();
          pool.store(BlockCopies.device(1).host(2), unordered()).await();
          check(pool, 2, 12);
          pool.lease(2, Access.WRITE).close();
        });
  }

  @Test
  @Covers(Rule.FLT_09)
  final void flt09_a_failed_populate_is_an_error_of_map_and_nothing_stays_mapped() {
    if (!hasPages()) {
      throw missing("a host port with pages: this one has plain segments");
    }
    if (!populatesWhenAsked()) {
      throw missing("a kernel that populates when asked (MADV_POPULATE_WRITE, Linux 5.14)");
    }
    for (Errno errno : List.of(Errno.ENOMEM, Errno.EFAULT, Errno.EHWPOISON)) {
      tap.twist(
          "HostKernel.advise",
          (call, through) -> {
            if (call.argument(Advice.class, 1) == Advice.POPULATE_WRITE) {
              throw new HostKernelException("madvise", "by the kit", errno.number());
            }
            return through.go();
          });
      HoldfastException told = assertThrows(HoldfastException.class, () -> map(1L << 20));
      assertFalse(String.valueOf(told.getMessage()).isBlank());
      assertEquals(0, tap.mappedBytes(), errno + " left something mapped");
      tap.untwist();
      map(1L << 20).close();
    }
  }

  @Test
  @Covers(Rule.FLT_10)
  final void flt10_wherever_one_driver_call_fails_it_is_told_and_nothing_is_left() {
    List<String> takes =
        List.of(
            "DevicePort.allocate",
            REGISTER,
            "DevicePort.seenByDevice",
            "DevicePort.createStream",
            "DevicePort.createEvent",
            "DevicePort.createEventFor",
            "DevicePort.recordEvent",
            "DevicePort.streamWait",
            "DevicePort.copyEach",
            "BatchCopyPort.copyBatch");
    int refusals = 0;
    for (String name : takes) {
      for (int nth = 1; nth <= 3; nth++) {
        String open = String.valueOf(tap.open());
        tap.forget();
        AtomicBoolean struck = new AtomicBoolean();
        AtomicInteger seen = new AtomicInteger();
        int which = nth;
        tap.twist(
            name,
            (_, through) -> {
              if (seen.incrementAndGet() == which) {
                struck.set(true);
                throw refusal(DriverFault.OUT_OF_MEMORY);
              }
              return through.go();
            });
        Throwable told = null;
        try {
          withPool(
              4,
              4,
              pool -> {
                try (DeviceStream stream = device.newStream();
                    DeviceEvent event = device.newEvent()) {
                  event.record(stream);
                  pool.load(BlockCopies.device(0, 2).host(0, 2), asIfOn(stream)).await();
                  pool.store(BlockCopies.device(0, 2).host(1, 3), after(event)).await();
                }
              });
        } catch (HoldfastException refused) {
          told = refused;
        }
        tap.untwist();
        if (struck.get()) {
          refusals++;
          assertNotNull(told, name + " was refused at call " + nth + " and nobody was told");
        }
        // what a route keeps for its next use lives as long as its device
        assertEquals(Map.of(), tap.registered(), name + " " + nth);
        assertEquals(
            0, tap.mappedBytes(), name + " " + nth + " left pages behind; before: " + open);
        assertEquals(0, tap.held("device memory"), name + " " + nth);
      }
    }
    assertTrue(refusals >= 8, "hardly a call was refused: " + refusals);
    withPool(2, 2, pool -> pool.store(BlockCopies.device(0).host(0), unordered()).await());
  }

  @Test
  @Covers(Rule.FLT_11)
  final void flt11_a_refused_mapping_is_told_and_nothing_is_left() {
    if (!hasPages()) {
      throw missing("a host port with pages: this one has plain segments");
    }
    for (Errno errno : List.of(Errno.ENOMEM, Errno.EINVAL)) {
      tap.refuse(
          "HostKernel.map", 1, new HostKernelException("mmap", "by the kit", errno.number()));
      HoldfastException told = assertThrows(HoldfastException.class, () -> map(1L << 20));
      assertFalse(String.valueOf(told.getMessage()).isBlank());
      assertEquals(0, tap.mappedBytes());
      tap.untwist();
      map(1L << 20).close();
    }
  }

  @Test
  @Covers(Rule.FLT_12)
  final void flt12_a_device_that_is_lost_is_told_as_such() {
    tap.twist(
        "DevicePort.allocate",
        (_, _) -> {
          throw refusal(DriverFault.DEVICE_LOST);
        });
    HoldfastException told =
        assertThrows(HoldfastException.class, () -> device.memory().allocate(4096));
    assertEquals(Category.DEVICE_LOST, told.category());
    assertFalse(told.remedy().isBlank());
  }

  @Test
  @Covers(Rule.FLT_13)
  final void flt13_slow_calls_shrink_until_they_keep_their_budget() {
    // one microsecond per 4 KiB, on the port's own clock
    tap.twist(
        REGISTER,
        (call, through) -> {
          long bytes = call.argument(MemorySegment.class, 0).byteSize();
          LockSupport.parkNanos(bytes / 4);
          return through.go();
        });
    try (HostRegion region = map(8L << 20)) {
      PinRequest request =
          PinRequest.strict()
              .sliceBytes(4L << 20)
              .pacing(PinPacing.polite(Duration.ofNanos(200_000)).between(Duration.ZERO));
      tap.forget();
      try (PinnedRegion pinned = device.pinner().pinInBackground(region, request)) {
        pinned.ready().join();
        List<Call> calls = tap.calls(REGISTER);
        long first = calls.getFirst().argument(MemorySegment.class, 0).byteSize();
        long last = calls.get(calls.size() - 2).argument(MemorySegment.class, 0).byteSize();
        assertTrue(calls.size() > 2, "the slice was taken whatever it costs: " + calls.size());
        assertTrue(last <= first && last < 4L << 20, "calls do not shrink: " + first + ", " + last);
        assertEquals(region.mappedBytes(), pinned.registeredBytes());
      }
    }
  }
}
