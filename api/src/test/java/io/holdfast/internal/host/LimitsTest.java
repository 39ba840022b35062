package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.Demand;
import io.holdfast.error.Errno;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Limits;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import io.holdfast.host.Shortfall;
import io.holdfast.host.Shortfall.Limit;
import io.holdfast.host.ShortfallException;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.spi.HostKernel.FileSystemFacts;
import io.holdfast.spi.HostKernel.ThreadPlace;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Limits told from texts, for machines that are not here. */
class LimitsTest {
  private static final long MIB = 1L << 20;
  private static final long GIB = 1L << 30;
  private static final long HUGE = 2 * MIB;

  private final ScriptedKernel kernel = new ScriptedKernel();
  private final CoreBackend backend = NoDevices.backend(kernel);

  @AfterEach
  void close() {
    backend.close();
  }

  private Optional<Shortfall> check(HostRequest request) {
    return backend.pageSource().check(request);
  }

  private List<Limit> limits(HostRequest request) {
    return check(request).map(Shortfall::limits).orElse(List.of());
  }

  private Limit only(HostRequest request) {
    List<Limit> limits = limits(request);
    assertEquals(1, limits.size(), limits::toString);
    return limits.getFirst();
  }

  private static HostRequest huge(long bytes) {
    return HostRequest.ofBytes(bytes).pages(PageKind.hugeTlb(HUGE));
  }

  @Test
  void B09_thePoolIsShortByExactlyTheMissingPages() {
    kernel.pool(HUGE, 16, 16, 0);

    Limit limit = only(huge(209_715_200));

    assertEquals(
        new Limit(
            "the pool of 2 MiB HugeTLB pages",
            OptionalInt.empty(),
            HUGE,
            100,
            16,
            "echo 100 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages; on Kubernetes"
                + " request hugepages-2Mi: 200Mi"),
        limit);
    assertEquals(84, limit.missing());
    assertEquals(
        "the pool of 2 MiB HugeTLB pages: needed 100, available 16, short by 84 pages of 2 MiB",
        limit.describe());
  }

  @Test
  void freePagesThatArePromisedToOthersDoNotCount() {
    kernel.pool(HUGE, 16, 16, 10);

    assertEquals(6, only(huge(14 * MIB)).available());
    assertEquals(Optional.empty(), check(huge(12 * MIB)));
  }

  @Test
  void aNeighbourBetweenTwoReadingsIsNotAShortage() {
    kernel.pool(HUGE, 16, 10, 0);
    AtomicInteger readings = new AtomicInteger();
    kernel.beforeText =
        path -> {
          // Six pages that a neighbour had touched are free again, and promised to its next
          // mapping.
          if (path.endsWith("/resv_hugepages") && readings.incrementAndGet() == 1) {
            kernel.pool(HUGE, 16, 16, 6);
          }
        };

    assertEquals(Optional.empty(), check(huge(12 * MIB)));
    assertEquals(3, readings.get());
  }

  @Test
  void aPoolThatNeverRestsIsReadAFewTimesAndTakenAtItsBest() {
    kernel.pool(HUGE, 16, 10, 0);
    AtomicInteger readings = new AtomicInteger();
    kernel.beforeText =
        path -> {
          if (path.endsWith("/resv_hugepages")) {
            kernel.pool(HUGE, 16, 10, readings.incrementAndGet() % 2 == 0 ? 7 : 6);
          }
        };

    assertEquals(4, only(huge(12 * MIB)).available());
    assertTrue(readings.get() <= 16, () -> readings + " readings");
  }

  @Test
  void B12_memAvailableIsForOrdinaryPagesAndNeverForHugeOnes() {
    kernel.memory(64 * 1024, 8 * 1024).pool(HUGE, 10_240, 10_240, 0);

    assertEquals(Optional.empty(), check(huge(16 * GIB)));
    Limit limit = only(HostRequest.ofBytes(16 * GIB));
    assertEquals(4096, limit.unitBytes());
    assertEquals(16 * GIB / 4096, limit.needed());
    // 8 GiB less the margin of 1 GiB, and 8 bytes of page table for each page.
    assertEquals(7 * GIB / (4096 + 8), limit.available());
    assertTrue(limit.name().startsWith("available memory (MemAvailable"), limit::name);
  }

  @Test
  void shortageOfAvailableMemoryIsAdviceWhereThatIsSaid() {
    kernel.memory(64 * 1024, 8);

    HostRequest request = HostRequest.ofBytes(16 * MIB).limits(Limits.ADVISE);

    assertEquals(Optional.empty(), check(request));
    try (HostRegion region = backend.pageSource().map(request)) {
      assertTrue(
          region.receipt().notes().stream()
              .anyMatch(note -> note.startsWith("limits are only advice: available memory")),
          () -> region.receipt().toString());
    }
  }

  @Test
  void B13_aStrictNodeNeedsItsOwnFreePages() {
    kernel
        .nodes("0-1", Map.of(0, "0-3", 1, "4-7"))
        .pool(HUGE, 16, 16, 0)
        .nodePool(0, HUGE, 2, 2)
        .nodePool(1, HUGE, 14, 14);

    Limit limit = only(huge(8 * MIB).numa(NumaPolicy.bind(0)));

    assertEquals(OptionalInt.of(0), limit.node());
    assertEquals(4, limit.needed());
    assertEquals(2, limit.available());
    assertEquals(
        "echo 4 > /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
        limit.remedy());
    assertEquals(
        "the pool of 2 MiB HugeTLB pages on node 0: needed 4, available 2, short by 2 pages of"
            + " 2 MiB",
        limit.describe());
    assertEquals(Optional.empty(), check(huge(8 * MIB).numa(NumaPolicy.bind(1))));
    assertEquals(Optional.empty(), check(huge(8 * MIB).numa(NumaPolicy.preferred(0))));
    assertEquals(Optional.empty(), check(huge(32 * MIB).numa(NumaPolicy.bind(0, 1))));
  }

  @Test
  void anInheritedStrictPolicyConfinesAsMuchAsOneThatWasAsked() {
    kernel
        .nodes("0-1", Map.of(0, "0-3", 1, "4-7"))
        .pool(HUGE, 16, 16, 0)
        .nodePool(0, HUGE, 2, 2)
        .nodePool(1, HUGE, 14, 14);
    // MPOL_BIND with the flag MPOL_F_STATIC_NODES.
    kernel.place = new ThreadPlace(2 | 1 << 15, Set.of(0), Set.of(0, 4));

    assertEquals(OptionalInt.of(0), only(huge(8 * MIB)).node());
  }

  @Test
  void aCpusetConfinesToo() {
    kernel
        .nodes("0-1", Map.of(0, "0-3", 1, "4-7"))
        .text("/proc/self/status", "Name:\tjava\nMems_allowed_list:\t0")
        .pool(HUGE, 16, 16, 0)
        .nodePool(0, HUGE, 2, 2)
        .nodePool(1, HUGE, 14, 14);

    assertEquals(OptionalInt.of(0), only(huge(8 * MIB)).node());
  }

  @Test
  void memoryOfAStrictNodeIsCheckedLikeTheMachines() {
    kernel.nodes("0-1", Map.of(0, "0-3", 1, "4-7")).memory(32 * 1024, 30 * 1024);
    kernel.text(
        "/sys/devices/system/node/node1/meminfo",
        "Node 1 MemTotal:       2097152 kB\nNode 1 MemFree:        1048576 kB\n"
            + "Node 1 Inactive(file):   102400 kB\nNode 1 Active(file):       1024 kB");

    Limit limit = only(HostRequest.ofBytes(2 * GIB).numa(NumaPolicy.bind(1)));

    assertEquals(OptionalInt.of(1), limit.node());
    // A twentieth of the node's 2 GiB is the margin.
    long available = (1_048_576L + 102_400 + 1024) * 1024 - 2 * GIB / 20;
    assertEquals(available / 4096, limit.available());
    assertEquals(Optional.empty(), check(HostRequest.ofBytes(1000 * MIB).numa(NumaPolicy.bind(1))));
  }

  @Test
  void B62_aMachineWith64KiBPagesHasItsOwnHugePages() {
    kernel.basePageBytes = 64 * 1024;
    kernel.pool(HUGE, 0, 0, 0).pool(512 * MIB, 3, 3, 0);

    UnsupportedException none =
        assertThrows(
            UnsupportedException.class,
            () -> check(HostRequest.ofBytes(1).pages(PageKind.hugeTlb(GIB))));

    assertTrue(
        String.valueOf(none.getMessage()).contains("this kernel has 2 MiB, 512 MiB"),
        none::toString);
    HostRequest request = HostRequest.ofBytes(GIB + GIB / 4).pages(PageKind.hugeTlb(512 * MIB));
    assertEquals(Optional.empty(), check(request));
    try (HostRegion region = backend.pageSource().map(request)) {
      assertEquals(1_610_612_736, region.mappedBytes());
      assertEquals(List.of("map 1610612736 huge 536870912"), kernel.callsOf("map"));
    }
  }

  @Test
  void B63_pagesBeyondThePoolCountWhereTheKernelCanMakeThemAndAreCalledNotGuaranteed() {
    kernel.pool(HUGE, 3, 0, 0).pool(GIB, 0, 0, 0);
    kernel.text(Machine.poolFolder(HUGE) + "/nr_overcommit_hugepages", 8);
    kernel.text(Machine.poolFolder(HUGE) + "/surplus_hugepages", 3);
    kernel.text(Machine.poolFolder(GIB) + "/nr_overcommit_hugepages", 4);

    assertEquals(5, only(huge(12 * MIB)).available());
    // Three of the pages are surplus, so the pool itself is empty: it must become 1 page larger.
    assertTrue(only(huge(12 * MIB)).remedy().startsWith("echo 1 > "));
    Limit gigantic = only(HostRequest.ofBytes(1).pages(PageKind.hugeTlb(GIB)));
    assertEquals(0, gigantic.available());
    assertTrue(gigantic.remedy().contains("boot with hugepagesz=1G hugepages=1"), gigantic::remedy);
    try (HostRegion region = backend.pageSource().map(huge(10 * MIB))) {
      assertTrue(
          region.receipt().notes().stream().anyMatch(note -> note.contains("not guaranteed")),
          () -> region.receipt().toString());
    }
  }

  @Test
  void allLimitsThatBindAreNamedAtOnce() {
    kernel.pool(HUGE, 8, 8, 0);
    unified("/pod/app");
    kernel
        .text("/sys/fs/cgroup/pod/app/hugetlb.2MB.max", 8 * MIB)
        .text("/sys/fs/cgroup/pod/app/hugetlb.2MB.current", 2 * MIB)
        .text("/sys/fs/cgroup/pod/app/hugetlb.2MB.rsvd.max", "max")
        .text("/sys/fs/cgroup/pod/app/hugetlb.2MB.rsvd.current", 0)
        .text("/sys/fs/cgroup/pod/hugetlb.2MB.max", "max")
        .text("/sys/fs/cgroup/pod/hugetlb.2MB.rsvd.max", 12 * MIB)
        .text("/sys/fs/cgroup/pod/hugetlb.2MB.rsvd.current", 12 * MIB);

    List<Limit> limits = limits(huge(20 * MIB));

    assertEquals(
        List.of(
            "the pool of 2 MiB HugeTLB pages",
            "the cgroup limit /sys/fs/cgroup/pod/app/hugetlb.2MB.max",
            "the cgroup limit /sys/fs/cgroup/pod/hugetlb.2MB.rsvd.max"),
        limits.stream().map(Limit::name).toList());
    assertEquals(List.of(8L, 3L, 0L), limits.stream().map(Limit::available).toList());
    assertEquals(
        "echo 23068672 > /sys/fs/cgroup/pod/app/hugetlb.2MB.max; on Kubernetes raise"
            + " resources.limits.hugepages-2Mi",
        limits.get(1).remedy());
    ShortfallException thrown =
        assertThrows(ShortfallException.class, () -> backend.pageSource().map(huge(20 * MIB)));
    assertEquals(limits, thrown.shortfall().limits());
    assertEquals(List.of(), kernel.callsOf("map"));
  }

  private void unified(String path) {
    kernel.text("/proc/self/cgroup", "0::" + path);
    kernel.text(
        "/proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate");
  }

  @Test
  void versionOneGroupsAreClimbedTooAndTheirGreatestNumberIsNoLimit() {
    kernel.pool(HUGE, 8, 8, 0);
    kernel.text("/proc/self/cgroup", "7:hugetlb:/docker/abc\n4:memory,cpu:/docker/abc\n0::/");
    kernel.text(
        "/proc/self/mountinfo",
        """
        33 31 0:31 /docker/abc /sys/fs/cgroup/hugetlb ro - cgroup cgroup rw,hugetlb
        34 31 0:32 / /sys/fs/cgroup/mem\\040ory rw - cgroup cgroup rw,cpu,memory\
        """);
    kernel
        .text("/sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes", 4 * MIB)
        .text("/sys/fs/cgroup/hugetlb/hugetlb.2MB.usage_in_bytes", 0)
        .text("/sys/fs/cgroup/hugetlb/hugetlb.2MB.rsvd.limit_in_bytes", "9223372036854771712")
        .text("/sys/fs/cgroup/mem ory/docker/abc/memory.limit_in_bytes", 200 * MIB)
        .text("/sys/fs/cgroup/mem ory/docker/abc/memory.usage_in_bytes", 150 * MIB)
        .text(
            "/sys/fs/cgroup/mem ory/docker/abc/memory.stat",
            "cache 1\ninactive_file 999999999\ntotal_inactive_file "
                + 30 * MIB
                + "\ntotal_active_file "
                + 10 * MIB)
        .text("/sys/fs/cgroup/mem ory/memory.limit_in_bytes", "9223372036854771712");

    assertEquals(
        "the cgroup limit /sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes",
        only(huge(6 * MIB)).name());
    // 200 - 150 + 40 MiB of file cache, less a margin of 10 and the page table.
    Limit memory = only(HostRequest.ofBytes(100 * MIB));
    assertEquals(80 * MIB / (4096 + 8), memory.available());
    assertTrue(memory.remedy().endsWith("raise resources.limits.memory"), memory::remedy);
    assertEquals(Optional.empty(), check(HostRequest.ofBytes(79 * MIB)));
  }

  @Test
  void cgroupMemoryBindsWhateverTheLimitsMean() {
    unified("/");
    kernel
        .text("/sys/fs/cgroup/memory.max", 64 * MIB)
        .text("/sys/fs/cgroup/memory.current", 60 * MIB);

    assertEquals(
        "the cgroup limit /sys/fs/cgroup/memory.max",
        only(HostRequest.ofBytes(16 * MIB).limits(Limits.ADVISE)).name());
  }

  @Test
  void hugePagesCountAsCgroupMemoryWhereTheMountSaysSo() {
    kernel.pool(HUGE, 64, 64, 0);
    kernel.text("/proc/self/cgroup", "0::/");
    kernel
        .text("/sys/fs/cgroup/memory.max", 64 * MIB)
        .text("/sys/fs/cgroup/memory.current", 60 * MIB);
    kernel.text("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
    assertEquals(Optional.empty(), check(huge(16 * MIB)));

    kernel.text(
        "/proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,memory_hugetlb_accounting");

    assertEquals("the cgroup limit /sys/fs/cgroup/memory.max", only(huge(16 * MIB)).name());
  }

  @Test
  void B81_theNumberOfMappingsIsALimitOfItsOwn() {
    kernel.text("/proc/sys/vm/max_map_count", 65_530);
    kernel.text("/proc/self/maps", "x\n".repeat(65_528).stripTrailing());

    Limit limit = only(HostRequest.ofBytes(1));

    assertEquals(
        "mappings of this process (vm.max_map_count): needed 3, available 2, short by 1",
        limit.describe());
    assertEquals("sysctl -w vm.max_map_count=131060", limit.remedy());
    kernel.text("/proc/self/maps", "x\n".repeat(65_527).stripTrailing());
    assertEquals(Optional.empty(), check(HostRequest.ofBytes(1)));
  }

  @Test
  void memoryThatCanBeCommittedIsALimitUnderStrictAccountingOnly() {
    kernel.text("/proc/meminfo", "CommitLimit:   2048 kB\nCommitted_AS:  1024 kB");
    assertEquals(Optional.empty(), check(HostRequest.ofBytes(2 * MIB)));

    kernel.text("/proc/sys/vm/overcommit_memory", 2);

    assertEquals(256, only(HostRequest.ofBytes(2 * MIB)).available());
  }

  @Test
  void B15_spaceOfATmpfsIsCountedWithItsMountAndTheSizeItWouldNeed() {
    kernel.fileSystem = new FileSystemFacts(FileSystemFacts.TMPFS_MAGIC, 4096, 16_384, 6144, 6144);
    kernel.text("/proc/self/mountinfo", "40 23 0:35 / /mnt/pool rw - tmpfs none rw,size=65536k");
    HostRequest request =
        HostRequest.ofBytes(41_943_040).pages(PageKind.directory(Path.of("/mnt/pool")));

    Limit limit = only(request);

    assertEquals(41_943_040 / 4096, limit.needed());
    assertEquals(25_165_824 / 4096, limit.available());
    assertEquals("space in the file system at /mnt/pool", limit.name());
    assertTrue(
        limit.remedy().startsWith("mount -o remount,size=83886080 /mnt/pool"), limit::remedy);
  }

  @Test
  void aRefusalOfTheKernelsIsExplainedByTheLimitBehindIt() {
    // Enough when asked, gone when mapped: somebody else was faster.
    kernel.pool(HUGE, 16, 16, 0);
    kernel.mapRefusal = Optional.of(ScriptedKernel.refusal("mmap", Errno.ENOMEM));

    ShortfallException lost =
        assertThrows(ShortfallException.class, () -> backend.pageSource().map(huge(8 * MIB)));

    Limit limit = lost.shortfall().limits().getFirst();
    assertTrue(limit.name().contains("mmap answered ENOMEM"), limit::name);
    assertEquals(4, limit.needed());
    assertEquals(ENOMEM_OF_MMAP, lost.getCause() == null ? "" : lost.getCause().getMessage());
    assertEquals(List.of(), kernel.callsOf("unmap"));
  }

  private static final String ENOMEM_OF_MMAP =
      String.valueOf(ScriptedKernel.refusal("mmap", Errno.ENOMEM).getMessage());

  @Test
  void aShortageDuringPopulateCountsThePagesThatCame() {
    kernel
        .nodes("0-1", Map.of(0, "0", 1, "1"))
        .pool(HUGE, 60, 60, 0)
        .nodePool(0, HUGE, 40, 40)
        .nodePool(1, HUGE, 40, 40);
    kernel.place = new ThreadPlace(0, Set.of(), Set.of(0, 1));
    kernel.populate =
        slice -> {
          // Others took 20 pages of the node meanwhile, 20 came, none is left.
          kernel.nodePool(1, HUGE, 40, 0);
          throw ScriptedKernel.refusal("madvise", Errno.EFAULT);
        };
    kernel.nodeOfPage = (offset, index) -> index < 20 ? 1 : -Errno.ENOENT.number();

    ShortfallException lost =
        assertThrows(
            ShortfallException.class,
            () -> backend.pageSource().map(huge(80 * MIB).numa(NumaPolicy.bind(1))));

    assertEquals(
        "the pool of 2 MiB HugeTLB pages on node 1: needed 40, available 20, short by 20 pages of"
            + " 2 MiB",
        lost.shortfall().describe());
    assertEquals(List.of("unmap 83886080"), kernel.callsOf("unmap"));
  }

  @Test
  void memoryThatRunsOutUnderThePopulateStopsItBeforeTheKernelKills() {
    kernel.memory(64 * 1024, 16 * 1024);
    kernel.populate = slice -> kernel.memory(64 * 1024, 1024);

    ShortfallException stopped =
        assertThrows(
            ShortfallException.class, () -> backend.pageSource().map(HostRequest.ofBytes(4 * GIB)));

    assertTrue(
        stopped.shortfall().limits().getFirst().name().startsWith("available memory"),
        stopped::toString);
    assertTrue(kernel.callsOf("advise POPULATE_WRITE").size() < 4 * GIB / (8 * MIB));
    assertEquals(1, kernel.callsOf("unmap").size());
  }

  @Test
  void B69_theLockLimitIsReportedWithBothNumbersAndRefusesNothing() {
    kernel.lockLimit = OptionalLong.of(8 * MIB);

    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(GIB))) {
      String note =
          region.receipt().notes().stream()
              .filter(each -> each.startsWith("RLIMIT_MEMLOCK"))
              .findFirst()
              .orElseThrow();
      assertTrue(note.contains("8388608") && note.contains("1073741824"), note);
    }
  }

  @Test
  void withoutPlacementNothingIsAskedAboutNodes() {
    kernel
        .nodes("0-1", Map.of(0, "0-3", 1, "4-7"))
        .pool(HUGE, 16, 16, 0)
        .nodePool(0, HUGE, 2, 2)
        .nodePool(1, HUGE, 14, 14);

    assertEquals(
        Optional.empty(), check(huge(8 * MIB).numa(NumaPolicy.bind(0)).placement(Demand.OFF)));
  }
}
