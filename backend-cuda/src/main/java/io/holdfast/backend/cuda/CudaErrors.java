package io.holdfast.backend.cuda;

import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_ASSERT;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_CONTAINED;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_CONTEXT_IS_DESTROYED;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_DEINITIALIZED;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_ECC_UNCORRECTABLE;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_HARDWARE_STACK_ERROR;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_ILLEGAL_ADDRESS;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_ILLEGAL_INSTRUCTION;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_INVALID_ADDRESS_SPACE;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_INVALID_CONTEXT;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_INVALID_DEVICE;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_INVALID_HANDLE;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_INVALID_PC;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_INVALID_VALUE;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_LAUNCH_FAILED;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_LAUNCH_TIMEOUT;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_MISALIGNED_ADDRESS;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_NOT_INITIALIZED;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_NOT_PERMITTED;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_NOT_SUPPORTED;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_NVLINK_UNCORRECTABLE;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_OUT_OF_MEMORY;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;

import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;

/** The driver's codes as exceptions, with what each means to policy. */
final class CudaErrors {
  private CudaErrors() {}

  /**
   * Throws for a non-zero code, and otherwise costs a comparison.
   *
   * @param calls whose names to use
   * @param call the exported name
   * @param code the call's answer
   */
  static void check(CudaCalls calls, String call, int code) {
    if (code != 0) {
      throw failure(calls, call, code);
    }
  }

  /** The exception for a code, with the driver's own name for it. */
  static DriverException failure(CudaCalls calls, String call, int code) {
    String name = calls.cuGetErrorName(code);
    return new DriverException(
        CudaProvider.ID, call, code, name == null ? "no name" : name, fault(code));
  }

  /** What a code means to policy. */
  static DriverFault fault(int code) {
    return switch (code) {
      case CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_DEVICE -> DriverFault.INVALID_ARGUMENT;
      case CUDA_ERROR_OUT_OF_MEMORY -> DriverFault.OUT_OF_MEMORY;
      // 3 after a start is a forked child's answer to every call; 4 comes while the process ends.
      case CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_DEINITIALIZED -> DriverFault.SHUTTING_DOWN;
      case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED -> DriverFault.ALREADY_REGISTERED;
      case CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED -> DriverFault.NOT_REGISTERED;
      case CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_CONTEXT -> DriverFault.INVALID_HANDLE;
      case CUDA_ERROR_NOT_SUPPORTED,
          CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
          CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER ->
          DriverFault.NOT_SUPPORTED;
      case CUDA_ERROR_NOT_PERMITTED -> DriverFault.NOT_PERMITTED;
      // These stay for every later call: the context is gone.
      case CUDA_ERROR_ECC_UNCORRECTABLE,
          CUDA_ERROR_NVLINK_UNCORRECTABLE,
          CUDA_ERROR_CONTAINED,
          CUDA_ERROR_ILLEGAL_ADDRESS,
          CUDA_ERROR_LAUNCH_TIMEOUT,
          CUDA_ERROR_CONTEXT_IS_DESTROYED,
          CUDA_ERROR_ASSERT,
          CUDA_ERROR_HARDWARE_STACK_ERROR,
          CUDA_ERROR_ILLEGAL_INSTRUCTION,
          CUDA_ERROR_MISALIGNED_ADDRESS,
          CUDA_ERROR_INVALID_ADDRESS_SPACE,
          CUDA_ERROR_INVALID_PC,
          CUDA_ERROR_LAUNCH_FAILED ->
          DriverFault.DEVICE_LOST;
      default ->
          code >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                  && code <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
              ? DriverFault.CAPTURE
              : DriverFault.OTHER;
    };
  }
}
