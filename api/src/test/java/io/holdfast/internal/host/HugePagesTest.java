package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.host.Shortfall;
import io.holdfast.host.Shortfall.Limit;
import io.holdfast.host.ShortfallException;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.linux.HugePool;
import io.holdfast.internal.pin.PinnableMemory;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernels;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class HugePagesTest {
  private static final long PAGE = HugePool.PAGE_BYTES;

  private final HostKernel kernel = HostKernels.system();
  private CoreBackend backend;

  @BeforeEach
  void open() {
    assumeTrue(kernel.pages() == HostKernel.Pages.KERNEL, "needs Linux");
    backend = NoDevices.backend(kernel);
  }

  @AfterEach
  void close() {
    backend.close();
  }

  private static HostRequest huge(long bytes) {
    return HostRequest.ofBytes(bytes).pages(PageKind.hugeTlb(PAGE));
  }

  @Test
  void B19_theMappingIsWholePagesAndClosingGivesThemAllBack() throws IOException {
    try (HugePool pool = HugePool.with(kernel, 16)) {
      long before = pool.available();
      try (HostRegion region = backend.pageSource().map(huge(3 * 1024 * 1024 + 1))) {
        assertEquals(3 * 1024 * 1024 + 1, region.segment().byteSize());
        assertEquals(2 * PAGE, region.mappedBytes());
        assertEquals(PAGE, region.backingPageBytes());
        assertEquals(before - 2, pool.available());
        assertEquals(Map.of(PAGE, 2 * PAGE), region.receipt().bytesPerPageSize());
        assertTrue(VmFlags.of(kernel, region.segment()).containsAll(List.of("ht", "dc")));
        region.segment().set(ValueLayout.JAVA_BYTE, 3 * 1024 * 1024, (byte) 9);
      }
      assertEquals(before, pool.available());
    }
  }

  @Test
  void B09_aPoolThatIsTooSmallIsNamedWithPagesBeforeAnythingIsTouched() throws IOException {
    try (HugePool pool = HugePool.with(kernel, 16)) {
      long free = pool.available();
      long wanted = pool.tooMany() + 10;

      ShortfallException error =
          assertThrows(
              ShortfallException.class, () -> backend.pageSource().map(huge(wanted * PAGE)));

      Limit limit = error.shortfall().limits().getFirst();
      assertEquals(PAGE, limit.unitBytes());
      assertEquals(wanted, limit.needed());
      assertTrue(limit.available() < wanted && limit.available() >= free, limit::describe);
      assertTrue(
          limit.remedy().contains("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"),
          limit::remedy);
      assertTrue(limit.remedy().contains("hugepages-2Mi: "), limit::remedy);
      assertEquals(free, pool.available());
      assertEquals(
          error.shortfall(),
          backend
              .pageSource()
              .check(huge(wanted * PAGE))
              .map(Shortfall::limits)
              .map(Shortfall::new)
              .orElseThrow());
    }
  }

  @Test
  void B23_aSizeThatTheKernelLacksIsRefusedByNamingThoseItHas() {
    UnsupportedException error =
        assertThrows(
            UnsupportedException.class,
            () ->
                backend.pageSource().map(HostRequest.ofBytes(1).pages(PageKind.hugeTlb(1L << 41))));

    for (long size : new Machine(kernel).hugePageSizes()) {
      assertTrue(
          String.valueOf(error.getMessage()).contains(PageSizes.text(size)), error::toString);
    }
  }

  @Test
  void keptPagesStayInThePoolsAccountUntilTheyAreLetGo() throws IOException {
    try (HugePool pool = HugePool.with(kernel, 16)) {
      long before = pool.available();
      HostRegion region = backend.pageSource().map(huge(4 * PAGE));
      PinnableMemory.Kept kept = ((PinnableMemory) region).keepMapped(PAGE, 2 * PAGE);

      region.close();

      assertEquals(before - 2, pool.available());
      kept.close();
      assertEquals(before, pool.available());
    }
  }
}
