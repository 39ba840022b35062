package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.backend.cpusim.driver.SimulatedCrash;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.HostAllocationPort;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.Traits;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The registration matrix of CUDA 580, and where HIP differs. */
class RegistrationTest {
  private static final long PAGE = 4096;

  private final SimMachine machine = SimMachine.builder().leaks(LeakPolicy.IGNORE).build();
  private final AcceleratorDriver driver = machine.driver();
  private final DevicePort port = driver.open(0);
  private final Arena arena = Arena.ofShared();
  private final MemorySegment memory = arena.allocate(16 * PAGE, PAGE);

  @AfterEach
  void close() {
    port.close();
    driver.close();
    machine.close();
    arena.close();
  }

  private MemorySegment pages(long first, long count) {
    return memory.asSlice(first * PAGE, count * PAGE);
  }

  @Test
  void overlapIsRefusedByExactBytes() {
    port.register(pages(4, 4));

    assertEquals(712, Answer.of(() -> port.register(pages(4, 4))), "the same range");
    assertEquals(712, Answer.of(() -> port.register(pages(5, 1))), "an inner range");
    assertEquals(712, Answer.of(() -> port.register(pages(3, 8))), "an outer range");
    assertEquals(712, Answer.of(() -> port.register(pages(7, 4))), "an overlapping tail");
    assertEquals(0, Answer.of(() -> port.register(pages(8, 2))), "the adjacent range");
    assertEquals(0, Answer.of(() -> port.register(pages(2, 2))), "the adjacent range before");
  }

  @Test
  void twoRangesOfOnePageAreTwoRegistrations() {
    assertEquals(0, Answer.of(() -> port.register(memory.asSlice(100, 1000))));
    assertEquals(0, Answer.of(() -> port.register(memory.asSlice(2000, 1000))));
    assertEquals(713, Answer.of(() -> port.unregister(memory.asSlice(0, PAGE))), "the page's base");
    assertEquals(0, Answer.of(() -> port.unregister(memory.asSlice(100, 1000))));
    assertEquals(1, machine.audit().registrations());
  }

  @Test
  void unregisteringNeedsTheExactStart() {
    port.register(pages(0, 4));

    assertEquals(1, Answer.of(() -> port.unregister(pages(1, 1))), "an interior pointer");
    assertEquals(713, Answer.of(() -> port.unregister(pages(8, 1))), "never registered");
    assertEquals(0, Answer.of(() -> port.unregister(pages(0, 4))));
    assertEquals(713, Answer.of(() -> port.unregister(pages(0, 4))), "a second time");
  }

  @Test
  void nothingAndNowhereAreRefused() {
    assertEquals(1, Answer.of(() -> port.register(memory.asSlice(0, 0))));
    assertEquals(1, Answer.of(() -> port.register(MemorySegment.ofAddress(0).reinterpret(PAGE))));
    long device = port.allocate(PAGE).address();
    assertEquals(
        1, Answer.of(() -> port.register(MemorySegment.ofAddress(device).reinterpret(PAGE))));
    port.free(new DeviceRange(device, PAGE));
  }

  /** As it was probed byte by byte on drivers 580 and 590. */
  @Test
  void b30_theProbedTableOfRegistrations() {
    SimDriver calls = machine.calls();
    SimEngine engine = machine.engine(0);
    engine.makeCurrent();
    long p = memory.address() + 13; // no page begins there
    long[] allocated = new long[1];
    assertEquals(0, calls.memHostAlloc(allocated, 64, 0));

    assertEquals(0, calls.memHostRegister(p, 80, 0), "an unaligned start");
    assertEquals(0, calls.memHostRegister(p + 80, 20, 0), "the bytes behind it, of the same page");
    assertEquals(712, calls.memHostRegister(p + 40, 8, 0), "bytes inside it");
    assertEquals(712, calls.memHostRegister(p + 79, 2, 0), "one byte of each");
    assertEquals(1, calls.memHostUnregister(p + 8), "an interior pointer");
    assertEquals(713, calls.memHostUnregister(p + PAGE), "a pointer nobody registered");
    assertEquals(1, calls.memHostUnregister(allocated[0]), "memory of the driver's own");
    assertEquals(1, calls.memHostRegister(p + 2 * PAGE, 0, 0), "nothing");
    assertEquals(0, calls.memHostAlloc(new long[1], 0, 0), "an allocation of nothing");
    assertEquals(0, calls.memHostUnregister(p));
    assertEquals(0, calls.memHostUnregister(p + 80));
    assertEquals(713, calls.memHostUnregister(p), "a second time");

    assertEquals(0, calls.memFreeHost(allocated[0]));
    engine.makeNoneCurrent();
    engine.close();
  }

  @Test
  void theRefusalSaysWhatItMeans() {
    port.register(pages(0, 1));
    DriverException refused = assertThrows(DriverException.class, () -> port.register(pages(0, 2)));

    assertEquals(DriverFault.ALREADY_REGISTERED, refused.fault());
    assertEquals("CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", refused.codeName());
    assertEquals("cpu-sim", refused.backend());
    assertTrue(refused.operation().startsWith("cuMemHostRegister_v2(0x"), refused.operation());
  }

  @Test
  void holesAndReadOnlyPagesAreRefused(@TempDir Path folder) throws IOException {
    assumeTrue(machine.kernel().pages() == HostKernel.Pages.KERNEL, "needs Linux mappings");
    long page = machine.kernel().basePageBytes();
    MemorySegment mapped = machine.kernel().map(8 * page, HostKernel.Mapping.anonymous());
    machine.kernel().unmap(mapped.asSlice(3 * page, page));

    assertEquals(1, Answer.of(() -> port.register(mapped)), "a hole inside");
    assertEquals(1, Answer.of(() -> port.register(mapped.asSlice(3 * page, page))), "unmapped");
    assertEquals(0, Answer.of(() -> port.register(mapped.asSlice(0, 3 * page))), "up to the hole");
    assertEquals(0, Answer.of(() -> port.unregister(mapped.asSlice(0, 3 * page))));
    machine.kernel().unmap(mapped.asSlice(0, 3 * page));
    machine.kernel().unmap(mapped.asSlice(4 * page, 4 * page));

    Path file = folder.resolve("pages");
    Files.write(file, new byte[Math.toIntExact(4 * page)]);
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      MemorySegment readOnly = channel.map(FileChannel.MapMode.READ_ONLY, 0, 4 * page, arena);
      assertEquals(1, Answer.of(() -> port.register(readOnly)), "read-only");
    }
  }

  @Test
  void oneCallOfHalfATebibyteIsRefusedAtOnce() {
    try (SimMachine roomy =
        SimMachine.builder()
            .leaks(LeakPolicy.IGNORE)
            .hostSpace(io.holdfast.backend.cpusim.driver.HostSpace.unknown(4096))
            .build()) {
      DevicePort other = roomy.driver().open(0);
      MemorySegment huge = MemorySegment.ofAddress(1L << 40).reinterpret(1L << 40);

      assertEquals(2, Answer.of(() -> other.register(huge.asSlice(0, 1L << 39))));
      assertEquals(0, Answer.of(() -> other.register(huge.asSlice(0, (1L << 39) - PAGE))));
      assertEquals(
          0, Answer.of(() -> other.register(huge.asSlice(1L << 39, 1L << 38))), "not a total");
      Traits traits = other.traits(PAGE);
      assertEquals(1, traits.bounds().size());
      assertTrue(traits.bounds().get(0).maxBytes() < 1L << 39);
      other.close();
    }
  }

  @Test
  void onCudaTheDeviceSeesTheHostsAddress() {
    port.register(pages(0, 4));

    DeviceRange seen = port.seenByDevice(pages(2, 1));
    assertEquals(pages(2, 1).address(), seen.address());
    assertEquals(PAGE, seen.bytes());
    assertEquals(1, Answer.of(() -> port.seenByDevice(pages(5, 1))), "not registered");
    assertEquals(Traits.Alias.SAME_ADDRESS, port.traits(PAGE).alias());
  }

  @Test
  void memoryOfTheDriverIsNoneOfOurs() {
    HostAllocationPort host = port.hostAllocations().orElseThrow();
    MemorySegment allocated = host.allocate(3 * PAGE, HostAllocationPort.Caching.NORMAL);

    assertEquals(3 * PAGE, allocated.byteSize());
    assertEquals(0, allocated.get(java.lang.foreign.ValueLayout.JAVA_BYTE, 3 * PAGE - 1));
    assertEquals(1, Answer.of(() -> port.register(allocated)), "register");
    assertEquals(1, Answer.of(() -> port.unregister(allocated)), "unregister");
    port.register(pages(0, 1));
    assertEquals(1, Answer.of(() -> host.free(pages(0, 1))), "free what was registered");
    host.free(allocated);
    assertEquals(1, Answer.of(() -> host.free(allocated)), "free twice");
    assertEquals(0, machine.audit().hostAllocations());
  }

  @Test
  void registrationsOfADestroyedContextAreGone() {
    port.register(pages(0, 1));
    port.close();
    assertEquals(0, machine.audit().registrations());

    DevicePort again = driver.open(0);
    assertEquals(0, Answer.of(() -> again.register(pages(0, 1))));
    again.close();
  }

  @Test
  void hipAcceptsARangeTwiceAndLosesAnObject() {
    try (SimMachine amd =
        SimMachine.builder().leaks(LeakPolicy.IGNORE).personality("hip-7.2").build()) {
      DevicePort other = amd.driver().open(0);
      other.register(pages(0, 4));

      assertEquals(0, Answer.of(() -> other.register(pages(0, 4))));
      assertEquals(1, amd.audit().lostObjects());
      assertEquals(0, Answer.of(() -> other.unregister(pages(0, 4))));
      assertEquals(713, Answer.of(() -> other.unregister(pages(0, 4))));
      other.close();
    }
  }

  @Test
  void newHipRefusesOnlyAStartInsideARange() {
    try (SimMachine amd =
        SimMachine.builder().leaks(LeakPolicy.IGNORE).personality("hip-7.15").build()) {
      DevicePort other = amd.driver().open(0);
      other.register(pages(4, 4));

      assertEquals(712, Answer.of(() -> other.register(pages(4, 4))));
      assertEquals(712, Answer.of(() -> other.register(pages(7, 4))));
      assertEquals(0, Answer.of(() -> other.register(pages(2, 8))), "contains the old one");
      other.close();
    }
  }

  @Test
  void hipAbortsOnAnInteriorPointer() {
    try (SimMachine amd =
        SimMachine.builder().leaks(LeakPolicy.IGNORE).personality("hip-6.4").build()) {
      DevicePort other = amd.driver().open(0);
      other.register(pages(0, 4));

      assertThrows(SimulatedCrash.class, () -> other.unregister(pages(1, 1)));
      assertEquals(0, Answer.of(() -> other.unregister(pages(0, 4))), "the lock was not kept");
      other.close();
    }
  }

  @Test
  void onHipTheAliasDiffersPerRangeAndDevice() {
    try (SimMachine amd =
        SimMachine.builder().leaks(LeakPolicy.IGNORE).personality("hip-7.1").build()) {
      DevicePort first = amd.driver().open(0);
      DevicePort second = amd.driver().open(1);
      first.register(pages(0, 2));
      first.register(pages(2, 2));

      long low = first.seenByDevice(pages(0, 1)).address();
      long high = first.seenByDevice(pages(2, 1)).address();
      long other = second.seenByDevice(pages(0, 1)).address();
      assertTrue(low != pages(0, 1).address());
      assertTrue(high - low != 2 * PAGE, "adjacent ranges are not adjacent on the device");
      assertTrue(other != low);
      assertEquals(Traits.Alias.PER_RANGE, first.traits(PAGE).alias());
      assertEquals(
          713,
          Answer.of(() -> first.unregister(MemorySegment.ofAddress(low).reinterpret(PAGE))),
          "the alias cannot be unregistered");
      first.close();
      second.close();
    }
  }

  @Test
  void theCodeOfAFailedRegistrationDependsOnTheVersion() {
    MemorySegment nowhere = MemorySegment.ofAddress(1L << 16).reinterpret(PAGE);
    assumeTrue(machine.kernel().pages() == HostKernel.Pages.KERNEL, "needs Linux mappings");
    for (String personality : new String[] {"hip-5.2", "hip-5.7"}) {
      try (SimMachine amd =
          SimMachine.builder().leaks(LeakPolicy.IGNORE).personality(personality).build()) {
        DevicePort other = amd.driver().open(0);
        assertEquals(
            personality.equals("hip-5.2") ? 2 : 1, Answer.of(() -> other.register(nowhere)));
        other.close();
      }
    }
  }

  @Test
  void everyCallIsInTheLedger() {
    long mark = machine.ledger().mark();
    port.register(pages(0, 2));
    port.unregister(pages(0, 2));

    assertEquals(1, machine.ledger().count(Operation.HOST_REGISTER));
    var calls =
        machine.ledger().since(mark).stream()
            .filter(call -> !call.operation().isThreadBookkeeping())
            .toList();
    assertEquals(2, calls.size());
    assertEquals(Operation.HOST_REGISTER, calls.get(0).operation());
    assertEquals(memory.address(), calls.get(0).first());
    assertEquals(2 * PAGE, calls.get(0).second());
    assertEquals(3, calls.get(0).third(), "portable and mapped");
    assertEquals(Operation.HOST_UNREGISTER, calls.get(1).operation());
  }
}
