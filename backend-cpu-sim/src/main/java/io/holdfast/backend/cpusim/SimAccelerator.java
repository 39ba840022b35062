package io.holdfast.backend.cpusim;

import io.holdfast.backend.cpusim.driver.Attribute;
import io.holdfast.backend.cpusim.driver.Codes;
import io.holdfast.backend.cpusim.driver.DeviceSpec;
import io.holdfast.backend.cpusim.driver.Family;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.error.UnsupportedException;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.DeviceFacts;
import io.holdfast.spi.DevicePort;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;

/** The accelerator port over the simulated driver, as thin as a binding of a real one. */
final class SimAccelerator implements AcceleratorDriver {
  static final String BACKEND = "cpu-sim";

  private final SimDriver driver;
  private final String backend;
  private final boolean cuda;
  private final Runnable whenClosed;
  private boolean closed;

  SimAccelerator(SimDriver driver, String backend, Runnable whenClosed) {
    this.driver = driver;
    this.backend = backend;
    this.cuda = driver.personality().family() == Family.CUDA;
    this.whenClosed = whenClosed;
    int code = driver.init(0);
    if (code != Codes.SUCCESS && code != Codes.NO_DEVICE) {
      throw refused(driver, backend, Operation.INIT, "0", code);
    }
  }

  @Override
  public String version() {
    return driver.personality().label();
  }

  @Override
  public List<DeviceFacts> devices() {
    List<DeviceSpec> specs = driver.deviceSpecs();
    List<DeviceFacts> facts = new ArrayList<>();
    for (int ordinal = 0; ordinal < specs.size(); ordinal++) {
      DeviceSpec spec = specs.get(ordinal);
      facts.add(
          new DeviceFacts(
              ordinal,
              spec.name(),
              spec.uuid(),
              spec.pciAddress().toLowerCase(Locale.ROOT),
              spec.totalBytes(),
              node(spec, ordinal)));
    }
    return List.copyOf(facts);
  }

  /**
   * As the driver says of a device on a bus; H200 in a virtual machine says 0 where sysfs says -1.
   */
  private OptionalInt node(DeviceSpec spec, int ordinal) {
    if (spec.pciAddress().isEmpty()) {
      return spec.numaNode();
    }
    long[] node = {-1};
    int number = Attribute.HOST_NUMA_ID.number(driver.personality().family());
    driver.deviceGetAttribute(node, number, ordinal);
    return node[0] < 0 ? spec.numaNode() : OptionalInt.of((int) node[0]);
  }

  @Override
  public DevicePort open(int ordinal) {
    long[] context = new long[1];
    int code = driver.primaryCtxRetain(context, ordinal);
    if (code != Codes.SUCCESS) {
      throw refused(driver, backend, Operation.PRIMARY_CTX_RETAIN, Integer.toString(ordinal), code);
    }
    return new SimDevicePort(
        driver, backend, ordinal, context[0], SimDevicePort.Ownership.RETAINED);
  }

  @Override
  public DevicePort openOn(int ordinal, long contextHandle) {
    if (!cuda) {
      throw new UnsupportedException(
          "an engine's own context", "HIP has one context per device", "Open the device instead");
    }
    SimDevicePort port =
        new SimDevicePort(
            driver, backend, ordinal, contextHandle, SimDevicePort.Ownership.BORROWED);
    int device = port.deviceOfContext();
    if (device != ordinal) {
      throw new IllegalArgumentException(
          "context 0x"
              + Long.toHexString(contextHandle)
              + " is on device "
              + device
              + ", not on device "
              + ordinal);
    }
    return port;
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      whenClosed.run();
    }
  }

  /** The exception for a code. */
  static DriverException refused(
      SimDriver driver, String backend, Operation operation, String arguments, int code) {
    return new DriverException(
        backend,
        operation.exportedName(driver.personality().family()) + "(" + arguments + ")",
        code,
        driver.personality().codeName(code),
        fault(code));
  }

  static DriverFault fault(int code) {
    return switch (code) {
      case Codes.OUT_OF_MEMORY -> DriverFault.OUT_OF_MEMORY;
      case Codes.INVALID_VALUE, Codes.INVALID_COPY_KIND, Codes.INVALID_DEVICE ->
          DriverFault.INVALID_ARGUMENT;
      case Codes.HOST_MEMORY_ALREADY_REGISTERED -> DriverFault.ALREADY_REGISTERED;
      case Codes.HOST_MEMORY_NOT_REGISTERED -> DriverFault.NOT_REGISTERED;
      case Codes.INVALID_HANDLE, Codes.INVALID_CONTEXT, Codes.CONTEXT_IS_DESTROYED ->
          DriverFault.INVALID_HANDLE;
      case Codes.NOT_SUPPORTED, Codes.NOT_FOUND -> DriverFault.NOT_SUPPORTED;
      case Codes.NOT_PERMITTED -> DriverFault.NOT_PERMITTED;
      case Codes.ILLEGAL_ADDRESS, Codes.LAUNCH_FAILED -> DriverFault.DEVICE_LOST;
      case Codes.NOT_INITIALIZED, Codes.DEINITIALIZED -> DriverFault.SHUTTING_DOWN;
      default ->
          code >= Codes.STREAM_CAPTURE_UNSUPPORTED && code <= Codes.STREAM_CAPTURE_WRONG_THREAD
              ? DriverFault.CAPTURE
              : DriverFault.OTHER;
    };
  }
}
