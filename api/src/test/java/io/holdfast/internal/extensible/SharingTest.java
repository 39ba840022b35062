package io.holdfast.internal.extensible;

import static io.holdfast.internal.extensible.Rig.assertSays;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.Demand;
import io.holdfast.device.DmaBufExport;
import io.holdfast.device.ExportedRegion;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.ExtensibleRegion.State;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.HandleKind;
import io.holdfast.device.ImportedRegion;
import io.holdfast.device.NotFinalException;
import io.holdfast.device.RegionDescriptor;
import io.holdfast.device.RegionDescriptor.Share;
import io.holdfast.device.ShareableHandle;
import io.holdfast.device.StaleException;
import io.holdfast.device.Support;
import io.holdfast.error.BusyException;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.layout.BlockShape;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernels;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Handles for others: when they exist, what they hold, and how many files stay open. */
final class SharingTest {
  private static ExtensibleRequest shareable() {
    return ExtensibleRequest.of(Rig.TWO_PLANES).shareable(Demand.REQUIRE);
  }

  /** How many descriptors of the fake's memory are open in this process. */
  private static long openFiles() {
    try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
      return files.filter(SharingTest::isFakeMemory).count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean isFakeMemory(Path file) {
    try {
      return Files.readSymbolicLink(file).toString().contains("holdfast-fake-device-memory");
    } catch (IOException closedMeanwhile) {
      return false;
    }
  }

  /** B47: exported by descriptor, imported, same bytes, and no descriptor left. */
  @Test
  void b47_an_import_reads_the_exporters_bytes_and_every_descriptor_is_closed() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(shareable());
      region.commit(1);
      region.seal(40, rig.now());
      rig.write(region, 0, 40);
      long before = openFiles();
      try (ExportedRegion export = region.export(HandleKind.POSIX_FD)) {
        assertEquals(before + 2, openFiles());
        assertEquals(2, export.handles().size());
        RegionDescriptor sent = RegionDescriptor.parse(export.descriptor().text());

        try (ImportedRegion there = rig.device.memory().importRegion(sent)) {
          assertEquals(2, there.segments());
          assertEquals(40 * Rig.KIB64, there.segment(1).byteSize());
          for (int segment = 0; segment < 2; segment++) {
            long block = there.segment(segment).slice(3 * Rig.KIB64, Rig.KIB64).rawAddress();
            assertTrue(rig.memory.holds(block, Rig.KIB64, 1 + (7 * 3 + 31 * segment) % 250));
          }
          long shared = there.segment(0).rawAddress();
          rig.memory.write(shared, 1, 0x5A);
          assertTrue(rig.memory.holds(region.plane(0).memory().rawAddress(), 1, 0x5A));
        }
        assertEquals(before + 2, openFiles());
      }
      assertEquals(before, openFiles());
    }
  }

  @Test
  void a_descriptor_says_what_an_importer_needs() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(shareable());
      region.commit(1);
      region.seal(40, rig.now());

      try (ExportedRegion export = region.export(HandleKind.POSIX_FD)) {
        RegionDescriptor descriptor = export.descriptor();
        assertEquals(HandleKind.POSIX_FD, descriptor.kind());
        assertEquals(ProcessHandle.current().pid(), descriptor.exporterPid());
        assertEquals(FakeDriver.UUID, descriptor.deviceUuid());
        assertEquals(1, descriptor.epoch());
        assertEquals(40, descriptor.blocks());
        ShareableHandle handle = export.handles().get(1);
        assertEquals(
            Share.ofFile(2 * Rig.GRANULE, 40 * Rig.KIB64, Rig.KIB64, handle.fileDescriptor()),
            descriptor.shares().get(1));
      }
    }
  }

  @Test
  void imported_memory_outlives_the_export_and_the_region() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(shareable());
      region.seal(40, rig.now());
      rig.write(region, 0, 1);
      ImportedRegion there;
      try (ExportedRegion export = region.export(HandleKind.POSIX_FD)) {
        there = rig.device.memory().importRegion(export.descriptor());
      }
      region.close();

      assertTrue(rig.memory.holds(there.segment(0).rawAddress(), Rig.KIB64, 1));
      there.close();
      assertThrows(IllegalStateException.class, () -> there.segment(0));
      rig.assertNothingLeft();
    }
  }

  @Test
  void handles_before_the_size_is_final_are_refused_with_a_type_of_their_own() {
    try (Rig rig = new Rig()) {
      rig.memory.hasDmaBuf = true;
      ExtensibleRegion region = rig.reserve(shareable());
      assertThrows(NotFinalException.class, () -> region.export(HandleKind.POSIX_FD));
      region.commit(40);
      assertThrows(NotFinalException.class, () -> region.export(HandleKind.POSIX_FD));
      assertThrows(NotFinalException.class, () -> region.exportDmaBuf(region.plane(0).memory()));
      region.releasePhysical(rig.now());
      assertThrows(NotFinalException.class, () -> region.export(HandleKind.POSIX_FD));
    }
  }

  @Test
  void an_open_export_holds_the_pages() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(shareable());
      region.seal(40, rig.now());
      ExportedRegion export = region.export(HandleKind.POSIX_FD);

      BusyException busy =
          assertThrows(BusyException.class, () -> region.releasePhysical(rig.now()));

      assertEquals(1, busy.holders().size());
      assertTrue(busy.holders().getFirst().startsWith("export by POSIX_FD"));
      assertEquals(State.SEALED, region.state());
      export.close();
      export.close();
      region.releasePhysical(rig.now());
    }
  }

  /** B46: two chunks are refused by name; consolidated with their bytes they are one handle. */
  @Test
  void b46_an_export_of_several_chunks_is_refused_and_works_after_consolidating() {
    try (Rig rig = new Rig()) {
      // Only a region whose wishes were not granted is sealed with several chunks.
      rig.memory.hasDmaBuf = true;
      ExtensibleRegion region = rig.reserve(BlockShape.of(1, 1L << 20).layerMajor(64));
      region.commit(2);
      region.seal(8, rig.now());
      rig.write(region, 0, 8);
      long address = region.plane(0).memory().rawAddress();

      UnsupportedException refused =
          assertThrows(
              UnsupportedException.class, () -> region.exportDmaBuf(region.plane(0).memory()));

      assertSays("segment 0 has 2 physical allocations", refused);
      region.consolidate(Contents.KEEP, rig.now());
      assertEquals(List.of(1), region.census().handlesPerSegment());
      assertEquals(address, region.plane(0).memory().rawAddress());
      assertTrue(rig.isWritten(region, 0, 8));
      try (DmaBufExport export = region.exportDmaBuf(region.plane(0).memory())) {
        assertEquals(8L << 20, export.bytes());
      }
    }
  }

  @Test
  void an_export_that_was_not_asked_for_is_unsupported_not_a_drivers_code() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.seal(40, rig.now());

      UnsupportedException refused =
          assertThrows(UnsupportedException.class, () -> region.export(HandleKind.POSIX_FD));

      assertEquals(List.of(), rig.memory.names("exportFileDescriptor"));
      assertTrue(refused.remedy().contains("shareable"), refused.remedy());
      assertThrows(UnsupportedException.class, () -> region.export(HandleKind.FABRIC));
    }
  }

  @Test
  void an_export_that_fails_at_its_second_segment_closes_the_first_descriptor() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(shareable());
      region.seal(40, rig.now());
      long before = openFiles();
      rig.memory.fail(1, 1, DriverFault.OTHER);

      assertThrows(DriverException.class, () -> region.export(HandleKind.POSIX_FD));

      assertEquals(before, openFiles());
      region.releasePhysical(rig.now()); // nothing holds the pages
    }
  }

  @Test
  void fabric_handles_name_every_segment_where_the_driver_grants_them() {
    try (Rig rig = new Rig()) {
      rig.memory.kinds.add(HandleKind.FABRIC);
      rig.memory.hasFabric = true;
      ExtensibleRegion region = rig.reserve(shareable());
      region.seal(40, rig.now());
      rig.write(region, 0, 1);

      try (ExportedRegion export = region.export(HandleKind.FABRIC);
          ImportedRegion there =
              rig.device
                  .memory()
                  .importRegion(RegionDescriptor.parse(export.descriptor().text()))) {
        assertEquals(-1, export.handles().getFirst().fileDescriptor());
        assertTrue(rig.memory.holds(there.segment(0).rawAddress(), Rig.KIB64, 1));
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"0, 65536, 0, 65536", "5000, 100, 904, 4096", "4095, 2, 4095, 8192"})
  void a_dma_buf_is_widened_to_whole_pages_and_says_where_the_range_starts(
      long offset, long bytes, long expectedOffset, long expectedBytes) {
    try (Rig rig = new Rig()) {
      rig.memory.hasDmaBuf = true;
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.seal(40, rig.now());
      long before = openFiles();

      try (DmaBufExport export =
          region.exportDmaBuf(region.plane(1).memory().slice(offset, bytes))) {
        assertEquals(expectedOffset, export.offsetBytes());
        assertEquals(expectedBytes, export.bytes());
        assertTrue(export.fileDescriptor() > 2);
        assertThrows(BusyException.class, () -> region.releasePhysical(rig.now()));
      }
      assertEquals(before, openFiles());
    }
  }

  @Test
  void a_dma_buf_of_other_memory_or_of_pages_that_went_is_refused() {
    try (Rig rig = new Rig()) {
      rig.memory.hasDmaBuf = true;
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      ExtensibleRegion other = rig.reserve(Rig.TWO_PLANES);
      region.seal(40, rig.now());
      other.seal(40, rig.now());
      var before = region.plane(0).memory();
      region.releasePhysical(rig.now());
      region.recommit();

      assertThrows(StaleException.class, () -> region.exportDmaBuf(before));
      assertThrows(
          IllegalArgumentException.class, () -> region.exportDmaBuf(other.plane(0).memory()));
      assertThrows(
          IllegalArgumentException.class,
          () -> region.exportDmaBuf(region.plane(0).memory().slice(0, 0)));
    }
  }

  @Test
  void closing_a_region_closes_its_exports_first() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(shareable());
      region.seal(40, rig.now());
      long before = openFiles();
      ExportedRegion export = region.export(HandleKind.POSIX_FD);

      region.close();

      assertEquals(before, openFiles());
      assertThrows(IllegalStateException.class, export::descriptor);
    }
  }

  // ---- what importers are told

  private static RegionDescriptor foreign(long pid, int descriptor, String device) {
    return new RegionDescriptor(
        HandleKind.POSIX_FD,
        pid,
        "another-process",
        device,
        0,
        1,
        List.of(Share.ofFile(Rig.GRANULE, Rig.KIB64, Rig.KIB64, descriptor)));
  }

  @Test
  void memory_of_another_device_is_refused_before_anything_is_taken() {
    try (Rig rig = new Rig()) {
      RegionDescriptor elsewhere = foreign(1, 3, "fake-1");

      assertThrows(
          IllegalArgumentException.class, () -> rig.device.memory().importRegion(elsewhere));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "EPERM, ptrace_scope",
    "ESRCH, no such process",
    "EBADF, no such descriptor",
    "EINVAL, EINVAL"
  })
  void taking_a_descriptor_that_may_not_be_taken_says_why_and_what_else_to_do(
      Errno answer, String words) {
    FakePort port = new FakePort();
    CoreDevice device = FakeDriver.open(port, refusing(answer));
    try {
      RegionDescriptor theirs = foreign(ProcessHandle.current().pid() + 1, 3, FakeDriver.UUID);

      UnsupportedException refused =
          assertThrows(UnsupportedException.class, () -> device.memory().importRegion(theirs));

      assertSays(words, refused);
      assertEquals(0, port.memory.handles());
      assertEquals(0, port.memory.reservationCount());
    } finally {
      device.backend().close();
    }
  }

  private static HostKernel refusing(Errno answer) {
    HostKernel real = HostKernels.system();
    return (HostKernel)
        Proxy.newProxyInstance(
            HostKernel.class.getClassLoader(),
            new Class<?>[] {HostKernel.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("takeFrom")) {
                throw new HostKernelException("pidfd_getfd", "", answer.number());
              }
              try {
                return method.invoke(real, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  @Test
  void a_number_that_is_our_own_but_not_our_process_lives_in_another_namespace() {
    try (Rig rig = new Rig()) {
      RegionDescriptor theirs = foreign(ProcessHandle.current().pid(), 3, FakeDriver.UUID);

      UnsupportedException refused =
          assertThrows(UnsupportedException.class, () -> rig.device.memory().importRegion(theirs));

      assertSays("PID namespace", refused);
    }
  }

  @Test
  void descriptors_that_came_over_a_socket_are_imported_and_stay_the_callers() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(shareable());
      region.seal(40, rig.now());
      rig.write(region, 0, 1);
      try (ExportedRegion export = region.export(HandleKind.POSIX_FD)) {
        List<Integer> numbers =
            export.handles().stream().map(ShareableHandle::fileDescriptor).toList();
        RegionDescriptor theirs =
            new RegionDescriptor(
                HandleKind.POSIX_FD,
                1,
                "another-process",
                FakeDriver.UUID,
                0,
                40,
                export.descriptor().shares());
        long before = openFiles();

        try (ImportedRegion there = rig.device.memory().importRegion(theirs.received(numbers))) {
          assertTrue(rig.memory.holds(there.segment(0).rawAddress(), Rig.KIB64, 1));
        }

        assertEquals(before, openFiles());
      }
    }
  }

  @Test
  void hostile_sizes_are_the_drivers_refusal_and_leave_nothing() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(shareable());
      region.seal(40, rig.now());
      try (ExportedRegion export = region.export(HandleKind.POSIX_FD)) {
        Share honest = export.descriptor().shares().getFirst();
        RegionDescriptor larger =
            RegionDescriptor.ofThisProcess(
                HandleKind.POSIX_FD,
                FakeDriver.UUID,
                0,
                1,
                List.of(
                    honest, Share.ofFile(1L << 40, 1L << 40, 1L << 40, honest.fileDescriptor())));
        int mappings = rig.memory.mappingCount();
        int reservations = rig.memory.reservationCount();

        assertThrows(DriverException.class, () -> rig.device.memory().importRegion(larger));

        assertEquals(mappings, rig.memory.mappingCount());
        assertEquals(reservations, rig.memory.reservationCount());
        assertEquals(
            List.of("map of another size or off the granule: DeviceRange"),
            rig.memory.violations.stream().map(what -> what.split("\\[", 2)[0]).toList());
        rig.memory.violations.clear(); // this one was the exporter's doing
      }
    }
  }

  // ---- what was asked for at creation

  /** B45: the driver refuses the flag. */
  @Test
  void b45_rdma_preferred_and_refused_is_made_without_once_and_said_once() {
    try (Rig rig = new Rig()) {
      rig.memory.rdmaPossible = true;
      rig.memory.refusedForm = "rdma=YES";

      ExtensibleRegion region =
          rig.reserve(ExtensibleRequest.of(Rig.TWO_PLANES).rdma(Demand.PREFER));
      assertEquals(List.of("create"), rig.memory.names("create"), "asked with the flag once");
      region.commit(3);

      assertEquals(3, rig.memory.names("create").size());
      assertEquals(1, region.census().notes().size());
      assertTrue(region.census().notes().getFirst().contains("RDMA"));
      assertEquals(Support.Unsupported.class, region.census().rdmaCapable().getClass());
    }
  }

  @Test
  void b45_rdma_required_and_refused_is_an_error_with_nothing_left() {
    try (Rig rig = new Rig()) {
      rig.memory.rdmaPossible = true;
      rig.memory.refusedForm = "rdma=YES";

      UnsupportedException refused =
          assertThrows(
              UnsupportedException.class,
              () -> rig.reserve(ExtensibleRequest.of(Rig.TWO_PLANES).rdma(Demand.REQUIRE)));

      assertEquals("reading by network cards", refused.capability());
      rig.assertNothingLeft();
    }
  }

  @Test
  void rdma_is_believed_after_creation_only() {
    try (Rig rig = new Rig()) {
      rig.memory.rdmaPossible = true;
      rig.memory.rdmaWorks = false;

      ExtensibleRegion region =
          rig.reserve(ExtensibleRequest.of(Rig.TWO_PLANES).rdma(Demand.PREFER));

      assertEquals(Support.Unsupported.class, region.census().rdmaCapable().getClass());
      assertThrows(
          UnsupportedException.class,
          () -> rig.reserve(ExtensibleRequest.of(Rig.TWO_PLANES).rdma(Demand.REQUIRE)));
    }
  }

  @Test
  void rdma_that_is_denied_of_larger_memory_later_undoes_a_required_commit() {
    try (Rig rig = new Rig()) {
      rig.memory.rdmaPossible = true;
      ExtensibleRegion strict =
          rig.reserve(ExtensibleRequest.of(Rig.TWO_PLANES).rdma(Demand.REQUIRE));
      ExtensibleRegion lenient =
          rig.reserve(ExtensibleRequest.of(Rig.TWO_PLANES).rdma(Demand.PREFER));
      assertEquals(new Support.Supported(), lenient.census().rdmaCapable());
      rig.memory.rdmaWorks = false;

      assertThrows(UnsupportedException.class, () -> strict.commit(3));
      lenient.commit(3);

      assertEquals(0, strict.count());
      assertEquals(Support.Unsupported.class, lenient.census().rdmaCapable().getClass());
      assertEquals(1, lenient.census().notes().size());
    }
  }

  /** B47: fabric is refused although it is reported, and descriptors work. */
  @Test
  void b47_fabric_that_is_not_granted_leaves_descriptors_with_a_visible_reason() {
    try (Rig rig = new Rig()) {
      rig.memory.kinds.add(HandleKind.FABRIC);
      rig.memory.hasFabric = true;
      rig.memory.refusedForm = "FABRIC";

      ExtensibleRegion region = rig.reserve(shareable());
      region.seal(3, rig.now());

      assertEquals(1, region.census().notes().size());
      assertTrue(region.census().notes().getFirst().contains("FABRIC"));
      region.export(HandleKind.POSIX_FD).close();
      UnsupportedException refused =
          assertThrows(UnsupportedException.class, () -> region.export(HandleKind.FABRIC));
      assertSays("FABRIC", refused);
    }
  }

  @Test
  void wishes_give_way_one_after_the_other_until_the_driver_grants() {
    try (Rig rig = new Rig()) {
      rig.memory.rdmaPossible = true;
      rig.memory.refusedForm = "POSIX_FD";

      ExtensibleRegion region =
          rig.reserve(
              ExtensibleRequest.of(Rig.TWO_PLANES).shareable(Demand.PREFER).rdma(Demand.PREFER));
      region.seal(3, rig.now());

      assertEquals(new Support.Supported(), region.census().rdmaCapable());
      assertEquals(2, region.census().notes().size());
      assertThrows(UnsupportedException.class, () -> region.export(HandleKind.POSIX_FD));
    }
  }

  @Test
  void what_the_driver_does_not_even_report_is_not_tried() {
    try (Rig rig = new Rig()) {
      rig.memory.kinds.clear();

      assertThrows(UnsupportedException.class, () -> rig.reserve(shareable()));
      assertThrows(
          UnsupportedException.class,
          () -> rig.reserve(ExtensibleRequest.of(Rig.TWO_PLANES).rdma(Demand.REQUIRE)));
      ExtensibleRegion region =
          rig.reserve(
              ExtensibleRequest.of(Rig.TWO_PLANES).shareable(Demand.PREFER).rdma(Demand.PREFER));

      assertEquals(List.of(), rig.memory.names("create"));
      assertEquals(2, region.census().notes().size());
    }
  }

  @Test
  void a_full_device_is_a_shortage_and_not_a_missing_feature() {
    try (Rig rig = new Rig()) {
      rig.memory.totalBytes = Rig.GRANULE;

      DriverException full = assertThrows(DriverException.class, () -> rig.reserve(shareable()));

      assertEquals(DriverFault.OUT_OF_MEMORY, full.fault());
      assertFalse(rig.memory.calls.isEmpty());
    }
  }

  @Test
  void fabric_bytes_survive_the_text() {
    byte[] handle = new byte[64];
    for (int i = 0; i < handle.length; i++) {
      handle[i] = (byte) (4 * i - 3);
    }
    RegionDescriptor descriptor =
        RegionDescriptor.ofThisProcess(
            HandleKind.FABRIC, "gpu", 1, 1, List.of(Share.ofFabric(4096, 4096, 4096, handle)));

    assertArrayEquals(
        handle, RegionDescriptor.parse(descriptor.text()).shares().getFirst().fabricBytes());
  }
}
