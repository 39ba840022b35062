package io.holdfast.backend.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.HandleKind;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.VirtualMemoryPort;
import io.holdfast.spi.VirtualMemoryPort.PhysicalForm;
import io.holdfast.spi.VirtualMemoryPort.RdmaWish;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Virtual memory through the true binding, on a strict pretended driver. */
final class CudaVirtualMemoryTest {
  private static final long GRANULE = 2 << 20;
  private static final PhysicalForm SHARED =
      new PhysicalForm(Set.of(HandleKind.POSIX_FD), RdmaWish.YES);

  @TempDir Path folder;

  private PretendDriver pretend;
  private DevicePort port;
  private VirtualMemoryPort virtual;

  @BeforeEach
  void open() {
    pretend = new PretendDriver(folder);
    port = pretend.driver().open(0);
    virtual = port.virtualMemory().orElseThrow();
  }

  @AfterEach
  void nothingIsLeft() {
    port.close();
    pretend.assertNothingLeft(0);
  }

  @Test
  void whatTheDeviceReportsIsWhatThePortSays(@TempDir Path elsewhere) {
    assertEquals(GRANULE, virtual.granuleBytes(PhysicalForm.plain()));
    assertEquals(GRANULE, virtual.granuleBytes(SHARED));
    assertEquals(Set.of(HandleKind.POSIX_FD, HandleKind.FABRIC), virtual.exportableKinds());
    assertTrue(virtual.rdmaPossible());
    assertTrue(virtual.fabric().isPresent());
    assertTrue(virtual.dmaBuf().isPresent());

    PretendDriver another = new PretendDriver(elsewhere, "vmm.fabric-code=801");
    try (DevicePort other = another.driver().open(0)) {
      VirtualMemoryPort without = other.virtualMemory().orElseThrow();
      assertEquals(Set.of(HandleKind.POSIX_FD), without.exportableKinds());
      assertTrue(without.fabric().isEmpty());
    }
  }

  @Test
  void memoryGrowsUnderAddressesThatStay() {
    DeviceRange addresses = virtual.reserve(4 * GRANULE, 0);
    PhysicalHandle first = virtual.create(2 * GRANULE, PhysicalForm.plain());
    PhysicalHandle second = virtual.create(GRANULE, PhysicalForm.plain());
    DeviceRange head = new DeviceRange(addresses.address(), 2 * GRANULE);
    DeviceRange tail = new DeviceRange(head.endAddress(), GRANULE);

    virtual.map(head, first);
    virtual.allowAccess(head);
    virtual.map(tail, second);
    virtual.allowAccess(tail);

    assertEquals(Optional.of(head), port.rangeOf(addresses.address() + 5));
    assertEquals(Optional.of(tail), port.rangeOf(tail.address()));
    assertEquals(Optional.empty(), port.rangeOf(tail.endAddress()));
    fillAndReadBack(new DeviceRange(addresses.address(), 3 * GRANULE));
    virtual.release(first);
    virtual.release(second);
    virtual.unmap(tail);
    virtual.unmap(head);
    virtual.freeAddresses(addresses);
  }

  @Test
  void misuseIsTheDriversOwnAnswerWithTheRange() {
    DeviceRange addresses = virtual.reserve(2 * GRANULE, 0);
    PhysicalHandle handle = virtual.create(GRANULE, PhysicalForm.plain());

    DriverException unaligned = assertThrows(DriverException.class, () -> virtual.reserve(4096, 0));
    DriverException larger =
        assertThrows(DriverException.class, () -> virtual.map(addresses, handle));
    DriverException unmapped =
        assertThrows(DriverException.class, () -> virtual.allowAccess(addresses));
    DriverException exhausted =
        assertThrows(DriverException.class, () -> virtual.create(1L << 40, PhysicalForm.plain()));

    assertEquals(DriverFault.INVALID_ARGUMENT, unaligned.fault());
    assertEquals(DriverFault.NOT_SUPPORTED, larger.fault()); // 801, not 1
    assertEquals(
        "cuMemMap(0x%x, %d)".formatted(addresses.address(), addresses.bytes()), larger.operation());
    assertEquals(DriverFault.INVALID_ARGUMENT, unmapped.fault());
    assertEquals(DriverFault.OUT_OF_MEMORY, exhausted.fault());
    virtual.release(handle);
    virtual.freeAddresses(addresses);
  }

  @Test
  void alignmentAndTheSameAddressesAgainAreAskedFor() {
    DeviceRange aligned = virtual.reserve(GRANULE, 1L << 30);
    virtual.freeAddresses(aligned);

    DeviceRange again = virtual.reserveAt(aligned);

    assertEquals(0, aligned.address() % (1L << 30));
    assertEquals(aligned, again);
    DeviceRange elsewhere = virtual.reserveAt(aligned); // taken now, and the driver moves on
    assertFalse(elsewhere.equals(aligned));
    virtual.freeAddresses(again);
    virtual.freeAddresses(elsewhere);
  }

  @Test
  void exportedMemoryIsImportedByDescriptorAndSharesItsBytes() {
    DeviceRange here = virtual.reserve(GRANULE, 0);
    DeviceRange there = virtual.reserve(GRANULE, 0);
    PhysicalHandle exported = virtual.create(GRANULE, SHARED);
    virtual.map(here, exported);
    virtual.allowAccess(here);

    int descriptor = virtual.exportFileDescriptor(exported);
    PhysicalHandle imported = virtual.importFileDescriptor(descriptor);
    virtual.map(there, imported);
    virtual.allowAccess(there);

    assertTrue(Files.exists(Path.of("/proc/self/fd/" + descriptor))); // still the caller's
    StreamHandle stream = port.createStream(0);
    port.fill(here, (byte) 0x5A, stream);
    assertEquals((byte) 0x5A, pretend.read(there).get(JAVA_BYTE, GRANULE - 1));
    assertTrue(virtual.rdmaCapable(here));
    assertFalse(virtual.rdmaCapable(there)); // an imported handle does not say
    port.destroyStream(stream);
    for (DeviceRange range : new DeviceRange[] {here, there}) {
      virtual.unmap(range);
      virtual.freeAddresses(range);
    }
    virtual.release(exported);
    virtual.release(imported);
    close(descriptor);
  }

  @Test
  void whatWasNotMadeExportableIsNotExported() {
    PhysicalHandle plain = virtual.create(GRANULE, PhysicalForm.plain());

    assertThrows(DriverException.class, () -> virtual.exportFileDescriptor(plain));
    assertThrows(DriverException.class, () -> virtual.importFileDescriptor(-1));

    virtual.release(plain);
  }

  @Test
  void fabricNeedsPermission() {
    DriverException refused =
        assertThrows(
            DriverException.class,
            () ->
                virtual.create(GRANULE, new PhysicalForm(Set.of(HandleKind.FABRIC), RdmaWish.NO)));

    assertEquals(DriverFault.NOT_PERMITTED, refused.fault());
  }

  @Test
  void fabricHandlesAre64BytesAndShareTheMemory(@TempDir Path elsewhere) {
    PretendDriver connected = new PretendDriver(elsewhere, "vmm.fabric-code=0");
    try (DevicePort device = connected.driver().open(0)) {
      VirtualMemoryPort memory = device.virtualMemory().orElseThrow();
      var fabric = memory.fabric().orElseThrow();
      PhysicalHandle known =
          memory.create(GRANULE, new PhysicalForm(Set.of(HandleKind.FABRIC), RdmaWish.NO));
      PhysicalHandle plain = memory.create(GRANULE, PhysicalForm.plain());
      MemorySegment bytes = Arena.ofAuto().allocate(64);

      fabric.exportFabric(known, bytes);
      PhysicalHandle imported = fabric.importFabric(bytes);
      memory.release(known);

      assertEquals(2 * GRANULE, connected.audit().deviceBytes()); // the importer keeps it
      assertThrows(DriverException.class, () -> fabric.exportFabric(plain, bytes));
      memory.release(imported);
      memory.release(plain);
    }
    connected.assertNothingLeft(0);
  }

  @Test
  void mappedMemoryIsNamedByADmaBufDescriptor() throws Exception {
    DeviceRange addresses = virtual.reserve(GRANULE, 0);
    PhysicalHandle handle = virtual.create(GRANULE, PhysicalForm.plain());
    var dmaBuf = virtual.dmaBuf().orElseThrow();
    assertThrows(DriverException.class, () -> dmaBuf.exportDmaBuf(addresses));
    virtual.map(addresses, handle);
    virtual.allowAccess(addresses);

    int descriptor = dmaBuf.exportDmaBuf(addresses);

    assertTrue(
        Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor))
            .toString()
            .contains("dma-buf"));
    close(descriptor);
    virtual.unmap(addresses);
    virtual.release(handle);
    virtual.freeAddresses(addresses);
  }

  private void fillAndReadBack(DeviceRange range) {
    StreamHandle stream = port.createStream(0);
    Arena arena = Arena.ofAuto();
    MemorySegment host = arena.allocate(range.bytes(), 4096);
    CopyTable table =
        new CopyTable(
            arena.allocate(JAVA_LONG),
            arena.allocate(JAVA_LONG),
            arena.allocate(JAVA_LONG),
            CopyTable.Direction.DEVICE_TO_HOST);
    table.set(0, host.address(), range.address(), range.bytes());
    port.fill(range, (byte) 9, stream);
    port.copyEach(table, 0, 1, stream);
    assertEquals(9, host.get(JAVA_BYTE, 0));
    assertEquals(9, host.get(JAVA_BYTE, range.bytes() - 1));
    port.destroyStream(stream);
  }

  /** Closes a raw descriptor with libc's own call. */
  @SuppressWarnings("restricted")
  private static void close(int descriptor) {
    var linker = Linker.nativeLinker();
    var handle =
        linker.downcallHandle(
            linker.defaultLookup().find("close").orElseThrow(),
            FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    try {
      assertEquals(0, (int) handle.invokeExact(descriptor));
    } catch (Throwable bug) {
      throw new AssertionError(bug);
    }
  }
}
