package io.holdfast.internal.pin;

import io.holdfast.device.MemoryInfo;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DeviceFacts;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.StreamOrigin;
import io.holdfast.spi.Traits;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;

/**
 * A driver that keeps registrations by address as CUDA does: 712 for an overlap, 713 for an unknown
 * start, 1 for the inside of one. Calls cost time of the fake clock, and can be made to fail.
 */
final class FakeDriver implements AcceleratorDriver {
  /** One call as it came. */
  record Call(String name, long address, long bytes, long atNanos) {}

  private final FakeKernel kernel;
  private final TreeMap<Long, Long> registered = new TreeMap<>();
  final List<Call> calls = new ArrayList<>();

  volatile Traits traits = Traits.plain();
  volatile long aliasOffset;

  /** Nanoseconds that registering so many bytes takes. */
  volatile ToLongFunction<MemorySegment> registerNanos = _ -> 0;

  volatile ToLongFunction<MemorySegment> unregisterNanos = _ -> 0;

  /** Sees each call before it is made, outside of any lock; may block, advance time or throw. */
  volatile Consumer<Call> before = _ -> {};

  /** Most bytes of one call; above it {@link #refusal} is answered. */
  volatile long mostPerCall = Long.MAX_VALUE;

  /** Most bytes in total; above it code 2 is answered. */
  volatile long mostInTotal = Long.MAX_VALUE;

  volatile DriverException refusal = error("cuMemHostRegister", 1);

  private int failAt = -1;
  private int failCode;
  private int counted;
  final AtomicInteger openPorts = new AtomicInteger();

  FakeDriver(FakeKernel kernel) {
    this.kernel = kernel;
  }

  static DriverException error(String call, int code) {
    DriverFault fault =
        switch (code) {
          case 1 -> DriverFault.INVALID_ARGUMENT;
          case 2 -> DriverFault.OUT_OF_MEMORY;
          case 712 -> DriverFault.ALREADY_REGISTERED;
          case 713 -> DriverFault.NOT_REGISTERED;
          case 700 -> DriverFault.DEVICE_LOST;
          default -> DriverFault.OTHER;
        };
    return new DriverException("fake", call, code, "CODE_" + code, fault);
  }

  /** Lets the k-th call from now on fail, counted from 0. */
  synchronized void failAt(int k, int code) {
    counted = 0;
    failAt = k;
    failCode = code;
  }

  synchronized int callsSinceFailAt() {
    return counted;
  }

  synchronized Map<Long, Long> registered() {
    return new TreeMap<>(registered);
  }

  synchronized long registeredBytes() {
    return registered.values().stream().mapToLong(Long::longValue).sum();
  }

  synchronized List<Call> calls(String name) {
    return calls.stream().filter(call -> call.name().equals(name)).toList();
  }

  /** What another library in the process does. */
  synchronized void registerElsewhere(long address, long bytes) {
    registered.put(address, bytes);
  }

  synchronized void unregisterElsewhere(long address) {
    registered.remove(address);
  }

  private void begin(String name, MemorySegment range) {
    Call call = new Call(name, range.address(), range.byteSize(), kernel.nanoTime());
    before.accept(call);
    synchronized (this) {
      calls.add(call);
      if (counted++ == failAt) {
        throw error(name, failCode);
      }
    }
  }

  private void register(MemorySegment range) {
    begin("register", range);
    synchronized (this) {
      kernel.advance(registerNanos.applyAsLong(range));
      long address = range.address();
      long bytes = range.byteSize();
      if (bytes == 0) {
        throw error("register", 1);
      }
      if (bytes > mostPerCall) {
        throw refusal;
      }
      if (registeredBytes() + bytes > mostInTotal) {
        throw error("register", 2);
      }
      Map.Entry<Long, Long> below = registered.lowerEntry(address + bytes);
      if (below != null && below.getKey() + below.getValue() > address) {
        throw error("register", 712);
      }
      registered.put(address, bytes);
    }
  }

  private void unregister(MemorySegment range) {
    begin("unregister", range);
    synchronized (this) {
      kernel.advance(unregisterNanos.applyAsLong(range));
      if (registered.remove(range.address()) == null) {
        Map.Entry<Long, Long> below = registered.lowerEntry(range.address());
        boolean inside = below != null && below.getKey() + below.getValue() > range.address();
        throw error("unregister", inside ? 1 : 713);
      }
    }
  }

  @Override
  public String version() {
    return "fake 1";
  }

  @Override
  public List<DeviceFacts> devices() {
    return List.of(facts(0), facts(1));
  }

  private static DeviceFacts facts(int ordinal) {
    return new DeviceFacts(
        ordinal, "fake " + ordinal, "uuid-" + ordinal, "", 80L << 30, OptionalInt.empty());
  }

  @Override
  public DevicePort open(int ordinal) {
    openPorts.incrementAndGet();
    return new Port(ordinal);
  }

  @Override
  public DevicePort openOn(int ordinal, long contextHandle) {
    return open(ordinal);
  }

  @Override
  public void close() {}

  /** One device of it. */
  private final class Port implements DevicePort {
    private final int ordinal;
    private boolean closed;

    Port(int ordinal) {
      this.ordinal = ordinal;
    }

    private UnsupportedOperationException absent() {
      return new UnsupportedOperationException("no part of this test");
    }

    @Override
    public Traits traits(long backingPageBytes) {
      return traits;
    }

    @Override
    public void register(MemorySegment range) {
      FakeDriver.this.register(range);
    }

    @Override
    public void unregister(MemorySegment range) {
      FakeDriver.this.unregister(range);
    }

    @Override
    public DeviceRange seenByDevice(MemorySegment range) {
      begin("seenByDevice", range);
      return new DeviceRange(range.address() + aliasOffset * (ordinal + 1), range.byteSize());
    }

    @Override
    public DeviceRange allocate(long bytes) {
      throw absent();
    }

    @Override
    public void free(DeviceRange range) {
      throw absent();
    }

    @Override
    public void fill(DeviceRange range, byte value, StreamHandle stream) {
      throw absent();
    }

    @Override
    public Optional<DeviceRange> rangeOf(long address) {
      return Optional.empty();
    }

    @Override
    public MemoryInfo memoryInfo() {
      return new MemoryInfo(79L << 30, 80L << 30);
    }

    @Override
    public void copyEach(CopyTable table, long from, long to, StreamHandle stream) {
      throw absent();
    }

    @Override
    public StreamHandle createStream(int priority) {
      throw absent();
    }

    @Override
    public StreamHandle adoptStream(long rawHandle) {
      throw absent();
    }

    @Override
    public StreamHandle legacyDefaultStream() {
      throw absent();
    }

    @Override
    public void destroyStream(StreamHandle stream) {
      throw absent();
    }

    @Override
    public StreamOrigin originOf(StreamHandle stream) {
      throw absent();
    }

    @Override
    public CaptureState captureState(StreamHandle stream) {
      throw absent();
    }

    @Override
    public boolean streamIdle(StreamHandle stream) {
      throw absent();
    }

    @Override
    public void awaitStream(StreamHandle stream) {
      throw absent();
    }

    @Override
    public void streamWait(StreamHandle stream, EventHandle event) {
      throw absent();
    }

    @Override
    public EventHandle createEvent(EventKind kind) {
      throw absent();
    }

    @Override
    public EventHandle createEventFor(StreamHandle stream, EventKind kind) {
      throw absent();
    }

    @Override
    public EventHandle adoptEvent(long rawHandle) {
      throw absent();
    }

    @Override
    public void destroyEvent(EventHandle event) {
      throw absent();
    }

    @Override
    public void recordEvent(EventHandle event, StreamHandle stream) {
      throw absent();
    }

    @Override
    public boolean eventPassed(EventHandle event) {
      throw absent();
    }

    @Override
    public void awaitEvent(EventHandle event) {
      throw absent();
    }

    @Override
    public long nanosBetween(EventHandle start, EventHandle end) {
      throw absent();
    }

    @Override
    public void close() {
      if (!closed) {
        closed = true;
        openPorts.decrementAndGet();
      }
    }
  }
}
