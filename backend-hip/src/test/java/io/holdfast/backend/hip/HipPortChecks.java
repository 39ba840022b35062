package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.device.HandleKind;
import io.holdfast.device.MemoryInfo;
import io.holdfast.error.DriverException;
import io.holdfast.spi.BatchCopyPort.SourceReads;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.CopyTable.Direction;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.HostAllocationPort.Caching;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.StreamOrigin;
import io.holdfast.spi.Traits.Quirk;
import io.holdfast.spi.VirtualMemoryPort.PhysicalForm;
import io.holdfast.spi.VirtualMemoryPort.RdmaWish;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Every method of the port on real memory, with bytes that go out and come back. */
final class HipPortChecks {
  private static final int ROWS = 256;
  private static final long ROW_BYTES = 73_728;
  private static final long BYTES = ROWS * ROW_BYTES;

  private final CheckReport report;
  private final HipDriver driver;
  private final HipBindings hip;
  private final DevicePort port;
  private final Arena arena = Arena.ofAuto();
  private final MemorySegment host = arena.allocate(BYTES, 4096);
  private final MemorySegment back = arena.allocate(BYTES, 4096);

  HipPortChecks(CheckReport report, HipDriver driver, DevicePort port) {
    this.report = report;
    this.driver = driver;
    this.hip = driver.hip();
    this.port = port;
    byte[] random = new byte[(int) BYTES];
    new Random(11).nextBytes(random);
    MemorySegment.copy(random, 0, host, JAVA_BYTE, 0, random.length);
  }

  void all() {
    report.part("port: devices and traits", this::facts);
    report.part("port: host memory", this::hostMemory);
    report.part("port: device memory", this::deviceMemory);
    report.part("port: copies", this::copies);
    report.part("port: streams and events", this::streams);
    report.part("port: virtual memory", this::virtualMemory);
    report.part("port: virtual threads", this::virtualThreads);
  }

  private void facts() {
    driver.devices().forEach(facts -> report.info("port", "device", facts));
    report.info("port", "version", driver.version());
    report.info("port", "traits, base pages", port.traits(4096));
    report.info("port", "kernels", port.kernelAbsence().orElse("there"));
  }

  private void hostMemory() {
    port.register(host);
    DeviceRange whole = port.seenByDevice(host);
    report.info("port", "alias of 0x" + Long.toHexString(host.address()), whole);
    report.expect(
        "port",
        "seen by the device, inside",
        new DeviceRange(whole.address() + 4096, 4096),
        port.seenByDevice(host.asSlice(4096, 4096)));
    report.expect(
        "port",
        "unregistering inside never reaches the runtime",
        true,
        refusedHere(() -> port.unregister(host.asSlice(4096))));
    port.unregister(host);
    report.expect("port", "unregistering twice", 713, code(() -> port.unregister(host)));
    report.expect("port", "last error", 0, hip.hipPeekAtLastError());
    port.hostAllocations()
        .ifPresent(
            memory -> {
              for (Caching caching : Caching.values()) {
                MemorySegment runtimes = memory.allocate(1 << 20, caching);
                runtimes.set(JAVA_BYTE, (1 << 20) - 1, (byte) 9);
                report.expect(
                    "port",
                    "runtime memory " + caching + " is seen",
                    true,
                    port.seenByDevice(runtimes).address() != 0);
                memory.free(runtimes);
              }
            });
  }

  private static boolean refusedHere(Runnable call) {
    try {
      call.run();
      return false;
    } catch (IllegalArgumentException refusal) {
      return true;
    }
  }

  private void deviceMemory() {
    MemoryInfo before = port.memoryInfo();
    DeviceRange range = port.allocate(256L << 20);
    MemoryInfo after = port.memoryInfo();
    report.expect("port", "total", before.totalBytes(), after.totalBytes());
    report.info("port", "free memory fell by", before.freeBytes() - after.freeBytes());
    report.expect("port", "found inside", Optional.of(range), port.rangeOf(range.address() + 5));
    report.expect("port", "host memory is none", Optional.empty(), port.rangeOf(host.address()));
    report.expect("port", "address 8 is none", Optional.empty(), port.rangeOf(8));
    port.free(range);
    report.expect("port", "freed is none", Optional.empty(), port.rangeOf(range.address()));
    report.expect("port", "allocating 1 TiB", 2, code(() -> port.allocate(1L << 40)));
    report.expect("port", "last error", 0, hip.hipPeekAtLastError());
  }

  private static int code(Runnable call) {
    try {
      call.run();
      return 0;
    } catch (DriverException failure) {
      return failure.code();
    }
  }

  // ---- copies

  /** Rows go out in order, are turned round on the device, and come back turned round. */
  private final class Trip {
    final DeviceRange first = port.allocate(BYTES);
    final DeviceRange second = port.allocate(BYTES);
    final CopyTable out = table(Direction.HOST_TO_DEVICE);
    final CopyTable across = table(Direction.DEVICE_TO_DEVICE);
    final CopyTable in = table(Direction.DEVICE_TO_HOST);

    Trip() {
      for (int row = 0; row < ROWS; row++) {
        long at = row * ROW_BYTES;
        long turned = (ROWS - 1 - row) * ROW_BYTES;
        out.set(row, first.address() + at, host.address() + at, ROW_BYTES);
        across.set(row, second.address() + turned, first.address() + at, ROW_BYTES);
        in.set(row, back.address() + at, second.address() + turned, ROW_BYTES);
      }
    }

    private CopyTable table(Direction direction) {
      return new CopyTable(
          arena.allocate(JAVA_LONG, ROWS),
          arena.allocate(JAVA_LONG, ROWS),
          arena.allocate(JAVA_LONG, ROWS),
          direction);
    }

    void expectArrived(String what) {
      report.expect("port", what + ": first byte that differs", -1L, back.mismatch(host));
      back.fill((byte) 0);
    }
  }

  private void copies() {
    port.register(host);
    port.register(back);
    Trip trip = new Trip();
    StreamHandle stream = port.createStream(0);
    port.copyEach(trip.out, 0, ROWS, stream);
    port.copyEach(trip.across, 0, ROWS, stream);
    port.copyEach(trip.in, 0, ROWS, stream);
    port.awaitStream(stream);
    trip.expectArrived("each");
    port.batchCopies()
        .ifPresentOrElse(
            batch -> {
              for (SourceReads reads : SourceReads.values()) {
                batch.copyBatch(trip.out, 0, ROWS, reads, stream);
                batch.copyBatch(trip.across, 0, ROWS, SourceReads.IN_STREAM_ORDER, stream);
                batch.copyBatch(trip.in, 0, ROWS / 2, SourceReads.IN_STREAM_ORDER, stream);
                batch.copyBatch(trip.in, ROWS / 2, ROWS, SourceReads.IN_STREAM_ORDER, stream);
                port.awaitStream(stream);
                trip.expectArrived("batch, " + reads);
              }
            },
            () -> report.info("port", "batched copies", "absent"));
    port.pitchedCopies()
        .ifPresent(
            pitched -> {
              long width = ROW_BYTES / 2;
              port.fill(trip.first, (byte) 0, stream);
              pitched.copyRows(
                  trip.first.address(),
                  width,
                  host.address(),
                  ROW_BYTES,
                  width,
                  ROWS,
                  Direction.HOST_TO_DEVICE,
                  stream);
              pitched.copyRows(
                  trip.second.address(),
                  ROW_BYTES,
                  trip.first.address(),
                  width,
                  width,
                  ROWS,
                  Direction.DEVICE_TO_DEVICE,
                  stream);
              pitched.copyRows(
                  back.address(),
                  width,
                  trip.second.address(),
                  ROW_BYTES,
                  width,
                  ROWS,
                  Direction.DEVICE_TO_HOST,
                  stream);
              port.awaitStream(stream);
              long wrong = 0;
              for (long row = 0; row < ROWS; row++) {
                MemorySegment sent = host.asSlice(row * ROW_BYTES, width);
                wrong += back.asSlice(row * width, width).mismatch(sent) == -1 ? 0 : 1;
              }
              report.expect("port", "pitched rows that differ", 0L, wrong);
              report.info("port", "widest pitch", pitched.maxPitchBytes());
            });
    trip.out.set(7, trip.out.destination(7), trip.out.source(7), BYTES);
    report.expect(
        "port",
        "the row beyond the registration",
        7L,
        failedRow(() -> port.copyEach(trip.out, 0, ROWS, stream)));
    port.fill(trip.first, (byte) 0xA5, stream);
    port.awaitStream(stream);
    back.fill((byte) 0);
    CopyTable one = trip.table(Direction.DEVICE_TO_HOST);
    one.set(0, back.address(), trip.first.address(), BYTES);
    port.copyEach(one, 0, 1, stream);
    port.awaitStream(stream);
    MemorySegment filled = arena.allocate(BYTES).fill((byte) 0xA5);
    report.expect("port", "filled: first byte that differs", -1L, back.mismatch(filled));
    port.destroyStream(stream);
    port.free(trip.first);
    port.free(trip.second);
    port.unregister(host);
    port.unregister(back);
  }

  private static long failedRow(Runnable copy) {
    try {
      copy.run();
      return -1;
    } catch (DriverException failure) {
      return failure.entry().orElse(-2);
    }
  }

  // ---- streams

  private void streams() {
    port.register(host);
    Trip trip = new Trip();
    StreamHandle producer = port.createStream(0);
    StreamHandle consumer = port.createStream(-1);
    report.expect("port", "our stream", StreamOrigin.OWN_CONTEXT, port.originOf(producer));
    report.expect(
        "port", "adopted, it is ours still", producer, port.adoptStream(producer.value()));
    EventHandle start = port.createEvent(EventKind.TIMED);
    EventHandle end = port.createEvent(EventKind.TIMED);
    EventHandle done = port.createEvent(EventKind.ORDER);
    port.recordEvent(start, producer);
    for (int i = 0; i < 20; i++) {
      port.copyEach(trip.out, 0, ROWS, producer);
    }
    port.recordEvent(end, producer);
    port.recordEvent(done, producer);
    boolean early = port.eventPassed(done);
    port.streamWait(consumer, done);
    port.fill(trip.first, (byte) 0, consumer);
    report.info("port", "passed at once", early);
    port.awaitEvent(done);
    port.awaitStream(consumer);
    report.expect("port", "passed after waiting", true, port.eventPassed(done));
    report.expect("port", "idle after waiting", true, port.streamIdle(consumer));
    long nanos = port.nanosBetween(start, end);
    report.expect("port", "the clock runs", true, nanos > 100_000 && nanos < 60_000_000_000L);
    report.info("port", "GB/s of copies one by one, 72 KiB", 20.0 * BYTES / nanos);
    report.expect("port", "a clock without time", 400, code(() -> port.nanosBetween(start, done)));
    report.expect("port", "default stream", true, port.streamIdle(port.legacyDefaultStream()));
    for (EventHandle event : List.of(start, end, done)) {
      port.destroyEvent(event);
    }
    port.destroyStream(producer);
    port.destroyStream(consumer);
    port.free(trip.first);
    port.free(trip.second);
    port.unregister(host);
  }

  // ---- virtual memory

  private void virtualMemory() {
    if (port.virtualMemory().isEmpty()) {
      report.info("port", "virtual memory", "absent");
      return;
    }
    var virtual = port.virtualMemory().get();
    PhysicalForm form =
        new PhysicalForm(
            virtual.exportableKinds().contains(HandleKind.POSIX_FD)
                ? Set.of(HandleKind.POSIX_FD)
                : Set.of(),
            virtual.rdmaPossible() ? RdmaWish.YES : RdmaWish.NO);
    long granule = virtual.granuleBytes(form);
    report.info(
        "port", "granule, kinds, rdma", granule + " " + virtual.exportableKinds() + " " + form);
    DeviceRange addresses = virtual.reserve(4 * granule, 0);
    boolean wholePrefix = port.traits(4096).quirks().contains(Quirk.ACCESS_WHOLE_PREFIX);
    List<PhysicalHandle> handles = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      DeviceRange part = new DeviceRange(addresses.address() + i * granule, granule);
      handles.add(virtual.create(granule, form));
      virtual.map(part, handles.get(i));
      virtual.allowAccess(
          wholePrefix ? new DeviceRange(addresses.address(), (i + 1) * granule) : part);
    }
    report.expect(
        "port",
        "found: the mapping",
        Optional.of(new DeviceRange(addresses.address() + granule, granule)),
        port.rangeOf(addresses.address() + granule + 5));
    report.expect(
        "port", "rdma as asked", form.rdma() == RdmaWish.YES, virtual.rdmaCapable(addresses));
    StreamHandle stream = port.createStream(0);
    port.fill(new DeviceRange(addresses.address(), 3 * granule), (byte) 0x3C, stream);
    if (!form.exports().isEmpty()) {
      int file = virtual.exportFileDescriptor(handles.get(2));
      PhysicalHandle imported = virtual.importFileDescriptor(file);
      DeviceRange alias = virtual.reserve(granule, 0);
      virtual.map(alias, imported);
      virtual.allowAccess(alias);
      MemorySegment seen = arena.allocate(granule);
      CopyTable table =
          new CopyTable(
              arena.allocate(JAVA_LONG),
              arena.allocate(JAVA_LONG),
              arena.allocate(JAVA_LONG),
              Direction.DEVICE_TO_HOST);
      table.set(0, seen.address(), alias.address(), granule);
      port.copyEach(table, 0, 1, stream);
      port.awaitStream(stream);
      report.expect(
          "port", "an imported handle shares bytes", (byte) 0x3C, seen.get(JAVA_BYTE, granule - 1));
      LibC.close(file);
      virtual.unmap(alias);
      virtual.release(imported);
      virtual.freeAddresses(alias);
    }
    virtual
        .dmaBuf()
        .ifPresentOrElse(
            dmaBuf -> {
              int file = dmaBuf.exportDmaBuf(new DeviceRange(addresses.address(), granule));
              report.expect("port", "dma-buf", true, file > 2);
              LibC.close(file);
            },
            () -> report.info("port", "dma-buf", "absent"));
    port.awaitStream(stream);
    port.destroyStream(stream);
    for (int i = 0; i < 3; i++) {
      virtual.unmap(new DeviceRange(addresses.address() + i * granule, granule));
      virtual.release(handles.get(i));
    }
    virtual.freeAddresses(addresses);
    DeviceRange again = virtual.reserveAt(addresses);
    report.expect(
        "port", "as many addresses, wished for where they were", addresses.bytes(), again.bytes());
    report.info("port", "they are where they were", again.equals(addresses)); // not on every driver
    virtual.freeAddresses(again);
  }

  // ---- virtual threads

  private void virtualThreads() throws Exception {
    List<DevicePort> ports = new ArrayList<>();
    for (int ordinal = 0; ordinal < driver.devices().size(); ordinal++) {
      ports.add(driver.open(ordinal));
    }
    long rounds = 0;
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Integer>> tasks = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        DevicePort mine = ports.get(i % ports.size());
        tasks.add(
            threads.submit(
                () -> {
                  StreamHandle stream = mine.createStream(0);
                  for (int round = 0; round < 200; round++) {
                    // An event belongs to whatever is current: a wrong context answers 400 here.
                    EventHandle event = mine.createEvent(EventKind.ORDER);
                    Thread.sleep(0, 1);
                    mine.recordEvent(event, stream);
                    mine.awaitEvent(event);
                    mine.destroyEvent(event);
                  }
                  mine.destroyStream(stream);
                  return 200;
                }));
      }
      for (Future<Integer> task : tasks) {
        rounds += task.get();
      }
    }
    report.expect(
        "port", "rounds of 64 virtual threads on " + ports.size() + " devices", 12_800L, rounds);
    ports.forEach(DevicePort::close);
  }
}
