package io.holdfast.internal.core;

import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.Device;
import io.holdfast.Transcript;
import io.holdfast.device.DeviceInfo;
import io.holdfast.event.Activity;
import io.holdfast.event.Statistics;
import io.holdfast.host.PageSource;
import io.holdfast.internal.event.Journal;
import io.holdfast.internal.event.TimedDevicePort;
import io.holdfast.internal.event.TimedHostKernel;
import io.holdfast.internal.pin.PinDesk;
import io.holdfast.internal.tree.Standing;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.DeviceFacts;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.HostAllocationPort;
import io.holdfast.spi.HostKernel;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CopyOnWriteArrayList;

/** A backend over the two ports. */
public final class CoreBackend implements Backend {
  private final String id;
  private final BackendKind kind;
  private final AcceleratorDriver driver;
  private final HostKernel kernel;
  private final Rooms rooms;
  private final Journal journal;
  private final Workers workers;
  private final PinDesk pins;
  private final Root root;
  private final List<DeviceInfo> devices;
  private final List<CoreDevice> opened = new CopyOnWriteArrayList<>();
  private final PageSource pageSource;
  private volatile Transcript transcript = new Transcript(List.of(), Optional.empty());

  /**
   * Takes over the driver.
   *
   * @param id its name
   * @param kind hardware or simulator
   * @param driver the accelerator port
   * @param kernel the host port
   * @param rooms where policy comes from
   */
  public CoreBackend(
      String id, BackendKind kind, AcceleratorDriver driver, HostKernel kernel, Rooms rooms) {
    this.id = id;
    this.kind = kind;
    this.driver = driver;
    this.journal = new Journal(id);
    this.kernel = new TimedHostKernel(kernel, journal);
    this.rooms = rooms;
    this.devices = infos(driver, kernel);
    this.workers = new Workers(id);
    this.pins = new PinDesk(id, this.kernel);
    this.pageSource = rooms.pageSource(this);
    this.root = Standing.enrolled(new Root(this));
  }

  /**
   * The driver's devices with what sysfs says of their nodes.
   *
   * @param driver whose devices
   * @param kernel whose sysfs
   * @return the devices
   */
  public static List<DeviceInfo> infos(AcceleratorDriver driver, HostKernel kernel) {
    return driver.devices().stream().map(facts -> info(facts, kernel)).toList();
  }

  private static DeviceInfo info(DeviceFacts facts, HostKernel kernel) {
    return new DeviceInfo(
        facts.ordinal(),
        facts.name(),
        facts.uuid(),
        facts.pciAddress(),
        facts.totalBytes(),
        node(facts, kernel));
  }

  /** Sysfs first; -1 there means unknown, and then the driver's own account counts. */
  private static OptionalInt node(DeviceFacts facts, HostKernel kernel) {
    if (!facts.pciAddress().isEmpty()) {
      Optional<String> text =
          kernel.text("/sys/bus/pci/devices/" + facts.pciAddress() + "/numa_node");
      if (text.isPresent() && text.get().strip().matches("[0-9]{1,6}")) {
        return OptionalInt.of(Integer.parseInt(text.get().strip()));
      }
    }
    return facts.numaNode();
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
   * Threads for calls that can block.
   *
   * @return the threads
   */
  public Workers workers() {
    return workers;
  }

  /**
   * What all its pins share.
   *
   * @return the registry of what is pinned
   */
  public PinDesk pins() {
    return pins;
  }

  /**
   * What everything opened from it stands on.
   *
   * @return its place in the tree
   */
  public Standing standing() {
    return root;
  }

  /**
   * Devices that are open now, in the order they were opened.
   *
   * @return open devices
   */
  public List<CoreDevice> openDevices() {
    return opened.stream().filter(device -> device.standing().isOpen()).toList();
  }

  /**
   * Host memory from the driver of the device that was opened first.
   *
   * @return the port, or empty when no open device has one
   */
  public Optional<HostAllocationPort> hostAllocations() {
    return openDevices().stream().flatMap(one -> one.port().hostAllocations().stream()).findFirst();
  }

  Rooms rooms() {
    return rooms;
  }

  @Override
  public String id() {
    return id;
  }

  @Override
  public BackendKind kind() {
    return kind;
  }

  @Override
  public String version() {
    return driver.version();
  }

  @Override
  public Transcript transcript() {
    return transcript;
  }

  /**
   * Remembers what discovery saw.
   *
   * @param seen the transcript with its choice
   */
  public void transcript(Transcript seen) {
    transcript = seen;
  }

  @Override
  public List<DeviceInfo> devices() {
    return devices;
  }

  @Override
  public Device open(DeviceInfo device) {
    root.requireOpen();
    requireMine(device);
    return opened(device, workers.call(() -> driver.open(device.ordinal())));
  }

  @Override
  public Device wrapContext(DeviceInfo device, long contextHandle) {
    root.requireOpen();
    requireMine(device);
    return opened(device, workers.call(() -> driver.openOn(device.ordinal(), contextHandle)));
  }

  private Device opened(DeviceInfo info, DevicePort port) {
    CoreDevice device;
    Journal page = journal.onDevice(info.ordinal());
    try {
      device = new CoreDevice(this, info, new TimedDevicePort(port, page), page);
    } catch (Throwable failure) {
      port.close();
      throw failure;
    }
    try {
      device.standing().enrol();
    } catch (Throwable failure) {
      device.close();
      throw failure;
    }
    opened.removeIf(old -> !old.standing().isOpen());
    opened.add(device);
    return device;
  }

  private void requireMine(DeviceInfo device) {
    if (!devices.contains(device)) {
      throw new IllegalArgumentException(
          "device " + device.ordinal() + " (" + device.name() + ") is not one of backend " + id);
    }
  }

  /**
   * Where all of it is counted.
   *
   * @return the journal
   */
  public Journal journal() {
    return journal;
  }

  @Override
  public Statistics statistics() {
    return journal.statistics();
  }

  @Override
  public List<String> stillOpen() {
    return root.namesAbove();
  }

  @Override
  public PageSource pageSource() {
    root.requireOpen();
    return pageSource;
  }

  @Override
  public void close() {
    root.close();
  }

  @Override
  public String toString() {
    return "backend " + id;
  }

  /** The bottom of the tree. */
  private static final class Root extends Standing {
    private final CoreBackend backend;

    Root(CoreBackend backend) {
      super("backend " + backend.id);
      this.backend = backend;
    }

    @Override
    protected void release() {
      try {
        backend.driver.close();
      } finally {
        backend.pins.close();
        backend.workers.close();
        backend.journal.done(Activity.CLOSE, null, this, 0, 0);
      }
    }
  }
}
