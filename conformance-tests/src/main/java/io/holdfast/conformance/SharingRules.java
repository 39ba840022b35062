package io.holdfast.conformance;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.conformance.tap.Call;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.Capability;
import io.holdfast.device.Demand;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DevicePlane;
import io.holdfast.device.DeviceSegment;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.DmaBufExport;
import io.holdfast.device.ExportedRegion;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.State;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.HandleKind;
import io.holdfast.device.ImportedRegion;
import io.holdfast.device.NotFinalException;
import io.holdfast.device.RegionDescriptor;
import io.holdfast.device.ShareableHandle;
import io.holdfast.error.BusyException;
import io.holdfast.error.DriverException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pool.HostPool;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.VirtualMemoryPort;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Device memory that others import. */
abstract class SharingRules extends Rules {
  private static final BlockShape BLOCK = BlockShape.of(2, 1 << 20);

  SharingRules(Conformance kit) {
    super(kit);
  }

  private static ExtensibleRequest shareable(Demand demand) {
    return ExtensibleRequest.of(BLOCK.layerMajor(8)).shareable(demand);
  }

  private boolean claimed(Capability capability) {
    if (claims(capability)) {
      return true;
    }
    refused(capability, () -> device.memory().reserve(shareable(Demand.REQUIRE)).close());
    return false;
  }

  private ExtensibleRegion sealed(DeviceStream stream) {
    ExtensibleRegion region = device.memory().reserve(shareable(Demand.REQUIRE));
    region.commit(2);
    region.commit(5);
    region.seal(6, after(stream));
    return region;
  }

  @Test
  @Covers(Rule.EXP_01)
  final void exp01_exporting_before_the_size_is_final_is_refused() {
    if (!claimed(Capability.EXPORT_POSIX_FD)) {
      return;
    }
    try (ExtensibleRegion region = device.memory().reserve(shareable(Demand.REQUIRE))) {
      assertThrows(NotFinalException.class, () -> region.export(HandleKind.POSIX_FD));
      region.commit(2);
      assertThrows(NotFinalException.class, () -> region.export(HandleKind.POSIX_FD));
      assertEquals(0, tap.count("VirtualMemoryPort.exportFileDescriptor"));
    }
  }

  @Test
  @Covers(Rule.EXP_02)
  final void exp02_what_is_imported_has_the_exporters_bytes() {
    if (!claimed(Capability.EXPORT_POSIX_FD)) {
      return;
    }
    try (DeviceStream stream = device.newStream();
        ExtensibleRegion region = sealed(stream);
        HostPool pool = HostPool.open(device, region, HostRequest.ofBytes(4 * BLOCK.bytes()))) {
      write(pool, 0, 19);
      pool.load(BlockCopies.device(4).host(0), unordered()).await();
      try (ExportedRegion export = region.export(HandleKind.POSIX_FD)) {
        RegionDescriptor sent = RegionDescriptor.parse(export.descriptor().text());
        assertEquals(export.descriptor(), sent);
        try (ImportedRegion there = device.memory().importRegion(sent)) {
          assertEquals(2, there.segments());
          List<DevicePlane> planes = new ArrayList<>();
          for (int part = 0; part < 2; part++) {
            DeviceSegment segment = there.segment(part);
            planes.add(
                DeviceBlocks.of(segment.slice(0, 6L << 20), BlockShape.of(1, 1 << 20).blockMajor(6))
                    .plane(0));
          }
          DeviceBlocks imported = DeviceBlocks.ofPlanes(BLOCK, planes);
          try (CopyRoute route = device.copyEngine().route(imported, pool)) {
            route.store(BlockCopies.device(4).host(3), unordered()).await();
          }
          check(pool, 3, 19);
        }
      }
    }
  }

  @Test
  @Covers(Rule.EXP_03)
  final void exp03_memory_not_made_for_sharing_is_not_exported() {
    if (!claims(Capability.VIRTUAL_MEMORY)) {
      inverted("VIRTUAL_MEMORY");
      assertThrows(
          UnsupportedException.class, () -> device.memory().reserve(shareable(Demand.OFF)).close());
      return;
    }
    try (DeviceStream stream = device.newStream();
        ExtensibleRegion region = device.memory().reserve(shareable(Demand.OFF))) {
      region.commit(2);
      region.seal(2, after(stream));
      assertThrows(UnsupportedException.class, () -> region.export(HandleKind.POSIX_FD));
      assertThrows(UnsupportedException.class, () -> region.export(HandleKind.FABRIC));
      assertEquals(0, tap.count("VirtualMemoryPort.exportFileDescriptor"));
      for (Call call : tap.calls("VirtualMemoryPort.create")) {
        assertEquals(Set.of(), call.argument(VirtualMemoryPort.PhysicalForm.class, 1).exports());
      }
    }
  }

  @Test
  @Covers(Rule.EXP_04)
  final void exp04_an_open_export_holds_the_pages() {
    if (!claimed(Capability.EXPORT_POSIX_FD)) {
      return;
    }
    try (DeviceStream stream = device.newStream();
        ExtensibleRegion region = sealed(stream)) {
      ExportedRegion export = region.export(HandleKind.POSIX_FD);
      BusyException busy =
          assertThrows(BusyException.class, () -> region.releasePhysical(after(stream)));
      assertFalse(busy.holders().isEmpty());
      assertEquals(State.SEALED, region.state());
      export.close();
      export.close();
      region.releasePhysical(after(stream));
      assertEquals(State.RELEASED, region.state());
      assertEquals(0, tap.held("physical memory"));
    }
  }

  @Test
  @Covers(Rule.EXP_05)
  final void exp05_an_export_has_one_handle_for_each_segment() {
    if (!claimed(Capability.EXPORT_POSIX_FD)) {
      return;
    }
    try (DeviceStream stream = device.newStream();
        ExtensibleRegion region = sealed(stream);
        ExportedRegion export = region.export(HandleKind.POSIX_FD)) {
      assertEquals(2, export.handles().size());
      long bytes = 0;
      for (ShareableHandle handle : export.handles()) {
        assertTrue(handle.fileDescriptor() > 2, handle.toString());
        bytes += handle.physicalBytes();
      }
      assertEquals(region.committed().physicalBytes(), bytes);
      assertEquals(List.of(1, 1), region.census().handlesPerSegment());
    }
  }

  @Test
  @Covers(Rule.EXP_06)
  final void exp06_a_descriptor_of_hostile_text_is_refused_before_anything_is_opened() {
    tap.forget();
    String good =
        "{\"holdfast\":\"region\",\"version\":1,\"kind\":\"POSIX_FD\",\"pid\":1,\"token\":\"t\","
            + "\"device\":\"\",\"epoch\":0,\"blocks\":1,\"segments\":[{\"physicalBytes\":4096,"
            + "\"logicalBytes\":4096,\"strideBytes\":4096,\"fd\":3}]}";
    assertEquals(1, RegionDescriptor.parse(good).shares().size());
    for (String hostile :
        List.of(
            "",
            "{}",
            good + "x",
            good.replace("\"fd\":3", "\"fd\":-3"),
            good.replace("\"fd\":3", "\"fd\":99999999999"),
            good.replace("4096", "9223372036854775807"),
            good.replace("\"blocks\":1", "\"blocks\":1000"),
            good.replace("\"pid\":1", "\"pid\":0"),
            good.replace("\"version\":1", "\"version\":2"),
            good.replace("\"token\":\"t\"", "\"token\":\"../../etc\\u0000\""),
            "[".repeat(100_000))) {
      if (hostile.contains("9223372036854775807")) {
        continue; // a size that a device may refuse, not a text
      }
      assertThrows(IllegalArgumentException.class, () -> RegionDescriptor.parse(hostile));
    }
    RegionDescriptor stranger = RegionDescriptor.parse(good);
    assertThrows(RuntimeException.class, () -> device.memory().importRegion(stranger).close());
    assertEquals(0, tap.count("VirtualMemoryPort.importFileDescriptor"));
  }

  @Test
  @Covers(Rule.EXP_07)
  final void exp07_handles_across_hosts_are_given_where_they_are_claimed() {
    if (!claims(Capability.VIRTUAL_MEMORY)) {
      inverted("VIRTUAL_MEMORY");
      assertThrows(
          UnsupportedException.class,
          () -> device.memory().reserve(shareable(Demand.REQUIRE)).close());
      return;
    }
    try (DeviceStream stream = device.newStream();
        ExtensibleRegion region = device.memory().reserve(shareable(Demand.PREFER))) {
      region.commit(2);
      region.seal(2, after(stream));
      if (claims(Capability.EXPORT_FABRIC)) {
        try (ExportedRegion export = region.export(HandleKind.FABRIC)) {
          assertEquals(-1, export.handles().getFirst().fileDescriptor());
          assertEquals(64, export.descriptor().shares().getFirst().fabricBytes().length);
        } catch (UnsupportedException | DriverException refused) {
          throw missing("a fabric on which this process may export: " + refused.getMessage());
        }
      } else {
        inverted("EXPORT_FABRIC");
        assertThrows(UnsupportedException.class, () -> region.export(HandleKind.FABRIC));
      }
    }
  }

  @Test
  @Covers(Rule.EXP_08)
  final void exp08_a_dma_buf_covers_whole_host_pages_around_the_range() {
    if (!claims(Capability.VIRTUAL_MEMORY)) {
      inverted("VIRTUAL_MEMORY");
      assertThrows(
          UnsupportedException.class,
          () -> device.memory().reserve(shareable(Demand.REQUIRE)).close());
      return;
    }
    long page = tap.kernel().basePageBytes();
    try (DeviceStream stream = device.newStream();
        ExtensibleRegion region = device.memory().reserve(shareable(Demand.PREFER))) {
      region.commit(2);
      region.seal(2, after(stream));
      DeviceSegment range = region.plane(0).memory().slice(page + 100, 2 * page);
      if (claims(Capability.EXPORT_DMA_BUF)) {
        try (DmaBufExport export = region.exportDmaBuf(range)) {
          assertEquals(100, export.offsetBytes());
          assertEquals(3 * page, export.bytes());
          assertEquals(
              new DeviceRange(range.rawAddress() - 100, 3 * page),
              tap.calls("DmaBufPort.exportDmaBuf").getLast().argument(DeviceRange.class, 0));
          assertTrue(export.fileDescriptor() > 2);
        }
      } else {
        inverted("EXPORT_DMA_BUF");
        assertThrows(UnsupportedException.class, () -> region.exportDmaBuf(range));
      }
    }
  }
}
