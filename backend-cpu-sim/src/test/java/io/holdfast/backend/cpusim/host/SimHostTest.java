package io.holdfast.backend.cpusim.host;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.backend.cpusim.driver.SimClock;
import io.holdfast.backend.cpusim.driver.SimulatedCrash;
import io.holdfast.backend.cpusim.host.HostSpec.Cgroup;
import io.holdfast.backend.cpusim.host.HostSpec.FileSystemType;
import io.holdfast.backend.cpusim.host.HostSpec.Lack;
import io.holdfast.backend.cpusim.host.HostSpec.Mount;
import io.holdfast.backend.cpusim.host.HostSpec.Node;
import io.holdfast.backend.cpusim.host.HostSpec.Pool;
import io.holdfast.error.HostKernelException;
import io.holdfast.spi.HostKernel.Advice;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.HostKernel.FileFacts;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernel.FileSystemFacts;
import io.holdfast.spi.HostKernel.LockMode;
import io.holdfast.spi.HostKernel.Mapping;
import io.holdfast.spi.HostKernel.NodeMode;
import io.holdfast.spi.HostKernel.OpenMode;
import io.holdfast.spi.HostKernel.ThreadPlace;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * What the simulated kernel answers where something is missing or wrong, and that counters return.
 */
class SimHostTest {
  private static final long KIB = 1L << 10;
  private static final long MIB = 1L << 20;
  private static final long GIB = 1L << 30;
  private static final long HUGE = 2 * MIB;

  private final SimHost host =
      new SimHost(spec(UnaryOperator.identity()), SimClock.real(), Map.of());
  private final SimHostKernel kernel = host.start();

  @AfterEach
  void end() {
    kernel.end();
  }

  /** Two nodes of 4 GiB, 14 and 2 huge pages; a change can be made. */
  private static HostSpec spec(UnaryOperator<HostSpec> change) {
    TreeMap<Integer, Node> nodes = new TreeMap<>();
    nodes.put(0, new Node(4 * GIB, new TreeSet<>(Set.of(0, 1)), List.of(10, 20), true));
    nodes.put(1, new Node(4 * GIB, new TreeSet<>(Set.of(2, 3)), List.of(20, 10), true));
    TreeMap<Long, Pool> pools = new TreeMap<>();
    pools.put(HUGE, new Pool(new TreeMap<>(Map.of(0, 14L, 1, 2L)), 0));
    return change.apply(
        new HostSpec(
            "6.8.0",
            "x86_64",
            4 * KIB,
            HUGE,
            "madvise",
            nodes,
            pools,
            Cgroup.unlimited(),
            List.of(
                new Mount("/dev/shm", FileSystemType.TMPFS, 4 * KIB, 64 * MIB),
                new Mount("/dev/huge", FileSystemType.HUGETLBFS, HUGE, 0),
                new Mount("/mnt/small", FileSystemType.HUGETLBFS, HUGE, 16 * MIB)),
            Set.of(),
            Map.of(0, 3, 1, 1),
            65530,
            OptionalLong.empty()));
  }

  private static SimHost with(Cgroup cgroup, Set<Lack> lacks, long overcommit) {
    return new SimHost(
        spec(
            plain ->
                new HostSpec(
                    plain.release(),
                    plain.machine(),
                    plain.basePageBytes(),
                    plain.transparentPageBytes(),
                    plain.transparentChoice(),
                    plain.nodes(),
                    new TreeMap<>(
                        Map.of(HUGE, new Pool(plain.pools().get(HUGE).pagesPerNode(), overcommit))),
                    cgroup,
                    plain.mounts(),
                    lacks,
                    plain.weights(),
                    plain.mostMappings(),
                    plain.lockLimitBytes())),
        SimClock.real(),
        Map.of());
  }

  private static int errno(Runnable call) {
    try {
      call.run();
      return 0;
    } catch (HostKernelException refused) {
      return refused.errno();
    }
  }

  private MemorySegment huge(long bytes) {
    return kernel.map(bytes, Mapping.anonymous().onHugePages(HUGE));
  }

  private String text(String path) {
    return kernel.text(path).orElseThrow().strip();
  }

  // ---- pools

  @Test
  void mappingPromisesPagesAndPopulatingTakesThem() {
    MemorySegment memory = huge(5 * MIB);
    assertEquals(5 * MIB, memory.byteSize(), "the view has the bytes that were asked for");
    assertEquals(0, memory.address() % HUGE);
    assertEquals(16, host.freeHugePages(HUGE));
    assertEquals(3, host.reservedHugePages(HUGE));
    assertEquals("3", text("/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages"));

    kernel.advise(memory, Advice.POPULATE_WRITE);
    assertEquals(13, host.freeHugePages(HUGE));
    assertEquals(0, host.reservedHugePages(HUGE));
    memory.set(ValueLayout.JAVA_BYTE, 5 * MIB - 1, (byte) 1);

    assertEquals(22, errno(() -> kernel.unmap(memory)), "the logical length is not whole pages");
    kernel.unmap(memory.reinterpret(6 * MIB));
    assertEquals(16, host.freeHugePages(HUGE));
    assertEquals(0, host.reservedHugePages(HUGE));
  }

  @Test
  void aMappingBeyondThePoolIsRefusedAtOnce() {
    assertEquals(12, errno(() -> huge(17 * HUGE)));
    assertEquals(0, host.reservedHugePages(HUGE));
    MemorySegment most = huge(16 * HUGE);
    assertEquals(12, errno(() -> huge(HUGE)), "all pages are promised");
    kernel.unmap(most);
    assertEquals(22, errno(() -> kernel.map(GIB, Mapping.anonymous().onHugePages(GIB))), "no such");
  }

  @Test
  void aBoundMappingFailsAtItsTouchAndKeepsWhatItGot() {
    MemorySegment memory = huge(4 * HUGE);
    kernel.bind(memory, NodeMode.BIND, Set.of(1));

    assertEquals(14, errno(() -> kernel.advise(memory, Advice.POPULATE_WRITE)));
    assertEquals(14, host.freeHugePages(HUGE), "two were on node 1");
    assertEquals(0, host.freeHugePages(1, HUGE));
    assertArrayEquals(new int[] {1, 1, -2, -2}, kernel.nodes(memory, HUGE));
    kernel.unmap(memory);
    assertEquals(16, host.freeHugePages(HUGE));
    assertEquals(2, host.freeHugePages(1, HUGE));
    assertEquals(0, host.reservedHugePages(HUGE));
  }

  @Test
  void overcommitMakesPagesOfMemoryAndGivesThemBack() {
    SimHost generous = with(Cgroup.unlimited(), Set.of(), 8);
    SimHostKernel process = generous.start();
    long before = generous.freeBytes(0) + generous.freeBytes(1);
    MemorySegment memory = process.map(20 * HUGE, Mapping.anonymous().onHugePages(HUGE));
    assertEquals(before - 4 * HUGE, generous.freeBytes(0) + generous.freeBytes(1));
    process.advise(memory, Advice.POPULATE_WRITE);
    assertEquals(12, errno(() -> process.map(5 * HUGE, Mapping.anonymous().onHugePages(HUGE))));
    process.unmap(memory);
    assertEquals(16, generous.freeHugePages(HUGE));
    assertEquals(before, generous.freeBytes(0) + generous.freeBytes(1));
    process.end();
  }

  @Test
  void cgroupLimitsBindAtMappingAndAtTouch() {
    Cgroup tight =
        new Cgroup(
            "/kubepods/pod",
            OptionalLong.of(64 * MIB),
            Map.of(HUGE, 4 * HUGE),
            Map.of(HUGE, 8 * HUGE));
    SimHost limited = with(tight, Set.of(), 0);
    SimHostKernel process = limited.start();
    assertEquals(12, errno(() -> process.map(9 * HUGE, Mapping.anonymous().onHugePages(HUGE))));
    MemorySegment memory = process.map(8 * HUGE, Mapping.anonymous().onHugePages(HUGE));
    assertEquals(14, errno(() -> process.advise(memory, Advice.POPULATE_WRITE)));
    assertEquals(
        Long.toString(4 * HUGE),
        process.text("/sys/fs/cgroup/kubepods/pod/hugetlb.2MB.current").orElseThrow().strip());
    assertEquals(
        Long.toString(8 * HUGE),
        process.text("/sys/fs/cgroup/kubepods/pod/hugetlb.2MB.rsvd.current").orElseThrow().strip());
    process.unmap(memory);
    assertEquals(
        "0",
        process.text("/sys/fs/cgroup/kubepods/pod/hugetlb.2MB.rsvd.current").orElseThrow().strip());

    MemorySegment ordinary = process.map(65 * MIB, Mapping.anonymous());
    assertThrows(
        SimulatedCrash.class,
        () -> process.advise(ordinary, Advice.POPULATE_WRITE),
        "ordinary memory has no refusal: the kernel kills");
    process.end();
  }

  // ---- memory and nodes

  @Test
  void untouchedTerabytesCostNothing() {
    MemorySegment memory = kernel.map(4L << 40, Mapping.anonymous());
    memory.set(ValueLayout.JAVA_LONG, (4L << 40) - 8, 42);
    assertEquals(42, memory.get(ValueLayout.JAVA_LONG, (4L << 40) - 8));
    assertEquals(4L << 40, kernel.regionBytes());
    kernel.unmap(memory);
    assertEquals(0, kernel.regions());
  }

  @Test
  void pagesLieWhereThePolicySays() {
    MemorySegment memory = kernel.map(16 * KIB, Mapping.anonymous());
    kernel.bind(memory, NodeMode.INTERLEAVE, Set.of(0, 1));
    assertArrayEquals(new int[] {-2, -2, -2, -2}, kernel.nodes(memory, 4 * KIB));
    kernel.advise(memory, Advice.POPULATE_WRITE);
    assertArrayEquals(new int[] {0, 1, 0, 1}, kernel.nodes(memory, 4 * KIB));
    assertTrue(
        text("/proc/self/numa_maps").contains("interleave:0-1 N0=2 N1=2 kernelpagesize_kB=4"));
    kernel.unmap(memory);

    MemorySegment weighted = kernel.map(16 * KIB, Mapping.anonymous());
    kernel.bind(weighted, NodeMode.WEIGHTED_INTERLEAVE, Set.of(0, 1));
    kernel.advise(weighted, Advice.POPULATE_WRITE);
    assertArrayEquals(new int[] {0, 0, 0, 1}, kernel.nodes(weighted, 4 * KIB));
    kernel.unmap(weighted);
    assertEquals(-14, kernel.nodesAt(weighted, new long[] {0})[0], "nothing is mapped there");
  }

  @Test
  void withoutAPolicyTheTouchingThreadsCpuDecides() throws InterruptedException {
    MemorySegment memory = kernel.map(8 * KIB, Mapping.anonymous());
    kernel.advise(memory.asSlice(0, 4 * KIB), Advice.POPULATE_WRITE);
    Thread elsewhere =
        Thread.ofPlatform()
            .start(
                () -> {
                  kernel.placeThread(new ThreadPlace(0, Set.of(), Set.of(2, 3)));
                  kernel.advise(memory.asSlice(4 * KIB, 4 * KIB), Advice.POPULATE_WRITE);
                });
    elsewhere.join();
    assertArrayEquals(new int[] {0, 1}, kernel.nodes(memory, 4 * KIB));
    String stat = text("/proc/self/task/" + elsewhere.threadId() + "/stat");
    assertEquals("2", stat.substring(stat.indexOf(')') + 2).split(" ")[36]);
    kernel.unmap(memory);
  }

  @Test
  void aPreferredNodeOverflowsToTheNextAndAStrictOneKills() {
    MemorySegment memory = kernel.map(5 * GIB, Mapping.anonymous());
    kernel.bind(memory, NodeMode.PREFERRED, Set.of(1));
    kernel.advise(memory, Advice.POPULATE_WRITE);
    assertEquals(0, host.freeBytes(1));
    assertTrue(host.freeBytes(0) > 0);
    kernel.unmap(memory);

    MemorySegment strict = kernel.map(5 * GIB, Mapping.anonymous());
    kernel.bind(strict, NodeMode.BIND, Set.of(1));
    assertThrows(SimulatedCrash.class, () -> kernel.advise(strict, Advice.POPULATE_WRITE));
  }

  @Test
  void refusalsAreTheKernels() {
    MemorySegment memory = kernel.map(64 * KIB, Mapping.anonymous());
    assertEquals(22, errno(() -> kernel.bind(memory, NodeMode.BIND, Set.of(7))));
    assertEquals(22, errno(() -> kernel.advise(memory.asSlice(100, 100), Advice.DONT_FORK)));
    kernel.unmap(memory.asSlice(16 * KIB, 4 * KIB));
    assertEquals(12, errno(() -> kernel.advise(memory, Advice.POPULATE_WRITE)), "a hole");
    assertEquals(14, errno(() -> kernel.bind(memory, NodeMode.BIND, Set.of(0))), "a hole");
    kernel.unmap(memory);
    MemorySegment pool = huge(4 * HUGE);
    assertEquals(22, errno(() -> kernel.advise(pool.asSlice(0, MIB), Advice.DONT_FORK)));
    assertEquals(0, errno(() -> kernel.advise(pool, Advice.DONT_FORK)));
    kernel.unmap(pool.asSlice(HUGE, HUGE));
    assertEquals(3, host.reservedHugePages(HUGE));
    kernel.unmap(pool);
    assertEquals(0, host.reservedHugePages(HUGE));

    SimHostKernel old =
        with(Cgroup.unlimited(), Set.of(Lack.POPULATE_WRITE, Lack.BINDING, Lack.PAGE_NODES), 0)
            .start();
    MemorySegment there = old.map(4 * KIB, Mapping.anonymous());
    assertEquals(22, errno(() -> old.advise(there, Advice.POPULATE_WRITE)));
    assertEquals(1, errno(() -> old.bind(there, NodeMode.BIND, Set.of(0))));
    assertEquals(1, errno(() -> old.nodesAt(there, new long[] {0})));
    old.end();
  }

  @Test
  void transparentHugePagesComeWhereTheyWereAdvised() {
    MemorySegment memory = kernel.map(8 * MIB, Mapping.anonymous().alignedTo(HUGE));
    kernel.advise(memory, Advice.HUGE_PAGE);
    kernel.advise(memory, Advice.DONT_FORK);
    kernel.advise(memory, Advice.POPULATE_WRITE);
    assertTrue(text("/proc/self/smaps").contains("AnonHugePages:           8192 kB"));
    assertTrue(text("/proc/self/smaps").contains(" dc hg"));
    assertEquals("always [madvise] never", text("/sys/kernel/mm/transparent_hugepage/enabled"));
    kernel.unmap(memory);
  }

  // ---- files

  @Test
  void aSharedFileIsOneMemoryToAllItsMappings() {
    DirectoryHandle folder = kernel.openDirectory(Path.of("/dev/huge"));
    FileHandle file = kernel.open(folder, "region", OpenMode.CREATE_NEW);
    kernel.resize(file, 2 * HUGE);
    assertEquals(22, errno(() -> kernel.resize(file, HUGE + 4096)), "not whole huge pages");
    MemorySegment one = kernel.map(2 * HUGE, Mapping.of(file));
    SimHostKernel other = host.start();
    DirectoryHandle there = other.openDirectory(Path.of("/dev/huge"));
    FileHandle same = other.open(there, "region", OpenMode.EXISTING);
    MemorySegment two = other.map(2 * HUGE, Mapping.of(same));

    one.set(ValueLayout.JAVA_LONG, 2 * HUGE - 8, 77);
    assertEquals(77, two.get(ValueLayout.JAVA_LONG, 2 * HUGE - 8));
    assertEquals(0, one.address() % HUGE);
    assertEquals(0, two.address() % HUGE);
    assertEquals(2, host.reservedHugePages(HUGE), "promised once");
    kernel.advise(one, Advice.POPULATE_WRITE);
    assertEquals(14, host.freeHugePages(HUGE));
    assertArrayEquals(new int[] {0, 0}, other.nodes(two, HUGE));

    other.unlink(there, "region");
    FileFacts facts = kernel.facts(file);
    assertEquals(0, facts.links());
    assertTrue(facts.sameFileAs(other.facts(same)));
    kernel.unmap(one);
    kernel.close(file);
    assertEquals(14, host.freeHugePages(HUGE), "the other process still has it");
    other.end();
    assertEquals(16, host.freeHugePages(HUGE));
    kernel.close(folder);
  }

  @Test
  void tmpfsGivesSpaceOrSaysNoAndNeverHalf() {
    DirectoryHandle folder = kernel.openDirectory(Path.of("/dev/shm"));
    FileHandle first = kernel.openNameless(folder);
    kernel.allocate(first, 40 * MIB);
    FileHandle second = kernel.openNameless(folder);
    assertEquals(28, errno(() -> kernel.allocate(second, 40 * MIB)));
    assertEquals(24 * MIB / 4096, kernel.fileSystem(folder).freeBlocks());

    kernel.resize(second, 40 * MIB);
    MemorySegment lazy = kernel.map(40 * MIB, Mapping.of(second));
    assertEquals(14, errno(() -> kernel.advise(lazy, Advice.POPULATE_WRITE)), "would be a SIGBUS");
    kernel.unmap(lazy);
    kernel.close(second);
    kernel.close(first);
    assertEquals(64 * MIB / 4096, kernel.fileSystem(folder).freeBlocks());
    kernel.close(folder);
    assertEquals(0, kernel.openFiles());
  }

  @Test
  void aPartOfATmpfsFileIsTakenAndNoMore() {
    DirectoryHandle folder = kernel.openDirectory(Path.of("/dev/shm"));
    FileHandle file = kernel.openNameless(folder);

    kernel.allocate(file, 8 * MIB, 4 * MIB);

    assertEquals(60 * MIB / 4096, kernel.fileSystem(folder).freeBlocks());
    assertEquals(12 * MIB, kernel.facts(file).bytes(), "long enough to hold the part");
    kernel.allocate(file, 10 * MIB, 4 * MIB); // half of it is there
    assertEquals(58 * MIB / 4096, kernel.fileSystem(folder).freeBlocks());
    assertEquals(28, errno(() -> kernel.allocate(file, 0, 80 * MIB)));
    kernel.close(file);
    assertEquals(64 * MIB / 4096, kernel.fileSystem(folder).freeBlocks());
    kernel.close(folder);
  }

  @Test
  void aPartOfAHugetlbfsFileIsTakenFromThePool() {
    DirectoryHandle folder = kernel.openDirectory(Path.of("/dev/huge"));
    FileHandle file = kernel.openNameless(folder);

    kernel.allocate(file, 4 * HUGE, 2 * HUGE);
    assertEquals(14, host.freeHugePages(HUGE));
    kernel.allocate(file, HUGE, HUGE); // before the other part: three pages, in two places
    assertEquals(13, host.freeHugePages(HUGE));
    MemorySegment whole = kernel.map(8 * HUGE, Mapping.of(file)); // promises the other five
    assertEquals("5", text("/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages"));
    assertEquals(28, errno(() -> kernel.allocate(file, 6 * HUGE, 20 * HUGE)));
    kernel.unmap(whole);
    kernel.close(file);

    assertEquals(16, host.freeHugePages(HUGE));
    assertEquals("0", text("/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages"));
    kernel.close(folder);
  }

  @Test
  void hugetlbfsWithASizeRefusesAtMapping() {
    DirectoryHandle folder = kernel.openDirectory(Path.of("/mnt/small"));
    FileSystemFacts facts = kernel.fileSystem(folder);
    assertEquals(FileSystemFacts.HUGETLBFS_MAGIC, facts.magic());
    assertEquals(8, facts.blocks());
    FileHandle file = kernel.openNameless(folder);
    kernel.resize(file, 20 * MIB);
    assertEquals(12, errno(() -> kernel.map(20 * MIB, Mapping.of(file))));
    MemorySegment fits = kernel.map(16 * MIB, Mapping.of(file));
    assertEquals(0, kernel.fileSystem(folder).freeBlocks());
    kernel.unmap(fits);
    kernel.close(file);
    assertEquals(8, kernel.fileSystem(folder).freeBlocks());
    assertEquals(
        0, kernel.fileSystem(kernel.openDirectory(Path.of("/dev/huge"))).blocks(), "no limit");
  }

  @Test
  void namesAreExclusiveAndLocksAreToo() {
    DirectoryHandle folder = kernel.openDirectory(Path.of("/dev/shm"));
    FileHandle made = kernel.open(folder, "a", OpenMode.CREATE_NEW);
    assertEquals(17, errno(() -> kernel.open(folder, "a", OpenMode.CREATE_NEW)));
    assertEquals(2, errno(() -> kernel.open(folder, "b", OpenMode.EXISTING)));
    assertThrows(
        IllegalArgumentException.class, () -> kernel.open(folder, "../a", OpenMode.EXISTING));
    FileHandle again = kernel.open(folder, "a", OpenMode.EXISTING);
    assertTrue(kernel.tryLock(made, LockMode.SHARED));
    assertTrue(kernel.tryLock(again, LockMode.SHARED));
    assertFalse(kernel.tryLock(again, LockMode.EXCLUSIVE));
    kernel.unlock(made);
    assertTrue(kernel.tryLock(again, LockMode.EXCLUSIVE));

    SimHostKernel other = host.start();
    FileHandle taken = other.takeFrom(kernel.pid(), again.descriptor());
    assertTrue(other.tryLock(taken, LockMode.EXCLUSIVE), "one open file to the kernel");
    assertEquals(3, errno(() -> other.takeFrom(1, 0)));
    assertEquals(9, errno(() -> other.takeFrom(kernel.pid(), 999)));
    kernel.close(again);
    assertFalse(kernel.tryLock(made, LockMode.SHARED), "the copy still holds it");
    other.end();
    assertTrue(kernel.tryLock(made, LockMode.SHARED));
    assertEquals(9, errno(() -> kernel.close(again)));
    assertEquals(List.of("a"), kernel.entries(folder));
    kernel.unlink(folder, "a");
  }

  @Test
  void aMemoryFilesSizeCanBeSealed() {
    FileHandle file = kernel.memoryFile("x", HUGE);
    kernel.resize(file, HUGE);
    kernel.sealSize(file);
    assertEquals(1, errno(() -> kernel.resize(file, 2 * HUGE)));
    MemorySegment memory = kernel.map(HUGE, Mapping.of(file));
    kernel.close(file);
    assertEquals(1, host.reservedHugePages(HUGE));
    kernel.unmap(memory);
    assertEquals(0, host.reservedHugePages(HUGE));
    assertEquals(19, errno(() -> kernel.memoryFile("y", GIB)));
  }

  // ---- children and the end

  @Test
  void aChildKeepsWhatWasNotKeptFromIt() {
    MemorySegment shared = huge(2 * HUGE);
    MemorySegment kept = huge(3 * HUGE);
    kernel.advise(kept, Advice.DONT_FORK);
    kernel.advise(shared, Advice.POPULATE_WRITE);
    kernel.advise(kept, Advice.POPULATE_WRITE);
    try (SimChild child = kernel.fork()) {
      assertTrue(child.inherited(shared.address()));
      assertFalse(child.inherited(kept.address()));
      assertEquals(2 * HUGE, child.inheritedBytes());
      kernel.unmap(shared);
      kernel.unmap(kept);
      assertEquals(14, host.freeHugePages(HUGE), "two live on in the child");
    }
    assertEquals(16, host.freeHugePages(HUGE));
  }

  @Test
  void aKilledProcessLeavesOnlyNames() {
    DirectoryHandle folder = kernel.openDirectory(Path.of("/dev/huge"));
    FileHandle named = kernel.open(folder, "left-behind", OpenMode.CREATE_NEW);
    FileHandle nameless = kernel.openNameless(folder);
    kernel.resize(named, 2 * HUGE);
    kernel.resize(nameless, HUGE);
    kernel.advise(kernel.map(2 * HUGE, Mapping.of(named)), Advice.POPULATE_WRITE);
    kernel.advise(kernel.map(HUGE, Mapping.of(nameless)), Advice.POPULATE_WRITE);
    kernel.advise(huge(4 * HUGE), Advice.POPULATE_WRITE);
    assertEquals(9, host.freeHugePages(HUGE));

    kernel.end();
    assertEquals(14, host.freeHugePages(HUGE), "the named file keeps its pages");
    assertEquals(List.of("left-behind"), host.names("/dev/huge"));
    assertThrows(IllegalStateException.class, () -> kernel.map(4096, Mapping.anonymous()));
    SimHostKernel next = host.start();
    assertNotEquals(kernel.pid(), next.pid());
    next.unlink(next.openDirectory(Path.of("/dev/huge")), "left-behind");
    assertEquals(16, host.freeHugePages(HUGE));
    next.end();
  }
}
