package io.holdfast.backend.hip;

import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_ASSERT;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_CONTEXT_IS_DESTROYED;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_DEINITIALIZED;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_ECC_NOT_CORRECTABLE;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_HOST_MEMORY_NOT_REGISTERED;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_ILLEGAL_ADDRESS;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_INVALID_CONTEXT;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_INVALID_DEVICE;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_INVALID_HANDLE;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_INVALID_MEMCPY_DIRECTION;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_INVALID_VALUE;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_LAUNCH_FAILURE;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_LAUNCH_TIME_OUT;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_NOT_INITIALIZED;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_NOT_SUPPORTED;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_OUT_OF_MEMORY;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_PEER_ACCESS_UNSUPPORTED;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_STREAM_CAPTURE_UNSUPPORTED;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_STREAM_CAPTURE_WRONG_THREAD;

import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;

/** The runtime's codes as exceptions, with what each means to policy. */
final class HipErrors {
  private HipErrors() {}

  /** The exception for a code, with the runtime's own name for it. */
  static DriverException failure(HipBindings hip, String call, int code) {
    return new DriverException(HipProvider.ID, call, code, hip.hipGetErrorName(code), fault(code));
  }

  /** What a code means to policy. */
  static DriverFault fault(int code) {
    return switch (code) {
      case HIP_ERROR_INVALID_VALUE, HIP_ERROR_INVALID_DEVICE, HIP_ERROR_INVALID_MEMCPY_DIRECTION ->
          DriverFault.INVALID_ARGUMENT;
      case HIP_ERROR_OUT_OF_MEMORY -> DriverFault.OUT_OF_MEMORY;
      case HIP_ERROR_NOT_INITIALIZED, HIP_ERROR_DEINITIALIZED -> DriverFault.SHUTTING_DOWN;
      case HIP_ERROR_HOST_MEMORY_ALREADY_REGISTERED -> DriverFault.ALREADY_REGISTERED;
      case HIP_ERROR_HOST_MEMORY_NOT_REGISTERED -> DriverFault.NOT_REGISTERED;
      case HIP_ERROR_INVALID_HANDLE, HIP_ERROR_INVALID_CONTEXT -> DriverFault.INVALID_HANDLE;
      case HIP_ERROR_NOT_SUPPORTED, HIP_ERROR_PEER_ACCESS_UNSUPPORTED -> DriverFault.NOT_SUPPORTED;
      case HIP_ERROR_ECC_NOT_CORRECTABLE,
          HIP_ERROR_ILLEGAL_ADDRESS,
          HIP_ERROR_LAUNCH_TIME_OUT,
          HIP_ERROR_CONTEXT_IS_DESTROYED,
          HIP_ERROR_ASSERT,
          HIP_ERROR_LAUNCH_FAILURE ->
          DriverFault.DEVICE_LOST;
      default ->
          code >= HIP_ERROR_STREAM_CAPTURE_UNSUPPORTED
                  && code <= HIP_ERROR_STREAM_CAPTURE_WRONG_THREAD
              ? DriverFault.CAPTURE
              : DriverFault.OTHER;
    };
  }
}
