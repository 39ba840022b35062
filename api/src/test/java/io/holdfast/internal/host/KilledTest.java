package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.linux.HugePool;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Processes that are killed at any moment leave pools and directories as they were. */
class KilledTest {
  private static final long MIB = 1L << 20;
  private static final long SEED = 20_261_130;

  @TempDir Path folder;

  private final HostKernel kernel = HostKernels.system();

  @BeforeEach
  void needsLinux() {
    assumeTrue(kernel.pages() == HostKernel.Pages.KERNEL, "needs Linux");
  }

  private static List<String> names(Path directory) throws IOException {
    try (Stream<Path> names = Files.list(directory)) {
      return names.map(Path::getFileName).map(Path::toString).sorted().toList();
    }
  }

  // The kernel frees a dead process's memory a little after it tells of its death.
  private void awaitPages(HugePool pool, long expected) throws IOException {
    for (int i = 0; i < 1000 && pool.available() != expected; i++) {
      kernel.pause(1_000_000);
    }
    assertEquals(expected, pool.available());
  }

  private void killedWhile(String what, int times, String pages, long bytes) throws Exception {
    SplittableRandom random = new SplittableRandom(SEED);
    for (int i = 0; i < times; i++) {
      try (Child child = Child.start(Dying.class, what, 0, pages, bytes)) {
        assertEquals("begins", child.line());
        kernel.pause(random.nextLong(80_000_000));
        child.kill();
      }
    }
  }

  private void killedWhileMapping(int times) throws Exception {
    try (HugePool pool = HugePool.with(kernel, 16);
        Mounted hugetlbfs = Mounted.hugetlbfs(folder, "pagesize=2M");
        Mounted tmpfs = Mounted.tmpfs(folder, "128m")) {
      long before = pool.available();
      long free = tmpfs.freeBytes();

      killedWhile("map", times, Long.toString(HugePool.PAGE_BYTES), 20 * MIB);
      killedWhile("map", times, hugetlbfs.point().toString(), 20 * MIB);
      killedWhile("map", times, tmpfs.point().toString(), 20 * MIB);
      killedWhile("populate", times, Long.toString(HugePool.PAGE_BYTES), 32 * MIB);
      killedWhile("populate", times, hugetlbfs.point().toString(), 32 * MIB);
      killedWhile("populate", times, tmpfs.point().toString(), 100 * MIB);

      awaitPages(pool, before);
      assertEquals(List.of(), names(hugetlbfs.point()));
      assertEquals(List.of(), names(tmpfs.point()));
      assertEquals(free, tmpfs.freeBytes());
    }
  }

  @Test
  void whileMappingOrPopulating() throws Exception {
    killedWhileMapping(1);
  }

  @RepeatedTest(10)
  @Tag("full")
  void whileMappingOrPopulatingOverAndOver() throws Exception {
    killedWhileMapping(3);
  }

  @Test
  void theOnlyRankWhileItWaitsLeavesNamesWithoutMemoryThatTheReaperProvesStale() throws Exception {
    try (HugePool pool = HugePool.with(kernel, 16);
        Mounted hugetlbfs = Mounted.hugetlbfs(folder, "pagesize=2M");
        CoreBackend backend = NoDevices.backend(kernel)) {
      long before = pool.available();

      killedWhile("share", 3, hugetlbfs.point().toString(), 8 * MIB);

      awaitPages(pool, before);
      backend.pageSource().reapStale(hugetlbfs.point());
      backend.pageSource().reapStale(SharedNames.SYSTEM_MEMORY);
      assertEquals(List.of(), names(hugetlbfs.point()));
      assertTrue(
          names(SharedNames.SYSTEM_MEMORY).stream().noneMatch(name -> name.contains("dying")));
    }
  }

  @Test
  void theCreatorWhileAnotherRankWaitsLeavesNothingAndTheOtherIsTold() throws Exception {
    try (Mounted tmpfs = Mounted.tmpfs(folder, "64m")) {
      long free = tmpfs.freeBytes();
      String pages = tmpfs.point().toString();
      // Three would be needed, two come, and the first of them dies.
      try (Child creator = Child.start(Waiting.class, 0, pages)) {
        assertEquals("begins", creator.line());
        awaitNames(tmpfs.point());
        try (Child other = Child.start(Waiting.class, 1, pages)) {
          assertEquals("begins", other.line());
          awaitJoined(tmpfs.point(), 2);

          creator.kill();

          assertEquals("CREATOR_GONE 2 of 3", other.line());
        }
      }
      assertEquals(List.of(), names(tmpfs.point()));
      assertEquals(free, tmpfs.freeBytes());
    }
  }

  private void awaitNames(Path directory) throws IOException {
    while (names(directory).size() < 2) {
      kernel.pause(1_000_000);
    }
  }

  private void awaitJoined(Path directory, int joined) throws IOException {
    Path control = directory.resolve(SharedNames.control("waiting"));
    while (true) {
      byte[] page = Files.readAllBytes(control);
      if (page.length > 0 && page[ControlPage.AT_JOINED * Long.BYTES] == joined) {
        return;
      }
      kernel.pause(1_000_000);
    }
  }

  @Test
  void allRanksAfterTheyMetLeaveNothing() throws Exception {
    try (HugePool pool = HugePool.with(kernel, 16);
        Mounted hugetlbfs = Mounted.hugetlbfs(folder, "pagesize=2M")) {
      long before = pool.available();
      String pages = hugetlbfs.point().toString();
      try (Child one = Child.start(Dying.class, "shared", 0, pages, 8 * MIB);
          Child other = Child.start(Dying.class, "shared", 1, pages, 8 * MIB)) {
        assertEquals("begins", one.line());
        assertEquals("begins", other.line());
        assertEquals(before - 8, pool.available());
        assertEquals(List.of(), names(hugetlbfs.point()));
      }
      awaitPages(pool, before);
      assertEquals(List.of(), names(hugetlbfs.point()));
    }
  }
}
