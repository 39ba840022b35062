package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.backend.cpusim.driver.Blocker;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.error.DriverException;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.BatchCopyPort.SourceReads;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.CopyTable.Direction;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.KernelCopyPort;
import io.holdfast.spi.StreamHandle;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which copies a driver takes, and that bytes arrive. */
class CopyTest {
  private static final long PAGE = 4096;

  private final SimMachine machine = SimMachine.builder().leaks(LeakPolicy.FAIL).build();
  private final AcceleratorDriver driver = machine.driver();
  private final DevicePort port = driver.open(0);
  private final StreamHandle stream = port.createStream(0);
  private final Arena arena = Arena.ofShared();
  private final MemorySegment host = arena.allocate(16 * PAGE, PAGE);
  private final DeviceRange device = port.allocate(16 * PAGE);

  @AfterEach
  void close() {
    port.awaitStream(stream);
    port.destroyStream(stream);
    port.free(device);
    port.close();
    driver.close();
    machine.close();
    arena.close();
  }

  private CopyTable table(int rows, Direction direction) {
    return new CopyTable(
        arena.allocate(8L * rows, 8),
        arena.allocate(8L * rows, 8),
        arena.allocate(8L * rows, 8),
        direction);
  }

  private int toDevice(long hostOffset, long deviceOffset, long bytes) {
    CopyTable one = table(1, Direction.HOST_TO_DEVICE);
    one.set(0, device.address() + deviceOffset, host.address() + hostOffset, bytes);
    return Answer.of(() -> port.copyEach(one, 0, 1, stream));
  }

  private int toHost(long hostOffset, long deviceOffset, long bytes) {
    CopyTable one = table(1, Direction.DEVICE_TO_HOST);
    one.set(0, host.address() + hostOffset, device.address() + deviceOffset, bytes);
    return Answer.of(() -> port.copyEach(one, 0, 1, stream));
  }

  @Test
  void aHostRangeLiesInOneRegistrationOrInNone() {
    port.register(host.asSlice(0, 4 * PAGE));
    port.register(host.asSlice(4 * PAGE, 4 * PAGE));

    assertEquals(0, toDevice(0, 0, 4 * PAGE), "inside one registration");
    assertEquals(1, toDevice(3 * PAGE, 0, 2 * PAGE), "across two adjacent ones");
    assertEquals(1, toHost(3 * PAGE, 0, 2 * PAGE), "across two adjacent ones, back");
    assertEquals(1, toDevice(7 * PAGE, 0, 2 * PAGE), "begins registered, ends unregistered");
    assertEquals(0, toDevice(9 * PAGE, 0, 2 * PAGE), "unregistered throughout");
    port.unregister(host.asSlice(0, 4 * PAGE));
    assertEquals(0, toDevice(3 * PAGE, 0, 2 * PAGE), "begins unregistered, ends registered");
    port.unregister(host.asSlice(4 * PAGE, 4 * PAGE));
  }

  @Test
  void aDeviceRangeLiesInOneAllocation() {
    port.register(host);

    assertEquals(0, toDevice(0, 16 * PAGE - 512, 512), "up to the end");
    assertEquals(1, toDevice(0, 16 * PAGE - 512, 513), "past the end");
    DeviceRange neighbour = port.allocate(PAGE);
    assertEquals(device.endAddress(), neighbour.address(), "even where the next one follows");
    assertEquals(1, toDevice(0, 15 * PAGE, 2 * PAGE));
    port.free(neighbour);
    assertEquals(0, toDevice(0, 0, 0), "nothing");
    port.unregister(host);
  }

  @Test
  void freedMemoryIsRefused() {
    port.register(host);
    DeviceRange gone = port.allocate(PAGE);
    port.free(gone);
    CopyTable one = table(1, Direction.HOST_TO_DEVICE);
    one.set(0, gone.address(), host.address(), PAGE);

    assertEquals(1, Answer.of(() -> port.copyEach(one, 0, 1, stream)));
    assertEquals(1, Answer.of(() -> port.free(gone)), "freed twice");
    assertEquals(
        1, Answer.of(() -> port.free(new DeviceRange(device.address() + 512, 512))), "interior");
    port.unregister(host);
  }

  @Test
  void aFailedCopyNamesItsRowAndLeavesLaterOnesOut() {
    port.register(host);
    CopyTable three = table(4, Direction.HOST_TO_DEVICE);
    host.fill((byte) 7);
    three.set(1, device.address(), host.address(), PAGE);
    three.set(2, device.address() + 16 * PAGE, host.address(), PAGE);
    three.set(3, device.address() + 2 * PAGE, host.address(), PAGE);

    DriverException refused =
        assertThrows(DriverException.class, () -> port.copyEach(three, 1, 4, stream));
    assertEquals(OptionalLong.of(2), refused.entry());
    assertEquals(2, machine.ledger().count(Operation.MEMCPY_HTOD_ASYNC));
    port.awaitStream(stream);
    try (SimEngine engine = machine.engine(0)) {
      assertEquals(7, engine.read(device.address() + PAGE - 1, 1)[0]);
      assertEquals((byte) 0xD5, engine.read(device.address() + 2 * PAGE, 1)[0]);
    }
    port.unregister(host);
  }

  @Test
  void randomCopiesOfEverySizeAndAlignmentAreByteExact() {
    SplittableRandom random = new SplittableRandom(42);
    int size = 3 * 65536 + 4096;
    MemorySegment pinned = arena.allocate(size, PAGE);
    DeviceRange there = port.allocate(size);
    port.register(pinned);
    byte[] expected = new byte[size];
    java.util.Arrays.fill(expected, (byte) 0xD5);
    CopyTable one = table(1, Direction.HOST_TO_DEVICE);
    for (int i = 0; i < 300; i++) {
      int at = random.nextInt(size - 1);
      int bytes = 1 + random.nextInt(size - at);
      int from = random.nextInt(size - bytes + 1);
      byte[] content = new byte[bytes];
      random.nextBytes(content);
      MemorySegment.copy(content, 0, pinned, ValueLayout.JAVA_BYTE, from, bytes);
      one.set(0, there.address() + at, pinned.address() + from, bytes);
      port.copyEach(one, 0, 1, stream);
      port.awaitStream(stream);
      System.arraycopy(content, 0, expected, at, bytes);
    }
    try (SimEngine engine = machine.engine(0)) {
      assertArrayEquals(expected, engine.read(there.address(), size), "seed 42");
    }
    port.unregister(pinned);
    port.free(there);
  }

  @Test
  void aBatchIsRefusedAsAWhole() {
    BatchCopyPort batch = port.batchCopies().orElseThrow();
    port.register(host.asSlice(0, 4 * PAGE));
    port.register(host.asSlice(4 * PAGE, 12 * PAGE));
    CopyTable two = table(2, Direction.HOST_TO_DEVICE);
    two.set(0, device.address(), host.address(), PAGE);
    two.set(1, device.address() + PAGE, host.address() + 3 * PAGE, 2 * PAGE);

    DriverException refused =
        assertThrows(
            DriverException.class,
            () -> batch.copyBatch(two, 0, 2, SourceReads.IN_STREAM_ORDER, stream));
    assertEquals(1, refused.code());
    assertEquals(OptionalLong.empty(), refused.entry(), "the eight-argument form names no row");
    two.set(1, device.address() + PAGE, host.address() + 2 * PAGE, 0);
    assertEquals(
        1,
        Answer.of(() -> batch.copyBatch(two, 0, 2, SourceReads.ANY_TIME, stream)),
        "a size of zero");
    assertEquals(
        1, Answer.of(() -> batch.copyBatch(two, 0, 0, SourceReads.ANY_TIME, stream)), "no rows");
    assertEquals(
        1,
        Answer.of(
            () -> batch.copyBatch(two, 0, 1, SourceReads.ANY_TIME, port.legacyDefaultStream())),
        "a default stream");
    assertEquals(0, Answer.of(() -> batch.copyBatch(two, 0, 1, SourceReads.ANY_TIME, stream)));
    port.awaitStream(stream);
    port.unregister(host.asSlice(0, 4 * PAGE));
    port.unregister(host.asSlice(4 * PAGE, 12 * PAGE));
  }

  @Test
  void hipNamesTheRowAtFault() {
    try (SimMachine amd =
        SimMachine.builder().leaks(LeakPolicy.IGNORE).personality("hip-7.2").build()) {
      DevicePort other = amd.driver().open(0);
      StreamHandle queue = other.createStream(0);
      DeviceRange there = other.allocate(2 * PAGE);
      other.register(host);
      CopyTable two = table(4, Direction.HOST_TO_DEVICE);
      two.set(2, there.address(), host.address(), PAGE);
      two.set(3, there.address() + PAGE, host.address(), PAGE + 1);

      DriverException refused =
          assertThrows(
              DriverException.class,
              () ->
                  other
                      .batchCopies()
                      .orElseThrow()
                      .copyBatch(two, 2, 4, SourceReads.IN_STREAM_ORDER, queue));
      assertEquals(OptionalLong.of(3), refused.entry());
      other.unregister(host);
      other.close();
    }
  }

  @Test
  void versionsWithoutABatchDoNotClaimOne() {
    for (String personality : new String[] {"cuda-550", "hip-5.2", "hip-6.4", "hip-7.0"}) {
      try (SimMachine old =
          SimMachine.builder().leaks(LeakPolicy.IGNORE).personality(personality).build()) {
        DevicePort other = old.driver().open(0);
        assertTrue(other.batchCopies().isEmpty(), personality);
        other.close();
      }
    }
  }

  @Test
  void theKernelReadsItsRowsWhenItRuns() {
    KernelCopyPort kernel = port.kernelCopies().orElseThrow();
    port.register(host);
    MemorySegment columns = host.asSlice(8 * PAGE, 3 * 16);
    CopyTable rows =
        new CopyTable(
            columns.asSlice(0, 16),
            columns.asSlice(16, 16),
            columns.asSlice(32, 16),
            Direction.HOST_TO_DEVICE);
    host.asSlice(0, PAGE).fill((byte) 1);
    host.asSlice(PAGE, PAGE).fill((byte) 2);
    rows.set(0, device.address() + 3, host.address() + 1, 1001);
    rows.set(1, device.address() + 2 * PAGE, host.address(), PAGE);
    DeviceRange seen = port.seenByDevice(columns);

    try (SimEngine engine = machine.engine(0)) {
      Blocker busy = machine.calls().block(stream.value());
      kernel.copyByKernel(rows, seen, 0, 2, 4, stream);
      rows.set(1, device.address() + 2 * PAGE, host.address() + PAGE, PAGE);
      busy.release();
      port.awaitStream(stream);
      assertEquals(1, engine.read(device.address() + 3, 1)[0]);
      assertEquals((byte) 0xD5, engine.read(device.address() + 1004, 1)[0], "one behind");
      assertEquals(2, engine.read(device.address() + 2 * PAGE, 1)[0], "the row as it is then");
    }
    port.unregister(host);
  }

  @Test
  void aKernelThatReachesUnregisteredMemoryLosesTheContext() {
    SimMachine other = SimMachine.builder().leaks(LeakPolicy.IGNORE).build();
    DevicePort doomed = other.driver().open(0);
    StreamHandle queue = doomed.createStream(0);
    DeviceRange there = doomed.allocate(PAGE);
    MemorySegment columns = host.asSlice(8 * PAGE, 24);
    doomed.register(columns);
    CopyTable rows =
        new CopyTable(
            columns.asSlice(0, 8),
            columns.asSlice(8, 8),
            columns.asSlice(16, 8),
            Direction.HOST_TO_DEVICE);
    rows.set(0, there.address(), host.address(), PAGE);
    doomed
        .kernelCopies()
        .orElseThrow()
        .copyByKernel(rows, doomed.seenByDevice(columns), 0, 1, 1, queue);

    assertEquals(700, Answer.of(() -> doomed.awaitStream(queue)));
    assertEquals(700, Answer.of(() -> doomed.allocate(PAGE)), "and for good");
    assertEquals(700, Answer.of(() -> doomed.unregister(columns)));
    other.close();
  }

  @Test
  void onHipTheKernelNeedsTheDevicesAddress() {
    try (SimMachine amd =
        SimMachine.builder().leaks(LeakPolicy.IGNORE).personality("hip-7.2").build()) {
      DevicePort other = amd.driver().open(0);
      StreamHandle queue = other.createStream(0);
      DeviceRange there = other.allocate(PAGE);
      other.register(host);
      MemorySegment columns = host.asSlice(8 * PAGE, 24);
      CopyTable rows =
          new CopyTable(
              columns.asSlice(0, 8),
              columns.asSlice(8, 8),
              columns.asSlice(16, 8),
              Direction.HOST_TO_DEVICE);
      KernelCopyPort kernel = other.kernelCopies().orElseThrow();
      host.asSlice(0, PAGE).fill((byte) 9);
      rows.set(0, there.address(), other.seenByDevice(host).address(), PAGE);
      kernel.copyByKernel(rows, other.seenByDevice(columns), 0, 1, 1, queue);
      other.awaitStream(queue);
      try (SimEngine engine = amd.engineOnSharedContext(0)) {
        assertEquals(9, engine.read(there.address(), 1)[0]);
      }
      rows.set(0, there.address(), host.address(), PAGE);
      kernel.copyByKernel(rows, other.seenByDevice(columns), 0, 1, 1, queue);
      assertEquals(700, Answer.of(() -> other.awaitStream(queue)), "the host's address");
    }
  }

  @Test
  void aRectangleLiesInOneRegistrationToo() {
    port.register(host.asSlice(0, 4 * PAGE));
    port.register(host.asSlice(4 * PAGE, 4 * PAGE));
    var pitched = port.pitchedCopies().orElseThrow();
    for (int row = 0; row < 4; row++) {
      host.asSlice(row * PAGE, 100).fill((byte) (row + 1));
    }

    pitched.copyRows(
        device.address(), 100, host.address(), PAGE, 100, 4, Direction.HOST_TO_DEVICE, stream);
    port.awaitStream(stream);
    try (SimEngine engine = machine.engine(0)) {
      assertEquals(1, engine.read(device.address() + 99, 1)[0]);
      assertEquals(4, engine.read(device.address() + 300, 1)[0]);
    }
    assertEquals(
        1,
        Answer.of(
            () ->
                pitched.copyRows(
                    device.address(),
                    100,
                    host.address(),
                    PAGE,
                    100,
                    5,
                    Direction.HOST_TO_DEVICE,
                    stream)),
        "the fifth row is in the next registration");
    assertEquals(
        1,
        Answer.of(
            () ->
                pitched.copyRows(
                    device.address(),
                    99,
                    host.address(),
                    PAGE,
                    100,
                    2,
                    Direction.HOST_TO_DEVICE,
                    stream)),
        "a pitch below the width");
    port.unregister(host.asSlice(0, 4 * PAGE));
    port.unregister(host.asSlice(4 * PAGE, 4 * PAGE));
  }

  @Test
  void unregisteringUnderACopyLosesTheContext() {
    SimMachine other = SimMachine.builder().leaks(LeakPolicy.IGNORE).build();
    DevicePort doomed = other.driver().open(0);
    StreamHandle queue = doomed.createStream(0);
    DeviceRange there = doomed.allocate(PAGE);
    doomed.register(host);
    Blocker busy = other.calls().block(queue.value());
    CopyTable one = table(1, Direction.DEVICE_TO_HOST);
    one.set(0, host.address(), there.address(), PAGE);
    doomed.copyEach(one, 0, 1, queue);
    doomed.unregister(host);
    host.fill((byte) 3);
    busy.release();

    assertEquals(700, Answer.of(() -> doomed.awaitStream(queue)));
    assertEquals(3, host.get(ValueLayout.JAVA_BYTE, 0), "nothing was written");
    other.close();
  }

  @Test
  void aPageableCopyIsDoneWhenItReturns() {
    host.asSlice(0, PAGE).fill((byte) 5);
    assertEquals(0, toDevice(0, 0, PAGE));
    assertTrue(port.streamIdle(stream));
    assertEquals(0, toHost(2 * PAGE, 0, PAGE));
    assertEquals(5, host.get(ValueLayout.JAVA_BYTE, 2 * PAGE));
  }

  @Test
  void aPinnedCopyIsNot() {
    port.register(host);
    try (Blocker busy = machine.calls().block(stream.value())) {
      assertEquals(0, toDevice(0, 0, PAGE));
      assertFalse(port.streamIdle(stream));
      busy.release();
    }
    port.awaitStream(stream);
    assertTrue(port.streamIdle(stream));
    port.unregister(host);
  }
}
