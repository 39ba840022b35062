package io.holdfast.conformance.tap;

import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.HostAllocationPort;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.Interposer;
import io.holdfast.spi.KernelCopyPort;
import io.holdfast.spi.PitchedCopyPort;
import io.holdfast.spi.VirtualMemoryPort;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Stands between policy and ports. Every call goes through it, is written down, and can be twisted.
 * Any thread; no lock is held while a call is made.
 */
public final class Tap implements Interposer {
  /** Asked all the time and of no interest afterwards; they can be twisted all the same. */
  private static final Set<String> NOT_WRITTEN_DOWN =
      Set.of(
          "DevicePort.eventPassed",
          "DevicePort.streamIdle",
          "HostKernel.nanoTime",
          "HostKernel.text");

  /** Calls and rows that are kept: some tens of MiB, and far more than any rule asks for. */
  static final long MOST_KEPT = 1 << 18;

  private static final List<Class<?>> PARTS =
      List.of(
          HostAllocationPort.class,
          BatchCopyPort.class,
          KernelCopyPort.class,
          PitchedCopyPort.class,
          VirtualMemoryPort.class,
          VirtualMemoryPort.FabricPort.class,
          VirtualMemoryPort.DmaBufPort.class);

  private final AtomicLong numbers = new AtomicLong();
  private final Queue<Call> calls = new ConcurrentLinkedQueue<>();
  private final AtomicLong kept = new AtomicLong(); // calls, and their rows
  private volatile boolean dropped;
  private final Map<String, Twist> twists = new ConcurrentHashMap<>();
  private final Books books = new Books();
  private final List<DevicePort> ports = new CopyOnWriteArrayList<>();
  private volatile @Nullable AcceleratorDriver driver;
  private volatile @Nullable HostKernel kernel;
  private volatile boolean forgiving;

  /** A tap that nobody has turned. */
  public Tap() {}

  // ---- between policy and ports

  @Override
  public AcceleratorDriver driver(AcceleratorDriver behind) {
    AcceleratorDriver before = wrap(AcceleratorDriver.class, behind);
    driver = before;
    return before;
  }

  @Override
  public HostKernel kernel(HostKernel behind) {
    HostKernel before = wrap(HostKernel.class, behind);
    kernel = before;
    return before;
  }

  private <T> T wrap(Class<T> port, T behind) {
    return port.cast(
        Proxy.newProxyInstance(
            port.getClassLoader(), new Class<?>[] {port}, new Handler(port, behind)));
  }

  private final class Handler implements InvocationHandler {
    private final Class<?> port;
    private final Object behind;
    private final Map<String, Optional<?>> parts = new ConcurrentHashMap<>();

    Handler(Class<?> port, Object behind) {
      this.port = port;
      this.behind = behind;
    }

    @Override
    public @Nullable Object invoke(
        Object self, Method method, @Nullable Object @Nullable [] arguments) throws Throwable {
      if (method.getDeclaringClass() == Object.class) {
        return switch (method.getName()) {
          case "equals" -> isSame(self, arguments == null ? null : arguments[0]);
          case "hashCode" -> System.identityHashCode(self);
          default -> "tap before " + behind;
        };
      }
      if (method.getReturnType() == Optional.class && method.getParameterCount() == 0) {
        return part(method);
      }
      String name = port.getSimpleName() + "." + method.getName();
      List<@Nullable Object> given =
          arguments == null ? List.of() : new ArrayList<@Nullable Object>(Arrays.asList(arguments));
      Call call = new Call(numbers.getAndIncrement(), name, given, rows(given));
      if (!NOT_WRITTEN_DOWN.contains(name)) {
        keep(call);
      }
      try {
        Twist.Through through =
            new Twist.Through() {
              @Override
              public @Nullable Object go() throws Throwable {
                return make(method, arguments);
              }

              @Override
              public @Nullable Object goWith(Object... others) throws Throwable {
                return make(method, others);
              }
            };
        Twist twist = twists.get(name);
        Object result = twist == null ? through.go() : twist.answer(call, through);
        if (result instanceof DevicePort opened) {
          result = wrap(DevicePort.class, opened);
          ports.add((DevicePort) result);
        }
        books.enter(call, result);
        call.end(result);
        return result;
      } catch (Throwable refused) {
        call.fail(refused);
        throw refused;
      }
    }

    private @Nullable Object make(Method method, @Nullable Object @Nullable [] arguments)
        throws Throwable {
      try {
        return method.invoke(behind, arguments);
      } catch (InvocationTargetException wrapped) {
        throw wrapped.getCause() == null ? wrapped : wrapped.getCause();
      }
    }

    /** A port that the driver may lack, wrapped once; other answers pass as they are. */
    private Object part(Method method) throws Throwable {
      Optional<?> known = parts.get(method.getName());
      if (known != null) {
        return known;
      }
      Optional<?> raw = (Optional<?>) make(method, null);
      if (raw == null) {
        throw new AssertionError(method + " answered null");
      }
      Optional<?> wrapped = raw.map(Tap.this::wrapPart);
      parts.put(method.getName(), wrapped);
      return wrapped;
    }
  }

  @SuppressWarnings("ReferenceEquality") // a proxy is equal to itself only
  private static boolean isSame(Object self, @Nullable Object other) {
    return self == other;
  }

  private Object wrapPart(Object part) {
    for (Class<?> port : PARTS) {
      if (port.isInstance(part)) {
        return Proxy.newProxyInstance(
            port.getClassLoader(), new Class<?>[] {port}, new Handler(port, part));
      }
    }
    return part;
  }

  private static List<Call.Row> rows(List<@Nullable Object> arguments) {
    if (arguments.isEmpty() || !(arguments.getFirst() instanceof CopyTable table)) {
      return List.of();
    }
    List<Long> bounds =
        arguments.stream().filter(Long.class::isInstance).map(Long.class::cast).toList();
    List<Call.Row> rows = new ArrayList<>();
    for (long row = bounds.get(0); row < bounds.get(1); row++) {
      rows.add(new Call.Row(table.destination(row), table.source(row), table.bytes(row)));
    }
    return List.copyOf(rows);
  }

  /** A long test that never forgets must not fill the heap: what is oldest goes. */
  private void keep(Call call) {
    calls.add(call);
    kept.addAndGet(weight(call));
    while (kept.get() > MOST_KEPT) {
      if (take()) {
        dropped = true;
      }
    }
  }

  private boolean take() {
    Call oldest = calls.poll();
    if (oldest == null) {
      return false;
    }
    kept.addAndGet(-weight(oldest));
    return true;
  }

  private static long weight(Call call) {
    return 1L + call.rows().size();
  }

  // ---- what the kit asks

  /**
   * The accelerator port with this before it.
   *
   * @return the driver
   */
  public AcceleratorDriver driver() {
    return present(driver);
  }

  /**
   * The host port with this before it.
   *
   * @return the kernel
   */
  public HostKernel kernel() {
    return present(kernel);
  }

  private static <T> T present(@Nullable T port) {
    if (port == null) {
      throw new IllegalStateException(
          "the backend was not built by StandardBackend on the thread that opened it: the kit"
              + " cannot see its ports");
    }
    return port;
  }

  /**
   * The port of the device that was opened last.
   *
   * @return the port with this before it
   */
  public DevicePort port() {
    if (ports.isEmpty()) {
      throw new IllegalStateException("no device was opened");
    }
    return ports.getLast();
  }

  /**
   * What was called, in the order in which the calls began.
   *
   * @param names port and method of those wanted; none: all
   * @return the calls since {@link #forget}
   * @throws IllegalStateException when there were more than can be kept: forget in between
   */
  public List<Call> calls(String... names) {
    if (dropped) {
      throw new IllegalStateException(
          "more than " + MOST_KEPT + " calls and rows were made since the tap forgot: forget them");
    }
    Set<String> wanted = Set.of(names);
    return calls.stream()
        .filter(call -> wanted.isEmpty() || wanted.contains(call.name()))
        .sorted((one, other) -> Long.compare(one.number(), other.number()))
        .toList();
  }

  /**
   * How many calls there were.
   *
   * @param names port and method of those wanted; none: all
   * @return how many began
   */
  public int count(String... names) {
    return calls(names).size();
  }

  /** Forgets what was written down; the books stay. */
  public void forget() {
    boolean more = true;
    while (more) {
      more = take();
    }
    dropped = false;
  }

  /**
   * Changes what becomes of a call, from now on.
   *
   * @param name port and method
   * @param twist what becomes of it
   */
  public void twist(String name, Twist twist) {
    twists.put(name, twist);
  }

  /**
   * Refuses one of the calls to come.
   *
   * @param name port and method
   * @param nth 1 for the next
   * @param refusal with what
   */
  public void refuse(String name, long nth, RuntimeException refusal) {
    AtomicLong seen = new AtomicLong();
    twist(
        name,
        (_, through) -> {
          if (seen.incrementAndGet() == nth) {
            throw refusal;
          }
          return through.go();
        });
  }

  /** Lets all calls go as they are. */
  public void untwist() {
    twists.clear();
  }

  /**
   * Lets calls of one name go as they are.
   *
   * @param name port and method
   */
  public void untwist(String name) {
    twists.remove(name);
  }

  /** From now on nobody asks whether all was given back: a refusal that the kit made stands. */
  public void forgive() {
    forgiving = true;
  }

  /**
   * What was taken and not given back.
   *
   * @return for people; empty when all was given back
   */
  public List<String> open() {
    return forgiving ? List.of() : books.open();
  }

  /**
   * Registered ranges.
   *
   * @return bytes by address
   */
  public Map<Long, Long> registered() {
    return books.registered();
  }

  /**
   * Mapped host memory.
   *
   * @return bytes
   */
  public long mappedBytes() {
    return books.mappedBytes();
  }

  /**
   * How many things of a kind are held.
   *
   * @param what for example {@code stream}, {@code event}, {@code physical memory}
   * @return how many
   */
  public int held(String what) {
    return books.count(what);
  }
}
