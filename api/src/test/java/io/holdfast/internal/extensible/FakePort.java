package io.holdfast.internal.extensible;

import io.holdfast.device.MemoryInfo;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.StreamOrigin;
import io.holdfast.spi.Traits;
import io.holdfast.spi.Traits.Quirk;
import io.holdfast.spi.VirtualMemoryPort;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * A device over a {@link FakeMemory}. Work waits on its stream until somebody waits for the stream;
 * a gate holds a stream up until the test opens it.
 */
final class FakePort implements DevicePort {
  private static final class Event {
    long recorded;
    long passed;
    boolean captured;
  }

  final FakeMemory memory;

  /** What the driver declares. */
  final Set<Quirk> quirks = EnumSet.noneOf(Quirk.class);

  boolean hasVirtualMemory = true;

  private final Map<Long, ArrayDeque<BooleanSupplier>> streams = new HashMap<>();
  private final Map<Long, Event> events = new HashMap<>();
  private final Set<Long> capturing = new HashSet<>();
  private final Set<Long> gates = new HashSet<>();
  private long handles = 0x1000;

  FakePort() {
    this(new FakeMemory());
  }

  FakePort(FakeMemory memory) {
    this.memory = memory;
  }

  // ---- the test's side

  synchronized int streamCount() {
    return streams.size();
  }

  /** Holds a stream up. */
  synchronized long gate(long stream) {
    long gate = ++handles;
    gates.add(gate);
    queue(stream).add(() -> !gates.contains(gate));
    return gate;
  }

  synchronized void open(long gate) {
    gates.remove(gate);
    notifyAll();
  }

  synchronized long engineStream() {
    return createStream(0).value();
  }

  /** An event of an engine's, recorded. */
  synchronized long engineEvent(long stream) {
    EventHandle event = createEvent(EventKind.ORDER);
    recordEvent(event, new StreamHandle(stream, 0));
    return event.value();
  }

  synchronized void capture(long stream) {
    capturing.add(stream);
  }

  synchronized boolean isCapturing(long stream) {
    return capturing.contains(stream);
  }

  private ArrayDeque<BooleanSupplier> queue(long stream) {
    ArrayDeque<BooleanSupplier> queue = streams.get(stream);
    if (queue == null) {
      throw FakeMemory.refusal("a stream that is not there", DriverFault.INVALID_HANDLE);
    }
    return queue;
  }

  private boolean runAll() {
    boolean progress = false;
    for (ArrayDeque<BooleanSupplier> stream : streams.values()) {
      while (!stream.isEmpty() && stream.peek().getAsBoolean()) {
        stream.remove();
        progress = true;
      }
    }
    return progress;
  }

  private synchronized void enqueue(StreamHandle stream, Runnable work) {
    boolean joined = capturing.contains(stream.value());
    queue(stream.value())
        .add(
            () -> {
              if (!joined) { // captured work is never run
                work.run();
              }
              return true;
            });
  }

  // ---- memory

  @Override
  public Traits traits(long backingPageBytes) {
    Traits plain = Traits.plain();
    return new Traits(
        plain.pinModel(),
        plain.bounds(),
        plain.maxRegisteredBytes(),
        plain.warnRegisteredAboveBytes(),
        plain.alias(),
        quirks);
  }

  @Override
  public Optional<VirtualMemoryPort> virtualMemory() {
    return hasVirtualMemory ? Optional.of(memory) : Optional.empty();
  }

  @Override
  public DeviceRange allocate(long bytes) {
    return memory.allocate(bytes);
  }

  @Override
  public void free(DeviceRange range) {
    memory.free(range);
  }

  @Override
  public void fill(DeviceRange range, byte value, StreamHandle stream) {
    memory.count("fill", range.address(), range.bytes());
    enqueue(stream, () -> memory.write(range.address(), range.bytes(), value));
  }

  @Override
  public void copyEach(CopyTable table, long from, long to, StreamHandle stream) {
    memory.count("copyEach", table.destination(from), table.bytes(from));
    for (long row = from; row < to; row++) {
      long at = row;
      if (table.direction() != CopyTable.Direction.DEVICE_TO_DEVICE) {
        throw FakeMemory.refusal("a copy that is not on the device", DriverFault.NOT_SUPPORTED);
      }
      enqueue(stream, () -> memory.copy(table.source(at), table.destination(at), table.bytes(at)));
    }
  }

  @Override
  public Optional<DeviceRange> rangeOf(long address) {
    return Optional.empty();
  }

  @Override
  public MemoryInfo memoryInfo() {
    return new MemoryInfo(memory.totalBytes - memory.usedBytes(), memory.totalBytes);
  }

  @Override
  public void register(MemorySegment range) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void unregister(MemorySegment range) {
    throw new UnsupportedOperationException();
  }

  @Override
  public DeviceRange seenByDevice(MemorySegment range) {
    throw new UnsupportedOperationException();
  }

  // ---- streams

  @Override
  public synchronized StreamHandle createStream(int priority) {
    StreamHandle handle = new StreamHandle(++handles, 0);
    streams.put(handle.value(), new ArrayDeque<>());
    return handle;
  }

  @Override
  public synchronized StreamHandle adoptStream(long rawHandle) {
    var _ = queue(rawHandle);
    return new StreamHandle(rawHandle, 0);
  }

  @Override
  public StreamHandle legacyDefaultStream() {
    throw new UnsupportedOperationException();
  }

  @Override
  public synchronized void destroyStream(StreamHandle stream) {
    var _ = queue(stream.value());
    capturing.remove(stream.value());
    streams.remove(stream.value());
  }

  @Override
  public StreamOrigin originOf(StreamHandle stream) {
    return StreamOrigin.OWN_CONTEXT;
  }

  @Override
  public synchronized CaptureState captureState(StreamHandle stream) {
    return capturing.contains(stream.value()) ? CaptureState.ACTIVE : CaptureState.NONE;
  }

  @Override
  public synchronized boolean streamIdle(StreamHandle stream) {
    return queue(stream.value()).isEmpty();
  }

  @Override
  public synchronized void awaitStream(StreamHandle stream) {
    try {
      memory.count("awaitStream", stream.value(), 0);
    } catch (DriverException lost) {
      queue(stream.value()).clear(); // what was enqueued is aborted with it
      throw lost;
    }
    while (!queue(stream.value()).isEmpty()) {
      if (!runAll()) {
        try {
          wait();
        } catch (InterruptedException interrupted) {
          throw new AssertionError(interrupted);
        }
      }
    }
  }

  @Override
  public synchronized void streamWait(StreamHandle stream, EventHandle event) {
    Event waited = event(event);
    if (waited.captured) {
      capturing.add(stream.value());
      return;
    }
    long version = waited.recorded;
    queue(stream.value()).add(() -> waited.passed >= version);
  }

  // ---- events

  private Event event(EventHandle handle) {
    Event event = events.get(handle.value());
    if (event == null) {
      throw FakeMemory.refusal("an event that is not there", DriverFault.INVALID_HANDLE);
    }
    return event;
  }

  @Override
  public synchronized EventHandle createEvent(EventKind kind) {
    EventHandle handle = new EventHandle(++handles, 0);
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
    var _ = event(event);
    events.remove(event.value());
  }

  @Override
  public synchronized void recordEvent(EventHandle handle, StreamHandle stream) {
    Event event = event(handle);
    event.captured = capturing.contains(stream.value());
    long version = ++event.recorded;
    queue(stream.value())
        .add(
            () -> {
              event.passed = Math.max(event.passed, version);
              return true;
            });
  }

  @Override
  public synchronized boolean eventPassed(EventHandle handle) {
    runAll();
    Event event = event(handle);
    return event.passed >= event.recorded;
  }

  @Override
  public synchronized void awaitEvent(EventHandle handle) {
    while (!eventPassed(handle)) {
      try {
        wait();
      } catch (InterruptedException interrupted) {
        throw new AssertionError(interrupted);
      }
    }
  }

  @Override
  public long nanosBetween(EventHandle start, EventHandle end) {
    return 0;
  }

  @Override
  public void close() {}
}
