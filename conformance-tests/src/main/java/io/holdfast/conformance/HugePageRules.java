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
import io.holdfast.error.HoldfastException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.host.Shortfall;
import io.holdfast.host.ShortfallException;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The kernel's reserved huge pages. */
abstract class HugePageRules extends Rules {
  private static final String POOLS = "/sys/kernel/mm/hugepages";

  HugePageRules(Conformance kit) {
    super(kit);
  }

  private Optional<String> text(String path) {
    return tap.kernel().text(path).map(String::strip);
  }

  /** Sizes that the kernel has. */
  private SortedSet<Long> sizes() {
    SortedSet<Long> sizes = new TreeSet<>();
    for (String name : tap.kernel().names(POOLS)) {
      if (name.matches("hugepages-[0-9]+kB")) {
        sizes.add(Long.parseLong(name.replaceAll("[^0-9]", "")) << 10);
      }
    }
    return sizes;
  }

  private long free(long size) {
    String pool = POOLS + "/hugepages-" + (size >> 10) + "kB/";
    long free = text(pool + "free_hugepages").map(Long::parseLong).orElse(0L);
    return free - text(pool + "resv_hugepages").map(Long::parseLong).orElse(0L);
  }

  /** The smallest size of which some pages are free; a kernel without pools claims nothing. */
  private Optional<Long> size() {
    if (sizes().isEmpty()) {
      inverted("HUGETLB");
      long mapped = tap.mappedBytes();
      assertThrows(
          HoldfastException.class,
          () -> backend.pageSource().map(HostRequest.ofBytes(1).pages(PageKind.hugeTlb(2L << 20))));
      assertEquals(mapped, tap.mappedBytes());
      return Optional.empty();
    }
    for (long size : sizes()) {
      if (free(size) >= 4 && size <= 64L << 20) {
        limit("huge page", size);
        try {
          map(size, size).close();
        } catch (UnsupportedException cannot) { // a kernel that cannot populate them safely
          inverted("HUGETLB");
          assertEquals(0, tap.mappedBytes());
          return Optional.empty();
        }
        return Optional.of(size);
      }
    }
    throw missing("4 free huge pages of 64 MiB or less: set nr_hugepages of one of " + sizes());
  }

  private HostRegion map(long bytes, long size) {
    return backend.pageSource().map(HostRequest.ofBytes(bytes).pages(PageKind.hugeTlb(size)));
  }

  @Test
  @Covers(Rule.HUG_01)
  final void hug01_a_region_is_whole_pages_of_that_size_by_the_kernels_account() {
    size()
        .ifPresent(
            size -> {
              try (HostRegion region = map(size + 1, size)) {
                assertEquals(size, region.backingPageBytes());
                assertEquals(2 * size, region.mappedBytes());
                assertEquals(size + 1, region.segment().byteSize());
                assertEquals(0, region.segment().address() % size);
                assertEquals(
                    Map.of(size, 2 * size),
                    region.receipt().bytesPerPageSize(),
                    region.receipt().toJson());
              }
            });
  }

  @Test
  @Covers(Rule.HUG_02)
  final void hug02_a_page_size_that_the_kernel_lacks_is_refused() {
    Set<Long> sizes = sizes();
    if (sizes.isEmpty()) {
      inverted("HUGETLB");
    }
    for (long strange = 8192; strange < 1L << 40; strange <<= 1) {
      if (!sizes.contains(strange)) {
        long size = strange;
        HoldfastException refused = assertThrows(HoldfastException.class, () -> map(1, size));
        assertFalse(refused.remedy().isBlank(), refused.getMessage());
        assertEquals(0, tap.mappedBytes(), "something else was given instead of " + size);
      }
    }
  }

  @Test
  @Covers(Rule.HUG_03)
  final void hug03_a_pool_that_is_too_small_is_named_before_the_first_touch() {
    Set<Long> sizes = sizes();
    if (sizes.isEmpty()) {
      inverted("HUGETLB");
      return;
    }
    for (long size : sizes) {
      long pages = free(size) + 5 + overcommit(size);
      tap.forget();
      ShortfallException refused =
          assertThrows(ShortfallException.class, () -> map(pages * size, size));
      Shortfall.Limit limit =
          refused.shortfall().limits().stream()
              .filter(one -> one.unitBytes() == size)
              .findFirst()
              .orElseThrow(() -> new AssertionError("no pool is named: " + refused.getMessage()));
      assertEquals(pages, limit.needed(), limit.describe());
      assertTrue(limit.available() < pages, limit.describe());
      assertFalse(limit.remedy().isBlank());
      assertEquals(0, tap.mappedBytes());
    }
  }

  private long overcommit(long size) {
    String pool = POOLS + "/hugepages-" + (size >> 10) + "kB/nr_overcommit_hugepages";
    return text(pool).map(Long::parseLong).orElse(0L);
  }

  @Test
  @Covers(Rule.HUG_04)
  final void hug04_registrations_on_huge_pages_are_whole_huge_pages() {
    size()
        .ifPresent(
            size -> {
              try (HostRegion region = map(2 * size + 1, size)) {
                tap.forget();
                PinRequest request = PinRequest.strict().sliceBytes(size).capBytes(size + 4096);
                try (PinnedRegion pinned = device.pinner().pin(region, request)) {
                  assertEquals(3 * size, pinned.registeredBytes());
                  List<Call> calls = tap.calls("DevicePort.register");
                  assertEquals(3, calls.size());
                  for (Call call : calls) {
                    MemorySegment range = call.argument(MemorySegment.class, 0);
                    assertEquals(0, range.address() % size, call.toString());
                    assertEquals(size, range.byteSize(), call.toString());
                  }
                }
                assertThrows(
                    PinException.class,
                    () -> device.pinner().pin(region, PinRequest.strict().capBytes(size / 2)));
              }
            });
  }

  @Test
  @Covers(Rule.HUG_05)
  final void hug05_blocks_come_back_from_huge_pages() {
    size()
        .ifPresent(
            size -> {
              BlockShape shape = BlockShape.of(1, size / 2 + 100);
              HostRequest memory =
                  HostRequest.ofBytes(3 * shape.bytes()).pages(PageKind.hugeTlb(size));
              PoolOptions options =
                  PoolOptions.defaults().pin(PinRequest.strict().sliceBytes(size).capBytes(size));
              try (DeviceAllocation on = device.memory().allocate(2 * shape.bytes());
                  HostPool pool =
                      HostPool.open(
                          device,
                          DeviceBlocks.of(on.segment(), shape.blockMajor(2)),
                          memory,
                          options)) {
                write(pool, 1, 44);
                pool.load(BlockCopies.device(1).host(1), unordered()).await();
                pool.store(BlockCopies.device(1).host(2), unordered()).await();
                check(pool, 2, 44);
              }
            });
  }

  @Test
  @Covers(Rule.HUG_06)
  final void hug06_closing_gives_the_pages_back_to_the_pool() {
    size()
        .ifPresent(
            size -> {
              long before = free(size);
              HostRegion region = map(3 * size, size);
              assertEquals(before - 3, free(size), "others may use the pool meanwhile");
              region.close();
              until(() -> free(size) >= before, "pages did not come back to the pool");
            });
  }
}
