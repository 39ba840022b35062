package io.holdfast.backend.hip;

import static io.holdfast.backend.hip.HipConstants.HIP_DEVICE_ATTRIBUTE_HOST_NUMA_ID;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.error.UnsupportedException;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.DeviceFacts;
import io.holdfast.spi.DevicePort;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;

/**
 * The accelerator port over a started HIP runtime.
 *
 * <p>Devices are listed as the runtime lists them: a package of several dies is one device or many
 * by the machine's partition mode, and links between devices (XGMI) make no difference here.
 */
final class HipDriver implements AcceleratorDriver {
  private static final int NAME_BYTES = 256;

  // dddd:bb:dd.f and its zero byte are 13; lengths of 12 and less are refused from 6 on.
  private static final int PCI_BYTES = 32;

  private static final int UUID_BYTES = 16;

  private final HipBindings hip;
  private final HipVersion version;
  private final KernelWish kernels;
  private final HipFrames frames;
  private final HipRegistrations registrations = new HipRegistrations();

  /** Whether copies by the device's own cores are wanted. */
  enum KernelWish {
    /** They have not run on AMD hardware that we know of. */
    OFF,
    /** Asked for. */
    ON
  }

  /**
   * A runtime that counted devices.
   *
   * @param hip the binding
   * @param version the runtime's
   * @param kernels whether to compile the copy kernels
   */
  HipDriver(HipBindings hip, HipVersion version, KernelWish kernels) {
    this.hip = hip;
    this.version = version;
    this.kernels = kernels;
    this.frames = new HipFrames(hip);
  }

  @Override
  public String version() {
    return "HIP runtime " + version.words() + ", " + hip.describe();
  }

  @Override
  public List<DeviceFacts> devices() {
    List<DeviceFacts> devices = new ArrayList<>();
    HipFrame frame = frames.enter(HipFrame.ANY_DEVICE);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment number = arena.allocate(JAVA_INT);
      check("hipGetDeviceCount", hip.hipGetDeviceCount(number));
      int count = number.get(JAVA_INT, 0);
      for (int ordinal = 0; ordinal < count; ordinal++) {
        devices.add(facts(ordinal, arena));
      }
    } finally {
      frames.leave(frame, 0);
    }
    return devices;
  }

  private DeviceFacts facts(int ordinal, Arena arena) {
    MemorySegment name = arena.allocate(NAME_BYTES);
    check("hipDeviceGetName", hip.hipDeviceGetName(name, ordinal));
    MemorySegment uuid = arena.allocate(UUID_BYTES);
    int uuidCode = forgiven(hip.hipDeviceGetUuid(uuid, ordinal));
    MemorySegment pci = arena.allocate(PCI_BYTES);
    int pciCode = forgiven(hip.hipDeviceGetPCIBusId(pci, ordinal));
    MemorySegment bytes = arena.allocate(JAVA_LONG);
    check("hipDeviceTotalMem", hip.hipDeviceTotalMem(bytes, ordinal));
    MemorySegment number = arena.allocate(JAVA_INT);
    int node =
        version.knowsHostNode()
            ? attribute(number, HIP_DEVICE_ATTRIBUTE_HOST_NUMA_ID, ordinal, -1)
            : -1;
    return new DeviceFacts(
        ordinal,
        name.getString(0),
        uuidCode == 0 ? uuidText(uuid.toArray(JAVA_BYTE)) : "",
        pciCode == 0 ? pci.getString(0).toLowerCase(Locale.ROOT) : "",
        bytes.get(JAVA_LONG, 0),
        node < 0 ? OptionalInt.empty() : OptionalInt.of(node));
  }

  /**
   * In the form that ROCR_VISIBLE_DEVICES takes: the runtime gives the 16 hexadecimal digits as
   * text. Other bytes are a true UUID.
   */
  static String uuidText(byte[] uuid) {
    boolean text = true;
    for (byte one : uuid) {
      text &= Character.digit(one, 16) >= 0;
    }
    if (text) {
      return "GPU-" + new String(uuid, StandardCharsets.US_ASCII);
    }
    String digits = HexFormat.of().formatHex(uuid);
    return "GPU-"
        + String.join(
            "-",
            digits.substring(0, 8),
            digits.substring(8, 12),
            digits.substring(12, 16),
            digits.substring(16, 20),
            digits.substring(20));
  }

  /** The runtime's one context of a device needs no retaining: opening makes no call but looks. */
  @Override
  public DevicePort open(int ordinal) {
    HipFrame frame = frames.enter(HipFrame.ANY_DEVICE);
    try {
      check("hipDeviceTotalMem(" + ordinal + ")", hip.hipDeviceTotalMem(frame.first, ordinal));
    } finally {
      frames.leave(frame, 0);
    }
    return new HipDevicePort(this, ordinal);
  }

  @Override
  public DevicePort openOn(int ordinal, long contextHandle) {
    throw new UnsupportedException(
        "an engine's own context",
        "HIP has one context for each device",
        "Open the device instead");
  }

  /** Nothing: a runtime that was started stays for the life of the process. */
  @Override
  public void close() {}

  HipBindings hip() {
    return hip;
  }

  HipVersion hipVersion() {
    return version;
  }

  KernelWish kernels() {
    return kernels;
  }

  HipFrames frames() {
    return frames;
  }

  HipRegistrations registrations() {
    return registrations;
  }

  /** An attribute's value; a runtime that does not know the attribute makes it the other. */
  int attribute(MemorySegment into, int attribute, int device, int otherwise) {
    return forgiven(hip.hipDeviceGetAttribute(into, attribute, device)) == 0
        ? into.get(JAVA_INT, 0)
        : otherwise;
  }

  /** A failure that is handled here must not stay as this thread's last error. */
  private int forgiven(int code) {
    if (code != 0) {
      int _ = hip.hipGetLastError();
    }
    return code;
  }

  private void check(String call, int code) {
    if (forgiven(code) != 0) {
      throw HipErrors.failure(hip, call, code);
    }
  }
}
