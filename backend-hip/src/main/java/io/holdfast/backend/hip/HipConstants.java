package io.holdfast.backend.hip;

/** Numbers of HIP's headers, under their names there. None of them changed from 5.2 to 7.2. */
final class HipConstants {
  // hipError_t; the numbers that CUDA has, too, mean the same.
  static final int HIP_ERROR_INVALID_VALUE = 1;
  static final int HIP_ERROR_OUT_OF_MEMORY = 2;
  static final int HIP_ERROR_NOT_INITIALIZED = 3;
  static final int HIP_ERROR_DEINITIALIZED = 4;
  static final int HIP_ERROR_INVALID_MEMCPY_DIRECTION = 21;
  static final int HIP_ERROR_INSUFFICIENT_DRIVER = 35;
  static final int HIP_ERROR_NO_DEVICE = 100;
  static final int HIP_ERROR_INVALID_DEVICE = 101;
  static final int HIP_ERROR_INVALID_CONTEXT = 201;
  static final int HIP_ERROR_ECC_NOT_CORRECTABLE = 214;
  static final int HIP_ERROR_PEER_ACCESS_UNSUPPORTED = 217;
  static final int HIP_ERROR_INVALID_HANDLE = 400;
  static final int HIP_ERROR_NOT_FOUND = 500;
  static final int HIP_ERROR_NOT_READY = 600;
  static final int HIP_ERROR_ILLEGAL_ADDRESS = 700;
  static final int HIP_ERROR_LAUNCH_TIME_OUT = 702;
  static final int HIP_ERROR_CONTEXT_IS_DESTROYED = 709;
  static final int HIP_ERROR_ASSERT = 710;
  static final int HIP_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712;
  static final int HIP_ERROR_HOST_MEMORY_NOT_REGISTERED = 713;
  static final int HIP_ERROR_LAUNCH_FAILURE = 719;
  static final int HIP_ERROR_NOT_SUPPORTED = 801;
  static final int HIP_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900;
  static final int HIP_ERROR_STREAM_CAPTURE_IMPLICIT = 906;
  static final int HIP_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908;

  // hipDeviceAttribute_t
  static final int HIP_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 4;
  static final int HIP_DEVICE_ATTRIBUTE_MAX_PITCH = 58;
  static final int HIP_DEVICE_ATTRIBUTE_WARP_SIZE = 87;
  static final int HIP_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 89; // 5.3
  static final int HIP_DEVICE_ATTRIBUTE_HOST_NUMA_ID = 92; // 7.2
  static final int HIP_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED = 93; // 7.12
  static final int HIP_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_VMM_SUPPORTED = 94; // 7.13

  // hipHostRegister and hipHostMalloc; 8 is coarse-grained memory here, and not read-only
  static final int HIP_HOST_REGISTER_PORTABLE = 1;
  static final int HIP_HOST_REGISTER_MAPPED = 2;
  static final int HIP_HOST_MALLOC_PORTABLE = 1;
  static final int HIP_HOST_MALLOC_MAPPED = 2;
  static final int HIP_HOST_MALLOC_WRITE_COMBINED = 4;

  // hipMemcpyKind
  static final int HIP_MEMCPY_HOST_TO_DEVICE = 1;
  static final int HIP_MEMCPY_DEVICE_TO_HOST = 2;
  static final int HIP_MEMCPY_DEVICE_TO_DEVICE = 3;

  // streams and events
  static final int HIP_STREAM_NON_BLOCKING = 1;
  static final long HIP_STREAM_NULL = 0;
  static final long HIP_STREAM_PER_THREAD = 2; // 1 is the legacy stream from 6.2 on
  static final int HIP_EVENT_DEFAULT = 0;
  static final int HIP_EVENT_DISABLE_TIMING = 2;
  static final int HIP_STREAM_CAPTURE_MODE_RELAXED = 2;
  static final int HIP_STREAM_CAPTURE_STATUS_NONE = 0;
  static final int HIP_STREAM_CAPTURE_STATUS_ACTIVE = 1;

  // hipMemcpyAttributes, 7.1
  static final int HIP_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1;
  static final int HIP_MEMCPY_SRC_ACCESS_ORDER_ANY = 3;

  // virtual memory
  static final int HIP_MEM_ALLOCATION_TYPE_PINNED = 1;
  static final int HIP_MEM_HANDLE_TYPE_NONE = 0;
  static final int HIP_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1;
  static final int HIP_MEM_LOCATION_TYPE_DEVICE = 1;
  static final int HIP_MEM_ACCESS_FLAGS_PROT_READWRITE = 3;
  static final int HIP_MEM_ALLOCATION_GRANULARITY_MINIMUM = 0;
  static final int HIP_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD = 1;
  static final int HIP_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15;

  private HipConstants() {}
}
