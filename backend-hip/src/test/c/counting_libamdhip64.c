/*
 * A libamdhip64 that knows its version and counts devices, and nothing more. What it answers is chosen when it is compiled:
 *   -DVERSION=N       what hipRuntimeGetVersion reports (60443484 unless told otherwise)
 *   -DCOUNT_CODE=N    what hipGetDeviceCount answers (100 unless told otherwise)
 *   -DCOUNT=N         how many devices it counts (0 unless told otherwise)
 *   -DWITHOUT_COUNT   hipGetDeviceCount is not exported
 */
#ifndef VERSION
#define VERSION 60443484
#endif
#ifndef COUNT_CODE
#define COUNT_CODE 100
#endif
#ifndef COUNT
#define COUNT 0
#endif

static _Thread_local int last;

const char *hipGetErrorName(int code) { return code == 100 ? "hipErrorNoDevice" : "hipErrorUnknown"; }

const char *hipGetErrorString(int code) { return code == 100 ? "no ROCm-capable device is detected" : hipGetErrorName(code); }

int hipGetLastError(void) {
  int was = last;
  last = 0;
  return was;
}

int hipDriverGetVersion(int *version) {
  *version = VERSION;
  return 0;
}

int hipRuntimeGetVersion(int *version) {
  *version = VERSION;
  return 0;
}

#ifndef WITHOUT_COUNT
int hipGetDeviceCount(int *count) {
  *count = COUNT;
  return last = COUNT_CODE;
}
#endif

/* Exported, as a runtime does, and never called without a device. */
#define STUB(name) int name(void) { return last = 100; }
STUB(hipPeekAtLastError) STUB(hipDeviceGetName) STUB(hipDeviceGetUuid) STUB(hipDeviceTotalMem)
STUB(hipDeviceGetAttribute) STUB(hipDeviceGetPCIBusId) STUB(hipSetDevice) STUB(hipGetDevice)
STUB(hipThreadExchangeStreamCaptureMode) STUB(hipHostRegister) STUB(hipHostUnregister) STUB(hipHostGetDevicePointer)
STUB(hipMemGetInfo) STUB(hipMalloc) STUB(hipFree) STUB(hipMemGetAddressRange) STUB(hipPointerGetAttributes)
STUB(hipPointerGetAttribute) STUB(hipMemcpyHtoDAsync) STUB(hipMemcpyDtoHAsync) STUB(hipMemcpyDtoDAsync)
STUB(hipMemsetD8Async) STUB(hipStreamCreateWithPriority) STUB(hipStreamDestroy) STUB(hipStreamSynchronize)
STUB(hipStreamQuery) STUB(hipStreamWaitEvent) STUB(hipStreamIsCapturing) STUB(hipEventCreateWithFlags)
STUB(hipEventDestroy) STUB(hipEventRecord) STUB(hipEventQuery) STUB(hipEventSynchronize) STUB(hipEventElapsedTime)
