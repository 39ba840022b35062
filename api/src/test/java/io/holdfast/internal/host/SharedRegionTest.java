package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Touch;
import io.holdfast.host.PageKind;
import io.holdfast.host.SharedRegion;
import io.holdfast.host.SharedRequest;
import io.holdfast.host.SharingException;
import io.holdfast.host.SharingException.Reason;
import io.holdfast.host.ShortfallException;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.linux.HugePool;
import io.holdfast.internal.pin.PinnableMemory;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernel.LockMode;
import io.holdfast.spi.HostKernel.OpenMode;
import io.holdfast.spi.HostKernels;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ranks as threads of one process; that they work as processes is tested with real ones. */
class SharedRegionTest {
  private static final long MIB = 1L << 20;

  @TempDir Path folder;

  private final HostKernel kernel = HostKernels.system();
  private CoreBackend backend;
  private Mounted tmpfs;

  @BeforeEach
  void open() throws IOException {
    assumeTrue(kernel.pages() == HostKernel.Pages.KERNEL, "needs Linux");
    backend = NoDevices.backend(kernel);
    tmpfs = Mounted.tmpfs(folder, "64m");
  }

  @AfterEach
  void close() throws IOException {
    if (backend != null) {
      backend.close();
    }
    if (tmpfs != null) {
      tmpfs.close();
    }
  }

  private SharedRequest request(int ranks, long bytes) {
    return SharedRequest.named(
        "engine-7", ranks, HostRequest.ofBytes(bytes).pages(PageKind.directory(tmpfs.point())));
  }

  private CompletableFuture<SharedRegion> start(SharedRequest request, int rank) {
    CompletableFuture<SharedRegion> region = new CompletableFuture<>();
    Thread.ofPlatform()
        .start(
            () -> {
              try {
                region.complete(backend.pageSource().share(request, rank));
              } catch (Throwable thrown) {
                region.completeExceptionally(thrown);
              }
            });
    return region;
  }

  private List<SharedRegion> shareAll(SharedRequest request) {
    List<CompletableFuture<SharedRegion>> ranks = new ArrayList<>();
    for (int rank = 0; rank < request.ranks(); rank++) {
      ranks.add(start(request, rank));
    }
    return ranks.stream().map(CompletableFuture::join).toList();
  }

  private static SharingException refusal(CompletableFuture<SharedRegion> rank) {
    CompletionException wrapped = assertThrows(CompletionException.class, rank::join);
    return assertInstanceOf(SharingException.class, wrapped.getCause());
  }

  private List<String> names() throws IOException {
    try (Stream<Path> names = Files.list(tmpfs.point())) {
      return names.map(Path::getFileName).map(Path::toString).sorted().toList();
    }
  }

  private static void put(Path file, String bytes) throws IOException {
    Files.writeString(file, bytes);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
  }

  @Test
  void whoWaitsForNobodyNeedsNoPatience() {
    SharedRequest alone = request(1, MIB).patience(Duration.ZERO);
    try (SharedRegion region = backend.pageSource().share(alone, 0)) {
      region.ready().join();
      assertEquals(MIB, region.mine().logicalBytes());
    }
  }

  @Test
  void whatOneRankWritesAllOthersRead() throws IOException {
    List<SharedRegion> ranks = shareAll(request(3, 3 * MIB + 5));
    long slice = 3 * MIB + kernel.basePageBytes();

    for (SharedRegion region : ranks) {
      assertEquals(3, region.ranks());
      assertEquals(3 * MIB + 5, region.mine().segment().byteSize());
      assertEquals(slice, region.mine().mappedBytes());
      assertEquals(region.rank() * slice, region.mine().offsetBytes());
      region.mine().segment().fill((byte) (10 + region.rank()));
    }
    for (SharedRegion region : ranks) {
      region.ready().join();
      for (int peer = 0; peer < 3; peer++) {
        MemorySegment bytes = region.of(peer).segment();
        assertEquals(10 + peer, bytes.get(ValueLayout.JAVA_BYTE, 3 * MIB + 4));
      }
      assertEquals(2 * slice + 3 * MIB + 5, region.segment().byteSize());
      assertEquals(3 * slice, region.mappedBytes());
      assertEquals(3 * slice, region.populatedBytes());
      assertEquals(
          slice, region.receipt().bytesPerNode().values().stream().mapToLong(n -> n).sum());
    }
    assertEquals(List.of(), names());
  }

  @Test
  void namesAndDescriptorsAreGoneOnceAllHaveJoinedAndMemoryOnceAllHaveClosed() throws Exception {
    long free = tmpfs.freeBytes();
    List<SharedRegion> ranks = shareAll(request(2, 4 * MIB));

    assertEquals(List.of(), names());
    assertEquals(List.of(), tmpfs.openFiles());
    // One page of base pages beside the memory is what the ranks tell each other.
    assertEquals(free - 8 * MIB - kernel.basePageBytes(), tmpfs.freeBytes());
    ranks.getFirst().close();
    ranks.getLast().mine().segment().set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
    ranks.getLast().close();
    assertEquals(free, tmpfs.freeBytes());
    assertThrows(IllegalStateException.class, () -> ranks.getFirst().of(1));
  }

  @Test
  void aRankPinsItsSliceWithoutWaitingForOthers() {
    List<SharedRegion> ranks = shareAll(request(2, MIB));

    PinnableMemory mine = (PinnableMemory) ranks.get(1).mine();
    mine.awaitPopulated(MIB);

    assertEquals(ranks.get(1).mine().segment().address(), mine.wholePages().address());
    assertEquals(MIB, mine.wholePages().byteSize());
  }

  @Test
  void B58_whoComesLateFindsNobodyAndLeavesNothing() throws IOException {
    long free = tmpfs.freeBytes();
    List<SharedRegion> ranks = shareAll(request(2, MIB));

    SharingException late =
        assertThrows(
            SharingException.class,
            () -> backend.pageSource().share(request(2, MIB).patience(Duration.ofSeconds(1)), 1));

    assertEquals(Reason.TIMEOUT, late.reason());
    assertEquals(1, late.joined());
    assertEquals(2, late.ranks());
    assertEquals(List.of(), names());
    ranks.forEach(SharedRegion::close);
    assertEquals(free, tmpfs.freeBytes());
  }

  @Test
  void ranksThatAskForDifferentThingsAreToldTheNumbers() {
    CompletableFuture<SharedRegion> first =
        start(request(2, MIB).patience(Duration.ofSeconds(20)), 0);
    awaitName();

    SharingException refused =
        assertThrows(
            SharingException.class, () -> backend.pageSource().share(request(2, 2 * MIB), 1));

    assertEquals(Reason.MISMATCH, refused.reason());
    assertTrue(
        String.valueOf(refused.getMessage())
            .contains("logical bytes are " + 2 * MIB + " here and " + MIB + " there"),
        refused::toString);
    assertFalse(first.isDone());
    start(request(2, MIB), 1).join();
    first.join();
  }

  @Test
  void aRankCanBeThereOnce() {
    SharedRequest request = request(3, MIB).patience(Duration.ofSeconds(20));
    CompletableFuture<SharedRegion> first = start(request, 0);
    awaitName();

    SharingException refused =
        assertThrows(SharingException.class, () -> backend.pageSource().share(request, 0));

    assertEquals(Reason.RANK_TAKEN, refused.reason());
    assertEquals(1, refused.joined());
    CompletableFuture<SharedRegion> second = start(request, 1);
    start(request, 2).join();
    second.join();
    first.join();
  }

  @Test
  void whenOneGivesUpTheOthersDoAtOnceAndTheNamesAreGone() throws IOException {
    CompletableFuture<SharedRegion> first =
        start(request(3, MIB).patience(Duration.ofMinutes(10)), 0);
    awaitName();

    SharingException impatient =
        assertThrows(
            SharingException.class,
            () -> backend.pageSource().share(request(3, MIB).patience(Duration.ofMillis(100)), 1));

    assertEquals(Reason.TIMEOUT, impatient.reason());
    assertEquals(Reason.PEER_FAILED, refusal(first).reason());
    assertEquals(List.of(), names());
  }

  private void awaitName() {
    // Until the creator says that others can join: its page has the magic word.
    Path control = tmpfs.point().resolve(SharedNames.control("engine-7"));
    while (true) {
      try {
        byte[] page = Files.readAllBytes(control);
        if (page.length > 16 && page[2 * Long.BYTES] == ControlPage.OPEN) {
          return;
        }
      } catch (IOException notYet) {
        assertFalse(Files.exists(tmpfs.point().resolve("never")), notYet::toString);
      }
      kernel.pause(1_000_000);
    }
  }

  @Test
  void namesOfTheDeadAreTakenOverAndTheirMemoryIsFreed() throws IOException {
    long free = tmpfs.freeBytes();
    put(tmpfs.point().resolve(SharedNames.control("engine-7")), "x".repeat(4096));
    put(tmpfs.point().resolve(SharedNames.data("engine-7")), "x".repeat(100_000));

    shareAll(request(2, MIB)).forEach(SharedRegion::close);

    assertEquals(List.of(), names());
    assertEquals(free, tmpfs.freeBytes());
  }

  @Test
  void theReaperRemovesWhatNobodyHoldsAndNamesTheProof() throws IOException {
    DirectoryHandle open = kernel.openDirectory(tmpfs.point());
    FileHandle held = kernel.open(open, SharedNames.data("alive"), OpenMode.CREATE_NEW);
    assertTrue(kernel.tryLock(held, LockMode.SHARED));
    put(tmpfs.point().resolve(SharedNames.data("dead")), "x".repeat(8192));
    put(tmpfs.point().resolve(SharedNames.control("dead")), "");
    put(tmpfs.point().resolve(SharedNames.PRIVATE_PREFIX + "1"), "");
    put(tmpfs.point().resolve("holdfast.txt"), "not ours");
    Files.createSymbolicLink(
        tmpfs.point().resolve(SharedNames.data("link")), tmpfs.point().resolve("holdfast.txt"));

    List<String> reaped = backend.pageSource().reapStale(tmpfs.point());

    assertEquals(3, reaped.size(), reaped::toString);
    assertTrue(
        reaped.contains(
            "holdfast-dead.data (8192 bytes): its lock could be had alone, so no process has it"),
        reaped::toString);
    assertEquals(List.of("holdfast-alive.data", "holdfast-link.data", "holdfast.txt"), names());
    kernel.close(held);
    assertEquals(1, backend.pageSource().reapStale(tmpfs.point()).size());
    kernel.close(open);
  }

  @Test
  void B100_aLinkOrAReadableFileUnderTheNameIsRefused() throws IOException {
    Path elsewhere = Files.writeString(folder.resolve("victim"), "precious");
    Path control = tmpfs.point().resolve(SharedNames.control("engine-7"));
    Files.createSymbolicLink(control, elsewhere);

    SharingException link =
        assertThrows(SharingException.class, () -> backend.pageSource().share(request(2, MIB), 0));

    assertEquals(Reason.NOT_OURS, link.reason());
    assertEquals("precious", Files.readString(elsewhere));
    Files.delete(control);
    put(control, "x");
    Files.setPosixFilePermissions(control, PosixFilePermissions.fromString("rw-rw-rw-"));
    SharingException open =
        assertThrows(SharingException.class, () -> backend.pageSource().share(request(2, MIB), 0));
    assertEquals(Reason.NOT_OURS, open.reason());
    assertTrue(String.valueOf(open.getMessage()).contains("mode 0666"), open::toString);
    assertThrows(
        IllegalArgumentException.class,
        () -> SharedRequest.named("../x", 2, HostRequest.ofBytes(1)));
  }

  @Test
  void B100_namesAreReadableByTheirOwnerAlone() throws Exception {
    CompletableFuture<SharedRegion> first = start(request(2, MIB), 0);
    awaitName();

    for (String name : names()) {
      assertEquals(
          "rw-------",
          PosixFilePermissions.toString(Files.getPosixFilePermissions(tmpfs.point().resolve(name))),
          name);
    }
    start(request(2, MIB), 1).join();
    first.join();
  }

  @Test
  void tooLittleRoomIsRefusedBeforeAnyoneWaits() throws IOException {
    ShortfallException refused =
        assertThrows(
            ShortfallException.class, () -> backend.pageSource().share(request(2, 40 * MIB), 0));

    assertEquals(
        80 * MIB / kernel.basePageBytes(), refused.shortfall().limits().getFirst().needed());
    assertEquals(List.of(), names());
  }

  @Test
  void oneFileOnHugetlbfsHoldsAllSlicesOnWholeHugePages() throws Exception {
    try (HugePool pool = HugePool.with(kernel, 8);
        Mounted hugetlbfs = Mounted.hugetlbfs(folder, "pagesize=2M")) {
      long before = pool.available();
      SharedRequest request =
          SharedRequest.named(
              "huge",
              2,
              HostRequest.ofBytes(3 * MIB).pages(PageKind.directory(hugetlbfs.point(), 2 * MIB)));

      List<SharedRegion> ranks = shareAll(request);

      assertEquals(before - 4, pool.available());
      assertEquals(4 * MIB, ranks.get(1).mine().offsetBytes());
      assertEquals(2 * MIB, ranks.get(1).backingPageBytes());
      ranks.get(0).mine().segment().set(ValueLayout.JAVA_BYTE, 3 * MIB - 1, (byte) 77);
      assertEquals(77, ranks.get(1).of(0).segment().get(ValueLayout.JAVA_BYTE, 3 * MIB - 1));
      ranks.forEach(SharedRegion::close);
      assertEquals(before, pool.available());
      // A HugeTLB kind finds that mount by itself.
      shareAll(
              SharedRequest.named(
                  "huge", 2, HostRequest.ofBytes(MIB).pages(PageKind.hugeTlb(2 * MIB))))
          .forEach(SharedRegion::close);
      assertEquals(before, pool.available());
    }
  }

  @Test
  void B61_transparentHugePagesOfSharedMemoryAreReportedAsTheyAre() {
    String mode =
        new Machine(kernel)
            .choice("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
            .orElse("not there");
    assumeTrue(mode.equals("never"), "needs shmem_enabled=never, is " + mode);

    List<SharedRegion> ranks =
        shareAll(
            SharedRequest.named(
                "thp-" + ProcessHandle.current().pid(),
                2,
                HostRequest.ofBytes(4 * MIB).pages(PageKind.thp())));

    assertEquals(
        Map.of(kernel.basePageBytes(), 4 * MIB), ranks.get(0).receipt().bytesPerPageSize());
    assertTrue(
        ranks
            .get(0)
            .receipt()
            .notes()
            .contains("transparent huge pages of shared memory are 'never'"),
        () -> ranks.get(0).receipt().toString());
  }

  @Test
  void whatCannotBeSharedIsRefused() {
    assertThrows(
        IllegalArgumentException.class,
        () ->
            backend
                .pageSource()
                .share(
                    SharedRequest.named("lazy", 1, HostRequest.ofBytes(1).touch(Touch.LAZILY)), 0));
    assertThrows(
        IndexOutOfBoundsException.class, () -> backend.pageSource().share(request(2, MIB), 2));
    assertThrows(
        IllegalArgumentException.class, () -> backend.pageSource().share(request(201, MIB), 2));
    assertThrows(
        UnsupportedException.class,
        () ->
            backend
                .pageSource()
                .share(
                    SharedRequest.named(
                        "nowhere",
                        1,
                        HostRequest.ofBytes(1).pages(PageKind.directory(folder.resolve("absent")))),
                    0));
  }

  @Test
  void slicesThatNoLongCanCountTogetherAreRefusedWithTheNumbers() {
    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class,
            () -> backend.pageSource().share(request(200, 1L << 62), 0));

    assertEquals("200 slices of " + (1L << 62) + " bytes exceed a long", refused.getMessage());
  }
}
