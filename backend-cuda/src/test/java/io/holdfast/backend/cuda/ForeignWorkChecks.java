package io.holdfast.backend.cuda;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.spi.BatchCopyPort.SourceReads;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.HostAllocationPort.Caching;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.StreamOrigin;
import io.holdfast.spi.VirtualMemoryPort.PhysicalForm;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntSupplier;

/**
 * How the port lives beside an engine's own work: its contexts, and its graph captures. The raw
 * calls show what a driver does to a bystander; the port's calls must do none of it.
 */
final class ForeignWorkChecks {
  private static final int GLOBAL = 0;
  private static final int NON_BLOCKING = 1;

  private final CheckReport report;
  private final RawCalls cuda;
  private final CudaDriver driver;
  private final int device;
  private final Arena arena = Arena.ofAuto();
  private final MemorySegment out = arena.allocate(64, 8);

  ForeignWorkChecks(CheckReport report, RawCalls cuda, CudaDriver driver, int device) {
    this.report = report;
    this.cuda = cuda;
    this.driver = driver;
    this.device = device;
  }

  void all() {
    report.part("8a an engine's own context", this::ownContext);
    report.part("8b graph capture", this::capture);
    report.part("8b graph capture beside another device", this::captureBesideAnotherDevice);
  }

  private int call(String name, Object... arguments) {
    return cuda.call(name, arguments);
  }

  private long made(String name, Object... arguments) {
    int code = cuda.call(name, arguments);
    if (code != 0) {
      throw new IllegalStateException(name + " answered " + code);
    }
    return out.get(JAVA_LONG, 0);
  }

  // ---- 8a

  private void ownContext() {
    long engine = made("cuCtxCreate_v2", out, 0, device);
    long stream = made("cuStreamCreate", out, NON_BLOCKING);
    long memory = made("cuMemAlloc_v2", out, 1L << 20);
    long event = made("cuEventCreate", out, 2);
    call("cuCtxSetCurrent", 0L);
    MemorySegment host = arena.allocate(1 << 20, 4096);
    try (DevicePort port = driver.open(device)) {
      port.register(host);
      StreamHandle own = port.createStream(0);
      StreamHandle adopted = port.adoptStream(stream);
      report.expect("8a", "an engine's stream carries its context", engine, adopted.context());
      report.expect(
          "8a", "and is told as such", StreamOrigin.FOREIGN_CONTEXT, port.originOf(adopted));
      report.expect("8a", "not captured", CaptureState.NONE, port.captureState(adopted));
      CopyTable table = row(memory, host.address(), 65_536, CopyTable.Direction.HOST_TO_DEVICE);
      port.copyEach(table, 0, 1, own);
      port.copyEach(table, 0, 1, adopted);
      report.expect("8a", "copies to the engine's memory on both streams", true, true);
      EventHandle misfit = port.createEvent(EventKind.ORDER);
      report.expect(
          "8a",
          "recording our context's event there",
          DriverFault.INVALID_HANDLE,
          fault(() -> port.recordEvent(misfit, adopted)));
      EventHandle fitting = port.createEventFor(adopted, EventKind.ORDER);
      report.expect(
          "8a",
          "recording an event made for it",
          "none",
          fault(() -> port.recordEvent(fitting, adopted)));
      report.expect(
          "8a", "our stream waits for it", "none", fault(() -> port.streamWait(own, fitting)));
      port.recordEvent(misfit, own);
      report.expect(
          "8a", "it waits for ours", "none", fault(() -> port.streamWait(adopted, misfit)));
      report.expect(
          "8a",
          "waiting for the engine's event",
          "none",
          fault(() -> port.streamWait(own, port.adoptEvent(event))));
      port.awaitStream(own);
      port.awaitStream(adopted);
      report.expect(
          "8a",
          "the engine's memory is found",
          Optional.of(new DeviceRange(memory, 1L << 20)),
          port.rangeOf(memory + 4096));
      report.expect(
          "8a", "our events pass", true, port.eventPassed(fitting) && port.eventPassed(misfit));
      call("cuCtxSetCurrent", engine);
      report.expect(
          "8a",
          "our registration is the engine's too",
          0,
          call("cuMemHostGetDevicePointer_v2", out, host.address(), 0));
      long before = current();
      DeviceRange some = port.allocate(4096);
      port.free(some);
      report.expect("8a", "the caller's context is put back", before, current());
      call("cuCtxSetCurrent", 0L);
      port.destroyEvent(misfit);
      port.destroyEvent(fitting);
      port.destroyStream(own);
      try (DevicePort theirs = driver.openOn(device, engine)) {
        DeviceRange range = theirs.allocate(4096);
        report.expect(
            "8a",
            "a port on the engine's context",
            Optional.of(range),
            theirs.rangeOf(range.address()));
        theirs.free(range);
        report.expect("8a", "its kernels", true, theirs.kernelCopies().isPresent());
      }
      for (long handle = 0; handle <= 2; handle++) {
        report.expect(
            "8a",
            "stream " + handle,
            StreamOrigin.DEFAULT_STREAM,
            port.originOf(port.adoptStream(handle)));
      }
      port.unregister(host);
    }
    call("cuCtxSetCurrent", engine);
    report.expect("8a", "the engine's context is alive", 0, call("cuStreamQuery", stream));
    call("cuEventDestroy_v2", event);
    call("cuMemFree_v2", memory);
    call("cuStreamDestroy_v2", stream);
    call("cuCtxDestroy_v2", engine);
    call("cuCtxSetCurrent", 0L);
  }

  private long current() {
    call("cuCtxGetCurrent", out);
    return out.get(JAVA_LONG, 0);
  }

  private CopyTable row(long to, long from, long bytes, CopyTable.Direction direction) {
    CopyTable table =
        new CopyTable(
            arena.allocate(JAVA_LONG),
            arena.allocate(JAVA_LONG),
            arena.allocate(JAVA_LONG),
            direction);
    table.set(0, to, from, bytes);
    return table;
  }

  private static Object fault(Runnable call) {
    try {
      call.run();
      return "none";
    } catch (DriverException failure) {
      return failure.fault();
    }
  }

  // ---- 8b

  private void capture() throws Exception {
    try (DevicePort port = driver.open(device)) {
      long context = context(device);
      call("cuCtxSetCurrent", context);
      long engine = made("cuStreamCreate", out, NON_BLOCKING);
      long other = made("cuStreamCreate", out, NON_BLOCKING);
      long event = made("cuEventCreate", out, 2);
      call("cuEventRecord", event, other);
      call("cuStreamSynchronize", other);
      MemorySegment host = arena.allocate(1 << 20, 4096);

      begin(engine);
      int answer = inThread(context, () -> call("cuEventQuery", event));
      report.expect("8b", "a bystander's raw event query", 900, answer);
      report.expect("8b", "breaks the capture", 901, end(engine));
      begin(engine);
      answer = inThread(context, () -> call("cuMemHostRegister_v2", host, 1L << 20, 1));
      report.expect("8b", "a bystander's raw registration", 900, answer);
      report.expect("8b", "breaks the capture", 901, end(engine));

      begin(engine);
      inThread(
          0,
          () -> {
            everyCall(port, host);
            return 0;
          });
      report.expect("8b", "every call of the port in another thread: the capture", 0, end(engine));
      begin(engine);
      everyCall(port, host);
      report.expect(
          "8b", "every call of the port in the capturing thread: the capture", 0, end(engine));
      begin(engine);
      driver.open(device).close();
      report.expect("8b", "opening and closing meanwhile: the capture", 0, end(engine));

      begin(engine);
      StreamHandle capturing = port.adoptStream(engine);
      report.expect(
          "8b", "the capturing stream", CaptureState.ACTIVE, port.captureState(capturing));
      report.info(
          "8b", "the legacy stream meanwhile", port.captureState(port.legacyDefaultStream()));
      call("cuEventRecord", event, engine);
      StreamHandle ours = port.createStream(0);
      port.streamWait(ours, port.adoptEvent(event));
      report.expect(
          "8b",
          "a stream of ours that waited for its event joins",
          CaptureState.ACTIVE,
          port.captureState(ours));
      port.destroyStream(ours);
      report.expect("8b", "it is destroyed: the capture", 0, end(engine));
      begin(engine);
      call("cuEventRecord", event, engine);
      report.expect(
          "8b",
          "asking for an event recorded inside",
          DriverFault.CAPTURE,
          fault(() -> port.eventPassed(port.adoptEvent(event))));
      report.info("8b", "and the capture then", end(engine));

      long blocking = made("cuStreamCreate", out, 0);
      begin(blocking);
      report.expect(
          "8b",
          "the legacy stream while a blocking one is captured",
          CaptureState.ACTIVE,
          port.captureState(port.legacyDefaultStream()));
      report.expect("8b", "the capture", 0, end(blocking));
      for (long stream : new long[] {engine, other, blocking}) {
        call("cuStreamDestroy_v2", stream);
      }
      call("cuEventDestroy_v2", event);
      call("cuCtxSetCurrent", 0L);
      call("cuDevicePrimaryCtxRelease_v2", device);
    }
  }

  private void captureBesideAnotherDevice() throws Exception {
    if (driver.devices().size() < 2) {
      report.info("8b", "two devices", "skipped, there is one");
      return;
    }
    int beside = device == 0 ? 1 : 0;
    try (DevicePort port = driver.open(beside)) {
      long context = context(device);
      long besideContext = context(beside);
      call("cuCtxSetCurrent", besideContext);
      long event = made("cuEventCreate", out, 2);
      call("cuCtxSetCurrent", context);
      long engine = made("cuStreamCreate", out, NON_BLOCKING);
      MemorySegment host = arena.allocate(1 << 20, 4096);
      begin(engine);
      report.info(
          "8b",
          "a raw event query on the other device",
          inThread(besideContext, () -> call("cuEventQuery", event)));
      report.info("8b", "and the capture then", end(engine));
      begin(engine);
      inThread(
          0,
          () -> {
            everyCall(port, host);
            return 0;
          });
      report.expect(
          "8b", "every call of the port on the other device: the capture", 0, end(engine));
      call("cuStreamDestroy_v2", engine);
      call("cuEventDestroy_v2", event);
      call("cuCtxSetCurrent", 0L);
      call("cuDevicePrimaryCtxRelease_v2", device);
      call("cuDevicePrimaryCtxRelease_v2", beside);
    }
  }

  private long context(int ordinal) {
    return made("cuDevicePrimaryCtxRetain", out, ordinal);
  }

  private void begin(long stream) {
    int code = call("cuStreamBeginCapture_v2", stream, GLOBAL);
    if (code != 0) {
      throw new IllegalStateException("cuStreamBeginCapture_v2 answered " + code);
    }
  }

  private int end(long stream) {
    int code = call("cuStreamEndCapture", stream, out);
    if (code == 0 && out.get(JAVA_LONG, 0) != 0) {
      call("cuGraphDestroy", out.get(JAVA_LONG, 0));
    }
    return code;
  }

  /** In a thread of its own with that context current, as an engine's would be. */
  private int inThread(long context, IntSupplier work) throws Exception {
    return CompletableFuture.supplyAsync(
            () -> {
              if (context != 0) {
                call("cuCtxSetCurrent", context);
              }
              return work.getAsInt();
            },
            task -> Thread.ofPlatform().start(task))
        .get();
  }

  private void everyCall(DevicePort port, MemorySegment host) {
    port.register(host);
    DeviceRange range = port.allocate(1 << 20);
    StreamHandle stream = port.createStream(0);
    EventHandle event = port.createEvent(EventKind.ORDER);
    CopyTable table =
        row(range.address(), host.address(), 65_536, CopyTable.Direction.HOST_TO_DEVICE);
    port.fill(range, (byte) 1, stream);
    port.copyEach(table, 0, 1, stream);
    port.batchCopies()
        .ifPresent(batch -> batch.copyBatch(table, 0, 1, SourceReads.ANY_TIME, stream));
    port.recordEvent(event, stream);
    port.streamWait(stream, event);
    port.eventPassed(event);
    port.streamIdle(stream);
    port.awaitEvent(event);
    port.awaitStream(stream);
    port.memoryInfo();
    port.rangeOf(range.address());
    port.seenByDevice(host);
    port.hostAllocations().ifPresent(memory -> memory.free(memory.allocate(4096, Caching.NORMAL)));
    port.virtualMemory()
        .ifPresent(
            virtual -> {
              var form = PhysicalForm.plain();
              long granule = virtual.granuleBytes(form);
              DeviceRange addresses = virtual.reserve(granule, 0);
              var handle = virtual.create(granule, form);
              virtual.map(addresses, handle);
              virtual.allowAccess(addresses);
              virtual.unmap(addresses);
              virtual.release(handle);
              virtual.freeAddresses(addresses);
            });
    port.destroyEvent(event);
    port.destroyStream(stream);
    port.free(range);
    port.unregister(host);
  }
}
