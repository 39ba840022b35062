package io.holdfast.backend.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * {@code libcuda.so.1} through the foreign function interface.
 *
 * <p>Names are the exact exports, {@code _v2} where the header maps to it, so that no version has
 * to be named and none can be named wrongly. The method handles are constants that know a
 * function's shape; where the function lies is a field, so that one process can look at several
 * libraries. An absent optional function is a null address and makes its {@link CudaFeature}
 * absent.
 *
 * <p>No handle is {@code critical}: registering, synchronising and creating can block for seconds.
 */
final class CudaBindings implements CudaCalls {

  // ---- errors: shapes

  private static final MethodHandle CU_GET_ERROR_NAME = downcall(JAVA_INT, ADDRESS);

  private static final MethodHandle CU_GET_ERROR_STRING = downcall(JAVA_INT, ADDRESS);

  // ---- library and devices: shapes

  private static final MethodHandle CU_INIT = downcall(JAVA_INT);

  private static final MethodHandle CU_DRIVER_GET_VERSION = downcall(ADDRESS);

  private static final MethodHandle CU_DEVICE_GET_COUNT = downcall(ADDRESS);

  private static final MethodHandle CU_DEVICE_GET = downcall(ADDRESS, JAVA_INT);

  private static final MethodHandle CU_DEVICE_GET_NAME = downcall(ADDRESS, JAVA_INT, JAVA_INT);

  private static final MethodHandle CU_DEVICE_GET_UUID_V2 = downcall(ADDRESS, JAVA_INT);

  private static final MethodHandle CU_DEVICE_TOTAL_MEM_V2 = downcall(ADDRESS, JAVA_INT);

  private static final MethodHandle CU_DEVICE_GET_ATTRIBUTE = downcall(ADDRESS, JAVA_INT, JAVA_INT);

  private static final MethodHandle CU_DEVICE_GET_PCI_BUS_ID =
      downcall(ADDRESS, JAVA_INT, JAVA_INT);

  // ---- contexts: shapes

  private static final MethodHandle CU_DEVICE_PRIMARY_CTX_RETAIN = downcall(ADDRESS, JAVA_INT);

  private static final MethodHandle CU_DEVICE_PRIMARY_CTX_RELEASE_V2 = downcall(JAVA_INT);

  private static final MethodHandle CU_CTX_SET_CURRENT = downcall(JAVA_LONG);

  private static final MethodHandle CU_CTX_GET_CURRENT = downcall(ADDRESS);

  private static final MethodHandle CU_CTX_GET_DEVICE = downcall(ADDRESS);

  private static final MethodHandle CU_THREAD_EXCHANGE_STREAM_CAPTURE_MODE = downcall(ADDRESS);

  // ---- host memory: shapes

  private static final MethodHandle CU_MEM_HOST_REGISTER_V2 =
      downcall(JAVA_LONG, JAVA_LONG, JAVA_INT);

  private static final MethodHandle CU_MEM_HOST_UNREGISTER = downcall(JAVA_LONG);

  private static final MethodHandle CU_MEM_HOST_ALLOC = downcall(ADDRESS, JAVA_LONG, JAVA_INT);

  private static final MethodHandle CU_MEM_FREE_HOST = downcall(JAVA_LONG);

  private static final MethodHandle CU_MEM_HOST_GET_DEVICE_POINTER_V2 =
      downcall(ADDRESS, JAVA_LONG, JAVA_INT);

  // ---- device memory and copies: shapes

  private static final MethodHandle CU_MEM_GET_INFO_V2 = downcall(ADDRESS, ADDRESS);

  private static final MethodHandle CU_MEM_ALLOC_V2 = downcall(ADDRESS, JAVA_LONG);

  private static final MethodHandle CU_MEM_FREE_V2 = downcall(JAVA_LONG);

  private static final MethodHandle CU_MEM_GET_ADDRESS_RANGE_V2 =
      downcall(ADDRESS, ADDRESS, JAVA_LONG);

  private static final MethodHandle CU_POINTER_GET_ATTRIBUTE =
      downcall(ADDRESS, JAVA_INT, JAVA_LONG);

  private static final MethodHandle CU_MEMCPY_HTOD_ASYNC_V2 =
      downcall(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

  private static final MethodHandle CU_MEMCPY_DTOH_ASYNC_V2 =
      downcall(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

  private static final MethodHandle CU_MEMCPY_DTOD_ASYNC_V2 =
      downcall(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

  private static final MethodHandle CU_MEMCPY_2D_ASYNC_V2 = downcall(ADDRESS, JAVA_LONG);

  private static final MethodHandle CU_MEMCPY_BATCH_ASYNC_V2 =
      downcall(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG);

  private static final MethodHandle CU_MEMCPY_BATCH_ASYNC =
      downcall(
          JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS,
          JAVA_LONG);

  private static final MethodHandle CU_MEMSET_D8_ASYNC =
      downcall(JAVA_LONG, JAVA_BYTE, JAVA_LONG, JAVA_LONG);

  // ---- streams and events: shapes

  private static final MethodHandle CU_STREAM_CREATE_WITH_PRIORITY =
      downcall(ADDRESS, JAVA_INT, JAVA_INT);

  private static final MethodHandle CU_STREAM_DESTROY_V2 = downcall(JAVA_LONG);

  private static final MethodHandle CU_STREAM_SYNCHRONIZE = downcall(JAVA_LONG);

  private static final MethodHandle CU_STREAM_QUERY = downcall(JAVA_LONG);

  private static final MethodHandle CU_STREAM_WAIT_EVENT = downcall(JAVA_LONG, JAVA_LONG, JAVA_INT);

  private static final MethodHandle CU_STREAM_GET_CTX = downcall(JAVA_LONG, ADDRESS);

  private static final MethodHandle CU_STREAM_IS_CAPTURING = downcall(JAVA_LONG, ADDRESS);

  private static final MethodHandle CU_EVENT_CREATE = downcall(ADDRESS, JAVA_INT);

  private static final MethodHandle CU_EVENT_DESTROY_V2 = downcall(JAVA_LONG);

  private static final MethodHandle CU_EVENT_RECORD = downcall(JAVA_LONG, JAVA_LONG);

  private static final MethodHandle CU_EVENT_QUERY = downcall(JAVA_LONG);

  private static final MethodHandle CU_EVENT_SYNCHRONIZE = downcall(JAVA_LONG);

  private static final MethodHandle CU_EVENT_ELAPSED_TIME = downcall(ADDRESS, JAVA_LONG, JAVA_LONG);

  // ---- virtual memory: shapes

  private static final MethodHandle CU_MEM_GET_ALLOCATION_GRANULARITY =
      downcall(ADDRESS, ADDRESS, JAVA_INT);

  private static final MethodHandle CU_MEM_ADDRESS_RESERVE =
      downcall(ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

  private static final MethodHandle CU_MEM_ADDRESS_FREE = downcall(JAVA_LONG, JAVA_LONG);

  private static final MethodHandle CU_MEM_CREATE =
      downcall(ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG);

  private static final MethodHandle CU_MEM_RELEASE = downcall(JAVA_LONG);

  private static final MethodHandle CU_MEM_MAP =
      downcall(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

  private static final MethodHandle CU_MEM_UNMAP = downcall(JAVA_LONG, JAVA_LONG);

  private static final MethodHandle CU_MEM_SET_ACCESS =
      downcall(JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG);

  private static final MethodHandle CU_MEM_EXPORT_TO_SHAREABLE_HANDLE =
      downcall(ADDRESS, JAVA_LONG, JAVA_INT, JAVA_LONG);

  private static final MethodHandle CU_MEM_IMPORT_FROM_SHAREABLE_HANDLE =
      downcall(ADDRESS, JAVA_LONG, JAVA_INT);

  private static final MethodHandle CU_MEM_GET_HANDLE_FOR_ADDRESS_RANGE =
      downcall(ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);

  // ---- kernels: shapes

  private static final MethodHandle CU_MODULE_LOAD_DATA = downcall(ADDRESS, ADDRESS);

  private static final MethodHandle CU_MODULE_UNLOAD = downcall(JAVA_LONG);

  private static final MethodHandle CU_MODULE_GET_FUNCTION = downcall(ADDRESS, JAVA_LONG, ADDRESS);

  private static final MethodHandle CU_LAUNCH_KERNEL =
      downcall(
          JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT,
          JAVA_LONG, ADDRESS, ADDRESS);

  private final String library;
  private final List<String> missing = new ArrayList<>();

  private final MemorySegment cuGetErrorName;
  private final MemorySegment cuGetErrorString;
  private final MemorySegment cuInit;
  private final MemorySegment cuDriverGetVersion;
  private final MemorySegment cuDeviceGetCount;
  private final MemorySegment cuDeviceGet;
  private final MemorySegment cuDeviceGetName;
  private final MemorySegment cuDeviceGetUuidV2;
  private final MemorySegment cuDeviceTotalMemV2;
  private final MemorySegment cuDeviceGetAttribute;
  private final MemorySegment cuDeviceGetPCIBusId;
  private final MemorySegment cuDevicePrimaryCtxRetain;
  private final MemorySegment cuDevicePrimaryCtxReleaseV2;
  private final MemorySegment cuCtxSetCurrent;
  private final MemorySegment cuCtxGetCurrent;
  private final MemorySegment cuCtxGetDevice;
  private final MemorySegment cuThreadExchangeStreamCaptureMode;
  private final MemorySegment cuMemHostRegisterV2;
  private final MemorySegment cuMemHostUnregister;
  private final MemorySegment cuMemHostAlloc;
  private final MemorySegment cuMemFreeHost;
  private final MemorySegment cuMemHostGetDevicePointerV2;
  private final MemorySegment cuMemGetInfoV2;
  private final MemorySegment cuMemAllocV2;
  private final MemorySegment cuMemFreeV2;
  private final MemorySegment cuMemGetAddressRangeV2;
  private final MemorySegment cuPointerGetAttribute;
  private final MemorySegment cuMemcpyHtoDAsyncV2;
  private final MemorySegment cuMemcpyDtoHAsyncV2;
  private final MemorySegment cuMemcpyDtoDAsyncV2;
  private final MemorySegment cuMemcpy2DAsyncV2;
  private final MemorySegment cuMemcpyBatchAsyncV2;
  private final MemorySegment cuMemcpyBatchAsync;
  private final MemorySegment cuMemsetD8Async;
  private final MemorySegment cuStreamCreateWithPriority;
  private final MemorySegment cuStreamDestroyV2;
  private final MemorySegment cuStreamSynchronize;
  private final MemorySegment cuStreamQuery;
  private final MemorySegment cuStreamWaitEvent;
  private final MemorySegment cuStreamGetCtx;
  private final MemorySegment cuStreamIsCapturing;
  private final MemorySegment cuEventCreate;
  private final MemorySegment cuEventDestroyV2;
  private final MemorySegment cuEventRecord;
  private final MemorySegment cuEventQuery;
  private final MemorySegment cuEventSynchronize;
  private final MemorySegment cuEventElapsedTime;
  private final MemorySegment cuMemGetAllocationGranularity;
  private final MemorySegment cuMemAddressReserve;
  private final MemorySegment cuMemAddressFree;
  private final MemorySegment cuMemCreate;
  private final MemorySegment cuMemRelease;
  private final MemorySegment cuMemMap;
  private final MemorySegment cuMemUnmap;
  private final MemorySegment cuMemSetAccess;
  private final MemorySegment cuMemExportToShareableHandle;
  private final MemorySegment cuMemImportFromShareableHandle;
  private final MemorySegment cuMemGetHandleForAddressRange;
  private final MemorySegment cuModuleLoadData;
  private final MemorySegment cuModuleUnload;
  private final MemorySegment cuModuleGetFunction;
  private final MemorySegment cuLaunchKernel;

  /**
   * Looks every function up; calls none.
   *
   * @param library what was loaded, for people
   * @param symbols its exports
   */
  CudaBindings(String library, SymbolLookup symbols) {
    this.library = library;
    cuGetErrorName = required(symbols, "cuGetErrorName");
    cuGetErrorString = required(symbols, "cuGetErrorString");
    cuInit = required(symbols, "cuInit");
    cuDriverGetVersion = required(symbols, "cuDriverGetVersion");
    cuDeviceGetCount = required(symbols, "cuDeviceGetCount");
    cuDeviceGet = required(symbols, "cuDeviceGet");
    cuDeviceGetName = required(symbols, "cuDeviceGetName");
    cuDeviceGetUuidV2 = required(symbols, "cuDeviceGetUuid_v2");
    cuDeviceTotalMemV2 = required(symbols, "cuDeviceTotalMem_v2");
    cuDeviceGetAttribute = required(symbols, "cuDeviceGetAttribute");
    cuDeviceGetPCIBusId = required(symbols, "cuDeviceGetPCIBusId");
    cuDevicePrimaryCtxRetain = required(symbols, "cuDevicePrimaryCtxRetain");
    cuDevicePrimaryCtxReleaseV2 = required(symbols, "cuDevicePrimaryCtxRelease_v2");
    cuCtxSetCurrent = required(symbols, "cuCtxSetCurrent");
    cuCtxGetCurrent = required(symbols, "cuCtxGetCurrent");
    cuCtxGetDevice = required(symbols, "cuCtxGetDevice");
    cuThreadExchangeStreamCaptureMode = required(symbols, "cuThreadExchangeStreamCaptureMode");
    cuMemHostRegisterV2 = required(symbols, "cuMemHostRegister_v2");
    cuMemHostUnregister = required(symbols, "cuMemHostUnregister");
    cuMemHostAlloc = optional(symbols, "cuMemHostAlloc");
    cuMemFreeHost = optional(symbols, "cuMemFreeHost");
    cuMemHostGetDevicePointerV2 = required(symbols, "cuMemHostGetDevicePointer_v2");
    cuMemGetInfoV2 = required(symbols, "cuMemGetInfo_v2");
    cuMemAllocV2 = required(symbols, "cuMemAlloc_v2");
    cuMemFreeV2 = required(symbols, "cuMemFree_v2");
    cuMemGetAddressRangeV2 = required(symbols, "cuMemGetAddressRange_v2");
    cuPointerGetAttribute = required(symbols, "cuPointerGetAttribute");
    cuMemcpyHtoDAsyncV2 = required(symbols, "cuMemcpyHtoDAsync_v2");
    cuMemcpyDtoHAsyncV2 = required(symbols, "cuMemcpyDtoHAsync_v2");
    cuMemcpyDtoDAsyncV2 = required(symbols, "cuMemcpyDtoDAsync_v2");
    cuMemcpy2DAsyncV2 = optional(symbols, "cuMemcpy2DAsync_v2");
    cuMemcpyBatchAsyncV2 = optional(symbols, "cuMemcpyBatchAsync_v2");
    cuMemcpyBatchAsync = optional(symbols, "cuMemcpyBatchAsync");
    cuMemsetD8Async = required(symbols, "cuMemsetD8Async");
    cuStreamCreateWithPriority = required(symbols, "cuStreamCreateWithPriority");
    cuStreamDestroyV2 = required(symbols, "cuStreamDestroy_v2");
    cuStreamSynchronize = required(symbols, "cuStreamSynchronize");
    cuStreamQuery = required(symbols, "cuStreamQuery");
    cuStreamWaitEvent = required(symbols, "cuStreamWaitEvent");
    cuStreamGetCtx = required(symbols, "cuStreamGetCtx");
    cuStreamIsCapturing = required(symbols, "cuStreamIsCapturing");
    cuEventCreate = required(symbols, "cuEventCreate");
    cuEventDestroyV2 = required(symbols, "cuEventDestroy_v2");
    cuEventRecord = required(symbols, "cuEventRecord");
    cuEventQuery = required(symbols, "cuEventQuery");
    cuEventSynchronize = required(symbols, "cuEventSynchronize");
    cuEventElapsedTime = required(symbols, "cuEventElapsedTime");
    cuMemGetAllocationGranularity = optional(symbols, "cuMemGetAllocationGranularity");
    cuMemAddressReserve = optional(symbols, "cuMemAddressReserve");
    cuMemAddressFree = optional(symbols, "cuMemAddressFree");
    cuMemCreate = optional(symbols, "cuMemCreate");
    cuMemRelease = optional(symbols, "cuMemRelease");
    cuMemMap = optional(symbols, "cuMemMap");
    cuMemUnmap = optional(symbols, "cuMemUnmap");
    cuMemSetAccess = optional(symbols, "cuMemSetAccess");
    cuMemExportToShareableHandle = optional(symbols, "cuMemExportToShareableHandle");
    cuMemImportFromShareableHandle = optional(symbols, "cuMemImportFromShareableHandle");
    cuMemGetHandleForAddressRange = optional(symbols, "cuMemGetHandleForAddressRange");
    cuModuleLoadData = optional(symbols, "cuModuleLoadData");
    cuModuleUnload = optional(symbols, "cuModuleUnload");
    cuModuleGetFunction = optional(symbols, "cuModuleGetFunction");
    cuLaunchKernel = optional(symbols, "cuLaunchKernel");
  }

  /** Exports without which nothing works and which the library lacks; empty for a driver. */
  List<String> missing() {
    return List.copyOf(missing);
  }

  @Override
  public String describe() {
    return library + " through FFM";
  }

  @Override
  public boolean offers(CudaFeature feature) {
    return switch (feature) {
      case BATCH_COPY -> isThere(cuMemcpyBatchAsyncV2) || isThere(cuMemcpyBatchAsync);
      case PITCHED_COPY -> isThere(cuMemcpy2DAsyncV2);
      case HOST_ALLOCATION -> isThere(cuMemHostAlloc) && isThere(cuMemFreeHost);
      case VIRTUAL_MEMORY ->
          isThere(cuMemGetAllocationGranularity)
              && isThere(cuMemAddressReserve)
              && isThere(cuMemAddressFree)
              && isThere(cuMemCreate)
              && isThere(cuMemRelease)
              && isThere(cuMemMap)
              && isThere(cuMemUnmap)
              && isThere(cuMemSetAccess)
              && isThere(cuMemExportToShareableHandle)
              && isThere(cuMemImportFromShareableHandle);
      case DMA_BUF -> isThere(cuMemGetHandleForAddressRange);
      case KERNEL_COPY ->
          isThere(cuModuleLoadData)
              && isThere(cuModuleUnload)
              && isThere(cuModuleGetFunction)
              && isThere(cuLaunchKernel);
    };
  }

  /** Which form of batched copies the library has: 8 arguments, 9 arguments, or none. */
  String batchForm() {
    if (isThere(cuMemcpyBatchAsyncV2)) {
      return "cuMemcpyBatchAsync_v2, 8 arguments";
    }
    return isThere(cuMemcpyBatchAsync) ? "cuMemcpyBatchAsync, 9 arguments" : "absent";
  }

  // ---- errors

  @Override
  public @Nullable String cuGetErrorName(int code) {
    return text(CU_GET_ERROR_NAME, cuGetErrorName, code);
  }

  @Override
  public @Nullable String cuGetErrorString(int code) {
    return text(CU_GET_ERROR_STRING, cuGetErrorString, code);
  }

  // ---- library and devices

  @Override
  public int cuInit(int flags) {
    try {
      return (int) CU_INIT.invokeExact(cuInit, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuDriverGetVersion(MemorySegment version) {
    try {
      return (int) CU_DRIVER_GET_VERSION.invokeExact(cuDriverGetVersion, version);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuDeviceGetCount(MemorySegment count) {
    try {
      return (int) CU_DEVICE_GET_COUNT.invokeExact(cuDeviceGetCount, count);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuDeviceGet(MemorySegment device, int ordinal) {
    try {
      return (int) CU_DEVICE_GET.invokeExact(cuDeviceGet, device, ordinal);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuDeviceGetName(MemorySegment name, int device) {
    try {
      return (int)
          CU_DEVICE_GET_NAME.invokeExact(cuDeviceGetName, name, (int) name.byteSize(), device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuDeviceGetUuid_v2(MemorySegment uuid, int device) {
    try {
      return (int) CU_DEVICE_GET_UUID_V2.invokeExact(cuDeviceGetUuidV2, uuid, device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuDeviceTotalMem_v2(MemorySegment bytes, int device) {
    try {
      return (int) CU_DEVICE_TOTAL_MEM_V2.invokeExact(cuDeviceTotalMemV2, bytes, device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuDeviceGetAttribute(MemorySegment value, int attribute, int device) {
    try {
      return (int)
          CU_DEVICE_GET_ATTRIBUTE.invokeExact(cuDeviceGetAttribute, value, attribute, device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuDeviceGetPCIBusId(MemorySegment id, int device) {
    try {
      return (int)
          CU_DEVICE_GET_PCI_BUS_ID.invokeExact(
              cuDeviceGetPCIBusId, id, (int) id.byteSize(), device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- contexts

  @Override
  public int cuDevicePrimaryCtxRetain(MemorySegment context, int device) {
    try {
      return (int)
          CU_DEVICE_PRIMARY_CTX_RETAIN.invokeExact(cuDevicePrimaryCtxRetain, context, device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuDevicePrimaryCtxRelease_v2(int device) {
    try {
      return (int)
          CU_DEVICE_PRIMARY_CTX_RELEASE_V2.invokeExact(cuDevicePrimaryCtxReleaseV2, device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuCtxSetCurrent(long context) {
    try {
      return (int) CU_CTX_SET_CURRENT.invokeExact(cuCtxSetCurrent, context);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuCtxGetCurrent(MemorySegment context) {
    try {
      return (int) CU_CTX_GET_CURRENT.invokeExact(cuCtxGetCurrent, context);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuCtxGetDevice(MemorySegment device) {
    try {
      return (int) CU_CTX_GET_DEVICE.invokeExact(cuCtxGetDevice, device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuThreadExchangeStreamCaptureMode(MemorySegment mode) {
    try {
      return (int)
          CU_THREAD_EXCHANGE_STREAM_CAPTURE_MODE.invokeExact(
              cuThreadExchangeStreamCaptureMode, mode);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- host memory

  @Override
  public int cuMemHostRegister_v2(long address, long bytes, int flags) {
    try {
      return (int) CU_MEM_HOST_REGISTER_V2.invokeExact(cuMemHostRegisterV2, address, bytes, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemHostUnregister(long address) {
    try {
      return (int) CU_MEM_HOST_UNREGISTER.invokeExact(cuMemHostUnregister, address);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemHostAlloc(MemorySegment address, long bytes, int flags) {
    try {
      return (int) CU_MEM_HOST_ALLOC.invokeExact(cuMemHostAlloc, address, bytes, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemFreeHost(long address) {
    try {
      return (int) CU_MEM_FREE_HOST.invokeExact(cuMemFreeHost, address);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemHostGetDevicePointer_v2(MemorySegment device, long host, int flags) {
    try {
      return (int)
          CU_MEM_HOST_GET_DEVICE_POINTER_V2.invokeExact(
              cuMemHostGetDevicePointerV2, device, host, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- device memory and copies

  @Override
  public int cuMemGetInfo_v2(MemorySegment free, MemorySegment total) {
    try {
      return (int) CU_MEM_GET_INFO_V2.invokeExact(cuMemGetInfoV2, free, total);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemAlloc_v2(MemorySegment address, long bytes) {
    try {
      return (int) CU_MEM_ALLOC_V2.invokeExact(cuMemAllocV2, address, bytes);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemFree_v2(long address) {
    try {
      return (int) CU_MEM_FREE_V2.invokeExact(cuMemFreeV2, address);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemGetAddressRange_v2(MemorySegment base, MemorySegment bytes, long address) {
    try {
      return (int)
          CU_MEM_GET_ADDRESS_RANGE_V2.invokeExact(cuMemGetAddressRangeV2, base, bytes, address);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuPointerGetAttribute(MemorySegment value, int attribute, long address) {
    try {
      return (int)
          CU_POINTER_GET_ATTRIBUTE.invokeExact(cuPointerGetAttribute, value, attribute, address);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemcpyHtoDAsync_v2(long to, long from, long bytes, long stream) {
    try {
      return (int)
          CU_MEMCPY_HTOD_ASYNC_V2.invokeExact(cuMemcpyHtoDAsyncV2, to, from, bytes, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemcpyDtoHAsync_v2(long to, long from, long bytes, long stream) {
    try {
      return (int)
          CU_MEMCPY_DTOH_ASYNC_V2.invokeExact(cuMemcpyDtoHAsyncV2, to, from, bytes, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemcpyDtoDAsync_v2(long to, long from, long bytes, long stream) {
    try {
      return (int)
          CU_MEMCPY_DTOD_ASYNC_V2.invokeExact(cuMemcpyDtoDAsyncV2, to, from, bytes, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemcpy2DAsync_v2(MemorySegment copy, long stream) {
    try {
      return (int) CU_MEMCPY_2D_ASYNC_V2.invokeExact(cuMemcpy2DAsyncV2, copy, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
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
    try {
      if (isThere(cuMemcpyBatchAsyncV2)) {
        failedAt.set(JAVA_LONG, 0, -1L);
        return (int)
            CU_MEMCPY_BATCH_ASYNC_V2.invokeExact(
                cuMemcpyBatchAsyncV2,
                to,
                from,
                byteCounts,
                rows,
                attributes,
                attributeRows,
                attributeCount,
                stream);
      }
      return (int)
          CU_MEMCPY_BATCH_ASYNC.invokeExact(
              cuMemcpyBatchAsync,
              to,
              from,
              byteCounts,
              rows,
              attributes,
              attributeRows,
              attributeCount,
              failedAt,
              stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemsetD8Async(long address, byte value, long bytes, long stream) {
    try {
      return (int) CU_MEMSET_D8_ASYNC.invokeExact(cuMemsetD8Async, address, value, bytes, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- streams and events

  @Override
  public int cuStreamCreateWithPriority(MemorySegment stream, int flags, int priority) {
    try {
      return (int)
          CU_STREAM_CREATE_WITH_PRIORITY.invokeExact(
              cuStreamCreateWithPriority, stream, flags, priority);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuStreamDestroy_v2(long stream) {
    try {
      return (int) CU_STREAM_DESTROY_V2.invokeExact(cuStreamDestroyV2, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuStreamSynchronize(long stream) {
    try {
      return (int) CU_STREAM_SYNCHRONIZE.invokeExact(cuStreamSynchronize, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuStreamQuery(long stream) {
    try {
      return (int) CU_STREAM_QUERY.invokeExact(cuStreamQuery, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuStreamWaitEvent(long stream, long event, int flags) {
    try {
      return (int) CU_STREAM_WAIT_EVENT.invokeExact(cuStreamWaitEvent, stream, event, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuStreamGetCtx(long stream, MemorySegment context) {
    try {
      return (int) CU_STREAM_GET_CTX.invokeExact(cuStreamGetCtx, stream, context);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuStreamIsCapturing(long stream, MemorySegment status) {
    try {
      return (int) CU_STREAM_IS_CAPTURING.invokeExact(cuStreamIsCapturing, stream, status);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuEventCreate(MemorySegment event, int flags) {
    try {
      return (int) CU_EVENT_CREATE.invokeExact(cuEventCreate, event, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuEventDestroy_v2(long event) {
    try {
      return (int) CU_EVENT_DESTROY_V2.invokeExact(cuEventDestroyV2, event);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuEventRecord(long event, long stream) {
    try {
      return (int) CU_EVENT_RECORD.invokeExact(cuEventRecord, event, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuEventQuery(long event) {
    try {
      return (int) CU_EVENT_QUERY.invokeExact(cuEventQuery, event);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuEventSynchronize(long event) {
    try {
      return (int) CU_EVENT_SYNCHRONIZE.invokeExact(cuEventSynchronize, event);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuEventElapsedTime(MemorySegment milliseconds, long start, long end) {
    try {
      return (int) CU_EVENT_ELAPSED_TIME.invokeExact(cuEventElapsedTime, milliseconds, start, end);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- virtual memory

  @Override
  public int cuMemGetAllocationGranularity(
      MemorySegment bytes, MemorySegment properties, int option) {
    try {
      return (int)
          CU_MEM_GET_ALLOCATION_GRANULARITY.invokeExact(
              cuMemGetAllocationGranularity, bytes, properties, option);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemAddressReserve(
      MemorySegment address, long bytes, long alignment, long hint, long flags) {
    try {
      return (int)
          CU_MEM_ADDRESS_RESERVE.invokeExact(
              cuMemAddressReserve, address, bytes, alignment, hint, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemAddressFree(long address, long bytes) {
    try {
      return (int) CU_MEM_ADDRESS_FREE.invokeExact(cuMemAddressFree, address, bytes);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemCreate(MemorySegment handle, long bytes, MemorySegment properties, long flags) {
    try {
      return (int) CU_MEM_CREATE.invokeExact(cuMemCreate, handle, bytes, properties, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemRelease(long handle) {
    try {
      return (int) CU_MEM_RELEASE.invokeExact(cuMemRelease, handle);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemMap(long address, long bytes, long offset, long handle, long flags) {
    try {
      return (int) CU_MEM_MAP.invokeExact(cuMemMap, address, bytes, offset, handle, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemUnmap(long address, long bytes) {
    try {
      return (int) CU_MEM_UNMAP.invokeExact(cuMemUnmap, address, bytes);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemSetAccess(long address, long bytes, MemorySegment descriptors, long count) {
    try {
      return (int)
          CU_MEM_SET_ACCESS.invokeExact(cuMemSetAccess, address, bytes, descriptors, count);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemExportToShareableHandle(MemorySegment into, long handle, int type, long flags) {
    try {
      return (int)
          CU_MEM_EXPORT_TO_SHAREABLE_HANDLE.invokeExact(
              cuMemExportToShareableHandle, into, handle, type, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemImportFromShareableHandle(MemorySegment handle, long osHandle, int type) {
    try {
      return (int)
          CU_MEM_IMPORT_FROM_SHAREABLE_HANDLE.invokeExact(
              cuMemImportFromShareableHandle, handle, osHandle, type);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuMemGetHandleForAddressRange(
      MemorySegment into, long address, long bytes, int type, long flags) {
    try {
      return (int)
          CU_MEM_GET_HANDLE_FOR_ADDRESS_RANGE.invokeExact(
              cuMemGetHandleForAddressRange, into, address, bytes, type, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- kernels

  @Override
  public int cuModuleLoadData(MemorySegment module, MemorySegment image) {
    try {
      return (int) CU_MODULE_LOAD_DATA.invokeExact(cuModuleLoadData, module, image);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuModuleUnload(long module) {
    try {
      return (int) CU_MODULE_UNLOAD.invokeExact(cuModuleUnload, module);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuModuleGetFunction(MemorySegment function, long module, MemorySegment name) {
    try {
      return (int) CU_MODULE_GET_FUNCTION.invokeExact(cuModuleGetFunction, function, module, name);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  @Override
  public int cuLaunchKernel(
      long function,
      int gridBlocks,
      int blockThreads,
      long stream,
      MemorySegment arguments,
      int argumentCount) {
    try {
      return (int)
          CU_LAUNCH_KERNEL.invokeExact(
              cuLaunchKernel,
              function,
              gridBlocks,
              1,
              1,
              blockThreads,
              1,
              1,
              0,
              stream,
              arguments,
              MemorySegment.NULL);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- how calls are made

  private static boolean isThere(MemorySegment function) {
    return function.address() != 0;
  }

  private MemorySegment required(SymbolLookup symbols, String name) {
    MemorySegment function = optional(symbols, name);
    if (!isThere(function)) {
      missing.add(name);
    }
    return function;
  }

  private static MemorySegment optional(SymbolLookup symbols, String name) {
    return symbols.find(name).orElse(MemorySegment.NULL);
  }

  @SuppressWarnings("restricted")
  private static MethodHandle downcall(MemoryLayout... arguments) {
    return Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(JAVA_INT, arguments));
  }

  @SuppressWarnings("restricted")
  private static @Nullable String text(MethodHandle shape, MemorySegment function, int code) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(ADDRESS);
      int answer = (int) shape.invokeExact(function, code, out);
      MemorySegment text = out.get(ADDRESS, 0);
      return answer != 0 || text.address() == 0
          ? null
          : text.reinterpret(Long.MAX_VALUE).getString(0);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** A downcall does not throw by itself: what arrives here is a fault of this class. */
  private static AssertionError bug(Throwable cause) {
    return new AssertionError("a call into the CUDA driver could not be made", cause);
  }
}
