package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.backend.cpusim.driver.SimulatedCrash;
import io.holdfast.device.HandleKind;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.Traits.Quirk;
import io.holdfast.spi.VirtualMemoryPort;
import io.holdfast.spi.VirtualMemoryPort.PhysicalForm;
import io.holdfast.spi.VirtualMemoryPort.RdmaWish;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The virtual-memory matrix of CUDA 580, and the faults of HIP's versions. */
class VirtualMemoryTest {
  private static final long GRANULE = 2 << 20;

  private final SimMachine machine = SimMachine.builder().leaks(LeakPolicy.IGNORE).build();
  private final AcceleratorDriver driver = machine.driver();
  private final DevicePort port = driver.open(0);
  private final StreamHandle stream = port.createStream(0);
  private final VirtualMemoryPort vmm = port.virtualMemory().orElseThrow();
  private final SimDriver raw = machine.calls();
  private final SimEngine engine = machine.engine(0);

  @AfterEach
  void close() {
    engine.close();
    port.close();
    driver.close();
    machine.close();
  }

  private static DeviceRange part(DeviceRange range, long first, long count) {
    return new DeviceRange(range.address() + first * GRANULE, count * GRANULE);
  }

  @Test
  void sizesAreWholeGranules() {
    assertEquals(GRANULE, vmm.granuleBytes(PhysicalForm.plain()));
    assertEquals(1, Answer.of(() -> vmm.reserve(4096, 0)));
    assertEquals(1, Answer.of(() -> vmm.reserve(1000, 0)));
    assertEquals(1, Answer.of(() -> vmm.reserve(GRANULE, 3)));
    assertEquals(1, Answer.of(() -> vmm.create(4096, PhysicalForm.plain())));
    assertEquals(2, Answer.of(() -> vmm.create(1L << 40, PhysicalForm.plain())));
    assertEquals(0, Answer.of(() -> vmm.reserve(64L << 40, 1 << 30)));
  }

  @Test
  void mappingTakesTheWholeAllocation() {
    DeviceRange range = vmm.reserve(8 * GRANULE, 0);
    PhysicalHandle two = vmm.create(2 * GRANULE, PhysicalForm.plain());

    assertEquals(801, raw.memMap(range.address(), GRANULE, GRANULE, two.value(), 0), "offset");
    assertEquals(801, Answer.of(() -> vmm.map(part(range, 0, 1), two)), "smaller");
    assertEquals(801, Answer.of(() -> vmm.map(part(range, 0, 3), two)), "larger");
    assertEquals(1, raw.memMap(range.address() + 4096, 2 * GRANULE, 0, two.value(), 0), "aligned");
    assertEquals(0, Answer.of(() -> vmm.map(part(range, 0, 2), two)));
    assertEquals(1, Answer.of(() -> vmm.map(part(range, 1, 2), two)), "over a mapped range");
    assertEquals(0, Answer.of(() -> vmm.map(part(range, 4, 2), two)), "at a second address");
    assertEquals(1, Answer.of(() -> vmm.map(part(range, 7, 2), two)), "beyond the reservation");
    assertEquals(1, Answer.of(() -> vmm.map(part(range, 2, 2), new PhysicalHandle(5))));
  }

  @Test
  void accessIsGivenToWholeMappings() {
    DeviceRange range = vmm.reserve(8 * GRANULE, 0);
    for (int i = 0; i < 3; i++) {
      PhysicalHandle two = vmm.create(2 * GRANULE, PhysicalForm.plain());
      vmm.map(part(range, 2L * i, 2), two);
      vmm.release(two);
    }
    assertEquals(1, Answer.of(() -> port.fill(part(range, 0, 1), (byte) 1, stream)), "before");
    assertEquals(1, Answer.of(() -> vmm.allowAccess(part(range, 0, 1))), "part of a mapping");
    assertEquals(1, Answer.of(() -> vmm.allowAccess(part(range, 4, 4))), "an unmapped tail");
    assertEquals(0, Answer.of(() -> vmm.allowAccess(part(range, 4, 2))), "the newest only");
    assertEquals(0, Answer.of(() -> vmm.allowAccess(part(range, 0, 6))), "several");
    assertEquals(0, Answer.of(() -> port.fill(part(range, 1, 4), (byte) 1, stream)), "across");
    assertEquals(1, Answer.of(() -> port.fill(part(range, 5, 2), (byte) 1, stream)), "the tail");
    assertEquals(1, raw.memSetAccess(range.address(), 2 * GRANULE, 1, 99, 3), "device 99");
    assertEquals(1, raw.memSetAccess(range.address(), 2 * GRANULE, 1, 0, 2), "flags 2");
    assertEquals(801, raw.memSetAccess(range.address(), 2 * GRANULE, 2, 0, 3), "the host");
    port.awaitStream(stream);
    assertEquals(1, engine.read(range.address() + 3 * GRANULE - 1, 1)[0]);
    assertEquals(
        part(range, 2, 2), port.rangeOf(range.address() + 3 * GRANULE).orElseThrow(), "a mapping");
    assertEquals(1, Answer.of(() -> port.free(part(range, 0, 2))), "not by cuMemFree");
  }

  @Test
  void unmappingTakesWholeMappingsAndForgivesNothing() {
    DeviceRange range = vmm.reserve(4 * GRANULE, 0);
    PhysicalHandle two = vmm.create(2 * GRANULE, PhysicalForm.plain());
    vmm.map(part(range, 0, 2), two);
    vmm.map(part(range, 2, 2), two);

    assertEquals(1, Answer.of(() -> vmm.unmap(part(range, 0, 1))), "part of one");
    assertEquals(1, Answer.of(() -> vmm.unmap(part(range, 1, 2))), "parts of two");
    assertEquals(1, Answer.of(() -> vmm.freeAddresses(range)), "still mapped");
    assertEquals(0, Answer.of(() -> vmm.unmap(range)), "two in one call");
    assertEquals(0, Answer.of(() -> vmm.unmap(range)), "nothing is mapped");
    assertEquals(1, Answer.of(() -> vmm.freeAddresses(part(range, 0, 2))), "the wrong size");
    assertEquals(0, Answer.of(() -> vmm.freeAddresses(range)));
    vmm.release(two);
    assertEquals(1, Answer.of(() -> vmm.release(two)), "once too often");
  }

  @Test
  void memoryLivesUntilNothingRefersToIt() {
    long before = port.memoryInfo().freeBytes();
    DeviceRange range = vmm.reserve(2 * GRANULE, 0);
    PhysicalHandle handle = vmm.create(2 * GRANULE, PhysicalForm.plain());
    vmm.map(range, handle);
    vmm.allowAccess(range);
    vmm.release(handle);
    port.fill(range, (byte) 6, stream);
    port.awaitStream(stream);
    assertEquals(6, engine.read(range.address(), 1)[0], "released and still usable");
    assertEquals(before - 2 * GRANULE, port.memoryInfo().freeBytes());
    vmm.unmap(range);
    assertEquals(before, port.memoryInfo().freeBytes());
    vmm.freeAddresses(range);
  }

  @Test
  void aDescriptorSharesTheBytes() {
    PhysicalForm form = new PhysicalForm(Set.of(HandleKind.POSIX_FD), RdmaWish.YES);
    PhysicalHandle handle = vmm.create(GRANULE, form);
    int descriptor = vmm.exportFileDescriptor(handle);
    PhysicalHandle imported = vmm.importFileDescriptor(descriptor);
    DeviceRange one = vmm.reserve(GRANULE, 0);
    DeviceRange other = vmm.reserve(GRANULE, 0);
    vmm.map(one, handle);
    vmm.map(other, imported);
    vmm.allowAccess(one);
    vmm.allowAccess(other);
    assertTrue(vmm.rdmaCapable(one));
    port.fill(one, (byte) 4, stream);
    port.awaitStream(stream);

    assertEquals(4, engine.read(other.address() + GRANULE - 1, 1)[0]);
    assertNotEquals(handle, imported);
    assertEquals(1, machine.audit().descriptors());
    assertTrue(raw.closeDescriptor(descriptor));
    assertFalse(raw.closeDescriptor(descriptor), "twice");
    assertEquals(999, Answer.of(() -> vmm.importFileDescriptor(descriptor)), "closed");
    long[] properties = new long[5];
    assertEquals(0, raw.memGetAllocationProperties(properties, imported.value()));
    assertEquals(0, properties[1], "an imported handle has no types");
    PhysicalHandle plain = vmm.create(GRANULE, PhysicalForm.plain());
    assertEquals(1, Answer.of(() -> vmm.exportFileDescriptor(plain)), "not asked for");
  }

  @Test
  void fabricIsOfferedAndRefusedAsOnTheMeasuredMachine() {
    assertTrue(vmm.exportableKinds().contains(HandleKind.FABRIC));
    assertEquals(
        800,
        Answer.of(
            () -> vmm.create(GRANULE, new PhysicalForm(Set.of(HandleKind.FABRIC), RdmaWish.NO))));
  }

  @Test
  void aWishForAddressesThatHadMemoryIsIgnoredByNewerDrivers() {
    DeviceRange range = vmm.reserve(2 * GRANULE, 0);
    DeviceRange head = new DeviceRange(range.address(), GRANULE);
    PhysicalHandle memory = vmm.create(GRANULE, PhysicalForm.plain());
    vmm.map(head, memory);
    vmm.unmap(head);
    vmm.release(memory);
    vmm.freeAddresses(range);

    DeviceRange elsewhere = vmm.reserveAt(range);

    assertEquals(range.bytes(), elsewhere.bytes());
    assertNotEquals(range.address(), elsewhere.address());
    vmm.freeAddresses(elsewhere);
  }

  @Test
  void anExportedDescriptorIsTheKernelsToDuplicateAndToClose() {
    PhysicalHandle memory =
        vmm.create(GRANULE, new PhysicalForm(Set.of(HandleKind.POSIX_FD), RdmaWish.NO));
    int exported = vmm.exportFileDescriptor(memory);

    FileHandle copy = machine.kernel().takeFrom(ProcessHandle.current().pid(), exported);
    machine.kernel().close(new FileHandle(exported));
    vmm.release(memory);
    PhysicalHandle imported = vmm.importFileDescriptor(copy.descriptor());

    assertEquals(1, machine.audit().descriptors());
    machine.kernel().close(copy);
    vmm.release(imported);
    assertEquals(0, machine.audit().descriptors());
    assertEquals(0, machine.audit().deviceBytes());
  }

  @Test
  void anAddressCanBeTakenAgain() {
    DeviceRange range = vmm.reserve(4 * GRANULE, 0);
    vmm.freeAddresses(range);
    assertEquals(range, vmm.reserveAt(range));
    assertNotEquals(range, vmm.reserveAt(range), "taken: another address is given");
  }

  @Test
  void unmappingUnderWorkLosesTheContext() {
    DeviceRange range = vmm.reserve(GRANULE, 0);
    PhysicalHandle handle = vmm.create(GRANULE, PhysicalForm.plain());
    vmm.map(range, handle);
    vmm.allowAccess(range);
    var busy = raw.block(stream.value());
    port.fill(range, (byte) 1, stream);
    vmm.unmap(range);
    busy.release();
    assertEquals(700, Answer.of(() -> port.awaitStream(stream)));
  }

  @Test
  void oldHipSaysNoByAttribute() {
    for (String version : new String[] {"hip-5.2", "hip-5.7"}) {
      try (SimMachine amd =
          SimMachine.builder().leaks(LeakPolicy.IGNORE).personality(version).build()) {
        DevicePort other = amd.driver().open(0);
        assertTrue(other.virtualMemory().isEmpty(), version);
        long[] address = {77};
        assertEquals(0, amd.calls().memAddressReserve(address, GRANULE, 0, 0, 0));
        assertEquals(77, address[0], "success, and nothing written");
        other.close();
      }
    }
  }

  @Test
  void hip72KeepsMemoryWhileItsAddressesAreReserved() {
    try (SimMachine amd =
        SimMachine.builder().leaks(LeakPolicy.IGNORE).personality("hip-7.2").build()) {
      DevicePort other = amd.driver().open(0);
      VirtualMemoryPort memory = other.virtualMemory().orElseThrow();
      long before = other.memoryInfo().freeBytes();
      DeviceRange range = memory.reserve(GRANULE, 0);
      PhysicalHandle handle = memory.create(GRANULE, PhysicalForm.plain());
      memory.map(range, handle);
      memory.unmap(range);
      memory.release(handle);

      assertEquals(before - GRANULE, other.memoryInfo().freeBytes());
      memory.freeAddresses(range);
      assertEquals(before, other.memoryInfo().freeBytes());
      assertTrue(other.traits(4096).quirks().contains(Quirk.RE_RESERVE_TO_RETURN));
      assertEquals(1, amd.calls().memMap(range.address(), GRANULE, 4096, 1, 0), "offset");
      other.close();
    }
  }

  @Test
  void hip71RefusesAccessToAGrownTailSomeOfTheTime() {
    int refused = 0;
    for (int seed = 0; seed < 30; seed++) {
      try (SimMachine amd =
          SimMachine.builder().leaks(LeakPolicy.IGNORE).personality("hip-7.1").seed(seed).build()) {
        DevicePort other = amd.driver().open(0);
        VirtualMemoryPort memory = other.virtualMemory().orElseThrow();
        for (int i = 0; i < 2; i++) {
          memory.reserve(GRANULE, 0);
        }
        DeviceRange range = memory.reserve(2 * GRANULE, 0);
        PhysicalHandle handle = memory.create(GRANULE, PhysicalForm.plain());
        memory.map(part(range, 0, 1), handle);
        memory.map(part(range, 1, 1), handle);
        memory.allowAccess(part(range, 0, 1));
        refused += Answer.of(() -> memory.allowAccess(part(range, 1, 1)));
        assertEquals(0, Answer.of(() -> memory.allowAccess(range)), "the whole prefix never");
        assertTrue(other.traits(4096).quirks().contains(Quirk.ACCESS_WHOLE_PREFIX));
        other.close();
      }
    }
    assertTrue(refused > 10 && refused < 30, "of 30 machines: " + refused);
  }

  @Test
  void hip64CannotFreeAddressesAfterOneUnmapOverTwoMappings() {
    try (SimMachine amd =
        SimMachine.builder().leaks(LeakPolicy.IGNORE).personality("hip-6.4").build()) {
      DevicePort other = amd.driver().open(0);
      VirtualMemoryPort memory = other.virtualMemory().orElseThrow();
      DeviceRange range = memory.reserve(2 * GRANULE, 0);
      PhysicalHandle handle = memory.create(GRANULE, PhysicalForm.plain());
      memory.map(part(range, 0, 1), handle);
      memory.map(part(range, 1, 1), handle);
      memory.unmap(range);
      assertEquals(1, Answer.of(() -> memory.freeAddresses(range)));
      assertTrue(other.traits(4096).quirks().contains(Quirk.UNMAP_EACH_MAPPING));
      other.close();
    }
  }

  @Test
  void aPersonalityCanCrashOnUnmappingNothing() {
    var crashing =
        io.holdfast.backend.cpusim.driver.Personalities.named(
            "hip-6.4", java.util.Map.of("vmm.unmap-unmapped", "crashes"));
    try (SimMachine amd =
        SimMachine.builder().leaks(LeakPolicy.IGNORE).personality(crashing).build()) {
      DevicePort other = amd.driver().open(0);
      VirtualMemoryPort memory = other.virtualMemory().orElseThrow();
      DeviceRange range = memory.reserve(GRANULE, 0);
      assertThrows(SimulatedCrash.class, () -> memory.unmap(range));
      other.close();
    }
  }
}
