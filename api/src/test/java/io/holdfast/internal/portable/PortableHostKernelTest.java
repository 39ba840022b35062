package io.holdfast.internal.portable;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.error.Category;
import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.Advice;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernel.LockMode;
import io.holdfast.spi.HostKernel.Mapping;
import io.holdfast.spi.HostKernel.NodeMode;
import io.holdfast.spi.HostKernel.OpenMode;
import io.holdfast.spi.HostKernel.Pages;
import io.holdfast.spi.HostKernel.Sharing;
import io.holdfast.spi.HostKernel.ThreadPlace;
import io.holdfast.spi.HostKernels;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class PortableHostKernelTest {
  private static final long PAGE = 65_536;

  private final HostKernel kernel = HostKernels.portable();

  @Test
  void itSaysThatItsPagesArePlainSegments() {
    assertEquals(Pages.PLAIN, kernel.pages());
    assertEquals(PAGE, kernel.basePageBytes());
    assertEquals(System.getProperty("os.name"), kernel.identity().system());
    assertTrue(kernel.toString().startsWith("plain segments on "), kernel.toString());
  }

  @Test
  void aMappingIsZeroWritableAlignedPopulatedAndGoneAfterUnmap() {
    MemorySegment memory = kernel.map(3 * PAGE, Mapping.anonymous());
    assertEquals(3 * PAGE, memory.byteSize());
    assertEquals(0, memory.address() % PAGE);
    assertEquals(-1, memory.mismatch(MemorySegment.ofArray(new byte[(int) (3 * PAGE)])));
    memory.set(JAVA_BYTE, 3 * PAGE - 1, (byte) 1);
    kernel.advise(memory, Advice.POPULATE_WRITE);

    kernel.unmap(memory);

    assertThrows(IllegalStateException.class, () -> memory.get(JAVA_BYTE, 0));
    assertErrno(Errno.EINVAL, () -> kernel.unmap(memory));
  }

  @Test
  void alignmentIsHonoured() {
    MemorySegment memory = kernel.map(PAGE, Mapping.anonymous().alignedTo(2 << 20));

    assertEquals(0, memory.address() % (2 << 20));
    kernel.unmap(memory);
  }

  @Test
  void onlyAWholeMappingIsUnmapped() {
    MemorySegment memory = kernel.map(2 * PAGE, Mapping.anonymous());

    assertErrno(Errno.EINVAL, () -> kernel.unmap(memory.asSlice(0, PAGE)));
    assertErrno(Errno.EINVAL, () -> kernel.unmap(memory.asSlice(PAGE)));
    memory.set(JAVA_BYTE, 0, (byte) 1);
    kernel.unmap(memory);
  }

  @Test
  void moreThanTheRuntimeGivesIsAShortfall() {
    HostKernelException refused =
        assertErrno(Errno.ENOMEM, () -> kernel.map(1L << 50, Mapping.anonymous()));

    assertEquals(Category.SHORTFALL, refused.category());
    assertTrue(refused.remedy().contains("MaxDirectMemorySize"), refused.remedy());
  }

  @Test
  void aMappingOfNoBytesIsMisuse() {
    assertThrows(IllegalArgumentException.class, () -> kernel.map(0, Mapping.anonymous()));
  }

  @Test
  void whatPlainJavaCannotDoIsEnosysAndUnsupported() {
    MemorySegment memory = kernel.map(PAGE, Mapping.anonymous());
    FileHandle file = new FileHandle(0);
    DirectoryHandle directory = new DirectoryHandle(0);
    List<Executable> calls =
        List.of(
            () -> kernel.map(PAGE, Mapping.anonymous().onHugePages(2 << 20)),
            () -> kernel.map(PAGE, Mapping.anonymous().with(Sharing.SHARED)),
            () -> kernel.map(PAGE, Mapping.of(file)),
            () -> kernel.advise(memory, Advice.DONT_FORK),
            () -> kernel.advise(memory, Advice.HUGE_PAGE),
            () -> kernel.bind(memory, NodeMode.BIND, Set.of(0)),
            () -> kernel.nodes(memory, PAGE),
            () -> kernel.placeThread(new ThreadPlace(2, Set.of(0), Set.of(0))),
            () -> kernel.openDirectory(Path.of("")),
            () -> kernel.open(directory, "x", OpenMode.CREATE_NEW),
            () -> kernel.openNameless(directory),
            () -> kernel.memoryFile("x", 0),
            () -> kernel.takeFrom(1, 0),
            () -> kernel.facts(file),
            () -> kernel.factsOf(directory, "x"),
            () -> kernel.fileSystem(directory),
            () -> kernel.entries(directory),
            () -> kernel.resize(file, 0),
            () -> kernel.allocate(file, 1),
            () -> kernel.sealSize(file),
            () -> kernel.tryLock(file, LockMode.SHARED),
            () -> kernel.unlock(file),
            () -> kernel.unlink(directory, "x"),
            () -> kernel.close(file));

    for (Executable call : calls) {
      HostKernelException refused = assertErrno(Errno.ENOSYS, call);
      assertEquals(Category.UNSUPPORTED, refused.category());
    }
    kernel.unmap(memory);
  }

  @Test
  void aThreadsPlaceIsUnknownAndCanBeHandedOnAsSuch() {
    ThreadPlace place = kernel.threadPlace();

    assertEquals(new ThreadPlace(0, Set.of(), Set.of()), place);
    kernel.placeThread(place);
    assertEquals(OptionalLong.empty(), kernel.lockLimitBytes());
    assertEquals(Thread.currentThread().threadId(), kernel.threadId());
  }

  private static HostKernelException assertErrno(Errno expected, Executable call) {
    HostKernelException refused = assertThrows(HostKernelException.class, call);
    assertTrue(refused.is(expected), refused.getMessage());
    return refused;
  }
}
