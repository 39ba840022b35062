package io.holdfast.backend.cpusim;

import io.holdfast.backend.cpusim.driver.Attribute;
import io.holdfast.backend.cpusim.driver.Codes;
import io.holdfast.backend.cpusim.driver.Family;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.backend.cpusim.driver.Personality;
import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.device.MemoryInfo;
import io.holdfast.error.DriverException;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.HostAllocationPort;
import io.holdfast.spi.KernelCopyPort;
import io.holdfast.spi.PitchedCopyPort;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.StreamOrigin;
import io.holdfast.spi.Traits;
import io.holdfast.spi.VirtualMemoryPort;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * One open device over the simulated driver.
 *
 * <p>Every method does what a binding of a real driver does: makes the context (with HIP the
 * device) current, steps out of any capture, calls, and puts both back.
 */
final class SimDevicePort implements DevicePort {
  private static final int RELAXED = 2;
  private static final int MODE_BITS = 2;
  private static final int NON_BLOCKING = 1;
  private static final int WITHOUT_CLOCK = 2;
  private static final int PORTABLE_AND_MAPPED = 3;
  private static final long LEGACY_STREAM = 1;
  private static final long PER_THREAD_STREAM = 2;

  private final SimDriver driver;
  private final String backend;
  private final int ordinal;
  private final long context;
  private final Ownership ownership;
  private final boolean cuda;
  private final Optional<BatchCopyPort> batchCopies;
  private final Optional<KernelCopyPort> kernelCopies;
  private final Optional<PitchedCopyPort> pitchedCopies;
  private final Optional<HostAllocationPort> hostAllocations;
  private final Optional<VirtualMemoryPort> virtualMemory;
  private boolean closed;

  /** Whether closing gives something back. */
  enum Ownership {
    /** The shared context, retained once. */
    RETAINED,
    /** An engine's. */
    BORROWED
  }

  SimDevicePort(SimDriver driver, String backend, int ordinal, long context, Ownership ownership) {
    this.driver = driver;
    this.backend = backend;
    this.ordinal = ordinal;
    this.context = context;
    this.ownership = ownership;
    Personality personality = driver.personality();
    this.cuda = personality.family() == Family.CUDA;
    this.batchCopies =
        personality.copies().batch().present()
            ? Optional.of(new SimBatchCopies(this))
            : Optional.empty();
    this.kernelCopies = Optional.of(new SimKernelCopies(this));
    this.pitchedCopies = Optional.of(new SimPitchedCopies(this));
    this.hostAllocations = Optional.of(new SimHostAllocations(this));
    this.virtualMemory =
        attribute(Attribute.VIRTUAL_MEMORY) == 1
            ? Optional.of(new SimVirtualMemory(this))
            : Optional.empty();
  }

  SimDriver driver() {
    return driver;
  }

  int ordinal() {
    return ordinal;
  }

  /** An attribute's value, 0 where the driver does not know it. */
  long attribute(Attribute attribute) {
    int number = attribute.number(driver.personality().family());
    long[] value = new long[1];
    return number >= 0 && driver.deviceGetAttribute(value, number, ordinal) == Codes.SUCCESS
        ? value[0]
        : 0;
  }

  // ---- the bracket of every call

  long enter() {
    return enter(context);
  }

  /** What {@link #leave} needs: the thread's context or device before, and its capture mode. */
  private long enter(long wanted) {
    long before = cuda ? driver.ctxGetCurrent() : driver.getDevice();
    if (before < 0) {
      throw refused(Operation.CTX_GET_CURRENT, "", (int) -before);
    }
    int code = cuda ? driver.ctxSetCurrent(wanted) : driver.setDevice(deviceOf(wanted));
    if (code != Codes.SUCCESS) {
      throw refused(Operation.CTX_SET_CURRENT, hex(wanted), code);
    }
    int mode = driver.threadExchangeStreamCaptureMode(RELAXED);
    if (mode < 0) {
      restore(before);
      throw refused(Operation.THREAD_EXCHANGE_CAPTURE_MODE, "2", -mode);
    }
    return before << MODE_BITS | mode;
  }

  /** HIP has no contexts; a stream of another device carries that device's number plus one. */
  private int deviceOf(long contextOfHandle) {
    return contextOfHandle == context ? ordinal : (int) contextOfHandle - 1;
  }

  void leave(long entered) {
    driver.threadExchangeStreamCaptureMode((int) (entered & (1 << MODE_BITS) - 1));
    restore(entered >> MODE_BITS);
  }

  private void restore(long before) {
    if (cuda) {
      // an engine may have destroyed its context meanwhile; then there is nothing to go back to
      driver.ctxSetCurrent(before);
    } else {
      driver.setDevice((int) before);
    }
  }

  void check(Operation operation, String arguments, int code) {
    if (code != Codes.SUCCESS) {
      throw refused(operation, arguments, code);
    }
  }

  /** The same for calls of which there are thousands: words are made for a refusal only. */
  private void check(Operation operation, MemorySegment range, int code) {
    if (code != Codes.SUCCESS) {
      throw refused(operation, hex(range), code);
    }
  }

  DriverException refused(Operation operation, String arguments, int code) {
    if (!cuda) {
      driver.getLastError();
    }
    return SimAccelerator.refused(driver, backend, operation, arguments, code);
  }

  static String hex(long value) {
    return "0x" + Long.toHexString(value);
  }

  private static String hex(MemorySegment range) {
    return hex(range.address()) + ", " + range.byteSize();
  }

  int deviceOfContext() {
    long entered = enter();
    try {
      long[] device = new long[1];
      check(Operation.CTX_GET_DEVICE, "", driver.ctxGetDevice(device));
      return (int) device[0];
    } finally {
      leave(entered);
    }
  }

  // ---- traits

  @Override
  public Traits traits(long backingPageBytes) {
    Personality.Registration rules = driver.personality().registration();
    List<Traits.RegistrationBound> bounds = new ArrayList<>();
    if (rules.pagesPerCall() > 0) {
      long refusedFrom = Math.multiplyExact(rules.pagesPerCall(), driver.basePageBytes());
      bounds.add(
          new Traits.RegistrationBound(
              "driver-580-pages",
              refusedFrom - 1,
              "this driver keeps 16 bytes per base page of a call in one kernel allocation below 2"
                  + " GiB"));
    }
    if (rules.bytesPerCall() > 0) {
      bounds.add(
          new Traits.RegistrationBound(
              "hip-64gib",
              Math.min(rules.bytesPerCall(), 64L << 30),
              "very large registrations fail on this runtime, and its vendor advises against"
                  + " them"));
    }
    return new Traits(
        switch (rules.pinModel()) {
          case HARD -> Traits.PinModel.HARD;
          case NOTIFIER -> Traits.PinModel.NOTIFIER;
          case COHERENT -> Traits.PinModel.COHERENT;
        },
        bounds,
        rules.bytesInTotal() > 0 ? rules.bytesInTotal() : Long.MAX_VALUE,
        rules.warnAboveBytes() > 0 ? rules.warnAboveBytes() : Long.MAX_VALUE,
        attribute(Attribute.CAN_USE_HOST_POINTER) == 1
            ? Traits.Alias.SAME_ADDRESS
            : Traits.Alias.PER_RANGE,
        quirks());
  }

  private Set<Traits.Quirk> quirks() {
    Personality.Vmm rules = driver.personality().vmm();
    Set<Traits.Quirk> quirks = EnumSet.noneOf(Traits.Quirk.class);
    if (!cuda) {
      quirks.add(Traits.Quirk.ONE_VMM_CALL_AT_A_TIME);
      quirks.add(Traits.Quirk.UNMAP_EACH_MAPPING);
      quirks.add(Traits.Quirk.RELEASE_AFTER_UNMAP);
    }
    if (rules.tailAccessFailsPercent() > 0) {
      quirks.add(Traits.Quirk.ACCESS_WHOLE_PREFIX);
    }
    if (rules.memoryReturns() == Personality.MemoryReturns.WITH_THE_ADDRESSES) {
      quirks.add(Traits.Quirk.RE_RESERVE_TO_RETURN);
    }
    return quirks;
  }

  // ---- host memory

  @Override
  public void register(MemorySegment range) {
    long entered = enter();
    try {
      int code = driver.memHostRegister(range.address(), range.byteSize(), PORTABLE_AND_MAPPED);
      check(Operation.HOST_REGISTER, range, code);
    } finally {
      leave(entered);
    }
  }

  @Override
  public void unregister(MemorySegment range) {
    long entered = enter();
    try {
      check(Operation.HOST_UNREGISTER, range, driver.memHostUnregister(range.address()));
    } finally {
      leave(entered);
    }
  }

  @Override
  public DeviceRange seenByDevice(MemorySegment range) {
    long entered = enter();
    try {
      long[] address = new long[1];
      int code = driver.memHostGetDevicePointer(address, range.address());
      check(Operation.HOST_GET_DEVICE_POINTER, range, code);
      return new DeviceRange(address[0], range.byteSize());
    } finally {
      leave(entered);
    }
  }

  // ---- device memory

  @Override
  public DeviceRange allocate(long bytes) {
    long entered = enter();
    try {
      long[] address = new long[1];
      check(Operation.MEM_ALLOC, Long.toString(bytes), driver.memAlloc(address, bytes));
      return new DeviceRange(address[0], bytes);
    } finally {
      leave(entered);
    }
  }

  @Override
  public void free(DeviceRange range) {
    long entered = enter();
    try {
      check(Operation.MEM_FREE, hex(range.address()), driver.memFree(range.address()));
    } finally {
      leave(entered);
    }
  }

  @Override
  public void fill(DeviceRange range, byte value, StreamHandle stream) {
    long entered = enter();
    try {
      check(
          Operation.MEMSET_ASYNC,
          hex(range.address()) + ", " + range.bytes(),
          driver.memsetD8Async(range.address(), value, range.bytes(), stream.value()));
    } finally {
      leave(entered);
    }
  }

  @Override
  public Optional<DeviceRange> rangeOf(long address) {
    long entered = enter();
    try {
      long[] range = new long[2];
      int code = driver.memGetAddressRange(range, address);
      if (code == Codes.INVALID_VALUE || code == Codes.NOT_FOUND) {
        if (!cuda) {
          driver.getLastError();
        }
        return Optional.empty();
      }
      check(Operation.MEM_GET_ADDRESS_RANGE, hex(address), code);
      return Optional.of(new DeviceRange(range[0], range[1]));
    } finally {
      leave(entered);
    }
  }

  @Override
  public MemoryInfo memoryInfo() {
    long entered = enter();
    try {
      long[] info = new long[2];
      check(Operation.MEM_GET_INFO, "", driver.memGetInfo(info));
      return new MemoryInfo(info[0], info[1]);
    } finally {
      leave(entered);
    }
  }

  // ---- copies

  @Override
  public void copyEach(CopyTable table, long from, long to, StreamHandle stream) {
    Operation operation =
        switch (table.direction()) {
          case HOST_TO_DEVICE -> Operation.MEMCPY_HTOD_ASYNC;
          case DEVICE_TO_HOST -> Operation.MEMCPY_DTOH_ASYNC;
          case DEVICE_TO_DEVICE -> Operation.MEMCPY_DTOD_ASYNC;
        };
    long entered = enter();
    try {
      for (long row = from; row < to; row++) {
        long target = table.destination(row);
        long source = table.source(row);
        long bytes = table.bytes(row);
        int code =
            switch (table.direction()) {
              case HOST_TO_DEVICE -> driver.memcpyHtoDAsync(target, source, bytes, stream.value());
              case DEVICE_TO_HOST -> driver.memcpyDtoHAsync(target, source, bytes, stream.value());
              case DEVICE_TO_DEVICE ->
                  driver.memcpyDtoDAsync(target, source, bytes, stream.value());
            };
        if (code != Codes.SUCCESS) {
          throw refused(operation, hex(target) + ", " + hex(source) + ", " + bytes, code)
              .atEntry(row);
        }
      }
    } finally {
      leave(entered);
    }
  }

  // ---- streams

  @Override
  public StreamHandle createStream(int priority) {
    long entered = enter();
    try {
      long[] stream = new long[1];
      check(
          Operation.STREAM_CREATE,
          "1, " + priority,
          driver.streamCreate(stream, NON_BLOCKING, priority));
      return new StreamHandle(stream[0], 0);
    } finally {
      leave(entered);
    }
  }

  @Override
  public StreamHandle adoptStream(long rawHandle) {
    if (isDefault(rawHandle)) {
      return new StreamHandle(rawHandle, 0);
    }
    long entered = enter();
    try {
      long[] owner = new long[1];
      if (cuda) {
        check(Operation.STREAM_GET_CTX, hex(rawHandle), driver.streamGetCtx(rawHandle, owner));
        return new StreamHandle(rawHandle, owner[0] == context ? 0 : owner[0]);
      }
      if (!driver.exports("hipStreamGetDevice")) {
        return new StreamHandle(rawHandle, 0);
      }
      check(Operation.STREAM_GET_CTX, hex(rawHandle), driver.streamGetDevice(rawHandle, owner));
      return new StreamHandle(rawHandle, owner[0] == ordinal ? 0 : owner[0] + 1);
    } finally {
      leave(entered);
    }
  }

  private static boolean isDefault(long rawHandle) {
    return rawHandle >= 0 && rawHandle <= PER_THREAD_STREAM;
  }

  @Override
  public StreamHandle legacyDefaultStream() {
    return new StreamHandle(cuda ? LEGACY_STREAM : 0, 0);
  }

  @Override
  public void destroyStream(StreamHandle stream) {
    long entered = enter(contextOf(stream));
    try {
      check(Operation.STREAM_DESTROY, hex(stream.value()), driver.streamDestroy(stream.value()));
    } finally {
      leave(entered);
    }
  }

  private long contextOf(StreamHandle stream) {
    return stream.context() == 0 ? context : stream.context();
  }

  private long contextOf(EventHandle event) {
    return event.context() == 0 ? context : event.context();
  }

  @Override
  public StreamOrigin originOf(StreamHandle stream) {
    if (isDefault(stream.value())) {
      return StreamOrigin.DEFAULT_STREAM;
    }
    if (stream.context() == 0) {
      return StreamOrigin.OWN_CONTEXT;
    }
    if (!cuda) {
      return StreamOrigin.OTHER_DEVICE;
    }
    long entered = enter(stream.context());
    try {
      long[] device = new long[1];
      check(Operation.CTX_GET_DEVICE, "", driver.ctxGetDevice(device));
      return device[0] == ordinal ? StreamOrigin.FOREIGN_CONTEXT : StreamOrigin.OTHER_DEVICE;
    } finally {
      leave(entered);
    }
  }

  @Override
  public CaptureState captureState(StreamHandle stream) {
    long entered = enter(contextOf(stream));
    try {
      int state = driver.streamIsCapturing(stream.value());
      if (state < 0) {
        throw refused(Operation.STREAM_IS_CAPTURING, hex(stream.value()), -state);
      }
      return state == 0
          ? CaptureState.NONE
          : state == 1 ? CaptureState.ACTIVE : CaptureState.INVALIDATED;
    } finally {
      leave(entered);
    }
  }

  @Override
  public boolean streamIdle(StreamHandle stream) {
    long entered = enter(contextOf(stream));
    try {
      int code = driver.streamQuery(stream.value());
      if (code != Codes.NOT_READY) {
        check(Operation.STREAM_QUERY, hex(stream.value()), code);
      }
      return code == Codes.SUCCESS;
    } finally {
      leave(entered);
    }
  }

  @Override
  public void awaitStream(StreamHandle stream) {
    long entered = enter(contextOf(stream));
    try {
      check(
          Operation.STREAM_SYNCHRONIZE,
          hex(stream.value()),
          driver.streamSynchronize(stream.value()));
    } finally {
      leave(entered);
    }
  }

  @Override
  public void streamWait(StreamHandle stream, EventHandle event) {
    long entered = enter(contextOf(stream));
    try {
      int code = driver.streamWaitEvent(stream.value(), event.value());
      if (code != Codes.SUCCESS) {
        throw refused(
            Operation.STREAM_WAIT_EVENT, hex(stream.value()) + ", " + hex(event.value()), code);
      }
    } finally {
      leave(entered);
    }
  }

  // ---- events

  @Override
  public EventHandle createEvent(EventKind kind) {
    return newEvent(context, kind);
  }

  @Override
  public EventHandle createEventFor(StreamHandle stream, EventKind kind) {
    return newEvent(contextOf(stream), kind);
  }

  private EventHandle newEvent(long owner, EventKind kind) {
    long entered = enter(owner);
    try {
      long[] event = new long[1];
      int flags = kind == EventKind.TIMED ? 0 : WITHOUT_CLOCK;
      check(Operation.EVENT_CREATE, Integer.toString(flags), driver.eventCreate(event, flags));
      return new EventHandle(event[0], owner == context ? 0 : owner);
    } finally {
      leave(entered);
    }
  }

  @Override
  public EventHandle adoptEvent(long rawHandle) {
    return new EventHandle(rawHandle, 0);
  }

  @Override
  public void destroyEvent(EventHandle event) {
    long entered = enter(contextOf(event));
    try {
      check(Operation.EVENT_DESTROY, hex(event.value()), driver.eventDestroy(event.value()));
    } finally {
      leave(entered);
    }
  }

  @Override
  public void recordEvent(EventHandle event, StreamHandle stream) {
    long entered = enter(contextOf(stream));
    try {
      int code = driver.eventRecord(event.value(), stream.value());
      if (code != Codes.SUCCESS) {
        throw refused(
            Operation.EVENT_RECORD, hex(event.value()) + ", " + hex(stream.value()), code);
      }
    } finally {
      leave(entered);
    }
  }

  @Override
  public boolean eventPassed(EventHandle event) {
    long entered = enter(contextOf(event));
    try {
      int code = driver.eventQuery(event.value());
      if (code != Codes.SUCCESS && code != Codes.NOT_READY) {
        throw refused(Operation.EVENT_QUERY, hex(event.value()), code);
      }
      return code == Codes.SUCCESS;
    } finally {
      leave(entered);
    }
  }

  @Override
  public void awaitEvent(EventHandle event) {
    long entered = enter(contextOf(event));
    try {
      check(
          Operation.EVENT_SYNCHRONIZE, hex(event.value()), driver.eventSynchronize(event.value()));
    } finally {
      leave(entered);
    }
  }

  @Override
  public long nanosBetween(EventHandle start, EventHandle end) {
    long entered = enter(contextOf(start));
    try {
      long[] nanos = new long[1];
      check(
          Operation.EVENT_ELAPSED_TIME,
          hex(start.value()) + ", " + hex(end.value()),
          driver.eventElapsedNanos(nanos, start.value(), end.value()));
      return nanos[0];
    } finally {
      leave(entered);
    }
  }

  // ---- what a driver may lack

  @Override
  public Optional<BatchCopyPort> batchCopies() {
    return batchCopies;
  }

  @Override
  public Optional<KernelCopyPort> kernelCopies() {
    return kernelCopies;
  }

  @Override
  public Optional<PitchedCopyPort> pitchedCopies() {
    return pitchedCopies;
  }

  @Override
  public Optional<HostAllocationPort> hostAllocations() {
    return hostAllocations;
  }

  @Override
  public Optional<VirtualMemoryPort> virtualMemory() {
    return virtualMemory;
  }

  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    if (ownership == Ownership.RETAINED) {
      check(
          Operation.PRIMARY_CTX_RELEASE,
          Integer.toString(ordinal),
          driver.primaryCtxRelease(ordinal));
    }
  }

  @Override
  public String toString() {
    return "simulated device " + ordinal;
  }
}
