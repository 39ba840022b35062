/*
 * libamdhip64 whose answers come from Java: the true prototypes, and nothing else. Exports that an older version lacks are
 * hidden by a version script when it is linked.
 */
#define SHIM_UNBOUND 100 /* hipErrorNoDevice: a runtime without a driver below */
#define SHIM_FORKED 100  /* the true runtime's ways in a child of fork are undefined */
#include "shim.h"

typedef uint64_t u64;
typedef unsigned int u32;
typedef void *stream_t;
typedef void *event_t;
typedef void *handle_t;

/* As EXPORT, for functions that return a text: while nobody answers, one code is all that there is. */
#define EXPORT_TEXT(name)                                                                                  \
  __attribute__((used, section("shim_slots"))) static struct shim_slot shim_slot_##name = {#name};         \
  const char *name(int code) {                                                                             \
    const uint64_t words[] = {W(code)};                                                                    \
    if (shim_java == NULL || shim_process != getpid()) return "hipErrorNoDevice";                          \
    return (const char *)shim_java((int)(&shim_slot_##name - __start_shim_slots), words);                  \
  }

/* ---- errors, library, devices */

EXPORT_TEXT(hipGetErrorName)
EXPORT_TEXT(hipGetErrorString)
EXPORT(int, hipGetLastError, (void))
EXPORT(int, hipPeekAtLastError, (void))
EXPORT(int, hipInit, (u32 flags), W(flags))
EXPORT(int, hipDriverGetVersion, (int *version), W(version))
EXPORT(int, hipRuntimeGetVersion, (int *version), W(version))
EXPORT(int, hipGetDeviceCount, (int *count), W(count))
EXPORT(int, hipSetDevice, (int device), W(device))
EXPORT(int, hipGetDevice, (int *device), W(device))
EXPORT(int, hipDeviceGet, (int *device, int ordinal), W(device), W(ordinal))
EXPORT(int, hipDeviceGetName, (char *name, int length, int device), W(name), W(length), W(device))
EXPORT(int, hipDeviceGetUuid, (unsigned char *uuid, int device), W(uuid), W(device))
EXPORT(int, hipDeviceTotalMem, (size_t *bytes, int device), W(bytes), W(device))
EXPORT(int, hipDeviceGetAttribute, (int *value, int attribute, int device), W(value), W(attribute), W(device))
EXPORT(int, hipDeviceGetPCIBusId, (char *id, int length, int device), W(id), W(length), W(device))
EXPORT(int, hipDeviceSynchronize, (void))
EXPORT(int, hipDevicePrimaryCtxRetain, (void **context, int device), W(context), W(device))
EXPORT(int, hipDevicePrimaryCtxRelease, (int device), W(device))
EXPORT(int, hipDevicePrimaryCtxSetFlags, (int device, u32 flags), W(device), W(flags))
EXPORT(int, hipDeviceGetStreamPriorityRange, (int *least, int *greatest), W(least), W(greatest))
EXPORT(int, hipThreadExchangeStreamCaptureMode, (int *mode), W(mode))

/* ---- host memory */

EXPORT(int, hipHostRegister, (void *address, size_t bytes, u32 flags), W(address), W(bytes), W(flags))
EXPORT(int, hipHostUnregister, (void *address), W(address))
EXPORT(int, hipHostMalloc, (void **address, size_t bytes, u32 flags), W(address), W(bytes), W(flags))
EXPORT(int, hipHostFree, (void *address), W(address))
EXPORT(int, hipHostGetDevicePointer, (void **device, void *host, u32 flags), W(device), W(host), W(flags))

/* ---- device memory and copies */

EXPORT(int, hipMemGetInfo, (size_t *free, size_t *total), W(free), W(total))
EXPORT(int, hipMalloc, (void **address, size_t bytes), W(address), W(bytes))
EXPORT(int, hipFree, (void *address), W(address))
EXPORT(int, hipMemGetAddressRange, (void **base, size_t *bytes, void *address), W(base), W(bytes), W(address))
EXPORT(int, hipPointerGetAttributes, (void *attributes, const void *address), W(attributes), W(address))
EXPORT(int, hipPointerGetAttribute, (void *value, int attribute, void *address), W(value), W(attribute), W(address))
EXPORT(int, hipMemcpyHtoDAsync, (void *to, void *from, size_t bytes, stream_t stream), W(to), W(from), W(bytes), W(stream))
EXPORT(int, hipMemcpyDtoHAsync, (void *to, void *from, size_t bytes, stream_t stream), W(to), W(from), W(bytes), W(stream))
EXPORT(int, hipMemcpyDtoDAsync, (void *to, void *from, size_t bytes, stream_t stream), W(to), W(from), W(bytes), W(stream))
EXPORT(int, hipMemcpy2DAsync, (void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width, size_t height, int kind, stream_t stream),
       W(to), W(toPitch), W(from), W(fromPitch), W(width), W(height), W(kind), W(stream))
EXPORT(int, hipMemcpyBatchAsync, (void **to, void **from, size_t *bytes, size_t rows, void *attributes, size_t *attributeRows, size_t attributeCount, size_t *failed, stream_t stream),
       W(to), W(from), W(bytes), W(rows), W(attributes), W(attributeRows), W(attributeCount), W(failed), W(stream))
EXPORT(int, hipMemsetD8Async, (void *address, unsigned char value, size_t count, stream_t stream), W(address), W(value), W(count), W(stream))

/* ---- streams, captures, events */

EXPORT(int, hipStreamCreateWithPriority, (stream_t *stream, u32 flags, int priority), W(stream), W(flags), W(priority))
EXPORT(int, hipStreamDestroy, (stream_t stream), W(stream))
EXPORT(int, hipStreamSynchronize, (stream_t stream), W(stream))
EXPORT(int, hipStreamQuery, (stream_t stream), W(stream))
EXPORT(int, hipStreamWaitEvent, (stream_t stream, event_t event, u32 flags), W(stream), W(event), W(flags))
EXPORT(int, hipStreamGetDevice, (stream_t stream, int *device), W(stream), W(device))
EXPORT(int, hipStreamIsCapturing, (stream_t stream, int *status), W(stream), W(status))
EXPORT(int, hipStreamBeginCapture, (stream_t stream, int mode), W(stream), W(mode))
EXPORT(int, hipStreamEndCapture, (stream_t stream, void **graph), W(stream), W(graph))
EXPORT(int, hipGraphDestroy, (void *graph), W(graph))
EXPORT(int, hipLaunchHostFunc, (stream_t stream, void (*function)(void *), void *argument), W(stream), W(function), W(argument))
EXPORT(int, hipStreamAddCallback, (stream_t stream, void (*function)(stream_t, int, void *), void *argument, u32 flags), W(stream), W(function), W(argument), W(flags))
EXPORT(int, hipEventCreateWithFlags, (event_t *event, u32 flags), W(event), W(flags))
EXPORT(int, hipEventDestroy, (event_t event), W(event))
EXPORT(int, hipEventRecord, (event_t event, stream_t stream), W(event), W(stream))
EXPORT(int, hipEventQuery, (event_t event), W(event))
EXPORT(int, hipEventSynchronize, (event_t event), W(event))
EXPORT(int, hipEventElapsedTime, (float *milliseconds, event_t start, event_t end), W(milliseconds), W(start), W(end))

/* ---- virtual memory */

EXPORT(int, hipMemGetAllocationGranularity, (size_t *bytes, const void *properties, int option), W(bytes), W(properties), W(option))
EXPORT(int, hipMemAddressReserve, (void **address, size_t bytes, size_t alignment, void *hint, u64 flags), W(address), W(bytes), W(alignment), W(hint), W(flags))
EXPORT(int, hipMemAddressFree, (void *address, size_t bytes), W(address), W(bytes))
EXPORT(int, hipMemCreate, (handle_t *handle, size_t bytes, const void *properties, u64 flags), W(handle), W(bytes), W(properties), W(flags))
EXPORT(int, hipMemRelease, (handle_t handle), W(handle))
EXPORT(int, hipMemMap, (void *address, size_t bytes, size_t offset, handle_t handle, u64 flags), W(address), W(bytes), W(offset), W(handle), W(flags))
EXPORT(int, hipMemUnmap, (void *address, size_t bytes), W(address), W(bytes))
EXPORT(int, hipMemSetAccess, (void *address, size_t bytes, const void *descriptors, size_t count), W(address), W(bytes), W(descriptors), W(count))
EXPORT(int, hipMemExportToShareableHandle, (void *into, handle_t handle, int type, u64 flags), W(into), W(handle), W(type), W(flags))
EXPORT(int, hipMemImportFromShareableHandle, (handle_t *handle, void *os, int type), W(handle), W(os), W(type))
EXPORT(int, hipMemGetHandleForAddressRange, (void *into, void *address, size_t bytes, int type, u64 flags), W(into), W(address), W(bytes), W(type), W(flags))

/* ---- kernels and their compiler */

EXPORT(int, hipModuleLoadData, (void **module, const void *image), W(module), W(image))
EXPORT(int, hipModuleUnload, (void *module), W(module))
EXPORT(int, hipModuleGetFunction, (void **function, void *module, const char *name), W(function), W(module), W(name))
EXPORT(int, hipModuleLaunchKernel, (void *function, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared, stream_t stream, void **arguments, void **extra),
       W(function), W(gx), W(gy), W(gz), W(bx), W(by), W(bz), W(shared), W(stream), W(arguments), W(extra))
EXPORT_TEXT(hiprtcGetErrorString)
EXPORT(int, hiprtcCreateProgram, (void **program, const char *source, const char *name, int count, const char **headers, const char **names), W(program), W(source), W(name), W(count), W(headers), W(names))
EXPORT(int, hiprtcCompileProgram, (void *program, int count, const char **options), W(program), W(count), W(options))
EXPORT(int, hiprtcGetProgramLogSize, (void *program, size_t *bytes), W(program), W(bytes))
EXPORT(int, hiprtcGetProgramLog, (void *program, char *log), W(program), W(log))
EXPORT(int, hiprtcGetCodeSize, (void *program, size_t *bytes), W(program), W(bytes))
EXPORT(int, hiprtcGetCode, (void *program, char *code), W(program), W(code))
EXPORT(int, hiprtcDestroyProgram, (void **program), W(program))
