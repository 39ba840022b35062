package io.holdfast.backend.cuda;

import static io.holdfast.backend.cpusim.driver.Codes.INVALID_HANDLE;
import static io.holdfast.backend.cpusim.driver.Codes.INVALID_VALUE;
import static io.holdfast.backend.cpusim.driver.Codes.NOT_SUPPORTED;
import static io.holdfast.backend.cpusim.driver.Codes.SUCCESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.holdfast.backend.cpusim.driver.Codes;
import io.holdfast.backend.cpusim.driver.DeviceSpec;
import io.holdfast.backend.cpusim.driver.Family;
import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.backend.cpusim.shim.CMemory;
import io.holdfast.backend.cpusim.shim.Descriptors;
import io.holdfast.backend.cpusim.shim.ExportTable;
import io.holdfast.backend.cpusim.shim.Words;
import io.holdfast.spi.CopyTable;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntSupplier;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The exports of {@code libcuda.so.1} over a simulated driver: what C passes is taken apart, the
 * simulator answers, and what C wants back is written where it wants it.
 *
 * <p>Of the driver's rules only those are here that the simulator cannot see: bytes of a struct
 * that must be zero, flags that must be 0.
 */
final class CudaExports {
  private static final int NO_NAME = INVALID_VALUE;
  private static final int POSIX_FD = 1;
  private static final int FABRIC = 8;
  private static final int DMA_BUF_FD = 1;
  private static final int UUID_BYTES = 16;
  private static final int PCI_BYTES = 13;

  /** What the driver says of a code, as far as the simulator answers it. */
  private static final Map<Integer, String> TEXTS =
      Map.ofEntries(
          Map.entry(SUCCESS, "no error"),
          Map.entry(INVALID_VALUE, "invalid argument"),
          Map.entry(Codes.OUT_OF_MEMORY, "out of memory"),
          Map.entry(Codes.NOT_INITIALIZED, "initialization error"),
          Map.entry(Codes.DEINITIALIZED, "driver shutting down"),
          Map.entry(Codes.NO_DEVICE, "no CUDA-capable device is detected"),
          Map.entry(Codes.INVALID_DEVICE, "invalid device ordinal"),
          Map.entry(Codes.INVALID_CONTEXT, "invalid device context"),
          Map.entry(INVALID_HANDLE, "invalid resource handle"),
          Map.entry(Codes.NOT_FOUND, "named symbol not found"),
          Map.entry(Codes.NOT_READY, "device not ready"),
          Map.entry(Codes.ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
          Map.entry(
              Codes.HOST_MEMORY_ALREADY_REGISTERED,
              "part or all of the requested memory range is already mapped"),
          Map.entry(
              Codes.HOST_MEMORY_NOT_REGISTERED,
              "pointer does not correspond to a registered memory region"),
          Map.entry(Codes.LAUNCH_FAILED, "unspecified launch failure"),
          Map.entry(NOT_SUPPORTED, "operation not supported"));

  private static final int PROC_FOUND = 0;
  private static final int PROC_NOT_FOUND = 1;
  private static final int PROC_TOO_NEW = 2;

  /** Forms that came late enough to matter, and the driver version that brought them. */
  private static final Map<String, Integer> SINCE =
      Map.of("cuMemcpyBatchAsync", 12_080, "cuMemcpyBatchAsync_v2", 13_000);

  private final SimDriver driver;
  private final Descriptors descriptors;
  private final CudaKernelLaunches launches;
  private final ToLongFunction<String> addresses;
  private final Map<Integer, Integer> primaryFlags = new ConcurrentHashMap<>();
  private final ExportTable table = new ExportTable(Codes.UNKNOWN);

  /**
   * The exports of a driver; those that its personality lacks are in the table all the same, and
   * hidden where the library is linked.
   *
   * @param driver who answers
   * @param launches what launches of our kernels are told to
   * @param addresses where an export lies, 0 for what the library does not show
   */
  CudaExports(SimDriver driver, CudaKernelLaunches launches, ToLongFunction<String> addresses) {
    this.driver = driver;
    this.addresses = addresses;
    this.launches = launches;
    this.descriptors = new Descriptors(driver);
    library();
    devices();
    contexts();
    hostMemory();
    deviceMemory();
    copies();
    streams();
    events();
    addresses();
    physicalMemory();
    kernels();
  }

  ExportTable table() {
    return table;
  }

  /** The simulator hears now of descriptors that were closed. */
  void sweep() {
    descriptors.sweep();
  }

  // ---- outputs: written where the call succeeded, and only there

  private interface Call {
    int into(long[] out);
  }

  private static int out64(Words w, int index, Call call) {
    long[] out = new long[1];
    if (w.isNull(index)) {
      return INVALID_VALUE;
    }
    int code = call.into(out);
    if (code == SUCCESS) {
      CMemory.putLong(w.int64(index), out[0]);
    }
    return code;
  }

  private static int out32(Words w, int index, Call call) {
    long[] out = new long[1];
    if (w.isNull(index)) {
      return INVALID_VALUE;
    }
    int code = call.into(out);
    if (code == SUCCESS) {
      CMemory.putInt(w.int64(index), (int) out[0]);
    }
    return code;
  }

  /** For calls of which the simulator makes a value or minus a code. */
  private static int answered(long[] out, long valueOrMinusCode) {
    out[0] = valueOrMinusCode;
    return valueOrMinusCode < 0 ? (int) -valueOrMinusCode : SUCCESS;
  }

  private static int zeroFlags(long flags, IntSupplier call) {
    return flags == 0 ? call.getAsInt() : INVALID_VALUE;
  }

  // ---- library and devices

  private void library() {
    table.put("cuInit", w -> driver.init(w.int32(0)));
    table.put(
        "cuDriverGetVersion",
        w -> {
          CMemory.putInt(w.int64(0), driver.driverGetVersion());
          return SUCCESS;
        });
    table.put("cuGetProcAddress_v2", this::procAddress);
    table.put("cuGetErrorName", w -> text(w, errorName(w.int32(0))));
    table.put("cuGetErrorString", w -> text(w, TEXTS.get(w.int32(0))));
  }

  /** The newest form of a name that the version asked for has. */
  private int procAddress(Words w) {
    String name = w.pointee(0).getString(0);
    int version = w.int32(2);
    int status = PROC_FOUND;
    long found = 0;
    if (version > driver.driverGetVersion() && driver.driverGetVersion() >= 13_000) {
      CMemory.putLong(w.int64(1), 0);
      return INVALID_VALUE;
    }
    if (name.matches(".*_v[0-9]+")) {
      status = PROC_NOT_FOUND;
    } else {
      for (String form : new String[] {name + "_v2", name}) {
        long address = addresses.applyAsLong(form);
        boolean old = version >= SINCE.getOrDefault(form, 0);
        found = found == 0 && old ? address : found;
        status = address != 0 && !old && found == 0 ? PROC_TOO_NEW : status;
      }
      status = found != 0 ? PROC_FOUND : status == PROC_TOO_NEW ? status : PROC_NOT_FOUND;
    }
    if (found != 0 || !w.isNull(4)) {
      CMemory.putLong(w.int64(1), found); // left alone where nobody asks for the status
    }
    CMemory.putInt(w.int64(4), status);
    return SUCCESS;
  }

  private static @Nullable String errorName(int code) {
    String name = Codes.name(Family.CUDA, code);
    return name.startsWith("CUDA_") ? name : null;
  }

  private static int text(Words w, @Nullable String text) {
    CMemory.putLong(w.int64(1), text == null ? 0 : CMemory.text(text));
    return text == null ? NO_NAME : SUCCESS;
  }

  private void devices() {
    table.put("cuDeviceGetCount", w -> out32(w, 0, driver::deviceGetCount));
    table.put("cuDeviceGet", w -> out32(w, 0, out -> driver.deviceGet(out, w.int32(1))));
    table.put(
        "cuDeviceGetName",
        w -> ofDevice(w, 2, it -> CMemory.putText(w.int64(0), w.int32(1), it.name())));
    table.put("cuDeviceGetUuid", w -> ofDevice(w, 1, it -> putUuid(w.pointee(0), it)));
    table.put("cuDeviceGetUuid_v2", w -> ofDevice(w, 1, it -> putUuid(w.pointee(0), it)));
    table.put(
        "cuDeviceTotalMem_v2",
        w -> ofDevice(w, 1, it -> CMemory.putLong(w.int64(0), it.totalBytes())));
    table.put(
        "cuDeviceGetAttribute",
        w -> out32(w, 0, out -> driver.deviceGetAttribute(out, w.int32(1), w.int32(2))));
    table.put(
        "cuDeviceGetPCIBusId",
        w ->
            w.int32(1) < PCI_BYTES
                ? INVALID_VALUE
                : ofDevice(w, 2, it -> CMemory.putText(w.int64(0), w.int32(1), pci(it))));
    table.put("cuDeviceGetByPCIBusId", w -> out32(w, 0, out -> byPci(out, w.pointee(1))));
    table.put(
        "cuDeviceCanAccessPeer",
        w ->
            out32(
                w,
                0,
                out -> {
                  int code = driver.deviceGet(out, w.int32(1));
                  code = code == SUCCESS ? driver.deviceGet(out, w.int32(2)) : code;
                  out[0] = w.int32(1) == w.int32(2) ? 0 : 1;
                  return code;
                }));
  }

  private interface OfDevice {
    void write(DeviceSpec device);
  }

  private int ofDevice(Words w, int index, OfDevice write) {
    long[] device = new long[1];
    int code = driver.deviceGet(device, w.int32(index));
    if (code == SUCCESS) {
      write.write(driver.deviceSpecs().get((int) device[0]));
    }
    return code;
  }

  private static void putUuid(MemorySegment into, DeviceSpec device) {
    String digits = device.uuid().replaceAll("^GPU-|-", "");
    byte[] bytes = HexFormat.of().parseHex(digits);
    MemorySegment.copy(bytes, 0, into, JAVA_BYTE, 0, UUID_BYTES);
  }

  /** In upper case, which a driver may use. */
  private static String pci(DeviceSpec device) {
    return device.pciAddress().isEmpty()
        ? "0000:00:00.0"
        : device.pciAddress().toUpperCase(java.util.Locale.ROOT);
  }

  private int byPci(long[] out, MemorySegment name) {
    String wanted = name.getString(0);
    int code = driver.deviceGetCount(out);
    for (int ordinal = 0; code == SUCCESS && ordinal < out[0]; ordinal++) {
      if (pci(driver.deviceSpecs().get(ordinal)).equalsIgnoreCase(wanted)) {
        return driver.deviceGet(out, ordinal);
      }
    }
    return code == SUCCESS ? INVALID_VALUE : code;
  }

  // ---- contexts

  private void contexts() {
    table.put(
        "cuDevicePrimaryCtxRetain",
        w -> out64(w, 0, out -> driver.primaryCtxRetain(out, w.int32(1))));
    table.put("cuDevicePrimaryCtxRelease_v2", w -> driver.primaryCtxRelease(w.int32(0)));
    table.put(
        "cuDevicePrimaryCtxGetState",
        w -> {
          int code = driver.deviceGet(new long[1], w.int32(0));
          if (code == SUCCESS) {
            CMemory.putInt(w.int64(1), primaryFlags.getOrDefault(w.int32(0), 0));
            CMemory.putInt(w.int64(2), driver.primaryCtxRetains(w.int32(0)) > 0 ? 1 : 0);
          }
          return code;
        });
    table.put(
        "cuDevicePrimaryCtxSetFlags_v2",
        w -> {
          int code = driver.deviceGet(new long[1], w.int32(0));
          if (code == SUCCESS) {
            primaryFlags.put(w.int32(0), w.int32(1));
          }
          return code;
        });
    table.put("cuCtxCreate_v2", w -> out64(w, 0, out -> driver.ctxCreate(out, w.int32(2))));
    table.put("cuCtxDestroy_v2", w -> driver.ctxDestroy(w.int64(0)));
    table.put("cuCtxSetCurrent", w -> driver.ctxSetCurrent(w.int64(0)));
    table.put("cuCtxGetCurrent", w -> out64(w, 0, out -> answered(out, driver.ctxGetCurrent())));
    table.put("cuCtxPushCurrent_v2", w -> driver.ctxPushCurrent(w.int64(0)));
    table.put(
        "cuCtxPopCurrent_v2",
        w -> {
          long[] out = new long[1];
          int code = driver.ctxPopCurrent(out);
          CMemory.putLong(code == SUCCESS ? w.int64(0) : 0, out[0]);
          return code;
        });
    table.put("cuCtxGetDevice", w -> out32(w, 0, driver::ctxGetDevice));
    table.put("cuCtxSynchronize", w -> driver.ctxSynchronize());
    table.put(
        "cuCtxGetStreamPriorityRange",
        w -> {
          long[] range = new long[2];
          int code = driver.streamPriorityRange(range);
          if (code == SUCCESS) {
            CMemory.putInt(w.int64(0), (int) range[0]);
            CMemory.putInt(w.int64(1), (int) range[1]);
          }
          return code;
        });
    table.put("cuCtxEnablePeerAccess", w -> driver.ctxEnablePeerAccess(w.int64(0), w.int32(1)));
    table.put(
        "cuThreadExchangeStreamCaptureMode",
        w ->
            out32(
                w,
                0,
                out -> {
                  int wanted = w.pointee(0).get(JAVA_INT_UNALIGNED, 0);
                  return answered(out, driver.threadExchangeStreamCaptureMode(wanted));
                }));
  }

  // ---- memory

  private void hostMemory() {
    table.put(
        "cuMemHostRegister_v2", w -> driver.memHostRegister(w.int64(0), w.int64(1), w.int32(2)));
    table.put("cuMemHostUnregister", w -> driver.memHostUnregister(w.int64(0)));
    table.put(
        "cuMemHostAlloc",
        w -> out64(w, 0, out -> driver.memHostAlloc(out, w.int64(1), w.int32(2))));
    table.put("cuMemFreeHost", w -> driver.memFreeHost(w.int64(0)));
    table.put(
        "cuMemHostGetDevicePointer_v2",
        w ->
            zeroFlags(
                w.int32(2),
                () -> out64(w, 0, out -> driver.memHostGetDevicePointer(out, w.int64(1)))));
    table.put(
        "cuMemHostGetFlags", w -> out32(w, 0, out -> driver.memHostGetFlags(out, w.int64(1))));
  }

  private void deviceMemory() {
    table.put(
        "cuMemGetInfo_v2",
        w -> {
          long[] info = new long[2];
          int code = driver.memGetInfo(info);
          if (code == SUCCESS) {
            CMemory.putLong(w.int64(0), info[0]);
            CMemory.putLong(w.int64(1), info[1]);
          }
          return code;
        });
    table.put("cuMemAlloc_v2", w -> out64(w, 0, out -> driver.memAlloc(out, w.int64(1))));
    table.put("cuMemFree_v2", w -> driver.memFree(w.int64(0)));
    table.put("cuMemAllocAsync", w -> out64(w, 0, out -> driver.memAlloc(out, w.int64(1))));
    table.put("cuMemFreeAsync", w -> driver.memFree(w.int64(0)));
    table.put(
        "cuMemGetAddressRange_v2",
        w -> {
          long[] range = new long[2];
          int code = driver.memGetAddressRange(range, w.int64(2));
          if (code == SUCCESS) {
            CMemory.putLong(w.int64(0), range[0]);
            CMemory.putLong(w.int64(1), range[1]);
          }
          return code;
        });
    table.put(
        "cuPointerGetAttribute",
        w -> {
          long[] value = new long[1];
          int code = driver.pointerGetAttribute(value, w.int32(1), w.int64(2));
          if (code == SUCCESS) {
            putAttribute(w.int64(0), w.int32(1), value[0]);
          }
          return code;
        });
    table.put(
        "cuPointerGetAttributes",
        w -> {
          for (int i = 0; i < w.int32(0); i++) {
            int attribute = w.pointee(1).getAtIndex(JAVA_INT_UNALIGNED, i);
            long[] value = new long[1]; // stays 0 where the pointer is unknown
            int code = driver.pointerGetAttribute(value, attribute, w.int64(3));
            if (code != SUCCESS && code != INVALID_VALUE) {
              return code;
            }
            putAttribute(w.pointee(2).getAtIndex(JAVA_LONG_UNALIGNED, i), attribute, value[0]);
          }
          return SUCCESS;
        });
  }

  /** An attribute's value in the width that it has. */
  private static void putAttribute(long address, int attribute, long value) {
    switch (attribute) {
      case 1, 3, 4, 11, 12 -> CMemory.putLong(address, value);
      case 8, 10, 13, 15 -> CMemory.at(address).set(JAVA_BYTE, 0, (byte) value);
      default -> CMemory.putInt(address, (int) value);
    }
  }

  // ---- copies

  private void copies() {
    ExportTable.Export now = w -> driver.memcpy(w.int64(0), w.int64(1), w.int64(2));
    for (String name :
        new String[] {"cuMemcpy", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2"}) {
      table.put(name, now);
    }
    table.put(
        "cuMemcpyAsync", w -> driver.memcpyAsync(w.int64(0), w.int64(1), w.int64(2), w.int64(3)));
    table.put(
        "cuMemcpyHtoDAsync_v2",
        w -> driver.memcpyHtoDAsync(w.int64(0), w.int64(1), w.int64(2), w.int64(3)));
    table.put(
        "cuMemcpyDtoHAsync_v2",
        w -> driver.memcpyDtoHAsync(w.int64(0), w.int64(1), w.int64(2), w.int64(3)));
    table.put(
        "cuMemcpyDtoDAsync_v2",
        w -> driver.memcpyDtoDAsync(w.int64(0), w.int64(1), w.int64(2), w.int64(3)));
    table.put(
        "cuMemcpyPeerAsync",
        w -> driver.memcpyAsync(w.int64(0), w.int64(2), w.int64(4), w.int64(5)));
    table.put("cuMemcpy2DAsync_v2", w -> rectangle(w.pointee(0), w.int64(1)));
    table.put("cuMemcpyBatchAsync", w -> batch(w, w.int64(7), w.int64(8)));
    table.put("cuMemcpyBatchAsync_v2", w -> batch(w, 0, w.int64(7)));
    table.put(
        "cuMemsetD8_v2", w -> driver.memsetD8Async(w.int64(0), (byte) w.int32(1), w.int64(2), 0));
    table.put(
        "cuMemsetD8Async",
        w -> driver.memsetD8Async(w.int64(0), (byte) w.int32(1), w.int64(2), w.int64(3)));
    table.put("cuMemsetD32_v2", w -> driver.memsetD32Async(w.int64(0), w.int32(1), w.int64(2), 0));
    table.put(
        "cuMemsetD32Async",
        w -> driver.memsetD32Async(w.int64(0), w.int32(1), w.int64(2), w.int64(3)));
  }

  private int rectangle(MemorySegment c, long stream) {
    long source = end(c, 16, 24, 32, 0, 8, 48);
    long target = end(c, 72, 80, 88, 56, 64, 104);
    if (source == 0 || target == 0) {
      return INVALID_VALUE;
    }
    return driver.memcpy2DAsync(
        target, word(c, 104), source, word(c, 48), word(c, 112), word(c, 120), stream);
  }

  /** Where one side of CUDA_MEMCPY2D begins, or 0 where its memory type is none that we have. */
  private static long end(
      MemorySegment c, long type, long host, long device, long x, long y, long pitch) {
    long base =
        switch (c.get(JAVA_INT_UNALIGNED, type)) {
          case 1 -> word(c, host);
          case 2, 4 -> word(c, device);
          default -> 0;
        };
    return base == 0 ? 0 : base + word(c, y) * word(c, pitch) + word(c, x);
  }

  private static long word(MemorySegment struct, long offset) {
    return struct.get(JAVA_LONG_UNALIGNED, offset);
  }

  /** Both forms: the older one names the row at fault, where a pointer for it is given. */
  private int batch(Words w, long failed, long stream) {
    long rows = w.int64(3);
    int attributes = (int) Math.min(w.int64(6), 1 << 16);
    int[] orders = new int[attributes];
    int[] flags = new int[attributes];
    long[] firstRows = new long[attributes];
    for (int i = 0; i < attributes; i++) {
      long at = i * CudaLayouts.COPY_ATTRIBUTES.byteSize();
      orders[i] = w.pointee(4).get(JAVA_INT_UNALIGNED, at);
      flags[i] = w.pointee(4).get(JAVA_INT_UNALIGNED, at + 20);
      firstRows[i] = w.pointee(5).getAtIndex(JAVA_LONG_UNALIGNED, i);
    }
    long bytes = Math.max(rows, 1) * Long.BYTES;
    CopyTable table =
        new CopyTable(
            w.pointee(0).asSlice(0, bytes),
            w.pointee(1).asSlice(0, bytes),
            w.pointee(2).asSlice(0, bytes),
            CopyTable.Direction.HOST_TO_DEVICE);
    long[] failedRow = new long[1];
    int code = driver.memcpyBatchAsync(table, 0, rows, orders, flags, firstRows, failedRow, stream);
    CMemory.putLong(failed, failedRow[0]);
    return code;
  }

  // ---- streams, captures, events

  private void streams() {
    table.put("cuStreamCreate", w -> out64(w, 0, out -> driver.streamCreate(out, w.int32(1), 0)));
    table.put(
        "cuStreamCreateWithPriority",
        w -> out64(w, 0, out -> driver.streamCreate(out, w.int32(1), w.int32(2))));
    table.put("cuStreamDestroy_v2", w -> driver.streamDestroy(w.int64(0)));
    table.put("cuStreamSynchronize", w -> driver.streamSynchronize(w.int64(0)));
    table.put("cuStreamQuery", w -> driver.streamQuery(w.int64(0)));
    table.put(
        "cuStreamWaitEvent",
        w ->
            (w.int32(2) & ~1) == 0
                ? driver.streamWaitEvent(w.int64(0), w.int64(1))
                : INVALID_VALUE);
    table.put("cuStreamGetCtx", w -> out64(w, 1, out -> driver.streamGetCtx(w.int64(0), out)));
    table.put(
        "cuStreamIsCapturing",
        w -> out32(w, 1, out -> answered(out, driver.streamIsCapturing(w.int64(0)))));
    table.put("cuStreamBeginCapture_v2", w -> driver.streamBeginCapture(w.int64(0), w.int32(1)));
    table.put(
        "cuStreamEndCapture",
        w -> {
          long[] graph = new long[1]; // stays null where the capture was broken
          int code = driver.streamEndCapture(w.int64(0), graph);
          CMemory.putLong(w.int64(1), graph[0]);
          return code;
        });
    table.put("cuGraphDestroy", w -> driver.graphDestroy(w.int64(0)));
    table.put(
        "cuLaunchHostFunc",
        w ->
            w.isNull(1)
                ? INVALID_VALUE
                : driver.launchHostFunc(w.int64(0), CMemory.function(w.int64(1), w.int64(2))));
  }

  private void events() {
    table.put("cuEventCreate", w -> out64(w, 0, out -> driver.eventCreate(out, w.int32(1))));
    table.put("cuEventDestroy_v2", w -> driver.eventDestroy(w.int64(0)));
    table.put("cuEventRecord", w -> driver.eventRecord(w.int64(0), w.int64(1)));
    table.put("cuEventQuery", w -> driver.eventQuery(w.int64(0)));
    table.put("cuEventSynchronize", w -> driver.eventSynchronize(w.int64(0)));
    table.put(
        "cuEventElapsedTime",
        w ->
            out32(
                w,
                0,
                out -> {
                  int code = driver.eventElapsedNanos(out, w.int64(1), w.int64(2));
                  out[0] = Float.floatToRawIntBits(out[0] / 1e6f);
                  return code;
                }));
  }

  // ---- virtual memory

  private void addresses() {
    table.put(
        "cuMemAddressReserve",
        w ->
            out64(
                w,
                0,
                out ->
                    driver.memAddressReserve(out, w.int64(1), w.int64(2), w.int64(3), w.int64(4))));
    table.put("cuMemAddressFree", w -> driver.memAddressFree(w.int64(0), w.int64(1)));
    table.put(
        "cuMemMap", w -> driver.memMap(w.int64(0), w.int64(1), w.int64(2), w.int64(3), w.int64(4)));
    table.put("cuMemUnmap", w -> driver.memUnmap(w.int64(0), w.int64(1)));
    table.put("cuMemSetAccess", this::setAccess);
    table.put(
        "cuMemGetAccess",
        w ->
            out64(
                w,
                0,
                out ->
                    driver.memGetAccess(
                        out,
                        w.pointee(1).get(JAVA_INT_UNALIGNED, 0),
                        w.pointee(1).get(JAVA_INT_UNALIGNED, 4),
                        w.int64(2))));
    table.put(
        "cuMemGetHandleForAddressRange",
        w ->
            w.int32(3) != DMA_BUF_FD || (w.int64(4) & ~1L) != 0
                ? INVALID_VALUE
                : out32(
                    w,
                    0,
                    out ->
                        handedOut(
                            out,
                            driver.memGetHandleForAddressRange(out, w.int64(1), w.int64(2)),
                            "dma-buf")));
  }

  private int setAccess(Words w) {
    int code = w.int64(3) < 1 ? INVALID_VALUE : SUCCESS;
    for (long i = 0; i < w.int64(3) && code == SUCCESS; i++) {
      MemorySegment one =
          w.pointee(2)
              .asSlice(
                  i * CudaLayouts.ACCESS_DESCRIPTOR.byteSize(),
                  CudaLayouts.ACCESS_DESCRIPTOR.byteSize());
      code =
          driver.memSetAccess(
              w.int64(0),
              w.int64(1),
              one.get(JAVA_INT_UNALIGNED, CudaLayouts.ACCESS_LOCATION_TYPE),
              one.get(JAVA_INT_UNALIGNED, CudaLayouts.ACCESS_LOCATION_ID),
              one.get(JAVA_INT_UNALIGNED, CudaLayouts.ACCESS_FLAGS));
    }
    return code;
  }

  private int handedOut(long[] out, int code, String label) {
    if (code == SUCCESS) {
      out[0] = descriptors.handOut((int) out[0], label);
    }
    return code;
  }

  private void physicalMemory() {
    table.put(
        "cuMemGetAllocationGranularity",
        w ->
            w.int32(2) >>> 1 != 0 || !wellFormed(w.pointee(1))
                ? INVALID_VALUE
                : out64(
                    w,
                    0,
                    out ->
                        driver.memGetAllocationGranularity(
                            out,
                            number(w, CudaLayouts.PROPERTIES_LOCATION_TYPE),
                            number(w, CudaLayouts.PROPERTIES_LOCATION_ID))));
    table.put("cuMemCreate", this::create);
    table.put("cuMemRelease", w -> driver.memRelease(w.int64(0)));
    table.put("cuMemExportToShareableHandle", this::export);
    table.put("cuMemImportFromShareableHandle", this::importHandle);
    table.put(
        "cuMemGetAllocationPropertiesFromHandle",
        w -> {
          long[] found = new long[5];
          int code = driver.memGetAllocationProperties(found, w.int64(1));
          if (code == SUCCESS) {
            MemorySegment into = w.pointee(0);
            into.asSlice(0, CudaLayouts.ALLOCATION_PROPERTIES.byteSize()).fill((byte) 0);
            into.set(JAVA_INT_UNALIGNED, CudaLayouts.PROPERTIES_TYPE, (int) found[0]);
            into.set(JAVA_INT_UNALIGNED, CudaLayouts.PROPERTIES_HANDLE_TYPES, (int) found[1]);
            into.set(JAVA_INT_UNALIGNED, CudaLayouts.PROPERTIES_LOCATION_TYPE, (int) found[2]);
            into.set(JAVA_INT_UNALIGNED, CudaLayouts.PROPERTIES_LOCATION_ID, (int) found[3]);
            into.set(JAVA_BYTE, CudaLayouts.PROPERTIES_RDMA, (byte) found[4]);
          }
          return code;
        });
    table.put(
        "cuMemRetainAllocationHandle",
        w -> out64(w, 0, out -> driver.memRetainAllocationHandle(out, w.int64(1))));
  }

  private static int number(Words w, long offset) {
    return w.pointee(1).get(JAVA_INT_UNALIGNED, offset);
  }

  /** What cuda.h reserves is zero, and there are no Windows, compression or usage here. */
  private static boolean wellFormed(MemorySegment properties) {
    return CMemory.isZero(properties, 16, 9) && CMemory.isZero(properties, 26, 6);
  }

  private int create(Words w) {
    MemorySegment properties = w.pointee(2);
    if (!wellFormed(properties)) {
      return INVALID_VALUE;
    }
    return zeroFlags(
        w.int64(3),
        () ->
            out64(
                w,
                0,
                out ->
                    driver.memCreate(
                        out,
                        w.int64(1),
                        properties.get(JAVA_INT_UNALIGNED, CudaLayouts.PROPERTIES_TYPE),
                        properties.get(JAVA_INT_UNALIGNED, CudaLayouts.PROPERTIES_HANDLE_TYPES),
                        properties.get(JAVA_INT_UNALIGNED, CudaLayouts.PROPERTIES_LOCATION_TYPE),
                        properties.get(JAVA_INT_UNALIGNED, CudaLayouts.PROPERTIES_LOCATION_ID),
                        properties.get(JAVA_BYTE, CudaLayouts.PROPERTIES_RDMA))));
  }

  private int export(Words w) {
    return zeroFlags(
        w.int64(3),
        () ->
            switch (w.int32(2)) {
              case POSIX_FD ->
                  out32(
                      w,
                      0,
                      out ->
                          handedOut(
                              out,
                              driver.memExportToDescriptor(out, w.int64(1)),
                              "simulated memory"));
              case FABRIC -> {
                long[] words = new long[8];
                int code = driver.memExportToFabric(words, w.int64(1));
                for (int i = 0; i < words.length && code == SUCCESS; i++) {
                  CMemory.putLong(w.int64(0) + (long) i * Long.BYTES, words[i]);
                }
                yield code;
              }
              default -> INVALID_VALUE;
            });
  }

  private int importHandle(Words w) {
    return switch (w.int32(2)) {
      case POSIX_FD ->
          out64(
              w,
              0,
              out -> driver.memImportFromDescriptor(out, descriptors.behind((int) w.int64(1))));
      case FABRIC -> {
        long[] words = new long[8];
        for (int i = 0; i < words.length; i++) {
          words[i] = w.pointee(1).getAtIndex(JAVA_LONG_UNALIGNED, i);
        }
        yield out64(w, 0, out -> driver.memImportFromFabric(out, words));
      }
      default -> INVALID_VALUE;
    };
  }

  // ---- kernels

  private void kernels() {
    table.put(
        "cuModuleLoadData",
        w ->
            out64(
                w,
                0,
                out ->
                    driver.moduleLoadText(
                        out, w.pointee(1).getString(0, StandardCharsets.ISO_8859_1))));
    table.put("cuModuleUnload", w -> driver.moduleUnload(w.int64(0)));
    table.put(
        "cuModuleGetFunction",
        w ->
            out64(
                w, 0, out -> driver.moduleGetFunction(out, w.int64(1), w.pointee(2).getString(0))));
    table.put("cuLaunchKernel", w -> launches.launch(driver, w));
  }
}
