package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.management.ThreadMXBean;
import io.holdfast.backend.cpusim.driver.Blocker;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.BatchCopyPort.SourceReads;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.CopyTable.Direction;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.StreamHandle;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What long use looks like: no garbage on the submitting thread, and order kept under load. */
class SteadyStateTest {
  private final SimMachine machine = SimMachine.builder().leaks(LeakPolicy.FAIL).build();
  private final AcceleratorDriver driver = machine.driver();
  private final DevicePort port = driver.open(0);
  private final Arena arena = Arena.ofShared();

  @AfterEach
  void close() {
    port.close();
    driver.close();
    machine.close();
    arena.close();
  }

  @Test
  void submittingAllocatesNothingOnceThereAreEnoughObjects() {
    StreamHandle stream = port.createStream(0);
    StreamHandle other = port.createStream(0);
    EventHandle event = port.createEvent(EventKind.ORDER);
    EventHandle far = port.createEvent(EventKind.ORDER);
    MemorySegment host = arena.allocate(65536, 4096);
    port.register(host);
    DeviceRange device = port.allocate(65536);
    CopyTable table =
        new CopyTable(
            arena.allocate(64 * 8, 8),
            arena.allocate(64 * 8, 8),
            arena.allocate(64 * 8, 8),
            Direction.HOST_TO_DEVICE);
    for (int row = 0; row < 64; row++) {
      table.set(row, device.address() + row * 1024L, host.address() + row * 1024L, 1024);
    }
    BatchCopyPort batch = port.batchCopies().orElseThrow();
    Runnable submission =
        () -> {
          port.streamWait(stream, far);
          port.copyEach(table, 0, 8, stream);
          batch.copyBatch(table, 0, 64, SourceReads.IN_STREAM_ORDER, stream);
          port.recordEvent(event, stream);
          port.eventPassed(event);
          port.captureState(stream);
        };
    long garbage = 0;
    for (int round = 0; round < 4; round++) {
      // nothing is done meanwhile, so that no other thread contends and what is measured is ours
      try (Blocker busy = machine.calls().block(other.value())) {
        port.recordEvent(far, other);
        garbage = allocatedBy(submission, round < 3 ? 400 : 300);
        busy.release();
      }
      port.awaitStream(stream);
    }
    assertEquals(0, garbage);
    port.unregister(host);
    port.free(device);
    port.destroyEvent(event);
    port.destroyEvent(far);
    port.destroyStream(stream);
    port.destroyStream(other);
  }

  private static long allocatedBy(Runnable submission, int times) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < times; i++) {
      submission.run();
    }
    return threads.getCurrentThreadAllocatedBytes() - before;
  }

  @Test
  void aRingOfStreamsHandsOnEveryByteInOrder() {
    int ring = 5;
    int bytes = 3000;
    List<StreamHandle> streams = new ArrayList<>();
    List<EventHandle> events = new ArrayList<>();
    List<DeviceRange> buffers = new ArrayList<>();
    for (int i = 0; i < ring; i++) {
      streams.add(port.createStream(0));
      events.add(port.createEvent(EventKind.ORDER));
      buffers.add(port.allocate(bytes));
    }
    SplittableRandom random = new SplittableRandom(11);
    CopyTable one =
        new CopyTable(
            arena.allocate(8, 8),
            arena.allocate(8, 8),
            arena.allocate(8, 8),
            Direction.DEVICE_TO_DEVICE);
    byte last = 0;
    for (int round = 0; round < 500; round++) {
      last = (byte) random.nextInt();
      port.streamWait(streams.get(0), events.get(ring - 1));
      port.fill(buffers.get(0), last, streams.get(0));
      port.recordEvent(events.get(0), streams.get(0));
      for (int i = 1; i < ring; i++) {
        port.streamWait(streams.get(i), events.get(i - 1));
        one.set(0, buffers.get(i).address(), buffers.get(i - 1).address(), bytes);
        port.copyEach(one, 0, 1, streams.get(i));
        port.recordEvent(events.get(i), streams.get(i));
      }
    }
    port.awaitStream(streams.get(ring - 1));
    byte[] expected = new byte[bytes];
    java.util.Arrays.fill(expected, last);
    try (SimEngine engine = machine.engine(0)) {
      for (DeviceRange buffer : buffers) {
        assertArrayEquals(expected, engine.read(buffer.address(), bytes));
      }
    }
    buffers.forEach(port::free);
    events.forEach(port::destroyEvent);
    streams.forEach(port::destroyStream);
  }

  @Test
  void manyThreadsUseOneDeviceAtOnce() throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    List<Throwable> failures = new java.util.concurrent.CopyOnWriteArrayList<>();
    for (int t = 0; t < 8; t++) {
      int number = t;
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      useAlone(number);
                    } catch (Throwable failure) {
                      failures.add(failure);
                    }
                  }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(List.of(), failures);
  }

  private void useAlone(int number) {
    try (Arena mine = Arena.ofConfined()) {
      SplittableRandom random = new SplittableRandom(number);
      StreamHandle stream = port.createStream(0);
      EventHandle event = port.createEvent(EventKind.ORDER);
      for (int round = 0; round < 40; round++) {
        int bytes = 1 + random.nextInt(100_000);
        MemorySegment host = mine.allocate(bytes, 8);
        MemorySegment back = mine.allocate(bytes, 8);
        port.register(host);
        port.register(back);
        DeviceRange device = port.allocate(bytes);
        host.fill((byte) (number * 40 + round));
        CopyTable there =
            new CopyTable(
                mine.allocate(8, 8),
                mine.allocate(8, 8),
                mine.allocate(8, 8),
                Direction.HOST_TO_DEVICE);
        there.set(0, device.address(), host.address(), bytes);
        port.copyEach(there, 0, 1, stream);
        there.set(0, back.address(), device.address(), bytes);
        port.copyEach(there, 0, 1, stream);
        port.recordEvent(event, stream);
        port.awaitEvent(event);
        assertEquals(-1, host.mismatch(back), "thread " + number + ", round " + round);
        port.unregister(host);
        port.unregister(back);
        port.free(device);
      }
      port.destroyEvent(event);
      port.destroyStream(stream);
    }
  }
}
