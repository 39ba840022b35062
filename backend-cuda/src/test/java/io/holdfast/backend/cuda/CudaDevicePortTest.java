package io.holdfast.backend.cuda;

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
import org.junit.jupiter.params.provider.CsvSource;

/** The port's methods through the true binding, each on a strict pretended driver. */
class CudaDevicePortTest {
  private static final long BYTES = 1 << 20;

  /** What the binding does without. */
  private static final String[] OPTIONAL = {
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemcpy2DAsync_v2",
    "cuMemcpyBatchAsync",
    "cuMemcpyBatchAsync_v2",
    "cuMemAddressReserve",
    "cuMemCreate",
    "cuModuleLoadData",
    "cuLaunchKernel"
  };

  @TempDir Path folder;

  final Arena arena = Arena.ofAuto();
  PretendDriver pretend;
  DevicePort port;

  /** Which binding the port is tested through. */
  PretendDriver driver(Path into) {
    return new PretendDriver(into);
  }

  @BeforeEach
  void open() {
    pretend = driver(folder);
    port = pretend.driver().open(0);
  }

  @AfterEach
  void nothingIsLeft() {
    if (port != null) { // else the test was skipped
      port.close();
      pretend.assertNothingLeft(0);
    }
  }

  // ---- devices and contexts

  @Test
  void devicesAreDescribedWithoutAContext() {
    port.close();

    List<DeviceFacts> devices = pretend.driver().devices();

    assertEquals(0, pretend.retainedContexts());
    assertEquals(
        List.of(
            new DeviceFacts(
                0,
                "Pretend 0",
                "GPU-00112233-4455-6677-8899-aabbccddeeff",
                "0000:ab:00.0",
                8L << 30,
                OptionalInt.of(3)),
            new DeviceFacts(
                1,
                "Pretend 1",
                "GPU-01122334-4556-6778-899a-abbccddeef00",
                "0000:ac:00.0",
                8L << 30,
                OptionalInt.empty())),
        devices);
  }

  @Test
  void eachOpeningRetainsTheContextOnceAndReleasesItOnce() {
    DevicePort second = pretend.driver().open(0);
    assertEquals(2, pretend.retainedContexts());

    second.close();
    second.close();

    assertEquals(1, pretend.retainedContexts());
  }

  @Test
  void openingADeviceThatIsNotThereIsTheDriversOwnAnswer() {
    DriverException failure = assertThrows(DriverException.class, () -> pretend.driver().open(7));

    assertEquals(101, failure.code());
    assertEquals("CUDA_ERROR_INVALID_DEVICE", failure.codeName());
    assertEquals("cuDeviceGet", failure.operation());
  }

  @Test
  void anEnginesContextIsUsedAndLeftAlone() {
    long context = pretend.createContext(1);
    DevicePort on = pretend.driver().openOn(1, context);

    DeviceRange range = on.allocate(64);
    on.free(range);
    on.close();

    assertEquals(1, pretend.retainedContexts()); // only the one of this test's port
  }

  @Test
  void anEnginesContextOfAnotherDeviceIsRefused() {
    long context = pretend.createContext(1);

    IllegalArgumentException refusal =
        assertThrows(IllegalArgumentException.class, () -> pretend.driver().openOn(0, context));

    assertTrue(String.valueOf(refusal.getMessage()).contains("belongs to device 1, not to 0"));
  }

  @Test
  void aThreadWithoutContextIsServedAndStaysWithoutOne() throws Exception {
    CompletableFuture.runAsync(
            () -> {
              DeviceRange range = port.allocate(64);
              port.free(range);
              assertEquals(0, currentContext());
            },
            task -> Thread.ofPlatform().start(task))
        .get();
  }

  @Test
  void aFailedCallPutsTheContextBackToo() {
    long engine = pretend.createContext(0);
    assertEquals(0, pretend.bindings().cuCtxSetCurrent(engine));

    assertThrows(DriverException.class, () -> port.allocate(1L << 50));

    assertEquals(engine, currentContext());
    assertEquals(0, pretend.bindings().cuCtxSetCurrent(0));
  }

  // ---- host memory

  @Test
  void registrationIsMappedAndPortable() {
    MemorySegment memory = arena.allocate(BYTES, 4096);

    port.register(memory);

    assertEquals(3, pretend.registrationFlags());
    assertEquals(
        new DeviceRange(memory.address() + 512, 100), port.seenByDevice(memory.asSlice(512, 100)));
    port.unregister(memory);
  }

  @Test
  void registrationIsSeenByAnEnginesContextOfAnotherDevice() {
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
                "cuda: cuMemHostRegister_v2(0x%x, 4096, 3) answered 712"
                    .formatted(memory.address() + 4096)),
        String.valueOf(failure.getMessage()));
    port.unregister(memory);
  }

  @Test
  void unregisteringWhatIsNotRegisteredIsToldFromAnInteriorAddress() {
    MemorySegment memory = arena.allocate(BYTES, 4096);
    port.register(memory);

    DriverException interior =
        assertThrows(DriverException.class, () -> port.unregister(memory.asSlice(4096)));
    port.unregister(memory);
    DriverException twice = assertThrows(DriverException.class, () -> port.unregister(memory));

    assertEquals(DriverFault.INVALID_ARGUMENT, interior.fault());
    assertEquals(DriverFault.NOT_REGISTERED, twice.fault());
  }

  @Test
  void deviceAddressesAreAskedForWhereTheyDiffer(@TempDir Path elsewhere) {
    PretendDriver other = new PretendDriver(elsewhere, "register.alias=per-range-and-device");
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
  void memoryOfAnEnginesContextIsFoundAndThatOfAnotherDeviceIsNot() {
    try (DevicePort engine = pretend.driver().openOn(0, pretend.createContext(0));
        DevicePort other = pretend.driver().open(1)) {
      DeviceRange engines = engine.allocate(BYTES);
      DeviceRange others = other.allocate(BYTES);

      assertEquals(Optional.of(engines), port.rangeOf(engines.address() + 5));
      assertEquals(Optional.empty(), port.rangeOf(others.address()));

      engine.free(engines);
      other.free(others);
    }
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

    byte[] device = there.firstBytes().asSlice(0, 256).toArray(JAVA_BYTE);
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
    assertTrue(failure.operation().startsWith("cuMemcpyHtoDAsync_v2(0x"), failure.operation());
    assertEquals(there.host.get(JAVA_BYTE, 64), there.firstBytes().get(JAVA_BYTE, 64));
    assertEquals(0, there.firstBytes().get(JAVA_LONG, 192)); // row 3
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

  /** The two forms differ in their arguments: a name is called with those of its own. */
  @ParameterizedTest
  @CsvSource({
    "copy.batch=cuda-v2,cuMemcpyBatchAsync,'cuMemcpyBatchAsync_v2, 8 arguments'",
    "copy.batch=cuda-v1,cuMemcpyBatchAsync_v2,'cuMemcpyBatchAsync, 9 arguments'"
  })
  void b35_theBatchCallIsBoundInTheFormThatTheLibraryExports(
      String form, String hidden, String bound, @TempDir Path elsewhere) {
    port.close();
    pretend = new PretendDriver(elsewhere, form, hidden);
    port = pretend.driver().open(0);
    Transfer there = new Transfer(64, 512);
    var batch = port.batchCopies().orElseThrow();

    for (Direction direction :
        List.of(Direction.HOST_TO_DEVICE, Direction.DEVICE_TO_DEVICE, Direction.DEVICE_TO_HOST)) {
      batch.copyBatch(there.table(direction), 0, 64, SourceReads.IN_STREAM_ORDER, there.stream);
    }

    assertEquals(bound, pretend.bindings().batchForm());
    there.assertArrived();
    there.close();
  }

  @Test
  void theOlderBatchCallNamesTheRowThatFailed(@TempDir Path elsewhere) {
    port.close();
    pretend = new PretendDriver(elsewhere, "copy.batch=cuda-v1", "cuMemcpyBatchAsync_v2");
    port = pretend.driver().open(0);
    assertEquals("cuMemcpyBatchAsync, 9 arguments", pretend.bindings().batchForm());
    Transfer there = new Transfer(8, 64);
    CopyTable table = there.table(Direction.HOST_TO_DEVICE);
    table.set(5, table.destination(5), table.source(5), BYTES);
    var batch = port.batchCopies().orElseThrow();
    var order = SourceReads.IN_STREAM_ORDER;

    DriverException failure =
        assertThrows(
            DriverException.class, () -> batch.copyBatch(table, 2, 8, order, there.stream));
    DriverException unnamed =
        assertThrows(
            DriverException.class,
            () -> batch.copyBatch(table, 0, 2, order, port.legacyDefaultStream()));
    batch.copyBatch(table, 0, 5, order, there.stream);

    assertEquals(OptionalLong.of(5), failure.entry());
    assertEquals(OptionalLong.empty(), unnamed.entry());
    there.close();
  }

  @Test
  void whatALibraryLacksIsAnAbsentPort(@TempDir Path elsewhere) {
    PretendDriver bare = new PretendDriver(elsewhere, OPTIONAL);

    try (DevicePort device = bare.driver().open(0)) {
      assertTrue(device.batchCopies().isEmpty());
      assertTrue(device.pitchedCopies().isEmpty());
      assertTrue(device.hostAllocations().isEmpty());
      assertTrue(device.virtualMemory().isEmpty());
      assertTrue(device.kernelCopies().isEmpty());
      assertEquals("absent", bare.bindings().batchForm());
      DeviceRange range = device.allocate(64);
      device.free(range);
    }
  }

  @Test
  void aDeviceWithoutVirtualMemoryHasNoPortForIt(@TempDir Path elsewhere) {
    PretendDriver without =
        new PretendDriver(
            elsewhere, "vmm.level=absent", "cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2");

    try (DevicePort device = without.driver().open(0)) {
      assertTrue(device.virtualMemory().isEmpty());
      assertTrue(device.batchCopies().isEmpty());
      assertTrue(device.pitchedCopies().isPresent());
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

    assertEquals((byte) 0xA5, there.firstBytes().get(JAVA_BYTE, 0));
    assertEquals((byte) 0xA5, there.firstBytes().get(JAVA_BYTE, 99));
    assertEquals(there.host.get(JAVA_BYTE, 100), there.firstBytes().get(JAVA_BYTE, 100));
    there.close();
  }

  // ---- streams

  @Test
  void streamsDoNotWaitForTheDefaultStreamAndKeepTheirPriority() {
    StreamHandle stream = port.createStream(-3);

    assertEquals(1, pretend.streamFlags()); // CU_STREAM_NON_BLOCKING
    assertEquals(-3, pretend.streamPriority());
    assertEquals(StreamOrigin.OWN_CONTEXT, port.originOf(stream));
    port.destroyStream(stream);
  }

  @Test
  void adoptedStreamsCarryTheirContext() {
    long context = pretend.createContext(0);
    try (DevicePort engine = pretend.driver().openOn(0, context);
        DevicePort other = pretend.driver().open(1)) {
      StreamHandle engines = engine.createStream(0);
      StreamHandle others = other.createStream(0);
      StreamHandle own = port.createStream(0);

      StreamHandle adopted = port.adoptStream(engines.value());

      assertEquals(new StreamHandle(engines.value(), context), adopted);
      assertEquals(StreamOrigin.FOREIGN_CONTEXT, port.originOf(adopted));
      assertEquals(StreamOrigin.OTHER_DEVICE, port.originOf(port.adoptStream(others.value())));
      assertEquals(new StreamHandle(own.value(), 0), port.adoptStream(own.value()));

      engine.destroyStream(engines);
      other.destroyStream(others);
      port.destroyStream(own);
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
  void aStreamThatIsNotAliveIsTheDriversOwnAnswer() {
    DriverException failure = assertThrows(DriverException.class, () -> port.adoptStream(0x1234));

    assertEquals(DriverFault.INVALID_HANDLE, failure.fault());
  }

  @Test
  void eventsForAnEnginesStreamAreMadeAndRecordedInItsContext() {
    try (DevicePort engine = pretend.driver().openOn(0, pretend.createContext(0))) {
      StreamHandle engines = engine.createStream(0);
      StreamHandle adopted = port.adoptStream(engines.value());
      EventHandle fitting = port.createEventFor(adopted, EventKind.ORDER);
      EventHandle own = port.createEvent(EventKind.ORDER);

      port.recordEvent(fitting, adopted);
      DriverException misfit =
          assertThrows(DriverException.class, () -> port.recordEvent(own, adopted));

      assertTrue(port.eventPassed(fitting));
      assertEquals(DriverFault.INVALID_HANDLE, misfit.fault());
      assertEquals(400, misfit.code());
      port.destroyEvent(fitting);
      port.destroyEvent(own);
      engine.destroyStream(engines);
    }
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
    pretend.delay(stream, 1_500_000);
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

  // ---- driver host memory

  @Test
  void driverHostMemoryIsNativeMemoryOfTheSizeAskedFor() {
    var host = port.hostAllocations().orElseThrow();

    for (Caching caching : Caching.values()) {
      MemorySegment memory = host.allocate(BYTES, caching);
      memory.set(JAVA_INT, BYTES - 4, 42);
      assertEquals(BYTES, memory.byteSize());
      assertEquals(memory.address(), port.seenByDevice(memory).address());
      host.free(memory);
    }
    assertEquals(0, pretend.audit().hostAllocations());
  }

  private long currentContext() {
    try (Arena memory = Arena.ofConfined()) {
      MemorySegment context = memory.allocate(JAVA_LONG);
      assertEquals(0, pretend.bindings().cuCtxGetCurrent(context));
      return context.get(JAVA_LONG, 0);
    }
  }

  /** Random bytes on the host, two device buffers to go through, and a place to come back to. */
  final class Transfer {
    final MemorySegment host;
    final MemorySegment back;
    final DeviceRange first;
    final DeviceRange second;
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
      first = port.allocate(bytes);
      second = port.allocate(bytes);
      stream = port.createStream(0);
    }

    /** What is in the first device buffer now. */
    MemorySegment firstBytes() {
      return pretend.read(first);
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
      port.free(first);
      port.free(second);
      port.unregister(host);
      port.unregister(back);
    }
  }
}
