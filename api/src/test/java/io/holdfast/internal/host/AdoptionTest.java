package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.host.HostRegion;
import io.holdfast.host.PageSource;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.linux.HugePool;
import io.holdfast.internal.pin.PinnableMemory;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.Mapping;
import io.holdfast.spi.HostKernels;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class AdoptionTest {
  private final HostKernel kernel = HostKernels.system();
  private final long page = kernel.basePageBytes();
  private CoreBackend backend;
  private PageSource pages;

  @BeforeEach
  void open() {
    assumeTrue(kernel.pages() == HostKernel.Pages.KERNEL, "needs Linux");
    backend = NoDevices.backend(kernel);
    pages = backend.pageSource();
  }

  @AfterEach
  void close() {
    backend.close();
  }

  @Test
  void adoptedMemoryIsTheOwnersSegmentAndStaysItsOwn() {
    try (Arena owner = Arena.ofShared()) {
      MemorySegment memory = owner.allocate(4 * page, page);
      try (HostRegion region = pages.adopt(memory)) {
        assertSame(memory, region.segment());
        assertEquals(4 * page, region.mappedBytes());
        assertEquals(page, region.backingPageBytes());
        assertTrue(region.ready().isDone());
        assertEquals(page, region.slice(page, page).segment().byteSize());
        assertTrue(
            region.receipt().notes().stream().anyMatch(note -> note.startsWith("adopted: ")),
            () -> region.receipt().toString());
        assertTrue(!VmFlags.of(kernel, memory).contains("dc"), "kept from children by whom?");
      }
      memory.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
    }
  }

  @Test
  void B60_onlyWholePagesAreAdopted() {
    try (Arena owner = Arena.ofShared()) {
      MemorySegment memory = owner.allocate(4 * page, page);

      assertThrows(IllegalArgumentException.class, () -> pages.adopt(memory.asSlice(0, page / 2)));
      assertThrows(
          IllegalArgumentException.class, () -> pages.adopt(memory.asSlice(page / 2, page)));
      assertThrows(IllegalArgumentException.class, () -> pages.adopt(memory.asSlice(0, 0)));
      IllegalArgumentException odd =
          assertThrows(
              IllegalArgumentException.class, () -> pages.adopt(memory.asSlice(0, page + 1)));
      assertTrue(
          String.valueOf(odd.getMessage())
              .endsWith("are not whole pages; the operating system's page has " + page + " bytes"),
          odd::toString);
    }
  }

  @Test
  void B60_onAKernelWith64KiBPagesEightKiBAreNoWholePage() {
    ScriptedKernel other = new ScriptedKernel();
    other.basePageBytes = 65_536;
    try (CoreBackend scripted = NoDevices.backend(other);
        Arena owner = Arena.ofShared()) {
      MemorySegment memory = owner.allocate(65_536, 65_536);

      assertThrows(
          IllegalArgumentException.class,
          () -> scripted.pageSource().adopt(memory.asSlice(0, 8192)));
      scripted.pageSource().adopt(memory).close();
    }
  }

  @Test
  void memoryThatCannotBePinnedOrReachedIsRefusedWithTheReason() {
    assertReason("heap memory moves", MemorySegment.ofArray(new byte[(int) page]));
    try (Arena confined = Arena.ofConfined();
        Arena shared = Arena.ofShared()) {
      assertReason("belongs to one thread", confined.allocate(page, page));
      assertReason("read-only", shared.allocate(page, page).asReadOnly());
    }
    MemorySegment gone;
    try (Arena shared = Arena.ofShared()) {
      gone = shared.allocate(page, page);
    }
    assertReason("arena is closed", gone);
  }

  private void assertReason(String words, MemorySegment memory) {
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> pages.adopt(memory));
    assertTrue(String.valueOf(refused.getMessage()).contains(words), refused::toString);
  }

  @Test
  void whoTakesTheMemoryBackTooEarlyIsToldAtTheNextUse() {
    HostRegion region;
    try (Arena owner = Arena.ofShared()) {
      region = pages.adopt(owner.allocate(page, page));
    }

    assertThrows(IllegalStateException.class, () -> ((PinnableMemory) region).awaitPopulated(page));
    region.close();
  }

  @Test
  void hugePagesAreKnownByTheKernelsAccount() throws IOException {
    try (HugePool _ = HugePool.with(kernel, 4)) {
      MemorySegment memory =
          kernel.map(2 * HugePool.PAGE_BYTES, Mapping.anonymous().onHugePages(HugePool.PAGE_BYTES));
      try (HostRegion region = pages.adopt(memory)) {
        assertEquals(HugePool.PAGE_BYTES, region.backingPageBytes());
        assertThrows(IllegalArgumentException.class, () -> pages.adopt(memory.asSlice(0, page)));
      }
      kernel.unmap(memory);
    }
  }
}
