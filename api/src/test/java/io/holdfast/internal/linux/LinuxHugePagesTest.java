package io.holdfast.internal.linux;

import static io.holdfast.spi.HostKernel.Advice.DONT_FORK;
import static io.holdfast.spi.HostKernel.Advice.POPULATE_WRITE;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.error.Category;
import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernel.FileSystemFacts;
import io.holdfast.spi.HostKernel.Mapping;
import io.holdfast.spi.HostKernels;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.function.Executable;

@EnabledOnOs(OS.LINUX)
class LinuxHugePagesTest {
  private static final long PAGE = HugePool.PAGE_BYTES;
  private static final Mapping HUGE = Mapping.anonymous().onHugePages(PAGE);

  private final HostKernel kernel = HostKernels.system();

  @Test
  void morePagesThanThePoolHasAreAShortfallAtMap() throws IOException {
    try (HugePool pool = HugePool.with(kernel, 0)) {
      long before = pool.available();

      HostKernelException refused =
          assertThrows(HostKernelException.class, () -> kernel.map(pool.tooMany() * PAGE, HUGE));

      assertTrue(refused.is(Errno.ENOMEM));
      assertEquals(Category.SHORTFALL, refused.category());
      assertEquals(before, pool.available());
    }
  }

  @Test
  void aPageSizeThatTheKernelDoesNotHaveIsEinval() {
    HostKernelException refused =
        assertThrows(
            HostKernelException.class,
            () -> kernel.map(1 << 23, Mapping.anonymous().onHugePages(1 << 23)));

    assertTrue(refused.is(Errno.EINVAL), refused.getMessage());
  }

  @Test
  void hugePagesAreReservedAtMapPopulatedInPlaceAndGivenBackAtUnmap() throws IOException {
    try (HugePool pool = HugePool.with(kernel, 4)) {
      long before = pool.available();
      MemorySegment memory = kernel.map(4 * PAGE, HUGE);
      assertEquals(before - 4, pool.available());
      assertEquals(0, memory.address() % PAGE);

      kernel.advise(memory, DONT_FORK);
      kernel.advise(memory.asSlice(0, 3 * PAGE), POPULATE_WRITE);

      assertEquals("2048 kB", Smaps.field(kernel, memory, "KernelPageSize"));
      assertTrue(Smaps.flags(kernel, memory).contains("dc"));
      int[] nodes = kernel.nodes(memory, PAGE);
      assertEquals(3, Arrays.stream(nodes).filter(node -> node >= 0).count());
      assertTrue(nodes[3] < 0);
      kernel.unmap(memory);
      assertEquals(before, pool.available());
    }
  }

  @Test
  void aPartOfAHugePageCanNeitherBeUnmappedNorKeptFromChildren() throws IOException {
    try (HugePool pool = HugePool.with(kernel, 2)) {
      long before = pool.available();
      MemorySegment memory = kernel.map(2 * PAGE, HUGE);

      assertEinval(() -> kernel.unmap(memory.asSlice(0, PAGE + 4096)));
      assertEinval(() -> kernel.advise(memory.asSlice(0, PAGE + 4096), DONT_FORK));

      kernel.unmap(memory.asSlice(PAGE, PAGE));
      kernel.unmap(memory.asSlice(0, PAGE));
      assertEquals(before, pool.available());
    }
  }

  @Test
  void aMemoryFileOnHugePagesSaysSoAndItsSizeCanBeSealed() throws IOException {
    try (HugePool pool = HugePool.with(kernel, 2)) {
      long before = pool.available();
      FileHandle file = kernel.memoryFile("holdfast-test", PAGE);
      FileSystemFacts facts = kernel.fileSystem(file);
      assertEquals(FileSystemFacts.HUGETLBFS_MAGIC, facts.magic());
      assertEquals(PAGE, facts.blockBytes());
      kernel.resize(file, 2 * PAGE);
      kernel.sealSize(file);

      MemorySegment one = kernel.map(2 * PAGE, Mapping.of(file));
      MemorySegment other = kernel.map(PAGE, Mapping.of(file).from(PAGE));
      kernel.advise(one, POPULATE_WRITE);
      one.set(JAVA_BYTE, PAGE + 5, (byte) 9);

      assertEquals(9, other.get(JAVA_BYTE, 5));
      assertTrue(
          assertThrows(HostKernelException.class, () -> kernel.resize(file, PAGE)).is(Errno.EPERM));
      kernel.unmap(one);
      kernel.unmap(other);
      kernel.close(file);
      assertEquals(before, pool.available());
    }
  }

  private static void assertEinval(Executable call) {
    HostKernelException refused = assertThrows(HostKernelException.class, call);
    assertTrue(refused.is(Errno.EINVAL), refused.getMessage());
  }
}
