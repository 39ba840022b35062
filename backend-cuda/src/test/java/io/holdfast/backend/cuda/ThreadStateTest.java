package io.holdfast.backend.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.holdfast.error.DriverException;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.BatchCopyPort.SourceReads;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.HostAllocationPort.Caching;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.VirtualMemoryPort.PhysicalForm;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an entry into the driver leaves on the calling thread, and what it costs the Java heap. */
final class ThreadStateTest {
  private static final int GLOBAL = 0;
  private static final int THREAD_LOCAL = 1;
  private static final ThreadMXBean HEAP = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  @TempDir Path folder;

  private final Arena arena = Arena.ofAuto();
  private PretendDriver pretend;
  private DevicePort port;

  @BeforeEach
  void open() {
    pretend = new PretendDriver(folder);
    port = pretend.driver().open(0);
  }

  @Test
  void noCallBreaksACaptureInAnotherThreadAndEachLeavesModeAndContextAsTheyWere() {
    List<Runnable> calls = everyCall();
    long engine = pretend.createContext(1);
    assertEquals(0, pretend.bindings().cuCtxSetCurrent(engine));
    for (int mode : new int[] {GLOBAL, THREAD_LOCAL}) {
      exchangeMode(mode);
      pretend.setCapturing(true);
      for (int i = 0; i < calls.size(); i++) {
        calls.get(i).run();
        assertFalse(pretend.captureIsDead(), "broken by call " + i);
        assertEquals(engine, currentContext(), "context after call " + i);
        assertEquals(mode, exchangeMode(mode), "mode after call " + i);
      }
      pretend.setCapturing(false);
    }
    exchangeMode(GLOBAL);
    assertEquals(0, pretend.bindings().cuCtxSetCurrent(0));
    port.close();
    pretend.assertNothingLeft(0);
  }

  @Test
  void thePretendedDriverDoesBreakACaptureWhenAskedFromOutside() {
    assertEquals(0, pretend.bindings().cuCtxSetCurrent(pretend.createContext(0)));
    pretend.setCapturing(true);

    assertEquals(900, pretend.bindings().cuStreamQuery(1));

    assertTrue(pretend.captureIsDead());
    pretend.setCapturing(false);
    assertEquals(0, pretend.bindings().cuCtxSetCurrent(0));
    port.close();
  }

  /** Calls of the port that leave nothing behind, each of which uses several entries. */
  private List<Runnable> everyCall() {
    MemorySegment host = arena.allocate(1 << 16, 4096);
    List<Runnable> calls = new ArrayList<>();
    calls.add(() -> pretend.driver().devices());
    calls.add(() -> pretend.driver().open(1).close());
    calls.add(() -> pretend.driver().openOn(0, pretend.createContext(0)).close());
    calls.add(
        () -> {
          port.register(host);
          port.seenByDevice(host);
          port.unregister(host);
        });
    calls.add(() -> assertThrows(DriverException.class, () -> port.unregister(host)));
    calls.add(port::memoryInfo);
    calls.add(() -> port.rangeOf(host.address()));
    calls.add(
        () -> {
          StreamHandle stream = port.createStream(0);
          EventHandle event = port.createEvent(EventKind.TIMED);
          EventHandle other = port.createEventFor(stream, EventKind.TIMED);
          port.originOf(port.adoptStream(stream.value()));
          port.captureState(stream);
          port.recordEvent(event, stream);
          port.recordEvent(other, stream);
          port.streamWait(stream, event);
          port.streamIdle(stream);
          port.eventPassed(event);
          port.awaitEvent(event);
          port.awaitStream(stream);
          port.nanosBetween(event, other);
          port.destroyEvent(event);
          port.destroyEvent(other);
          port.destroyStream(stream);
        });
    calls.add(
        () -> {
          StreamHandle stream = port.createStream(0);
          DeviceRange range = port.allocate(4096);
          CopyTable table = oneRow(range, host);
          port.rangeOf(range.address());
          port.fill(range, (byte) 1, stream);
          port.copyEach(table, 0, 1, stream);
          port.batchCopies().orElseThrow().copyBatch(table, 0, 1, SourceReads.ANY_TIME, stream);
          port.pitchedCopies()
              .orElseThrow()
              .copyRows(range.address(), 64, host.address(), 64, 64, 4, table.direction(), stream);
          port.free(range);
          port.destroyStream(stream);
        });
    calls.add(
        () -> {
          var allocations = port.hostAllocations().orElseThrow();
          allocations.free(allocations.allocate(4096, Caching.NORMAL));
        });
    calls.add(
        () -> {
          var virtual = port.virtualMemory().orElseThrow();
          long granule = virtual.granuleBytes(PhysicalForm.plain());
          DeviceRange addresses = virtual.reserve(granule, 0);
          PhysicalHandle handle = virtual.create(granule, PhysicalForm.plain());
          virtual.map(addresses, handle);
          virtual.allowAccess(addresses);
          virtual.rdmaCapable(addresses);
          virtual.unmap(addresses);
          virtual.release(handle);
          virtual.freeAddresses(addresses);
        });
    return calls;
  }

  @Test
  void virtualThreadsOnSharedCarriersKeepTheirDevicesApart() throws Exception {
    try (DevicePort other = pretend.driver().open(1);
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Void>> tasks = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        DevicePort mine = i % 2 == 0 ? port : other;
        Callable<Void> rounds =
            () -> {
              StreamHandle stream = mine.createStream(0);
              for (int round = 0; round < 50; round++) {
                // The event belongs to whatever is current while it is made: a wrong context here
                // makes the record answer 400.
                EventHandle event = mine.createEvent(EventKind.ORDER);
                LockSupport.parkNanos(1); // lets go of the carrier
                mine.recordEvent(event, stream);
                do {
                  LockSupport.parkNanos(1); // lets go of the carrier
                } while (!mine.eventPassed(event));
                mine.destroyEvent(event);
                assertEquals(0, currentContext());
              }
              mine.destroyStream(stream);
              return null;
            };
        tasks.add(threads.submit(rounds));
      }
      for (Future<Void> task : tasks) {
        task.get();
      }
    }
    port.close();
    pretend.assertNothingLeft(0);
  }

  @Test
  void moreEntriesAtOnceThanFramesAreServedAllTheSame() throws Exception {
    StreamHandle stream = port.createStream(0);
    DeviceRange range = port.allocate(64);
    pretend.hold(stream);
    port.fill(range, (byte) 1, stream);
    List<Thread> waiting = new ArrayList<>();
    for (int i = 0; i < 300; i++) { // 256 frames are made beforehand
      waiting.add(Thread.ofPlatform().stackSize(512 << 10).start(() -> port.awaitStream(stream)));
    }

    assertFalse(port.streamIdle(stream)); // one more entry while all of them wait
    pretend.letGo(stream);

    for (Thread thread : waiting) {
      thread.join();
    }
    assertTrue(port.streamIdle(stream));
    port.free(range);
    port.destroyStream(stream);
    port.close();
  }

  /** On a library without Java behind it, whose heap this would count too. */
  @Test
  void submittingAndAskingAllocateNothingOnTheHeap(@TempDir Path quietly) {
    Path library = CLibrary.compile(quietly, "quiet_libcuda.c", "libcuda.so.1");
    CudaBindings quiet =
        new CudaBindings(
            "quiet", ((DynamicLibrary.Opened) DynamicLibrary.open(library.toString())).symbols());
    assertEquals(List.of(), quiet.missing());
    port.close();
    port = new CudaDriver(quiet, 13_000, Optional.empty(), PretendDriver.BASE_PAGE_BYTES).open(0);
    MemorySegment host = arena.allocate(4096, 4096);
    port.register(host);
    DeviceRange range = port.allocate(4096);
    StreamHandle stream = port.createStream(0);
    EventHandle event = port.createEvent(EventKind.ORDER);
    BatchCopyPort batch = port.batchCopies().orElseThrow();
    CopyTable table = oneRow(range, host);
    Runnable submission =
        () -> {
          port.copyEach(table, 0, 1, stream);
          batch.copyBatch(table, 0, 1, SourceReads.IN_STREAM_ORDER, stream);
          port.recordEvent(event, stream);
          port.streamWait(stream, event);
          if (!port.eventPassed(event) || !port.streamIdle(stream)) {
            throw new AssertionError("the quiet library says yes");
          }
        };
    // The runtime makes forms of its own while it warms up; what a call costs, every round costs.
    long used = Long.MAX_VALUE;
    for (int round = 0; round < 10; round++) {
      long before = HEAP.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < 1_000; i++) {
        submission.run();
      }
      used = Math.min(used, HEAP.getCurrentThreadAllocatedBytes() - before);
    }

    assertEquals(0, used);
    port.destroyEvent(event);
    port.destroyStream(stream);
    port.free(range);
    port.unregister(host);
    port.close();
  }

  private CopyTable oneRow(DeviceRange to, MemorySegment from) {
    CopyTable table =
        new CopyTable(
            arena.allocate(JAVA_LONG),
            arena.allocate(JAVA_LONG),
            arena.allocate(JAVA_LONG),
            CopyTable.Direction.HOST_TO_DEVICE);
    table.set(0, to.address(), from.address(), 256);
    return table;
  }

  private long currentContext() {
    try (Arena memory = Arena.ofConfined()) {
      MemorySegment context = memory.allocate(JAVA_LONG);
      assertEquals(0, pretend.bindings().cuCtxGetCurrent(context));
      return context.get(JAVA_LONG, 0);
    }
  }

  /** Sets the calling thread's capture mode and tells what it was. */
  private int exchangeMode(int mode) {
    try (Arena memory = Arena.ofConfined()) {
      MemorySegment inOut = memory.allocateFrom(JAVA_INT, mode);
      assertEquals(0, pretend.bindings().cuThreadExchangeStreamCaptureMode(inOut));
      return inOut.get(JAVA_INT, 0);
    }
  }
}
