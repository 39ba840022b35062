/*
 * libcuda.so.1 whose answers come from Java: the true prototypes, and nothing else. Exports that an older driver lacks are
 * hidden by a version script when it is linked.
 */
#define SHIM_UNBOUND 34 /* CUDA_ERROR_STUB_LIBRARY */
#define SHIM_FORKED 3   /* CUDA_ERROR_NOT_INITIALIZED */
#include "shim.h"

typedef uint64_t u64;
typedef unsigned int u32;
typedef u64 dptr;
typedef void *ctx;
typedef void *stream_t;
typedef void *event_t;

/* ---- errors, library, devices */

EXPORT(int, cuGetErrorName, (int code, const char **text), W(code), W(text))
EXPORT(int, cuGetErrorString, (int code, const char **text), W(code), W(text))
EXPORT(int, cuInit, (u32 flags), W(flags))
EXPORT(int, cuDriverGetVersion, (int *version), W(version))
EXPORT(int, cuGetProcAddress_v2, (const char *name, void **function, int version, u64 flags, int *status), W(name), W(function), W(version), W(flags), W(status))
EXPORT(int, cuDeviceGetCount, (int *count), W(count))
EXPORT(int, cuDeviceGet, (int *device, int ordinal), W(device), W(ordinal))
EXPORT(int, cuDeviceGetName, (char *name, int length, int device), W(name), W(length), W(device))
EXPORT(int, cuDeviceGetUuid, (unsigned char *uuid, int device), W(uuid), W(device))
EXPORT(int, cuDeviceGetUuid_v2, (unsigned char *uuid, int device), W(uuid), W(device))
EXPORT(int, cuDeviceTotalMem_v2, (size_t *bytes, int device), W(bytes), W(device))
EXPORT(int, cuDeviceGetAttribute, (int *value, int attribute, int device), W(value), W(attribute), W(device))
EXPORT(int, cuDeviceGetPCIBusId, (char *id, int length, int device), W(id), W(length), W(device))
EXPORT(int, cuDeviceGetByPCIBusId, (int *device, const char *id), W(device), W(id))
EXPORT(int, cuDeviceCanAccessPeer, (int *can, int device, int peer), W(can), W(device), W(peer))

/* ---- contexts */

EXPORT(int, cuDevicePrimaryCtxRetain, (ctx *context, int device), W(context), W(device))
EXPORT(int, cuDevicePrimaryCtxRelease_v2, (int device), W(device))
EXPORT(int, cuDevicePrimaryCtxGetState, (int device, u32 *flags, int *active), W(device), W(flags), W(active))
EXPORT(int, cuDevicePrimaryCtxSetFlags_v2, (int device, u32 flags), W(device), W(flags))
EXPORT(int, cuCtxCreate_v2, (ctx *context, u32 flags, int device), W(context), W(flags), W(device))
EXPORT(int, cuCtxDestroy_v2, (ctx context), W(context))
EXPORT(int, cuCtxSetCurrent, (ctx context), W(context))
EXPORT(int, cuCtxGetCurrent, (ctx *context), W(context))
EXPORT(int, cuCtxPushCurrent_v2, (ctx context), W(context))
EXPORT(int, cuCtxPopCurrent_v2, (ctx *context), W(context))
EXPORT(int, cuCtxGetDevice, (int *device), W(device))
EXPORT(int, cuCtxSynchronize, (void))
EXPORT(int, cuCtxGetStreamPriorityRange, (int *least, int *greatest), W(least), W(greatest))
EXPORT(int, cuCtxEnablePeerAccess, (ctx peer, u32 flags), W(peer), W(flags))
EXPORT(int, cuThreadExchangeStreamCaptureMode, (int *mode), W(mode))

/* ---- host memory */

EXPORT(int, cuMemHostRegister_v2, (void *address, size_t bytes, u32 flags), W(address), W(bytes), W(flags))
EXPORT(int, cuMemHostUnregister, (void *address), W(address))
EXPORT(int, cuMemHostAlloc, (void **address, size_t bytes, u32 flags), W(address), W(bytes), W(flags))
EXPORT(int, cuMemFreeHost, (void *address), W(address))
EXPORT(int, cuMemHostGetDevicePointer_v2, (dptr *device, void *host, u32 flags), W(device), W(host), W(flags))
EXPORT(int, cuMemHostGetFlags, (u32 *flags, void *host), W(flags), W(host))

/* ---- device memory */

EXPORT(int, cuMemGetInfo_v2, (size_t *free, size_t *total), W(free), W(total))
EXPORT(int, cuMemAlloc_v2, (dptr *address, size_t bytes), W(address), W(bytes))
EXPORT(int, cuMemFree_v2, (dptr address), W(address))
EXPORT(int, cuMemAllocAsync, (dptr *address, size_t bytes, stream_t stream), W(address), W(bytes), W(stream))
EXPORT(int, cuMemFreeAsync, (dptr address, stream_t stream), W(address), W(stream))
EXPORT(int, cuMemGetAddressRange_v2, (dptr *base, size_t *bytes, dptr address), W(base), W(bytes), W(address))
EXPORT(int, cuPointerGetAttribute, (void *value, int attribute, dptr address), W(value), W(attribute), W(address))
EXPORT(int, cuPointerGetAttributes, (u32 count, int *attributes, void **values, dptr address), W(count), W(attributes), W(values), W(address))

/* ---- copies */

EXPORT(int, cuMemcpy, (dptr to, dptr from, size_t bytes), W(to), W(from), W(bytes))
EXPORT(int, cuMemcpyHtoD_v2, (dptr to, const void *from, size_t bytes), W(to), W(from), W(bytes))
EXPORT(int, cuMemcpyDtoH_v2, (void *to, dptr from, size_t bytes), W(to), W(from), W(bytes))
EXPORT(int, cuMemcpyDtoD_v2, (dptr to, dptr from, size_t bytes), W(to), W(from), W(bytes))
EXPORT(int, cuMemcpyAsync, (dptr to, dptr from, size_t bytes, stream_t stream), W(to), W(from), W(bytes), W(stream))
EXPORT(int, cuMemcpyHtoDAsync_v2, (dptr to, const void *from, size_t bytes, stream_t stream), W(to), W(from), W(bytes), W(stream))
EXPORT(int, cuMemcpyDtoHAsync_v2, (void *to, dptr from, size_t bytes, stream_t stream), W(to), W(from), W(bytes), W(stream))
EXPORT(int, cuMemcpyDtoDAsync_v2, (dptr to, dptr from, size_t bytes, stream_t stream), W(to), W(from), W(bytes), W(stream))
EXPORT(int, cuMemcpyPeerAsync, (dptr to, ctx toContext, dptr from, ctx fromContext, size_t bytes, stream_t stream), W(to), W(toContext), W(from), W(fromContext), W(bytes), W(stream))
EXPORT(int, cuMemcpy2DAsync_v2, (const void *copy, stream_t stream), W(copy), W(stream))
EXPORT(int, cuMemcpyBatchAsync, (dptr *to, dptr *from, size_t *bytes, size_t rows, void *attributes, size_t *attributeRows, size_t attributeCount, size_t *failed, stream_t stream),
       W(to), W(from), W(bytes), W(rows), W(attributes), W(attributeRows), W(attributeCount), W(failed), W(stream))
EXPORT(int, cuMemcpyBatchAsync_v2, (const dptr *to, const dptr *from, const size_t *bytes, size_t rows, void *attributes, size_t *attributeRows, size_t attributeCount, stream_t stream),
       W(to), W(from), W(bytes), W(rows), W(attributes), W(attributeRows), W(attributeCount), W(stream))
EXPORT(int, cuMemsetD8_v2, (dptr address, unsigned char value, size_t count), W(address), W(value), W(count))
EXPORT(int, cuMemsetD8Async, (dptr address, unsigned char value, size_t count, stream_t stream), W(address), W(value), W(count), W(stream))
EXPORT(int, cuMemsetD32_v2, (dptr address, u32 value, size_t count), W(address), W(value), W(count))
EXPORT(int, cuMemsetD32Async, (dptr address, u32 value, size_t count, stream_t stream), W(address), W(value), W(count), W(stream))

/* ---- streams, captures, events */

EXPORT(int, cuStreamCreate, (stream_t *stream, u32 flags), W(stream), W(flags))
EXPORT(int, cuStreamCreateWithPriority, (stream_t *stream, u32 flags, int priority), W(stream), W(flags), W(priority))
EXPORT(int, cuStreamDestroy_v2, (stream_t stream), W(stream))
EXPORT(int, cuStreamSynchronize, (stream_t stream), W(stream))
EXPORT(int, cuStreamQuery, (stream_t stream), W(stream))
EXPORT(int, cuStreamWaitEvent, (stream_t stream, event_t event, u32 flags), W(stream), W(event), W(flags))
EXPORT(int, cuStreamGetCtx, (stream_t stream, ctx *context), W(stream), W(context))
EXPORT(int, cuStreamIsCapturing, (stream_t stream, int *status), W(stream), W(status))
EXPORT(int, cuStreamBeginCapture_v2, (stream_t stream, int mode), W(stream), W(mode))
EXPORT(int, cuStreamEndCapture, (stream_t stream, void **graph), W(stream), W(graph))
EXPORT(int, cuGraphDestroy, (void *graph), W(graph))
EXPORT(int, cuLaunchHostFunc, (stream_t stream, void (*function)(void *), void *argument), W(stream), W(function), W(argument))
EXPORT(int, cuEventCreate, (event_t *event, u32 flags), W(event), W(flags))
EXPORT(int, cuEventDestroy_v2, (event_t event), W(event))
EXPORT(int, cuEventRecord, (event_t event, stream_t stream), W(event), W(stream))
EXPORT(int, cuEventQuery, (event_t event), W(event))
EXPORT(int, cuEventSynchronize, (event_t event), W(event))
EXPORT(int, cuEventElapsedTime, (float *milliseconds, event_t start, event_t end), W(milliseconds), W(start), W(end))

/* ---- virtual memory */

EXPORT(int, cuMemGetAllocationGranularity, (size_t *bytes, const void *properties, int option), W(bytes), W(properties), W(option))
EXPORT(int, cuMemAddressReserve, (dptr *address, size_t bytes, size_t alignment, dptr hint, u64 flags), W(address), W(bytes), W(alignment), W(hint), W(flags))
EXPORT(int, cuMemAddressFree, (dptr address, size_t bytes), W(address), W(bytes))
EXPORT(int, cuMemCreate, (u64 *handle, size_t bytes, const void *properties, u64 flags), W(handle), W(bytes), W(properties), W(flags))
EXPORT(int, cuMemRelease, (u64 handle), W(handle))
EXPORT(int, cuMemMap, (dptr address, size_t bytes, size_t offset, u64 handle, u64 flags), W(address), W(bytes), W(offset), W(handle), W(flags))
EXPORT(int, cuMemUnmap, (dptr address, size_t bytes), W(address), W(bytes))
EXPORT(int, cuMemSetAccess, (dptr address, size_t bytes, const void *descriptors, size_t count), W(address), W(bytes), W(descriptors), W(count))
EXPORT(int, cuMemGetAccess, (u64 *flags, const void *location, dptr address), W(flags), W(location), W(address))
EXPORT(int, cuMemExportToShareableHandle, (void *into, u64 handle, int type, u64 flags), W(into), W(handle), W(type), W(flags))
EXPORT(int, cuMemImportFromShareableHandle, (u64 *handle, void *os, int type), W(handle), W(os), W(type))
EXPORT(int, cuMemGetAllocationPropertiesFromHandle, (void *properties, u64 handle), W(properties), W(handle))
EXPORT(int, cuMemRetainAllocationHandle, (u64 *handle, void *address), W(handle), W(address))
EXPORT(int, cuMemGetHandleForAddressRange, (void *into, dptr address, size_t bytes, int type, u64 flags), W(into), W(address), W(bytes), W(type), W(flags))

/* ---- kernels */

EXPORT(int, cuModuleLoadData, (void **module, const void *image), W(module), W(image))
EXPORT(int, cuModuleUnload, (void *module), W(module))
EXPORT(int, cuModuleGetFunction, (void **function, void *module, const char *name), W(function), W(module), W(name))
EXPORT(int, cuLaunchKernel, (void *function, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared, stream_t stream, void **arguments, void **extra),
       W(function), W(gx), W(gy), W(gz), W(bx), W(by), W(bz), W(shared), W(stream), W(arguments), W(extra))

/* ---- for tests: what only C can do */

#include <sys/wait.h>

/* What a call answers in a child of fork. */
int test_answer_in_child(void) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    size_t free, total;
    _exit(cuInit(0) == cuMemGetInfo_v2(&free, &total) ? cuInit(0) : 255);
  }
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
