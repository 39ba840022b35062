/*
 * The names of libamdhip64 over a CUDA driver, for tests: true HIP prototypes, struct orders and codes of one HIP version,
 * with the data moved by whatever libcuda lies below (a real one on a machine with an NVIDIA device, or a pretended one).
 * What runs through it shows that the HIP binding's calls are right. It shows nothing about AMD's runtime or devices, and a
 * result that it had a part in must never be called a test on AMD hardware.
 *
 *   gcc -shared -fPIC -O2 -DHIP_VERSION=70226015 -o libamdhip64.so.7 hip_over_cuda.c -ldl -pthread
 *
 *   -DHIP_VERSION=N           which version's ways (70226015 unless told otherwise): absent exports, struct orders, quirks
 *   -DCUDA_LIBRARY='"path"'   the library below ("libcuda.so.1" unless told otherwise)
 *   -DNVRTC_LIBRARY='"path"'  the compiler below ("libnvrtc.so" unless told otherwise), opened at first use
 *
 * hip_over_cuda_libraries(cuda, nvrtc), called before anything else, names other ones.
 *
 * Headers of neither vendor are needed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef HIP_VERSION
#define HIP_VERSION 70226015
#endif
#ifndef CUDA_LIBRARY
#define CUDA_LIBRARY "libcuda.so.1"
#endif
#ifndef NVRTC_LIBRARY
#define NVRTC_LIBRARY "libnvrtc.so"
#endif

#define FROM(major, minor) (HIP_VERSION >= (major) * 10000000 + (minor) * 100000)
#define MOST_DEVICES 16

typedef uint64_t u64;
typedef unsigned int u32;

enum { OK = 0, INVALID = 1, MEMORY = 2, BAD_KIND = 21, NO_DEVICE = 100, BAD_DEVICE = 101, BUSY = 600, TWICE = 712,
       NOT_REGISTERED = 713, LAUNCH_FAILED = 719, UNSUPPORTED = 801 };

#define CUDA_FUNCTIONS(X) \
  X(cuInit, (u32)) \
  X(cuDeviceGetCount, (int *)) \
  X(cuDeviceGetName, (char *, int, int)) \
  X(cuDeviceGetUuid_v2, (void *, int)) \
  X(cuDeviceTotalMem_v2, (size_t *, int)) \
  X(cuDeviceGetAttribute, (int *, int, int)) \
  X(cuDeviceGetPCIBusId, (char *, int, int)) \
  X(cuDevicePrimaryCtxRetain, (void **, int)) \
  X(cuCtxSetCurrent, (void *)) \
  X(cuCtxGetDevice, (int *)) \
  X(cuThreadExchangeStreamCaptureMode, (int *)) \
  X(cuMemHostRegister_v2, (void *, size_t, u32)) \
  X(cuMemHostUnregister, (void *)) \
  X(cuMemHostAlloc, (void **, size_t, u32)) \
  X(cuMemFreeHost, (void *)) \
  X(cuMemHostGetDevicePointer_v2, (u64 *, void *, u32)) \
  X(cuMemGetInfo_v2, (size_t *, size_t *)) \
  X(cuMemAlloc_v2, (u64 *, size_t)) \
  X(cuMemFree_v2, (u64)) \
  X(cuMemGetAddressRange_v2, (u64 *, size_t *, u64)) \
  X(cuPointerGetAttribute, (void *, int, u64)) \
  X(cuMemcpyHtoDAsync_v2, (u64, const void *, size_t, void *)) \
  X(cuMemcpyDtoHAsync_v2, (void *, u64, size_t, void *)) \
  X(cuMemcpyDtoDAsync_v2, (u64, u64, size_t, void *)) \
  X(cuMemcpyAsync, (u64, u64, size_t, void *)) \
  X(cuMemcpy2DAsync_v2, (const void *, void *)) \
  X(cuMemcpyBatchAsync_v2, (void **, void **, size_t *, size_t, void *, size_t *, size_t, void *)) \
  X(cuMemcpyBatchAsync, (void **, void **, size_t *, size_t, void *, size_t *, size_t, size_t *, void *)) \
  X(cuMemsetD8Async, (u64, unsigned char, size_t, void *)) \
  X(cuStreamCreateWithPriority, (void **, u32, int)) \
  X(cuStreamDestroy_v2, (void *)) \
  X(cuStreamSynchronize, (void *)) \
  X(cuStreamQuery, (void *)) \
  X(cuStreamWaitEvent, (void *, void *, u32)) \
  X(cuStreamGetCtx, (void *, void **)) \
  X(cuStreamIsCapturing, (void *, int *)) \
  X(cuStreamBeginCapture_v2, (void *, int)) \
  X(cuStreamEndCapture, (void *, void **)) \
  X(cuGraphDestroy, (void *)) \
  X(cuLaunchHostFunc, (void *, void (*)(void *), void *)) \
  X(cuStreamAddCallback, (void *, void (*)(void *, int, void *), void *, u32)) \
  X(cuEventCreate, (void **, u32)) \
  X(cuEventDestroy_v2, (void *)) \
  X(cuEventRecord, (void *, void *)) \
  X(cuEventQuery, (void *)) \
  X(cuEventSynchronize, (void *)) \
  X(cuEventElapsedTime, (float *, void *, void *)) \
  X(cuMemGetAllocationGranularity, (size_t *, const void *, int)) \
  X(cuMemAddressReserve, (u64 *, size_t, size_t, u64, u64)) \
  X(cuMemAddressFree, (u64, size_t)) \
  X(cuMemCreate, (u64 *, size_t, const void *, u64)) \
  X(cuMemRelease, (u64)) \
  X(cuMemMap, (u64, size_t, size_t, u64, u64)) \
  X(cuMemUnmap, (u64, size_t)) \
  X(cuMemSetAccess, (u64, size_t, const void *, size_t)) \
  X(cuMemExportToShareableHandle, (void *, u64, int, u64)) \
  X(cuMemImportFromShareableHandle, (u64 *, void *, int)) \
  X(cuMemGetHandleForAddressRange, (void *, u64, size_t, int, u64)) \
  X(cuModuleLoadData, (void **, const void *)) \
  X(cuModuleUnload, (void *)) \
  X(cuModuleGetFunction, (void **, void *, const char *)) \
  X(cuLaunchKernel, (void *, u32, u32, u32, u32, u32, u32, u32, void *, void **, void **))

#define DECLARE(name, arguments) static int(*name) arguments;
CUDA_FUNCTIONS(DECLARE)

static const char *cuda_library = CUDA_LIBRARY, *nvrtc_library = NVRTC_LIBRARY;

/* For tests, which have many libraries. */
void hip_over_cuda_libraries(const char *cuda, const char *nvrtc) {
  cuda_library = strdup(cuda);
  nvrtc_library = strdup(nvrtc);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int started, devices;
static void *contexts[MOST_DEVICES];

static __thread int current, last;

/* ---- how calls begin and end */

static void start(void) {
  void *cuda = dlopen(cuda_library, RTLD_NOW | RTLD_LOCAL);
  started = NO_DEVICE;
  if (!cuda) return;
#define FIND(name, arguments) name = (int(*) arguments)dlsym(cuda, #name);
  CUDA_FUNCTIONS(FIND)
  if (!cuInit || cuInit(0) || cuDeviceGetCount(&devices) || devices == 0) return;
  if (devices > MOST_DEVICES) devices = MOST_DEVICES;
  started = OK;
}

/* Up to 6 every call is remembered, from 7 on what failed until it is read; "not ready" is no failure. */
static int done(int code) {
  if (!FROM(7, 0) || (code != OK && code != BUSY)) last = code;
  return code;
}

static int begin(void) {
  pthread_once(&once, start);
  return started;
}

#define BEGIN() do { int answer = begin(); if (answer) return done(answer); } while (0)
#define NEEDS(name) do { if (!(name)) return done(UNSUPPORTED); } while (0)

/* The implicit context: that of the thread's device. */
static int enter(void) {
  int answer = begin();
  if (answer) return answer;
  pthread_mutex_lock(&lock);
  if (!contexts[current]) answer = cuDevicePrimaryCtxRetain(&contexts[current], current);
  pthread_mutex_unlock(&lock);
  return answer ? answer : cuCtxSetCurrent(contexts[current]);
}

#define ENTER() do { int answer = enter(); if (answer) return done(answer); } while (0)

static const struct { int code; const char *name, *text; } errors[] = {
  {0, "hipSuccess", "no error"},
  {1, "hipErrorInvalidValue", "invalid argument"},
  {2, "hipErrorOutOfMemory", "out of memory"},
  {3, "hipErrorNotInitialized", "initialization error"},
  {4, "hipErrorDeinitialized", "driver shutting down"},
  {21, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
  {35, "hipErrorInsufficientDriver", "driver version is insufficient for runtime version"},
  {100, "hipErrorNoDevice", "no ROCm-capable device is detected"},
  {101, "hipErrorInvalidDevice", "invalid device ordinal"},
  {200, "hipErrorInvalidImage", "device kernel image is invalid"},
  {201, "hipErrorInvalidContext", "invalid device context"},
  {214, "hipErrorECCNotCorrectable", "uncorrectable ECC error encountered"},
  {217, "hipErrorPeerAccessUnsupported", "peer access is not supported between these two devices"},
  {218, "hipErrorInvalidKernelFile", "invalid kernel file"},
  {304, "hipErrorOperatingSystem", "OS call failed or operation not supported on this OS"},
  {400, "hipErrorInvalidHandle", "invalid resource handle"},
  {500, "hipErrorNotFound", "named symbol not found"},
  {600, "hipErrorNotReady", "device not ready"},
  {700, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
  {702, "hipErrorLaunchTimeOut", "the launch timed out and was terminated"},
  {709, "hipErrorContextIsDestroyed", "context is destroyed"},
  {710, "hipErrorAssert", "device-side assert triggered"},
  {712, "hipErrorHostMemoryAlreadyRegistered", "part or all of the requested memory range is already mapped"},
  {713, "hipErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region"},
  {719, "hipErrorLaunchFailure", "unspecified launch failure"},
  {801, "hipErrorNotSupported", "operation not supported"},
  {900, "hipErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
  {901, "hipErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
  {906, "hipErrorStreamCaptureImplicit", "operation would make the legacy stream depend on a capturing blocking stream"},
  {999, "hipErrorUnknown", "unknown error"},
};

static int row_of(int code) {
  int count = (int)(sizeof errors / sizeof errors[0]);
  for (int i = 0; i < count; i++)
    if (errors[i].code == code) return i;
  return count - 1;
}

const char *hipGetErrorName(int code) { return errors[row_of(code)].name; }

const char *hipGetErrorString(int code) { return FROM(5, 3) ? errors[row_of(code)].text : errors[row_of(code)].name; }

int hipPeekAtLastError(void) { return last; }

int hipGetLastError(void) {
  int was = last;
  last = OK;
  return was;
}

/* ---- library and devices */

int hipInit(u32 flags) {
  BEGIN();
  return done(flags ? INVALID : OK);
}

int hipDriverGetVersion(int *version) {
  *version = HIP_VERSION;
  return OK;
}

int hipRuntimeGetVersion(int *version) {
  *version = HIP_VERSION;
  return OK;
}

int hipGetDeviceCount(int *count) {
  *count = 0;
  BEGIN();
  *count = devices;
  return done(OK);
}

static int is_device(int device) { return device >= 0 && device < devices; }

#define DEVICE(device) do { BEGIN(); if (!is_device(device)) return done(BAD_DEVICE); } while (0)

int hipDeviceGetName(char *name, int length, int device) {
  DEVICE(device);
  return done(cuDeviceGetName(name, length, device));
}

/* The runtime gives the hexadecimal digits of a number as 16 characters. */
int hipDeviceGetUuid(char *uuid, int device) {
  DEVICE(device);
  unsigned char bytes[16];
  int code = cuDeviceGetUuid_v2(bytes, device);
  if (code == OK)
    for (int i = 0; i < 16; i++) uuid[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 ? 0 : 4) & 15];
  return done(code);
}

int hipDeviceTotalMem(size_t *bytes, int device) {
  DEVICE(device);
  return done(cuDeviceTotalMem_v2(bytes, device));
}

int hipDeviceGetPCIBusId(char *id, int length, int device) {
  DEVICE(device);
  if (FROM(6, 0) && length <= 12) return done(INVALID);
  int code = cuDeviceGetPCIBusId(id, length, device);
  for (char *c = id; code == OK && *c; c++)
    if (*c >= 'A' && *c <= 'F') *c = (char)(*c - 'A' + 'a');
  return done(code);
}

int hipDeviceGetAttribute(int *value, int attribute, int device) {
  static const short numbers[][2] = {{2, 40}, {3, 19}, {4, 91}, {9, 89}, {13, 101}, {15, 86}, {16, 18}, {23, 75}, {24, 83}, {58, 11},
                                     {61, 76}, {63, 16}, {65, 88}, {66, 100}, {67, 33}, {68, 34}, {69, 50}, {85, 41}, {87, 10}, {88, 115},
                                     {89, 102}, {90, 99}, {91, 119}, {92, 134}, {93, 124}, {94, 110}};
  DEVICE(device);
  if ((attribute == 89 && !FROM(5, 3)) || (attribute == 90 && !FROM(6, 0)) || (attribute == 92 && !FROM(7, 2)) ||
      (attribute == 93 && !FROM(7, 12)) || (attribute == 94 && !FROM(7, 13)))
    return done(INVALID);
  if (attribute == 89 && !FROM(6, 1)) {
    *value = 0;
    return done(OK);
  }
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    if (numbers[i][0] == attribute) return done(cuDeviceGetAttribute(value, numbers[i][1], device));
  return done(INVALID);
}

/* ---- what is current on a thread */

int hipSetDevice(int device) {
  DEVICE(device);
  current = device;
  return done(OK);
}

int hipGetDevice(int *device) {
  BEGIN();
  *device = current;
  return done(OK);
}

int hipThreadExchangeStreamCaptureMode(int *mode) {
  BEGIN();
  return done(cuThreadExchangeStreamCaptureMode(mode));
}

int hipDevicePrimaryCtxRetain(void **context, int device) {
  DEVICE(device);
  *context = NULL;
  return done(OK);
}

/* ---- host memory */

int hipHostRegister(void *address, size_t bytes, u32 flags) {
  ENTER();
  if (!address || bytes == 0) return done(INVALID);
  if (FROM(7, 0) ? flags & ~0x8000000bu : FROM(5, 6) ? flags > 15 : 0) return done(INVALID);
  int code = cuMemHostRegister_v2(address, bytes, 3); /* mapped, and for all devices whatever was asked */
  if (code == TWICE && !FROM(7, 13)) code = OK;       /* one more object that nothing frees */
  if (code == MEMORY && FROM(5, 3)) code = INVALID;
  if (code == INVALID && !FROM(5, 3)) code = MEMORY;
  return done(code);
}

int hipHostUnregister(void *address) {
  ENTER();
  if (!address) return done(INVALID);
  int code = cuMemHostUnregister(address);
  if (code == INVALID) {
    fprintf(stderr, "hip_over_cuda: %p lies inside of a registration, where HIP's runtime fails an assertion\n", address);
    abort();
  }
  return done(code);
}

int hipHostMalloc(void **address, size_t bytes, u32 flags) {
  ENTER();
  NEEDS(cuMemHostAlloc);
  return done(cuMemHostAlloc(address, bytes, (flags & 7) | 1));
}

int hipHostFree(void *address) {
  ENTER();
  NEEDS(cuMemFreeHost);
  return done(address ? cuMemFreeHost(address) : OK);
}

int hipHostGetDevicePointer(void **device, void *host, u32 flags) {
  ENTER();
  return done(cuMemHostGetDevicePointer_v2((u64 *)device, host, flags));
}

/* ---- device memory and copies */

int hipMemGetInfo(size_t *free, size_t *total) {
  ENTER();
  return done(cuMemGetInfo_v2(free, total));
}

int hipMalloc(void **address, size_t bytes) {
  ENTER();
  if (bytes == 0) {
    *address = NULL;
    return done(OK);
  }
  return done(cuMemAlloc_v2((u64 *)address, bytes));
}

int hipFree(void *address) {
  ENTER();
  return done(address ? cuMemFree_v2((u64)address) : OK);
}

int hipMemGetAddressRange(void **base, size_t *bytes, void *address) {
  ENTER();
  if (!base || !bytes) {
    fprintf(stderr, "hip_over_cuda: hipMemGetAddressRange without an output, where HIP's runtime crashes\n");
    abort();
  }
  return done(cuMemGetAddressRange_v2((u64 *)base, bytes, (u64)address));
}

typedef struct {
  int type, device;
  void *device_pointer, *host_pointer;
  int managed;
  u32 flags;
} pointer_attributes;

int hipPointerGetAttributes(pointer_attributes *attributes, const void *address) {
  ENTER();
  int type = 0;
  if (!address || cuPointerGetAttribute(&type, 2, (u64)address)) {
    if (!FROM(6, 0)) return done(INVALID);
    memset(attributes, 0, sizeof *attributes);
    attributes->device = -2;
    return done(OK);
  }
  memset(attributes, 0, sizeof *attributes);
  attributes->type = FROM(6, 0) ? type : type - 1;
  return done(cuPointerGetAttribute(&attributes->device, 9, (u64)address));
}

int hipPointerGetAttribute(void *value, int attribute, void *address) {
  ENTER();
  if (attribute == 12) { /* the size of the range, written as 32 bits */
    u64 bytes = 0;
    int code = cuPointerGetAttribute(&bytes, 12, (u64)address);
    if (code == OK) *(u32 *)value = (u32)bytes;
    return done(code);
  }
  if (attribute == 15) { /* one byte */
    u64 wide = 0;
    int code = cuPointerGetAttribute(&wide, 15, (u64)address);
    if (code == OK) *(unsigned char *)value = (unsigned char)wide;
    return done(code);
  }
  return done(cuPointerGetAttribute(value, attribute, (u64)address));
}

static void *stream_below(void *stream) { return stream == NULL ? (void *)1 : stream; }

int hipMemcpyHtoDAsync(void *to, void *from, size_t bytes, void *stream) {
  ENTER();
  return done(cuMemcpyHtoDAsync_v2((u64)to, from, bytes, stream_below(stream)));
}

int hipMemcpyDtoHAsync(void *to, void *from, size_t bytes, void *stream) {
  ENTER();
  return done(cuMemcpyDtoHAsync_v2(to, (u64)from, bytes, stream_below(stream)));
}

int hipMemcpyDtoDAsync(void *to, void *from, size_t bytes, void *stream) {
  ENTER();
  return done(cuMemcpyDtoDAsync_v2((u64)to, (u64)from, bytes, stream_below(stream)));
}

typedef struct {
  size_t src_x, src_y;
  u32 src_type;
  const void *src_host;
  u64 src_device;
  void *src_array;
  size_t src_pitch, dst_x, dst_y;
  u32 dst_type;
  void *dst_host;
  u64 dst_device;
  void *dst_array;
  size_t dst_pitch, width, height;
} copy2d;

int hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind, void *stream) {
  ENTER();
  NEEDS(cuMemcpy2DAsync_v2);
  if (kind < 1 || kind > 3) return done(BAD_KIND);
  copy2d copy = {.src_pitch = from_pitch, .dst_pitch = to_pitch, .width = width, .height = height};
  copy.src_type = kind == 1 ? 1 : 2;
  copy.dst_type = kind == 2 ? 1 : 2;
  if (kind == 1) copy.src_host = from; else copy.src_device = (u64)from;
  if (kind == 2) copy.dst_host = to; else copy.dst_device = (u64)to;
  return done(cuMemcpy2DAsync_v2(&copy, stream_below(stream)));
}

#if FROM(7, 1) || (HIP_VERSION >= 70051831 && HIP_VERSION < 70060000)
typedef struct { int order, source[2], target[2]; u32 flags; } copy_attributes;

/* One row, by where its ends are. */
static int copy_row(void *to, void *from, size_t bytes, void *stream) {
  int to_type = 1, from_type = 1;
  if (cuPointerGetAttribute(&to_type, 2, (u64)to)) to_type = 1;
  if (cuPointerGetAttribute(&from_type, 2, (u64)from)) from_type = 1;
  if (to_type == 1) return cuMemcpyDtoHAsync_v2(to, (u64)from, bytes, stream_below(stream));
  return from_type == 1 ? cuMemcpyHtoDAsync_v2((u64)to, from, bytes, stream_below(stream))
                        : cuMemcpyDtoDAsync_v2((u64)to, (u64)from, bytes, stream_below(stream));
}

int hipMemcpyBatchAsync(void **to, void **from, size_t *bytes, size_t rows, copy_attributes *attributes, size_t *attribute_rows,
                        size_t attribute_count, size_t *failed, void *stream) {
  ENTER();
  if (rows == 0 || !to || !from || !bytes) return done(INVALID);
  if (attribute_count > 0) {
    if (FROM(7, 2) && !FROM(7, 13)) return done(UNSUPPORTED);
    if (!attributes || !attribute_rows || attribute_count > rows || attribute_rows[0] != 0) return done(INVALID);
    for (size_t i = 0; FROM(7, 13) && i < attribute_count; i++)
      if (attributes[i].order < 1 || attributes[i].order > 3 || attributes[i].flags & ~0x301u) return done(INVALID);
  }
  for (size_t i = 0; i < rows; i++)
    if (!to[i] || !from[i] || bytes[i] == 0) {
      if (failed) *failed = i;
      return done(INVALID);
    }
  if (FROM(7, 14) && rows > 8192) return done(LAUNCH_FAILED); /* faults in its staging */
  if (!FROM(7, 14) || stream == NULL || !(cuMemcpyBatchAsync_v2 || cuMemcpyBatchAsync)) {
    for (size_t i = 0; i < rows; i++) {
      int code = copy_row(to[i], from[i], bytes[i], stream);
      if (code) {
        if (failed) *failed = i;
        return done(code);
      }
    }
    return done(OK);
  }
  copy_attributes mine = {.order = attribute_count && attributes[0].order == 3 ? 3 : 1};
  size_t first = 0, ignored = 0;
  if (cuMemcpyBatchAsync_v2) return done(cuMemcpyBatchAsync_v2(to, from, bytes, rows, &mine, &first, 1, stream));
  return done(cuMemcpyBatchAsync(to, from, bytes, rows, &mine, &first, 1, failed ? failed : &ignored, stream));
}
#endif

int hipMemsetD8Async(void *address, unsigned char value, size_t bytes, void *stream) {
  ENTER();
  return done(cuMemsetD8Async((u64)address, value, bytes, stream_below(stream)));
}

/* ---- streams and events */

int hipStreamCreateWithPriority(void **stream, u32 flags, int priority) {
  ENTER();
  return done(flags > 1 ? INVALID : cuStreamCreateWithPriority(stream, flags, priority));
}

int hipStreamDestroy(void *stream) {
  ENTER();
  return done(cuStreamDestroy_v2(stream));
}

int hipStreamSynchronize(void *stream) {
  ENTER();
  return done(cuStreamSynchronize(stream_below(stream)));
}

int hipStreamQuery(void *stream) {
  ENTER();
  return done(cuStreamQuery(stream_below(stream)));
}

int hipStreamWaitEvent(void *stream, void *event, u32 flags) {
  ENTER();
  return done(cuStreamWaitEvent(stream_below(stream), event, flags));
}

#if FROM(5, 6)
int hipStreamGetDevice(void *stream, int *device) {
  ENTER();
  void *context = NULL;
  int code = cuStreamGetCtx(stream_below(stream), &context);
  if (code == OK) code = cuCtxSetCurrent(context);
  if (code == OK) code = cuCtxGetDevice(device);
  return done(code);
}
#endif

int hipStreamIsCapturing(void *stream, int *status) {
  ENTER();
  return done(cuStreamIsCapturing(stream_below(stream), status));
}

int hipStreamBeginCapture(void *stream, int mode) {
  ENTER();
  return done(cuStreamBeginCapture_v2(stream_below(stream), mode));
}

int hipStreamEndCapture(void *stream, void **graph) {
  ENTER();
  return done(cuStreamEndCapture(stream_below(stream), graph));
}

int hipGraphDestroy(void *graph) {
  ENTER();
  return done(cuGraphDestroy(graph));
}

#if FROM(5, 3)
int hipLaunchHostFunc(void *stream, void (*function)(void *), void *argument) {
  ENTER();
  return done(cuLaunchHostFunc(stream_below(stream), function, argument));
}
#endif

int hipStreamAddCallback(void *stream, void (*function)(void *, int, void *), void *argument, u32 flags) {
  ENTER();
  NEEDS(cuStreamAddCallback);
  return done(cuStreamAddCallback(stream_below(stream), function, argument, flags));
}

int hipEventCreateWithFlags(void **event, u32 flags) {
  ENTER();
  return done(cuEventCreate(event, flags & 7));
}

int hipEventDestroy(void *event) {
  ENTER();
  return done(cuEventDestroy_v2(event));
}

int hipEventRecord(void *event, void *stream) {
  ENTER();
  return done(cuEventRecord(event, stream_below(stream)));
}

int hipEventQuery(void *event) {
  ENTER();
  return done(cuEventQuery(event));
}

int hipEventSynchronize(void *event) {
  ENTER();
  return done(cuEventSynchronize(event));
}

int hipEventElapsedTime(float *milliseconds, void *start_event, void *end_event) {
  ENTER();
  return done(cuEventElapsedTime(milliseconds, start_event, end_event));
}

/* ---- virtual memory */

typedef struct { int type, id; } location;

typedef struct {
  int type, kinds;
  location where;
  void *windows;
  unsigned char compression, rdma;
  unsigned short usage;
  unsigned char reserved[4];
} properties_below;

#if FROM(5, 3)
typedef properties_below properties;
#else
typedef struct {
  unsigned char compression;
  location where;
  int kinds, type;
  unsigned short usage;
  void *windows;
} properties;
#endif

_Static_assert(sizeof(properties) == 32 && sizeof(properties_below) == 32, "hipMemAllocationProp has 32 bytes");

static properties_below below(const properties *p) {
  properties_below b;
  memset(&b, 0, sizeof b);
  b.type = p->type;
  b.kinds = p->kinds;
  b.where = p->where;
  b.windows = p->windows;
  b.compression = p->compression;
  b.usage = p->usage;
#if FROM(5, 3)
  b.rdma = p->rdma;
#endif
  return b;
}

int hipMemGetAllocationGranularity(size_t *bytes, const properties *p, int option) {
  ENTER();
  NEEDS(cuMemGetAllocationGranularity);
  properties_below b = below(p);
  return done(cuMemGetAllocationGranularity(bytes, &b, option));
}

/*
 * HIP gives addresses that were just given back to who asks for them; CUDA drivers take that for a wish, and newer ones do not
 * fulfil it. So the last ones given back stay with us until others are.
 */
#define MOST_RESERVATIONS 65536

static struct { u64 at, bytes, mapped; } reservations[MOST_RESERVATIONS];
static u64 parked, parked_bytes;

/* Under the lock: the reservation that holds an address; that of address 0 is a free place. */
static int reservation_of(u64 at) {
  for (int i = 0; i < MOST_RESERVATIONS; i++)
    if (at ? reservations[i].at && at >= reservations[i].at && at < reservations[i].at + reservations[i].bytes : !reservations[i].at)
      return i;
  return -1;
}

static int park(u64 address, u64 bytes) {
  pthread_mutex_lock(&lock);
  u64 old = parked, old_bytes = parked_bytes;
  parked = address;
  parked_bytes = bytes;
  pthread_mutex_unlock(&lock);
  return old ? cuMemAddressFree(old, old_bytes) : OK;
}

/* For tests that count what is left. */
int hip_over_cuda_unpark(void) { return park(0, 0); }

static void remember(u64 at, u64 bytes) {
  pthread_mutex_lock(&lock);
  int place = reservation_of(0);
  if (place < 0) abort();
  reservations[place].at = at;
  reservations[place].bytes = bytes;
  reservations[place].mapped = 0;
  pthread_mutex_unlock(&lock);
}

int hipMemAddressReserve(void **address, size_t bytes, size_t alignment, void *hint, u64 flags) {
  ENTER();
  if (!FROM(6, 1)) return done(OK); /* and writes nothing */
  NEEDS(cuMemAddressReserve);
  pthread_mutex_lock(&lock);
  int here = hint && (u64)hint == parked && bytes == parked_bytes && !flags && (!alignment || parked % alignment == 0);
  if (here) parked = 0;
  pthread_mutex_unlock(&lock);
  if (here) *address = hint;
  int code = here ? OK : cuMemAddressReserve((u64 *)address, bytes, alignment, (u64)hint, flags);
  if (code == OK) remember((u64)*address, bytes);
  return done(code);
}

int hipMemAddressFree(void *address, size_t bytes) {
  ENTER();
  NEEDS(cuMemAddressFree);
  pthread_mutex_lock(&lock);
  int place = address ? reservation_of((u64)address) : -1;
  int fits = place >= 0 && reservations[place].at == (u64)address && reservations[place].bytes == bytes && !reservations[place].mapped;
  if (fits) reservations[place].at = 0;
  pthread_mutex_unlock(&lock);
  return done(fits ? park((u64)address, bytes) : INVALID);
}

static void mapped(u64 address, u64 bytes, int sign) {
  pthread_mutex_lock(&lock);
  int place = address ? reservation_of(address) : -1;
  if (place >= 0) reservations[place].mapped += sign > 0 ? bytes : -bytes;
  pthread_mutex_unlock(&lock);
}

int hipMemCreate(u64 *handle, size_t bytes, const properties *p, u64 flags) {
  ENTER();
  NEEDS(cuMemCreate);
  properties_below b = below(p);
  if (b.kinds & ~1) return done(INVALID);
  return done(cuMemCreate(handle, bytes, &b, flags));
}

int hipMemRelease(u64 handle) {
  ENTER();
  NEEDS(cuMemRelease);
  return done(cuMemRelease(handle));
}

int hipMemMap(void *address, size_t bytes, size_t offset, u64 handle, u64 flags) {
  ENTER();
  NEEDS(cuMemMap);
  int code = offset ? INVALID : cuMemMap((u64)address, bytes, offset, handle, flags);
  if (code == OK) mapped((u64)address, bytes, 1);
  return done(code);
}

int hipMemUnmap(void *address, size_t bytes) {
  ENTER();
  NEEDS(cuMemUnmap);
  int code = cuMemUnmap((u64)address, bytes);
  if (code == OK) mapped((u64)address, bytes, -1);
  return done(code);
}

int hipMemSetAccess(void *address, size_t bytes, const void *descriptors, size_t count) {
  ENTER();
  if (!FROM(6, 1)) return done(OK); /* and does nothing */
  NEEDS(cuMemSetAccess);
  return done(cuMemSetAccess((u64)address, bytes, descriptors, count));
}

int hipMemExportToShareableHandle(void *into, u64 handle, int type, u64 flags) {
  ENTER();
  if (!FROM(6, 2)) return done(UNSUPPORTED);
  NEEDS(cuMemExportToShareableHandle);
  return done(cuMemExportToShareableHandle(into, handle, type, flags));
}

int hipMemImportFromShareableHandle(u64 *handle, void *os, int type) {
  ENTER();
  if (!FROM(6, 2) || type != 1) return done(UNSUPPORTED);
  NEEDS(cuMemImportFromShareableHandle);
  void *value = FROM(7, 1) ? os : (void *)(uintptr_t) * (int *)os;
  return done(cuMemImportFromShareableHandle(handle, value, type));
}

#if FROM(7, 0)
int hipMemGetHandleForAddressRange(void *into, void *address, size_t bytes, int type, u64 flags) {
  ENTER();
  NEEDS(cuMemGetHandleForAddressRange);
  return done(cuMemGetHandleForAddressRange(into, (u64)address, bytes, type, flags));
}
#endif

/* ---- kernels */

int hipModuleLoadData(void **module, const void *image) {
  ENTER();
  NEEDS(cuModuleLoadData);
  return done(cuModuleLoadData(module, image));
}

int hipModuleUnload(void *module) {
  ENTER();
  NEEDS(cuModuleUnload);
  return done(cuModuleUnload(module));
}

int hipModuleGetFunction(void **function, void *module, const char *name) {
  ENTER();
  NEEDS(cuModuleGetFunction);
  return done(cuModuleGetFunction(function, module, name));
}

int hipModuleLaunchKernel(void *function, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared, void *stream, void **arguments, void **extra) {
  ENTER();
  NEEDS(cuLaunchKernel);
  return done(cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream_below(stream), arguments, extra));
}

/* ---- the run-time compiler's names, over NVIDIA's: code objects are PTX here */

static void *compiler(void) {
  static void *library;
  pthread_mutex_lock(&lock);
  if (!library) library = dlopen(nvrtc_library, RTLD_NOW | RTLD_LOCAL);
  pthread_mutex_unlock(&lock);
  return library;
}

#define BELOW(name, arguments) \
  int(*name) arguments = compiler() ? (int(*) arguments)dlsym(compiler(), #name) : NULL; \
  if (!name) return 11 /* internal error */

const char *hiprtcGetErrorString(int code) { return code == 0 ? "HIPRTC_SUCCESS" : code == 6 ? "HIPRTC_ERROR_COMPILATION" : "HIPRTC_ERROR_INTERNAL_ERROR"; }

int hiprtcVersion(int *major, int *minor) {
  *major = HIP_VERSION / 10000000;
  *minor = HIP_VERSION / 100000 % 100;
  return 0;
}

int hiprtcCreateProgram(void **program, const char *source, const char *name, int count, const char **headers, const char **names) {
  BELOW(nvrtcCreateProgram, (void **, const char *, const char *, int, const char **, const char **));
  return nvrtcCreateProgram(program, source, name, count, headers, names);
}

/* Compiles for the calling thread's device, as hiprtc does when no architecture is named. */
int hiprtcCompileProgram(void *program, int count, const char **options) {
  BELOW(nvrtcCompileProgram, (void *, int, const char **));
  int major = 0, minor = 0;
  char architecture[64];
  const char *all[16];
  if (enter() || count > 15 || cuDeviceGetAttribute(&major, 75, current) || cuDeviceGetAttribute(&minor, 76, current)) return 11;
  snprintf(architecture, sizeof architecture, "--gpu-architecture=compute_%d%d", major, minor);
  int given = 0;
  for (int i = 0; i < count; i++)
    if (strcmp(options[i], "-O3")) all[given++] = options[i]; /* NVIDIA's knows no such option and always does it */
  all[given++] = architecture;
  return nvrtcCompileProgram(program, given, all);
}

int hiprtcGetProgramLogSize(void *program, size_t *bytes) {
  BELOW(nvrtcGetProgramLogSize, (void *, size_t *));
  return nvrtcGetProgramLogSize(program, bytes);
}

int hiprtcGetProgramLog(void *program, char *log) {
  BELOW(nvrtcGetProgramLog, (void *, char *));
  return nvrtcGetProgramLog(program, log);
}

int hiprtcGetCodeSize(void *program, size_t *bytes) {
  BELOW(nvrtcGetPTXSize, (void *, size_t *));
  return nvrtcGetPTXSize(program, bytes);
}

int hiprtcGetCode(void *program, char *code) {
  BELOW(nvrtcGetPTX, (void *, char *));
  return nvrtcGetPTX(program, code);
}

int hiprtcDestroyProgram(void **program) {
  BELOW(nvrtcDestroyProgram, (void **));
  return nvrtcDestroyProgram(program);
}
