package io.holdfast.internal.linux;

import static io.holdfast.spi.HostKernel.Advice.DONT_DUMP;
import static io.holdfast.spi.HostKernel.Advice.DONT_FORK;
import static io.holdfast.spi.HostKernel.Advice.DO_DUMP;
import static io.holdfast.spi.HostKernel.Advice.DO_FORK;
import static io.holdfast.spi.HostKernel.Advice.HUGE_PAGE;
import static io.holdfast.spi.HostKernel.Advice.NO_HUGE_PAGE;
import static io.holdfast.spi.HostKernel.Advice.POPULATE_WRITE;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.error.Category;
import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.internal.portable.TextTree;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.Mapping;
import io.holdfast.spi.HostKernel.NodeMode;
import io.holdfast.spi.HostKernel.Reservation;
import io.holdfast.spi.HostKernel.Sharing;
import io.holdfast.spi.HostKernels;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.function.Executable;

@EnabledOnOs(OS.LINUX)
class LinuxMemoryTest {
  private static final long MIB = 1024 * 1024;

  private final HostKernel kernel = HostKernels.system();
  private final long page = kernel.basePageBytes();

  @Test
  void aMappingIsZeroWritableOnAWholePageAndGoneAfterUnmap() {
    MemorySegment memory = kernel.map(3 * page, Mapping.anonymous());

    assertEquals(3 * page, memory.byteSize());
    assertEquals(0, memory.address() % page);
    assertEquals(0, memory.get(JAVA_LONG, 3 * page - 8));
    memory.set(JAVA_LONG, 3 * page - 8, 42);
    assertEquals(42, memory.get(JAVA_LONG, 3 * page - 8));

    kernel.unmap(memory);
    HostKernelException gone =
        assertThrows(HostKernelException.class, () -> kernel.advise(memory, DONT_FORK));
    assertTrue(gone.is(Errno.ENOMEM));
  }

  @Test
  void theSegmentOutlivesEveryArenaAndBelongsToNoThread() {
    MemorySegment memory = kernel.map(page, Mapping.anonymous());

    assertTrue(memory.scope().isAlive());
    assertEquals(Arena.global().scope(), memory.scope());
    assertTrue(memory.isAccessibleBy(new Thread()));

    kernel.unmap(memory);
  }

  @Test
  void aPartOfAMappingCanBeUnmappedAndTheRestStays() {
    MemorySegment memory = kernel.map(4 * page, Mapping.anonymous());
    memory.fill((byte) 7);

    kernel.unmap(memory.asSlice(page, 2 * page));

    assertEquals(7, memory.get(JAVA_BYTE, 0));
    assertEquals(7, memory.get(JAVA_BYTE, 4 * page - 1));
    assertEquals(-Errno.EFAULT.number(), kernel.nodesAt(memory, new long[] {page})[0]);
    kernel.unmap(memory.asSlice(0, page));
    kernel.unmap(memory.asSlice(3 * page, page));
  }

  @Test
  void anAddressIsAlignedAsAskedAndWhatWasTakenBesidesIsGivenBack() {
    long before = virtualKibibytes();
    MemorySegment[] memories = new MemorySegment[16];
    for (int i = 0; i < memories.length; i++) {
      memories[i] = kernel.map(2 * MIB, Mapping.anonymous().alignedTo(1024 * MIB));
      assertEquals(0, memories[i].address() % (1024 * MIB));
      assertEquals(2 * MIB, memories[i].byteSize());
      memories[i].set(JAVA_BYTE, 0, (byte) 1);
      memories[i].set(JAVA_BYTE, 2 * MIB - 1, (byte) 1);
    }

    // 16 GiB were taken on the way; the other threads of this process do not map that much.
    assertTrue(virtualKibibytes() - before < 8 * 1024 * 1024);
    for (MemorySegment memory : memories) {
      kernel.unmap(memory);
    }
  }

  @Test
  void anAlignmentBelowThePageAndALengthThatIsNoWholePageAreFine() {
    MemorySegment small = kernel.map(page, Mapping.anonymous().alignedTo(16));
    MemorySegment odd = kernel.map(page + 1, Mapping.anonymous().alignedTo(2 * MIB));

    assertEquals(0, odd.address() % (2 * MIB));
    odd.set(JAVA_BYTE, page, (byte) 1);
    kernel.unmap(small);
    kernel.unmap(odd);
  }

  @Test
  void adviceShowsInTheFlagsOfTheMapping() {
    MemorySegment memory = kernel.map(4 * MIB, Mapping.anonymous().alignedTo(2 * MIB));
    assertFalse(Smaps.flags(kernel, memory).contains("dc"));

    kernel.advise(memory, DONT_FORK);
    kernel.advise(memory, DONT_DUMP);
    assertTrue(Smaps.flags(kernel, memory).contains("dc"));
    assertTrue(Smaps.flags(kernel, memory).contains("dd"));

    kernel.advise(memory, DO_FORK);
    kernel.advise(memory, DO_DUMP);
    assertFalse(Smaps.flags(kernel, memory).contains("dc"));
    assertFalse(Smaps.flags(kernel, memory).contains("dd"));

    assumeTrue(
        kernel.text("/sys/kernel/mm/transparent_hugepage/enabled").isPresent(),
        "needs a kernel with transparent huge pages");
    kernel.advise(memory, HUGE_PAGE);
    assertTrue(Smaps.flags(kernel, memory).contains("hg"));
    kernel.advise(memory, NO_HUGE_PAGE);
    assertTrue(Smaps.flags(kernel, memory).contains("nh"));
    kernel.unmap(memory);
  }

  @Test
  void pagesDoNotExistBeforePopulateAndLieOnANodeAfterIt() {
    int pages = 64;
    MemorySegment memory = kernel.map(pages * page, Mapping.anonymous());
    kernel.advise(memory, NO_HUGE_PAGE);
    int[] absent = new int[pages];
    Arrays.fill(absent, -Errno.ENOENT.number());
    assertArrayEquals(absent, present(kernel.nodes(memory, page)));

    kernel.advise(memory.asSlice(0, 40 * page), POPULATE_WRITE);

    int[] nodes = present(kernel.nodes(memory, page));
    for (int i = 0; i < pages; i++) {
      assertEquals(i < 40, nodes[i] >= 0, "page " + i);
    }
    assertEquals((40 * page / 1024) + " kB", Smaps.field(kernel, memory, "Rss"));
    kernel.unmap(memory);
  }

  @Test
  void onAMachineOfOneNodeEveryPageIsOnNode0() {
    assumeTrue(
        kernel.names("/sys/devices/system/node").stream().filter(n -> n.matches("node\\d+")).count()
            == 1,
        "needs a machine of exactly one node");
    MemorySegment memory = kernel.map(8 * page, Mapping.anonymous());
    kernel.advise(memory, POPULATE_WRITE);

    assertArrayEquals(new int[8], kernel.nodes(memory, page));
    assertArrayEquals(new int[] {0, 0}, kernel.nodesAt(memory, new long[] {7 * page, 1}));
    kernel.unmap(memory);
  }

  @Test
  void populateOfAHoleIsEnomemAndOfAnOddAddressEinval() {
    MemorySegment memory = kernel.map(3 * page, Mapping.anonymous());
    kernel.unmap(memory.asSlice(page, page));

    assertEquals(
        Errno.ENOMEM.number(),
        assertThrows(HostKernelException.class, () -> kernel.advise(memory, POPULATE_WRITE))
            .errno());
    HostKernelException odd =
        assertThrows(
            HostKernelException.class,
            () -> kernel.advise(memory.asSlice(8, page - 8), POPULATE_WRITE));
    assertEquals("madvise", odd.operation());
    assertTrue(odd.is(Errno.EINVAL));
    assertTrue(String.valueOf(odd.getMessage()).contains("POPULATE_WRITE"), odd.getMessage());
    kernel.unmap(memory.asSlice(0, page));
    kernel.unmap(memory.asSlice(2 * page, page));
  }

  @Test
  void bindTakesNode0AndRefusesANodeThatIsNotThere() {
    MemorySegment memory = kernel.map(4 * page, Mapping.anonymous());

    kernel.bind(memory, NodeMode.BIND, Set.of(0));
    kernel.advise(memory, POPULATE_WRITE);
    assertArrayEquals(new int[4], kernel.nodes(memory, page));

    for (int absent : new int[] {highestNode() + 9, 130}) {
      HostKernelException refused =
          assertThrows(
              HostKernelException.class, () -> kernel.bind(memory, NodeMode.BIND, Set.of(absent)));
      assertEquals("mbind", refused.operation());
      assertTrue(refused.is(Errno.EINVAL));
      assertTrue(
          String.valueOf(refused.getMessage()).contains("[" + absent + "]"), refused.getMessage());
    }
    kernel.unmap(memory);
  }

  @Test
  void theKernelSeesThePolicyThatWasBound() {
    MemorySegment bound = kernel.map(page, Mapping.anonymous());
    MemorySegment preferred = kernel.map(page, Mapping.anonymous());
    MemorySegment interleaved = kernel.map(page, Mapping.anonymous());
    kernel.bind(bound, NodeMode.BIND, Set.of(0));
    kernel.bind(preferred, NodeMode.PREFERRED, Set.of(0));
    kernel.bind(interleaved, NodeMode.INTERLEAVE, Set.of(0));

    assertEquals("bind:0", policy(bound));
    assertEquals("prefer:0", policy(preferred));
    assertEquals("interleave:0", policy(interleaved));
    kernel.unmap(bound);
    kernel.unmap(preferred);
    kernel.unmap(interleaved);
  }

  @Test
  void aMappingWithoutReservationIsMarkedSoAndTakesAddressesOnly() {
    MemorySegment memory = kernel.map(64 * 1024 * MIB, Mapping.anonymous().with(Reservation.NONE));

    assertTrue(Smaps.flags(kernel, memory).contains("nr"));
    memory.set(JAVA_BYTE, 40 * 1024 * MIB, (byte) 1);
    assertEquals("0 kB", Smaps.field(kernel, memory, "Swap"));
    kernel.unmap(memory);
  }

  @Test
  void anonymousMemoryCanBeSharedWithChildren() {
    MemorySegment memory = kernel.map(page, Mapping.anonymous().with(Sharing.SHARED));

    assertTrue(Smaps.flags(kernel, memory).contains("sh"));
    kernel.unmap(memory);
  }

  @Test
  void moreThanTheAddressSpaceIsAShortfall() {
    HostKernelException refused =
        assertThrows(HostKernelException.class, () -> kernel.map(1L << 60, Mapping.anonymous()));

    assertEquals("mmap", refused.operation());
    assertTrue(refused.is(Errno.ENOMEM));
    assertEquals("ENOMEM", refused.errnoName());
    assertEquals(Category.SHORTFALL, refused.category());
  }

  @Test
  void aMappingOfNoBytesIsMisuse() {
    assertThrows(IllegalArgumentException.class, () -> kernel.map(0, Mapping.anonymous()));
    assertThrows(IllegalArgumentException.class, () -> kernel.map(-1, Mapping.anonymous()));
  }

  @Test
  void theJavaHeapIsNeverHandedToTheKernel() {
    MemorySegment heap = MemorySegment.ofArray(new long[1024]);

    assertThrows(IllegalArgumentException.class, () -> kernel.unmap(heap));
    assertThrows(IllegalArgumentException.class, () -> kernel.advise(heap, DONT_FORK));
    assertThrows(IllegalArgumentException.class, () -> kernel.bind(heap, NodeMode.BIND, Set.of(0)));
    assertThrows(IllegalArgumentException.class, () -> kernel.nodesAt(heap, new long[] {0}));
  }

  @Test
  void aClosedSegmentIsMisuseAndAnOffsetBeyondTheRangeIsToo() {
    MemorySegment closed;
    try (Arena arena = Arena.ofConfined()) {
      closed = arena.allocate(page, page);
    }
    assertThrows(IllegalStateException.class, () -> kernel.advise(closed, DONT_FORK));
    assertThrows(IllegalStateException.class, () -> kernel.unmap(closed));

    MemorySegment memory = kernel.map(page, Mapping.anonymous());
    assertThrows(IndexOutOfBoundsException.class, () -> kernel.nodesAt(memory, new long[] {page}));
    assertThrows(IllegalArgumentException.class, () -> kernel.nodes(memory, 0));
    kernel.unmap(memory);
  }

  @Test
  void hugePageSizesAreAlwaysInTheFlags() {
    assertEquals(
        0x5400_0000 + 0x4_0000 + 0x22,
        LinuxHostKernel.mapFlags(Mapping.anonymous().onHugePages(2 * MIB)));
    assertEquals(
        0x7800_0000 + 0x4_0000 + 0x22,
        LinuxHostKernel.mapFlags(Mapping.anonymous().onHugePages(1024 * MIB)));
    assertEquals(
        0x7400_0000 + 0x4_0000 + 0x22,
        LinuxHostKernel.mapFlags(Mapping.anonymous().onHugePages(512 * MIB)));
    assertEquals(
        0x8800_0000 + 0x4_0000 + 0x22,
        LinuxHostKernel.mapFlags(Mapping.anonymous().onHugePages(16 * 1024 * MIB)));
    assertEquals(0x01, LinuxHostKernel.mapFlags(Mapping.of(new HostKernel.FileHandle(3))));
  }

  @Test
  void onAnUnknownArchitectureOnlyWhatNeedsItsNumbersIsAbsent() {
    HostKernel foreign = new LinuxHostKernel(new TextTree(Path.of("/")), Abi.UNKNOWN);
    MemorySegment memory = foreign.map(page, Mapping.anonymous());
    foreign.advise(memory, DONT_FORK);
    foreign.unmap(memory);

    assertAbsent(() -> foreign.openDirectory(Path.of("/")));
    assertAbsent(() -> foreign.facts(new HostKernel.FileHandle(0)));
    assertAbsent(() -> foreign.fileSystem(new HostKernel.FileHandle(0)));
    assertAbsent(() -> foreign.map(page, Mapping.anonymous().onHugePages(2 * MIB)));
    assertAbsent(() -> foreign.map(page, Mapping.anonymous().with(Reservation.NONE)));
  }

  private static void assertAbsent(Executable call) {
    HostKernelException absent = assertThrows(HostKernelException.class, call);
    assertTrue(absent.is(Errno.ENOSYS), absent.getMessage());
    assertEquals(Category.UNSUPPORTED, absent.category());
  }

  // Kernels differ in whether an untouched page is "not there" or "no mapping of it yet".
  private static int[] present(int[] nodes) {
    return Arrays.stream(nodes)
        .map(node -> node == -Errno.EFAULT.number() ? -Errno.ENOENT.number() : node)
        .toArray();
  }

  private int highestNode() {
    return kernel.names("/sys/devices/system/node").stream()
        .filter(name -> name.matches("node\\d+"))
        .mapToInt(name -> Integer.parseInt(name.substring(4)))
        .max()
        .orElse(0);
  }

  private String policy(MemorySegment memory) {
    String start = Long.toHexString(memory.address()) + " ";
    return kernel
        .text("/proc/self/numa_maps")
        .orElseThrow()
        .lines()
        .filter(line -> line.startsWith(start) || line.startsWith("0".repeat(4) + start))
        .map(line -> line.split(" ", -1)[1])
        .findFirst()
        .orElseThrow();
  }

  private long virtualKibibytes() {
    return kernel
        .text("/proc/self/status")
        .orElseThrow()
        .lines()
        .filter(line -> line.startsWith("VmSize:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
        .findFirst()
        .orElseThrow();
  }
}
