package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.MemoryInfo;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.error.UnsupportedException;
import io.holdfast.spi.BatchCopyPort.SourceReads;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.CopyTable.Direction;
import io.holdfast.spi.DeviceFacts;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.HostAllocationPort.Caching;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.StreamOrigin;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The port's methods through the true binding, each on a strict pretended runtime. */
final class HipDevicePortTest {
  private static final long BYTES = 1 << 20;

  @TempDir Path folder;

  private final Arena arena = Arena.ofAuto();
  private PretendRuntime pretend;
  private DevicePort port;

  @BeforeEach
  void open() {
    pretend = new PretendRuntime(folder);
    port = pretend.driver().open(0);
  }

  @AfterEach
  void nothingIsLeft() {
    port.close();
    pretend.assertNothingLeft();
  }

  // ---- devices

  @Test
  void devicesAreDescribedAsTheRuntimeListsThem() {
    assertEquals(
        List.of(
            new DeviceFacts(
                0,
                "Pretend 0",
                "GPU-0011223344556677",
                "0000:ab:00.0",
                8L << 30,
                OptionalInt.of(3)),
            new DeviceFacts(
                1,
                "Pretend 1",
                "GPU-0112233445566778",
                "0000:ac:00.0",
                8L << 30,
                OptionalInt.empty())),
        pretend.driver().devices());
  }

  @Test
  void aUuidOfOtherBytesThanDigitsIsWrittenAsUuidsAre() {
    byte[] bytes = new byte[16];
    Arrays.fill(bytes, (byte) 0xA5);

    assertEquals("GPU-a5a5a5a5-a5a5-a5a5-a5a5-a5a5a5a5a5a5", HipDriver.uuidText(bytes));
  }

  @Test
  void theHostNodeIsAskedForWhereTheVersionKnowsIt(@TempDir Path elsewhere) {
    PretendRuntime older = new PretendRuntime(elsewhere, PretendRuntime.HIP_7_1);

    assertEquals(OptionalInt.empty(), older.driver().devices().getFirst().numaNode());
  }

  @Test
  void openingADeviceThatIsNotThereIsTheRuntimesOwnAnswer() {
    DriverException failure = assertThrows(DriverException.class, () -> pretend.driver().open(7));

    assertEquals(101, failure.code());
    assertEquals("hipErrorInvalidDevice", failure.codeName());
    assertEquals("hipDeviceTotalMem(7)", failure.operation());
  }

  @Test
  void thereAreNoContextsToOpenADeviceOn() {
    UnsupportedException refusal =
        assertThrows(UnsupportedException.class, () -> pretend.driver().openOn(0, 0x1234));

    assertTrue(String.valueOf(refusal.getMessage()).contains("HIP has one context"));
  }

  @Test
  void aThreadsDeviceIsPutBackAfterSuccessAndFailure() {
    try (DevicePort other = pretend.driver().open(1)) {
      assertEquals(0, pretend.bindings().hipSetDevice(0));

      other.free(other.allocate(64));
      assertEquals(0, currentDevice());
      assertThrows(DriverException.class, () -> other.allocate(1L << 50));
      assertEquals(0, currentDevice());
    }
  }

  // ---- host memory

  @Test
  void registrationIsMappedAndPortable() {
    MemorySegment memory = arena.allocate(BYTES, 4096);

    port.register(memory);

    assertEquals(3, pretend.registrationFlags(memory));
    assertEquals(
        new DeviceRange(memory.address() + 512, 100), port.seenByDevice(memory.asSlice(512, 100)));
    port.unregister(memory);
  }

  @Test
  void registrationIsSeenByEveryDevice() {
    MemorySegment memory = arena.allocate(BYTES, 4096);
    port.register(memory);

    try (DevicePort other = pretend.driver().open(1)) {
      assertEquals(memory.address(), other.seenByDevice(memory).address());
    }

    port.unregister(memory);
  }

  @Test
  void overlapIsAlreadyRegisteredAndTheMessageHasTheNumbers() {
    MemorySegment memory = arena.allocate(BYTES, 4096);
    port.register(memory);

    DriverException failure =
        assertThrows(DriverException.class, () -> port.register(memory.asSlice(4096, 4096)));

    assertEquals(712, failure.code());
    assertEquals(DriverFault.ALREADY_REGISTERED, failure.fault());
    assertTrue(
        String.valueOf(failure.getMessage())
            .startsWith(
                "hip: hipHostRegister(0x%x, 4096, 3) answered 712"
                    .formatted(memory.address() + 4096)),
        String.valueOf(failure.getMessage()));
    port.unregister(memory);
  }

  @Test
  void aRefusedRegistrationSaysThatOneCodeStandsForAll() {
    MemorySegment nothing = MemorySegment.ofAddress(4096); // of no bytes

    DriverException failure = assertThrows(DriverException.class, () -> port.register(nothing));

    assertEquals(1, failure.code());
    assertTrue(failure.operation().contains("rocm-systems 11670"), failure.operation());
  }

  @Test
  void unregisteringByAnInteriorAddressNeverReachesTheRuntimeThatWouldAbort() {
    MemorySegment memory = arena.allocate(BYTES, 4096);
    port.register(memory);

    IllegalArgumentException interior =
        assertThrows(IllegalArgumentException.class, () -> port.unregister(memory.asSlice(4096)));
    port.unregister(memory);
    DriverException twice = assertThrows(DriverException.class, () -> port.unregister(memory));

    assertTrue(
        String.valueOf(interior.getMessage())
            .startsWith(
                "0x%x lies inside of the registration at 0x%x"
                    .formatted(memory.address() + 4096, memory.address())),
        interior.getMessage());
    assertEquals(DriverFault.NOT_REGISTERED, twice.fault());
    assertEquals("hipHostUnregister(0x%x)".formatted(memory.address()), twice.operation());
  }

  @Test
  void registeringTwiceSucceedsUpTo72AndUnregisteringTheSecondTimeIsTheRuntimesAnswer(
      @TempDir Path elsewhere) {
    PretendRuntime older = new PretendRuntime(elsewhere, PretendRuntime.HIP_7_2);
    MemorySegment memory = arena.allocate(BYTES, 4096);
    try (DevicePort device = older.driver().open(0)) {
      device.register(memory);
      device.register(memory);
      device.unregister(memory);

      DriverException second = assertThrows(DriverException.class, () -> device.unregister(memory));

      assertEquals(DriverFault.NOT_REGISTERED, second.fault());
    }
    older.assertNothingLeft();
  }

  @Test
  void deviceAddressesAreAskedForWhereTheyDiffer(@TempDir Path elsewhere) {
    PretendRuntime other = new PretendRuntime(elsewhere, PretendRuntime.LATEST, "-DALIAS");
    MemorySegment memory = arena.allocate(4096, 4096);
    try (DevicePort device = other.driver().open(0)) {
      device.register(memory);
      assertNotEquals(memory.address(), device.seenByDevice(memory).address());
      device.unregister(memory);
    }
  }

  // ---- device memory

  @Test
  void allocationIsFoundByAnyAddressInsideIt() {
    DeviceRange range = port.allocate(BYTES);

    assertEquals(Optional.of(range), port.rangeOf(range.address()));
    assertEquals(Optional.of(range), port.rangeOf(range.endAddress() - 1));
    assertEquals(Optional.empty(), port.rangeOf(range.endAddress() + BYTES));

    port.free(range);
    assertEquals(Optional.empty(), port.rangeOf(range.address()));
  }

  @Test
  void memoryOfAnotherDeviceIsNotFound() {
    try (DevicePort other = pretend.driver().open(1)) {
      DeviceRange others = other.allocate(BYTES);

      assertEquals(Optional.empty(), port.rangeOf(others.address()));
      assertEquals(Optional.empty(), port.rangeOf(0));

      other.free(others);
    }
  }

  /** The memory type was renumbered by 6.0, and what is not known became a type of its own. */
  @ParameterizedTest
  @ValueSource(ints = {PretendRuntime.HIP_5_2, PretendRuntime.HIP_5_7, PretendRuntime.HIP_6_4})
  void memoryIsToldFromHostMemoryByEachVersionsNumbers(int version, @TempDir Path elsewhere) {
    PretendRuntime other = new PretendRuntime(elsewhere, version);
    MemorySegment memory = arena.allocate(4096, 4096);
    try (DevicePort device = other.driver().open(0)) {
      device.register(memory);
      DeviceRange range = device.allocate(BYTES);

      assertEquals(Optional.of(range), device.rangeOf(range.address() + 5));
      assertEquals(Optional.empty(), device.rangeOf(memory.address()));
      device.free(range);
      device.unregister(memory);
      assertEquals(Optional.empty(), device.rangeOf(memory.address()));
    }
    other.assertNothingLeft();
  }

  @Test
  void hostMemoryIsNoDeviceRange() {
    MemorySegment memory = arena.allocate(4096, 4096);
    port.register(memory);

    assertEquals(Optional.empty(), port.rangeOf(memory.address()));

    port.unregister(memory);
  }

  @Test
  void exhaustedMemoryIsAShortfall() {
    DriverException failure = assertThrows(DriverException.class, () -> port.allocate(9L << 30));

    assertEquals(DriverFault.OUT_OF_MEMORY, failure.fault());
    assertEquals(new MemoryInfo(8L << 30, 8L << 30), port.memoryInfo());
  }

  // ---- copies

  @Test
  void rowsAreCopiedByteForByteInEachDirection() {
    Transfer there = new Transfer(16, 4096);

    port.copyEach(there.table(Direction.HOST_TO_DEVICE), 0, 16, there.stream);
    port.copyEach(there.table(Direction.DEVICE_TO_DEVICE), 0, 16, there.stream);
    port.copyEach(there.table(Direction.DEVICE_TO_HOST), 0, 16, there.stream);
    port.awaitStream(there.stream);

    there.assertArrived();
    there.close();
  }

  @Test
  void onlyTheRowsAskedForAreCopied() {
    Transfer there = new Transfer(4, 64);

    port.copyEach(there.table(Direction.HOST_TO_DEVICE), 1, 3, there.stream);

    byte[] device = there.first.asSlice(0, 256).toArray(JAVA_BYTE);
    byte[] expected = new byte[256];
    System.arraycopy(there.host.toArray(JAVA_BYTE), 64, expected, 64, 128);
    assertArrayEquals(expected, device);
    there.close();
  }

  @Test
  void aFailedRowIsNamedAndLaterRowsAreLeftOut() {
    Transfer there = new Transfer(4, 64);
    CopyTable table = there.table(Direction.HOST_TO_DEVICE);
    table.set(2, table.destination(2), table.source(2), BYTES); // beyond the registration

    DriverException failure =
        assertThrows(DriverException.class, () -> port.copyEach(table, 0, 4, there.stream));

    assertEquals(OptionalLong.of(2), failure.entry());
    assertEquals(DriverFault.INVALID_ARGUMENT, failure.fault());
    assertTrue(failure.operation().startsWith("hipMemcpyHtoDAsync(0x"), failure.operation());
    assertEquals(there.host.get(JAVA_BYTE, 64), there.first.get(JAVA_BYTE, 64));
    assertEquals(0, there.first.get(JAVA_LONG, 192)); // row 3
    there.close();
  }

  @Test
  void batchesCopyTheSameBytes() {
    Transfer there = new Transfer(64, 512);
    var batch = port.batchCopies().orElseThrow();

    batch.copyBatch(
        there.table(Direction.HOST_TO_DEVICE), 0, 64, SourceReads.ANY_TIME, there.stream);
    batch.copyBatch(
        there.table(Direction.DEVICE_TO_DEVICE), 0, 64, SourceReads.IN_STREAM_ORDER, there.stream);
    batch.copyBatch(
        there.table(Direction.DEVICE_TO_HOST), 0, 30, SourceReads.IN_STREAM_ORDER, there.stream);
    batch.copyBatch(
        there.table(Direction.DEVICE_TO_HOST), 30, 64, SourceReads.IN_STREAM_ORDER, there.stream);

    there.assertArrived();
    there.close();
  }

  /** From attributes that are ignored over attributes that are refused to attributes that count. */
  @ParameterizedTest
  @ValueSource(
      ints = {70_051_831, PretendRuntime.HIP_7_1, PretendRuntime.HIP_7_2, PretendRuntime.LATEST})
  void batchesCopyTheSameBytesOnEachVersionThatHasThem(int version, @TempDir Path elsewhere) {
    port.close();
    pretend = new PretendRuntime(elsewhere, version);
    port = pretend.driver().open(0);
    Transfer there = new Transfer(64, 512);
    var batch = port.batchCopies().orElseThrow();

    for (SourceReads reads : SourceReads.values()) {
      batch.copyBatch(there.table(Direction.HOST_TO_DEVICE), 0, 64, reads, there.stream);
      batch.copyBatch(there.table(Direction.DEVICE_TO_DEVICE), 0, 64, reads, there.stream);
      batch.copyBatch(there.table(Direction.DEVICE_TO_HOST), 0, 64, reads, there.stream);
      there.assertArrived();
      there.back.fill((byte) 0);
    }
    there.close();
  }

  @Test
  void aBatchNamesTheRowThatFailed(@TempDir Path elsewhere) {
    port.close();
    pretend = new PretendRuntime(elsewhere, PretendRuntime.HIP_7_2);
    port = pretend.driver().open(0);
    Transfer there = new Transfer(8, 64);
    CopyTable table = there.table(Direction.HOST_TO_DEVICE);
    table.set(5, table.destination(5), table.source(5), BYTES);
    var batch = port.batchCopies().orElseThrow();
    var order = SourceReads.IN_STREAM_ORDER;

    DriverException failure =
        assertThrows(
            DriverException.class, () -> batch.copyBatch(table, 2, 8, order, there.stream));
    batch.copyBatch(table, 0, 5, order, port.legacyDefaultStream());

    assertEquals(OptionalLong.of(5), failure.entry());
    there.close();
  }

  @Test
  void whatAVersionLacksIsAnAbsentPort(@TempDir Path elsewhere) {
    PretendRuntime older = new PretendRuntime(elsewhere, PretendRuntime.HIP_5_7);

    try (DevicePort device = older.driver().open(0)) {
      assertTrue(device.batchCopies().isEmpty());
      assertTrue(device.pitchedCopies().isPresent());
      assertTrue(device.hostAllocations().isPresent());
      assertTrue(device.virtualMemory().isEmpty()); // exported, and answers 0 without an address
      assertTrue(older.bindings().offers(HipFeature.VIRTUAL_MEMORY));
      assertTrue(device.kernelCopies().isEmpty());
      device.free(device.allocate(64));
    }
    older.assertNothingLeft();
  }

  @Test
  void aDeviceWithoutVirtualMemoryHasNoPortForIt(@TempDir Path elsewhere) {
    PretendRuntime without = new PretendRuntime(elsewhere, PretendRuntime.LATEST, "-DWITHOUT_VMM");

    try (DevicePort device = without.driver().open(0)) {
      assertTrue(device.virtualMemory().isEmpty());
    }
  }

  @Test
  void pitchedRowsKeepToTheirPitches() {
    Transfer there = new Transfer(16, 4096);
    var pitched = port.pitchedCopies().orElseThrow();

    // 10 rows of 100 bytes, 4096 apart on the host, 128 apart on the device, and back
    pitched.copyRows(
        there.first.address(),
        128,
        there.host.address(),
        4096,
        100,
        10,
        Direction.HOST_TO_DEVICE,
        there.stream);
    pitched.copyRows(
        there.second.address(),
        256,
        there.first.address(),
        128,
        100,
        10,
        Direction.DEVICE_TO_DEVICE,
        there.stream);
    pitched.copyRows(
        there.back.address(),
        4096,
        there.second.address(),
        256,
        100,
        10,
        Direction.DEVICE_TO_HOST,
        there.stream);

    for (long row = 0; row < 10; row++) {
      assertEquals(
          -1, there.back.asSlice(row * 4096, 100).mismatch(there.host.asSlice(row * 4096, 100)));
      assertEquals(0, there.back.get(JAVA_BYTE, row * 4096 + 100));
    }
    assertEquals(2_147_483_647, pitched.maxPitchBytes());
    there.close();
  }

  @Test
  void fillSetsEveryByteInStreamOrder() {
    Transfer there = new Transfer(2, 64);
    DeviceRange range = new DeviceRange(there.first.address(), 100);

    port.copyEach(there.table(Direction.HOST_TO_DEVICE), 0, 2, there.stream);
    port.fill(range, (byte) 0xA5, there.stream);

    assertEquals((byte) 0xA5, there.first.get(JAVA_BYTE, 0));
    assertEquals((byte) 0xA5, there.first.get(JAVA_BYTE, 99));
    assertEquals(there.host.get(JAVA_BYTE, 100), there.first.get(JAVA_BYTE, 100));
    there.close();
  }

  // ---- streams

  @Test
  void streamsDoNotWaitForTheDefaultStreamAndKeepTheirPriority() {
    StreamHandle stream = port.createStream(-3);

    assertEquals(1, pretend.streamFlags(stream)); // hipStreamNonBlocking
    assertEquals(-3, pretend.streamPriority(stream));
    assertEquals(StreamOrigin.OWN_CONTEXT, port.originOf(stream));
    port.destroyStream(stream);
  }

  @Test
  void adoptedStreamsCarryTheirDevice() {
    try (DevicePort other = pretend.driver().open(1)) {
      StreamHandle others = other.createStream(0);
      StreamHandle own = port.createStream(0);

      StreamHandle adopted = port.adoptStream(others.value());

      assertEquals(StreamOrigin.OTHER_DEVICE, port.originOf(adopted));
      assertEquals(new StreamHandle(own.value(), 0), port.adoptStream(own.value()));
      // Recording there needs an event of that device, made while it is current.
      EventHandle fitting = port.createEventFor(adopted, EventKind.ORDER);
      EventHandle misfit = port.createEvent(EventKind.ORDER);
      port.recordEvent(fitting, adopted);
      assertTrue(port.eventPassed(fitting));
      assertThrows(DriverException.class, () -> port.recordEvent(misfit, adopted));
      port.destroyEvent(fitting);
      port.destroyEvent(misfit);
      other.destroyStream(others);
      port.destroyStream(own);
    }
  }

  @Test
  void aVersionThatCannotSayWhoseAStreamIsTakesItForThisDevices(@TempDir Path elsewhere) {
    PretendRuntime older = new PretendRuntime(elsewhere, PretendRuntime.HIP_5_2);
    try (DevicePort device = older.driver().open(0)) {
      assertEquals(StreamOrigin.OWN_CONTEXT, device.originOf(device.adoptStream(0x1234)));
    }
  }

  @Test
  void defaultStreamsAreKnownAsSuch() {
    for (long handle : new long[] {0, 1, 2}) {
      assertEquals(StreamOrigin.DEFAULT_STREAM, port.originOf(port.adoptStream(handle)));
    }
    assertEquals(StreamOrigin.DEFAULT_STREAM, port.originOf(port.legacyDefaultStream()));
    assertTrue(port.streamIdle(port.legacyDefaultStream()));
  }

  @Test
  void aStreamThatIsNotAliveIsTheRuntimesOwnAnswer() {
    DriverException failure = assertThrows(DriverException.class, () -> port.adoptStream(0x1234));

    assertEquals(DriverFault.INVALID_HANDLE, failure.fault());
  }

  @Test
  void waitingForAnEventHoldsLaterWorkBack() throws Exception {
    Transfer there = new Transfer(2, 64);
    StreamHandle producer = port.createStream(0);
    EventHandle done = port.createEvent(EventKind.ORDER);
    pretend.hold(producer);
    port.fill(new DeviceRange(there.first.address(), 64), (byte) 7, producer);
    port.recordEvent(done, producer);

    port.streamWait(there.stream, done);
    port.copyEach(there.table(Direction.DEVICE_TO_HOST), 0, 1, there.stream);

    assertFalse(port.eventPassed(done));
    assertFalse(port.streamIdle(producer));
    assertFalse(port.streamIdle(there.stream));
    var waiter =
        CompletableFuture.runAsync(
            () -> {
              port.awaitEvent(done);
              port.awaitStream(there.stream);
            },
            task -> Thread.ofPlatform().start(task));
    pretend.letGo(producer);
    waiter.get();
    assertTrue(port.eventPassed(done));
    assertTrue(port.streamIdle(there.stream));
    port.destroyEvent(done);
    port.destroyStream(producer);
    there.close();
  }

  @Test
  void theClockIsReadBetweenTimedEventsOnly() {
    StreamHandle stream = port.createStream(0);
    EventHandle start = port.createEvent(EventKind.TIMED);
    EventHandle end = port.createEvent(EventKind.TIMED);
    EventHandle order = port.createEvent(EventKind.ORDER);
    port.recordEvent(start, stream);
    port.recordEvent(end, stream);
    port.recordEvent(order, stream);

    assertEquals(1_500_000, port.nanosBetween(start, end));
    assertThrows(DriverException.class, () -> port.nanosBetween(start, order));

    port.destroyEvent(port.adoptEvent(start.value())); // the handle is all that counts
    port.destroyEvent(end);
    port.destroyEvent(order);
    port.destroyStream(stream);
  }

  @Test
  void captureIsToldApartInAllItsStates() {
    StreamHandle stream = port.createStream(0);

    assertEquals(CaptureState.NONE, port.captureState(stream));
    pretend.setStreamCapture(stream, 1);
    assertEquals(CaptureState.ACTIVE, port.captureState(stream));
    pretend.setStreamCapture(stream, 2);
    assertEquals(CaptureState.INVALIDATED, port.captureState(stream));
    pretend.setStreamCapture(stream, 0);
    assertEquals(CaptureState.NONE, port.captureState(port.legacyDefaultStream()));
    pretend.setCapturing(true);
    assertEquals(CaptureState.ACTIVE, port.captureState(port.legacyDefaultStream()));
    pretend.setCapturing(false);
    port.destroyStream(stream);
  }

  // ---- host memory of the runtime

  @Test
  void runtimeHostMemoryIsNativeMemoryOfTheSizeAskedFor() {
    var host = port.hostAllocations().orElseThrow();

    for (Caching caching : Caching.values()) {
      MemorySegment memory = host.allocate(BYTES, caching);
      memory.set(JAVA_INT, BYTES - 4, 42);
      assertEquals(BYTES, memory.byteSize());
      assertEquals(memory.address(), port.seenByDevice(memory).address());
      host.free(memory);
    }
    assertEquals(0, pretend.alive("host allocations"));
  }

  private int currentDevice() {
    try (Arena memory = Arena.ofConfined()) {
      MemorySegment device = memory.allocate(JAVA_INT);
      assertEquals(0, pretend.bindings().hipGetDevice(device));
      return device.get(JAVA_INT, 0);
    }
  }

  /** Random bytes on the host, two device buffers to go through, and a place to come back to. */
  final class Transfer {
    final MemorySegment host;
    final MemorySegment back;
    final MemorySegment first;
    final MemorySegment second;
    final StreamHandle stream;
    private final int rows;
    private final long rowBytes;

    Transfer(int rows, long rowBytes) {
      this.rows = rows;
      this.rowBytes = rowBytes;
      long bytes = rows * rowBytes;
      host = arena.allocate(bytes, 4096);
      back = arena.allocate(bytes, 4096);
      byte[] random = new byte[(int) bytes];
      new Random(7).nextBytes(random);
      MemorySegment.copy(random, 0, host, JAVA_BYTE, 0, random.length);
      port.register(host);
      port.register(back);
      first = deviceMemory(port.allocate(bytes));
      second = deviceMemory(port.allocate(bytes));
      stream = port.createStream(0);
    }

    /** The pretended runtime's device memory is host memory, so a test can look into it. */
    @SuppressWarnings("restricted")
    private MemorySegment deviceMemory(DeviceRange range) {
      return MemorySegment.ofAddress(range.address()).reinterpret(range.bytes());
    }

    CopyTable table(Direction direction) {
      CopyTable table =
          new CopyTable(
              arena.allocate(JAVA_LONG, rows),
              arena.allocate(JAVA_LONG, rows),
              arena.allocate(JAVA_LONG, rows),
              direction);
      for (int row = 0; row < rows; row++) {
        long at = row * rowBytes;
        long mirrored = (rows - 1 - row) * rowBytes;
        switch (direction) {
          case HOST_TO_DEVICE ->
              table.set(row, first.address() + at, host.address() + at, rowBytes);
          case DEVICE_TO_DEVICE ->
              table.set(row, second.address() + mirrored, first.address() + at, rowBytes);
          case DEVICE_TO_HOST ->
              table.set(row, back.address() + at, second.address() + mirrored, rowBytes);
        }
      }
      return table;
    }

    void assertArrived() {
      assertEquals(-1, back.mismatch(host));
    }

    void close() {
      port.destroyStream(stream);
      port.free(new DeviceRange(first.address(), first.byteSize()));
      port.free(new DeviceRange(second.address(), second.byteSize()));
      port.unregister(host);
      port.unregister(back);
    }
  }
}
