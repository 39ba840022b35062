package io.holdfast.backend.cpusim.driver;

import java.util.Locale;

/**
 * The calls of a driver, one constant per call whatever the family names it; scripts of faults and
 * assertions on the ledger speak of these.
 */
public enum Operation {
  /** Initialises the library. */
  INIT("cuInit", "hipInit"),
  /** Counts devices. */
  DEVICE_GET_COUNT("cuDeviceGetCount", "hipGetDeviceCount"),
  /** Reads one attribute. */
  DEVICE_GET_ATTRIBUTE("cuDeviceGetAttribute", "hipDeviceGetAttribute"),
  /** Retains the shared context. */
  PRIMARY_CTX_RETAIN("cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain"),
  /** Releases the shared context. */
  PRIMARY_CTX_RELEASE("cuDevicePrimaryCtxRelease_v2", "hipDevicePrimaryCtxRelease"),
  /** Makes a context of one's own. */
  CTX_CREATE("cuCtxCreate_v2", "hipCtxCreate"),
  /** Destroys a context of one's own. */
  CTX_DESTROY("cuCtxDestroy_v2", "hipCtxDestroy"),
  /** Makes a context, or with HIP a device, current in the calling thread. */
  CTX_SET_CURRENT("cuCtxSetCurrent", "hipSetDevice"),
  /** Reads the calling thread's context, or with HIP its device. */
  CTX_GET_CURRENT("cuCtxGetCurrent", "hipGetDevice"),
  /** Reads the device of the current context. */
  CTX_GET_DEVICE("cuCtxGetDevice", "hipGetDevice"),
  /** Waits for all work of the current context. */
  CTX_SYNCHRONIZE("cuCtxSynchronize", "hipDeviceSynchronize"),
  /** Exchanges the calling thread's capture mode. */
  THREAD_EXCHANGE_CAPTURE_MODE(
      "cuThreadExchangeStreamCaptureMode", "hipThreadExchangeStreamCaptureMode"),
  /** Pins host memory. */
  HOST_REGISTER("cuMemHostRegister_v2", "hipHostRegister"),
  /** Unpins host memory. */
  HOST_UNREGISTER("cuMemHostUnregister", "hipHostUnregister"),
  /** Asks how a device sees registered memory. */
  HOST_GET_DEVICE_POINTER("cuMemHostGetDevicePointer_v2", "hipHostGetDevicePointer"),
  /** Asks with which flags memory was registered. */
  HOST_GET_FLAGS("cuMemHostGetFlags", "hipHostGetFlags"),
  /** Allocates pinned host memory. */
  HOST_ALLOC("cuMemHostAlloc", "hipHostMalloc"),
  /** Frees pinned host memory. */
  HOST_FREE("cuMemFreeHost", "hipHostFree"),
  /** Allocates device memory. */
  MEM_ALLOC("cuMemAlloc_v2", "hipMalloc"),
  /** Frees device memory. */
  MEM_FREE("cuMemFree_v2", "hipFree"),
  /** Asks which allocation or mapping holds an address. */
  MEM_GET_ADDRESS_RANGE("cuMemGetAddressRange_v2", "hipMemGetAddressRange"),
  /** Asks for free and total memory. */
  MEM_GET_INFO("cuMemGetInfo_v2", "hipMemGetInfo"),
  /** Asks what a pointer is. */
  POINTER_GET_ATTRIBUTE("cuPointerGetAttribute", "hipPointerGetAttribute"),
  /** Copies and waits, by address. */
  MEMCPY("cuMemcpy", "hipMemcpy"),
  /** Copies on a stream, by address. */
  MEMCPY_ASYNC("cuMemcpyAsync", "hipMemcpyAsync"),
  /** Copies from host to device on a stream. */
  MEMCPY_HTOD_ASYNC("cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync"),
  /** Copies from device to host on a stream. */
  MEMCPY_DTOH_ASYNC("cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync"),
  /** Copies from device to device on a stream. */
  MEMCPY_DTOD_ASYNC("cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync"),
  /** Copies a rectangle on a stream. */
  MEMCPY_2D_ASYNC("cuMemcpy2DAsync_v2", "hipMemcpy2DAsync"),
  /** Copies many ranges on a stream. */
  MEMCPY_BATCH_ASYNC("cuMemcpyBatchAsync", "hipMemcpyBatchAsync"),
  /** Sets bytes on a stream. */
  MEMSET_ASYNC("cuMemsetD8Async", "hipMemsetD8Async"),
  /** Launches the kernel that gathers or scatters. */
  LAUNCH_COPY_KERNEL("cuLaunchKernel", "hipModuleLaunchKernel"),
  /** Puts a host function on a stream. */
  LAUNCH_HOST_FUNC("cuLaunchHostFunc", "hipLaunchHostFunc"),
  /** Makes a stream. */
  STREAM_CREATE("cuStreamCreateWithPriority", "hipStreamCreateWithPriority"),
  /** Destroys a stream. */
  STREAM_DESTROY("cuStreamDestroy_v2", "hipStreamDestroy"),
  /** Asks whether a stream's work is done. */
  STREAM_QUERY("cuStreamQuery", "hipStreamQuery"),
  /** Waits for a stream's work. */
  STREAM_SYNCHRONIZE("cuStreamSynchronize", "hipStreamSynchronize"),
  /** Makes a stream wait for an event. */
  STREAM_WAIT_EVENT("cuStreamWaitEvent", "hipStreamWaitEvent"),
  /** Asks for a stream's context. */
  STREAM_GET_CTX("cuStreamGetCtx", "hipStreamGetDevice"),
  /** Asks for a stream's flags. */
  STREAM_GET_FLAGS("cuStreamGetFlags", "hipStreamGetFlags"),
  /** Asks for the priorities there are. */
  STREAM_PRIORITY_RANGE("cuCtxGetStreamPriorityRange", "hipDeviceGetStreamPriorityRange"),
  /** Asks whether a graph is captured from a stream. */
  STREAM_IS_CAPTURING("cuStreamIsCapturing", "hipStreamIsCapturing"),
  /** Begins to capture a graph. */
  STREAM_BEGIN_CAPTURE("cuStreamBeginCapture_v2", "hipStreamBeginCapture"),
  /** Ends a capture. */
  STREAM_END_CAPTURE("cuStreamEndCapture", "hipStreamEndCapture"),
  /** Runs a captured graph. */
  GRAPH_LAUNCH("cuGraphLaunch", "hipGraphLaunch"),
  /** Makes an event. */
  EVENT_CREATE("cuEventCreate", "hipEventCreateWithFlags"),
  /** Destroys an event. */
  EVENT_DESTROY("cuEventDestroy_v2", "hipEventDestroy"),
  /** Records an event. */
  EVENT_RECORD("cuEventRecord", "hipEventRecord"),
  /** Asks whether an event has passed. */
  EVENT_QUERY("cuEventQuery", "hipEventQuery"),
  /** Waits for an event. */
  EVENT_SYNCHRONIZE("cuEventSynchronize", "hipEventSynchronize"),
  /** Asks for the time between two events. */
  EVENT_ELAPSED_TIME("cuEventElapsedTime", "hipEventElapsedTime"),
  /** Asks for the granule. */
  VMM_GRANULARITY("cuMemGetAllocationGranularity", "hipMemGetAllocationGranularity"),
  /** Takes addresses. */
  VMM_RESERVE("cuMemAddressReserve", "hipMemAddressReserve"),
  /** Gives addresses back. */
  VMM_ADDRESS_FREE("cuMemAddressFree", "hipMemAddressFree"),
  /** Takes physical memory. */
  VMM_CREATE("cuMemCreate", "hipMemCreate"),
  /** Drops a reference to physical memory. */
  VMM_RELEASE("cuMemRelease", "hipMemRelease"),
  /** Puts physical memory under addresses. */
  VMM_MAP("cuMemMap", "hipMemMap"),
  /** Takes it away. */
  VMM_UNMAP("cuMemUnmap", "hipMemUnmap"),
  /** Lets a device read and write. */
  VMM_SET_ACCESS("cuMemSetAccess", "hipMemSetAccess"),
  /** Asks what a device may do. */
  VMM_GET_ACCESS("cuMemGetAccess", "hipMemGetAccess"),
  /** Makes a handle for others. */
  VMM_EXPORT("cuMemExportToShareableHandle", "hipMemExportToShareableHandle"),
  /** Takes a reference through such a handle. */
  VMM_IMPORT("cuMemImportFromShareableHandle", "hipMemImportFromShareableHandle"),
  /** Takes a reference through an address. */
  VMM_RETAIN("cuMemRetainAllocationHandle", "hipMemRetainAllocationHandle"),
  /** Asks what an allocation is. */
  VMM_GET_PROPERTIES(
      "cuMemGetAllocationPropertiesFromHandle", "hipMemGetAllocationPropertiesFromHandle"),
  /** Makes a dma-buf descriptor for a range. */
  VMM_RANGE_HANDLE("cuMemGetHandleForAddressRange", "hipMemGetHandleForAddressRange"),
  /** Turns an ordinal into a device. */
  DEVICE_GET("cuDeviceGet", "hipDeviceGet"),
  /** Makes a context current and keeps the one before below it. */
  CTX_PUSH("cuCtxPushCurrent_v2", "hipCtxPushCurrent"),
  /** Makes the context below current again. */
  CTX_POP("cuCtxPopCurrent_v2", "hipCtxPopCurrent"),
  /** Lets the current context use another device's memory. */
  CTX_ENABLE_PEER_ACCESS("cuCtxEnablePeerAccess", "hipDeviceEnablePeerAccess"),
  /** Forgets a captured graph. */
  GRAPH_DESTROY("cuGraphDestroy", "hipGraphDestroy"),
  /** Loads code for a device. */
  MODULE_LOAD("cuModuleLoadData", "hipModuleLoadData"),
  /** Unloads it. */
  MODULE_UNLOAD("cuModuleUnload", "hipModuleUnload"),
  /** Finds a kernel in it. */
  MODULE_GET_FUNCTION("cuModuleGetFunction", "hipModuleGetFunction");

  private final String cudaName;
  private final String hipName;

  Operation(String cudaName, String hipName) {
    this.cudaName = cudaName;
    this.hipName = hipName;
  }

  /**
   * The exported name.
   *
   * @param family whose
   * @return for example {@code cuMemHostRegister_v2}
   */
  public String exportedName(Family family) {
    return family == Family.CUDA ? cudaName : hipName;
  }

  /**
   * Whether the call only keeps books in the calling thread, so that "the k-th call at all" of a
   * fault script passes over it.
   *
   * @return true for setting and reading the current context and the capture mode
   */
  public boolean isThreadBookkeeping() {
    return this == CTX_SET_CURRENT
        || this == CTX_GET_CURRENT
        || this == CTX_PUSH
        || this == CTX_POP
        || this == THREAD_EXCHANGE_CAPTURE_MODE;
  }

  /**
   * Finds an operation by any of its names.
   *
   * @param name the constant's name in any case with {@code _} or {@code -}, or an exported name
   * @return the operation
   * @throws IllegalArgumentException where nothing has that name
   */
  public static Operation named(String name) {
    String wanted = name.replace('-', '_').toUpperCase(Locale.ROOT);
    for (Operation operation : values()) {
      if (operation.name().equals(wanted)
          || operation.cudaName.equals(name)
          || operation.hipName.equals(name)) {
        return operation;
      }
    }
    throw new IllegalArgumentException("no operation is named '" + name + "'");
  }
}
