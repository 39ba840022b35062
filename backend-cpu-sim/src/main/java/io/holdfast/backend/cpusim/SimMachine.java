package io.holdfast.backend.cpusim;

import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.backend.cpusim.driver.DeviceSpec;
import io.holdfast.backend.cpusim.driver.DriverSetup;
import io.holdfast.backend.cpusim.driver.FaultScript;
import io.holdfast.backend.cpusim.driver.Faults;
import io.holdfast.backend.cpusim.driver.HostSpace;
import io.holdfast.backend.cpusim.driver.LeakAudit;
import io.holdfast.backend.cpusim.driver.Ledger;
import io.holdfast.backend.cpusim.driver.Personalities;
import io.holdfast.backend.cpusim.driver.Personality;
import io.holdfast.backend.cpusim.driver.ProcessMaps;
import io.holdfast.backend.cpusim.driver.SimClock;
import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.backend.cpusim.driver.SimSchedule;
import io.holdfast.backend.cpusim.host.SimHost;
import io.holdfast.backend.cpusim.host.SimHostKernel;
import io.holdfast.error.HostKernelException;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernels;
import io.holdfast.spi.StandardBackend;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * One simulated machine: devices, a driver with a personality, and a host.
 *
 * <p>A plain machine has simulated devices on this machine's own memory. Tests hold the machine
 * beside the backend or driver they get from it: the ledger says what was called, faults make calls
 * go wrong, an engine does what an engine does, the audit says what was not given back. Any thread.
 *
 * <p>Closing ends the devices' threads and gives their memory back.
 */
public final class SimMachine implements AutoCloseable {
  private static final int PLAIN_DEVICES = 2;
  private static final long PLAIN_DEVICE_BYTES = 64L << 30;
  private static final byte FRESH_BYTE = (byte) 0xD5;

  private final String name;
  private final SimDriver driver;
  private final @Nullable SimHostKernel process;
  private final HostKernel kernel;
  private final SimClock clock;
  private final LeakPolicy leaks;
  private final List<SimEngine> engines = new CopyOnWriteArrayList<>();

  private SimMachine(Builder parts) {
    this.name = parts.name;
    this.clock = parts.clock;
    this.leaks = parts.leaks;
    this.process = parts.process();
    HostKernel under = process == null ? thisKernel() : process;
    HostSpace space =
        parts.space != null
            ? parts.space
            : process == null ? new ProcessMaps(under.basePageBytes()) : process;
    this.driver =
        new SimDriver(
            new DriverSetup(
                parts.personality,
                parts.devices,
                space,
                clock,
                parts.seed,
                parts.freshByte,
                parts.schedule));
    this.kernel = new MachineKernel(under, processId(), driver, clock);
    driver.faults().add(parts.faults);
  }

  private long processId() {
    return process == null ? ProcessHandle.current().pid() : process.pid();
  }

  /** Asked for when there is something to say: the first logger of a program takes long. */
  private static System.Logger log() {
    return System.getLogger(SimMachine.class.getName());
  }

  private static HostKernel thisKernel() {
    try {
      return HostKernels.system();
    } catch (HostKernelException withoutNativeAccess) {
      log()
          .log(
              System.Logger.Level.INFO,
              "the simulator uses plain segments as host memory: "
                  + withoutNativeAccess.getMessage());
      return HostKernels.portable();
    }
  }

  /**
   * Simulated devices on this machine's own memory: two of 64 GiB, behind a CUDA driver of branch
   * 580.
   *
   * @return a new machine
   */
  public static SimMachine plain() {
    return builder().build();
  }

  /**
   * A machine by its profile, freshly booted.
   *
   * @param profile what it is
   * @return a new machine
   */
  public static SimMachine of(SimProfile profile) {
    return builder().profile(profile).build();
  }

  /**
   * Begins a machine of parts; left alone, they are those of {@link #plain}.
   *
   * @return the parts so far
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * The accelerator port of this machine.
   *
   * @return a port of its own; closing it leaves the machine open
   */
  public AcceleratorDriver driver() {
    return new SimAccelerator(driver, name, () -> judge(audit()));
  }

  /**
   * A backend on this machine, with all policy above its ports.
   *
   * @return the backend; closing it leaves the machine open, so that tests can ask what is left
   */
  public Backend backend() {
    return standard(() -> judge(audit()));
  }

  /**
   * A backend that owns this machine.
   *
   * @return the backend; closing it closes the machine
   */
  public Backend intoBackend() {
    return standard(this::close);
  }

  private Backend standard(Runnable whenClosed) {
    return StandardBackend.builder(name, new SimAccelerator(driver, name, whenClosed))
        .kind(BackendKind.SIMULATOR)
        .kernel(kernel)
        .build();
  }

  /**
   * The driver's own entry points, for ports of other makes and fake native libraries.
   *
   * @return the driver
   */
  public SimDriver calls() {
    return driver;
  }

  /**
   * The host port.
   *
   * @return the kernel
   */
  public HostKernel kernel() {
    return kernel;
  }

  /**
   * The simulated host.
   *
   * @return the host; it outlives this machine's process
   * @throws IllegalStateException where the machine is on this machine's own memory
   */
  public SimHost host() {
    return process().host();
  }

  /**
   * The simulated host's process that this machine's calls are made in.
   *
   * @return the process
   * @throws IllegalStateException where the machine is on this machine's own memory
   */
  public SimHostKernel process() {
    if (process == null) {
      throw new IllegalStateException("this machine has no simulated host; give it a profile");
    }
    return process;
  }

  /**
   * Ends the process as SIGKILL does: nothing of it runs any more, the driver and the kernel take
   * back what was its own. What it had is not leaked but killed, so that nothing is said of it.
   */
  public void kill() {
    driver.close();
    process().end();
  }

  /**
   * The machine's time.
   *
   * @return the clock
   */
  public SimClock clock() {
    return clock;
  }

  /**
   * Every call that reached the driver.
   *
   * @return the ledger
   */
  public Ledger ledger() {
    return driver.ledger();
  }

  /**
   * What shall go wrong.
   *
   * @return the rules
   */
  public Faults faults() {
    return driver.faults();
  }

  /**
   * An engine on a context of its own.
   *
   * @param device where
   * @return the engine, to be closed
   */
  public SimEngine engine(int device) {
    return remember(SimEngine.onOwnContext(driver, device, this::forget));
  }

  /**
   * An engine on the device's shared context.
   *
   * @param device where
   * @return the engine, to be closed
   */
  public SimEngine engineOnSharedContext(int device) {
    return remember(SimEngine.onSharedContext(driver, device, this::forget));
  }

  private SimEngine remember(SimEngine engine) {
    engines.add(engine);
    return engine;
  }

  private void forget(SimEngine engine) {
    engines.remove(engine);
  }

  /**
   * What was taken from the driver and not given back, engines' things left out.
   *
   * @return the audit
   */
  public LeakAudit audit() {
    LeakAudit audit = driver.audit();
    for (SimEngine engine : engines) {
      audit = audit.minus(engine.holdings());
    }
    return process == null
        ? audit
        : audit.withHost(process.regions(), process.regionBytes(), process.openFiles());
  }

  /**
   * What was done that no driver forbids and that goes wrong with a real one.
   *
   * @return one sentence each
   */
  public List<String> violations() {
    return driver.violations();
  }

  /**
   * Does about leaks what the machine's policy says.
   *
   * @throws IllegalStateException with {@link LeakPolicy#FAIL} where something was not given back
   */
  private void judge(LeakAudit audit) {
    List<String> violations = driver.violations();
    if ((!audit.clean() || !violations.isEmpty()) && leaks != LeakPolicy.IGNORE) {
      String what = "a simulated driver was closed and " + audit + "; violations: " + violations;
      if (leaks == LeakPolicy.FAIL) {
        throw new IllegalStateException(what);
      }
      log().log(System.Logger.Level.WARNING, what);
    }
  }

  /**
   * Ends it. Idempotent.
   *
   * @throws IllegalStateException with {@link LeakPolicy#FAIL} where something was not given back;
   *     everything is closed nevertheless
   */
  @Override
  public void close() {
    if (driver.isOpen()) {
      LeakAudit audit = audit();
      driver.close();
      if (process != null) {
        process.end();
      }
      judge(audit);
    }
  }

  /** The parts of a machine. Not for several threads at once. */
  public static final class Builder {
    private Personality personality = Personalities.named("cuda-580");
    private List<DeviceSpec> devices = plainDevices(PLAIN_DEVICES, PLAIN_DEVICE_BYTES, 0);
    private SimClock clock = SimClock.real();
    private long seed;
    private byte freshByte = FRESH_BYTE;
    private @Nullable SimSchedule schedule;
    private FaultScript faults = FaultScript.none();
    private LeakPolicy leaks = LeakPolicy.WARN;
    private String name = SimAccelerator.BACKEND;
    private @Nullable SimProfile booted;
    private @Nullable SimHost host;
    private @Nullable HostSpace space;

    private Builder() {}

    /**
     * Whose driver it has.
     *
     * @param id for example {@code cuda-580}
     * @return this
     */
    public Builder personality(String id) {
      return personality(Personalities.named(id));
    }

    /**
     * Whose driver it has.
     *
     * @param ways the personality
     * @return this
     */
    public Builder personality(Personality ways) {
      personality = Objects.requireNonNull(ways, "personality");
      return this;
    }

    /**
     * Equal devices.
     *
     * @param count how many; none is a driver without devices
     * @param bytes memory of each
     * @return this
     */
    public Builder devices(int count, long bytes) {
      devices = plainDevices(count, bytes, 0);
      return this;
    }

    /**
     * These devices.
     *
     * @param specs what they are
     * @return this
     */
    public Builder devices(List<DeviceSpec> specs) {
      devices = List.copyOf(specs);
      return this;
    }

    /**
     * Its time; the world's by default.
     *
     * @param time the clock
     * @return this
     */
    public Builder clock(SimClock time) {
      clock = Objects.requireNonNull(time, "clock");
      return this;
    }

    /**
     * The seed of everything that is left to chance; 0 by default.
     *
     * @param number the seed
     * @return this
     */
    public Builder seed(long number) {
      seed = number;
      return this;
    }

    /**
     * In which order device work is done; left alone, threads do it as it comes.
     *
     * @param order chooses, for this machine only
     * @return this
     */
    public Builder schedule(SimSchedule order) {
      schedule = Objects.requireNonNull(order, "schedule");
      return this;
    }

    /**
     * What device memory reads as before it is written; {@code 0xD5} by default, so that nobody
     * relies on zeros that a real device does not promise.
     *
     * @param value the byte
     * @return this
     */
    public Builder freshByte(byte value) {
      freshByte = value;
      return this;
    }

    /**
     * What goes wrong from the start.
     *
     * @param script the rules
     * @return this
     */
    public Builder faults(FaultScript script) {
      faults = Objects.requireNonNull(script, "faults");
      return this;
    }

    /**
     * What happens at the end about leaks; a warning by default.
     *
     * @param policy what
     * @return this
     */
    public Builder leaks(LeakPolicy policy) {
      leaks = Objects.requireNonNull(policy, "leaks");
      return this;
    }

    /**
     * A profile's host, freshly booted, its devices and its driver.
     *
     * @param profile what it is
     * @return this
     */
    public Builder profile(SimProfile profile) {
      host = null;
      return use(profile);
    }

    /**
     * A profile's devices and driver on a host that runs already, as a process of its own.
     *
     * @param profile what it is
     * @param running the host
     * @return this
     */
    public Builder profile(SimProfile profile, SimHost running) {
      host = Objects.requireNonNull(running, "host");
      return use(profile);
    }

    private Builder use(SimProfile profile) {
      name = SimAccelerator.BACKEND + ":" + profile.name();
      booted = profile;
      devices = profile.devices();
      personality = profile.personality();
      return this;
    }

    /**
     * What the driver learns of the host; by default what there is to learn.
     *
     * @param seenByDriver the host as the driver sees it
     * @return this
     */
    public Builder hostSpace(HostSpace seenByDriver) {
      space = Objects.requireNonNull(seenByDriver, "hostSpace");
      return this;
    }

    /** A process on the host: one that runs, or the profile's own; null without a profile. */
    private @Nullable SimHostKernel process() {
      if (host != null) {
        return host.start();
      }
      return booted == null
          ? null
          : new SimHost(booted.host(), clock, booted.nodesOfDevices()).start();
    }

    /**
     * Puts the parts together.
     *
     * @return a new machine
     */
    public SimMachine build() {
      return new SimMachine(this);
    }

    private static List<DeviceSpec> plainDevices(int count, long bytes, long linkBytesPerSecond) {
      List<DeviceSpec> specs = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        specs.add(
            new DeviceSpec(
                "Simulated device",
                String.format(Locale.ROOT, "5e100000-0000-4000-8000-%012x", i),
                "",
                bytes,
                OptionalInt.empty(),
                linkBytesPerSecond));
      }
      return List.copyOf(specs);
    }
  }
}
