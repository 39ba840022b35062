package io.holdfast.backend.cpusim.driver;

import io.holdfast.backend.cpusim.driver.Personality.Concurrency;
import io.holdfast.spi.CopyTable;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The driver of a simulated machine: entry points in the manner of C, each answering with a code.
 *
 * <p>There is one method per driver function, named after it without its prefix; the same method
 * serves CUDA and HIP, and the {@link Personality} decides where they differ. Outputs go to arrays
 * of the caller's, which a refused call leaves untouched. Any thread may call; what a real driver
 * keeps per operating system thread is kept per platform thread, and for virtual threads per
 * carrier.
 *
 * <p>The calls block as real ones do: a waiting call blocks its thread, whatever that is.
 */
@SuppressWarnings("exports") // naming @Nullable binds nobody to have it
public final class SimDriver implements AutoCloseable {
  private static final long FIRST_CONTEXT = 0xC0_0000_0010L;
  private static final long FIRST_STREAM = 0x57_0000_0010L;
  private static final long FIRST_EVENT = 0xE7_0000_0010L;
  private static final long FIRST_GRAPH = 0x69_0000_0010L;
  private static final int LINK_TO_DEVICE = 0;
  private static final int LINK_TO_HOST = 1;

  private final Setup setup;
  private final Personality personality;
  private final boolean cuda;
  private final SimClock clock;
  private final DriverLock lock = new DriverLock();
  private final Carriers carriers = new Carriers();
  private final Ledger ledger = new Ledger();
  private final Faults faults;
  private final HostPins pins;
  private final DeviceSpace space;
  private final Scheduler scheduler;
  private final @Nullable Context[] primaries;
  private final long[] primaryHandles;
  private final Map<Long, Context> contexts = new HashMap<>();
  private final Map<Long, Stream> streams = new LinkedHashMap<>();
  private final Map<Long, Event> events = new LinkedHashMap<>();
  private final Map<Long, Capture> graphs = new HashMap<>();
  private final List<Capture> captures = new ArrayList<>();
  private final long[][] linkFreeAt;
  private final int[] deviceLost;
  private long nextHandle;
  private final AtomicInteger virtualMemoryCalls = new AtomicInteger();
  private boolean initialized;
  private volatile boolean closed;

  /**
   * Sets a driver up; nothing runs yet.
   *
   * @param setup what it is
   */
  public SimDriver(Setup setup) {
    this.setup = setup;
    this.personality = setup.personality();
    this.cuda = personality.family() == Family.CUDA;
    this.clock = setup.clock();
    this.faults = new Faults(clock);
    int count = setup.devices().size();
    this.pins = new HostPins(personality, setup.host());
    this.space = new DeviceSpace(personality, setup.devices(), setup.seed(), setup.freshByte());
    this.primaries = new Context[count];
    this.primaryHandles = new long[count];
    this.linkFreeAt = new long[count][2];
    this.deviceLost = new int[count];
    this.scheduler = new RealTimeScheduler(this, lock);
    faults.onLose(code -> loseDevice(currentDevice(), code));
    for (int device = 0; device < count; device++) {
      primaryHandles[device] = FIRST_CONTEXT + nextHandle++ * 16;
      if (!cuda) {
        Context implicit = new Context(primaryHandles[device], device, true);
        primaries[device] = implicit;
        contexts.put(implicit.handle, implicit);
      }
    }
    this.initialized = !cuda;
  }

  /**
   * What a driver is set up with.
   *
   * @param personality whose ways it has
   * @param devices what it drives, possibly nothing
   * @param host what it can learn of host pages
   * @param clock its time
   * @param seed of everything that is left to chance
   * @param freshByte what device memory reads as before it is written
   */
  public record Setup(
      Personality personality,
      List<DeviceSpec> devices,
      HostSpace host,
      SimClock clock,
      long seed,
      byte freshByte) {
    /** Checks and copies. */
    public Setup {
      Objects.requireNonNull(personality, "personality");
      devices = List.copyOf(devices);
      Objects.requireNonNull(host, "host");
      Objects.requireNonNull(clock, "clock");
      if (devices.size() > Addresses.MAX_DEVICES) {
        throw new IllegalArgumentException(
            "at most " + Addresses.MAX_DEVICES + " devices, not " + devices.size());
      }
    }
  }

  // ---- around the driver, for tests and ports

  /**
   * Whose ways it has.
   *
   * @return the personality
   */
  public Personality personality() {
    return personality;
  }

  /**
   * What it drives.
   *
   * @return the devices
   */
  public List<DeviceSpec> deviceSpecs() {
    return setup.devices();
  }

  /**
   * Every call that reached it.
   *
   * @return the ledger
   */
  public Ledger ledger() {
    return ledger;
  }

  /**
   * What shall go wrong.
   *
   * @return the rules
   */
  public Faults faults() {
    return faults;
  }

  /**
   * The page of the host it pins.
   *
   * @return bytes
   */
  public long basePageBytes() {
    return setup.host().basePageBytes();
  }

  // ---- the bracket of every call

  private int call(Operation operation, long a, long b, long c, IntSupplier effect) {
    int code = admit(operation);
    lock.lock();
    try {
      if (code == Codes.SUCCESS) {
        code = effect.getAsInt();
      }
      ledger.write(operation, a, b, c, code);
    } finally {
      lock.unlock();
    }
    return remember(code);
  }

  /** Faults and the library's own state; without the lock, since a call can hang here. */
  private int admit(Operation operation) {
    if (closed) {
      return Codes.DEINITIALIZED;
    }
    if (!initialized && operation != Operation.INIT) {
      return Codes.NOT_INITIALIZED;
    }
    return faults.strike(operation);
  }

  private int remember(int code) {
    if (personality.lastError() != Personality.LastError.NONE) {
      ThreadState thread = carriers.current();
      boolean failed = code != Codes.SUCCESS && code != Codes.NOT_READY;
      if (failed || personality.lastError() == Personality.LastError.EVERY_CALL) {
        thread.lastError = failed ? code : Codes.SUCCESS;
      }
    }
    return code;
  }

  /**
   * HIP: reads and clears the calling thread's last error.
   *
   * @return the code
   */
  public int getLastError() {
    ThreadState thread = carriers.current();
    int code = thread.lastError;
    thread.lastError = Codes.SUCCESS;
    return code;
  }

  /**
   * HIP: reads the calling thread's last error.
   *
   * @return the code
   */
  public int peekAtLastError() {
    return carriers.current().lastError;
  }

  private interface InContext {
    int run(ThreadState thread, Context context);
  }

  /** A call that needs a current context. */
  private int callIn(Operation operation, long a, long b, long c, InContext effect) {
    return call(
        operation,
        a,
        b,
        c,
        () -> {
          ThreadState thread = carriers.current();
          int code = contextCode(thread);
          return code == Codes.SUCCESS ? effect.run(thread, contextOf(thread)) : code;
        });
  }

  private int contextCode(ThreadState thread) {
    Context context = cuda ? thread.current : primaries[thread.device];
    if (context == null) {
      return Codes.INVALID_CONTEXT;
    }
    if (!context.alive) {
      return Codes.CONTEXT_IS_DESTROYED;
    }
    return context.lostCode;
  }

  private Context contextOf(ThreadState thread) {
    return Objects.requireNonNull(cuda ? thread.current : primaries[thread.device]);
  }

  private int currentDevice() {
    ThreadState thread = carriers.current();
    if (cuda) {
      return thread.current == null ? 0 : thread.current.device;
    }
    return thread.device;
  }

  // ---- initialisation and devices

  /**
   * {@code cuInit}, {@code hipInit}.
   *
   * @param flags must be 0
   * @return the code
   */
  public int init(int flags) {
    return call(
        Operation.INIT,
        flags,
        0,
        0,
        () -> {
          if (flags != 0) {
            return Codes.INVALID_VALUE;
          }
          if (setup.devices().isEmpty()) {
            return Codes.NO_DEVICE;
          }
          initialized = true;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuDriverGetVersion}, {@code hipDriverGetVersion}; works before everything else.
   *
   * @return the version number, never a code
   */
  public int driverGetVersion() {
    return personality.version();
  }

  /**
   * {@code cuDeviceGetCount}, {@code hipGetDeviceCount}.
   *
   * @param out the number of devices
   * @return the code
   */
  public int deviceGetCount(long[] out) {
    return call(
        Operation.DEVICE_GET_COUNT,
        0,
        0,
        0,
        () -> {
          int count = setup.devices().size();
          if (!cuda && count == 0) {
            out[0] = 0;
            return Codes.NO_DEVICE;
          }
          out[0] = count;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuDeviceGetAttribute}, {@code hipDeviceGetAttribute}.
   *
   * @param out the value
   * @param number the attribute as the family counts
   * @param device which device
   * @return the code; 1 for an attribute that this version does not know
   */
  public int deviceGetAttribute(long[] out, int number, int device) {
    return call(
        Operation.DEVICE_GET_ATTRIBUTE,
        number,
        device,
        0,
        () -> {
          if (device < 0 || device >= setup.devices().size()) {
            return Codes.INVALID_DEVICE;
          }
          Attribute attribute = Attribute.numbered(personality.family(), number);
          if (attribute == null || !attribute.knownTo(personality)) {
            return Codes.INVALID_VALUE;
          }
          out[0] = attribute.value(personality, setup.devices().get(device));
          return Codes.SUCCESS;
        });
  }

  /**
   * Whether a symbol is exported.
   *
   * @param symbol the exported name
   * @return false where this version lacks it
   */
  public boolean exports(String symbol) {
    return personality.exports(symbol);
  }

  // ---- contexts and threads

  /**
   * {@code cuDevicePrimaryCtxRetain}.
   *
   * @param out the context
   * @param device whose
   * @return the code
   */
  public int primaryCtxRetain(long[] out, int device) {
    return call(
        Operation.PRIMARY_CTX_RETAIN,
        device,
        0,
        0,
        () -> {
          if (device < 0 || device >= primaries.length) {
            return Codes.INVALID_DEVICE;
          }
          Context context = primaries[device];
          if (context == null) {
            if (!space.charge(device, personality.contextBytes())) {
              return Codes.OUT_OF_MEMORY;
            }
            context = new Context(primaryHandles[device], device, true);
            context.lostCode = deviceLost[device];
            primaries[device] = context;
            contexts.put(context.handle, context);
          }
          context.retains++;
          out[0] = context.handle;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuDevicePrimaryCtxRelease}; the last one ends the context with everything in it.
   *
   * @param device whose
   * @return the code; 201 for one release too many
   */
  public int primaryCtxRelease(int device) {
    return call(
        Operation.PRIMARY_CTX_RELEASE,
        device,
        0,
        0,
        () -> {
          if (device < 0 || device >= primaries.length) {
            return Codes.INVALID_DEVICE;
          }
          if (!cuda) {
            return Codes.SUCCESS;
          }
          Context context = primaries[device];
          if (context == null) {
            return Codes.INVALID_CONTEXT;
          }
          context.retains--;
          if (context.retains == 0) {
            primaries[device] = null;
            end(context);
          }
          return Codes.SUCCESS;
        });
  }

  /**
   * How often a device's shared context is retained.
   *
   * @param device whose
   * @return retains that were not released
   */
  public int primaryCtxRetains(int device) {
    lock.lock();
    try {
      Context context = primaries[device];
      return context == null ? 0 : context.retains;
    } finally {
      lock.unlock();
    }
  }

  /**
   * {@code cuCtxCreate}: a context of an engine's own, current afterwards.
   *
   * @param out the context
   * @param device where
   * @return the code
   */
  public int ctxCreate(long[] out, int device) {
    return call(
        Operation.CTX_CREATE,
        device,
        0,
        0,
        () -> {
          if (device < 0 || device >= primaries.length) {
            return Codes.INVALID_DEVICE;
          }
          if (!cuda) {
            return Codes.NOT_SUPPORTED;
          }
          if (!space.charge(device, personality.contextBytes())) {
            return Codes.OUT_OF_MEMORY;
          }
          Context made = new Context(FIRST_CONTEXT + nextHandle++ * 16, device, false);
          made.lostCode = deviceLost[device];
          contexts.put(made.handle, made);
          ThreadState thread = carriers.current();
          if (thread.current != null) {
            thread.below.push(thread.current);
          }
          thread.current = made;
          out[0] = made.handle;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuCtxDestroy}.
   *
   * @param context of {@link #ctxCreate}
   * @return the code
   */
  public int ctxDestroy(long context) {
    return call(
        Operation.CTX_DESTROY,
        context,
        0,
        0,
        () -> {
          Context gone = contexts.get(context);
          if (gone == null || gone.primary) {
            return Codes.INVALID_CONTEXT;
          }
          end(gone);
          return Codes.SUCCESS;
        });
  }

  private void end(Context context) {
    awaitAll(context);
    context.alive = false;
    contexts.remove(context.handle);
    streams.values().removeIf(stream -> stream.context == context);
    events.values().removeIf(event -> event.context == context);
    pins.removeAll(context);
    space.freeAll(context);
    space.discharge(context.device, personality.contextBytes());
  }

  /**
   * {@code cuCtxSetCurrent}; for HIP see {@link #setDevice}. Blocks on nothing.
   *
   * @param context a context, or 0 for none
   * @return the code
   */
  public int ctxSetCurrent(long context) {
    int code = admit(Operation.CTX_SET_CURRENT);
    if (code == Codes.SUCCESS) {
      ThreadState thread = carriers.current();
      if (context == 0) {
        thread.current = null;
      } else if (thread.current == null || thread.current.handle != context) {
        Context wanted = contextNamed(context);
        if (wanted == null) {
          code = Codes.INVALID_CONTEXT;
        } else {
          thread.current = wanted;
        }
      }
    }
    ledger.write(Operation.CTX_SET_CURRENT, context, 0, 0, code);
    return code;
  }

  private @Nullable Context contextNamed(long handle) {
    lock.lock();
    try {
      return contexts.get(handle);
    } finally {
      lock.unlock();
    }
  }

  /**
   * {@code cuCtxGetCurrent}. Blocks on nothing.
   *
   * @return the context, 0 for none, or minus the code
   */
  public long ctxGetCurrent() {
    int code = admit(Operation.CTX_GET_CURRENT);
    Context current = carriers.current().current;
    long handle = current == null ? 0 : current.handle;
    ledger.write(Operation.CTX_GET_CURRENT, handle, 0, 0, code);
    return code == Codes.SUCCESS ? handle : -code;
  }

  /**
   * {@code cuCtxGetDevice}: the device of the current context.
   *
   * @param out the device
   * @return the code
   */
  public int ctxGetDevice(long[] out) {
    return callIn(
        Operation.CTX_GET_DEVICE,
        0,
        0,
        0,
        (thread, context) -> {
          out[0] = context.device;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code hipSetDevice}. Blocks on nothing.
   *
   * @param device the calling thread's device from now on
   * @return the code
   */
  public int setDevice(int device) {
    int code = admit(Operation.CTX_SET_CURRENT);
    if (code == Codes.SUCCESS) {
      if (device < 0 || device >= primaries.length) {
        code = Codes.INVALID_DEVICE;
      } else {
        carriers.current().device = device;
      }
    }
    ledger.write(Operation.CTX_SET_CURRENT, device, 0, 0, code);
    return remember(code);
  }

  /**
   * {@code hipGetDevice}. Blocks on nothing.
   *
   * @return the calling thread's device, or minus the code
   */
  public int getDevice() {
    int code = admit(Operation.CTX_GET_CURRENT);
    int device = carriers.current().device;
    ledger.write(Operation.CTX_GET_CURRENT, device, 0, 0, code);
    remember(code);
    return code == Codes.SUCCESS ? device : -code;
  }

  /**
   * {@code cuThreadExchangeStreamCaptureMode}. Blocks on nothing.
   *
   * @param mode 0 global, 1 thread-local, 2 relaxed
   * @return the mode before, or minus the code
   */
  public int threadExchangeStreamCaptureMode(int mode) {
    int code = admit(Operation.THREAD_EXCHANGE_CAPTURE_MODE);
    ThreadState thread = carriers.current();
    int before = thread.captureMode;
    if (code == Codes.SUCCESS) {
      if (mode < Capture.GLOBAL || mode > Capture.RELAXED) {
        code = Codes.INVALID_VALUE;
      } else {
        thread.captureMode = mode;
      }
    }
    ledger.write(Operation.THREAD_EXCHANGE_CAPTURE_MODE, mode, before, 0, code);
    remember(code);
    return code == Codes.SUCCESS ? before : -code;
  }

  /**
   * {@code cuCtxSynchronize}, {@code hipDeviceSynchronize}. Blocks.
   *
   * @return the code
   */
  public int ctxSynchronize() {
    return callIn(
        Operation.CTX_SYNCHRONIZE,
        0,
        0,
        0,
        (thread, context) -> {
          int code = unsafe(thread);
          if (code != Codes.SUCCESS) {
            return code;
          }
          awaitAll(context);
          return context.lostCode;
        });
  }

  private void awaitAll(Context context) {
    for (Stream stream : List.copyOf(context.streams)) {
      awaitTicket(stream, stream.submitted);
    }
  }

  /**
   * {@code cuCtxGetStreamPriorityRange}.
   *
   * @param out least, then greatest priority
   * @return the code
   */
  public int streamPriorityRange(long[] out) {
    return callIn(
        Operation.STREAM_PRIORITY_RANGE,
        0,
        0,
        0,
        (thread, context) -> {
          out[0] = 0;
          out[1] = cuda ? -5 : -1;
          return Codes.SUCCESS;
        });
  }

  // ---- graph capture

  /** 0, or 900 with the captures that forbid the call broken. */
  private int unsafe(ThreadState thread) {
    if (captures.isEmpty() || thread.captureMode == Capture.RELAXED) {
      return Codes.SUCCESS;
    }
    int code = Codes.SUCCESS;
    for (Capture capture : captures) {
      boolean mine = capture.owner == thread;
      if (capture.mode != Capture.RELAXED
          && (mine || (thread.captureMode == Capture.GLOBAL && capture.mode == Capture.GLOBAL))) {
        capture.invalidated = true;
        code = Codes.STREAM_CAPTURE_UNSUPPORTED;
      }
    }
    return code;
  }

  private static int breakCapture(Capture capture, int code) {
    capture.invalidated = true;
    return code;
  }

  /**
   * {@code cuStreamBeginCapture}.
   *
   * @param handle the stream
   * @param mode 0 global, 1 thread-local, 2 relaxed
   * @return the code
   */
  public int streamBeginCapture(long handle, int mode) {
    return callIn(
        Operation.STREAM_BEGIN_CAPTURE,
        handle,
        mode,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          if (mode < Capture.GLOBAL || mode > Capture.RELAXED) {
            return Codes.INVALID_VALUE;
          }
          if (stream.kind == Stream.Kind.LEGACY || stream.capture != null) {
            return Codes.STREAM_CAPTURE_UNSUPPORTED;
          }
          Capture capture = new Capture(stream, thread, mode);
          stream.capture = capture;
          stream.capturedNodes = 0;
          captures.add(capture);
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuStreamEndCapture}.
   *
   * @param handle the stream it was begun on
   * @param out the graph
   * @return the code; the capture has ended whatever it says, but for 903 and 908
   */
  public int streamEndCapture(long handle, long[] out) {
    return callIn(
        Operation.STREAM_END_CAPTURE,
        handle,
        0,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          Capture capture = stream.capture;
          if (capture == null || capture.origin != stream) {
            return Codes.STREAM_CAPTURE_UNMATCHED;
          }
          if (capture.mode != Capture.RELAXED && capture.owner != thread) {
            return Codes.STREAM_CAPTURE_WRONG_THREAD;
          }
          boolean unjoined = capture.joined.stream().anyMatch(other -> other.capturedNodes > 0);
          endCapture(capture);
          if (capture.invalidated) {
            return Codes.STREAM_CAPTURE_INVALIDATED;
          }
          if (unjoined) {
            return Codes.STREAM_CAPTURE_UNJOINED;
          }
          long graph = FIRST_GRAPH + nextHandle++ * 16;
          graphs.put(graph, capture);
          out[0] = graph;
          return Codes.SUCCESS;
        });
  }

  private void endCapture(Capture capture) {
    capture.ended = true;
    captures.remove(capture);
    capture.origin.capture = null;
    for (Stream joined : capture.joined) {
      joined.capture = null;
    }
  }

  /**
   * {@code cuStreamIsCapturing}.
   *
   * @param handle the stream
   * @return 0 none, 1 active, 2 invalidated, or minus the code
   */
  public int streamIsCapturing(long handle) {
    int code = admit(Operation.STREAM_IS_CAPTURING);
    int status = 0;
    lock.lock();
    try {
      ThreadState thread = carriers.current();
      code = code == Codes.SUCCESS ? contextCode(thread) : code;
      if (code == Codes.SUCCESS) {
        Stream stream = stream(thread, contextOf(thread), handle);
        if (stream == null) {
          code = Codes.INVALID_HANDLE;
        } else if (stream.kind == Stream.Kind.LEGACY && capturedBeside(stream) != null) {
          code = Codes.STREAM_CAPTURE_IMPLICIT;
        } else {
          status = stream.capture == null ? 0 : stream.capture.invalidated ? 2 : 1;
        }
      }
      ledger.write(Operation.STREAM_IS_CAPTURING, handle, status, 0, code);
    } finally {
      lock.unlock();
    }
    remember(code);
    return code == Codes.SUCCESS ? status : -code;
  }

  /** A capture that the legacy stream would have to take part in, or null. */
  private @Nullable Capture capturedBeside(Stream legacy) {
    for (Capture capture : captures) {
      if (capture.origin.context == legacy.context
          && capture.origin.kind == Stream.Kind.BLOCKING
          && capture.mode != Capture.RELAXED) {
        return capture;
      }
    }
    return null;
  }

  /**
   * {@code cuGraphLaunch} of a captured graph, instantiated on the way.
   *
   * @param graph of {@link #streamEndCapture}
   * @param handle the stream
   * @return the code
   */
  public int graphLaunch(long graph, long handle) {
    return callIn(
        Operation.GRAPH_LAUNCH,
        graph,
        handle,
        0,
        (thread, context) -> {
          Capture captured = graphs.get(graph);
          Stream stream = stream(thread, context, handle);
          if (captured == null || stream == null) {
            return Codes.INVALID_HANDLE;
          }
          for (Work node : captured.nodes) {
            int code = enqueue(stream, node.operation, node.body);
            if (code != Codes.SUCCESS) {
              return code;
            }
          }
          return Codes.SUCCESS;
        });
  }

  /**
   * How much was captured into a graph.
   *
   * @param graph of {@link #streamEndCapture}
   * @return the number of its nodes
   */
  public int graphNodes(long graph) {
    lock.lock();
    try {
      return Objects.requireNonNull(graphs.get(graph), "no such graph").nodes.size();
    } finally {
      lock.unlock();
    }
  }

  // ---- host memory

  /**
   * {@code cuMemHostRegister}, {@code hipHostRegister}. Can be slow.
   *
   * @param address first byte
   * @param bytes how many
   * @param flags 1 portable, 2 mapped, 8 read-only or coarse-grained
   * @return the code
   */
  public int memHostRegister(long address, long bytes, int flags) {
    return callIn(
        Operation.HOST_REGISTER,
        address,
        bytes,
        flags,
        (thread, context) -> {
          int code = unsafe(thread);
          return code == Codes.SUCCESS ? pins.register(context, address, bytes, flags) : code;
        });
  }

  /**
   * {@code cuMemHostUnregister}, {@code hipHostUnregister}. Can be slow.
   *
   * @param address exactly where a registration starts
   * @return the code; CUDA answers 713 rather than 201 without a context
   */
  public int memHostUnregister(long address) {
    return call(
        Operation.HOST_UNREGISTER,
        address,
        0,
        0,
        () -> {
          ThreadState thread = carriers.current();
          int code = contextCode(thread);
          if (code != Codes.SUCCESS) {
            return code == Codes.INVALID_CONTEXT ? Codes.HOST_MEMORY_NOT_REGISTERED : code;
          }
          code = unsafe(thread);
          if (code != Codes.SUCCESS) {
            return code;
          }
          if (!cuda) {
            awaitAll(contextOf(thread));
          }
          return pins.unregister(address);
        });
  }

  /**
   * {@code cuMemHostGetDevicePointer}, {@code hipHostGetDevicePointer}.
   *
   * @param out the device's address
   * @param address a registered byte
   * @return the code
   */
  public int memHostGetDevicePointer(long[] out, long address) {
    return callIn(
        Operation.HOST_GET_DEVICE_POINTER,
        address,
        0,
        0,
        (thread, context) -> {
          Registration there = visible(context, address);
          if (there == null) {
            return Codes.INVALID_VALUE;
          }
          out[0] = pins.seenBy(context.device, there, address);
          return Codes.SUCCESS;
        });
  }

  /** The registration that a context knows of, or null. */
  private @Nullable Registration visible(Context context, long address) {
    Registration there = pins.at(address);
    boolean known = there != null && (!cuda || there.portable() || there.context == context);
    return known ? there : null;
  }

  /**
   * {@code cuMemHostGetFlags}, {@code hipHostGetFlags}.
   *
   * @param out the flags: the mapped bit is always set, the read-only bit never
   * @param address a registered byte
   * @return the code
   */
  public int memHostGetFlags(long[] out, long address) {
    return callIn(
        Operation.HOST_GET_FLAGS,
        address,
        0,
        0,
        (thread, context) -> {
          Registration there = visible(context, address);
          if (there == null) {
            return Codes.INVALID_VALUE;
          }
          out[0] = (there.flags & ~HostPins.READ_ONLY) | 2;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuMemHostAlloc}, {@code hipHostMalloc}. Can be slow.
   *
   * @param out the address, page aligned; the memory is zero
   * @param bytes how many
   * @param flags 1 portable, 2 mapped, 4 write-combined
   * @return the code
   */
  public int memHostAlloc(long[] out, long bytes, int flags) {
    return callIn(
        Operation.HOST_ALLOC,
        bytes,
        flags,
        0,
        (thread, context) -> {
          int code = unsafe(thread);
          if (code != Codes.SUCCESS) {
            return code;
          }
          if (bytes <= 0 || (cuda && (flags & ~7) != 0)) {
            return Codes.INVALID_VALUE;
          }
          Registration made = pins.allocate(context, bytes, flags);
          if (made == null) {
            return Codes.OUT_OF_MEMORY;
          }
          out[0] = made.address;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuMemFreeHost}, {@code hipHostFree}. Waits for the device.
   *
   * @param address of {@link #memHostAlloc}
   * @return the code
   */
  public int memFreeHost(long address) {
    return callIn(
        Operation.HOST_FREE,
        address,
        0,
        0,
        (thread, context) -> {
          int code = unsafe(thread);
          if (code != Codes.SUCCESS) {
            return code;
          }
          awaitAll(context);
          return pins.free(address);
        });
  }

  // ---- device memory

  /**
   * {@code cuMemAlloc}, {@code hipMalloc}.
   *
   * @param out the address
   * @param bytes how many; CUDA refuses 0, HIP answers with the null address
   * @return the code
   */
  public int memAlloc(long[] out, long bytes) {
    return callIn(
        Operation.MEM_ALLOC,
        bytes,
        0,
        0,
        (thread, context) -> {
          int code = unsafe(thread);
          if (code != Codes.SUCCESS) {
            return code;
          }
          if (bytes == 0 && !cuda) {
            out[0] = 0;
            return Codes.SUCCESS;
          }
          if (bytes <= 0) {
            return Codes.INVALID_VALUE;
          }
          return answer(out, space.allocate(context, bytes));
        });
  }

  /** Writes a positive or zero value, or turns a negative one into its code. */
  private static int answer(long[] out, long valueOrMinusCode) {
    if (valueOrMinusCode < 0) {
      return (int) -valueOrMinusCode;
    }
    out[0] = valueOrMinusCode;
    return Codes.SUCCESS;
  }

  /**
   * {@code cuMemFree}, {@code hipFree}. Waits for the device.
   *
   * @param address of {@link #memAlloc}, or 0
   * @return the code
   */
  public int memFree(long address) {
    return callIn(
        Operation.MEM_FREE,
        address,
        0,
        0,
        (thread, context) -> {
          int code = unsafe(thread);
          if (code != Codes.SUCCESS || address == 0) {
            return code;
          }
          if (space.allocationAt(address) == null) {
            return Codes.INVALID_VALUE;
          }
          awaitAll(context);
          Backed there = space.allocationAt(address);
          if (there == null) {
            return Codes.INVALID_VALUE;
          }
          space.free(there);
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuMemGetAddressRange}, {@code hipMemGetAddressRange}.
   *
   * @param out first address and bytes of the allocation or mapping
   * @param address any address
   * @return the code
   */
  public int memGetAddressRange(long[] out, long address) {
    return callIn(
        Operation.MEM_GET_ADDRESS_RANGE,
        address,
        0,
        0,
        (thread, context) -> {
          Backed there = space.at(address);
          if (there == null) {
            return cuda ? Codes.INVALID_VALUE : Codes.NOT_FOUND;
          }
          out[0] = there.address;
          out[1] = there.bytes;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuMemGetInfo}, {@code hipMemGetInfo}.
   *
   * @param out free and total bytes
   * @return the code
   */
  public int memGetInfo(long[] out) {
    return callIn(
        Operation.MEM_GET_INFO,
        0,
        0,
        0,
        (thread, context) -> {
          out[0] = space.freeBytes(context.device);
          out[1] = setup.devices().get(context.device).totalBytes();
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuPointerGetAttribute}, {@code hipPointerGetAttribute}.
   *
   * @param out the value
   * @param attribute as both families count
   * @param address any address
   * @return the code
   */
  public int pointerGetAttribute(long[] out, int attribute, long address) {
    return call(
        Operation.POINTER_GET_ATTRIBUTE,
        attribute,
        address,
        0,
        () -> {
          int code = contextCode(carriers.current());
          if (code != Codes.SUCCESS) {
            return code == Codes.INVALID_CONTEXT ? Codes.INVALID_VALUE : code;
          }
          return answer(out, pointerAttribute(attribute, address));
        });
  }

  private long pointerAttribute(int attribute, long address) {
    Registration host = Addresses.isAlias(address) ? pins.atAlias(address) : pins.at(address);
    Backed device = space.at(address);
    if (host == null && device == null) {
      return -Codes.INVALID_VALUE;
    }
    int ordinal = contextOf(carriers.current()).device;
    return switch (attribute) {
      case 2 -> host != null ? 1 : 2;
      case 3 ->
          host != null && !Addresses.isAlias(address)
              ? pins.seenBy(ordinal, host, address)
              : address;
      case 4 -> {
        if (host == null) {
          yield -Codes.INVALID_VALUE;
        }
        yield Addresses.isAlias(address) ? pins.hostAddress(host, address) : address;
      }
      case 8 -> 0;
      case 9 -> host != null ? host.context.device : Objects.requireNonNull(device).memory.device;
      case 10 -> device != null && device.reservation == null ? 1 : 0;
      case 11 -> rangeStart(host, device);
      case 12 -> rangeSize(host, device);
      case 13 -> 1;
      case 14 -> device == null || device.physical == null ? 0 : device.physical.handleTypes;
      case 15 -> device != null && (device.physical == null || device.physical.rdma) ? 1 : 0;
      default -> -Codes.INVALID_VALUE;
    };
  }

  private static long rangeStart(@Nullable Registration host, @Nullable Backed device) {
    if (host != null) {
      return host.address;
    }
    Backed there = Objects.requireNonNull(device);
    return there.reservation == null ? there.address : there.reservation.address;
  }

  private long rangeSize(@Nullable Registration host, @Nullable Backed device) {
    long bytes;
    if (host != null) {
      bytes = host.bytes;
    } else {
      Backed there = Objects.requireNonNull(device);
      bytes = there.reservation == null ? there.bytes : there.reservation.bytes;
    }
    return cuda ? bytes : bytes & 0xFFFF_FFFFL; // HIP writes 32 bits
  }

  // ---- copies

  private static final int INVALID = -1;
  private static final int DEVICE = 1;
  private static final int PINNED = 2;
  private static final int PAGEABLE = 3;

  /** What one end of a copy is, or {@link #INVALID}. */
  private int classify(int device, long address, long bytes, boolean writing) {
    long end = address + bytes;
    if (end < address) {
      return INVALID;
    }
    if (Addresses.isDevice(address)) {
      return space.usable(device, address, bytes, writing) ? DEVICE : INVALID;
    }
    if (Addresses.isAlias(address)) {
      Registration there = pins.atAlias(address);
      return there != null
              && Addresses.aliasDevice(address) == device
              && pins.hostAddress(there, address) + bytes <= there.end()
          ? PINNED
          : INVALID;
    }
    if (address < Addresses.LOWEST_HOST || end > Addresses.DEVICE_BASE) {
      return INVALID;
    }
    Registration there = pins.at(address);
    if (there == null) {
      return PAGEABLE;
    }
    return end <= there.end() ? PINNED : INVALID;
  }

  /**
   * {@code cuMemcpyAsync}: by address, in any direction.
   *
   * @param destination first byte
   * @param source first byte
   * @param bytes how many; 0 does nothing
   * @param handle the stream
   * @return the code; pageable memory makes the call wait for the copy
   */
  public int memcpyAsync(long destination, long source, long bytes, long handle) {
    return copy(Operation.MEMCPY_ASYNC, destination, source, bytes, handle);
  }

  /**
   * {@code cuMemcpyHtoDAsync}.
   *
   * @param destination first byte
   * @param source first byte
   * @param bytes how many; 0 does nothing
   * @param handle the stream
   * @return the code
   */
  public int memcpyHtoDAsync(long destination, long source, long bytes, long handle) {
    return copy(Operation.MEMCPY_HTOD_ASYNC, destination, source, bytes, handle);
  }

  /**
   * {@code cuMemcpyDtoHAsync}.
   *
   * @param destination first byte
   * @param source first byte
   * @param bytes how many; 0 does nothing
   * @param handle the stream
   * @return the code
   */
  public int memcpyDtoHAsync(long destination, long source, long bytes, long handle) {
    return copy(Operation.MEMCPY_DTOH_ASYNC, destination, source, bytes, handle);
  }

  /**
   * {@code cuMemcpyDtoDAsync}.
   *
   * @param destination first byte
   * @param source first byte
   * @param bytes how many; 0 does nothing
   * @param handle the stream
   * @return the code
   */
  public int memcpyDtoDAsync(long destination, long source, long bytes, long handle) {
    return copy(Operation.MEMCPY_DTOD_ASYNC, destination, source, bytes, handle);
  }

  private int copy(Operation operation, long destination, long source, long bytes, long handle) {
    int code = admit(operation);
    lock.lock();
    try {
      ThreadState thread = carriers.current();
      code = code == Codes.SUCCESS ? contextCode(thread) : code;
      if (code == Codes.SUCCESS) {
        Context context = contextOf(thread);
        Stream stream = stream(thread, context, handle);
        code =
            stream == null
                ? Codes.INVALID_HANDLE
                : copyOn(stream, operation, destination, source, bytes);
      }
      ledger.write(operation, destination, source, bytes, code);
    } finally {
      lock.unlock();
    }
    return remember(code);
  }

  private int copyOn(
      Stream stream, Operation operation, long destination, long source, long bytes) {
    if (bytes == 0) {
      return captureCode(stream);
    }
    if (bytes < 0) {
      return Codes.INVALID_VALUE;
    }
    int device = stream.context.device;
    int to = classify(device, destination, bytes, true);
    int from = classify(device, source, bytes, false);
    if (to == INVALID || from == INVALID) {
      return Codes.INVALID_VALUE;
    }
    boolean pageable = to == PAGEABLE || from == PAGEABLE;
    int code =
        enqueue(
            stream,
            operation,
            new Rows(
                stream,
                new long[] {destination, source, bytes},
                linkDirection(to, from),
                pageable ? HostChecks.NONE : HostChecks.STILL_PINNED));
    if (code == Codes.SUCCESS && pageable && stream.capture == null) {
      awaitTicket(stream, stream.submitted);
      return stream.context.lostCode;
    }
    return code;
  }

  private static int linkDirection(int to, int from) {
    return from == DEVICE && to != DEVICE ? LINK_TO_HOST : LINK_TO_DEVICE;
  }

  /**
   * {@code cuMemcpy}: on the legacy default stream, and waits.
   *
   * @param destination first byte
   * @param source first byte
   * @param bytes how many; 0 does nothing
   * @return the code
   */
  public int memcpy(long destination, long source, long bytes) {
    return callIn(
        Operation.MEMCPY,
        destination,
        source,
        bytes,
        (thread, context) -> {
          int code = unsafe(thread);
          if (code != Codes.SUCCESS) {
            return code;
          }
          code = copyOn(context.legacy, Operation.MEMCPY, destination, source, bytes);
          if (code == Codes.SUCCESS) {
            awaitTicket(context.legacy, context.legacy.submitted);
            code = context.lostCode;
          }
          return code;
        });
  }

  /**
   * {@code cuMemcpy2DAsync}: one rectangle.
   *
   * @param destination first byte
   * @param destinationPitch bytes from row to row
   * @param source first byte
   * @param sourcePitch bytes from row to row
   * @param width bytes per row
   * @param height rows
   * @param handle the stream
   * @return the code
   */
  public int memcpy2DAsync(
      long destination,
      long destinationPitch,
      long source,
      long sourcePitch,
      long width,
      long height,
      long handle) {
    return callIn(
        Operation.MEMCPY_2D_ASYNC,
        destination,
        source,
        width,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          if (width == 0 || height == 0) {
            return captureCode(stream);
          }
          if (width < 0
              || height < 0
              || destinationPitch < width
              || sourcePitch < width
              || destinationPitch > Attribute.MAX_PITCH_BYTES
              || sourcePitch > Attribute.MAX_PITCH_BYTES) {
            return Codes.INVALID_VALUE;
          }
          int device = context.device;
          int to = classify(device, destination, destinationPitch * (height - 1) + width, true);
          int from = classify(device, source, sourcePitch * (height - 1) + width, false);
          if (to == INVALID || from == INVALID) {
            return Codes.INVALID_VALUE;
          }
          boolean pageable = to == PAGEABLE || from == PAGEABLE;
          long[] rows = new long[Math.toIntExact(Math.multiplyExact(height, 3L))];
          for (int row = 0; row < height; row++) {
            rows[3 * row] = destination + row * destinationPitch;
            rows[3 * row + 1] = source + row * sourcePitch;
            rows[3 * row + 2] = width;
          }
          HostChecks checks = pageable ? HostChecks.NONE : HostChecks.STILL_PINNED;
          int code =
              enqueue(
                  stream,
                  Operation.MEMCPY_2D_ASYNC,
                  new Rows(stream, rows, linkDirection(to, from), checks));
          if (code == Codes.SUCCESS && pageable && stream.capture == null) {
            awaitTicket(stream, stream.submitted);
            code = stream.context.lostCode;
          }
          return code;
        });
  }

  /** Sources are read in stream order. */
  public static final int SOURCE_ORDER_STREAM = 1;

  /** Sources are read before the call returns. */
  public static final int SOURCE_ORDER_DURING_CALL = 2;

  /** Sources are read at any time. */
  public static final int SOURCE_ORDER_ANY = 3;

  /**
   * {@code cuMemcpyBatchAsync} in either form, {@code hipMemcpyBatchAsync}.
   *
   * @param rows the copies; the columns are read during the call
   * @param from the first row
   * @param to one behind the last row
   * @param sourceOrders the source order of each attribute; none where no attribute is passed
   * @param flags the flags of each attribute
   * @param firstRows the row, counted from {@code from}, where each attribute begins
   * @param failedRow where not null: the row at fault counted from {@code from}, or all ones
   * @param handle the stream
   * @return the code
   */
  public int memcpyBatchAsync(
      CopyTable rows,
      long from,
      long to,
      int[] sourceOrders,
      int[] flags,
      long[] firstRows,
      long @Nullable [] failedRow,
      long handle) {
    int code = admit(Operation.MEMCPY_BATCH_ASYNC);
    lock.lock();
    try {
      ThreadState thread = carriers.current();
      code = code == Codes.SUCCESS ? contextCode(thread) : code;
      if (code == Codes.SUCCESS) {
        code =
            batch(
                thread,
                contextOf(thread),
                rows,
                from,
                to,
                sourceOrders,
                flags,
                firstRows,
                failedRow,
                handle);
      } else if (failedRow != null) {
        failedRow[0] = -1;
      }
      ledger.write(Operation.MEMCPY_BATCH_ASYNC, to - from, sourceOrders.length, handle, code);
    } finally {
      lock.unlock();
    }
    return remember(code);
  }

  private int batch(
      ThreadState thread,
      Context context,
      CopyTable rows,
      long from,
      long to,
      int[] sourceOrders,
      int[] flags,
      long[] firstRows,
      long @Nullable [] failedRow,
      long handle) {
    if (failedRow != null) {
      failedRow[0] = -1;
    }
    Personality.Copies rules = personality.copies();
    if (!rules.batch().present()) {
      return Codes.NOT_SUPPORTED;
    }
    if (rules.batch() == Personality.Batch.HIP_REFUSES_ATTRIBUTES && sourceOrders.length > 0) {
      return Codes.NOT_SUPPORTED;
    }
    long count = to - from;
    if (count <= 0) {
      return Codes.INVALID_VALUE;
    }
    if (rules.batch().cudaRules()) {
      if (handle == Stream.NULL || handle == Stream.LEGACY) {
        return Codes.INVALID_VALUE;
      }
      int code = attributesCode(sourceOrders, flags, firstRows, count);
      if (code != Codes.SUCCESS) {
        return code;
      }
    }
    Stream stream = stream(thread, context, handle);
    if (stream == null) {
      return Codes.INVALID_HANDLE;
    }
    long[] copied = new long[Math.toIntExact(Math.multiplyExact(count, 3L))];
    boolean pageable = false;
    boolean hostPointer = false;
    int direction = LINK_TO_DEVICE;
    for (int row = 0; row < count; row++) {
      long destination = rows.destination(from + row);
      long source = rows.source(from + row);
      long bytes = rows.bytes(from + row);
      int end = bytes <= 0 ? INVALID : classify(context.device, destination, bytes, true);
      int start = bytes <= 0 ? INVALID : classify(context.device, source, bytes, false);
      if (end == INVALID || start == INVALID) {
        if (failedRow != null) {
          failedRow[0] = row;
        }
        return Codes.INVALID_VALUE;
      }
      pageable |= end == PAGEABLE || start == PAGEABLE;
      hostPointer |=
          (end == PINNED && !Addresses.isAlias(destination))
              || (start == PINNED && !Addresses.isAlias(source));
      direction = linkDirection(end, start);
      copied[3 * row] = destination;
      copied[3 * row + 1] = source;
      copied[3 * row + 2] = bytes;
    }
    boolean faults =
        (rules.batchRowsFault() > 0 && count > rules.batchRowsFault())
            || (hostPointer
                && rules.hostPointers() == Personality.HostPointers.DEVICE_ADDRESS_NEEDED);
    HostChecks checks = pageable ? HostChecks.NONE : HostChecks.STILL_PINNED;
    Work.Body body =
        faults
            ? () -> Codes.ILLEGAL_ADDRESS
            : new Rows(stream, copied, direction, checks).inAnyOrder();
    int code = enqueue(stream, Operation.MEMCPY_BATCH_ASYNC, body);
    boolean readNow =
        (sourceOrders.length > 0 && sourceOrders[0] == SOURCE_ORDER_DURING_CALL) || pageable;
    if (code == Codes.SUCCESS && readNow && stream.capture == null) {
      awaitTicket(stream, stream.submitted);
      code = stream.context.lostCode;
    }
    return code;
  }

  private static int attributesCode(int[] sourceOrders, int[] flags, long[] firstRows, long count) {
    if (sourceOrders.length == 0 || sourceOrders.length > count) {
      return Codes.INVALID_VALUE;
    }
    for (int i = 0; i < sourceOrders.length; i++) {
      boolean order = sourceOrders[i] >= SOURCE_ORDER_STREAM && sourceOrders[i] <= SOURCE_ORDER_ANY;
      boolean begins = i == 0 ? firstRows[0] == 0 : firstRows[i] > firstRows[i - 1];
      if (!order || !begins || firstRows[i] >= count || (flags[i] & ~1) != 0) {
        return Codes.INVALID_VALUE;
      }
    }
    return Codes.SUCCESS;
  }

  /**
   * {@code cuMemsetD8Async}.
   *
   * @param address first byte
   * @param value the byte
   * @param bytes how many
   * @param handle the stream
   * @return the code
   */
  public int memsetD8Async(long address, byte value, long bytes, long handle) {
    return callIn(
        Operation.MEMSET_ASYNC,
        address,
        value,
        bytes,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          if (bytes == 0) {
            return captureCode(stream);
          }
          int device = context.device;
          int kind = bytes < 0 ? INVALID : classify(device, address, bytes, true);
          if (kind != DEVICE && kind != PINNED) {
            return Codes.INVALID_VALUE;
          }
          return enqueue(stream, Operation.MEMSET_ASYNC, () -> fill(device, address, bytes, value));
        });
  }

  /**
   * The copy kernel, launched by {@code cuLaunchKernel}: reads its rows from three columns on the
   * device's side when it runs, not when it is launched.
   *
   * @param columns the first column (destinations) as the device sees it
   * @param capacity rows from one column to the next (then sources, then byte counts)
   * @param from the first row
   * @param to one behind the last row
   * @param threadBlocks how many, positive
   * @param handle the stream
   * @return the code
   */
  public int launchCopyKernel(
      long columns, long capacity, long from, long to, int threadBlocks, long handle) {
    return callIn(
        Operation.LAUNCH_COPY_KERNEL,
        columns,
        to - from,
        threadBlocks,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          if (threadBlocks < 1 || to < from || from < 0 || to > capacity) {
            return Codes.INVALID_VALUE;
          }
          return enqueue(
              stream,
              Operation.LAUNCH_COPY_KERNEL,
              () -> runCopyKernel(context, columns, capacity, from, to));
        });
  }

  private int runCopyKernel(Context context, long columns, long capacity, long from, long to) {
    for (long row = from; row < to; row++) {
      long destinations = kernelHost(context, columns + row * Long.BYTES, Long.BYTES);
      long sources = kernelHost(context, columns + (capacity + row) * Long.BYTES, Long.BYTES);
      long counts = kernelHost(context, columns + (2 * capacity + row) * Long.BYTES, Long.BYTES);
      if (destinations < 0 || sources < 0 || counts < 0) {
        return Codes.ILLEGAL_ADDRESS;
      }
      long bytes = word(counts);
      if (bytes == 0) {
        continue;
      }
      long destination = kernelAddress(context, word(destinations), bytes);
      long source = kernelAddress(context, word(sources), bytes);
      if (destination < 0 || source < 0) {
        return Codes.ILLEGAL_ADDRESS;
      }
      int code = move(context.device, destination, source, bytes, HostChecks.NONE);
      if (code != Codes.SUCCESS) {
        return code;
      }
    }
    return Codes.SUCCESS;
  }

  private static long word(long hostAddress) {
    return PhysicalMemory.HOST.get(ValueLayout.JAVA_LONG_UNALIGNED, hostAddress);
  }

  /** What a kernel may use under an address: the address itself, or the host's behind it; or -1. */
  private long kernelAddress(Context context, long address, long bytes) {
    return Addresses.isDevice(address) ? address : kernelHost(context, address, bytes);
  }

  private long kernelHost(Context context, long address, long bytes) {
    lock.lock();
    try {
      boolean alias = Addresses.isAlias(address);
      Registration there = alias ? pins.atAlias(address) : pins.at(address);
      boolean coherent = personality.registration().pinModel() == Personality.PinModel.COHERENT;
      if (there == null) {
        return coherent && !alias && address >= Addresses.LOWEST_HOST ? address : -1;
      }
      boolean wrongForm =
          alias
              ? Addresses.aliasDevice(address) != context.device
              : there.aliasOffset >= 0
                  || personality.copies().hostPointers()
                      == Personality.HostPointers.DEVICE_ADDRESS_NEEDED;
      boolean unknown = cuda && !there.portable() && there.context != context;
      long host = alias ? pins.hostAddress(there, address) : address;
      return wrongForm || unknown || host + bytes > there.end() ? -1 : host;
    } finally {
      lock.unlock();
    }
  }

  /** What is looked at again when a copy runs. */
  private enum HostChecks {
    /** Nothing. */
    NONE,
    /** That host ranges are still pinned. */
    STILL_PINNED
  }

  /** Copies of one call. */
  private final class Rows implements Work.Body {
    private final Stream stream;
    private final long[] rows;
    private final int direction;
    private final HostChecks checks;
    private boolean anyOrder;

    Rows(Stream stream, long[] rows, int direction, HostChecks checks) {
      this.stream = stream;
      this.rows = rows;
      this.direction = direction;
      this.checks = checks;
    }

    /** A batch promises no order among its rows, so that the last one goes first here. */
    Rows inAnyOrder() {
      anyOrder = true;
      return this;
    }

    @Override
    public int run() {
      int count = rows.length / 3;
      for (int i = 0; i < count; i++) {
        int row = 3 * (anyOrder ? count - 1 - i : i);
        int code = move(stream.context.device, rows[row], rows[row + 1], rows[row + 2], checks);
        if (code != Codes.SUCCESS) {
          return code;
        }
      }
      return Codes.SUCCESS;
    }

    @Override
    public long linkBytes() {
      long bytes = 0;
      for (int i = 2; i < rows.length; i += 3) {
        bytes += rows[i];
      }
      return bytes;
    }

    @Override
    public int linkDirection() {
      return direction;
    }
  }

  /** Moves bytes now, without the lock; 0, or 700 where something is not there any more. */
  private int move(int device, long destination, long source, long bytes, HostChecks checks) {
    long done = 0;
    while (done < bytes) {
      long to = destination + done;
      long from = source + done;
      long run = bytes - done;
      PhysicalMemory target = null;
      PhysicalMemory origin = null;
      long targetAt = 0;
      long originAt = 0;
      lock.lock();
      try {
        if (Addresses.isDevice(to)) {
          Backed there = space.at(to);
          if (there == null || (there.writers >>> device & 1) == 0) {
            return Codes.ILLEGAL_ADDRESS;
          }
          run = Math.min(run, there.end() - to);
          target = there.memory;
          targetAt = to - there.address;
        } else {
          targetAt = hostNow(to, bytes - done, checks);
        }
        if (Addresses.isDevice(from)) {
          Backed there = space.at(from);
          if (there == null || (there.readers >>> device & 1) == 0) {
            return Codes.ILLEGAL_ADDRESS;
          }
          run = Math.min(run, there.end() - from);
          origin = there.memory;
          originAt = from - there.address;
        } else {
          originAt = hostNow(from, bytes - done, checks);
        }
        if (targetAt < 0 || originAt < 0) {
          return Codes.ILLEGAL_ADDRESS;
        }
        if (target != null) {
          target.references++;
        }
        if (origin != null) {
          origin.references++;
        }
      } finally {
        lock.unlock();
      }
      int code;
      try {
        code = moveNow(target, targetAt, origin, originAt, run);
      } finally {
        lock.lock();
        try {
          if (target != null) {
            space.drop(target);
          }
          if (origin != null) {
            space.drop(origin);
          }
        } finally {
          lock.unlock();
        }
      }
      if (code != Codes.SUCCESS) {
        return code;
      }
      done += run;
    }
    return Codes.SUCCESS;
  }

  private long hostNow(long address, long bytes, HostChecks checks) {
    boolean alias = Addresses.isAlias(address);
    Registration there = alias ? pins.atAlias(address) : pins.at(address);
    if (there == null) {
      return checks == HostChecks.NONE && !alias ? address : -1;
    }
    long host = alias ? pins.hostAddress(there, address) : address;
    return checks == HostChecks.NONE || host + bytes <= there.end() ? host : -1;
  }

  private int moveNow(
      @Nullable PhysicalMemory target,
      long targetAt,
      @Nullable PhysicalMemory origin,
      long originAt,
      long bytes) {
    if ((target == null && !setup.host().touch(targetAt, bytes))
        || (origin == null && !setup.host().touch(originAt, bytes))) {
      return Codes.ILLEGAL_ADDRESS;
    }
    if (target != null && origin != null) {
      PhysicalMemory.copy(origin, originAt, target, targetAt, bytes);
    } else if (target != null) {
      target.write(targetAt, originAt, bytes);
    } else if (origin != null) {
      origin.read(originAt, targetAt, bytes);
    } else {
      MemorySegment.copy(PhysicalMemory.HOST, originAt, PhysicalMemory.HOST, targetAt, bytes);
    }
    return Codes.SUCCESS;
  }

  private int fill(int device, long address, long bytes, byte value) {
    long done = 0;
    while (done < bytes) {
      long at = address + done;
      if (!Addresses.isDevice(at)) {
        long host;
        lock.lock();
        try {
          host = hostNow(at, bytes, HostChecks.STILL_PINNED);
        } finally {
          lock.unlock();
        }
        if (host < 0 || !setup.host().touch(host, bytes)) {
          return Codes.ILLEGAL_ADDRESS;
        }
        PhysicalMemory.HOST.asSlice(host, bytes).fill(value);
        return Codes.SUCCESS;
      }
      PhysicalMemory memory;
      long offset;
      long run;
      lock.lock();
      try {
        Backed there = space.at(at);
        if (there == null || (there.writers >>> device & 1) == 0) {
          return Codes.ILLEGAL_ADDRESS;
        }
        memory = there.memory;
        offset = at - there.address;
        run = Math.min(bytes - done, there.end() - at);
        memory.references++;
      } finally {
        lock.unlock();
      }
      try {
        memory.fill(offset, run, value);
      } finally {
        lock.lock();
        try {
          space.drop(memory);
        } finally {
          lock.unlock();
        }
      }
      done += run;
    }
    return Codes.SUCCESS;
  }

  // ---- streams

  /** The stream of a handle as the calling thread means it, or null. */
  private @Nullable Stream stream(ThreadState thread, Context context, long handle) {
    if (handle == Stream.NULL || handle == Stream.LEGACY) {
      return context.legacy;
    }
    if (handle == Stream.PER_THREAD) {
      return thread.perThread.computeIfAbsent(
          context,
          one -> {
            Stream made = new Stream(Stream.PER_THREAD, one, Stream.Kind.BLOCKING, 0);
            one.streams.add(made);
            return made;
          });
    }
    return streams.get(handle);
  }

  /**
   * {@code cuStreamCreateWithPriority}.
   *
   * @param out the stream
   * @param flags 0, or 1 for one that does not wait for the legacy default stream
   * @param priority clamped
   * @return the code
   */
  public int streamCreate(long[] out, int flags, int priority) {
    return callIn(
        Operation.STREAM_CREATE,
        flags,
        priority,
        0,
        (thread, context) -> {
          if ((flags & ~1) != 0) {
            return Codes.INVALID_VALUE;
          }
          Stream made =
              new Stream(
                  FIRST_STREAM + nextHandle++ * 16,
                  context,
                  flags == 0 ? Stream.Kind.BLOCKING : Stream.Kind.NON_BLOCKING,
                  Math.clamp(priority, cuda ? -5 : -1, 0));
          streams.put(made.handle, made);
          context.streams.add(made);
          out[0] = made.handle;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuStreamDestroy}: returns at once, work goes on.
   *
   * @param handle the stream
   * @return the code
   */
  public int streamDestroy(long handle) {
    return callIn(
        Operation.STREAM_DESTROY,
        handle,
        0,
        0,
        (thread, context) -> {
          Stream gone = streams.remove(handle);
          if (gone == null) {
            return Codes.INVALID_HANDLE;
          }
          gone.destroyed = true;
          Capture capture = gone.capture;
          if (capture != null) {
            gone.capture = null;
            capture.joined.remove(gone);
            if (capture.origin == gone) {
              capture.invalidated = true;
              endCapture(capture);
            }
          }
          if (gone.idle()) {
            gone.context.streams.remove(gone);
          }
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuStreamQuery}.
   *
   * @param handle the stream
   * @return the code; 600 while there is work
   */
  public int streamQuery(long handle) {
    return callIn(
        Operation.STREAM_QUERY,
        handle,
        0,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          int code = capturedOrUnsafe(thread, stream);
          if (code != Codes.SUCCESS) {
            return code;
          }
          scheduler.asked();
          return stream.context.lostCode != 0
              ? stream.context.lostCode
              : stream.idle() ? Codes.SUCCESS : Codes.NOT_READY;
        });
  }

  private int capturedOrUnsafe(ThreadState thread, Stream stream) {
    if (stream.capture != null) {
      return breakCapture(stream.capture, Codes.STREAM_CAPTURE_UNSUPPORTED);
    }
    if (stream.kind == Stream.Kind.LEGACY) {
      Capture beside = capturedBeside(stream);
      if (beside != null) {
        return breakCapture(beside, Codes.STREAM_CAPTURE_IMPLICIT);
      }
    }
    return unsafe(thread);
  }

  /**
   * {@code cuStreamSynchronize}. Blocks.
   *
   * @param handle the stream
   * @return the code
   */
  public int streamSynchronize(long handle) {
    return callIn(
        Operation.STREAM_SYNCHRONIZE,
        handle,
        0,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          int code = capturedOrUnsafe(thread, stream);
          if (code != Codes.SUCCESS) {
            return code;
          }
          awaitTicket(stream, stream.submitted);
          return closed ? Codes.DEINITIALIZED : stream.context.lostCode;
        });
  }

  /**
   * {@code cuStreamWaitEvent}.
   *
   * @param handle who waits
   * @param event for what; one that was never recorded is no wait at all
   * @return the code
   */
  public int streamWaitEvent(long handle, long event) {
    int code = admit(Operation.STREAM_WAIT_EVENT);
    lock.lock();
    try {
      ThreadState thread = carriers.current();
      code = code == Codes.SUCCESS ? contextCode(thread) : code;
      if (code == Codes.SUCCESS) {
        Stream stream = stream(thread, contextOf(thread), handle);
        Event wanted = events.get(event);
        code = stream == null || wanted == null ? Codes.INVALID_HANDLE : waitOn(stream, wanted);
      }
      ledger.write(Operation.STREAM_WAIT_EVENT, handle, event, 0, code);
    } finally {
      lock.unlock();
    }
    return remember(code);
  }

  private int waitOn(Stream stream, Event event) {
    Capture theirs = event.capture;
    Capture mine = stream.capture;
    if (theirs != null) {
      if (theirs.ended) {
        return Codes.CAPTURED_EVENT;
      }
      if (theirs.invalidated) {
        return Codes.STREAM_CAPTURE_INVALIDATED;
      }
      if (mine == null) {
        if (stream.kind == Stream.Kind.LEGACY) {
          return breakCapture(theirs, Codes.STREAM_CAPTURE_IMPLICIT);
        }
        stream.capture = theirs;
        stream.capturedNodes = 0;
        theirs.joined.add(stream);
        return Codes.SUCCESS;
      }
      if (mine != theirs) {
        mine.invalidated = true;
        return breakCapture(theirs, Codes.STREAM_CAPTURE_ISOLATION);
      }
      if (event.stream != null && stream == theirs.origin) {
        event.stream.capturedNodes = 0; // joined back
      }
      return Codes.SUCCESS;
    }
    if (event.stream == null) {
      return Codes.SUCCESS;
    }
    if (mine != null) {
      return mine.invalidated
          ? Codes.STREAM_CAPTURE_INVALIDATED
          : breakCapture(mine, Codes.STREAM_CAPTURE_ISOLATION);
    }
    if (event.passed()) {
      return Codes.SUCCESS;
    }
    return enqueue(
        stream,
        new Work(
            Operation.STREAM_WAIT_EVENT,
            () -> Codes.SUCCESS,
            new Work.Dependency(event.stream, event.ticket, null),
            null));
  }

  /**
   * {@code cuStreamGetCtx}: the default handles belong to whichever context is current.
   *
   * @param handle the stream
   * @param out the context
   * @return the code
   */
  public int streamGetCtx(long handle, long[] out) {
    return callIn(
        Operation.STREAM_GET_CTX,
        handle,
        0,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          out[0] = stream.context.handle;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code hipStreamGetDevice}: the default handles belong to the current device.
   *
   * @param handle the stream
   * @param out the device
   * @return the code
   */
  public int streamGetDevice(long handle, long[] out) {
    return callIn(
        Operation.STREAM_GET_CTX,
        handle,
        0,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          out[0] = stream.context.device;
          return Codes.SUCCESS;
        });
  }

  /**
   * Work that does not end until a test lets it: an engine's kernel that takes its time.
   *
   * @param handle the stream, of the calling thread's context
   * @return the blocker
   * @throws IllegalArgumentException where there is no such stream
   */
  public Blocker block(long handle) {
    lock.lock();
    try {
      ThreadState thread = carriers.current();
      Stream stream =
          contextCode(thread) == Codes.SUCCESS
              ? stream(thread, contextOf(thread), handle)
              : streams.get(handle);
      if (stream == null) {
        throw new IllegalArgumentException("no stream 0x" + Long.toHexString(handle));
      }
      Blocker blocker = new Blocker(this, stream);
      enqueue(stream, new Work(Operation.LAUNCH_HOST_FUNC, () -> Codes.SUCCESS, null, blocker));
      return blocker;
    } finally {
      lock.unlock();
    }
  }

  void release(Blocker blocker) {
    lock.lock();
    try {
      if (!blocker.released) {
        blocker.released = true;
        scheduler.kick(blocker.stream);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * {@code cuLaunchHostFunc}: the function runs on a thread of the driver's, in stream order.
   *
   * @param handle the stream
   * @param function what runs; it must not call the driver
   * @return the code
   */
  public int launchHostFunc(long handle, Runnable function) {
    return callIn(
        Operation.LAUNCH_HOST_FUNC,
        handle,
        0,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          return enqueue(
              stream,
              Operation.LAUNCH_HOST_FUNC,
              () -> {
                function.run();
                return Codes.SUCCESS;
              });
        });
  }

  /**
   * Work of a given length on the machine's clock: an engine's kernel.
   *
   * @param handle the stream
   * @param nanos how long
   * @return the code
   */
  public int launchDelay(long handle, long nanos) {
    return callIn(
        Operation.LAUNCH_HOST_FUNC,
        handle,
        nanos,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          return enqueue(
              stream,
              Operation.LAUNCH_HOST_FUNC,
              new Work.Body() {
                @Override
                public int run() {
                  return Codes.SUCCESS;
                }

                @Override
                public long nanos() {
                  return nanos;
                }
              });
        });
  }

  // ---- events

  /**
   * {@code cuEventCreate}.
   *
   * @param out the event
   * @param flags 1 blocking, 2 without a clock, 4 for other processes and then only with 2
   * @return the code
   */
  public int eventCreate(long[] out, int flags) {
    return callIn(
        Operation.EVENT_CREATE,
        flags,
        0,
        0,
        (thread, context) -> {
          int used = cuda ? flags : flags & 7;
          if ((used & ~7) != 0 || (used & 6) == 4) {
            return Codes.INVALID_VALUE;
          }
          Event made = new Event(FIRST_EVENT + nextHandle++ * 16, context, (used & 2) == 0);
          events.put(made.handle, made);
          out[0] = made.handle;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuEventDestroy}.
   *
   * @param handle the event
   * @return the code
   */
  public int eventDestroy(long handle) {
    return callIn(
        Operation.EVENT_DESTROY,
        handle,
        0,
        0,
        (thread, context) -> events.remove(handle) == null ? Codes.INVALID_HANDLE : Codes.SUCCESS);
  }

  /**
   * {@code cuEventRecord}.
   *
   * @param handle the event
   * @param streamHandle a stream of the event's own context; any of its device with HIP
   * @return the code
   */
  public int eventRecord(long handle, long streamHandle) {
    int code = admit(Operation.EVENT_RECORD);
    lock.lock();
    try {
      ThreadState thread = carriers.current();
      code = code == Codes.SUCCESS ? contextCode(thread) : code;
      if (code == Codes.SUCCESS) {
        Event event = events.get(handle);
        Stream stream = stream(thread, contextOf(thread), streamHandle);
        code =
            event == null || stream == null || event.context != stream.context
                ? Codes.INVALID_HANDLE
                : recordOn(event, stream);
      }
      ledger.write(Operation.EVENT_RECORD, handle, streamHandle, 0, code);
    } finally {
      lock.unlock();
    }
    return remember(code);
  }

  private int recordOn(Event event, Stream stream) {
    if (stream.capture != null) {
      if (stream.capture.invalidated) {
        return Codes.STREAM_CAPTURE_INVALIDATED;
      }
      event.capture = stream.capture;
      event.stream = stream;
      return Codes.SUCCESS;
    }
    RecordEvent body = new RecordEvent(event);
    int code = enqueue(stream, Operation.EVENT_RECORD, body);
    if (code == Codes.SUCCESS) {
      event.capture = null;
      event.stream = stream;
      event.ticket = stream.submitted;
      body.ticket = event.ticket;
    }
    return code;
  }

  /** Reads the clock for an event, unless it was recorded anew meanwhile. */
  private final class RecordEvent implements Work.Body {
    private final Event event;
    private long ticket;

    RecordEvent(Event event) {
      this.event = event;
    }

    @Override
    public int run() {
      long now = clock.nanoTime();
      lock.lock();
      try {
        if (event.ticket == ticket) {
          event.passedNanos = now;
        }
      } finally {
        lock.unlock();
      }
      return Codes.SUCCESS;
    }
  }

  /**
   * {@code cuEventQuery}.
   *
   * @param handle the event
   * @return the code; 600 before it has passed, 0 where it was never recorded
   */
  public int eventQuery(long handle) {
    int code = admit(Operation.EVENT_QUERY);
    lock.lock();
    try {
      ThreadState thread = carriers.current();
      code = code == Codes.SUCCESS ? contextCode(thread) : code;
      if (code == Codes.SUCCESS) {
        Event event = events.get(handle);
        code = event == null ? Codes.INVALID_HANDLE : eventCode(thread, event);
        if (code == Codes.SUCCESS) {
          scheduler.asked();
          int lost = event == null ? 0 : event.context.lostCode;
          code = lost != 0 ? lost : event == null || event.passed() ? 0 : Codes.NOT_READY;
        }
      }
      ledger.write(Operation.EVENT_QUERY, handle, 0, 0, code);
    } finally {
      lock.unlock();
    }
    return remember(code);
  }

  private int eventCode(ThreadState thread, Event event) {
    if (event.capture != null) {
      return event.capture.ended
          ? Codes.CAPTURED_EVENT
          : breakCapture(event.capture, Codes.CAPTURED_EVENT);
    }
    return unsafe(thread);
  }

  /**
   * {@code cuEventSynchronize}. Blocks.
   *
   * @param handle the event
   * @return the code
   */
  public int eventSynchronize(long handle) {
    return callIn(
        Operation.EVENT_SYNCHRONIZE,
        handle,
        0,
        0,
        (thread, context) -> {
          Event event = events.get(handle);
          if (event == null) {
            return Codes.INVALID_HANDLE;
          }
          int code = eventCode(thread, event);
          if (code != Codes.SUCCESS) {
            return code;
          }
          Stream stream = event.stream;
          if (stream != null) {
            awaitTicket(stream, event.ticket);
          }
          return closed ? Codes.DEINITIALIZED : event.context.lostCode;
        });
  }

  /**
   * {@code cuEventElapsedTime}, in nanoseconds.
   *
   * @param out the time between
   * @param start a timed event
   * @param end a timed event
   * @return the code; 400 without a clock or a record, 600 while one has not passed
   */
  public int eventElapsedNanos(long[] out, long start, long end) {
    return callIn(
        Operation.EVENT_ELAPSED_TIME,
        start,
        end,
        0,
        (thread, context) -> {
          Event first = events.get(start);
          Event last = events.get(end);
          if (first == null || last == null || !first.timed || !last.timed) {
            return Codes.INVALID_HANDLE;
          }
          if (first.capture != null || last.capture != null) {
            return Codes.CAPTURED_EVENT;
          }
          if (first.stream == null || last.stream == null) {
            return Codes.INVALID_HANDLE;
          }
          if (!first.passed() || !last.passed()) {
            return Codes.NOT_READY;
          }
          out[0] = last.passedNanos - first.passedNanos;
          return Codes.SUCCESS;
        });
  }

  // ---- virtual memory

  private int callVmm(Operation operation, long a, long b, long c, IntSupplier effect) {
    boolean alone = virtualMemoryCalls.getAndIncrement() == 0;
    try {
      return call(
          operation,
          a,
          b,
          c,
          () -> {
            int code = cuda ? Codes.SUCCESS : contextCode(carriers.current());
            if (code == Codes.SUCCESS && !alone && personality.vmm().lock() == Concurrency.RACES) {
              code = Codes.INVALID_VALUE;
            }
            return code == Codes.SUCCESS ? effect.getAsInt() : code;
          });
    } finally {
      virtualMemoryCalls.getAndDecrement();
    }
  }

  /**
   * {@code cuMemGetAllocationGranularity}; every form and option has the same.
   *
   * @param out bytes
   * @param locationType 1 for a device
   * @param locationId which
   * @return the code
   */
  public int memGetAllocationGranularity(long[] out, int locationType, int locationId) {
    return callVmm(
        Operation.VMM_GRANULARITY,
        locationType,
        locationId,
        0,
        () -> {
          if (personality.vmm().level() != Personality.Level.WORKS) {
            return Codes.NOT_SUPPORTED;
          }
          if (locationType == DeviceSpace.LOCATION_DEVICE
              && (locationId < 0 || locationId >= primaries.length)) {
            return Codes.INVALID_DEVICE;
          }
          out[0] = personality.vmm().granuleBytes();
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuMemAddressReserve}.
   *
   * @param out the address; HIP up to 6.0 answers 0 and leaves it untouched
   * @param bytes a multiple of the granule
   * @param alignment a power of two, or 0
   * @param hint where best
   * @param flags must be 0
   * @return the code
   */
  public int memAddressReserve(long[] out, long bytes, long alignment, long hint, long flags) {
    return callVmm(
        Operation.VMM_RESERVE,
        bytes,
        alignment,
        hint,
        () -> {
          if (personality.vmm().level() == Personality.Level.HOLLOW) {
            return Codes.SUCCESS;
          }
          return answer(out, space.reserve(bytes, alignment, hint, flags));
        });
  }

  /**
   * {@code cuMemAddressFree}.
   *
   * @param address of a reservation
   * @param bytes its size
   * @return the code
   */
  public int memAddressFree(long address, long bytes) {
    return callVmm(
        Operation.VMM_ADDRESS_FREE, address, bytes, 0, () -> space.addressFree(address, bytes));
  }

  /**
   * {@code cuMemCreate}.
   *
   * @param out the handle
   * @param bytes a multiple of the granule
   * @param allocationType 1, pinned
   * @param handleTypes 1 for a descriptor, 8 for the fabric
   * @param locationType 1 device, 2 host, 3 a host node
   * @param locationId which
   * @param rdma 1 where network cards shall read it
   * @return the code
   */
  public int memCreate(
      long[] out,
      long bytes,
      int allocationType,
      int handleTypes,
      int locationType,
      int locationId,
      int rdma) {
    return callVmm(
        Operation.VMM_CREATE,
        bytes,
        handleTypes,
        locationId,
        () ->
            answer(
                out,
                space.create(
                    bytes, allocationType, handleTypes, locationType, locationId, rdma != 0)));
  }

  /**
   * {@code cuMemRelease}.
   *
   * @param handle the allocation
   * @return the code
   */
  public int memRelease(long handle) {
    return callVmm(Operation.VMM_RELEASE, handle, 0, 0, () -> space.release(handle));
  }

  /**
   * {@code cuMemMap}.
   *
   * @param address inside a reservation
   * @param bytes the allocation's size
   * @param offset must be 0
   * @param handle the allocation
   * @param flags must be 0
   * @return the code
   */
  public int memMap(long address, long bytes, long offset, long handle, long flags) {
    return callVmm(
        Operation.VMM_MAP,
        address,
        bytes,
        handle,
        () -> space.map(address, bytes, offset, handle, flags));
  }

  /**
   * {@code cuMemUnmap}.
   *
   * @param address whole mappings
   * @param bytes whole mappings
   * @return the code
   */
  public int memUnmap(long address, long bytes) {
    return callVmm(Operation.VMM_UNMAP, address, bytes, 0, () -> space.unmap(address, bytes));
  }

  /**
   * {@code cuMemSetAccess} with one descriptor.
   *
   * @param address whole mappings
   * @param bytes whole mappings
   * @param locationType 1 device, 2 host, 3 a host node
   * @param locationId which
   * @param flags 0 none, 1 read, 3 read and write
   * @return the code
   */
  public int memSetAccess(long address, long bytes, int locationType, int locationId, int flags) {
    return callVmm(
        Operation.VMM_SET_ACCESS,
        address,
        bytes,
        locationId,
        () -> space.setAccess(address, bytes, locationType, locationId, flags));
  }

  /**
   * {@code cuMemGetAccess}.
   *
   * @param out the flags
   * @param locationType 1 device
   * @param locationId which
   * @param address mapped
   * @return the code
   */
  public int memGetAccess(long[] out, int locationType, int locationId, long address) {
    return callVmm(
        Operation.VMM_GET_ACCESS,
        address,
        locationId,
        0,
        () -> answer(out, space.getAccess(address, locationType, locationId)));
  }

  /**
   * {@code cuMemExportToShareableHandle} to a descriptor; its number is the simulator's own, and
   * {@link #closeDescriptor} closes it.
   *
   * @param out the descriptor
   * @param handle the allocation
   * @return the code
   */
  public int memExportToDescriptor(long[] out, long handle) {
    return callVmm(
        Operation.VMM_EXPORT,
        handle,
        DeviceSpace.POSIX_FD,
        0,
        () ->
            personality.vmm().posixFd()
                ? answer(out, space.exportDescriptor(handle))
                : Codes.NOT_SUPPORTED);
  }

  /**
   * {@code cuMemExportToShareableHandle} to a fabric handle.
   *
   * @param words eight words of eight bytes
   * @param handle the allocation
   * @return the code
   */
  public int memExportToFabric(long[] words, long handle) {
    return callVmm(
        Operation.VMM_EXPORT,
        handle,
        DeviceSpace.FABRIC,
        0,
        () -> space.exportFabric(handle, words));
  }

  /**
   * {@code cuMemImportFromShareableHandle} from a descriptor, which stays open.
   *
   * @param out the handle
   * @param descriptor of {@link #memExportToDescriptor}
   * @return the code
   */
  public int memImportFromDescriptor(long[] out, int descriptor) {
    return callVmm(
        Operation.VMM_IMPORT,
        descriptor,
        DeviceSpace.POSIX_FD,
        0,
        () ->
            personality.vmm().posixFd()
                ? answer(out, space.importDescriptor(descriptor))
                : Codes.NOT_SUPPORTED);
  }

  /**
   * {@code cuMemImportFromShareableHandle} from a fabric handle.
   *
   * @param out the handle
   * @param words eight words of eight bytes
   * @return the code
   */
  public int memImportFromFabric(long[] out, long[] words) {
    return callVmm(
        Operation.VMM_IMPORT,
        words[0],
        DeviceSpace.FABRIC,
        0,
        () -> answer(out, space.importFabric(words[0])));
  }

  /**
   * {@code cuMemRetainAllocationHandle}.
   *
   * @param out the handle
   * @param address mapped
   * @return the code
   */
  public int memRetainAllocationHandle(long[] out, long address) {
    return callVmm(Operation.VMM_RETAIN, address, 0, 0, () -> answer(out, space.retain(address)));
  }

  /**
   * {@code cuMemGetAllocationPropertiesFromHandle}.
   *
   * @param out type, handle types, location type, location, RDMA
   * @param handle the allocation
   * @return the code
   */
  public int memGetAllocationProperties(long[] out, long handle) {
    return callVmm(
        Operation.VMM_GET_PROPERTIES,
        handle,
        0,
        0,
        () -> {
          Physical there = space.physical(handle);
          if (there == null) {
            return Codes.INVALID_VALUE;
          }
          out[0] = 1;
          out[1] = there.handleTypes;
          out[2] = there.locationType;
          out[3] = there.locationId;
          out[4] = there.rdma ? 1 : 0;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuMemGetHandleForAddressRange}: a dma-buf descriptor.
   *
   * @param out the descriptor
   * @param address whole host pages
   * @param bytes whole host pages
   * @return the code
   */
  public int memGetHandleForAddressRange(long[] out, long address, long bytes) {
    return callVmm(
        Operation.VMM_RANGE_HANDLE,
        address,
        bytes,
        0,
        () -> answer(out, space.exportRange(address, bytes, basePageBytes())));
  }

  /**
   * Closes a descriptor that this driver has made, as {@code close} would.
   *
   * @param descriptor the number
   * @return false where it is none of ours, or closed already
   */
  public boolean closeDescriptor(int descriptor) {
    lock.lock();
    try {
      return space.closeDescriptor(descriptor);
    } finally {
      lock.unlock();
    }
  }

  // ---- how work is done; the lock is held but where said otherwise

  /** What a capture has to say about a call on a stream that adds nothing. */
  private static int captureCode(Stream stream) {
    return stream.capture != null && stream.capture.invalidated
        ? Codes.STREAM_CAPTURE_INVALIDATED
        : Codes.SUCCESS;
  }

  private int enqueue(Stream stream, Operation operation, Work.Body body) {
    return enqueue(stream, new Work(operation, body, null, null));
  }

  private int enqueue(Stream stream, Work work) {
    if (stream.capture != null) {
      if (stream.capture.invalidated) {
        return Codes.STREAM_CAPTURE_INVALIDATED;
      }
      stream.capture.nodes.add(work);
      stream.capturedNodes++;
      return Codes.SUCCESS;
    }
    if (stream.kind == Stream.Kind.LEGACY) {
      Capture beside = capturedBeside(stream);
      if (beside != null) {
        return breakCapture(beside, Codes.STREAM_CAPTURE_IMPLICIT);
      }
    }
    orderAgainstLegacy(stream);
    add(stream, work);
    return Codes.SUCCESS;
  }

  private void add(Stream stream, Work work) {
    work.ticket = ++stream.submitted;
    stream.queue.add(work);
    stream.context.streams.add(stream);
    scheduler.kick(stream);
  }

  /** The legacy default stream waits for all blocking streams of its context, and they for it. */
  private void orderAgainstLegacy(Stream stream) {
    Stream legacy = stream.context.legacy;
    if (stream.kind == Stream.Kind.BLOCKING) {
      if (legacy.completed < legacy.submitted && stream.legacySeen < legacy.submitted) {
        stream.legacySeen = legacy.submitted;
        add(stream, waitFor(legacy));
      }
    } else if (stream.kind == Stream.Kind.LEGACY) {
      for (Stream other : List.copyOf(stream.context.streams)) {
        if (other.kind == Stream.Kind.BLOCKING && !other.idle()) {
          add(stream, waitFor(other));
        }
      }
    }
  }

  private static Work waitFor(Stream other) {
    return new Work(
        Operation.STREAM_WAIT_EVENT,
        () -> Codes.SUCCESS,
        new Work.Dependency(other, other.submitted, null),
        null);
  }

  /** The oldest work of a stream if it can be done now, else null; then it is kicked later. */
  @Nullable Work next(Stream stream) {
    Work oldest = stream.queue.peek();
    if (oldest == null) {
      return null;
    }
    if (closed || stream.context.lostCode != 0) {
      return oldest;
    }
    if (oldest.held()) {
      return null;
    }
    Stream before = oldest.waitsFor();
    if (before != null) {
      if (!before.waiters.contains(stream)) {
        before.waiters.add(stream);
      }
      return null;
    }
    return oldest;
  }

  void begin(Stream stream, Work work) {
    stream.queue.remove();
    long bytes = work.body.linkBytes();
    long speed = setup.devices().get(stream.context.device).linkBytesPerSecond();
    if (bytes > 0 && speed > 0) {
      long[] free = linkFreeAt[stream.context.device];
      int direction = work.body.linkDirection();
      long start = Math.max(clock.nanoTime(), free[direction]);
      free[direction] = start + (long) (bytes * 1e9 / speed);
      work.doneAtNanos = free[direction];
    }
  }

  /** Without the lock. */
  int perform(Stream stream, Work work) {
    if (closed || stream.context.lostCode != 0) {
      return Codes.SUCCESS;
    }
    long nanos = work.body.nanos();
    if (work.doneAtNanos != 0) {
      nanos = work.doneAtNanos - clock.nanoTime();
    }
    clock.pause(nanos);
    try {
      return work.body.run();
    } catch (RuntimeException | Error broken) {
      System.getLogger(SimDriver.class.getName())
          .log(System.Logger.Level.ERROR, "simulated device work " + work.operation, broken);
      return Codes.LAUNCH_FAILED;
    }
  }

  void finish(Stream stream, Work work, int code) {
    stream.completed = work.ticket;
    if (code != Codes.SUCCESS) {
      lose(stream.context, code);
    }
    if (stream.destroyed && stream.idle()) {
      stream.context.streams.remove(stream);
    }
    List<Stream> waiters = List.copyOf(stream.waiters);
    stream.waiters.clear();
    waiters.forEach(scheduler::kick);
    lock.announce();
  }

  private void lose(Context context, int code) {
    if (context.lostCode == 0) {
      context.lostCode = code;
      List.copyOf(context.streams).forEach(scheduler::kick);
      lock.announce();
    }
  }

  /**
   * The device is gone: every call on it answers so, queued work is dropped.
   *
   * @param device which
   * @param code the answer from now on
   */
  public void loseDevice(int device, int code) {
    lock.lock();
    try {
      deviceLost[device] = code;
      for (Context context : List.copyOf(contexts.values())) {
        if (context.device == device) {
          lose(context, code);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  private void awaitTicket(Stream stream, long ticket) {
    while (stream.completed < ticket && !closed) {
      scheduler.await();
    }
  }

  // ---- the end

  /**
   * Whether it still answers.
   *
   * @return false once {@link #close} was called
   */
  public boolean isOpen() {
    return !closed;
  }

  /**
   * Whether retaining a shared context counts; with HIP it does nothing.
   *
   * @return true for CUDA
   */
  public boolean countsRetains() {
    return cuda;
  }

  /**
   * What is not given back yet.
   *
   * @return a count of everything that an owner must return
   */
  public LeakAudit audit() {
    lock.lock();
    try {
      int retains = 0;
      int foreign = 0;
      for (Context context : contexts.values()) {
        retains += cuda && context.primary ? context.retains : 0;
        foreign += context.primary ? 0 : 1;
      }
      int registrations = 0;
      int hostAllocations = 0;
      long hostBytes = 0;
      for (Registration one : pins.all()) {
        registrations += one.arena == null ? 1 : 0;
        hostAllocations += one.arena == null ? 0 : 1;
        hostBytes += one.bytes;
      }
      int allocations = 0;
      int mappings = 0;
      long deviceBytes = 0;
      for (Backed one : space.allBacked()) {
        allocations += one.reservation == null ? 1 : 0;
        mappings += one.reservation == null ? 0 : 1;
        deviceBytes += one.reservation == null ? one.bytes : 0;
      }
      for (Physical one : space.allPhysicals()) {
        deviceBytes += one.memory.bytes;
      }
      return new LeakAudit(
          retains,
          foreign,
          registrations,
          hostAllocations,
          hostBytes,
          allocations,
          space.allReservations().size(),
          mappings,
          space.allPhysicals().size(),
          space.openDescriptors(),
          deviceBytes,
          streams.size(),
          events.size(),
          (int) pins.leakedObjects());
    } finally {
      lock.unlock();
    }
  }

  /** Stops everything and gives all memory back; calls answer 4 from now on. Idempotent. */
  @Override
  public void close() {
    lock.lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
      for (Context context : contexts.values()) {
        context.streams.forEach(stream -> stream.queue.clear());
      }
      lock.announce();
    } finally {
      lock.unlock();
    }
    faults.close();
    scheduler.close();
    lock.lock();
    try {
      contexts.values().forEach(pins::removeAll);
      space.clear();
      streams.clear();
      events.clear();
    } finally {
      lock.unlock();
    }
  }
}
