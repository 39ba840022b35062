package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.internal.linux.HugePool;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Too little of everything, in processes of their own: each try ends in a typed exception, the
 * process lives, and the counters are back where they were. Each limit is met twice: by the check
 * before the first touch, and, hidden from the check, by the kernel alone.
 */
class StarvationTest {
  private static final long MIB = 1L << 20;
  private static final long PAGE = HugePool.PAGE_BYTES;
  private static final int TIMES = 3;
  private static final int MANY_TIMES = 100;

  @TempDir Path folder;

  private final HostKernel kernel = HostKernels.system();

  @BeforeEach
  void needsLinux() {
    assumeTrue(kernel.pages() == HostKernel.Pages.KERNEL, "needs Linux");
  }

  /** A machine that seems to have all that anyone wants. */
  private Path plenty() throws IOException {
    Path tree = folder.resolve("plenty");
    Path pool = tree.resolve(Machine.poolFolder(PAGE).substring(1));
    Files.createDirectories(pool);
    for (String counter : List.of("nr_hugepages", "free_hugepages")) {
      Files.writeString(pool.resolve(counter), "1000000\n");
    }
    return tree;
  }

  private void starve(
      int times, List<String> before, long bytes, Object pages, Path tree, String expected)
      throws Exception {
    try (Child child = Child.start(before, Starving.class, times, bytes, pages, tree, "inherit")) {
      List<String> lines = child.output().lines().toList();
      assertEquals(times, lines.size(), lines::toString);
      for (String line : lines) {
        assertTrue(line.matches(expected), line);
      }
    }
  }

  private void poolStarves(int times) throws Exception {
    try (HugePool pool = HugePool.with(kernel, 16)) {
      long before = pool.available();
      long wanted = pool.tooMany() + 8;
      starve(
          times,
          List.of(),
          wanted * PAGE,
          PAGE,
          Path.of("/"),
          "the pool of 2 MiB HugeTLB pages: needed " + wanted + ", available [0-9]+, short by .*");
      assertEquals(before, pool.available());
      starve(
          times,
          List.of(),
          wanted * PAGE,
          PAGE,
          plenty(),
          "memory, by the kernel's refusal \\(mmap answered ENOMEM; .*needed " + wanted + ", .*");
      assertEquals(before, pool.available());
    }
  }

  @Test
  void aPoolThatIsTooSmall() throws Exception {
    poolStarves(TIMES);
  }

  @Test
  @Tag("deep")
  void aPoolThatIsTooSmallAHundredTimes() throws Exception {
    poolStarves(MANY_TIMES);
  }

  private void hugePageGroupStarves(int times) throws Exception {
    try (HugePool pool = HugePool.with(kernel, 16);
        TestCgroup group = TestCgroup.of("hugetlb")) {
      long before = pool.available();
      group.limit("hugetlb.2MB.max", "hugetlb.2MB.limit_in_bytes", 8 * MIB);
      starve(times, group.enter(), 8 * MIB, PAGE, Path.of("/"), "region");
      starve(
          times,
          group.enter(),
          20 * MIB,
          PAGE,
          Path.of("/"),
          "the cgroup limit "
              + group.name()
              + "/hugetlb.2MB.*: needed 10, available 4, short by 6 pages of 2 MiB");
      assertEquals(before, pool.available());
      // Mapping succeeds there, and populate fails after four pages.
      starve(
          times,
          group.enter(),
          20 * MIB,
          PAGE,
          plenty(),
          "memory, by the kernel's refusal \\(madvise answered EFAULT; .*needed 10, available 4,"
              + ".*");
      assertEquals(before, pool.available());
    }
  }

  @Test
  void aCgroupOfHugePagesThatIsTooSmall() throws Exception {
    hugePageGroupStarves(TIMES);
  }

  @Test
  @Tag("deep")
  void aCgroupOfHugePagesThatIsTooSmallAHundredTimes() throws Exception {
    hugePageGroupStarves(MANY_TIMES);
  }

  private void memoryGroupStarves(int times) throws Exception {
    try (TestCgroup group = TestCgroup.of("memory")) {
      group.limit("memory.max", "memory.limit_in_bytes", 400 * MIB);
      starve(times, group.enter(), 64 * MIB, "base", Path.of("/"), "region");
      starve(
          times,
          group.enter(),
          420 * MIB,
          "base",
          Path.of("/"),
          "the cgroup limit " + group.name() + "/memory.* short by [0-9]+ pages of 4 KiB");
      try (Mounted tmpfs = Mounted.tmpfs(folder, "1g")) {
        starve(
            times,
            group.enter(),
            420 * MIB,
            tmpfs.point(),
            Path.of("/"),
            "the cgroup limit " + group.name() + "/memory.* short by [0-9]+ pages of 4 KiB");
        assertEquals(1L << 30, tmpfs.freeBytes());
      }
    }
  }

  @Test
  void aCgroupOfMemoryThatIsTooSmall() throws Exception {
    memoryGroupStarves(TIMES);
  }

  @Test
  @Tag("deep")
  void aCgroupOfMemoryThatIsTooSmallAHundredTimes() throws Exception {
    memoryGroupStarves(MANY_TIMES);
  }

  private void tmpfsStarves(int times) throws Exception {
    try (Mounted tmpfs = Mounted.tmpfs(folder, "64m")) {
      long before = tmpfs.freeBytes();
      starve(
          times,
          List.of(),
          80 * MIB,
          tmpfs.point(),
          Path.of("/"),
          "space in the file system at .*: needed 20480, available 16384, short by 4096 pages.*");
      assertEquals(before, tmpfs.freeBytes());
      // Two at once, each of which fits alone: the check of one can pass and its space be gone.
      try (Child one =
              Child.start(Starving.class, 10 * times, 40 * MIB, tmpfs.point(), "/", "inherit");
          Child other =
              Child.start(Starving.class, 10 * times, 40 * MIB, tmpfs.point(), "/", "inherit")) {
        for (Child each : List.of(one, other)) {
          for (String line : each.output().lines().toList()) {
            // Or, where the other has let go again by the time somebody looks, the kernel's word.
            assertTrue(
                line.matches("region|space in the file system at .*|memory, .* ENOSPC; .*"), line);
          }
        }
      }
      assertEquals(before, tmpfs.freeBytes());
    }
  }

  @Test
  void aTmpfsThatIsTooSmall() throws Exception {
    tmpfsStarves(TIMES);
  }

  @Test
  @Tag("deep")
  void aTmpfsThatIsTooSmallAHundredTimes() throws Exception {
    tmpfsStarves(MANY_TIMES);
  }

  private void mountStarves(int times) throws Exception {
    try (HugePool pool = HugePool.with(kernel, 16);
        Mounted hugetlbfs = Mounted.hugetlbfs(folder, "pagesize=2M,size=16m")) {
      long before = pool.available();
      starve(
          times,
          List.of(),
          20 * MIB,
          hugetlbfs.point(),
          Path.of("/"),
          "space in the file system at .*: needed 10, available 8, short by 2 pages of 2 MiB");
      assertEquals(before, pool.available());
      // Two at once, each of which fits alone: mapping reserves, so one is refused.
      try (Child one =
              Child.start(Starving.class, 10 * times, 12 * MIB, hugetlbfs.point(), "/", "inherit");
          Child other =
              Child.start(
                  Starving.class, 10 * times, 12 * MIB, hugetlbfs.point(), "/", "inherit")) {
        for (Child each : List.of(one, other)) {
          for (String line : each.output().lines().toList()) {
            assertTrue(line.matches("region|space in the file.*|memory, by the kernel's.*"), line);
          }
        }
      }
      assertEquals(before, pool.available());
    }
  }

  @Test
  void aHugetlbfsThatIsTooSmall() throws Exception {
    mountStarves(TIMES);
  }

  @Test
  @Tag("deep")
  void aHugetlbfsThatIsTooSmallAHundredTimes() throws Exception {
    mountStarves(MANY_TIMES);
  }
}
