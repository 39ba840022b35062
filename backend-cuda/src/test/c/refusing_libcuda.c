/*
 * A libcuda that has every export the binding needs and refuses to start. What it answers is chosen when it is compiled:
 *   -DINIT_CODE=N        what cuInit answers (100 unless told otherwise)
 *   -DVERSION=N          what cuDriverGetVersion reports (13000 unless told otherwise)
 *   -DVERSION_CODE=N     what cuDriverGetVersion answers (0 unless told otherwise)
 *   -DWITHOUT_STREAMS    cuStreamQuery and cuStreamSynchronize are not exported
 */
#ifndef INIT_CODE
#define INIT_CODE 100
#endif
#ifndef VERSION
#define VERSION 13000
#endif
#ifndef VERSION_CODE
#define VERSION_CODE 0
#endif

int cuInit(unsigned flags) { return flags == 0 ? INIT_CODE : 1; }

int cuDriverGetVersion(int *version) {
  if (VERSION_CODE == 0) *version = VERSION;
  return VERSION_CODE;
}

int cuGetErrorName(int code, const char **name) {
  *name = code == 34 ? "CUDA_ERROR_STUB_LIBRARY" : code == 100 ? "CUDA_ERROR_NO_DEVICE" : code == 999 ? "CUDA_ERROR_UNKNOWN" : 0;
  return *name ? 0 : 1;
}

int cuGetErrorString(int code, const char **text) {
  *text = code == 999 ? "unknown error" : 0;
  return *text ? 0 : 1;
}

/* Everything else: what a driver answers that was not started. */
#define NOT_STARTED(name) int name(void) { return 3; }
NOT_STARTED(cuDeviceGetCount)
NOT_STARTED(cuDeviceGet)
NOT_STARTED(cuDeviceGetName)
NOT_STARTED(cuDeviceGetUuid_v2)
NOT_STARTED(cuDeviceTotalMem_v2)
NOT_STARTED(cuDeviceGetAttribute)
NOT_STARTED(cuDeviceGetPCIBusId)
NOT_STARTED(cuDevicePrimaryCtxRetain)
NOT_STARTED(cuDevicePrimaryCtxRelease_v2)
NOT_STARTED(cuCtxSetCurrent)
NOT_STARTED(cuCtxGetCurrent)
NOT_STARTED(cuCtxGetDevice)
NOT_STARTED(cuThreadExchangeStreamCaptureMode)
NOT_STARTED(cuMemHostRegister_v2)
NOT_STARTED(cuMemHostUnregister)
NOT_STARTED(cuMemHostGetDevicePointer_v2)
NOT_STARTED(cuMemGetInfo_v2)
NOT_STARTED(cuMemAlloc_v2)
NOT_STARTED(cuMemFree_v2)
NOT_STARTED(cuMemGetAddressRange_v2)
NOT_STARTED(cuPointerGetAttribute)
NOT_STARTED(cuMemcpyHtoDAsync_v2)
NOT_STARTED(cuMemcpyDtoHAsync_v2)
NOT_STARTED(cuMemcpyDtoDAsync_v2)
NOT_STARTED(cuMemsetD8Async)
NOT_STARTED(cuStreamCreateWithPriority)
NOT_STARTED(cuStreamDestroy_v2)
#ifndef WITHOUT_STREAMS
NOT_STARTED(cuStreamQuery)
NOT_STARTED(cuStreamSynchronize)
#endif
NOT_STARTED(cuStreamWaitEvent)
NOT_STARTED(cuStreamGetCtx)
NOT_STARTED(cuStreamIsCapturing)
NOT_STARTED(cuEventCreate)
NOT_STARTED(cuEventDestroy_v2)
NOT_STARTED(cuEventRecord)
NOT_STARTED(cuEventQuery)
NOT_STARTED(cuEventSynchronize)
NOT_STARTED(cuEventElapsedTime)
