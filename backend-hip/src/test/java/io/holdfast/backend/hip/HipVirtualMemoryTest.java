package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
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
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Virtual memory through the true binding, on a strict pretended runtime. */
final class HipVirtualMemoryTest {
  private static final long GRANULE = 2 << 20;
  private static final PhysicalForm SHARED =
      new PhysicalForm(Set.of(HandleKind.POSIX_FD), RdmaWish.YES);

  @TempDir Path folder;

  private PretendRuntime pretend;
  private DevicePort port;
  private VirtualMemoryPort virtual;

  @BeforeEach
  void open() {
    pretend = new PretendRuntime(folder);
    port = pretend.driver().open(0);
    virtual = port.virtualMemory().orElseThrow();
  }

  @AfterEach
  void nothingIsLeft() {
    port.close();
    pretend.assertNothingLeft();
  }

  @Test
  void whatTheDeviceReportsIsWhatThePortSays() {
    assertEquals(GRANULE, virtual.granuleBytes(PhysicalForm.plain()));
    assertEquals(GRANULE, virtual.granuleBytes(SHARED));
    assertEquals(Set.of(HandleKind.POSIX_FD), virtual.exportableKinds());
    assertTrue(virtual.rdmaPossible());
    assertTrue(virtual.fabric().isEmpty());
    assertTrue(virtual.dmaBuf().isPresent());
  }

  @Test
  void eachVersionOffersWhatItCanDo(@TempDir Path elsewhere) {
    Map<Integer, String> offers = new TreeMap<>();
    for (int version :
        new int[] {
          PretendRuntime.HIP_5_2,
          60_143_483,
          60_241_133,
          PretendRuntime.HIP_7_0,
          PretendRuntime.HIP_7_2
        }) {
      Path own = elsewhere.resolve(String.valueOf(version));
      assertTrue(own.toFile().mkdir());
      try (DevicePort device = new PretendRuntime(own, version).driver().open(0)) {
        offers.put(
            version / 100_000,
            device
                .virtualMemory()
                .map(
                    memory ->
                        memory.exportableKinds().size()
                            + (memory.dmaBuf().isPresent() ? " dma-buf" : "")
                            + (memory.rdmaPossible() ? " rdma" : ""))
                .orElse("none"));
      }
    }

    assertEquals(
        Map.of(502, "none", 601, "0", 602, "1", 700, "1 dma-buf", 702, "1 dma-buf"), offers);
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
  void misuseIsTheRuntimesOwnAnswerWithTheRange() {
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
        "hipMemMap(0x%x, %d)".formatted(addresses.address(), addresses.bytes()),
        larger.operation());
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

  /** Up to 7.0 the descriptor's address is passed, from 7.1 on the descriptor. */
  @ParameterizedTest
  @ValueSource(
      ints = {
        PretendRuntime.HIP_6_4,
        PretendRuntime.HIP_7_0,
        PretendRuntime.HIP_7_1,
        PretendRuntime.LATEST
      })
  void exportedMemoryIsImportedByDescriptorAndSharesItsBytes(int version, @TempDir Path elsewhere) {
    pretend = new PretendRuntime(elsewhere, version);
    port = pretend.driver().open(0);
    virtual = port.virtualMemory().orElseThrow();
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
    assertEquals((byte) 0x5A, deviceMemory(there).get(JAVA_BYTE, GRANULE - 1));
    assertTrue(virtual.rdmaCapable(here));
    assertFalse(virtual.rdmaCapable(there)); // an imported handle does not say
    port.destroyStream(stream);
    for (DeviceRange range : new DeviceRange[] {here, there}) {
      virtual.unmap(range);
      virtual.freeAddresses(range);
    }
    virtual.release(exported);
    virtual.release(imported);
    LibC.close(descriptor);
  }

  @Test
  void whatWasNotMadeExportableIsNotExported() {
    PhysicalHandle plain = virtual.create(GRANULE, PhysicalForm.plain());

    assertThrows(DriverException.class, () -> virtual.exportFileDescriptor(plain));
    assertThrows(DriverException.class, () -> virtual.importFileDescriptor(-1));

    virtual.release(plain);
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
    LibC.close(descriptor);
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

  @SuppressWarnings("restricted")
  private static MemorySegment deviceMemory(DeviceRange range) {
    return MemorySegment.ofAddress(range.address()).reinterpret(range.bytes());
  }
}
