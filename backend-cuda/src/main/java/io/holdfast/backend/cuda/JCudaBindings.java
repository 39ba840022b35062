package io.holdfast.backend.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.function.IntSupplier;
import jcuda.CudaException;
import jcuda.JCudaVersion;
import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUDA_MEMCPY2D;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUuuid;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/**
 * The driver through JCuda 12.6, for processes that already call it that way.
 *
 * <p>Each call makes JCuda objects for its handles, since that is all that JCuda takes. What JCuda
 * lacks is a missing {@link CudaFeature}. An engine may have told JCuda to throw on failures; then
 * the code is won back from the exception.
 *
 * <p>Only {@link JCudaSupport} may touch this class: without JCuda it cannot be linked.
 */
final class JCudaBindings implements CudaCalls {
  private static final VarHandle VALUE = value();
  private static final Map<String, Integer> CODES = codes();

  /** Which natives JCuda will look for, by the name of the file. */
  static String nativeLibrary(String arch) {
    return "libJCudaDriver-" + JCudaVersion.get() + "-linux-" + arch + ".so";
  }

  @Override
  public String describe() {
    return "libcuda.so.1 through JCuda " + JCudaVersion.get();
  }

  @Override
  public boolean offers(CudaFeature feature) {
    return switch (feature) {
      case BATCH_COPY, DMA_BUF, VIRTUAL_MEMORY -> false;
      case PITCHED_COPY, HOST_ALLOCATION, KERNEL_COPY -> true;
    };
  }

  // ---- errors

  @Override
  public @Nullable String cuGetErrorName(int code) {
    String[] name = new String[1];
    return code(() -> JCudaDriver.cuGetErrorName(code, name)) == 0 ? name[0] : null;
  }

  @Override
  public @Nullable String cuGetErrorString(int code) {
    String[] text = new String[1];
    return code(() -> JCudaDriver.cuGetErrorString(code, text)) == 0 ? text[0] : null;
  }

  // ---- library and devices

  @Override
  public int cuInit(int flags) {
    return code(() -> JCudaDriver.cuInit(flags));
  }

  @Override
  public int cuDriverGetVersion(MemorySegment version) {
    return intOut(version, out -> JCudaDriver.cuDriverGetVersion(out));
  }

  @Override
  public int cuDeviceGetCount(MemorySegment count) {
    return intOut(count, out -> JCudaDriver.cuDeviceGetCount(out));
  }

  @Override
  public int cuDeviceGet(MemorySegment device, int ordinal) {
    CUdevice out = new CUdevice();
    int code = code(() -> JCudaDriver.cuDeviceGet(out, ordinal));
    device.set(JAVA_INT, 0, (int) valueOf(out));
    return code;
  }

  @Override
  public int cuDeviceGetName(MemorySegment name, int device) {
    byte[] bytes = new byte[(int) name.byteSize()];
    int code = code(() -> JCudaDriver.cuDeviceGetName(bytes, bytes.length, device(device)));
    MemorySegment.copy(bytes, 0, name, JAVA_BYTE, 0, bytes.length);
    return code;
  }

  @Override
  public int cuDeviceGetUuid_v2(MemorySegment uuid, int device) {
    CUuuid out = new CUuuid();
    int code = code(() -> JCudaDriver.cuDeviceGetUuid(out, device(device)));
    if (code == 0) {
      MemorySegment.copy(out.bytes, 0, uuid, JAVA_BYTE, 0, out.bytes.length);
    }
    return code;
  }

  @Override
  public int cuDeviceTotalMem_v2(MemorySegment bytes, int device) {
    return longOut(bytes, out -> JCudaDriver.cuDeviceTotalMem(out, device(device)));
  }

  @Override
  public int cuDeviceGetAttribute(MemorySegment value, int attribute, int device) {
    return intOut(value, out -> JCudaDriver.cuDeviceGetAttribute(out, attribute, device(device)));
  }

  @Override
  public int cuDeviceGetPCIBusId(MemorySegment id, int device) {
    String[] out = new String[1];
    int code =
        code(() -> JCudaDriver.cuDeviceGetPCIBusId(out, (int) id.byteSize(), device(device)));
    if (code == 0) {
      id.setString(0, out[0]);
    }
    return code;
  }

  // ---- contexts

  @Override
  public int cuDevicePrimaryCtxRetain(MemorySegment context, int device) {
    return handleOut(
        context, new CUcontext(), out -> JCudaDriver.cuDevicePrimaryCtxRetain(out, device(device)));
  }

  @Override
  public int cuDevicePrimaryCtxRelease_v2(int device) {
    return code(() -> JCudaDriver.cuDevicePrimaryCtxRelease(device(device)));
  }

  @Override
  public int cuCtxSetCurrent(long context) {
    return code(() -> JCudaDriver.cuCtxSetCurrent(withValue(new CUcontext(), context)));
  }

  @Override
  public int cuCtxGetCurrent(MemorySegment context) {
    return handleOut(context, new CUcontext(), JCudaDriver::cuCtxGetCurrent);
  }

  @Override
  public int cuCtxGetDevice(MemorySegment device) {
    CUdevice out = new CUdevice();
    int code = code(() -> JCudaDriver.cuCtxGetDevice(out));
    device.set(JAVA_INT, 0, (int) valueOf(out));
    return code;
  }

  @Override
  public int cuThreadExchangeStreamCaptureMode(MemorySegment mode) {
    int[] inOut = {mode.get(JAVA_INT, 0)};
    int code = code(() -> JCudaDriver.cuThreadExchangeStreamCaptureMode(inOut));
    mode.set(JAVA_INT, 0, inOut[0]);
    return code;
  }

  // ---- host memory

  @Override
  public int cuMemHostRegister_v2(long address, long bytes, int flags) {
    return code(() -> JCudaDriver.cuMemHostRegister(new At(address), bytes, flags));
  }

  @Override
  public int cuMemHostUnregister(long address) {
    return code(() -> JCudaDriver.cuMemHostUnregister(new At(address)));
  }

  @Override
  public int cuMemHostAlloc(MemorySegment address, long bytes, int flags) {
    return handleOut(address, new Pointer(), out -> JCudaDriver.cuMemHostAlloc(out, bytes, flags));
  }

  @Override
  public int cuMemFreeHost(long address) {
    return code(() -> JCudaDriver.cuMemFreeHost(new At(address)));
  }

  @Override
  public int cuMemHostGetDevicePointer_v2(MemorySegment device, long host, int flags) {
    return handleOut(
        device,
        new CUdeviceptr(),
        out -> JCudaDriver.cuMemHostGetDevicePointer(out, new At(host), flags));
  }

  // ---- device memory and copies

  @Override
  public int cuMemGetInfo_v2(MemorySegment free, MemorySegment total) {
    long[] second = new long[1];
    int code = longOut(free, first -> JCudaDriver.cuMemGetInfo(first, second));
    total.set(JAVA_LONG, 0, second[0]);
    return code;
  }

  @Override
  public int cuMemAlloc_v2(MemorySegment address, long bytes) {
    return handleOut(address, new CUdeviceptr(), out -> JCudaDriver.cuMemAlloc(out, bytes));
  }

  @Override
  public int cuMemFree_v2(long address) {
    return code(() -> JCudaDriver.cuMemFree(devicePointer(address)));
  }

  @Override
  public int cuMemGetAddressRange_v2(MemorySegment base, MemorySegment bytes, long address) {
    long[] size = new long[1];
    int code =
        handleOut(
            base,
            new CUdeviceptr(),
            out -> JCudaDriver.cuMemGetAddressRange(out, size, devicePointer(address)));
    bytes.set(JAVA_LONG, 0, size[0]);
    return code;
  }

  @Override
  public int cuPointerGetAttribute(MemorySegment value, int attribute, long address) {
    return code(
        () ->
            JCudaDriver.cuPointerGetAttribute(
                new At(value.address()), attribute, devicePointer(address)));
  }

  @Override
  public int cuMemcpyHtoDAsync_v2(long to, long from, long bytes, long stream) {
    return code(
        () ->
            JCudaDriver.cuMemcpyHtoDAsync(devicePointer(to), new At(from), bytes, stream(stream)));
  }

  @Override
  public int cuMemcpyDtoHAsync_v2(long to, long from, long bytes, long stream) {
    return code(
        () ->
            JCudaDriver.cuMemcpyDtoHAsync(new At(to), devicePointer(from), bytes, stream(stream)));
  }

  @Override
  public int cuMemcpyDtoDAsync_v2(long to, long from, long bytes, long stream) {
    return code(
        () ->
            JCudaDriver.cuMemcpyDtoDAsync(
                devicePointer(to), devicePointer(from), bytes, stream(stream)));
  }

  @Override
  public int cuMemcpy2DAsync_v2(MemorySegment copy, long stream) {
    CUDA_MEMCPY2D c = new CUDA_MEMCPY2D();
    c.srcMemoryType = copy.get(JAVA_INT, CudaLayouts.MEMCPY_2D_SOURCE_TYPE);
    c.srcHost = new At(copy.get(JAVA_LONG, CudaLayouts.MEMCPY_2D_SOURCE_HOST));
    c.srcDevice = devicePointer(copy.get(JAVA_LONG, CudaLayouts.MEMCPY_2D_SOURCE_DEVICE));
    c.srcPitch = copy.get(JAVA_LONG, CudaLayouts.MEMCPY_2D_SOURCE_PITCH);
    c.dstMemoryType = copy.get(JAVA_INT, CudaLayouts.MEMCPY_2D_TARGET_TYPE);
    c.dstHost = new At(copy.get(JAVA_LONG, CudaLayouts.MEMCPY_2D_TARGET_HOST));
    c.dstDevice = devicePointer(copy.get(JAVA_LONG, CudaLayouts.MEMCPY_2D_TARGET_DEVICE));
    c.dstPitch = copy.get(JAVA_LONG, CudaLayouts.MEMCPY_2D_TARGET_PITCH);
    c.WidthInBytes = copy.get(JAVA_LONG, CudaLayouts.MEMCPY_2D_WIDTH);
    c.Height = copy.get(JAVA_LONG, CudaLayouts.MEMCPY_2D_HEIGHT);
    return code(() -> JCudaDriver.cuMemcpy2DAsync(c, stream(stream)));
  }

  @Override
  public int cuMemcpyBatchAsync(
      long to,
      long from,
      long byteCounts,
      long rows,
      MemorySegment attributes,
      MemorySegment attributeRows,
      long attributeCount,
      MemorySegment failedAt,
      long stream) {
    throw absent("cuMemcpyBatchAsync");
  }

  @Override
  public int cuMemsetD8Async(long address, byte value, long bytes, long stream) {
    return code(
        () -> JCudaDriver.cuMemsetD8Async(devicePointer(address), value, bytes, stream(stream)));
  }

  // ---- streams and events

  @Override
  public int cuStreamCreateWithPriority(MemorySegment stream, int flags, int priority) {
    return handleOut(
        stream,
        new CUstream(),
        out -> JCudaDriver.cuStreamCreateWithPriority(out, flags, priority));
  }

  @Override
  public int cuStreamDestroy_v2(long stream) {
    return code(() -> JCudaDriver.cuStreamDestroy(stream(stream)));
  }

  @Override
  public int cuStreamSynchronize(long stream) {
    return code(() -> JCudaDriver.cuStreamSynchronize(stream(stream)));
  }

  @Override
  public int cuStreamQuery(long stream) {
    return code(() -> JCudaDriver.cuStreamQuery(stream(stream)));
  }

  @Override
  public int cuStreamWaitEvent(long stream, long event, int flags) {
    return code(() -> JCudaDriver.cuStreamWaitEvent(stream(stream), event(event), flags));
  }

  @Override
  public int cuStreamGetCtx(long stream, MemorySegment context) {
    return handleOut(
        context, new CUcontext(), out -> JCudaDriver.cuStreamGetCtx(stream(stream), out));
  }

  @Override
  public int cuStreamIsCapturing(long stream, MemorySegment status) {
    return intOut(status, out -> JCudaDriver.cuStreamIsCapturing(stream(stream), out));
  }

  @Override
  public int cuEventCreate(MemorySegment event, int flags) {
    return handleOut(event, new CUevent(), out -> JCudaDriver.cuEventCreate(out, flags));
  }

  @Override
  public int cuEventDestroy_v2(long event) {
    return code(() -> JCudaDriver.cuEventDestroy(event(event)));
  }

  @Override
  public int cuEventRecord(long event, long stream) {
    return code(() -> JCudaDriver.cuEventRecord(event(event), stream(stream)));
  }

  @Override
  public int cuEventQuery(long event) {
    return code(() -> JCudaDriver.cuEventQuery(event(event)));
  }

  @Override
  public int cuEventSynchronize(long event) {
    return code(() -> JCudaDriver.cuEventSynchronize(event(event)));
  }

  @Override
  public int cuEventElapsedTime(MemorySegment milliseconds, long start, long end) {
    float[] out = new float[1];
    int code = code(() -> JCudaDriver.cuEventElapsedTime(out, event(start), event(end)));
    milliseconds.set(JAVA_FLOAT, 0, out[0]);
    return code;
  }

  // ---- virtual memory: JCuda 12.6 has the calls, but leaves bytes of CUmemAllocationProp unset
  // that the
  // driver checks, so that a creation succeeds or fails by what was on the stack

  @Override
  public int cuMemGetAllocationGranularity(
      MemorySegment bytes, MemorySegment properties, int option) {
    throw absent("cuMemGetAllocationGranularity");
  }

  @Override
  public int cuMemAddressReserve(
      MemorySegment address, long bytes, long alignment, long hint, long flags) {
    throw absent("cuMemAddressReserve");
  }

  @Override
  public int cuMemAddressFree(long address, long bytes) {
    throw absent("cuMemAddressFree");
  }

  @Override
  public int cuMemCreate(MemorySegment handle, long bytes, MemorySegment properties, long flags) {
    throw absent("cuMemCreate");
  }

  @Override
  public int cuMemRelease(long handle) {
    throw absent("cuMemRelease");
  }

  @Override
  public int cuMemMap(long address, long bytes, long offset, long handle, long flags) {
    throw absent("cuMemMap");
  }

  @Override
  public int cuMemUnmap(long address, long bytes) {
    throw absent("cuMemUnmap");
  }

  @Override
  public int cuMemSetAccess(long address, long bytes, MemorySegment descriptors, long count) {
    throw absent("cuMemSetAccess");
  }

  @Override
  public int cuMemExportToShareableHandle(MemorySegment into, long handle, int type, long flags) {
    throw absent("cuMemExportToShareableHandle");
  }

  @Override
  public int cuMemImportFromShareableHandle(MemorySegment handle, long osHandle, int type) {
    throw absent("cuMemImportFromShareableHandle");
  }

  @Override
  public int cuMemGetHandleForAddressRange(
      MemorySegment into, long address, long bytes, int type, long flags) {
    throw absent("cuMemGetHandleForAddressRange");
  }

  // ---- kernels

  @Override
  public int cuModuleLoadData(MemorySegment module, MemorySegment image) {
    byte[] text = image.toArray(JAVA_BYTE);
    return handleOut(module, new CUmodule(), out -> JCudaDriver.cuModuleLoadData(out, text));
  }

  @Override
  public int cuModuleUnload(long module) {
    return code(() -> JCudaDriver.cuModuleUnload(withValue(new CUmodule(), module)));
  }

  @Override
  public int cuModuleGetFunction(MemorySegment function, long module, MemorySegment name) {
    String text = name.getString(0, StandardCharsets.US_ASCII);
    return handleOut(
        function,
        new CUfunction(),
        out -> JCudaDriver.cuModuleGetFunction(out, withValue(new CUmodule(), module), text));
  }

  @Override
  public int cuLaunchKernel(
      long function,
      int gridBlocks,
      int blockThreads,
      long stream,
      MemorySegment arguments,
      int argumentCount) {
    return code(
        () ->
            JCudaDriver.cuLaunchKernel(
                withValue(new CUfunction(), function),
                gridBlocks,
                1,
                1,
                blockThreads,
                1,
                1,
                0,
                stream(stream),
                new At(arguments.address()),
                null));
  }

  // ---- JCuda's objects

  /** A host address, or a value that C takes as a pointer. */
  private static final class At extends Pointer {
    At(long address) {
      super(address);
    }
  }

  /** A call that fills one object with a handle. */
  @FunctionalInterface
  private interface HandleCall<T> {
    int into(T out);
  }

  /** A call that fills an array of one int. */
  @FunctionalInterface
  private interface IntCall {
    int into(int[] out);
  }

  /** A call that fills an array of one long. */
  @FunctionalInterface
  private interface LongCall {
    int into(long[] out);
  }

  private static <T extends NativePointerObject> int handleOut(
      MemorySegment into, T object, HandleCall<T> call) {
    int code = code(() -> call.into(object));
    into.set(JAVA_LONG, 0, valueOf(object));
    return code;
  }

  private static int intOut(MemorySegment into, IntCall call) {
    int[] out = new int[1];
    int code = code(() -> call.into(out));
    into.set(JAVA_INT, 0, out[0]);
    return code;
  }

  private static int longOut(MemorySegment into, LongCall call) {
    long[] out = new long[1];
    int code = code(() -> call.into(out));
    into.set(JAVA_LONG, 0, out[0]);
    return code;
  }

  private static CUdevice device(int device) {
    return withValue(new CUdevice(), device);
  }

  private static CUstream stream(long stream) {
    return withValue(new CUstream(), stream);
  }

  private static CUevent event(long event) {
    return withValue(new CUevent(), event);
  }

  private static CUdeviceptr devicePointer(long address) {
    return withValue(new CUdeviceptr(), address);
  }

  private static <T extends NativePointerObject> T withValue(T object, long value) {
    VALUE.set((NativePointerObject) object, value);
    return object;
  }

  private static long valueOf(NativePointerObject object) {
    return (long) VALUE.get(object);
  }

  /** JCuda's only door to a handle's value for others is a private field; its packages are open. */
  private static VarHandle value() {
    try {
      return MethodHandles.privateLookupIn(NativePointerObject.class, MethodHandles.lookup())
          .findVarHandle(NativePointerObject.class, "nativePointer", long.class);
    } catch (ReflectiveOperationException other) {
      throw new LinkageError("this is not the JCuda that the binding knows", other);
    }
  }

  // ---- JCuda's exceptions

  private static int code(IntSupplier call) {
    try {
      return call.getAsInt();
    } catch (CudaException failure) {
      // The engine has switched exceptions on, and they carry the code's name only.
      String name = failure.getMessage();
      Integer code = name == null ? null : CODES.get(name);
      return code == null ? CUresult.CUDA_ERROR_UNKNOWN : code;
    }
  }

  private static Map<String, Integer> codes() {
    Map<String, Integer> codes = new HashMap<>();
    for (Field constant : CUresult.class.getFields()) {
      if (constant.getType() == int.class) {
        try {
          codes.put(constant.getName(), constant.getInt(null));
        } catch (IllegalAccessException impossible) {
          throw new LinkageError("a public constant", impossible);
        }
      }
    }
    return Map.copyOf(codes);
  }

  private static AssertionError absent(String call) {
    return new AssertionError(call + " does not go through JCuda 12.6, and offers() says so");
  }
}
