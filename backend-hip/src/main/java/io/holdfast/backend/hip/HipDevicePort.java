package io.holdfast.backend.hip;

import static io.holdfast.backend.hip.HipConstants.HIP_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM;
import static io.holdfast.backend.hip.HipConstants.HIP_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_INVALID_VALUE;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_NOT_FOUND;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_NOT_READY;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_STREAM_CAPTURE_IMPLICIT;
import static io.holdfast.backend.hip.HipConstants.HIP_EVENT_DEFAULT;
import static io.holdfast.backend.hip.HipConstants.HIP_EVENT_DISABLE_TIMING;
import static io.holdfast.backend.hip.HipConstants.HIP_HOST_REGISTER_MAPPED;
import static io.holdfast.backend.hip.HipConstants.HIP_HOST_REGISTER_PORTABLE;
import static io.holdfast.backend.hip.HipConstants.HIP_STREAM_CAPTURE_STATUS_ACTIVE;
import static io.holdfast.backend.hip.HipConstants.HIP_STREAM_CAPTURE_STATUS_NONE;
import static io.holdfast.backend.hip.HipConstants.HIP_STREAM_NON_BLOCKING;
import static io.holdfast.backend.hip.HipConstants.HIP_STREAM_NULL;
import static io.holdfast.backend.hip.HipConstants.HIP_STREAM_PER_THREAD;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

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
import java.lang.ref.Reference;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/**
 * One device of the runtime.
 *
 * <p>Every method enters through {@link HipFrames}, which makes the device current and steps out of
 * graph capture; between entering and leaving there is the runtime's call and nothing that can
 * block. A stream of another device carries that device's number plus one as its context, and calls
 * about it are made with that device.
 */
final class HipDevicePort implements DevicePort {
  private final HipBindings hip;
  private final HipFrames frames;
  private final HipDriver driver;
  private final int device;
  private final boolean sameAddress;
  private final Optional<BatchCopyPort> batchCopies;
  private final Optional<PitchedCopyPort> pitchedCopies;
  private final Optional<HostAllocationPort> hostAllocations;
  private final Optional<VirtualMemoryPort> virtualMemory;
  private final HipKernelCopies.Loaded kernels;
  private final AtomicBoolean closed = new AtomicBoolean();

  HipDevicePort(HipDriver driver, int device) {
    this.driver = driver;
    this.hip = driver.hip();
    this.frames = driver.frames();
    this.device = device;
    sameAddress = attribute(HIP_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 0) != 0;
    boolean virtual =
        driver.hipVersion().virtualMemoryIsReal()
            && attribute(HIP_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0) != 0;
    batchCopies = present(hip.offers(HipFeature.BATCH_COPY), () -> new HipBatchCopies(this));
    pitchedCopies = present(hip.offers(HipFeature.PITCHED_COPY), () -> new HipPitchedCopies(this));
    hostAllocations =
        present(hip.offers(HipFeature.HOST_ALLOCATION), () -> new HipHostAllocations(this));
    virtualMemory =
        present(virtual && hip.offers(HipFeature.VIRTUAL_MEMORY), () -> new HipVirtualMemory(this));
    kernels = HipKernelCopies.load(this, driver.kernels());
  }

  private static <T> Optional<T> present(boolean there, Supplier<T> port) {
    return there ? Optional.of(port.get()) : Optional.empty();
  }

  /** One of the device's attributes; a runtime that does not know it makes it the other. */
  int attribute(int attribute, int otherwise) {
    int code = 0;
    HipFrame frame = enter();
    try {
      code = hip.hipDeviceGetAttribute(frame.first, attribute, device);
      return code == 0 ? frame.first.get(JAVA_INT, 0) : otherwise;
    } finally {
      leave(frame, code);
    }
  }

  // ---- for the ports beside this one

  HipBindings hip() {
    return hip;
  }

  HipVersion version() {
    return driver.hipVersion();
  }

  int device() {
    return device;
  }

  HipFrame enter() {
    return frames.enter(device);
  }

  void leave(HipFrame frame, int code) {
    frames.leave(frame, code);
  }

  void check(String call, int code) {
    if (code != 0) {
      throw HipErrors.failure(hip, call, code);
    }
  }

  /** Only called for a code that is not 0: the words cost an allocation. */
  DriverException failure(String call, int code) {
    return HipErrors.failure(hip, call, code);
  }

  private HipFrame enterFor(StreamHandle stream) {
    return enterWith(stream.context());
  }

  private HipFrame enterWith(long context) {
    return frames.enter(context == 0 ? device : Math.toIntExact(context - 1));
  }

  // ---- traits

  @Override
  public Traits traits(long backingPageBytes) {
    return HipTraits.of(
        driver.hipVersion(), sameAddress ? Traits.Alias.SAME_ADDRESS : Traits.Alias.PER_RANGE);
  }

  // ---- host memory

  @Override
  public void register(MemorySegment range) {
    int flags = HIP_HOST_REGISTER_PORTABLE | HIP_HOST_REGISTER_MAPPED;
    int code = 0;
    HipFrame frame = enter();
    try {
      code = hip.hipHostRegister(range.address(), range.byteSize(), flags);
    } finally {
      leave(frame, code);
      Reference.reachabilityFence(range);
    }
    if (code != 0) {
      throw failure(
          String.format(
                  Locale.ROOT,
                  "hipHostRegister(0x%x, %d, %d)",
                  range.address(),
                  range.byteSize(),
                  flags)
              + (code == HIP_ERROR_INVALID_VALUE ? HipTraits.ONE_CODE_FOR_ALL : ""),
          code);
    }
    driver.registrations().add(range);
  }

  @Override
  public void unregister(MemorySegment range) {
    boolean known = driver.registrations().remove(range);
    int code = 0;
    HipFrame frame = enter();
    try {
      code = hip.hipHostUnregister(range.address());
    } finally {
      leave(frame, code);
      Reference.reachabilityFence(range);
    }
    if (code != 0) {
      if (known) {
        driver.registrations().add(range);
      }
      throw failure(String.format(Locale.ROOT, "hipHostUnregister(0x%x)", range.address()), code);
    }
  }

  @Override
  public DeviceRange seenByDevice(MemorySegment range) {
    int code = 0;
    long address;
    HipFrame frame = enter();
    try {
      code = hip.hipHostGetDevicePointer(frame.first, range.address(), 0);
      address = frame.first.get(JAVA_LONG, 0);
    } finally {
      leave(frame, code);
    }
    if (code != 0) {
      throw failure(
          String.format(Locale.ROOT, "hipHostGetDevicePointer(0x%x)", range.address()), code);
    }
    return new DeviceRange(address, range.byteSize());
  }

  // ---- device memory

  @Override
  public DeviceRange allocate(long bytes) {
    int code = 0;
    long address;
    HipFrame frame = enter();
    try {
      code = hip.hipMalloc(frame.first, bytes);
      address = frame.first.get(JAVA_LONG, 0);
    } finally {
      leave(frame, code);
    }
    if (code != 0) {
      throw failure(String.format(Locale.ROOT, "hipMalloc(%d)", bytes), code);
    }
    return new DeviceRange(address, bytes);
  }

  @Override
  public void free(DeviceRange range) {
    int code = 0;
    HipFrame frame = enter();
    try {
      code = hip.hipFree(range.address());
    } finally {
      leave(frame, code);
    }
    if (code != 0) {
      throw failure(String.format(Locale.ROOT, "hipFree(0x%x)", range.address()), code);
    }
  }

  @Override
  public void fill(DeviceRange range, byte value, StreamHandle stream) {
    int code = 0;
    HipFrame frame = enter();
    try {
      code = hip.hipMemsetD8Async(range.address(), value, range.bytes(), stream.value());
    } finally {
      leave(frame, code);
    }
    if (code != 0) {
      throw failure(
          String.format(Locale.ROOT, "hipMemsetD8Async(0x%x, %d)", range.address(), range.bytes()),
          code);
    }
  }

  /**
   * {@inheritDoc}
   *
   * <p>Host memory, and memory of another device, is none of this one's.
   */
  @Override
  public Optional<DeviceRange> rangeOf(long address) {
    return isOwnMemory(address) ? addressRange(address) : Optional.empty();
  }

  private boolean isOwnMemory(long address) {
    if (address == 0) {
      return false; // an error or a success by version
    }
    int code = 0;
    HipFrame frame = enter();
    try {
      MemorySegment attributes = frame.struct;
      attributes.fill((byte) 0);
      code = hip.hipPointerGetAttributes(attributes, address);
      // Memory that is not known is an error up to 5.7 and a type of its own from 6.0 on.
      return code == 0
          && attributes.get(JAVA_INT, HipLayouts.POINTER_TYPE)
              == driver.hipVersion().memoryTypeDevice()
          && attributes.get(JAVA_INT, HipLayouts.POINTER_DEVICE) == device;
    } finally {
      leave(frame, code);
    }
  }

  private Optional<DeviceRange> addressRange(long address) {
    int code = 0;
    DeviceRange range;
    HipFrame frame = enter();
    try {
      code = hip.hipMemGetAddressRange(frame.first, frame.second, address);
      range = new DeviceRange(frame.first.get(JAVA_LONG, 0), frame.second.get(JAVA_LONG, 0));
    } finally {
      leave(frame, code);
    }
    if (code == HIP_ERROR_INVALID_VALUE || code == HIP_ERROR_NOT_FOUND) {
      return Optional.empty();
    }
    if (code != 0) {
      throw failure(String.format(Locale.ROOT, "hipMemGetAddressRange(0x%x)", address), code);
    }
    return Optional.of(range);
  }

  @Override
  public MemoryInfo memoryInfo() {
    int code = 0;
    long free;
    long total;
    HipFrame frame = enter();
    try {
      code = hip.hipMemGetInfo(frame.first, frame.second);
      free = frame.first.get(JAVA_LONG, 0);
      total = frame.second.get(JAVA_LONG, 0);
    } finally {
      leave(frame, code);
    }
    check("hipMemGetInfo", code);
    return new MemoryInfo(free, total);
  }

  // ---- copies

  @Override
  public void copyEach(CopyTable table, long from, long to, StreamHandle stream) {
    long on = stream.value();
    long row = from;
    int code = 0;
    HipFrame frame = enter();
    try {
      switch (table.direction()) {
        case HOST_TO_DEVICE -> {
          for (; row < to && code == 0; row++) {
            code =
                hip.hipMemcpyHtoDAsync(
                    table.destination(row), table.source(row), table.bytes(row), on);
          }
        }
        case DEVICE_TO_HOST -> {
          for (; row < to && code == 0; row++) {
            code =
                hip.hipMemcpyDtoHAsync(
                    table.destination(row), table.source(row), table.bytes(row), on);
          }
        }
        case DEVICE_TO_DEVICE -> {
          for (; row < to && code == 0; row++) {
            code =
                hip.hipMemcpyDtoDAsync(
                    table.destination(row), table.source(row), table.bytes(row), on);
          }
        }
      }
    } finally {
      leave(frame, code);
    }
    if (code != 0) {
      throw failure(copyCall(table, row - 1), code).atEntry(row - 1);
    }
  }

  private static String copyCall(CopyTable table, long row) {
    String call =
        switch (table.direction()) {
          case HOST_TO_DEVICE -> "hipMemcpyHtoDAsync";
          case DEVICE_TO_HOST -> "hipMemcpyDtoHAsync";
          case DEVICE_TO_DEVICE -> "hipMemcpyDtoDAsync";
        };
    return String.format(
        Locale.ROOT,
        "%s(0x%x, 0x%x, %d)",
        call,
        table.destination(row),
        table.source(row),
        table.bytes(row));
  }

  // ---- streams

  @Override
  public StreamHandle createStream(int priority) {
    int code = 0;
    long stream;
    HipFrame frame = enter();
    try {
      code = hip.hipStreamCreateWithPriority(frame.first, HIP_STREAM_NON_BLOCKING, priority);
      stream = frame.first.get(JAVA_LONG, 0);
    } finally {
      leave(frame, code);
    }
    check("hipStreamCreateWithPriority", code);
    return new StreamHandle(stream, 0);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Versions before 5.6 cannot say whose a stream is: there it is taken for this device's. From
   * 7.0 on the runtime crashes on a handle that is not a stream.
   */
  @Override
  public StreamHandle adoptStream(long rawHandle) {
    if (isDefault(rawHandle) || !hip.offers(HipFeature.STREAM_DEVICE)) {
      return new StreamHandle(rawHandle, 0);
    }
    int code = 0;
    int owner;
    HipFrame frame = enter();
    try {
      code = hip.hipStreamGetDevice(rawHandle, frame.first);
      owner = frame.first.get(JAVA_INT, 0);
    } finally {
      leave(frame, code);
    }
    if (code != 0) {
      throw failure(String.format(Locale.ROOT, "hipStreamGetDevice(0x%x)", rawHandle), code);
    }
    return new StreamHandle(rawHandle, owner == device ? 0 : owner + 1L);
  }

  private static boolean isDefault(long rawHandle) {
    return Long.compareUnsigned(rawHandle, HIP_STREAM_PER_THREAD) <= 0;
  }

  @Override
  public StreamHandle legacyDefaultStream() {
    return new StreamHandle(HIP_STREAM_NULL, 0);
  }

  @Override
  public void destroyStream(StreamHandle stream) {
    int code = 0;
    HipFrame frame = enterFor(stream);
    try {
      code = hip.hipStreamDestroy(stream.value());
    } finally {
      leave(frame, code);
    }
    check("hipStreamDestroy", code);
  }

  @Override
  public StreamOrigin originOf(StreamHandle stream) {
    if (isDefault(stream.value())) {
      return StreamOrigin.DEFAULT_STREAM;
    }
    return stream.context() == 0 ? StreamOrigin.OWN_CONTEXT : StreamOrigin.OTHER_DEVICE;
  }

  @Override
  public CaptureState captureState(StreamHandle stream) {
    int code = 0;
    int status;
    HipFrame frame = enterFor(stream);
    try {
      code = hip.hipStreamIsCapturing(stream.value(), frame.first);
      status = frame.first.get(JAVA_INT, 0);
    } finally {
      leave(frame, code);
    }
    if (code == HIP_ERROR_STREAM_CAPTURE_IMPLICIT) {
      // The default stream is asked while a stream that it waits for is captured.
      return CaptureState.ACTIVE;
    }
    check("hipStreamIsCapturing", code);
    return switch (status) {
      case HIP_STREAM_CAPTURE_STATUS_NONE -> CaptureState.NONE;
      case HIP_STREAM_CAPTURE_STATUS_ACTIVE -> CaptureState.ACTIVE;
      default -> CaptureState.INVALIDATED;
    };
  }

  @Override
  public boolean streamIdle(StreamHandle stream) {
    int code = 0;
    HipFrame frame = enterFor(stream);
    try {
      code = hip.hipStreamQuery(stream.value());
    } finally {
      leave(frame, code);
    }
    if (code == HIP_ERROR_NOT_READY) {
      return false;
    }
    check("hipStreamQuery", code);
    return true;
  }

  @Override
  public void awaitStream(StreamHandle stream) {
    int code = 0;
    HipFrame frame = enterFor(stream);
    try {
      code = hip.hipStreamSynchronize(stream.value());
    } finally {
      leave(frame, code);
    }
    check("hipStreamSynchronize", code);
  }

  @Override
  public void streamWait(StreamHandle stream, EventHandle event) {
    int code = 0;
    HipFrame frame = enterFor(stream);
    try {
      code = hip.hipStreamWaitEvent(stream.value(), event.value(), 0);
    } finally {
      leave(frame, code);
    }
    check("hipStreamWaitEvent", code);
  }

  // ---- events

  @Override
  public EventHandle createEvent(EventKind kind) {
    return createEvent(kind, 0);
  }

  @Override
  public EventHandle createEventFor(StreamHandle stream, EventKind kind) {
    return createEvent(kind, stream.context());
  }

  private EventHandle createEvent(EventKind kind, long owner) {
    int flags =
        switch (kind) {
          case ORDER -> HIP_EVENT_DISABLE_TIMING;
          case TIMED -> HIP_EVENT_DEFAULT;
        };
    int code = 0;
    long event;
    HipFrame frame = enterWith(owner);
    try {
      code = hip.hipEventCreateWithFlags(frame.first, flags);
      event = frame.first.get(JAVA_LONG, 0);
    } finally {
      leave(frame, code);
    }
    check("hipEventCreateWithFlags", code);
    return new EventHandle(event, owner);
  }

  @Override
  public EventHandle adoptEvent(long rawHandle) {
    return new EventHandle(rawHandle, 0);
  }

  @Override
  public void destroyEvent(EventHandle event) {
    int code = 0;
    HipFrame frame = enterWith(event.context());
    try {
      code = hip.hipEventDestroy(event.value());
    } finally {
      leave(frame, code);
    }
    check("hipEventDestroy", code);
  }

  @Override
  public void recordEvent(EventHandle event, StreamHandle stream) {
    int code = 0;
    HipFrame frame = enterFor(stream);
    try {
      code = hip.hipEventRecord(event.value(), stream.value());
    } finally {
      leave(frame, code);
    }
    check("hipEventRecord", code);
  }

  @Override
  public boolean eventPassed(EventHandle event) {
    int code = 0;
    HipFrame frame = enterWith(event.context());
    try {
      code = hip.hipEventQuery(event.value());
    } finally {
      leave(frame, code);
    }
    if (code == HIP_ERROR_NOT_READY) {
      return false;
    }
    check("hipEventQuery", code);
    return true;
  }

  @Override
  public void awaitEvent(EventHandle event) {
    int code = 0;
    HipFrame frame = enterWith(event.context());
    try {
      code = hip.hipEventSynchronize(event.value());
    } finally {
      leave(frame, code);
    }
    check("hipEventSynchronize", code);
  }

  @Override
  public long nanosBetween(EventHandle start, EventHandle end) {
    int code = 0;
    float milliseconds;
    HipFrame frame = enterWith(start.context());
    try {
      code = hip.hipEventElapsedTime(frame.first, start.value(), end.value());
      milliseconds = frame.first.get(JAVA_FLOAT, 0);
    } finally {
      leave(frame, code);
    }
    check("hipEventElapsedTime", code);
    return Math.round(milliseconds * 1e6);
  }

  // ---- what a driver may lack

  @Override
  public Optional<BatchCopyPort> batchCopies() {
    return batchCopies;
  }

  @Override
  public Optional<KernelCopyPort> kernelCopies() {
    return kernels.copies().map(copies -> copies);
  }

  @Override
  public Optional<String> kernelAbsence() {
    return kernels.absence();
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

  // ---- end

  /** Only kernels are let go: the runtime keeps its devices for the life of the process. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      kernels.copies().ifPresent(HipKernelCopies::unload);
    }
  }
}
