package io.holdfast.backend.cpusim.driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What a simulated driver holds, and the bracket around each of its calls.
 *
 * <p>The chapters of {@link SimDriver} build on one another from here: state, queues of work,
 * contexts, streams, events, captures, memory, copies, virtual memory.
 */
abstract class DriverState {
  static final long FIRST_CONTEXT = 0xC0_0000_0010L;
  static final long FIRST_STREAM = 0x57_0000_0010L;
  static final long FIRST_EVENT = 0xE7_0000_0010L;
  static final long FIRST_GRAPH = 0x69_0000_0010L;
  static final long FIRST_MODULE = 0x3D_0000_0010L;
  private static final int MOST_VIOLATIONS = 1000;
  final DriverSetup setup;
  final Personality personality;
  final boolean cuda;
  final SimClock clock;
  final DriverLock lock = new DriverLock();
  final Carriers carriers = new Carriers();
  final Ledger ledger = new Ledger();
  final Faults faults;
  final HostPins pins;
  final DeviceSpace space;
  final @Nullable Context[] primaries;
  final long[] primaryHandles;
  final HandleMap<Context> contexts = new HandleMap<>();
  final HandleMap<Stream> streams = new HandleMap<>();
  final HandleMap<Event> events = new HandleMap<>();
  final HandleMap<Capture> graphs = new HandleMap<>();
  final HandleMap<LoadedModule> modules = new HandleMap<>();
  final HandleMap<LoadedModule.Kernel> kernels = new HandleMap<>();
  final List<Capture> captures = new ArrayList<>();
  final long[][] linkFreeAt;
  final int[] deviceLost;
  private final List<String> violations = new ArrayList<>();
  long nextHandle;
  boolean initialized;
  volatile boolean closed;

  DriverState(DriverSetup setup) {
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
   * What was done that no driver forbids and that goes wrong with a real one: memory unmapped under
   * a registration, a wait that kept a virtual thread's carrier.
   *
   * @return one sentence each, in the order they happened
   */
  public List<String> violations() {
    lock.lock();
    try {
      return List.copyOf(violations);
    } finally {
      lock.unlock();
    }
  }

  /** With the lock held. */
  final void violation(String what) {
    if (violations.size() < MOST_VIOLATIONS) {
      violations.add(what);
    }
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

  int call(Operation operation, long a, long b, long c, IntSupplier effect) {
    int code = admit(operation);
    lock.lock();
    try {
      if (closed) {
        code = Codes.DEINITIALIZED;
      }
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
  int admit(Operation operation) {
    if (closed) {
      return Codes.DEINITIALIZED;
    }
    if (!initialized && operation != Operation.INIT) {
      return Codes.NOT_INITIALIZED;
    }
    return faults.strike(operation);
  }

  int remember(int code) {
    if (personality.lastError() != Personality.LastError.NONE) {
      ThreadState thread = carriers.current();
      boolean failed = code != Codes.SUCCESS && code != Codes.NOT_READY;
      if (failed || personality.lastError() == Personality.LastError.EVERY_CALL) {
        thread.lastError = failed ? code : Codes.SUCCESS;
      }
    }
    return code;
  }

  interface InContext {
    int run(ThreadState thread, Context context);
  }

  /** A call that needs a current context. */
  int callIn(Operation operation, long a, long b, long c, InContext effect) {
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

  int contextCode(ThreadState thread) {
    Context context = cuda ? thread.current : primaries[thread.device];
    if (context == null) {
      return Codes.INVALID_CONTEXT;
    }
    if (!context.alive) {
      return Codes.CONTEXT_IS_DESTROYED;
    }
    return context.lostCode;
  }

  Context contextOf(ThreadState thread) {
    return Objects.requireNonNull(cuda ? thread.current : primaries[thread.device]);
  }

  int currentDevice() {
    ThreadState thread = carriers.current();
    if (cuda) {
      return thread.current == null ? 0 : thread.current.device;
    }
    return thread.device;
  }

  /** Writes a positive or zero value, or turns a negative one into its code. */
  static int answer(long[] out, long valueOrMinusCode) {
    if (valueOrMinusCode < 0) {
      return (int) -valueOrMinusCode;
    }
    out[0] = valueOrMinusCode;
    return Codes.SUCCESS;
  }

  /**
   * Whether it still answers.
   *
   * @return false once the driver was closed
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
}
