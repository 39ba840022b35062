package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/**
 * {@code libamdhip64} through the foreign function interface.
 *
 * <p>Names are the exact exports. The method handles are constants that know a function's shape;
 * where the function lies is a field, so that one process can look at several libraries. One Java
 * method for each C function, with its arguments in C order and its code as the result; handles and
 * addresses are {@code long}, and what C returns through a pointer is written into native memory
 * that the caller gives. No checks and no policy. An absent optional function is a null address and
 * makes its {@link HipFeature} absent.
 *
 * <p>No handle is {@code critical}: registering, synchronising and creating can block for seconds.
 */
final class HipBindings {
  // ---- errors: shapes

  private static final MethodHandle HIP_GET_ERROR_NAME = naming();

  private static final MethodHandle HIP_GET_ERROR_STRING = naming();

  private static final MethodHandle HIP_GET_LAST_ERROR = downcall();

  private static final MethodHandle HIP_PEEK_AT_LAST_ERROR = downcall();

  // ---- library and devices: shapes

  private static final MethodHandle HIP_DRIVER_GET_VERSION = downcall(ADDRESS);

  private static final MethodHandle HIP_RUNTIME_GET_VERSION = downcall(ADDRESS);

  private static final MethodHandle HIP_GET_DEVICE_COUNT = downcall(ADDRESS);

  private static final MethodHandle HIP_DEVICE_GET_NAME = downcall(ADDRESS, JAVA_INT, JAVA_INT);

  private static final MethodHandle HIP_DEVICE_GET_UUID = downcall(ADDRESS, JAVA_INT);

  private static final MethodHandle HIP_DEVICE_TOTAL_MEM = downcall(ADDRESS, JAVA_INT);

  private static final MethodHandle HIP_DEVICE_GET_ATTRIBUTE =
      downcall(ADDRESS, JAVA_INT, JAVA_INT);

  private static final MethodHandle HIP_DEVICE_GET_PCI_BUS_ID =
      downcall(ADDRESS, JAVA_INT, JAVA_INT);

  // ---- what is current on a thread: shapes

  private static final MethodHandle HIP_SET_DEVICE = downcall(JAVA_INT);

  private static final MethodHandle HIP_GET_DEVICE = downcall(ADDRESS);

  private static final MethodHandle HIP_THREAD_EXCHANGE_STREAM_CAPTURE_MODE = downcall(ADDRESS);

  // ---- host memory: shapes

  private static final MethodHandle HIP_HOST_REGISTER = downcall(JAVA_LONG, JAVA_LONG, JAVA_INT);

  private static final MethodHandle HIP_HOST_UNREGISTER = downcall(JAVA_LONG);

  private static final MethodHandle HIP_HOST_MALLOC = downcall(ADDRESS, JAVA_LONG, JAVA_INT);

  private static final MethodHandle HIP_HOST_FREE = downcall(JAVA_LONG);

  private static final MethodHandle HIP_HOST_GET_DEVICE_POINTER =
      downcall(ADDRESS, JAVA_LONG, JAVA_INT);

  // ---- device memory and copies: shapes

  private static final MethodHandle HIP_MEM_GET_INFO = downcall(ADDRESS, ADDRESS);

  private static final MethodHandle HIP_MALLOC = downcall(ADDRESS, JAVA_LONG);

  private static final MethodHandle HIP_FREE = downcall(JAVA_LONG);

  private static final MethodHandle HIP_MEM_GET_ADDRESS_RANGE =
      downcall(ADDRESS, ADDRESS, JAVA_LONG);

  private static final MethodHandle HIP_POINTER_GET_ATTRIBUTES = downcall(ADDRESS, JAVA_LONG);

  private static final MethodHandle HIP_POINTER_GET_ATTRIBUTE =
      downcall(ADDRESS, JAVA_INT, JAVA_LONG);

  private static final MethodHandle HIP_MEMCPY_HTOD_ASYNC =
      downcall(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

  private static final MethodHandle HIP_MEMCPY_DTOH_ASYNC =
      downcall(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

  private static final MethodHandle HIP_MEMCPY_DTOD_ASYNC =
      downcall(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

  private static final MethodHandle HIP_MEMCPY_2D_ASYNC =
      downcall(
          JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);

  private static final MethodHandle HIP_MEMCPY_BATCH_ASYNC =
      downcall(
          JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS,
          JAVA_LONG);

  private static final MethodHandle HIP_MEMSET_D8_ASYNC =
      downcall(JAVA_LONG, JAVA_BYTE, JAVA_LONG, JAVA_LONG);

  // ---- streams and events: shapes

  private static final MethodHandle HIP_STREAM_CREATE_WITH_PRIORITY =
      downcall(ADDRESS, JAVA_INT, JAVA_INT);

  private static final MethodHandle HIP_STREAM_DESTROY = downcall(JAVA_LONG);

  private static final MethodHandle HIP_STREAM_SYNCHRONIZE = downcall(JAVA_LONG);

  private static final MethodHandle HIP_STREAM_QUERY = downcall(JAVA_LONG);

  private static final MethodHandle HIP_STREAM_WAIT_EVENT =
      downcall(JAVA_LONG, JAVA_LONG, JAVA_INT);

  private static final MethodHandle HIP_STREAM_GET_DEVICE = downcall(JAVA_LONG, ADDRESS);

  private static final MethodHandle HIP_STREAM_IS_CAPTURING = downcall(JAVA_LONG, ADDRESS);

  private static final MethodHandle HIP_EVENT_CREATE_WITH_FLAGS = downcall(ADDRESS, JAVA_INT);

  private static final MethodHandle HIP_EVENT_DESTROY = downcall(JAVA_LONG);

  private static final MethodHandle HIP_EVENT_RECORD = downcall(JAVA_LONG, JAVA_LONG);

  private static final MethodHandle HIP_EVENT_QUERY = downcall(JAVA_LONG);

  private static final MethodHandle HIP_EVENT_SYNCHRONIZE = downcall(JAVA_LONG);

  private static final MethodHandle HIP_EVENT_ELAPSED_TIME =
      downcall(ADDRESS, JAVA_LONG, JAVA_LONG);

  // ---- virtual memory: shapes

  private static final MethodHandle HIP_MEM_GET_ALLOCATION_GRANULARITY =
      downcall(ADDRESS, ADDRESS, JAVA_INT);

  private static final MethodHandle HIP_MEM_ADDRESS_RESERVE =
      downcall(ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

  private static final MethodHandle HIP_MEM_ADDRESS_FREE = downcall(JAVA_LONG, JAVA_LONG);

  private static final MethodHandle HIP_MEM_CREATE =
      downcall(ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG);

  private static final MethodHandle HIP_MEM_RELEASE = downcall(JAVA_LONG);

  private static final MethodHandle HIP_MEM_MAP =
      downcall(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

  private static final MethodHandle HIP_MEM_UNMAP = downcall(JAVA_LONG, JAVA_LONG);

  private static final MethodHandle HIP_MEM_SET_ACCESS =
      downcall(JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG);

  private static final MethodHandle HIP_MEM_EXPORT_TO_SHAREABLE_HANDLE =
      downcall(ADDRESS, JAVA_LONG, JAVA_INT, JAVA_LONG);

  private static final MethodHandle HIP_MEM_IMPORT_FROM_SHAREABLE_HANDLE =
      downcall(ADDRESS, JAVA_LONG, JAVA_INT);

  private static final MethodHandle HIP_MEM_GET_HANDLE_FOR_ADDRESS_RANGE =
      downcall(ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);

  // ---- kernels: shapes

  private static final MethodHandle HIP_MODULE_LOAD_DATA = downcall(ADDRESS, ADDRESS);

  private static final MethodHandle HIP_MODULE_UNLOAD = downcall(JAVA_LONG);

  private static final MethodHandle HIP_MODULE_GET_FUNCTION = downcall(ADDRESS, JAVA_LONG, ADDRESS);

  private static final MethodHandle HIP_MODULE_LAUNCH_KERNEL =
      downcall(
          JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT,
          JAVA_LONG, ADDRESS, ADDRESS);

  private final String library;
  private final SymbolLookup symbols;
  private final List<String> missing = new ArrayList<>();

  private final MemorySegment hipGetErrorName;
  private final MemorySegment hipGetErrorString;
  private final MemorySegment hipGetLastError;
  private final MemorySegment hipPeekAtLastError;
  private final MemorySegment hipDriverGetVersion;
  private final MemorySegment hipRuntimeGetVersion;
  private final MemorySegment hipGetDeviceCount;
  private final MemorySegment hipDeviceGetName;
  private final MemorySegment hipDeviceGetUuid;
  private final MemorySegment hipDeviceTotalMem;
  private final MemorySegment hipDeviceGetAttribute;
  private final MemorySegment hipDeviceGetPCIBusId;
  private final MemorySegment hipSetDevice;
  private final MemorySegment hipGetDevice;
  private final MemorySegment hipThreadExchangeStreamCaptureMode;
  private final MemorySegment hipHostRegister;
  private final MemorySegment hipHostUnregister;
  private final MemorySegment hipHostMalloc;
  private final MemorySegment hipHostFree;
  private final MemorySegment hipHostGetDevicePointer;
  private final MemorySegment hipMemGetInfo;
  private final MemorySegment hipMalloc;
  private final MemorySegment hipFree;
  private final MemorySegment hipMemGetAddressRange;
  private final MemorySegment hipPointerGetAttributes;
  private final MemorySegment hipPointerGetAttribute;
  private final MemorySegment hipMemcpyHtoDAsync;
  private final MemorySegment hipMemcpyDtoHAsync;
  private final MemorySegment hipMemcpyDtoDAsync;
  private final MemorySegment hipMemcpy2DAsync;
  private final MemorySegment hipMemcpyBatchAsync;
  private final MemorySegment hipMemsetD8Async;
  private final MemorySegment hipStreamCreateWithPriority;
  private final MemorySegment hipStreamDestroy;
  private final MemorySegment hipStreamSynchronize;
  private final MemorySegment hipStreamQuery;
  private final MemorySegment hipStreamWaitEvent;
  private final MemorySegment hipStreamGetDevice;
  private final MemorySegment hipStreamIsCapturing;
  private final MemorySegment hipEventCreateWithFlags;
  private final MemorySegment hipEventDestroy;
  private final MemorySegment hipEventRecord;
  private final MemorySegment hipEventQuery;
  private final MemorySegment hipEventSynchronize;
  private final MemorySegment hipEventElapsedTime;
  private final MemorySegment hipMemGetAllocationGranularity;
  private final MemorySegment hipMemAddressReserve;
  private final MemorySegment hipMemAddressFree;
  private final MemorySegment hipMemCreate;
  private final MemorySegment hipMemRelease;
  private final MemorySegment hipMemMap;
  private final MemorySegment hipMemUnmap;
  private final MemorySegment hipMemSetAccess;
  private final MemorySegment hipMemExportToShareableHandle;
  private final MemorySegment hipMemImportFromShareableHandle;
  private final MemorySegment hipMemGetHandleForAddressRange;
  private final MemorySegment hipModuleLoadData;
  private final MemorySegment hipModuleUnload;
  private final MemorySegment hipModuleGetFunction;
  private final MemorySegment hipModuleLaunchKernel;

  /**
   * Looks every function up; calls none.
   *
   * @param library what was loaded, for people
   * @param symbols its exports
   */
  HipBindings(String library, SymbolLookup symbols) {
    this.library = library;
    this.symbols = symbols;
    hipGetErrorName = required(symbols, "hipGetErrorName");
    hipGetErrorString = required(symbols, "hipGetErrorString");
    hipGetLastError = required(symbols, "hipGetLastError");
    hipPeekAtLastError = required(symbols, "hipPeekAtLastError");
    hipDriverGetVersion = required(symbols, "hipDriverGetVersion");
    hipRuntimeGetVersion = required(symbols, "hipRuntimeGetVersion");
    hipGetDeviceCount = required(symbols, "hipGetDeviceCount");
    hipDeviceGetName = required(symbols, "hipDeviceGetName");
    hipDeviceGetUuid = required(symbols, "hipDeviceGetUuid");
    hipDeviceTotalMem = required(symbols, "hipDeviceTotalMem");
    hipDeviceGetAttribute = required(symbols, "hipDeviceGetAttribute");
    hipDeviceGetPCIBusId = required(symbols, "hipDeviceGetPCIBusId");
    hipSetDevice = required(symbols, "hipSetDevice");
    hipGetDevice = required(symbols, "hipGetDevice");
    hipThreadExchangeStreamCaptureMode = required(symbols, "hipThreadExchangeStreamCaptureMode");
    hipHostRegister = required(symbols, "hipHostRegister");
    hipHostUnregister = required(symbols, "hipHostUnregister");
    hipHostMalloc = optional(symbols, "hipHostMalloc");
    hipHostFree = optional(symbols, "hipHostFree");
    hipHostGetDevicePointer = required(symbols, "hipHostGetDevicePointer");
    hipMemGetInfo = required(symbols, "hipMemGetInfo");
    hipMalloc = required(symbols, "hipMalloc");
    hipFree = required(symbols, "hipFree");
    hipMemGetAddressRange = required(symbols, "hipMemGetAddressRange");
    hipPointerGetAttributes = required(symbols, "hipPointerGetAttributes");
    hipPointerGetAttribute = required(symbols, "hipPointerGetAttribute");
    hipMemcpyHtoDAsync = required(symbols, "hipMemcpyHtoDAsync");
    hipMemcpyDtoHAsync = required(symbols, "hipMemcpyDtoHAsync");
    hipMemcpyDtoDAsync = required(symbols, "hipMemcpyDtoDAsync");
    hipMemcpy2DAsync = optional(symbols, "hipMemcpy2DAsync");
    hipMemcpyBatchAsync = optional(symbols, "hipMemcpyBatchAsync");
    hipMemsetD8Async = required(symbols, "hipMemsetD8Async");
    hipStreamCreateWithPriority = required(symbols, "hipStreamCreateWithPriority");
    hipStreamDestroy = required(symbols, "hipStreamDestroy");
    hipStreamSynchronize = required(symbols, "hipStreamSynchronize");
    hipStreamQuery = required(symbols, "hipStreamQuery");
    hipStreamWaitEvent = required(symbols, "hipStreamWaitEvent");
    hipStreamGetDevice = optional(symbols, "hipStreamGetDevice");
    hipStreamIsCapturing = required(symbols, "hipStreamIsCapturing");
    hipEventCreateWithFlags = required(symbols, "hipEventCreateWithFlags");
    hipEventDestroy = required(symbols, "hipEventDestroy");
    hipEventRecord = required(symbols, "hipEventRecord");
    hipEventQuery = required(symbols, "hipEventQuery");
    hipEventSynchronize = required(symbols, "hipEventSynchronize");
    hipEventElapsedTime = required(symbols, "hipEventElapsedTime");
    hipMemGetAllocationGranularity = optional(symbols, "hipMemGetAllocationGranularity");
    hipMemAddressReserve = optional(symbols, "hipMemAddressReserve");
    hipMemAddressFree = optional(symbols, "hipMemAddressFree");
    hipMemCreate = optional(symbols, "hipMemCreate");
    hipMemRelease = optional(symbols, "hipMemRelease");
    hipMemMap = optional(symbols, "hipMemMap");
    hipMemUnmap = optional(symbols, "hipMemUnmap");
    hipMemSetAccess = optional(symbols, "hipMemSetAccess");
    hipMemExportToShareableHandle = optional(symbols, "hipMemExportToShareableHandle");
    hipMemImportFromShareableHandle = optional(symbols, "hipMemImportFromShareableHandle");
    hipMemGetHandleForAddressRange = optional(symbols, "hipMemGetHandleForAddressRange");
    hipModuleLoadData = optional(symbols, "hipModuleLoadData");
    hipModuleUnload = optional(symbols, "hipModuleUnload");
    hipModuleGetFunction = optional(symbols, "hipModuleGetFunction");
    hipModuleLaunchKernel = optional(symbols, "hipModuleLaunchKernel");
  }

  /** Exports without which nothing works and which the library lacks; empty for a runtime. */
  List<String> missing() {
    return List.copyOf(missing);
  }

  /** Which library it is, for people. */
  String describe() {
    return library + " through FFM";
  }

  /** The run-time compiler that belongs to the library; can load another one. */
  HipCompiler.Search compiler(HipVersion version) {
    return HipCompiler.find(library, symbols, version);
  }

  /** Whether the library exports what a feature needs; whether it works is another question. */
  boolean offers(HipFeature feature) {
    return switch (feature) {
      case BATCH_COPY -> isThere(hipMemcpyBatchAsync);
      case PITCHED_COPY -> isThere(hipMemcpy2DAsync);
      case HOST_ALLOCATION -> isThere(hipHostMalloc) && isThere(hipHostFree);
      case VIRTUAL_MEMORY ->
          isThere(hipMemGetAllocationGranularity)
              && isThere(hipMemAddressReserve)
              && isThere(hipMemAddressFree)
              && isThere(hipMemCreate)
              && isThere(hipMemRelease)
              && isThere(hipMemMap)
              && isThere(hipMemUnmap)
              && isThere(hipMemSetAccess);
      case FILE_DESCRIPTORS ->
          isThere(hipMemExportToShareableHandle) && isThere(hipMemImportFromShareableHandle);
      case DMA_BUF -> isThere(hipMemGetHandleForAddressRange);
      case STREAM_DEVICE -> isThere(hipStreamGetDevice);
      case KERNEL_COPY ->
          isThere(hipModuleLoadData)
              && isThere(hipModuleUnload)
              && isThere(hipModuleGetFunction)
              && isThere(hipModuleLaunchKernel);
    };
  }

  // ---- errors

  /** The runtime's name for a code; it has one for every number. */
  String hipGetErrorName(int code) {
    try {
      return text((MemorySegment) HIP_GET_ERROR_NAME.invokeExact(hipGetErrorName, code));
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** The runtime's text for a code; version 5.2 repeats the name. */
  String hipGetErrorString(int code) {
    try {
      return text((MemorySegment) HIP_GET_ERROR_STRING.invokeExact(hipGetErrorString, code));
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** Clears the calling thread's last error, which other users of HIP in this process would see. */
  int hipGetLastError() {
    try {
      return (int) HIP_GET_LAST_ERROR.invokeExact(hipGetLastError);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** The calling thread's last error, which stays. */
  int hipPeekAtLastError() {
    try {
      return (int) HIP_PEEK_AT_LAST_ERROR.invokeExact(hipPeekAtLastError);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- library and devices

  int hipDriverGetVersion(MemorySegment version) {
    try {
      return (int) HIP_DRIVER_GET_VERSION.invokeExact(hipDriverGetVersion, version);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipRuntimeGetVersion(MemorySegment version) {
    try {
      return (int) HIP_RUNTIME_GET_VERSION.invokeExact(hipRuntimeGetVersion, version);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipGetDeviceCount(MemorySegment count) {
    try {
      return (int) HIP_GET_DEVICE_COUNT.invokeExact(hipGetDeviceCount, count);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** Writes a zero-ended name into the whole of {@code name}. */
  int hipDeviceGetName(MemorySegment name, int device) {
    try {
      return (int)
          HIP_DEVICE_GET_NAME.invokeExact(hipDeviceGetName, name, (int) name.byteSize(), device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** Writes 16 bytes. */
  int hipDeviceGetUuid(MemorySegment uuid, int device) {
    try {
      return (int) HIP_DEVICE_GET_UUID.invokeExact(hipDeviceGetUuid, uuid, device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipDeviceTotalMem(MemorySegment bytes, int device) {
    try {
      return (int) HIP_DEVICE_TOTAL_MEM.invokeExact(hipDeviceTotalMem, bytes, device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipDeviceGetAttribute(MemorySegment value, int attribute, int device) {
    try {
      return (int)
          HIP_DEVICE_GET_ATTRIBUTE.invokeExact(hipDeviceGetAttribute, value, attribute, device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** Writes a zero-ended id into the whole of {@code id}, which has 13 bytes or more. */
  int hipDeviceGetPCIBusId(MemorySegment id, int device) {
    try {
      return (int)
          HIP_DEVICE_GET_PCI_BUS_ID.invokeExact(
              hipDeviceGetPCIBusId, id, (int) id.byteSize(), device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- what is current on a thread

  int hipSetDevice(int device) {
    try {
      return (int) HIP_SET_DEVICE.invokeExact(hipSetDevice, device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipGetDevice(MemorySegment device) {
    try {
      return (int) HIP_GET_DEVICE.invokeExact(hipGetDevice, device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** Reads the wanted mode from {@code mode} and writes the previous one there. */
  int hipThreadExchangeStreamCaptureMode(MemorySegment mode) {
    try {
      return (int)
          HIP_THREAD_EXCHANGE_STREAM_CAPTURE_MODE.invokeExact(
              hipThreadExchangeStreamCaptureMode, mode);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- host memory

  int hipHostRegister(long address, long bytes, int flags) {
    try {
      return (int) HIP_HOST_REGISTER.invokeExact(hipHostRegister, address, bytes, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipHostUnregister(long address) {
    try {
      return (int) HIP_HOST_UNREGISTER.invokeExact(hipHostUnregister, address);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipHostMalloc(MemorySegment address, long bytes, int flags) {
    try {
      return (int) HIP_HOST_MALLOC.invokeExact(hipHostMalloc, address, bytes, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipHostFree(long address) {
    try {
      return (int) HIP_HOST_FREE.invokeExact(hipHostFree, address);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipHostGetDevicePointer(MemorySegment device, long host, int flags) {
    try {
      return (int)
          HIP_HOST_GET_DEVICE_POINTER.invokeExact(hipHostGetDevicePointer, device, host, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- device memory and copies

  int hipMemGetInfo(MemorySegment free, MemorySegment total) {
    try {
      return (int) HIP_MEM_GET_INFO.invokeExact(hipMemGetInfo, free, total);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipMalloc(MemorySegment address, long bytes) {
    try {
      return (int) HIP_MALLOC.invokeExact(hipMalloc, address, bytes);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipFree(long address) {
    try {
      return (int) HIP_FREE.invokeExact(hipFree, address);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** A null output would crash the process. */
  int hipMemGetAddressRange(MemorySegment base, MemorySegment bytes, long address) {
    try {
      return (int)
          HIP_MEM_GET_ADDRESS_RANGE.invokeExact(hipMemGetAddressRange, base, bytes, address);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** Writes a {@link HipLayouts#POINTER_ATTRIBUTES}. */
  int hipPointerGetAttributes(MemorySegment attributes, long address) {
    try {
      return (int)
          HIP_POINTER_GET_ATTRIBUTES.invokeExact(hipPointerGetAttributes, attributes, address);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** Writes 1, 4 or 8 bytes by attribute: {@code value} has 8 and is zeroed before. */
  int hipPointerGetAttribute(MemorySegment value, int attribute, long address) {
    try {
      return (int)
          HIP_POINTER_GET_ATTRIBUTE.invokeExact(hipPointerGetAttribute, value, attribute, address);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipMemcpyHtoDAsync(long to, long from, long bytes, long stream) {
    try {
      return (int) HIP_MEMCPY_HTOD_ASYNC.invokeExact(hipMemcpyHtoDAsync, to, from, bytes, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipMemcpyDtoHAsync(long to, long from, long bytes, long stream) {
    try {
      return (int) HIP_MEMCPY_DTOH_ASYNC.invokeExact(hipMemcpyDtoHAsync, to, from, bytes, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipMemcpyDtoDAsync(long to, long from, long bytes, long stream) {
    try {
      return (int) HIP_MEMCPY_DTOD_ASYNC.invokeExact(hipMemcpyDtoDAsync, to, from, bytes, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipMemcpy2DAsync(
      long to,
      long toPitch,
      long from,
      long fromPitch,
      long width,
      long height,
      int kind,
      long stream) {
    try {
      return (int)
          HIP_MEMCPY_2D_ASYNC.invokeExact(
              hipMemcpy2DAsync, to, toPitch, from, fromPitch, width, height, kind, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** Nine arguments in every version that has it; the columns are given by their addresses. */
  int hipMemcpyBatchAsync(
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
      return (int)
          HIP_MEMCPY_BATCH_ASYNC.invokeExact(
              hipMemcpyBatchAsync,
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

  int hipMemsetD8Async(long address, byte value, long bytes, long stream) {
    try {
      return (int) HIP_MEMSET_D8_ASYNC.invokeExact(hipMemsetD8Async, address, value, bytes, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- streams and events

  int hipStreamCreateWithPriority(MemorySegment stream, int flags, int priority) {
    try {
      return (int)
          HIP_STREAM_CREATE_WITH_PRIORITY.invokeExact(
              hipStreamCreateWithPriority, stream, flags, priority);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipStreamDestroy(long stream) {
    try {
      return (int) HIP_STREAM_DESTROY.invokeExact(hipStreamDestroy, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipStreamSynchronize(long stream) {
    try {
      return (int) HIP_STREAM_SYNCHRONIZE.invokeExact(hipStreamSynchronize, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipStreamQuery(long stream) {
    try {
      return (int) HIP_STREAM_QUERY.invokeExact(hipStreamQuery, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipStreamWaitEvent(long stream, long event, int flags) {
    try {
      return (int) HIP_STREAM_WAIT_EVENT.invokeExact(hipStreamWaitEvent, stream, event, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** Since 5.6. */
  int hipStreamGetDevice(long stream, MemorySegment device) {
    try {
      return (int) HIP_STREAM_GET_DEVICE.invokeExact(hipStreamGetDevice, stream, device);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipStreamIsCapturing(long stream, MemorySegment status) {
    try {
      return (int) HIP_STREAM_IS_CAPTURING.invokeExact(hipStreamIsCapturing, stream, status);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipEventCreateWithFlags(MemorySegment event, int flags) {
    try {
      return (int) HIP_EVENT_CREATE_WITH_FLAGS.invokeExact(hipEventCreateWithFlags, event, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipEventDestroy(long event) {
    try {
      return (int) HIP_EVENT_DESTROY.invokeExact(hipEventDestroy, event);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipEventRecord(long event, long stream) {
    try {
      return (int) HIP_EVENT_RECORD.invokeExact(hipEventRecord, event, stream);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipEventQuery(long event) {
    try {
      return (int) HIP_EVENT_QUERY.invokeExact(hipEventQuery, event);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipEventSynchronize(long event) {
    try {
      return (int) HIP_EVENT_SYNCHRONIZE.invokeExact(hipEventSynchronize, event);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipEventElapsedTime(MemorySegment milliseconds, long start, long end) {
    try {
      return (int)
          HIP_EVENT_ELAPSED_TIME.invokeExact(hipEventElapsedTime, milliseconds, start, end);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- virtual memory

  /** {@code properties} are {@link HipLayouts.Properties}. */
  int hipMemGetAllocationGranularity(MemorySegment bytes, MemorySegment properties, int option) {
    try {
      return (int)
          HIP_MEM_GET_ALLOCATION_GRANULARITY.invokeExact(
              hipMemGetAllocationGranularity, bytes, properties, option);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** Versions before 6.1 answer 0 and write nothing. */
  int hipMemAddressReserve(
      MemorySegment address, long bytes, long alignment, long hint, long flags) {
    try {
      return (int)
          HIP_MEM_ADDRESS_RESERVE.invokeExact(
              hipMemAddressReserve, address, bytes, alignment, hint, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipMemAddressFree(long address, long bytes) {
    try {
      return (int) HIP_MEM_ADDRESS_FREE.invokeExact(hipMemAddressFree, address, bytes);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** {@code properties} are {@link HipLayouts.Properties}. */
  int hipMemCreate(MemorySegment handle, long bytes, MemorySegment properties, long flags) {
    try {
      return (int) HIP_MEM_CREATE.invokeExact(hipMemCreate, handle, bytes, properties, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipMemRelease(long handle) {
    try {
      return (int) HIP_MEM_RELEASE.invokeExact(hipMemRelease, handle);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipMemMap(long address, long bytes, long offset, long handle, long flags) {
    try {
      return (int) HIP_MEM_MAP.invokeExact(hipMemMap, address, bytes, offset, handle, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** What is not mapped crashes version 6.2. */
  int hipMemUnmap(long address, long bytes) {
    try {
      return (int) HIP_MEM_UNMAP.invokeExact(hipMemUnmap, address, bytes);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** {@code descriptors} are {@link HipLayouts#ACCESS_DESCRIPTOR}s. */
  int hipMemSetAccess(long address, long bytes, MemorySegment descriptors, long count) {
    try {
      return (int)
          HIP_MEM_SET_ACCESS.invokeExact(hipMemSetAccess, address, bytes, descriptors, count);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** Writes an {@code int}, a file descriptor. */
  int hipMemExportToShareableHandle(MemorySegment into, long handle, int type, long flags) {
    try {
      return (int)
          HIP_MEM_EXPORT_TO_SHAREABLE_HANDLE.invokeExact(
              hipMemExportToShareableHandle, into, handle, type, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** {@code osHandle} is a descriptor's address before 7.1, and its value from there on. */
  int hipMemImportFromShareableHandle(MemorySegment handle, long osHandle, int type) {
    try {
      return (int)
          HIP_MEM_IMPORT_FROM_SHAREABLE_HANDLE.invokeExact(
              hipMemImportFromShareableHandle, handle, osHandle, type);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipMemGetHandleForAddressRange(
      MemorySegment into, long address, long bytes, int type, long flags) {
    try {
      return (int)
          HIP_MEM_GET_HANDLE_FOR_ADDRESS_RANGE.invokeExact(
              hipMemGetHandleForAddressRange, into, address, bytes, type, flags);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- kernels

  /** {@code image} is a code object as hiprtc makes it. */
  int hipModuleLoadData(MemorySegment module, MemorySegment image) {
    try {
      return (int) HIP_MODULE_LOAD_DATA.invokeExact(hipModuleLoadData, module, image);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipModuleUnload(long module) {
    try {
      return (int) HIP_MODULE_UNLOAD.invokeExact(hipModuleUnload, module);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** {@code name} ends with a zero byte. */
  int hipModuleGetFunction(MemorySegment function, long module, MemorySegment name) {
    try {
      return (int)
          HIP_MODULE_GET_FUNCTION.invokeExact(hipModuleGetFunction, function, module, name);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** One-dimensional launch; {@code arguments} are the addresses of the kernel's arguments. */
  int hipModuleLaunchKernel(
      long function, int gridBlocks, int blockThreads, long stream, MemorySegment arguments) {
    try {
      return (int)
          HIP_MODULE_LAUNCH_KERNEL.invokeExact(
              hipModuleLaunchKernel,
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

  /** A call whose result is a code. */
  private static MethodHandle downcall(MemoryLayout... arguments) {
    return linked(FunctionDescriptor.of(JAVA_INT, arguments));
  }

  /** A call from a code to a text. */
  private static MethodHandle naming() {
    return linked(FunctionDescriptor.of(ADDRESS, JAVA_INT));
  }

  @SuppressWarnings("restricted")
  private static MethodHandle linked(FunctionDescriptor shape) {
    return Linker.nativeLinker().downcallHandle(shape);
  }

  @SuppressWarnings("restricted")
  private static String text(MemorySegment words) {
    return words.address() == 0 ? "" : words.reinterpret(Long.MAX_VALUE).getString(0);
  }

  /** A downcall does not throw by itself: what arrives here is a fault of this class. */
  private static AssertionError bug(Throwable cause) {
    return new AssertionError("a call into the HIP runtime could not be made", cause);
  }
}
