package io.holdfast.backend.cuda;

import static io.holdfast.backend.cuda.CudaConstants.CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.DeviceFacts;
import io.holdfast.spi.DevicePort;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;

/** The accelerator port over a started CUDA driver, whichever binding makes the calls. */
final class CudaDriver implements AcceleratorDriver {
  private static final int NAME_BYTES = 256;

  // dddd:bb:dd.f and its zero byte are 13; some drivers write domains of eight digits.
  private static final int PCI_BYTES = 32;

  private static final int UUID_BYTES = 16;

  private final CudaCalls calls;
  private final int version;
  private final Optional<KernelModule> module;
  private final long basePageBytes;
  private final CallFrames frames;

  /**
   * A driver that answered 0 to cuInit.
   *
   * @param calls the binding
   * @param version as cuDriverGetVersion counts
   * @param module the kernel module, where it can be read
   * @param basePageBytes the operating system's page
   */
  CudaDriver(CudaCalls calls, int version, Optional<KernelModule> module, long basePageBytes) {
    this.calls = calls;
    this.version = version;
    this.module = module;
    this.basePageBytes = basePageBytes;
    this.frames = new CallFrames(calls);
  }

  @Override
  public String version() {
    return "CUDA driver "
        + CudaLoader.versionWords(version)
        + module.map(known -> ", kernel module " + known.version()).orElse("")
        + ", "
        + calls.describe();
  }

  @Override
  public List<DeviceFacts> devices() {
    List<DeviceFacts> devices = new ArrayList<>();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment number = arena.allocate(JAVA_INT);
      CallFrame frame = frames.enter(0);
      try {
        CudaErrors.check(calls, "cuDeviceGetCount", calls.cuDeviceGetCount(number));
        int count = number.get(JAVA_INT, 0);
        for (int ordinal = 0; ordinal < count; ordinal++) {
          devices.add(facts(ordinal, arena));
        }
      } finally {
        frames.leave(frame);
      }
    }
    return devices;
  }

  private DeviceFacts facts(int ordinal, Arena arena) {
    int device = device(ordinal, arena);
    MemorySegment name = arena.allocate(NAME_BYTES);
    CudaErrors.check(calls, "cuDeviceGetName", calls.cuDeviceGetName(name, device));
    MemorySegment uuid = arena.allocate(UUID_BYTES);
    int uuidCode = calls.cuDeviceGetUuid_v2(uuid, device);
    MemorySegment pci = arena.allocate(PCI_BYTES);
    int pciCode = calls.cuDeviceGetPCIBusId(pci, device);
    MemorySegment bytes = arena.allocate(JAVA_LONG);
    CudaErrors.check(calls, "cuDeviceTotalMem_v2", calls.cuDeviceTotalMem_v2(bytes, device));
    int node =
        attribute(calls, arena.allocate(JAVA_INT), CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, device, -1);
    return new DeviceFacts(
        ordinal,
        name.getString(0),
        uuidCode == 0 ? uuidText(uuid) : "",
        // sysfs has lower case, and the driver does not promise either
        pciCode == 0 ? pci.getString(0).toLowerCase(Locale.ROOT) : "",
        bytes.get(JAVA_LONG, 0),
        node < 0 ? OptionalInt.empty() : OptionalInt.of(node));
  }

  /** The 16 bytes in the form that nvidia-smi and CUDA_VISIBLE_DEVICES use. */
  private static String uuidText(MemorySegment uuid) {
    String digits = HexFormat.of().formatHex(uuid.toArray(JAVA_BYTE));
    return "GPU-"
        + String.join(
            "-",
            digits.substring(0, 8),
            digits.substring(8, 12),
            digits.substring(12, 16),
            digits.substring(16, 20),
            digits.substring(20));
  }

  private int device(int ordinal, Arena arena) {
    MemorySegment device = arena.allocate(JAVA_INT);
    CudaErrors.check(calls, "cuDeviceGet", calls.cuDeviceGet(device, ordinal));
    return device.get(JAVA_INT, 0);
  }

  @Override
  public DevicePort open(int ordinal) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment context = arena.allocate(JAVA_LONG);
      int device;
      CallFrame frame = frames.enter(0);
      try {
        device = device(ordinal, arena);
        CudaErrors.check(
            calls, "cuDevicePrimaryCtxRetain", calls.cuDevicePrimaryCtxRetain(context, device));
      } finally {
        frames.leave(frame);
      }
      try {
        return new CudaDevicePort(
            this, device, context.get(JAVA_LONG, 0), CudaDevicePort.Ownership.RETAINED);
      } catch (Throwable failure) {
        int _ = calls.cuDevicePrimaryCtxRelease_v2(device);
        throw failure;
      }
    }
  }

  @Override
  public DevicePort openOn(int ordinal, long contextHandle) {
    if (contextHandle == 0) {
      throw new IllegalArgumentException("a context's handle is not 0");
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment number = arena.allocate(JAVA_INT);
      int device;
      CallFrame frame = frames.enter(contextHandle);
      try {
        device = device(ordinal, arena);
        CudaErrors.check(calls, "cuCtxGetDevice", calls.cuCtxGetDevice(number));
      } finally {
        frames.leave(frame);
      }
      if (number.get(JAVA_INT, 0) != device) {
        throw new IllegalArgumentException(
            "context 0x"
                + Long.toHexString(contextHandle)
                + " belongs to device "
                + number.get(JAVA_INT, 0)
                + ", not to "
                + ordinal);
      }
      return new CudaDevicePort(this, device, contextHandle, CudaDevicePort.Ownership.THEIRS);
    }
  }

  /** Nothing: a driver that was started stays for the life of the process. */
  @Override
  public void close() {}

  CudaCalls calls() {
    return calls;
  }

  CallFrames frames() {
    return frames;
  }

  int driverVersion() {
    return version;
  }

  Optional<KernelModule> module() {
    return module;
  }

  long basePageBytes() {
    return basePageBytes;
  }

  /** An attribute's value; a driver that does not know the attribute makes it the other. */
  static int attribute(
      CudaCalls calls, MemorySegment into, int attribute, int device, int otherwise) {
    return calls.cuDeviceGetAttribute(into, attribute, device) == 0
        ? into.get(JAVA_INT, 0)
        : otherwise;
  }
}
