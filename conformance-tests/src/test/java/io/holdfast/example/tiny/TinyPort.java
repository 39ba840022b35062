package io.holdfast.example.tiny;

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
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** The device. Each call has done its work when it returns, so that streams are only names. */
final class TinyPort implements DevicePort {
  private static final long DEFAULT_STREAM = 1;

  private final TinyBindings tiny;
  private final AtomicLong names = new AtomicLong(100);
  private final Map<Long, Long> recordedAt = new ConcurrentHashMap<>();

  TinyPort(TinyBindings tiny) {
    this.tiny = tiny;
  }

  private static void check(String call, int code) {
    if (code != TinyBindings.OK) {
      throw switch (code) {
        case TinyBindings.NO_MEMORY -> refused(call, code, "NO_MEMORY", DriverFault.OUT_OF_MEMORY);
        case TinyBindings.NOT_REGISTERED ->
            refused(call, code, "NOT_REGISTERED", DriverFault.NOT_REGISTERED);
        case TinyBindings.REGISTERED ->
            refused(call, code, "REGISTERED", DriverFault.ALREADY_REGISTERED);
        default -> refused(call, code, "BAD_RANGE", DriverFault.INVALID_ARGUMENT);
      };
    }
  }

  private static DriverException refused(String call, int code, String name, DriverFault fault) {
    return new DriverException(TinyProvider.ID, call, code, name, fault);
  }

  @Override
  public Traits traits(long backingPageBytes) {
    return Traits.plain();
  }

  // ---- host memory

  @Override
  public void register(MemorySegment range) {
    check("tiny_register", tiny.register(range.address(), range.byteSize()));
  }

  @Override
  public void unregister(MemorySegment range) {
    check("tiny_unregister", tiny.unregister(range.address()));
  }

  @Override
  public DeviceRange seenByDevice(MemorySegment range) {
    return new DeviceRange(range.address(), range.byteSize());
  }

  // ---- device memory

  @Override
  public DeviceRange allocate(long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = arena.allocate(ValueLayout.JAVA_LONG);
      check("tiny_alloc", tiny.alloc(bytes, address));
      return new DeviceRange(address.get(ValueLayout.JAVA_LONG, 0), bytes);
    }
  }

  @Override
  public void free(DeviceRange range) {
    check("tiny_free", tiny.free(range.address()));
  }

  @Override
  public void fill(DeviceRange range, byte value, StreamHandle stream) {
    tiny.fill(range.address(), value, range.bytes());
  }

  @Override
  public Optional<DeviceRange> rangeOf(long address) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment start = arena.allocate(ValueLayout.JAVA_LONG);
      MemorySegment bytes = arena.allocate(ValueLayout.JAVA_LONG);
      return tiny.range(address, start, bytes) == TinyBindings.OK
          ? Optional.of(
              new DeviceRange(
                  start.get(ValueLayout.JAVA_LONG, 0), bytes.get(ValueLayout.JAVA_LONG, 0)))
          : Optional.empty();
    }
  }

  @Override
  public MemoryInfo memoryInfo() {
    return new MemoryInfo(tiny.freeBytes(), tiny.totalBytes());
  }

  // ---- copies

  @Override
  public void copyEach(CopyTable table, long from, long to, StreamHandle stream) {
    for (long row = from; row < to; row++) {
      tiny.copy(table.destination(row), table.source(row), table.bytes(row));
    }
  }

  // ---- streams

  @Override
  public StreamHandle createStream(int priority) {
    return new StreamHandle(names.getAndIncrement(), 0);
  }

  @Override
  public StreamHandle adoptStream(long rawHandle) {
    return new StreamHandle(rawHandle, 0);
  }

  @Override
  public StreamHandle legacyDefaultStream() {
    return new StreamHandle(DEFAULT_STREAM, 0);
  }

  @Override
  public void destroyStream(StreamHandle stream) {}

  @Override
  public StreamOrigin originOf(StreamHandle stream) {
    return stream.value() <= DEFAULT_STREAM
        ? StreamOrigin.DEFAULT_STREAM
        : StreamOrigin.OWN_CONTEXT;
  }

  @Override
  public CaptureState captureState(StreamHandle stream) {
    return CaptureState.NONE;
  }

  @Override
  public boolean streamIdle(StreamHandle stream) {
    return true;
  }

  @Override
  public void awaitStream(StreamHandle stream) {}

  @Override
  public void streamWait(StreamHandle stream, EventHandle event) {}

  // ---- events

  @Override
  public EventHandle createEvent(EventKind kind) {
    return new EventHandle(names.getAndIncrement(), 0);
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
  public void destroyEvent(EventHandle event) {
    recordedAt.remove(event.value());
  }

  @Override
  public void recordEvent(EventHandle event, StreamHandle stream) {
    recordedAt.put(event.value(), System.nanoTime());
  }

  @Override
  public boolean eventPassed(EventHandle event) {
    return true;
  }

  @Override
  public void awaitEvent(EventHandle event) {}

  @Override
  public long nanosBetween(EventHandle start, EventHandle end) {
    return recordedAt.getOrDefault(end.value(), 0L) - recordedAt.getOrDefault(start.value(), 0L);
  }

  @Override
  public void close() {}
}
