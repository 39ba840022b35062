package io.holdfast.backend.cuda;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The driver's functions as this module uses them, whichever binding makes the calls.
 *
 * <p>One method for each C function, with its exported name, its arguments in C order and its code
 * as the result. Handles and addresses are {@code long}; what C returns through a pointer is
 * written into native memory that the caller gives. No checks, no policy, no exception for a
 * non-zero code. Which thread and which context calls is the caller's business.
 */
interface CudaCalls {

  /** Which binding this is and which library it calls, for people. */
  String describe();

  /** Whether the library and the binding have what a feature needs. */
  boolean offers(CudaFeature feature);

  // ---- errors

  /** The driver's name for a code, or null where it has none. */
  @Nullable String cuGetErrorName(int code);

  /** The driver's text for a code, or null where it has none. */
  @Nullable String cuGetErrorString(int code);

  // ---- library and devices

  int cuInit(int flags);

  int cuDriverGetVersion(MemorySegment version);

  int cuDeviceGetCount(MemorySegment count);

  int cuDeviceGet(MemorySegment device, int ordinal);

  /** Writes a zero-ended name into the whole of {@code name}. */
  int cuDeviceGetName(MemorySegment name, int device);

  /** Writes 16 bytes. */
  int cuDeviceGetUuid_v2(MemorySegment uuid, int device);

  int cuDeviceTotalMem_v2(MemorySegment bytes, int device);

  int cuDeviceGetAttribute(MemorySegment value, int attribute, int device);

  /** Writes a zero-ended id into the whole of {@code id}, which has 13 bytes or more. */
  int cuDeviceGetPCIBusId(MemorySegment id, int device);

  // ---- contexts

  int cuDevicePrimaryCtxRetain(MemorySegment context, int device);

  int cuDevicePrimaryCtxRelease_v2(int device);

  int cuCtxSetCurrent(long context);

  int cuCtxGetCurrent(MemorySegment context);

  int cuCtxGetDevice(MemorySegment device);

  /** Reads the wanted mode from {@code mode} and writes the previous one there. */
  int cuThreadExchangeStreamCaptureMode(MemorySegment mode);

  // ---- host memory

  int cuMemHostRegister_v2(long address, long bytes, int flags);

  int cuMemHostUnregister(long address);

  int cuMemHostAlloc(MemorySegment address, long bytes, int flags);

  int cuMemFreeHost(long address);

  int cuMemHostGetDevicePointer_v2(MemorySegment device, long host, int flags);

  // ---- device memory and copies

  int cuMemGetInfo_v2(MemorySegment free, MemorySegment total);

  int cuMemAlloc_v2(MemorySegment address, long bytes);

  int cuMemFree_v2(long address);

  int cuMemGetAddressRange_v2(MemorySegment base, MemorySegment bytes, long address);

  int cuPointerGetAttribute(MemorySegment value, int attribute, long address);

  int cuMemcpyHtoDAsync_v2(long to, long from, long bytes, long stream);

  int cuMemcpyDtoHAsync_v2(long to, long from, long bytes, long stream);

  int cuMemcpyDtoDAsync_v2(long to, long from, long bytes, long stream);

  /** {@code copy} is a {@link CudaLayouts#MEMCPY_2D}. */
  int cuMemcpy2DAsync_v2(MemorySegment copy, long stream);

  /**
   * Calls {@code cuMemcpyBatchAsync_v2} with 8 arguments where the library has it, else {@code
   * cuMemcpyBatchAsync} with 9; the columns are given by their addresses.
   *
   * @param failedAt receives the row that failed, or all ones where the driver names none
   */
  int cuMemcpyBatchAsync(
      long to,
      long from,
      long byteCounts,
      long rows,
      MemorySegment attributes,
      MemorySegment attributeRows,
      long attributeCount,
      MemorySegment failedAt,
      long stream);

  int cuMemsetD8Async(long address, byte value, long bytes, long stream);

  // ---- streams and events

  int cuStreamCreateWithPriority(MemorySegment stream, int flags, int priority);

  int cuStreamDestroy_v2(long stream);

  int cuStreamSynchronize(long stream);

  int cuStreamQuery(long stream);

  int cuStreamWaitEvent(long stream, long event, int flags);

  int cuStreamGetCtx(long stream, MemorySegment context);

  int cuStreamIsCapturing(long stream, MemorySegment status);

  int cuEventCreate(MemorySegment event, int flags);

  int cuEventDestroy_v2(long event);

  int cuEventRecord(long event, long stream);

  int cuEventQuery(long event);

  int cuEventSynchronize(long event);

  int cuEventElapsedTime(MemorySegment milliseconds, long start, long end);

  // ---- virtual memory

  /** {@code properties} is a {@link CudaLayouts#ALLOCATION_PROPERTIES}. */
  int cuMemGetAllocationGranularity(MemorySegment bytes, MemorySegment properties, int option);

  int cuMemAddressReserve(MemorySegment address, long bytes, long alignment, long hint, long flags);

  int cuMemAddressFree(long address, long bytes);

  /** {@code properties} is a {@link CudaLayouts#ALLOCATION_PROPERTIES}. */
  int cuMemCreate(MemorySegment handle, long bytes, MemorySegment properties, long flags);

  int cuMemRelease(long handle);

  int cuMemMap(long address, long bytes, long offset, long handle, long flags);

  int cuMemUnmap(long address, long bytes);

  /** {@code descriptors} are {@link CudaLayouts#ACCESS_DESCRIPTOR}s. */
  int cuMemSetAccess(long address, long bytes, MemorySegment descriptors, long count);

  /** Writes an {@code int} for a file descriptor, 64 bytes for a fabric handle. */
  int cuMemExportToShareableHandle(MemorySegment into, long handle, int type, long flags);

  /** {@code osHandle} is a descriptor's value, or the address of a fabric handle's 64 bytes. */
  int cuMemImportFromShareableHandle(MemorySegment handle, long osHandle, int type);

  int cuMemGetHandleForAddressRange(
      MemorySegment into, long address, long bytes, int type, long flags);

  // ---- kernels

  /** {@code image} is PTX text that ends with a zero byte. */
  int cuModuleLoadData(MemorySegment module, MemorySegment image);

  int cuModuleUnload(long module);

  /** {@code name} ends with a zero byte. */
  int cuModuleGetFunction(MemorySegment function, long module, MemorySegment name);

  /**
   * One-dimensional launch.
   *
   * @param arguments addresses of the kernel's arguments, each of 8 bytes
   * @param argumentCount how many
   */
  int cuLaunchKernel(
      long function,
      int gridBlocks,
      int blockThreads,
      long stream,
      MemorySegment arguments,
      int argumentCount);
}
