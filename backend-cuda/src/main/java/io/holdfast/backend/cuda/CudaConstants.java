package io.holdfast.backend.cuda;

/** Numbers of the driver API that this module uses, with the names they have in {@code cuda.h}. */
final class CudaConstants {
  // ---- CUresult
  static final int CUDA_SUCCESS = 0;
  static final int CUDA_ERROR_INVALID_VALUE = 1;
  static final int CUDA_ERROR_OUT_OF_MEMORY = 2;
  static final int CUDA_ERROR_NOT_INITIALIZED = 3;
  static final int CUDA_ERROR_DEINITIALIZED = 4;
  static final int CUDA_ERROR_STUB_LIBRARY = 34;
  static final int CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER = 36;
  static final int CUDA_ERROR_DEVICE_UNAVAILABLE = 46;
  static final int CUDA_ERROR_NO_DEVICE = 100;
  static final int CUDA_ERROR_INVALID_DEVICE = 101;
  static final int CUDA_ERROR_INVALID_CONTEXT = 201;
  static final int CUDA_ERROR_ECC_UNCORRECTABLE = 214;
  static final int CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217;
  static final int CUDA_ERROR_NVLINK_UNCORRECTABLE = 220;
  static final int CUDA_ERROR_CONTAINED = 226;
  static final int CUDA_ERROR_OPERATING_SYSTEM = 304;
  static final int CUDA_ERROR_INVALID_HANDLE = 400;
  static final int CUDA_ERROR_NOT_FOUND = 500;
  static final int CUDA_ERROR_NOT_READY = 600;
  static final int CUDA_ERROR_ILLEGAL_ADDRESS = 700;
  static final int CUDA_ERROR_LAUNCH_TIMEOUT = 702;
  static final int CUDA_ERROR_CONTEXT_IS_DESTROYED = 709;
  static final int CUDA_ERROR_ASSERT = 710;
  static final int CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712;
  static final int CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713;
  static final int CUDA_ERROR_HARDWARE_STACK_ERROR = 714;
  static final int CUDA_ERROR_ILLEGAL_INSTRUCTION = 715;
  static final int CUDA_ERROR_MISALIGNED_ADDRESS = 716;
  static final int CUDA_ERROR_INVALID_ADDRESS_SPACE = 717;
  static final int CUDA_ERROR_INVALID_PC = 718;
  static final int CUDA_ERROR_LAUNCH_FAILED = 719;
  static final int CUDA_ERROR_NOT_PERMITTED = 800;
  static final int CUDA_ERROR_NOT_SUPPORTED = 801;
  static final int CUDA_ERROR_SYSTEM_NOT_READY = 802;
  static final int CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803;
  static final int CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804;
  static final int CUDA_ERROR_MPS_CONNECTION_FAILED = 805;
  static final int CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED = 809;
  static final int CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900;
  static final int CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906;
  static final int CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908;
  static final int CUDA_ERROR_UNKNOWN = 999;

  // ---- CUdevice_attribute
  static final int CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11;
  static final int CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91;
  static final int CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100;
  static final int CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102;
  static final int CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103;
  static final int CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 110;
  static final int CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED = 124;
  static final int CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED = 128;
  static final int CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID = 134;

  // ---- host memory
  static final int CU_MEMHOSTREGISTER_PORTABLE = 1;
  static final int CU_MEMHOSTREGISTER_DEVICEMAP = 2;
  static final int CU_MEMHOSTALLOC_PORTABLE = 1;
  static final int CU_MEMHOSTALLOC_DEVICEMAP = 2;
  static final int CU_MEMHOSTALLOC_WRITECOMBINED = 4;

  // ---- streams, events, capture
  static final int CU_STREAM_NON_BLOCKING = 1;
  static final long CU_STREAM_LEGACY = 1;
  static final long CU_STREAM_PER_THREAD = 2;
  static final int CU_EVENT_DEFAULT = 0;
  static final int CU_EVENT_DISABLE_TIMING = 2;
  static final int CU_STREAM_CAPTURE_MODE_RELAXED = 2;
  static final int CU_STREAM_CAPTURE_STATUS_NONE = 0;
  static final int CU_STREAM_CAPTURE_STATUS_ACTIVE = 1;

  // ---- copies
  static final int CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1;
  static final int CU_MEMCPY_SRC_ACCESS_ORDER_ANY = 3;
  static final int CU_MEMORYTYPE_HOST = 1;
  static final int CU_MEMORYTYPE_DEVICE = 2;

  // ---- pointers
  static final int CU_POINTER_ATTRIBUTE_CONTEXT = 1;
  static final int CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2;
  static final int CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9;
  static final int CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15;

  // ---- virtual memory
  static final int CU_MEM_ALLOCATION_TYPE_PINNED = 1;
  static final int CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1;
  static final int CU_MEM_HANDLE_TYPE_FABRIC = 8;
  static final int CU_MEM_LOCATION_TYPE_DEVICE = 1;
  static final int CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3;
  static final int CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0;
  static final int CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD = 1;
  static final int CU_IPC_HANDLE_SIZE = 64;

  private CudaConstants() {}
}
