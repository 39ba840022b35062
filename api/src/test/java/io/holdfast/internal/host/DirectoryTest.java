package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.host.Shortfall.Limit;
import io.holdfast.host.ShortfallException;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.linux.HugePool;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernels;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DirectoryTest {
  private static final long MIB = 1L << 20;

  @TempDir Path folder;

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

  private static List<Path> names(Path directory) throws Exception {
    try (Stream<Path> names = Files.list(directory)) {
      return names.toList();
    }
  }

  @Test
  void B15_B16_tmpfsFilesHaveNoNameNoDescriptorAndTheirSpaceIsTaken() throws Exception {
    try (Mounted tmpfs = Mounted.tmpfs(folder, "64m")) {
      long free = tmpfs.freeBytes();
      HostRequest request = HostRequest.ofBytes(40 * MIB).pages(PageKind.directory(tmpfs.point()));
      try (HostRegion region = backend.pageSource().map(request)) {
        assertEquals(List.of(), names(tmpfs.point()));
        assertEquals(List.of(), tmpfs.openFiles());
        assertEquals(free - 40 * MIB, tmpfs.freeBytes());
        region.segment().set(ValueLayout.JAVA_BYTE, 40 * MIB - 1, (byte) 1);

        ShortfallException error =
            assertThrows(ShortfallException.class, () -> backend.pageSource().map(request));

        Limit limit = error.shortfall().limits().getFirst();
        long page = kernel.basePageBytes();
        assertEquals(40 * MIB / page, limit.needed());
        assertEquals((free - 40 * MIB) / page, limit.available());
        assertTrue(limit.name().contains(tmpfs.point().toString()), limit::name);
        assertTrue(
            limit.remedy().startsWith("mount -o remount,size=" + 80 * MIB + " "), limit::remedy);
        assertEquals(free - 40 * MIB, tmpfs.freeBytes());
      }
      assertEquals(free, tmpfs.freeBytes());
    }
  }

  @Test
  void B18_aHugetlbfsWithoutSizeHasNoFreeCheckOfItsOwn() throws Exception {
    try (HugePool pool = HugePool.with(kernel, 16);
        Mounted hugetlbfs = Mounted.hugetlbfs(folder, "pagesize=2M")) {
      long before = pool.available();
      try (HostRegion region =
          backend
              .pageSource()
              .map(
                  HostRequest.ofBytes(8 * MIB - 5)
                      .pages(PageKind.directory(hugetlbfs.point(), 2 * MIB)))) {
        assertEquals(2 * MIB, region.backingPageBytes());
        assertEquals(8 * MIB, region.mappedBytes());
        assertEquals(before - 4, pool.available());
        assertEquals(List.of(), names(hugetlbfs.point()));
        assertEquals(8 * MIB, region.receipt().bytesPerPageSize().get(2 * MIB));
      }
      assertEquals(before, pool.available());
    }
  }

  @Test
  void B18_aHugetlbfsWithSizeIsALimitBesideThePool() throws Exception {
    try (HugePool _ = HugePool.with(kernel, 16);
        Mounted hugetlbfs = Mounted.hugetlbfs(folder, "pagesize=2M,size=16m")) {
      HostRequest request =
          HostRequest.ofBytes(20 * MIB).pages(PageKind.directory(hugetlbfs.point()));

      ShortfallException error =
          assertThrows(ShortfallException.class, () -> backend.pageSource().map(request));

      assertEquals(1, error.shortfall().limits().size());
      Limit limit = error.shortfall().limits().getFirst();
      assertEquals(10, limit.needed());
      assertEquals(8, limit.available());
      assertTrue(limit.name().startsWith("space in the file system at "), limit::name);
      // B98: the help text has options that really mount.
      assertTrue(limit.remedy().contains("pagesize=2M or pagesize=1G"), limit::remedy);
      assertTrue(limit.remedy().contains("min_size="), limit::remedy);
    }
  }

  @Test
  void B98_theCommandThatIsPrintedIsTheOneThatWorks() throws Exception {
    try (HugePool pool = HugePool.with(kernel, 16);
        Mounted hugetlbfs = Mounted.hugetlbfs(folder, "pagesize=2M,size=16m");
        Mounted tmpfs = Mounted.tmpfs(folder, "16m")) {
      for (Path point : List.of(hugetlbfs.point(), tmpfs.point())) {
        HostRequest request = HostRequest.ofBytes(20 * MIB).pages(PageKind.directory(point));
        ShortfallException error =
            assertThrows(ShortfallException.class, () -> backend.pageSource().map(request));
        String remedy = error.shortfall().limits().getFirst().remedy();
        String command = remedy.substring(0, remedy.indexOf(" ("));

        Process mount = new ProcessBuilder("/bin/sh", "-c", command).inheritIO().start();

        assertEquals(0, mount.waitFor(), command);
        backend.pageSource().map(request).close();
      }
      assertTrue(pool.available() >= 16);
    }
  }

  @Test
  void aMountThatReservedItsPagesMayUseThem() throws Exception {
    try (HugePool pool = HugePool.with(kernel, 16)) {
      long all = pool.available();
      try (Mounted hugetlbfs = Mounted.hugetlbfs(folder, "pagesize=2M,min_size=" + all * 2 + "m")) {
        assertEquals(0, pool.available());
        try (HostRegion region =
            backend
                .pageSource()
                .map(HostRequest.ofBytes(8 * MIB).pages(PageKind.directory(hugetlbfs.point())))) {
          assertEquals(8 * MIB, region.mappedBytes());
        }
      }
    }
  }

  @Test
  void B59_aDirectoryWithOtherPagesThanAskedIsRefusedByItsRealOnes() throws Exception {
    try (Mounted tmpfs = Mounted.tmpfs(folder, "64m")) {
      UnsupportedException error =
          assertThrows(
              UnsupportedException.class,
              () ->
                  backend
                      .pageSource()
                      .map(
                          HostRequest.ofBytes(MIB)
                              .pages(PageKind.directory(tmpfs.point(), 2 * MIB))));

      String message = String.valueOf(error.getMessage());
      assertTrue(message.contains("tmpfs"), message);
      assertTrue(message.contains(PageSizes.text(kernel.basePageBytes())), message);
    }
  }

  @Test
  void B67_anOrdinaryFileSystemIsRefusedUnlessAccepted() throws Exception {
    HostKernel.DirectoryHandle open = kernel.openDirectory(folder);
    long magic = kernel.fileSystem(open).magic();
    kernel.close(open);
    assumeTrue(magic != HostKernel.FileSystemFacts.TMPFS_MAGIC, "needs temporary files on a disk");

    UnsupportedException error =
        assertThrows(
            UnsupportedException.class,
            () ->
                backend
                    .pageSource()
                    .map(HostRequest.ofBytes(MIB).pages(PageKind.directory(folder))));
    assertTrue(
        String.valueOf(error.getMessage()).contains("0x" + Long.toHexString(magic)),
        error::toString);

    PageKind accepted =
        new PageKind.Directory(folder, OptionalLong.empty(), PageKind.FileSystems.ANY);
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(MIB).pages(accepted))) {
      region.segment().fill((byte) 3);
      assertEquals(List.of(), names(folder));
    }
  }
}
