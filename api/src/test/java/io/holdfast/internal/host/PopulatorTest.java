package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.error.BusyException;
import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NotPopulatedException;
import io.holdfast.host.PageKind;
import io.holdfast.host.ShortfallException;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.spi.HostKernel.FileSystemFacts;
import io.holdfast.spi.HostKernel.ThreadPlace;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PopulatorTest {
  private static final long MIB = 1L << 20;
  private static final long SLICE = 8 * MIB;
  private static final long HUGE = 2 * MIB;

  private final ScriptedKernel kernel = new ScriptedKernel();
  private final CoreBackend backend = NoDevices.backend(kernel);

  @AfterEach
  void close() {
    backend.close();
  }

  private HostRegion map(HostRequest request) {
    return backend.pageSource().map(request);
  }

  private static HostRequest bytes(long bytes) {
    return HostRequest.ofBytes(bytes);
  }

  @Test
  void everyByteIsPopulatedOnceInSlicesOfWholePages() {
    List<MemorySegment> slices = Collections.synchronizedList(new ArrayList<>());
    kernel.populate = slices::add;
    kernel.place = new ThreadPlace(0, Set.of(), Set.of(0, 1, 2, 3));

    try (HostRegion region = map(bytes(10 * SLICE + 5))) {
      long mapped = region.mappedBytes();
      assertEquals(10 * SLICE + 4096, mapped);
      slices.sort((a, b) -> Long.compare(a.address(), b.address()));
      long next = slices.getFirst().address();
      for (MemorySegment slice : slices) {
        assertEquals(next, slice.address());
        assertEquals(0, slice.byteSize() % 4096);
        next += slice.byteSize();
      }
      assertEquals(slices.getFirst().address() + mapped, next);
    }
  }

  @Test
  void aNumberOfThreadsThatIsGivenIsKeptAndTheReceiptSaysSo() {
    kernel.place = new ThreadPlace(0, Set.of(), Set.of(0, 1, 2, 3));
    String before = System.setProperty("holdfast.populate.threads", "2");
    try (HostRegion region = map(bytes(100 * SLICE))) {
      assertEquals(2, region.receipt().populateThreads());
      assertTrue(
          region
              .receipt()
              .notes()
              .contains(
                  "the number of populate threads is fixed at 2 by holdfast.populate.threads"),
          () -> region.receipt().toString());
    } finally {
      if (before == null) {
        System.clearProperty("holdfast.populate.threads");
      } else {
        System.setProperty("holdfast.populate.threads", before);
      }
    }
  }

  @Test
  void aHugePageIsNeverSharedByTwoSlices() {
    kernel.pool(512 * MIB, 4, 4, 0);

    map(bytes(3 * 512 * MIB).pages(PageKind.hugeTlb(512 * MIB))).close();

    assertEquals(
        List.of(
            "advise POPULATE_WRITE 536870912",
            "advise POPULATE_WRITE 536870912",
            "advise POPULATE_WRITE 536870912"),
        kernel.callsOf("advise POPULATE"));
  }

  @Test
  void theOrderIsMapThenKeepFromChildrenThenAdviceThenPopulate() {
    map(bytes(4 * MIB).pages(PageKind.thp())).close();

    assertEquals(
        List.of(
            "map 4194304 aligned 2097152",
            "advise DONT_FORK 4194304",
            "advise HUGE_PAGE 4194304",
            "advise POPULATE_WRITE 4194304"),
        kernel.calls.stream()
            .filter(call -> call.startsWith("map") || call.startsWith("adv"))
            .toList());
  }

  @Test
  void B21_B87_hugePagesAreKeptFromChildrenByOneCallOverAllAndNeverAdvised() {
    kernel.pool(HUGE, 8, 8, 0);

    map(bytes(4 * HUGE).pages(PageKind.hugeTlb(HUGE))).close();

    assertEquals(List.of("advise DONT_FORK 8388608"), kernel.callsOf("advise DONT_FORK"));
    assertEquals(List.of(), kernel.callsOf("advise HUGE_PAGE"));
    assertEquals(List.of("map 8388608 huge 2097152"), kernel.callsOf("map"));
  }

  @Test
  void B20_theMappedBytesAreWholePagesAndTheViewIsNot() {
    kernel.pool(HUGE, 2000, 2000, 0);

    try (HostRegion region = map(bytes(3_779_571_220L).pages(PageKind.hugeTlb(HUGE)))) {
      assertEquals(3_781_165_056L, region.mappedBytes());
      assertEquals(3_779_571_220L, region.segment().byteSize());
      assertThrows(IndexOutOfBoundsException.class, () -> region.slice(0, 3_779_571_221L));
    }
  }

  @Test
  void B14_withoutTheCallPagesAreTouchedAndKeepTheirBytesAndLaterRegionsDoNotAsk() {
    kernel.real = true;
    AtomicInteger asked = new AtomicInteger();
    kernel.populate =
        slice -> {
          asked.incrementAndGet();
          slice.fill((byte) 0xC3); // what a peer may have written before
          throw ScriptedKernel.refusal("madvise", Errno.EINVAL);
        };

    try (HostRegion region = map(bytes(MIB))) {
      MemorySegment expected = MemorySegment.ofArray(new byte[(int) MIB]).fill((byte) 0xC3);
      assertEquals(-1, region.segment().mismatch(expected));
      assertTrue(
          region.receipt().notes().stream()
              .anyMatch(
                  note -> note.startsWith("pages were made by touching: MADV_POPULATE_WRITE")),
          () -> region.receipt().toString());
    }
    map(bytes(MIB)).close();

    assertEquals(1, asked.get());
  }

  @Test
  void B14_hugePagesAreNeverTouchedBlindly() {
    kernel.pool(HUGE, 8, 8, 0);
    kernel.populate =
        slice -> {
          throw ScriptedKernel.refusal("madvise", Errno.EINVAL);
        };

    UnsupportedException refused =
        assertThrows(
            UnsupportedException.class, () -> map(bytes(HUGE).pages(PageKind.hugeTlb(HUGE))));

    assertTrue(refused.remedy().contains("Linux 5.14"), refused::remedy);
    assertEquals(List.of("unmap 2097152"), kernel.callsOf("unmap"));
  }

  @Test
  void interruptionsResumeAndBusyPagesAreTriedAgain() {
    AtomicInteger calls = new AtomicInteger();
    kernel.populate =
        slice -> {
          int call = calls.incrementAndGet();
          if (call <= 500) {
            throw ScriptedKernel.refusal("madvise", Errno.EINTR);
          }
          if (call <= 550) {
            throw ScriptedKernel.refusal("madvise", Errno.EAGAIN);
          }
        };

    map(bytes(MIB)).close();

    assertEquals(551, calls.get());
    assertTrue(kernel.now.get() >= 50_000_000, "pauses between tries");
  }

  @Test
  void pagesThatStayBusyAreAnErrorInTheEnd() {
    kernel.populate =
        slice -> {
          throw ScriptedKernel.refusal("madvise", Errno.EAGAIN);
        };

    HostKernelException busy = assertThrows(HostKernelException.class, () -> map(bytes(MIB)));

    assertTrue(busy.is(Errno.EAGAIN));
    assertEquals(100, kernel.callsOf("advise POPULATE").size());
  }

  @Test
  void B57_theFirstErrorWinsAndNothingIsBegunAfterIt() {
    // One thread, so that "after" is certain.
    AtomicInteger slices = new AtomicInteger();
    kernel.populate =
        slice -> {
          if (slices.incrementAndGet() == 4) {
            throw ScriptedKernel.refusal("madvise", Errno.EFAULT);
          }
        };

    HostRegion region = backend.pageSource().mapInBackground(bytes(8 * SLICE));
    CompletionException failed =
        assertThrows(CompletionException.class, () -> region.ready().join());

    assertTrue(failed.getCause() instanceof ShortfallException, failed::toString);
    assertEquals(4, slices.get());
    assertEquals(3 * SLICE, region.populatedBytes());
    assertSame(failed.getCause(), assertThrows(ShortfallException.class, region::segment));
    assertEquals(List.of(), kernel.callsOf("unmap"));
    region.close();
    assertEquals(List.of("unmap " + 8 * SLICE), kernel.callsOf("unmap"));
  }

  @Test
  void aBrokenPageIsToldApartFromAShortage() {
    kernel.populate =
        slice -> {
          throw ScriptedKernel.refusal("madvise", Errno.EHWPOISON);
        };

    HostKernelException broken = assertThrows(HostKernelException.class, () -> map(bytes(MIB)));

    assertTrue(broken.is(Errno.EHWPOISON));
    assertTrue(broken.remedy().contains("memory module"), broken::remedy);
  }

  @Test
  void viewsOfWhatIsPopulatedCanBeHadWhileTheRestIsOnItsWay() throws Exception {
    CountDownLatch atThird = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    AtomicInteger slices = new AtomicInteger();
    kernel.populate =
        slice -> {
          if (slices.incrementAndGet() == 3) {
            atThird.countDown();
            await(goOn);
          }
        };

    HostRegion region = backend.pageSource().mapInBackground(bytes(4 * SLICE));
    atThird.await();

    assertEquals(2 * SLICE, region.populatedBytes());
    assertEquals(SLICE, region.slice(SLICE, SLICE).segment().byteSize());
    NotPopulatedException early =
        assertThrows(NotPopulatedException.class, () -> region.slice(SLICE, SLICE + 1).segment());
    assertEquals(2 * SLICE + 1, early.neededBytes());
    assertEquals(2 * SLICE, early.populatedBytes());
    assertThrows(NotPopulatedException.class, region::receipt);
    assertFalse(region.ready().isDone());
    goOn.countDown();
    region.ready().join();
    assertEquals(4 * SLICE, region.segment().byteSize());
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException interrupted) {
      throw new AssertionError(interrupted);
    }
  }

  @Test
  void closingBeginsNoFurtherSlice() throws Exception {
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    kernel.populate =
        slice -> {
          inside.countDown();
          await(goOn);
        };
    HostRegion region = backend.pageSource().mapInBackground(bytes(100 * SLICE));
    inside.await();

    Thread closer = Thread.ofPlatform().start(region::close);
    while (closer.getState() != Thread.State.WAITING
        && closer.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
    assertEquals(List.of(), kernel.callsOf("unmap"));
    goOn.countDown();
    closer.join();

    assertEquals(1, kernel.callsOf("advise POPULATE").size());
    assertEquals(1, kernel.callsOf("unmap").size());
    assertTrue(region.ready().isCompletedExceptionally());
  }

  @Test
  void whatWaitsForReadyMayCloseTheRegion() {
    HostRegion region = backend.pageSource().mapInBackground(bytes(MIB));

    region.ready().thenRun(region::close).join();

    assertThrows(IllegalStateException.class, region::segment);
  }

  @Test
  void aCloseThatIsRefusedLetsPopulateGoOn() throws Exception {
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    kernel.real = true;
    kernel.populate =
        slice -> {
          inside.countDown();
          await(goOn);
        };
    HostRegion other;
    HostRegion region = backend.pageSource().mapInBackground(bytes(8 * SLICE));
    inside.await();
    goOn.countDown();
    other = map(bytes(MIB));
    MemorySegment held = other.segment();
    try (NativeSleep _ = NativeSleep.using(held)) {
      // The populate is paused and ended before the other region's view refuses.
      assertThrows(BusyException.class, backend::close);
    }

    region.ready().join();

    assertEquals(8 * SLICE, region.segment().byteSize());
    assertEquals(0, other.segment().get(ValueLayout.JAVA_BYTE, 0));
  }

  @Test
  void B24_adviceThatMakesThePagesSlowIsDroppedForTheRestAndTheReceiptSaysSo() {
    // One thread at 50 MiB/s while the advice lasts.
    kernel.populate =
        slice -> {
          if (kernel.callsOf("advise NO_HUGE_PAGE").isEmpty()) {
            kernel.now.addAndGet(slice.byteSize() * 1_000_000_000L / (50 * MIB));
          }
        };

    try (HostRegion region = map(bytes(100 * SLICE).pages(PageKind.thp()))) {
      // After 2 seconds, that is 100 MiB or 13 slices of 8.
      assertEquals(
          List.of("advise NO_HUGE_PAGE " + (100 - 13) * SLICE),
          kernel.callsOf("advise NO_HUGE_PAGE"));
      assertTrue(
          region
              .receipt()
              .notes()
              .contains(
                  "huge pages came at 50 MiB/s for each thread, the kernel compacts memory; from"
                      + " byte "
                      + 13 * SLICE
                      + " on base pages were taken"),
          () -> region.receipt().toString());
    }
  }

  @Test
  void adviceThatTheKernelRefusesIsANote() {
    // A kernel without transparent huge pages answers EINVAL.
    kernel.adviceRefusal = Optional.of(ScriptedKernel.refusal("madvise", Errno.EINVAL));

    try (HostRegion region = map(bytes(MIB).pages(PageKind.thp()))) {
      assertTrue(
          region.receipt().notes().stream()
              .anyMatch(note -> note.startsWith("the kernel took no advice for huge pages")),
          () -> region.receipt().toString());
    }
  }

  @Test
  void spaceOfAFileIsTakenSliceBySliceInFrontOfItsPagesAndTheFileClosed() {
    kernel.fileSystem =
        new FileSystemFacts(FileSystemFacts.TMPFS_MAGIC, 4096, 100_000, 100_000, 100_000);

    map(bytes(SLICE + MIB).pages(PageKind.directory(Path.of("/dev/shm")))).close();

    assertEquals(
        List.of(
            "resize 9437184",
            "map 9437184",
            "advise DONT_FORK 9437184",
            "allocate 0 8388608",
            "advise POPULATE_WRITE 8388608",
            "allocate 8388608 1048576",
            "advise POPULATE_WRITE 1048576"),
        kernel.calls.stream()
            .filter(call -> call.matches("(resize|map|advise|allocate) .*"))
            .toList());
    assertEquals(List.of("close 101"), kernel.callsOf("close 101"));
  }
}
