package io.holdfast.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.conformance.tap.Call;
import io.holdfast.device.Demand;
import io.holdfast.error.Category;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostMemory;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NotPopulatedException;
import io.holdfast.host.PageKind;
import io.holdfast.host.PlacementReceipt;
import io.holdfast.host.Shortfall;
import io.holdfast.host.ShortfallException;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.spi.HostKernel.Advice;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Host memory: sizes, views, shortfalls, receipts. */
abstract class MappingRules extends Rules {
  private static final String POPULATE = "HostKernel.advise";
  private static final long FAR_TOO_MUCH = 1L << 52; // 4 PiB, less than any address space

  MappingRules(Conformance kit) {
    super(kit);
  }

  @Test
  @Covers({Rule.MAP_01, Rule.MAP_02, Rule.MAP_04})
  final void map01_a_region_is_whole_pages_and_shows_exactly_the_logical_bytes() {
    for (long bytes : new long[] {1, 4095, 4096, 4097, 65_537, (1 << 20) + 1}) {
      try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(bytes))) {
        long page = region.backingPageBytes();
        assertEquals(Math.ceilDiv(bytes, page) * page, region.mappedBytes());
        assertEquals(bytes, region.logicalBytes());
        assertEquals(bytes, region.segment().byteSize());
        assertEquals(-1, firstNonZero(region.segment()));
        assertEquals(0, region.segment().address() % page);
        assertEquals(region.mappedBytes(), region.populatedBytes());
      }
    }
  }

  @Test
  @Covers(Rule.MAP_03)
  final void map03_zero_or_fewer_bytes_are_an_argument_error() {
    assertThrows(IllegalArgumentException.class, () -> HostRequest.ofBytes(0));
    assertThrows(IllegalArgumentException.class, () -> HostRequest.ofBytes(-1));
    assertEquals(0, tap.mappedBytes());
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(1))) {
      MemorySegment nothing = region.segment().asSlice(0, 0);
      assertThrows(
          IllegalArgumentException.class, () -> backend.pageSource().adopt(nothing).close());
      assertThrows(IllegalArgumentException.class, () -> region.slice(0, 0));
    }
  }

  @Test
  @Covers({Rule.MAP_05, Rule.CLS_04, Rule.CLS_07})
  final void map05_use_after_close_is_an_illegal_state() {
    HostRegion region = backend.pageSource().map(HostRequest.ofBytes(10_000));
    MemorySegment view = region.segment();
    AtomicBoolean early = new AtomicBoolean();
    tap.twist(
        "HostKernel.unmap",
        (_, through) -> {
          if (view.scope().isAlive()) {
            early.set(true);
          }
          return through.go();
        });
    region.close();
    region.close();
    assertFalse(early.get(), "pages were unmapped under a view that could still be read");

    assertThrows(IllegalStateException.class, region::segment);
    assertThrows(IllegalStateException.class, () -> view.get(ValueLayout.JAVA_BYTE, 0));
    assertThrows(
        IllegalStateException.class, () -> device.pinner().pin(region, PinRequest.strict()));
  }

  @Test
  @Covers(Rule.MAP_06)
  final void map06_what_cannot_be_had_is_refused_with_its_limits_before_the_first_touch() {
    tap.forget();
    ShortfallException refused =
        assertThrows(
            ShortfallException.class,
            () -> backend.pageSource().map(HostRequest.ofBytes(FAR_TOO_MUCH)));

    assertEquals(Category.SHORTFALL, refused.category());
    for (Shortfall.Limit limit : refused.shortfall().limits()) {
      assertTrue(limit.missing() > 0, limit.describe());
      assertFalse(limit.name().isBlank(), limit.describe());
    }
    assertFalse(refused.remedy().isBlank(), "the refusal says nothing of what to do");
    assertEquals(0, tap.mappedBytes(), "something stayed mapped");
    assertEquals(
        0,
        tap.calls(POPULATE).stream()
            .filter(call -> call.argument(Advice.class, 1) == Advice.POPULATE_WRITE)
            .count(),
        "a page was touched first");
  }

  @Test
  @Covers(Rule.MAP_07)
  final void map07_asking_what_is_missing_maps_nothing_and_says_what_map_says() {
    tap.forget();
    assertEquals(Optional.empty(), backend.pageSource().check(HostRequest.ofBytes(1 << 20)));
    HostRequest tooMuch = HostRequest.ofBytes(FAR_TOO_MUCH);
    Shortfall told = backend.pageSource().check(tooMuch).orElseThrow();
    assertEquals(List.of(), tap.calls("HostKernel.map"), "asking mapped something");

    ShortfallException refused =
        assertThrows(ShortfallException.class, () -> backend.pageSource().map(tooMuch));
    assertEquals(
        told.limits().stream().map(MappingRules::withoutNumbers).toList(),
        refused.shortfall().limits().stream().map(MappingRules::withoutNumbers).toList());
  }

  /** What is available changes between two questions on a host that works. */
  private static String withoutNumbers(Shortfall.Limit limit) {
    return limit.name().replaceAll("[0-9]+", "N");
  }

  @Test
  @Covers(Rule.MAP_08)
  final void map08_no_view_is_given_before_every_page_is_there() {
    boolean held = populatesWhenAsked();
    CountDownLatch mayPopulate = new CountDownLatch(1);
    tap.twist(
        POPULATE,
        (call, through) -> {
          if (call.argument(Advice.class, 1) == Advice.POPULATE_WRITE) {
            await(mayPopulate, "nobody let the pages come");
          }
          return through.go();
        });
    HostRegion region = backend.pageSource().mapInBackground(HostRequest.ofBytes(1 << 20));
    try {
      if (held) {
        NotPopulatedException early = assertThrows(NotPopulatedException.class, region::segment);
        assertEquals(1 << 20, early.neededBytes());
        assertFalse(region.ready().isDone());
        assertTrue(region.populatedBytes() < region.logicalBytes());
      }
    } finally {
      mayPopulate.countDown();
    }
    region.ready().join();
    assertEquals(1 << 20, region.segment().byteSize());
    assertEquals(region.mappedBytes(), region.populatedBytes());
    region.close();
  }

  @Test
  @Covers(Rule.MAP_09)
  final void map09_memory_is_kept_from_children_before_it_is_populated() {
    tap.forget();
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(3 << 20))) {
      if (!hasPages()) {
        assertEquals(List.of(), tap.calls(POPULATE));
        return;
      }
      long kept = 0;
      boolean populated = false;
      for (Call call : tap.calls(POPULATE)) {
        if (call.argument(Advice.class, 1) == Advice.DONT_FORK) {
          assertFalse(populated, "pages came before they were kept from children");
          kept += call.argument(MemorySegment.class, 0).byteSize();
        }
        populated |= call.argument(Advice.class, 1) == Advice.POPULATE_WRITE;
      }
      assertEquals(region.mappedBytes(), kept);
    }
    tap.forget();
    HostRequest shared = HostRequest.ofBytes(1 << 20).fork(HostRequest.Fork.COPY_TO_CHILDREN);
    try (HostRegion _ = backend.pageSource().map(shared)) {
      assertEquals(
          0,
          tap.calls(POPULATE).stream()
              .filter(call -> call.argument(Advice.class, 1) == Advice.DONT_FORK)
              .count());
    }
  }

  @Test
  @Covers(Rule.MAP_10)
  final void map10_a_slice_shares_its_regions_bytes_and_starts_on_a_page() {
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(4 << 20))) {
      long page = region.backingPageBytes();
      HostMemory slice = region.slice(page, page + 1);
      assertEquals(page, slice.offsetBytes());
      assertEquals(page + 1, slice.logicalBytes());
      assertEquals(2 * page, slice.mappedBytes());
      assertEquals(page + 1, slice.segment().byteSize());
      slice.segment().set(ValueLayout.JAVA_BYTE, page, (byte) 77);
      assertEquals(77, region.segment().get(ValueLayout.JAVA_BYTE, 2 * page));
      assertThrows(IllegalArgumentException.class, () -> region.slice(1, page));
      assertThrows(IllegalArgumentException.class, () -> region.slice(0, 0));
      assertThrows(RuntimeException.class, () -> region.slice(0, region.mappedBytes() + page));
    }
  }

  @Test
  @Covers(Rule.MAP_11)
  final void map11_adopted_memory_is_left_to_its_owner() {
    try (HostRegion own = backend.pageSource().map(HostRequest.ofBytes(1 << 20))) {
      long page = own.backingPageBytes();
      MemorySegment theirs = own.segment().asSlice(page, 4 * page);
      tap.forget();
      try (HostRegion adopted = backend.pageSource().adopt(theirs)) {
        assertEquals(4 * page, adopted.logicalBytes());
        try (PinnedRegion pinned = device.pinner().pin(adopted, PinRequest.strict())) {
          assertEquals(4 * page, pinned.registeredBytes());
        }
      }
      assertEquals(List.of(), tap.calls("HostKernel.unmap"), "somebody else's memory was unmapped");
      theirs.set(ValueLayout.JAVA_BYTE, 0, (byte) 5);
      assertEquals(5, own.segment().get(ValueLayout.JAVA_BYTE, page));
    }
  }

  @Test
  @Covers({Rule.MAP_12, Rule.MAP_13})
  final void map12_a_receipt_accounts_for_every_mapped_byte() {
    for (PageKind kind : List.of(PageKind.base(), PageKind.thp())) {
      HostRequest request =
          HostRequest.ofBytes((9L << 20) + 5).pages(kind).placement(Demand.PREFER);
      if (!hasPages() && kind instanceof PageKind.TransparentHuge) {
        assertThrows(UnsupportedException.class, () -> backend.pageSource().map(request).close());
        assertEquals(0, tap.mappedBytes());
        continue;
      }
      try (HostRegion region = backend.pageSource().map(request)) {
        PlacementReceipt receipt = region.receipt();
        assertEquals((9L << 20) + 5, region.logicalBytes());
        assertTrue(
            region.mappedBytes() - region.logicalBytes() < region.backingPageBytes(),
            "more than a page was added: " + region.mappedBytes());
        long bySize = receipt.bytesPerPageSize().values().stream().mapToLong(one -> one).sum();
        if (!receipt.bytesPerPageSize().isEmpty()) {
          assertEquals(region.mappedBytes(), bySize, receipt.toJson());
        }
        long byNode = receipt.bytesPerNode().values().stream().mapToLong(one -> one).sum();
        if (!receipt.bytesPerNode().isEmpty()) {
          assertEquals(region.mappedBytes(), byNode, receipt.toJson());
        }
        assertTrue(receipt.sampledShare() >= 0 && receipt.sampledShare() <= 1, receipt.toJson());
        assertTrue(
            !receipt.bytesPerNode().isEmpty()
                || receipt.sampledShare() == 0
                || !receipt.notes().isEmpty(),
            "pages were asked and none is named: " + receipt.toJson());
        assertTrue(
            kind instanceof PageKind.Base
                || !receipt.bytesPerPageSize().isEmpty()
                || !receipt.notes().isEmpty(),
            "nobody is told what came of the wish: " + receipt.toJson());
      }
    }
  }

  @Test
  @Covers({Rule.MAP_14, Rule.CLS_08})
  final void map14_what_was_mapped_is_unmapped_whole_and_once() {
    tap.forget();
    for (long bytes : new long[] {1, 70_000, (2L << 20) + 1}) {
      backend.pageSource().map(HostRequest.ofBytes(bytes)).close();
    }
    Map<Long, Long> mapped = new TreeMap<>();
    for (Call call : tap.calls("HostKernel.map", "HostKernel.unmap")) {
      if (call.name().equals("HostKernel.map")) {
        MemorySegment range = call.result(MemorySegment.class);
        mapped.put(range.address(), range.byteSize());
      } else {
        MemorySegment range = call.argument(MemorySegment.class, 0);
        assertEquals(range.byteSize(), mapped.remove(range.address()), "not what was mapped");
      }
    }
    assertEquals(Map.of(), mapped, "mapped and not unmapped");
  }
}
