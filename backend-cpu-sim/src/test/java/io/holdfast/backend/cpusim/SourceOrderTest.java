package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.backend.cpusim.driver.Blocker;
import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.CopyTable.Direction;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** When a batch reads its sources: what the three orders promise, and what they do not. */
class SourceOrderTest {
  private static final int BYTES = 4096;
  private static final byte OLD = 0x11;
  private static final byte NEW = 0x22;
  private static final byte LATER = 0x33;

  private final SimMachine machine = SimMachine.builder().leaks(LeakPolicy.FAIL).build();
  private final SimEngine engine = machine.engine(0);
  private final Arena arena = Arena.ofShared();
  private final MemorySegment host = arena.allocate(2 * BYTES, 4096);
  private final long device = engine.allocate(2 * BYTES);
  private final long stream = engine.newStream();

  SourceOrderTest() {
    engine.register(host);
    engine.makeCurrent();
  }

  @AfterEach
  void close() {
    engine.unregister(host);
    engine.makeNoneCurrent();
    engine.close();
    machine.close();
    arena.close();
  }

  /** One batch of two rows of half the bytes each. */
  private void batch(long destination, long source, int[] orders, long[] firstRows) {
    CopyTable rows =
        new CopyTable(
            arena.allocate(16, 8),
            arena.allocate(16, 8),
            arena.allocate(16, 8),
            Direction.HOST_TO_DEVICE);
    rows.set(0, destination, source, BYTES / 2);
    rows.set(1, destination + BYTES / 2, source + BYTES / 2, BYTES / 2);
    int[] flags = new int[orders.length];
    SimDriver driver = machine.calls();
    assertEquals(
        0, driver.memcpyBatchAsync(rows, 0, 2, orders, flags, firstRows, null, stream), "batch");
  }

  private void batch(long destination, long source, int order) {
    batch(destination, source, new int[] {order}, new long[] {0});
  }

  private static int count(byte[] in, byte value) {
    int count = 0;
    for (byte one : in) {
      count += one == value ? 1 : 0;
    }
    return count;
  }

  private byte[] host() {
    return host.asSlice(0, BYTES).toArray(ValueLayout.JAVA_BYTE);
  }

  /** A store: what is copied is still being made by the stream. */
  @ParameterizedTest
  @CsvSource({"1, 4096", "2, 0", "3, 3968"})
  void onlyStreamOrderSeesWhatTheStreamStillProduces(int order, int right) {
    engine.fill(device, BYTES, OLD, stream);
    engine.synchronize(stream);
    try (Blocker producing = engine.block(stream)) {
      engine.fill(device, BYTES, NEW, stream);
      batch(host.address(), device, order);
      producing.release();
    }
    engine.synchronize(stream);

    assertEquals(right, count(host(), NEW));
    assertEquals(BYTES - right, count(host(), OLD), "the start of each row came too early");
  }

  /** A load: its source is used anew as soon as the call returns. */
  @ParameterizedTest
  @CsvSource({"1, 0", "2, 4096", "3, 128"})
  void onlyReadingDuringTheCallLetsASourceBeUsedAgainAtOnce(int order, int right) {
    host.fill(NEW);
    try (Blocker busy = engine.block(stream)) {
      batch(device, host.address(), order);
      host.fill(LATER);
      busy.release();
    }
    engine.synchronize(stream);

    byte[] there = engine.read(device, BYTES);
    assertEquals(right, count(there, NEW));
    assertEquals(BYTES - right, count(there, LATER));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void aSourceThatChangesNoMoreIsRightInAnyOrder(int order) {
    for (int at = 0; at < BYTES; at++) {
      host.set(ValueLayout.JAVA_BYTE, at, (byte) (at % 251));
    }
    byte[] content = host();
    try (Blocker busy = engine.block(stream)) {
      batch(device, host.address(), order);
      engine.copy(device + BYTES, device, BYTES, stream); // behind the batch in either case
      busy.release();
    }
    engine.synchronize(stream);

    assertArrayEquals(content, engine.read(device, BYTES));
    assertArrayEquals(content, engine.read(device + BYTES, BYTES));
  }

  @Test
  void eachAttributeHoldsFromItsFirstRowOn() {
    host.fill(NEW);
    try (Blocker busy = engine.block(stream)) {
      batch(device, host.address(), new int[] {1, 2}, new long[] {0, 1});
      host.fill(LATER);
      busy.release();
    }
    engine.synchronize(stream);

    byte[] there = engine.read(device, BYTES);
    byte[] expected = new byte[BYTES];
    Arrays.fill(expected, 0, BYTES / 2, LATER);
    Arrays.fill(expected, BYTES / 2, BYTES, NEW);
    assertArrayEquals(expected, there);
  }
}
