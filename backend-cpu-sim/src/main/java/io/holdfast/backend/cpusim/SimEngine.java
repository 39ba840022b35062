package io.holdfast.backend.cpusim;

import io.holdfast.backend.cpusim.driver.Blocker;
import io.holdfast.backend.cpusim.driver.Codes;
import io.holdfast.backend.cpusim.driver.LeakAudit;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.backend.cpusim.driver.SimDriver;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * An engine beside Holdfast on the same device: it makes streams, events and memory of its own,
 * keeps the device busy, and captures graphs, all by raw handles as an engine has them.
 *
 * <p>It behaves as engines do, not as Holdfast must: its calls are made under the calling thread's
 * own capture mode, so that a query in the wrong place breaks a capture. Each call runs in the
 * engine's context and puts the thread's context back. Any thread.
 */
public final class SimEngine implements AutoCloseable {
  private final SimDriver driver;
  private final int device;
  private final long context;
  private final Tenancy tenancy;
  private final Consumer<SimEngine> whenClosed;
  private final Set<Long> streams = new LinkedHashSet<>();
  private final Set<Long> events = new LinkedHashSet<>();
  private final Map<Long, Long> allocations = new HashMap<>();
  private final Map<Long, Long> registrations = new HashMap<>();
  private boolean closed;

  private enum Tenancy {
    OWN_CONTEXT,
    SHARED_CONTEXT
  }

  /** What a capture forbids to others. */
  public enum CaptureMode {
    /** Unsafe calls of any thread. */
    GLOBAL,
    /** Unsafe calls of the capturing thread. */
    THREAD_LOCAL,
    /** Nothing. */
    RELAXED;

    private int number() {
      return switch (this) {
        case GLOBAL -> 0;
        case THREAD_LOCAL -> 1;
        case RELAXED -> 2;
      };
    }
  }

  /** How a stream orders against the legacy default stream. */
  public enum StreamKind {
    /** It waits for it, and it is waited for. */
    BLOCKING,
    /** Not at all. */
    NON_BLOCKING
  }

  private SimEngine(
      SimDriver driver, int device, long context, Tenancy tenancy, Consumer<SimEngine> whenClosed) {
    this.driver = driver;
    this.device = device;
    this.context = context;
    this.tenancy = tenancy;
    this.whenClosed = whenClosed;
  }

  static SimEngine onOwnContext(SimDriver driver, int device, Consumer<SimEngine> whenClosed) {
    check(driver, Operation.INIT, driver.init(0));
    long[] made = new long[1];
    long before = driver.ctxGetCurrent();
    check(driver, Operation.CTX_CREATE, driver.ctxCreate(made, device));
    driver.ctxSetCurrent(Math.max(0, before));
    return new SimEngine(driver, device, made[0], Tenancy.OWN_CONTEXT, whenClosed);
  }

  static SimEngine onSharedContext(SimDriver driver, int device, Consumer<SimEngine> whenClosed) {
    check(driver, Operation.INIT, driver.init(0));
    long[] retained = new long[1];
    check(driver, Operation.PRIMARY_CTX_RETAIN, driver.primaryCtxRetain(retained, device));
    return new SimEngine(driver, device, retained[0], Tenancy.SHARED_CONTEXT, whenClosed);
  }

  private static void check(SimDriver driver, Operation operation, int code) {
    if (code != Codes.SUCCESS) {
      throw SimAccelerator.refused(
          driver, SimAccelerator.BACKEND, operation, "by the engine", code);
    }
  }

  private interface Call {
    int make();
  }

  /** A call in the engine's context; the capture mode is the thread's own. */
  private int code(Call call) {
    long before = driver.ctxGetCurrent();
    boolean hip = before == 0 && driver.personality().family().name().equals("HIP");
    int deviceBefore = hip ? driver.getDevice() : 0;
    if (hip) {
      driver.setDevice(device);
    } else {
      driver.ctxSetCurrent(context);
    }
    try {
      return call.make();
    } finally {
      if (hip) {
        driver.setDevice(deviceBefore);
      } else {
        driver.ctxSetCurrent(Math.max(0, before));
      }
    }
  }

  private void run(Operation operation, Call call) {
    check(driver, operation, code(call));
  }

  /**
   * Its context, for {@code Backend.wrapContext}.
   *
   * @return the raw handle
   */
  public long context() {
    return context;
  }

  /** Leaves its context current in the calling thread, as many engines do. */
  public void makeCurrent() {
    check(driver, Operation.CTX_SET_CURRENT, driver.ctxSetCurrent(context));
  }

  /** Leaves no context current in the calling thread. */
  public void makeNoneCurrent() {
    check(driver, Operation.CTX_SET_CURRENT, driver.ctxSetCurrent(0));
  }

  // ---- streams and events

  /**
   * A stream that does not wait for the legacy default stream.
   *
   * @return the raw handle
   */
  public long newStream() {
    return newStream(StreamKind.NON_BLOCKING);
  }

  /**
   * A stream.
   *
   * @param kind how it orders against the legacy default stream
   * @return the raw handle
   */
  public synchronized long newStream(StreamKind kind) {
    long[] made = new long[1];
    int flags = kind == StreamKind.NON_BLOCKING ? 1 : 0;
    run(Operation.STREAM_CREATE, () -> driver.streamCreate(made, flags, 0));
    streams.add(made[0]);
    return made[0];
  }

  /**
   * Destroys a stream.
   *
   * @param stream one of its own
   */
  public synchronized void destroyStream(long stream) {
    run(Operation.STREAM_DESTROY, () -> driver.streamDestroy(stream));
    streams.remove(stream);
  }

  /**
   * An event with a clock.
   *
   * @return the raw handle
   */
  public synchronized long newEvent() {
    long[] made = new long[1];
    run(Operation.EVENT_CREATE, () -> driver.eventCreate(made, 0));
    events.add(made[0]);
    return made[0];
  }

  /**
   * Destroys an event.
   *
   * @param event one of its own
   */
  public synchronized void destroyEvent(long event) {
    run(Operation.EVENT_DESTROY, () -> driver.eventDestroy(event));
    events.remove(event);
  }

  /**
   * Records an event.
   *
   * @param event which
   * @param stream where
   */
  public void record(long event, long stream) {
    run(Operation.EVENT_RECORD, () -> driver.eventRecord(event, stream));
  }

  /**
   * Makes a stream wait.
   *
   * @param stream who waits
   * @param event for what
   */
  public void wait(long stream, long event) {
    run(Operation.STREAM_WAIT_EVENT, () -> driver.streamWaitEvent(stream, event));
  }

  /**
   * Asks for an event, as an engine's polling loop does.
   *
   * @param event which
   * @return the driver's answer: 0 passed, 600 not yet, or a failure
   */
  public int query(long event) {
    return code(() -> driver.eventQuery(event));
  }

  /**
   * Asks for a stream.
   *
   * @param stream which
   * @return the driver's answer: 0 idle, 600 busy, or a failure
   */
  public int queryStream(long stream) {
    return code(() -> driver.streamQuery(stream));
  }

  /**
   * Waits for a stream's work.
   *
   * @param stream which
   */
  public void synchronize(long stream) {
    run(Operation.STREAM_SYNCHRONIZE, () -> driver.streamSynchronize(stream));
  }

  /**
   * Keeps a stream busy until told otherwise.
   *
   * @param stream which
   * @return what ends it
   */
  public Blocker block(long stream) {
    Blocker[] made = new Blocker[1];
    code(
        () -> {
          made[0] = driver.block(stream);
          return Codes.SUCCESS;
        });
    return made[0];
  }

  /**
   * Keeps a stream busy for a time of the machine's clock.
   *
   * @param stream which
   * @param nanos how long
   */
  public void delay(long stream, long nanos) {
    run(Operation.LAUNCH_HOST_FUNC, () -> driver.launchDelay(stream, nanos));
  }

  // ---- memory

  /**
   * Device memory of its own.
   *
   * @param bytes how much
   * @return the address
   */
  public synchronized long allocate(long bytes) {
    long[] made = new long[1];
    run(Operation.MEM_ALLOC, () -> driver.memAlloc(made, bytes));
    allocations.put(made[0], bytes);
    return made[0];
  }

  /**
   * Gives device memory back.
   *
   * @param address of {@link #allocate}
   */
  public synchronized void free(long address) {
    run(Operation.MEM_FREE, () -> driver.memFree(address));
    allocations.remove(address);
  }

  /**
   * Registers host memory behind Holdfast's back, not portable.
   *
   * @param range native memory
   */
  public synchronized void register(MemorySegment range) {
    run(
        Operation.HOST_REGISTER,
        () -> driver.memHostRegister(range.address(), range.byteSize(), 0));
    registrations.put(range.address(), range.byteSize());
  }

  /**
   * Ends such a registration.
   *
   * @param range as registered
   */
  public synchronized void unregister(MemorySegment range) {
    run(Operation.HOST_UNREGISTER, () -> driver.memHostUnregister(range.address()));
    registrations.remove(range.address());
  }

  /**
   * Sets bytes, as a kernel of its own would.
   *
   * @param address device memory of anybody's
   * @param bytes how many
   * @param value the byte
   * @param stream where
   */
  public void fill(long address, long bytes, byte value, long stream) {
    run(Operation.MEMSET_ASYNC, () -> driver.memsetD8Async(address, value, bytes, stream));
  }

  /**
   * Copies on the device, as a kernel of its own would.
   *
   * @param destination device memory of anybody's
   * @param source device memory of anybody's
   * @param bytes how many
   * @param stream where
   */
  public void copy(long destination, long source, long bytes, long stream) {
    run(
        Operation.MEMCPY_DTOD_ASYNC,
        () -> driver.memcpyDtoDAsync(destination, source, bytes, stream));
  }

  /**
   * Writes device memory and waits, on a stream that is made for it.
   *
   * @param address device memory of anybody's
   * @param content what
   */
  public void write(long address, byte[] content) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment host = arena.allocateFrom(ValueLayout.JAVA_BYTE, content);
      move(address, host.address(), content.length);
    }
  }

  /**
   * Reads device memory and waits, on a stream that is made for it.
   *
   * @param address device memory of anybody's
   * @param bytes how many
   * @return the bytes
   */
  public byte[] read(long address, int bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment host = arena.allocate(bytes);
      move(host.address(), address, bytes);
      return host.toArray(ValueLayout.JAVA_BYTE);
    }
  }

  private void move(long destination, long source, long bytes) {
    long stream = newStream();
    try {
      run(Operation.MEMCPY_ASYNC, () -> driver.memcpyAsync(destination, source, bytes, stream));
      synchronize(stream);
    } finally {
      destroyStream(stream);
    }
  }

  // ---- graphs

  /**
   * Begins to capture what is put on a stream.
   *
   * @param stream which
   * @param mode what is forbidden meanwhile
   */
  public void beginCapture(long stream, CaptureMode mode) {
    run(Operation.STREAM_BEGIN_CAPTURE, () -> driver.streamBeginCapture(stream, mode.number()));
  }

  /**
   * Ends a capture.
   *
   * @param stream where it was begun
   * @return the graph
   * @throws io.holdfast.error.DriverException with 901 where somebody has broken it
   */
  public long endCapture(long stream) {
    long[] graph = new long[1];
    run(Operation.STREAM_END_CAPTURE, () -> driver.streamEndCapture(stream, graph));
    return graph[0];
  }

  /**
   * Ends a capture whatever became of it.
   *
   * @param stream where it was begun
   * @return the driver's answer: 0, or 901 where somebody has broken it
   */
  public int endCaptureCode(long stream) {
    return code(() -> driver.streamEndCapture(stream, new long[1]));
  }

  /**
   * Runs a graph.
   *
   * @param graph of {@link #endCapture}
   * @param stream where
   */
  public void launch(long graph, long stream) {
    run(Operation.GRAPH_LAUNCH, () -> driver.graphLaunch(graph, stream));
  }

  /**
   * How much was captured.
   *
   * @param graph of {@link #endCapture}
   * @return the number of its nodes
   */
  public int nodesOf(long graph) {
    return driver.graphNodes(graph);
  }

  // ---- the end

  synchronized LeakAudit holdings() {
    long deviceBytes = allocations.values().stream().mapToLong(Long::longValue).sum();
    long hostBytes = registrations.values().stream().mapToLong(Long::longValue).sum();
    return new LeakAudit(
        tenancy == Tenancy.SHARED_CONTEXT && driver.countsRetains() ? 1 : 0,
        tenancy == Tenancy.OWN_CONTEXT ? 1 : 0,
        registrations.size(),
        0,
        hostBytes,
        allocations.size(),
        0,
        0,
        0,
        0,
        deviceBytes,
        streams.size(),
        events.size(),
        0,
        0,
        0,
        0,
        0);
  }

  /** Gives everything of its own back; what it made and did not destroy goes first. Idempotent. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    code(
        () -> {
          streams.forEach(driver::streamDestroy);
          events.forEach(driver::eventDestroy);
          allocations.keySet().forEach(driver::memFree);
          registrations.keySet().forEach(driver::memHostUnregister);
          return Codes.SUCCESS;
        });
    if (tenancy == Tenancy.OWN_CONTEXT) {
      driver.ctxDestroy(context);
    } else {
      driver.primaryCtxRelease(device);
    }
    whenClosed.accept(this);
  }
}
