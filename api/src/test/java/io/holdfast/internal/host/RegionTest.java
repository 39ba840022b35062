package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.error.BusyException;
import io.holdfast.host.Hold;
import io.holdfast.host.HostMemory;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Touch;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import io.holdfast.host.PlacementReceipt;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.pin.PinnableMemory;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernels;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RegionTest {
  private static final long MIB = 1L << 20;

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

  @Test
  void basePagesAreThereZeroAndExactlyAsManyBytesAsAsked() {
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(64 * MIB + 1))) {
      MemorySegment bytes = region.segment();

      assertEquals(64 * MIB + 1, bytes.byteSize());
      assertEquals(64 * MIB + kernel.basePageBytes(), region.mappedBytes());
      assertEquals(kernel.basePageBytes(), region.backingPageBytes());
      assertEquals(0, bytes.get(ValueLayout.JAVA_BYTE, 64 * MIB));
      assertEquals(region.mappedBytes(), region.populatedBytes());
      assertTrue(region.ready().isDone());
      long onNodes = region.receipt().bytesPerNode().values().stream().mapToLong(n -> n).sum();
      assertEquals(region.mappedBytes(), onNodes);
      assertEquals(1.0, region.receipt().sampledShare());
      assertEquals(0, region.receipt().bytesElsewhere());
      assertEquals(
          Map.of(kernel.basePageBytes(), region.mappedBytes()),
          region.receipt().bytesPerPageSize());
    }
  }

  @Test
  void everyPageIsPresentBeforeAnyoneGetsAView() {
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(16 * MIB))) {
      MemorySegment pages = ((PinnableMemory) region).wholePages();
      for (int node : kernel.nodes(pages, kernel.basePageBytes())) {
        assertTrue(node >= 0, "a page answered " + node);
      }
    }
  }

  @Test
  void transparentHugePagesStartOnOneAndAreReportedByTheKernel() {
    Machine machine = new Machine(kernel);
    String mode = machine.choice("/sys/kernel/mm/transparent_hugepage/enabled").orElse("not there");
    assumeTrue(
        List.of("always", "madvise").contains(mode), "needs transparent huge pages, is " + mode);
    long huge = machine.transparentHugePageBytes();

    try (HostRegion region =
        backend.pageSource().map(HostRequest.ofBytes(8 * huge + 1).pages(PageKind.thp()))) {
      assertEquals(0, region.segment().address() % huge);
      assertEquals(8 * huge + kernel.basePageBytes(), region.mappedBytes());
      PlacementReceipt receipt = region.receipt();
      assertTrue(receipt.bytesPerPageSize().getOrDefault(huge, 0L) > 0, () -> receipt.toString());
      assertTrue(
          receipt.notes().stream().anyMatch(note -> note.startsWith("huge pages back ")),
          () -> receipt.toString());
    }
  }

  @Test
  void aLazyRegionIsReadyAtOnceAndItsPagesComeWithUse() {
    try (HostRegion region =
        backend.pageSource().map(HostRequest.ofBytes(MIB).touch(Touch.LAZILY))) {
      MemorySegment pages = ((PinnableMemory) region).wholePages();
      assertTrue(region.ready().isDone());
      assertTrue(kernel.nodesAt(pages, new long[] {0})[0] < 0);

      region.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) 7);

      assertTrue(kernel.nodesAt(pages, new long[] {0})[0] >= 0);
    }
  }

  @Test
  void slicesStandOnWholePagesAndStayWithinTheLogicalBytes() {
    long page = kernel.basePageBytes();
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(4 * page + 10))) {
      HostMemory slice = region.slice(page, page + 1);

      assertEquals(page, slice.offsetBytes());
      assertEquals(page + 1, slice.segment().byteSize());
      assertEquals(2 * page, slice.mappedBytes());
      assertEquals(region.segment().address() + page, slice.segment().address());
      assertEquals(region, slice.region());
      assertThrows(IllegalArgumentException.class, () -> region.slice(1, page));
      assertThrows(IndexOutOfBoundsException.class, () -> region.slice(4 * page, 11));
      assertThrows(IllegalArgumentException.class, () -> region.slice(0, 0));
    }
  }

  @Test
  void aHoldRefusesTheCloseWithNothingUndone() {
    HostRegion region = backend.pageSource().map(HostRequest.ofBytes(MIB));
    Hold hold = region.hold("a network card");

    BusyException busy = assertThrows(BusyException.class, region::close);

    assertTrue(busy.holders().getFirst().contains("a network card"), () -> busy.toString());
    region.segment().set(ValueLayout.JAVA_BYTE, MIB - 1, (byte) 1);
    hold.close();
    hold.close();
    region.close();
    region.close();
    assertThrows(IllegalStateException.class, region::segment);
    assertThrows(IllegalStateException.class, () -> region.hold("late"));
  }

  @Test
  void aViewThatANativeCallUsesRefusesTheCloseAndViewsDieWithTheRegion() throws Exception {
    HostRegion region = backend.pageSource().map(HostRequest.ofBytes(MIB));
    MemorySegment view = region.segment();
    try (NativeSleep _ = NativeSleep.using(view)) {
      BusyException busy = assertThrows(BusyException.class, region::close);
      assertTrue(busy.holders().getFirst().contains("native call"), () -> busy.toString());
      assertEquals(0, region.segment().get(ValueLayout.JAVA_BYTE, 0));
    }
    region.close();
    assertThrows(IllegalStateException.class, () -> view.get(ValueLayout.JAVA_BYTE, 0));
  }

  @Test
  void closingUnmapsAllButKeptPagesAndThoseWhenTheyAreLetGo() {
    long page = kernel.basePageBytes();
    HostRegion region = backend.pageSource().map(HostRequest.ofBytes(8 * page));
    PinnableMemory memory = (PinnableMemory) region;
    MemorySegment pages = memory.wholePages();
    PinnableMemory.Kept one = memory.keepMapped(2 * page, page);
    PinnableMemory.Kept two =
        ((PinnableMemory) region.slice(2 * page, 4 * page)).keepMapped(0, 2 * page);

    region.close();

    assertEquals(List.of(2, 3), mappedPages(pages));
    two.close();
    assertEquals(List.of(2), mappedPages(pages));
    one.close();
    one.close();
    assertEquals(List.of(), mappedPages(pages));
  }

  // A page that is mapped and was touched has a node; nothing else of this process maps there
  // between, or the list would be longer than what was kept.
  private List<Integer> mappedPages(MemorySegment pages) {
    int[] nodes = kernel.nodes(pages, kernel.basePageBytes());
    return IntStream.range(0, nodes.length).filter(i -> nodes[i] >= 0).boxed().toList();
  }

  @Test
  void closingTheBackendClosesItsRegions() {
    HostRegion region = backend.pageSource().map(HostRequest.ofBytes(MIB));
    MemorySegment view = region.segment();

    backend.close();

    assertThrows(IllegalStateException.class, () -> view.get(ValueLayout.JAVA_BYTE, 0));
    assertThrows(IllegalStateException.class, region::segment);
    assertEquals(MIB, region.receipt().bytesPerNode().values().stream().mapToLong(n -> n).sum());
  }

  @Test
  void closingWhilePopulatingStopsAndGivesBack() {
    HostRegion region = backend.pageSource().mapInBackground(HostRequest.ofBytes(512 * MIB));
    MemorySegment pages = ((PinnableMemory) region).wholePages();

    region.close();

    assertTrue(region.ready().isCompletedExceptionally());
    assertFalse(kernel.nodesAt(pages, new long[] {0})[0] >= 0);
    assertThrows(
        IllegalStateException.class, () -> ((PinnableMemory) region).awaitPopulated(512 * MIB));
  }

  @Test
  void theWatermarkRisesInWholePagesUntilAllIsThere() {
    try (HostRegion region = backend.pageSource().mapInBackground(HostRequest.ofBytes(256 * MIB))) {
      PinnableMemory memory = (PinnableMemory) region;
      for (long bytes = 0; bytes <= 256 * MIB; bytes += 32 * MIB) {
        memory.awaitPopulated(bytes);
        assertTrue(region.populatedBytes() >= bytes);
        assertEquals(0, region.populatedBytes() % kernel.basePageBytes());
      }
      region.ready().join();
      assertEquals(256 * MIB, region.segment().byteSize());
    }
  }

  @Test
  void regionsAreKeptFromChildrenUnlessAsked() {
    try (HostRegion kept = backend.pageSource().map(HostRequest.ofBytes(MIB));
        HostRegion given =
            backend
                .pageSource()
                .map(HostRequest.ofBytes(MIB).fork(HostRequest.Fork.COPY_TO_CHILDREN))) {
      assertTrue(VmFlags.of(kernel, kept.segment()).contains("dc"));
      assertFalse(VmFlags.of(kernel, given.segment()).contains("dc"));
    }
  }

  @Test
  void aVirtualThreadMapsToo() throws Exception {
    Thread mapper =
        Thread.ofVirtual()
            .start(
                () -> {
                  try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(3 * MIB))) {
                    region.segment().fill((byte) 5);
                  }
                });
    mapper.join();
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(MIB))) {
      assertEquals(MIB, region.logicalBytes());
    }
  }

  @Test
  void B41_sixtyFourMebibytesOnNodeZeroAre16384PagesOfWhichEachWasAsked() {
    try (HostRegion region =
        backend.pageSource().map(HostRequest.ofBytes(64 * MIB).numa(NumaPolicy.bind(0)))) {
      assertEquals(Map.of(0, 64 * MIB), region.receipt().bytesPerNode());
      assertEquals(1.0, region.receipt().sampledShare());
    }
  }

  @Test
  void B81_aThousandPoolsAreAtMostAThousandMappingsAndNoPolicyOfTheProcess() {
    Machine machine = new Machine(kernel);
    HostKernel.ThreadPlace before = kernel.threadPlace();
    List<HostRegion> pools = new ArrayList<>();
    long mappings = machine.mappings().orElseThrow();

    for (int i = 0; i < 1000; i++) {
      pools.add(
          backend
              .pageSource()
              .mapInBackground(
                  HostRequest.ofBytes(64 << 10)
                      .numa(NumaPolicy.bind(0))
                      .limits(HostRequest.Limits.ADVISE)));
    }
    pools.forEach(pool -> pool.ready().join());

    assertTrue(machine.mappings().orElseThrow() - mappings <= 1000 + THREADS_AND_HEAP);
    assertEquals(before, kernel.threadPlace());
    pools.forEach(HostRegion::close);
  }

  // Stacks of threads and growth of the Java heap map too, a few at a time.
  private static final long THREADS_AND_HEAP = 150;
}
