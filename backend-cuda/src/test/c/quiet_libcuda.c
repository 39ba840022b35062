/*
 * A libcuda that says yes and does nothing, without Java: for what a binding costs the heap of the thread that calls. It has
 * no rules and no memory; whatever it hands out is a number.
 */
#include <stddef.h>
#include <stdint.h>

typedef uint64_t u64;

static u64 next = 1ull << 40;
static __thread u64 current;

/* Arguments that are not looked at need no names: the caller passes and cleans them up. */
#define YES(name) int name() { return 0; }
#define HANDLE(name) int name(u64 *out) { *out = next += 4096; return 0; }
#define NUMBER(name, value) int name(int *out) { *out = (value); return 0; }

YES(cuGetErrorName) YES(cuGetErrorString) YES(cuInit)
NUMBER(cuDriverGetVersion, 13000) NUMBER(cuDeviceGetCount, 1) NUMBER(cuDeviceGet, 0) NUMBER(cuCtxGetDevice, 0)
YES(cuDeviceGetName) YES(cuDeviceGetUuid_v2) YES(cuDeviceTotalMem_v2) YES(cuDeviceGetPCIBusId) YES(cuMemGetInfo_v2)
NUMBER(cuDeviceGetAttribute, 1)
HANDLE(cuDevicePrimaryCtxRetain) YES(cuDevicePrimaryCtxRelease_v2)
int cuCtxSetCurrent(u64 context) { current = context; return 0; }
int cuCtxGetCurrent(u64 *context) { *context = current; return 0; }
YES(cuThreadExchangeStreamCaptureMode)
YES(cuMemHostRegister_v2) YES(cuMemHostUnregister) HANDLE(cuMemHostGetDevicePointer_v2)
HANDLE(cuMemAlloc_v2) YES(cuMemFree_v2) YES(cuMemGetAddressRange_v2) YES(cuPointerGetAttribute)
YES(cuMemcpyHtoDAsync_v2) YES(cuMemcpyDtoHAsync_v2) YES(cuMemcpyDtoDAsync_v2) YES(cuMemsetD8Async) YES(cuMemcpyBatchAsync_v2)
HANDLE(cuStreamCreateWithPriority) YES(cuStreamDestroy_v2) YES(cuStreamSynchronize) YES(cuStreamQuery) YES(cuStreamWaitEvent)
YES(cuStreamGetCtx) YES(cuStreamIsCapturing)
HANDLE(cuEventCreate) YES(cuEventDestroy_v2) YES(cuEventRecord) YES(cuEventQuery) YES(cuEventSynchronize) YES(cuEventElapsedTime)
