package io.holdfast.backend.cuda;

import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_INVALID_VALUE;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_NOT_FOUND;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_NOT_READY;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
import static io.holdfast.backend.cuda.CudaConstants.CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM;
import static io.holdfast.backend.cuda.CudaConstants.CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES;
import static io.holdfast.backend.cuda.CudaConstants.CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
import static io.holdfast.backend.cuda.CudaConstants.CU_EVENT_DEFAULT;
import static io.holdfast.backend.cuda.CudaConstants.CU_EVENT_DISABLE_TIMING;
import static io.holdfast.backend.cuda.CudaConstants.CU_MEMHOSTREGISTER_DEVICEMAP;
import static io.holdfast.backend.cuda.CudaConstants.CU_MEMHOSTREGISTER_PORTABLE;
import static io.holdfast.backend.cuda.CudaConstants.CU_MEMORYTYPE_DEVICE;
import static io.holdfast.backend.cuda.CudaConstants.CU_POINTER_ATTRIBUTE_CONTEXT;
import static io.holdfast.backend.cuda.CudaConstants.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
import static io.holdfast.backend.cuda.CudaConstants.CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
import static io.holdfast.backend.cuda.CudaConstants.CU_STREAM_CAPTURE_STATUS_ACTIVE;
import static io.holdfast.backend.cuda.CudaConstants.CU_STREAM_CAPTURE_STATUS_NONE;
import static io.holdfast.backend.cuda.CudaConstants.CU_STREAM_LEGACY;
import static io.holdfast.backend.cuda.CudaConstants.CU_STREAM_NON_BLOCKING;
import static io.holdfast.backend.cuda.CudaConstants.CU_STREAM_PER_THREAD;
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
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/**
 * One device on one context: the shared primary one, or an engine's.
 *
 * <p>Every method enters through {@link CallFrames}, which makes the context current and steps out
 * of graph capture; between entering and leaving there is the driver call and nothing that can
 * block. Memory and waits cross contexts freely; only recording, and asking about a stream, happens
 * in the stream's own context, which its handle carries.
 */
final class CudaDevicePort implements DevicePort {
  private final CudaCalls calls;
  private final CallFrames frames;
  private final CudaDriver driver;
  private final int device;
  private final long context;
  private final Ownership ownership;
  private final boolean coherent;
  private final boolean sameAddress;
  private final Optional<BatchCopyPort> batchCopies;
  private final Optional<PitchedCopyPort> pitchedCopies;
  private final Optional<HostAllocationPort> hostAllocations;
  private final Optional<VirtualMemoryPort> virtualMemory;
  private final CudaKernelCopies.Loaded kernels;
  private final AtomicBoolean closed = new AtomicBoolean();

  /** What closing does to the context. */
  enum Ownership {
    /** Retained once for this port, released once. */
    RETAINED,
    /** An engine's; left alone. */
    THEIRS
  }

  CudaDevicePort(CudaDriver driver, int device, long context, Ownership ownership) {
    this.driver = driver;
    this.calls = driver.calls();
    this.frames = driver.frames();
    this.device = device;
    this.context = context;
    this.ownership = ownership;
    coherent = attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0) != 0;
    sameAddress = attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 0) != 0;
    boolean virtual = attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0) != 0;
    batchCopies = present(calls.offers(CudaFeature.BATCH_COPY), () -> new CudaBatchCopies(this));
    pitchedCopies =
        present(calls.offers(CudaFeature.PITCHED_COPY), () -> new CudaPitchedCopies(this));
    hostAllocations =
        present(calls.offers(CudaFeature.HOST_ALLOCATION), () -> new CudaHostAllocations(this));
    virtualMemory =
        present(
            virtual && calls.offers(CudaFeature.VIRTUAL_MEMORY), () -> new CudaVirtualMemory(this));
    kernels = CudaKernelCopies.load(this);
  }

  private static <T> Optional<T> present(boolean there, Supplier<T> port) {
    return there ? Optional.of(port.get()) : Optional.empty();
  }

  /** One of the device's attributes; a driver that does not know it makes it the other. */
  int attribute(int attribute, int otherwise) {
    CallFrame frame = frames.enter(0);
    try {
      return CudaDriver.attribute(calls, frame.first, attribute, device, otherwise);
    } finally {
      frames.leave(frame);
    }
  }

  // ---- for the ports beside this one

  CudaCalls calls() {
    return calls;
  }

  int device() {
    return device;
  }

  /** Enters with this port's own context. */
  CallFrame enter() {
    return frames.enter(context);
  }

  void leave(CallFrame frame) {
    frames.leave(frame);
  }

  void check(String call, int code) {
    if (code != 0) {
      throw CudaErrors.failure(calls, call, code);
    }
  }

  /** Only called for a code that is not 0: the words cost an allocation. */
  DriverException failure(String call, int code) {
    return CudaErrors.failure(calls, call, code);
  }

  private CallFrame enterFor(StreamHandle stream) {
    return frames.enter(stream.context() == 0 ? context : stream.context());
  }

  // ---- traits

  @Override
  public Traits traits(long backingPageBytes) {
    return new Traits(
        coherent ? Traits.PinModel.COHERENT : Traits.PinModel.HARD,
        KnownLimits.of(driver.driverVersion(), driver.module(), driver.basePageBytes()),
        Long.MAX_VALUE,
        Long.MAX_VALUE,
        sameAddress ? Traits.Alias.SAME_ADDRESS : Traits.Alias.PER_RANGE,
        Set.of());
  }

  // ---- host memory

  @Override
  public void register(MemorySegment range) {
    int flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
    int code;
    CallFrame frame = enter();
    try {
      code = calls.cuMemHostRegister_v2(range.address(), range.byteSize(), flags);
    } finally {
      leave(frame);
      Reference.reachabilityFence(range);
    }
    if (code != 0) {
      throw failure(
          String.format(
              Locale.ROOT,
              "cuMemHostRegister_v2(0x%x, %d, %d)",
              range.address(),
              range.byteSize(),
              flags),
          code);
    }
  }

  @Override
  public void unregister(MemorySegment range) {
    int code;
    CallFrame frame = enter();
    try {
      code = calls.cuMemHostUnregister(range.address());
    } finally {
      leave(frame);
      Reference.reachabilityFence(range);
    }
    if (code != 0) {
      throw failure(String.format(Locale.ROOT, "cuMemHostUnregister(0x%x)", range.address()), code);
    }
  }

  @Override
  public DeviceRange seenByDevice(MemorySegment range) {
    int code;
    long address;
    CallFrame frame = enter();
    try {
      code = calls.cuMemHostGetDevicePointer_v2(frame.first, range.address(), 0);
      address = frame.first.get(JAVA_LONG, 0);
    } finally {
      leave(frame);
    }
    if (code != 0) {
      throw failure(
          String.format(Locale.ROOT, "cuMemHostGetDevicePointer_v2(0x%x)", range.address()), code);
    }
    return new DeviceRange(address, range.byteSize());
  }

  // ---- device memory

  @Override
  public DeviceRange allocate(long bytes) {
    int code;
    long address;
    CallFrame frame = enter();
    try {
      code = calls.cuMemAlloc_v2(frame.first, bytes);
      address = frame.first.get(JAVA_LONG, 0);
    } finally {
      leave(frame);
    }
    if (code != 0) {
      throw failure(String.format(Locale.ROOT, "cuMemAlloc_v2(%d)", bytes), code);
    }
    return new DeviceRange(address, bytes);
  }

  @Override
  public void free(DeviceRange range) {
    int code;
    CallFrame frame = enter();
    try {
      code = calls.cuMemFree_v2(range.address());
    } finally {
      leave(frame);
    }
    if (code != 0) {
      throw failure(String.format(Locale.ROOT, "cuMemFree_v2(0x%x)", range.address()), code);
    }
  }

  @Override
  public void fill(DeviceRange range, byte value, StreamHandle stream) {
    int code;
    CallFrame frame = enter();
    try {
      code = calls.cuMemsetD8Async(range.address(), value, range.bytes(), stream.value());
    } finally {
      leave(frame);
    }
    if (code != 0) {
      throw failure(
          String.format(Locale.ROOT, "cuMemsetD8Async(0x%x, %d)", range.address(), range.bytes()),
          code);
    }
  }

  /**
   * {@inheritDoc}
   *
   * <p>Host memory, and memory of another device, is none of this one's. The driver looks in the
   * current context only, so memory of an engine's context is looked up there.
   */
  @Override
  public Optional<DeviceRange> rangeOf(long address) {
    long owner;
    CallFrame frame = enter();
    try {
      if (pointerInt(frame, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CU_MEMORYTYPE_DEVICE
          || pointerInt(frame, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) != device) {
        return Optional.empty();
      }
      frame.first.set(JAVA_LONG, 0, 0);
      int code = calls.cuPointerGetAttribute(frame.first, CU_POINTER_ATTRIBUTE_CONTEXT, address);
      // Mapped virtual memory belongs to no context: then any will do.
      owner = code == 0 ? frame.first.get(JAVA_LONG, 0) : 0;
    } finally {
      leave(frame);
    }
    int code;
    DeviceRange range;
    frame = frames.enter(owner == 0 ? context : owner);
    try {
      code = calls.cuMemGetAddressRange_v2(frame.first, frame.second, address);
      range = new DeviceRange(frame.first.get(JAVA_LONG, 0), frame.second.get(JAVA_LONG, 0));
    } finally {
      leave(frame);
    }
    if (code == CUDA_ERROR_INVALID_VALUE || code == CUDA_ERROR_NOT_FOUND) {
      return Optional.empty();
    }
    if (code != 0) {
      throw failure(String.format(Locale.ROOT, "cuMemGetAddressRange_v2(0x%x)", address), code);
    }
    return Optional.of(range);
  }

  /** A 32-bit attribute of an address, or -1 where the driver knows none. */
  int pointerInt(CallFrame frame, int attribute, long address) {
    return calls.cuPointerGetAttribute(frame.first, attribute, address) == 0
        ? frame.first.get(JAVA_INT, 0)
        : -1;
  }

  @Override
  public MemoryInfo memoryInfo() {
    int code;
    long free;
    long total;
    CallFrame frame = enter();
    try {
      code = calls.cuMemGetInfo_v2(frame.first, frame.second);
      free = frame.first.get(JAVA_LONG, 0);
      total = frame.second.get(JAVA_LONG, 0);
    } finally {
      leave(frame);
    }
    check("cuMemGetInfo_v2", code);
    return new MemoryInfo(free, total);
  }

  // ---- copies

  @Override
  public void copyEach(CopyTable table, long from, long to, StreamHandle stream) {
    long on = stream.value();
    long row = from;
    int code = 0;
    CallFrame frame = enter();
    try {
      switch (table.direction()) {
        case HOST_TO_DEVICE -> {
          for (; row < to && code == 0; row++) {
            code =
                calls.cuMemcpyHtoDAsync_v2(
                    table.destination(row), table.source(row), table.bytes(row), on);
          }
        }
        case DEVICE_TO_HOST -> {
          for (; row < to && code == 0; row++) {
            code =
                calls.cuMemcpyDtoHAsync_v2(
                    table.destination(row), table.source(row), table.bytes(row), on);
          }
        }
        case DEVICE_TO_DEVICE -> {
          for (; row < to && code == 0; row++) {
            code =
                calls.cuMemcpyDtoDAsync_v2(
                    table.destination(row), table.source(row), table.bytes(row), on);
          }
        }
      }
    } finally {
      leave(frame);
    }
    if (code != 0) {
      throw failure(copyCall(table, row - 1), code).atEntry(row - 1);
    }
  }

  private static String copyCall(CopyTable table, long row) {
    String call =
        switch (table.direction()) {
          case HOST_TO_DEVICE -> "cuMemcpyHtoDAsync_v2";
          case DEVICE_TO_HOST -> "cuMemcpyDtoHAsync_v2";
          case DEVICE_TO_DEVICE -> "cuMemcpyDtoDAsync_v2";
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
    int code;
    long stream;
    CallFrame frame = enter();
    try {
      code = calls.cuStreamCreateWithPriority(frame.first, CU_STREAM_NON_BLOCKING, priority);
      stream = frame.first.get(JAVA_LONG, 0);
    } finally {
      leave(frame);
    }
    check("cuStreamCreateWithPriority", code);
    return new StreamHandle(stream, 0);
  }

  @Override
  public StreamHandle adoptStream(long rawHandle) {
    int code;
    long owner;
    CallFrame frame = enter();
    try {
      code = calls.cuStreamGetCtx(rawHandle, frame.first);
      owner = frame.first.get(JAVA_LONG, 0);
    } finally {
      leave(frame);
    }
    if (code != 0) {
      throw failure(String.format(Locale.ROOT, "cuStreamGetCtx(0x%x)", rawHandle), code);
    }
    return new StreamHandle(rawHandle, owner == context ? 0 : owner);
  }

  @Override
  public StreamHandle legacyDefaultStream() {
    return new StreamHandle(CU_STREAM_LEGACY, 0);
  }

  @Override
  public void destroyStream(StreamHandle stream) {
    int code;
    CallFrame frame = enter();
    try {
      code = calls.cuStreamDestroy_v2(stream.value());
    } finally {
      leave(frame);
    }
    check("cuStreamDestroy_v2", code);
  }

  @Override
  public StreamOrigin originOf(StreamHandle stream) {
    if (Long.compareUnsigned(stream.value(), CU_STREAM_PER_THREAD) <= 0) {
      return StreamOrigin.DEFAULT_STREAM;
    }
    if (stream.context() == 0) {
      return StreamOrigin.OWN_CONTEXT;
    }
    int code;
    int owner;
    CallFrame frame = enterFor(stream);
    try {
      code = calls.cuCtxGetDevice(frame.first);
      owner = frame.first.get(JAVA_INT, 0);
    } finally {
      leave(frame);
    }
    check("cuCtxGetDevice", code);
    return owner == device ? StreamOrigin.FOREIGN_CONTEXT : StreamOrigin.OTHER_DEVICE;
  }

  @Override
  public CaptureState captureState(StreamHandle stream) {
    int code;
    int status;
    CallFrame frame = enterFor(stream);
    try {
      code = calls.cuStreamIsCapturing(stream.value(), frame.first);
      status = frame.first.get(JAVA_INT, 0);
    } finally {
      leave(frame);
    }
    if (code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) {
      // The default stream is asked while a stream that it waits for is captured.
      return CaptureState.ACTIVE;
    }
    check("cuStreamIsCapturing", code);
    return switch (status) {
      case CU_STREAM_CAPTURE_STATUS_NONE -> CaptureState.NONE;
      case CU_STREAM_CAPTURE_STATUS_ACTIVE -> CaptureState.ACTIVE;
      default -> CaptureState.INVALIDATED;
    };
  }

  @Override
  public boolean streamIdle(StreamHandle stream) {
    int code;
    CallFrame frame = enterFor(stream);
    try {
      code = calls.cuStreamQuery(stream.value());
    } finally {
      leave(frame);
    }
    if (code == CUDA_ERROR_NOT_READY) {
      return false;
    }
    check("cuStreamQuery", code);
    return true;
  }

  @Override
  public void awaitStream(StreamHandle stream) {
    int code;
    CallFrame frame = enterFor(stream);
    try {
      code = calls.cuStreamSynchronize(stream.value());
    } finally {
      leave(frame);
    }
    check("cuStreamSynchronize", code);
  }

  @Override
  public void streamWait(StreamHandle stream, EventHandle event) {
    int code;
    CallFrame frame = enterFor(stream);
    try {
      code = calls.cuStreamWaitEvent(stream.value(), event.value(), 0);
    } finally {
      leave(frame);
    }
    check("cuStreamWaitEvent", code);
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
          case ORDER -> CU_EVENT_DISABLE_TIMING;
          case TIMED -> CU_EVENT_DEFAULT;
        };
    int code;
    long event;
    CallFrame frame = frames.enter(owner == 0 ? context : owner);
    try {
      code = calls.cuEventCreate(frame.first, flags);
      event = frame.first.get(JAVA_LONG, 0);
    } finally {
      leave(frame);
    }
    check("cuEventCreate", code);
    return new EventHandle(event, owner);
  }

  @Override
  public EventHandle adoptEvent(long rawHandle) {
    return new EventHandle(rawHandle, 0);
  }

  @Override
  public void destroyEvent(EventHandle event) {
    int code;
    CallFrame frame = enter();
    try {
      code = calls.cuEventDestroy_v2(event.value());
    } finally {
      leave(frame);
    }
    check("cuEventDestroy_v2", code);
  }

  @Override
  public void recordEvent(EventHandle event, StreamHandle stream) {
    int code;
    CallFrame frame = enterFor(stream);
    try {
      code = calls.cuEventRecord(event.value(), stream.value());
    } finally {
      leave(frame);
    }
    check("cuEventRecord", code);
  }

  @Override
  public boolean eventPassed(EventHandle event) {
    int code;
    CallFrame frame = enter();
    try {
      code = calls.cuEventQuery(event.value());
    } finally {
      leave(frame);
    }
    if (code == CUDA_ERROR_NOT_READY) {
      return false;
    }
    check("cuEventQuery", code);
    return true;
  }

  @Override
  public void awaitEvent(EventHandle event) {
    int code;
    CallFrame frame = enter();
    try {
      code = calls.cuEventSynchronize(event.value());
    } finally {
      leave(frame);
    }
    check("cuEventSynchronize", code);
  }

  @Override
  public long nanosBetween(EventHandle start, EventHandle end) {
    int code;
    float milliseconds;
    CallFrame frame = enter();
    try {
      code = calls.cuEventElapsedTime(frame.first, start.value(), end.value());
      milliseconds = frame.first.get(JAVA_FLOAT, 0);
    } finally {
      leave(frame);
    }
    check("cuEventElapsedTime", code);
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

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    try {
      kernels.copies().ifPresent(CudaKernelCopies::unload);
    } finally {
      if (ownership == Ownership.RETAINED) {
        release();
      }
    }
  }

  private void release() {
    int code;
    CallFrame frame = frames.enter(0);
    try {
      code = calls.cuDevicePrimaryCtxRelease_v2(device);
    } finally {
      leave(frame);
    }
    check("cuDevicePrimaryCtxRelease_v2", code);
  }
}
