package io.holdfast.backend.hip;

import static io.holdfast.backend.cpusim.driver.Codes.INVALID_COPY_KIND;
import static io.holdfast.backend.cpusim.driver.Codes.INVALID_DEVICE;
import static io.holdfast.backend.cpusim.driver.Codes.INVALID_VALUE;
import static io.holdfast.backend.cpusim.driver.Codes.NO_DEVICE;
import static io.holdfast.backend.cpusim.driver.Codes.SUCCESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.holdfast.backend.cpusim.driver.Codes;
import io.holdfast.backend.cpusim.driver.DeviceSpec;
import io.holdfast.backend.cpusim.driver.Family;
import io.holdfast.backend.cpusim.driver.Personality;
import io.holdfast.backend.cpusim.driver.Personality.ImportForm;
import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.backend.cpusim.shim.CMemory;
import io.holdfast.backend.cpusim.shim.Descriptors;
import io.holdfast.backend.cpusim.shim.ExportTable;
import io.holdfast.backend.cpusim.shim.Words;
import io.holdfast.spi.CopyTable;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.function.IntSupplier;

/**
 * The exports of {@code libamdhip64} over a simulated driver with the ways of one HIP version: what
 * C passes is taken apart, the simulator answers, and what C wants back is written where it wants
 * it.
 *
 * <p>Of the runtime's rules only those are here that the simulator cannot see: struct orders and
 * enums by version, the width of an attribute, kinds of copies, and that any call initialises.
 */
final class HipExports {
  private static final int POSIX_FD = 1;
  private static final int DMA_BUF_FD = 1;
  private static final int UUID_BYTES = 16;
  private static final int PCI_BYTES = 13;
  private static final int HIP_5_3 = 50_300_000;
  private static final int HIP_6_0 = 60_000_000;

  /** What 5.3 and later say of a code; 5.2 repeats its name. */
  private static final Map<Integer, String> TEXTS =
      Map.of(
          SUCCESS,
          "no error",
          INVALID_VALUE,
          "invalid argument",
          Codes.OUT_OF_MEMORY,
          "out of memory",
          NO_DEVICE,
          "no ROCm-capable device is detected",
          INVALID_DEVICE,
          "invalid device ordinal",
          Codes.INVALID_HANDLE,
          "invalid resource handle",
          Codes.NOT_READY,
          "device not ready",
          Codes.HOST_MEMORY_NOT_REGISTERED,
          "pointer does not correspond to a registered memory region",
          Codes.NOT_SUPPORTED,
          "operation not supported");

  private final SimDriver driver;
  private final int version;
  private final Personality personality;
  private final HipLayouts.Properties form;
  private final Descriptors descriptors;
  private final HipKernelLaunches launches;
  private final int startCode;
  private final ExportTable table = new ExportTable(Codes.UNKNOWN);

  /**
   * The exports of a runtime; those that its version lacks are in the table all the same, and
   * hidden where the library is linked.
   *
   * @param driver who answers
   * @param launches what launches of our kernels are told to
   */
  HipExports(SimDriver driver, HipKernelLaunches launches) {
    this.driver = driver;
    this.launches = launches;
    this.personality = driver.personality();
    this.version = personality.version();
    this.form = version >= HIP_5_3 ? HipLayouts.PROPERTIES : HipLayouts.PROPERTIES_5_2;
    this.descriptors = new Descriptors(driver);
    this.startCode = driver.init(0);
    errors();
    devices();
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

  // ---- how calls begin, and outputs: written where the call succeeded, and only there

  /** What every call but the versions' and the device count's says without a device. */
  private void put(String name, ExportTable.Export export) {
    table.put(name, w -> startCode == SUCCESS ? export.answer(w) : withoutDevice());
  }

  /** 5.x says that the device is wrong where later versions say that there is none. */
  private int withoutDevice() {
    return version >= HIP_6_0 ? NO_DEVICE : INVALID_DEVICE;
  }

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

  // ---- errors, library, devices

  private void errors() {
    table.put("hipGetErrorName", w -> CMemory.text(Codes.name(Family.HIP, w.int32(0))));
    table.put("hipGetErrorString", w -> CMemory.text(text(w.int32(0))));
    table.put("hipGetLastError", w -> startCode == SUCCESS ? driver.getLastError() : startCode);
    table.put(
        "hipPeekAtLastError", w -> startCode == SUCCESS ? driver.peekAtLastError() : startCode);
    put("hipInit", w -> zeroFlags(w.int32(0), () -> SUCCESS));
    for (String name : new String[] {"hipDriverGetVersion", "hipRuntimeGetVersion"}) {
      table.put(
          name,
          w -> {
            CMemory.putInt(w.int64(0), version);
            return SUCCESS;
          });
    }
  }

  private String text(int code) {
    String name = Codes.name(Family.HIP, code);
    return version < HIP_5_3 ? name : TEXTS.getOrDefault(code, name);
  }

  private void devices() {
    table.put(
        "hipGetDeviceCount",
        w -> {
          CMemory.putInt(w.int64(0), 0);
          return startCode == SUCCESS ? out32(w, 0, driver::deviceGetCount) : NO_DEVICE;
        });
    put("hipSetDevice", w -> driver.setDevice(w.int32(0)));
    put("hipGetDevice", w -> out32(w, 0, out -> answered(out, driver.getDevice())));
    put("hipDeviceGet", w -> out32(w, 0, out -> driver.deviceGet(out, w.int32(1))));
    put(
        "hipDeviceGetName",
        w -> ofDevice(w, 2, it -> CMemory.putText(w.int64(0), w.int32(1), it.name())));
    put("hipDeviceGetUuid", w -> ofDevice(w, 1, it -> putUuid(w.pointee(0), it)));
    put(
        "hipDeviceTotalMem",
        w -> ofDevice(w, 1, it -> CMemory.putLong(w.int64(0), it.totalBytes())));
    put(
        "hipDeviceGetAttribute",
        w -> out32(w, 0, out -> driver.deviceGetAttribute(out, w.int32(1), w.int32(2))));
    put(
        "hipDeviceGetPCIBusId",
        w ->
            w.int32(1) < PCI_BYTES
                ? INVALID_VALUE
                : ofDevice(w, 2, it -> CMemory.putText(w.int64(0), w.int32(1), it.pciAddress())));
    put("hipDeviceSynchronize", w -> driver.ctxSynchronize());
    put("hipDevicePrimaryCtxRetain", w -> out64(w, 0, out -> SUCCESS));
    put("hipDevicePrimaryCtxRelease", w -> SUCCESS);
    put("hipDevicePrimaryCtxSetFlags", w -> Codes.CONTEXT_IN_USE);
    put(
        "hipDeviceGetStreamPriorityRange",
        w -> {
          long[] range = new long[2];
          int code = driver.streamPriorityRange(range);
          if (code == SUCCESS) {
            CMemory.putInt(w.int64(0), (int) range[0]);
            CMemory.putInt(w.int64(1), (int) range[1]);
          }
          return code;
        });
    put(
        "hipThreadExchangeStreamCaptureMode",
        w ->
            out32(
                w,
                0,
                out -> {
                  int wanted = w.pointee(0).get(JAVA_INT_UNALIGNED, 0);
                  return answered(out, driver.threadExchangeStreamCaptureMode(wanted));
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

  /** 16 hexadecimal digits as text, as the runtime has it from the layer below. */
  private static void putUuid(MemorySegment into, DeviceSpec device) {
    String digits = device.uuid().replaceAll("^GPU-|-", "").substring(0, UUID_BYTES);
    MemorySegment.copy(
        digits.getBytes(StandardCharsets.US_ASCII), 0, into, JAVA_BYTE, 0, UUID_BYTES);
  }

  // ---- memory

  private void hostMemory() {
    put("hipHostRegister", w -> driver.memHostRegister(w.int64(0), w.int64(1), w.int32(2)));
    put("hipHostUnregister", w -> driver.memHostUnregister(w.int64(0)));
    put("hipHostMalloc", w -> out64(w, 0, out -> driver.memHostAlloc(out, w.int64(1), w.int32(2))));
    put("hipHostFree", w -> w.isNull(0) ? SUCCESS : driver.memFreeHost(w.int64(0)));
    put(
        "hipHostGetDevicePointer",
        w ->
            zeroFlags(
                w.int32(2),
                () -> out64(w, 0, out -> driver.memHostGetDevicePointer(out, w.int64(1)))));
  }

  private void deviceMemory() {
    put(
        "hipMemGetInfo",
        w -> {
          long[] info = new long[2];
          int code = driver.memGetInfo(info);
          if (code == SUCCESS) {
            CMemory.putLong(w.int64(0), info[0]);
            CMemory.putLong(w.int64(1), info[1]);
          }
          return code;
        });
    put("hipMalloc", w -> out64(w, 0, out -> driver.memAlloc(out, w.int64(1))));
    put("hipFree", w -> w.isNull(0) ? SUCCESS : driver.memFree(w.int64(0)));
    put("hipMemGetAddressRange", this::addressRange);
    put("hipPointerGetAttributes", this::pointerAttributes);
    put(
        "hipPointerGetAttribute",
        w -> {
          long[] value = new long[1];
          int code = driver.pointerGetAttribute(value, w.int32(1), w.int64(2));
          if (code == SUCCESS) {
            putAttribute(w.int64(0), w.int32(1), value[0]);
          }
          return code;
        });
  }

  /** Both outputs are written without a look at whether they are there. */
  private int addressRange(Words w) {
    if (w.isNull(0) || w.isNull(1)) {
      throw new io.holdfast.backend.cpusim.driver.SimulatedCrash(
          "hipMemGetAddressRange writes through a null pointer");
    }
    long[] range = new long[2];
    int code = driver.memGetAddressRange(range, w.int64(2));
    if (code == SUCCESS) {
      CMemory.putLong(w.int64(0), range[0]);
      CMemory.putLong(w.int64(1), range[1]);
    }
    return code;
  }

  private int pointerAttributes(Words w) {
    MemorySegment into = w.pointee(0).asSlice(0, HipLayouts.POINTER_ATTRIBUTES.byteSize());
    long[] type = new long[1];
    long[] device = new long[1];
    int code = driver.pointerGetAttribute(type, 2, w.int64(1));
    if (code == INVALID_VALUE && version >= HIP_6_0) {
      driver.getLastError(); // no failure there: such memory has a type of its own
      into.fill((byte) 0);
      into.set(JAVA_INT_UNALIGNED, HipLayouts.POINTER_DEVICE, -2);
      return SUCCESS;
    }
    code = code == SUCCESS ? driver.pointerGetAttribute(device, 9, w.int64(1)) : code;
    if (code == SUCCESS) {
      into.fill((byte) 0);
      into.set(JAVA_INT_UNALIGNED, HipLayouts.POINTER_TYPE, memoryType(type[0]));
      into.set(JAVA_INT_UNALIGNED, HipLayouts.POINTER_DEVICE, (int) device[0]);
    }
    return code;
  }

  /** The simulator counts 1 for the host and 2 for the device, as CUDA and HIP from 6.0 on. */
  private int memoryType(long type) {
    return (int) (version >= HIP_6_0 ? type : type - 1);
  }

  /**
   * An attribute's value in the width that the runtime writes: a range's size is cut to 32 bits.
   */
  private void putAttribute(long address, int attribute, long value) {
    switch (attribute) {
      case 1, 3, 4, 11 -> CMemory.putLong(address, value);
      case 8, 10, 13, 15 -> CMemory.at(address).set(JAVA_BYTE, 0, (byte) value);
      case 2 -> CMemory.putInt(address, memoryType(value));
      default -> CMemory.putInt(address, (int) value);
    }
  }

  // ---- copies

  private void copies() {
    put(
        "hipMemcpyHtoDAsync",
        w -> driver.memcpyHtoDAsync(w.int64(0), w.int64(1), w.int64(2), w.int64(3)));
    put(
        "hipMemcpyDtoHAsync",
        w -> driver.memcpyDtoHAsync(w.int64(0), w.int64(1), w.int64(2), w.int64(3)));
    put(
        "hipMemcpyDtoDAsync",
        w -> driver.memcpyDtoDAsync(w.int64(0), w.int64(1), w.int64(2), w.int64(3)));
    put(
        "hipMemcpy2DAsync",
        w ->
            w.int32(6) < 0 || w.int32(6) > 4
                ? INVALID_COPY_KIND
                : driver.memcpy2DAsync(
                    w.int64(0),
                    w.int64(1),
                    w.int64(2),
                    w.int64(3),
                    w.int64(4),
                    w.int64(5),
                    w.int64(7)));
    put("hipMemcpyBatchAsync", this::batch);
    put(
        "hipMemsetD8Async",
        w -> driver.memsetD8Async(w.int64(0), (byte) w.int32(1), w.int64(2), w.int64(3)));
  }

  private int batch(Words w) {
    long rows = w.int64(3);
    int attributes = (int) Math.min(w.int64(6), 1 << 16);
    int[] orders = new int[attributes];
    int[] flags = new int[attributes];
    long[] firstRows = new long[attributes];
    for (int i = 0; i < attributes; i++) {
      long at = i * HipLayouts.COPY_ATTRIBUTES.byteSize();
      orders[i] = w.pointee(4).get(JAVA_INT_UNALIGNED, at + HipLayouts.COPY_SOURCE_ORDER);
      flags[i] = w.pointee(4).get(JAVA_INT_UNALIGNED, at + 20);
      firstRows[i] = w.pointee(5).getAtIndex(JAVA_LONG_UNALIGNED, i);
    }
    long bytes = Math.max(rows, 1) * Long.BYTES;
    CopyTable columns =
        new CopyTable(
            w.pointee(0).asSlice(0, bytes),
            w.pointee(1).asSlice(0, bytes),
            w.pointee(2).asSlice(0, bytes),
            CopyTable.Direction.HOST_TO_DEVICE);
    long[] failedRow = new long[1];
    int code =
        driver.memcpyBatchAsync(columns, 0, rows, orders, flags, firstRows, failedRow, w.int64(8));
    if (failedRow[0] >= 0) {
      CMemory.putLong(w.int64(7), failedRow[0]); // left alone where no row is to blame
    }
    return code;
  }

  // ---- streams, captures, events

  private void streams() {
    put(
        "hipStreamCreateWithPriority",
        w -> out64(w, 0, out -> driver.streamCreate(out, w.int32(1), w.int32(2))));
    put("hipStreamDestroy", w -> driver.streamDestroy(w.int64(0)));
    put("hipStreamSynchronize", w -> driver.streamSynchronize(w.int64(0)));
    put("hipStreamQuery", w -> driver.streamQuery(w.int64(0)));
    put(
        "hipStreamWaitEvent",
        w -> zeroFlags(w.int32(2), () -> driver.streamWaitEvent(w.int64(0), w.int64(1))));
    put("hipStreamGetDevice", w -> out32(w, 1, out -> driver.streamGetDevice(w.int64(0), out)));
    put(
        "hipStreamIsCapturing",
        w -> out32(w, 1, out -> answered(out, driver.streamIsCapturing(w.int64(0)))));
    put("hipStreamBeginCapture", w -> driver.streamBeginCapture(w.int64(0), w.int32(1)));
    put(
        "hipStreamEndCapture",
        w -> {
          long[] graph = new long[1]; // stays null where the capture was broken
          int code = driver.streamEndCapture(w.int64(0), graph);
          CMemory.putLong(w.int64(1), graph[0]);
          return code;
        });
    put("hipGraphDestroy", w -> driver.graphDestroy(w.int64(0)));
    put(
        "hipLaunchHostFunc",
        w ->
            w.isNull(1)
                ? INVALID_VALUE
                : driver.launchHostFunc(w.int64(0), CMemory.function(w.int64(1), w.int64(2))));
    put(
        "hipStreamAddCallback",
        w ->
            w.isNull(1)
                ? INVALID_VALUE
                : zeroFlags(
                    w.int32(3),
                    () ->
                        driver.launchHostFunc(
                            w.int64(0),
                            CMemory.callback(w.int64(1), w.int64(0), SUCCESS, w.int64(2)))));
  }

  private void events() {
    put("hipEventCreateWithFlags", w -> out64(w, 0, out -> driver.eventCreate(out, w.int32(1))));
    put("hipEventDestroy", w -> driver.eventDestroy(w.int64(0)));
    put("hipEventRecord", w -> driver.eventRecord(w.int64(0), w.int64(1)));
    put("hipEventQuery", w -> driver.eventQuery(w.int64(0)));
    put("hipEventSynchronize", w -> driver.eventSynchronize(w.int64(0)));
    put(
        "hipEventElapsedTime",
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
    put(
        "hipMemAddressReserve",
        w -> {
          long[] out = new long[1];
          int code = driver.memAddressReserve(out, w.int64(1), w.int64(2), w.int64(3), w.int64(4));
          // Before 6.1 it answers 0 and writes nothing.
          CMemory.putLong(code == SUCCESS && out[0] != 0 ? w.int64(0) : 0, out[0]);
          return code;
        });
    put("hipMemAddressFree", w -> driver.memAddressFree(w.int64(0), w.int64(1)));
    put(
        "hipMemMap",
        w -> driver.memMap(w.int64(0), w.int64(1), w.int64(2), w.int64(3), w.int64(4)));
    put("hipMemUnmap", w -> driver.memUnmap(w.int64(0), w.int64(1)));
    put("hipMemSetAccess", this::setAccess);
    put(
        "hipMemGetHandleForAddressRange",
        w ->
            w.int32(3) != DMA_BUF_FD || w.int64(4) != 0
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
    long bytes = HipLayouts.ACCESS_DESCRIPTOR.byteSize();
    for (long i = 0; i < w.int64(3) && code == SUCCESS; i++) {
      MemorySegment one = w.pointee(2).asSlice(i * bytes, bytes);
      code =
          driver.memSetAccess(
              w.int64(0),
              w.int64(1),
              one.get(JAVA_INT_UNALIGNED, HipLayouts.ACCESS_LOCATION_TYPE),
              one.get(JAVA_INT_UNALIGNED, HipLayouts.ACCESS_LOCATION_ID),
              one.get(JAVA_INT_UNALIGNED, HipLayouts.ACCESS_FLAGS));
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
    put(
        "hipMemGetAllocationGranularity",
        w ->
            w.int32(2) >>> 1 != 0
                ? INVALID_VALUE
                : out64(
                    w,
                    0,
                    out ->
                        driver.memGetAllocationGranularity(
                            out,
                            w.pointee(1).get(JAVA_INT_UNALIGNED, form.locationType()),
                            w.pointee(1).get(JAVA_INT_UNALIGNED, form.locationId()))));
    put("hipMemCreate", this::create);
    put("hipMemRelease", w -> driver.memRelease(w.int64(0)));
    put(
        "hipMemExportToShareableHandle",
        w ->
            w.int64(3) != 0 || w.int32(2) != POSIX_FD
                ? INVALID_VALUE
                : out32(
                    w,
                    0,
                    out ->
                        handedOut(
                            out,
                            driver.memExportToDescriptor(out, w.int64(1)),
                            "simulated memory")));
    put("hipMemImportFromShareableHandle", this::importHandle);
  }

  private int create(Words w) {
    MemorySegment properties = w.pointee(2);
    int rdma = form.rdma() < 0 ? 0 : properties.get(JAVA_BYTE, form.rdma());
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
                        properties.get(JAVA_INT_UNALIGNED, form.type()),
                        properties.get(JAVA_INT_UNALIGNED, form.handleType()),
                        properties.get(JAVA_INT_UNALIGNED, form.locationType()),
                        properties.get(JAVA_INT_UNALIGNED, form.locationId()),
                        rdma)));
  }

  private int importHandle(Words w) {
    if (w.int32(2) != POSIX_FD) {
      return INVALID_VALUE;
    }
    int file =
        personality.vmm().importForm() == ImportForm.ADDRESS
            ? w.pointee(1).get(JAVA_INT_UNALIGNED, 0)
            : (int) w.int64(1);
    return out64(w, 0, out -> driver.memImportFromDescriptor(out, descriptors.behind(file)));
  }

  // ---- kernels

  private void kernels() {
    put(
        "hipModuleLoadData",
        w -> out64(w, 0, out -> driver.moduleLoad(out, launches.kernelsOf(w.int64(1)))));
    put("hipModuleUnload", w -> driver.moduleUnload(w.int64(0)));
    put(
        "hipModuleGetFunction",
        w ->
            out64(
                w, 0, out -> driver.moduleGetFunction(out, w.int64(1), w.pointee(2).getString(0))));
    put("hipModuleLaunchKernel", w -> launches.launch(driver, w));
    launches.compiler(table);
  }
}
