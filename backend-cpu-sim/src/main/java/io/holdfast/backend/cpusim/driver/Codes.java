package io.holdfast.backend.cpusim.driver;

/**
 * The answers of a driver, under the numbers of {@code cuda.h}; HIP shares them except where a
 * comment says otherwise.
 */
public final class Codes {
  /** The call did what it should. */
  public static final int SUCCESS = 0;

  /** An argument, range or pointer is refused. */
  public static final int INVALID_VALUE = 1;

  /** The device is full, or a registration limit is reached. */
  public static final int OUT_OF_MEMORY = 2;

  /** Before initialisation, and in a forked child. */
  public static final int NOT_INITIALIZED = 3;

  /** The driver is shutting down. */
  public static final int DEINITIALIZED = 4;

  /** A copy kind that does not exist; HIP only. */
  public static final int INVALID_COPY_KIND = 21;

  /** No device is there. */
  public static final int NO_DEVICE = 100;

  /** No device has that number. */
  public static final int INVALID_DEVICE = 101;

  /** No context is current. */
  public static final int INVALID_CONTEXT = 201;

  /** The context's flags cannot be set while it is in use; HIP answers it always. */
  public static final int CONTEXT_IN_USE = 216;

  /** A module's text is not what the driver compiles. */
  public static final int INVALID_PTX = 218;

  /** A module's text is of a version that the driver does not know yet. */
  public static final int UNSUPPORTED_PTX_VERSION = 222;

  /** A call of the operating system failed. */
  public static final int OPERATING_SYSTEM = 304;

  /** A stream or event that does not fit, or is gone. */
  public static final int INVALID_HANDLE = 400;

  /** A symbol is not there. */
  public static final int NOT_FOUND = 500;

  /** Still running; the answer to a question, not a failure. */
  public static final int NOT_READY = 600;

  /** The device touched what is not mapped; the context is lost. */
  public static final int ILLEGAL_ADDRESS = 700;

  /** The context can use the other device's memory already. */
  public static final int PEER_ACCESS_ALREADY_ENABLED = 704;

  /** The current context was destroyed. */
  public static final int CONTEXT_IS_DESTROYED = 709;

  /** The host range, or a part of it, is registered. */
  public static final int HOST_MEMORY_ALREADY_REGISTERED = 712;

  /** No registration starts there. */
  public static final int HOST_MEMORY_NOT_REGISTERED = 713;

  /** The device failed; the context is lost. */
  public static final int LAUNCH_FAILED = 719;

  /** The process may not do that. */
  public static final int NOT_PERMITTED = 800;

  /** There is no such feature here. */
  public static final int NOT_SUPPORTED = 801;

  /** The call is not allowed while a graph is captured, and has broken the capture. */
  public static final int STREAM_CAPTURE_UNSUPPORTED = 900;

  /** The capture was broken before. */
  public static final int STREAM_CAPTURE_INVALIDATED = 901;

  /** No capture is under way on that stream. */
  public static final int STREAM_CAPTURE_UNMATCHED = 903;

  /** A stream joined the capture and was not joined back. */
  public static final int STREAM_CAPTURE_UNJOINED = 904;

  /** The call would make the graph depend on work outside of it. */
  public static final int STREAM_CAPTURE_ISOLATION = 905;

  /** The call would touch the legacy default stream during a capture. */
  public static final int STREAM_CAPTURE_IMPLICIT = 906;

  /** The event was last recorded in a captured stream. */
  public static final int CAPTURED_EVENT = 907;

  /** Another thread began the capture. */
  public static final int STREAM_CAPTURE_WRONG_THREAD = 908;

  /** Anything else. */
  public static final int UNKNOWN = 999;

  private Codes() {}

  /**
   * The symbolic name of an answer.
   *
   * @param family whose names
   * @param code the answer
   * @return the name; {@code hipErrorUnknown} for a number that HIP does not know, and {@code CUDA
   *     error} with the number for one that CUDA does not know
   */
  public static String name(Family family, int code) {
    boolean cuda = family == Family.CUDA;
    return switch (code) {
      case SUCCESS -> cuda ? "CUDA_SUCCESS" : "hipSuccess";
      case INVALID_VALUE -> cuda ? "CUDA_ERROR_INVALID_VALUE" : "hipErrorInvalidValue";
      case OUT_OF_MEMORY -> cuda ? "CUDA_ERROR_OUT_OF_MEMORY" : "hipErrorOutOfMemory";
      case NOT_INITIALIZED -> cuda ? "CUDA_ERROR_NOT_INITIALIZED" : "hipErrorNotInitialized";
      case DEINITIALIZED -> cuda ? "CUDA_ERROR_DEINITIALIZED" : "hipErrorDeinitialized";
      case INVALID_COPY_KIND -> cuda ? "CUDA error 21" : "hipErrorInvalidMemcpyDirection";
      case NO_DEVICE -> cuda ? "CUDA_ERROR_NO_DEVICE" : "hipErrorNoDevice";
      case INVALID_DEVICE -> cuda ? "CUDA_ERROR_INVALID_DEVICE" : "hipErrorInvalidDevice";
      case INVALID_CONTEXT -> cuda ? "CUDA_ERROR_INVALID_CONTEXT" : "hipErrorInvalidContext";
      case CONTEXT_IN_USE ->
          cuda ? "CUDA_ERROR_CONTEXT_ALREADY_IN_USE" : "hipErrorContextAlreadyInUse";
      case INVALID_PTX -> cuda ? "CUDA_ERROR_INVALID_PTX" : "hipErrorInvalidKernelFile";
      case UNSUPPORTED_PTX_VERSION ->
          cuda ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" : "hipErrorUnknown";
      case PEER_ACCESS_ALREADY_ENABLED ->
          cuda ? "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED" : "hipErrorPeerAccessAlreadyEnabled";
      case OPERATING_SYSTEM -> cuda ? "CUDA_ERROR_OPERATING_SYSTEM" : "hipErrorOperatingSystem";
      case INVALID_HANDLE -> cuda ? "CUDA_ERROR_INVALID_HANDLE" : "hipErrorInvalidHandle";
      case NOT_FOUND -> cuda ? "CUDA_ERROR_NOT_FOUND" : "hipErrorNotFound";
      case NOT_READY -> cuda ? "CUDA_ERROR_NOT_READY" : "hipErrorNotReady";
      case ILLEGAL_ADDRESS -> cuda ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "hipErrorIllegalAddress";
      case CONTEXT_IS_DESTROYED ->
          cuda ? "CUDA_ERROR_CONTEXT_IS_DESTROYED" : "hipErrorContextIsDestroyed";
      case HOST_MEMORY_ALREADY_REGISTERED ->
          cuda
              ? "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"
              : "hipErrorHostMemoryAlreadyRegistered";
      case HOST_MEMORY_NOT_REGISTERED ->
          cuda ? "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED" : "hipErrorHostMemoryNotRegistered";
      case LAUNCH_FAILED -> cuda ? "CUDA_ERROR_LAUNCH_FAILED" : "hipErrorLaunchFailure";
      case NOT_PERMITTED -> cuda ? "CUDA_ERROR_NOT_PERMITTED" : "hipErrorUnknown";
      case NOT_SUPPORTED -> cuda ? "CUDA_ERROR_NOT_SUPPORTED" : "hipErrorNotSupported";
      case STREAM_CAPTURE_UNSUPPORTED ->
          cuda ? "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" : "hipErrorStreamCaptureUnsupported";
      case STREAM_CAPTURE_INVALIDATED ->
          cuda ? "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED" : "hipErrorStreamCaptureInvalidated";
      case STREAM_CAPTURE_UNMATCHED ->
          cuda ? "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED" : "hipErrorStreamCaptureUnmatched";
      case STREAM_CAPTURE_UNJOINED ->
          cuda ? "CUDA_ERROR_STREAM_CAPTURE_UNJOINED" : "hipErrorStreamCaptureUnjoined";
      case STREAM_CAPTURE_ISOLATION ->
          cuda ? "CUDA_ERROR_STREAM_CAPTURE_ISOLATION" : "hipErrorStreamCaptureIsolation";
      case STREAM_CAPTURE_IMPLICIT ->
          cuda ? "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT" : "hipErrorStreamCaptureImplicit";
      case CAPTURED_EVENT -> cuda ? "CUDA_ERROR_CAPTURED_EVENT" : "hipErrorCapturedEvent";
      case STREAM_CAPTURE_WRONG_THREAD ->
          cuda ? "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD" : "hipErrorStreamCaptureWrongThread";
      case UNKNOWN -> cuda ? "CUDA_ERROR_UNKNOWN" : "hipErrorUnknown";
      default -> cuda ? "CUDA error " + code : "hipErrorUnknown";
    };
  }
}
