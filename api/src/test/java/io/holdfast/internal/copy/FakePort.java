package io.holdfast.internal.copy;

import io.holdfast.device.MemoryInfo;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.KernelCopyPort;
import io.holdfast.spi.PitchedCopyPort;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.StreamOrigin;
import io.holdfast.spi.Traits;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A device whose streams move only when the test says {@link #run}. Device memory is native memory;
 * host memory is seen at its address plus {@link #ALIAS}, so that a host address that was not asked
 * for faults the test. Tables are read when the copy runs, not when it is submitted.
 */
final class FakePort implements DevicePort {
  /** What the device adds to host addresses. */
  static final long ALIAS = 1L << 52;

  /** One copy as it ran or was submitted. */
  record Copied(long destination, long source, long bytes) {}

  /** A driver call that submitted copies. */
  record Call(String kind, long rows, long stream) {}

  private interface Work {
    /** False while it cannot run yet. */
    boolean run();
  }

  private static final class Event {
    long recorded;
    long passed;
    boolean captured;
    long nanos;
  }

  private final Arena arena = Arena.ofShared();
  private final Map<Long, ArrayDeque<Work>> streams = new LinkedHashMap<>();
  private final Map<Long, Event> events = new HashMap<>();
  private final Set<Long> capturing = new HashSet<>();
  private final Set<Long> gates = new HashSet<>();
  private final TreeMap<Long, Long> registrations = new TreeMap<>();
  private static final AtomicLong HANDLES = new AtomicLong(0x1000);
  private long clock;

  /** Every copy call, in order. */
  final List<Call> calls = new ArrayList<>();

  /** Every row, in the order it was submitted. */
  final List<Copied> rows = new ArrayList<>();

  /** What was waited for and recorded, in order. */
  final List<String> order = new ArrayList<>();

  /** Streams that were destroyed. */
  final List<Long> destroyed = new ArrayList<>();

  /** The copy call that fails, counted from 0; -1 for none. */
  int failingCall = -1;

  /** The row of the failing call that is named, or -1. */
  long failingRow = -1;

  /** What eventPassed answers instead, when set. */
  @Nullable DriverException asynchronous;

  /** Refuses to record events when set. */
  boolean refusesToRecord;

  /** How many more streams can be made. */
  int streamsLeft = Integer.MAX_VALUE;

  /** How many more events can be made. */
  int eventsLeft = Integer.MAX_VALUE;

  /** What streamIdle answers instead, when set. */
  volatile @Nullable DriverException idleRefusal;

  /** Called when somebody asks whether a stream is captured; set to nothing before it runs. */
  @Nullable Runnable whenAskedForCapture;

  /** How often it was asked for an event or an idle stream. */
  final AtomicLong questions = new AtomicLong();

  /** Captures that a question of ours broke. */
  int brokenCaptures;

  int maxRows = 1 << 20;
  boolean hasBatch = true;
  boolean hasKernel;
  boolean hasPitched;
  boolean closed;

  // ---- the test's side

  /** Runs everything that can run. */
  synchronized void run() {
    boolean progress = true;
    while (progress) {
      progress = false;
      for (ArrayDeque<Work> stream : new ArrayList<>(streams.values())) {
        while (!stream.isEmpty() && stream.peek().run()) {
          stream.remove();
          progress = true;
        }
      }
    }
  }

  /** Runs everything again and again until closed, as a device does. */
  AutoCloseable running() {
    AtomicBoolean stop = new AtomicBoolean();
    Thread thread =
        Thread.ofPlatform()
            .daemon()
            .start(
                () -> {
                  while (!stop.get()) {
                    run();
                    LockSupport.parkNanos(20_000);
                  }
                });
    return () -> {
      stop.set(true);
      thread.join();
    };
  }

  /** Runs one piece of work of one stream, if it can run. */
  synchronized boolean runOne(long stream) {
    ArrayDeque<Work> works = queue(stream);
    if (works.isEmpty() || !works.peek().run()) {
      return false;
    }
    works.remove();
    return true;
  }

  /** Work on a stream that does not end before {@link #open}. */
  synchronized long gate(long stream) {
    long gate = HANDLES.incrementAndGet();
    gates.add(gate);
    queue(stream).add(() -> !gates.contains(gate));
    return gate;
  }

  synchronized void open(long gate) {
    gates.remove(gate);
  }

  /** A stream of an engine's. */
  synchronized long engineStream() {
    return createStream(0).value();
  }

  /** An event of an engine's, recorded. */
  synchronized long engineEvent(long stream) {
    EventHandle event = createEvent(EventKind.ORDER);
    recordEvent(event, new StreamHandle(stream, 0));
    return event.value();
  }

  /** Begins a graph capture from a stream. */
  synchronized void capture(long stream) {
    capturing.add(stream);
  }

  synchronized boolean isCapturing(long stream) {
    return capturing.contains(stream);
  }

  /** Native memory as the device's. */
  MemorySegment deviceMemory(long bytes) {
    return arena.allocate(bytes, 64);
  }

  /** Lets streams of this device wait for another device's events. */
  synchronized void borrow(FakePort other) {
    synchronized (other) {
      other.events.forEach(events::putIfAbsent);
    }
  }

  /** Says that copies may touch this host range; ranges that touch are different registrations. */
  synchronized void registered(long address, long bytes) {
    registrations.put(address + ALIAS, bytes);
  }

  synchronized int streamCount() {
    return streams.size();
  }

  synchronized int eventCount() {
    return events.size();
  }

  private ArrayDeque<Work> queue(long stream) {
    ArrayDeque<Work> queue = streams.get(stream);
    if (queue == null) {
      throw refusal("a stream that is not there", DriverFault.INVALID_HANDLE);
    }
    return queue;
  }

  static DriverException refusal(String operation, DriverFault fault) {
    return new DriverException("fake", operation, 1, fault.name(), fault);
  }

  // ---- copies

  @SuppressWarnings("restricted") // the fake device reads any address, as a real one does
  private void copy(long destination, long source, long bytes) {
    MemorySegment.copy(
        MemorySegment.ofAddress(real(source)).reinterpret(bytes),
        0,
        MemorySegment.ofAddress(real(destination)).reinterpret(bytes),
        0,
        bytes);
  }

  /** Read at any time is read as early as can be. */
  private MemorySegment readNow(long source, long bytes) {
    MemorySegment read = arena.allocate(bytes);
    copy(read.address(), source, bytes);
    return read;
  }

  private static long real(long address) {
    return address >= ALIAS ? address - ALIAS : address;
  }

  /** The driver's rule: a host range lies wholly in one registration. */
  private void check(long row, long host, long bytes) {
    Map.Entry<Long, Long> below = registrations.floorEntry(host);
    if (host < ALIAS || below == null || host + bytes > below.getKey() + below.getValue()) {
      throw refusal("copy over a cut", DriverFault.INVALID_ARGUMENT).atEntry(row);
    }
  }

  private synchronized void submit(
      String kind, CopyTable table, long from, long to, StreamHandle stream) {
    boolean fails = calls.size() == failingCall;
    calls.add(new Call(kind, to - from, stream.value()));
    long until = fails && failingRow >= 0 ? failingRow : fails ? from : to;
    for (long row = from; row < to; row++) {
      boolean store = table.direction() == CopyTable.Direction.DEVICE_TO_HOST;
      check(row, store ? table.destination(row) : table.source(row), table.bytes(row));
      rows.add(new Copied(table.destination(row), table.source(row), table.bytes(row)));
    }
    boolean joined = capturing.contains(stream.value());
    boolean early = kind.equals("batch ANY_TIME");
    for (long each = from; each < until; each++) {
      long row = each;
      MemorySegment source = early ? readNow(table.source(row), table.bytes(row)) : null;
      queue(stream.value())
          .add(
              () -> {
                if (!joined) { // a captured copy returns 0 and never runs
                  long first = source == null ? table.source(row) : source.address();
                  copy(table.destination(row), first, table.bytes(row));
                }
                return true;
              });
    }
    if (fails) {
      DriverException answer = refusal("copy", DriverFault.INVALID_ARGUMENT);
      throw failingRow >= 0 ? answer.atEntry(failingRow) : answer;
    }
  }

  @Override
  public void copyEach(CopyTable table, long from, long to, StreamHandle stream) {
    submit("each", table, from, to, stream);
  }

  @Override
  public Optional<BatchCopyPort> batchCopies() {
    return hasBatch
        ? Optional.of(
            new BatchCopyPort() {
              @Override
              public int maxRows() {
                return maxRows;
              }

              @Override
              public void copyBatch(
                  CopyTable table, long from, long to, SourceReads reads, StreamHandle stream) {
                submit("batch " + reads, table, from, to, stream);
              }
            })
        : Optional.empty();
  }

  @Override
  public Optional<KernelCopyPort> kernelCopies() {
    return hasKernel
        ? Optional.of(
            (table, columns, from, to, threadBlocks, stream) -> {
              long first = table.destinations().address() + ALIAS;
              if (columns.address() != first || columns.bytes() < 3 * 8 * table.capacity()) {
                throw refusal("columns elsewhere", DriverFault.INVALID_ARGUMENT);
              }
              submit("kernel " + threadBlocks, table, from, to, stream);
            })
        : Optional.empty();
  }

  @Override
  public Optional<PitchedCopyPort> pitchedCopies() {
    return hasPitched ? Optional.of(new Pitched()) : Optional.empty();
  }

  private final class Pitched implements PitchedCopyPort {
    @Override
    public void copyRows(
        long destination,
        long destinationPitchBytes,
        long source,
        long sourcePitchBytes,
        long rowBytes,
        long count,
        CopyTable.Direction direction,
        StreamHandle stream) {
      synchronized (FakePort.this) {
        boolean fails = calls.size() == failingCall;
        calls.add(new Call("pitched", count, stream.value()));
        if (fails) {
          throw refusal("copyRows", DriverFault.INVALID_ARGUMENT);
        }
        boolean store = direction == CopyTable.Direction.DEVICE_TO_HOST;
        long host = store ? destination : source;
        long pitch = store ? destinationPitchBytes : sourcePitchBytes;
        if (destinationPitchBytes < rowBytes || sourcePitchBytes < rowBytes) {
          throw refusal("pitch below the row", DriverFault.INVALID_ARGUMENT);
        }
        check(0, host, (count - 1) * pitch + rowBytes);
        for (long row = 0; row < count; row++) {
          long to = destination + row * destinationPitchBytes;
          long from = source + row * sourcePitchBytes;
          rows.add(new Copied(to, from, rowBytes));
          queue(stream.value())
              .add(
                  () -> {
                    copy(to, from, rowBytes);
                    return true;
                  });
        }
      }
    }

    @Override
    public long maxPitchBytes() {
      return 1L << 20;
    }
  }

  // ---- streams

  @Override
  public synchronized StreamHandle createStream(int priority) {
    if (streamsLeft-- <= 0) {
      throw refusal("createStream", DriverFault.OUT_OF_MEMORY);
    }
    StreamHandle handle = new StreamHandle(HANDLES.incrementAndGet(), 0);
    streams.put(handle.value(), new ArrayDeque<>());
    return handle;
  }

  @Override
  public synchronized StreamHandle adoptStream(long rawHandle) {
    var _ = queue(rawHandle);
    return new StreamHandle(rawHandle, 0);
  }

  @Override
  public synchronized StreamHandle legacyDefaultStream() {
    streams.putIfAbsent(1L, new ArrayDeque<>());
    return new StreamHandle(1, 0);
  }

  @Override
  public synchronized void destroyStream(StreamHandle stream) {
    capturing.remove(stream.value());
    if (queue(stream.value()).isEmpty()) {
      streams.remove(stream.value());
    }
    destroyed.add(stream.value());
  }

  @Override
  public StreamOrigin originOf(StreamHandle stream) {
    return stream.value() == 1 ? StreamOrigin.DEFAULT_STREAM : StreamOrigin.OWN_CONTEXT;
  }

  @Override
  public CaptureState captureState(StreamHandle stream) {
    Runnable hook = whenAskedForCapture;
    if (hook != null) {
      whenAskedForCapture = null;
      hook.run();
    }
    return isCapturing(stream.value()) ? CaptureState.ACTIVE : CaptureState.NONE;
  }

  @Override
  public synchronized boolean streamIdle(StreamHandle stream) {
    questions.incrementAndGet();
    if (capturing.contains(stream.value())) {
      brokenCaptures++;
    }
    DriverException refused = idleRefusal;
    if (refused != null) {
      throw refused;
    }
    return queue(stream.value()).isEmpty();
  }

  @Override
  public void awaitStream(StreamHandle stream) {
    run();
    if (!streamIdle(stream)) {
      throw new IllegalStateException("the test would wait for ever");
    }
  }

  @Override
  public synchronized void streamWait(StreamHandle stream, EventHandle event) {
    Event waited = events.get(event.value());
    if (waited == null) {
      throw refusal("wait for an event that is not there", DriverFault.INVALID_HANDLE);
    }
    order.add(stream.value() + " waits for " + event.value());
    if (waited.captured) {
      capturing.add(stream.value());
      return;
    }
    long version = waited.recorded;
    queue(stream.value()).add(() -> waited.passed >= version);
  }

  // ---- events

  @Override
  public synchronized EventHandle createEvent(EventKind kind) {
    if (eventsLeft-- <= 0) {
      throw refusal("createEvent", DriverFault.OUT_OF_MEMORY);
    }
    EventHandle handle = new EventHandle(HANDLES.incrementAndGet(), 0);
    events.put(handle.value(), new Event());
    return handle;
  }

  @Override
  public EventHandle createEventFor(StreamHandle stream, EventKind kind) {
    return createEvent(kind);
  }

  @Override
  public EventHandle adoptEvent(long rawHandle) {
    return new EventHandle(rawHandle, 0);
  }

  @Override
  public synchronized void destroyEvent(EventHandle event) {
    if (events.remove(event.value()) == null) {
      throw refusal("destroy of an event that is not there", DriverFault.INVALID_HANDLE);
    }
  }

  @Override
  public synchronized void recordEvent(EventHandle event, StreamHandle stream) {
    if (refusesToRecord) {
      throw refusal("recordEvent", DriverFault.OTHER);
    }
    Event recorded = events.get(event.value());
    if (recorded == null) {
      throw refusal("record of an event that is not there", DriverFault.INVALID_HANDLE);
    }
    order.add(stream.value() + " records " + event.value());
    recorded.captured = capturing.contains(stream.value());
    long version = ++recorded.recorded;
    queue(stream.value())
        .add(
            () -> {
              recorded.passed = Math.max(recorded.passed, version);
              recorded.nanos = ++clock;
              return true;
            });
  }

  @Override
  public synchronized boolean eventPassed(EventHandle event) {
    questions.incrementAndGet();
    if (asynchronous != null) {
      throw asynchronous;
    }
    Event asked = events.get(event.value());
    if (asked == null) {
      throw refusal("query of an event that is not there", DriverFault.INVALID_HANDLE);
    }
    return asked.passed >= asked.recorded;
  }

  @Override
  public void awaitEvent(EventHandle event) {
    run();
    if (!eventPassed(event)) {
      throw new IllegalStateException("the test would wait for ever");
    }
  }

  @Override
  public synchronized long nanosBetween(EventHandle start, EventHandle end) {
    return 1000
        * (nonNull(events.get(end.value())).nanos - nonNull(events.get(start.value())).nanos);
  }

  private static <T> T nonNull(@Nullable T value) {
    if (value == null) {
      throw refusal("an event that is not there", DriverFault.INVALID_HANDLE);
    }
    return value;
  }

  // ---- memory

  @Override
  public Traits traits(long backingPageBytes) {
    return Traits.plain();
  }

  @Override
  public void register(MemorySegment range) {
    registered(range.address(), range.byteSize());
  }

  @Override
  public synchronized void unregister(MemorySegment range) {
    if (registrations.remove(range.address() + ALIAS) == null) {
      throw refusal("unregister", DriverFault.NOT_REGISTERED);
    }
  }

  synchronized int registrationCount() {
    return registrations.size();
  }

  @Override
  public DeviceRange seenByDevice(MemorySegment range) {
    return new DeviceRange(range.address() + ALIAS, range.byteSize());
  }

  @Override
  public DeviceRange allocate(long bytes) {
    MemorySegment memory = deviceMemory(bytes);
    return new DeviceRange(memory.address(), bytes);
  }

  @Override
  public void free(DeviceRange range) {}

  @Override
  @SuppressWarnings("restricted") // device memory of the fake is native memory
  public synchronized void fill(DeviceRange range, byte value, StreamHandle stream) {
    queue(stream.value())
        .add(
            () -> {
              MemorySegment.ofAddress(range.address()).reinterpret(range.bytes()).fill(value);
              return true;
            });
  }

  @Override
  public Optional<DeviceRange> rangeOf(long address) {
    return Optional.empty();
  }

  @Override
  public MemoryInfo memoryInfo() {
    return new MemoryInfo(1L << 30, 1L << 30);
  }

  @Override
  public void close() {
    closed = true;
  }
}
