// A CUDA driver that does nothing and does it at once, for what Holdfast itself spends on a call: device memory is one
// range of addresses that nobody reads, copies move nothing, everything is done when it is asked for. Not for tests.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t u64;

enum { OK = 0, INVALID = 1, MANY = 4096 };

static const u64 device_memory = 0x700000000000, device_bytes = (u64)64 << 30;
static u64 next = 0x700000000000;
static int context_token, stream_token, event_token, module_token, function_token;
static __thread void *current;
static struct {
  u64 start, bytes;
} allocations[MANY];
static int allocation_count;

int cuGetErrorName(int code, const char **name) { return *name = code ? "CUDA_ERROR_NOOP" : "CUDA_SUCCESS", OK; }
int cuGetErrorString(int code, const char **text) { return *text = code ? "refused" : "no error", OK; }
int cuInit(unsigned flags) { return flags ? INVALID : OK; }
int cuDriverGetVersion(int *version) { return *version = 13000, OK; }
int cuDeviceGetCount(int *count) { return *count = 1, OK; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, ordinal ? 101 : OK; }
int cuDeviceGetName(char *name, int length, int device) {
  (void)device;
  return snprintf(name, (size_t)length, "No-op"), OK;
}
int cuDeviceGetUuid_v2(unsigned char *uuid, int device) { return memset(uuid, device + 1, 16), OK; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return (void)device, *bytes = device_bytes, OK; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  switch (attribute) {
    case 11: *value = 2147483647; return OK; // pitch
    case 91: *value = 1; return OK;          // host pointers can be used
    case 100: case 102: case 103: case 110: case 124: case 128: *value = 0; return OK;
    default: return INVALID;
  }
}
int cuDeviceGetPCIBusId(char *id, int length, int device) {
  (void)device;
  return snprintf(id, (size_t)length, "0000:00:00.0"), OK;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { return (void)device, *context = &context_token, OK; }
int cuDevicePrimaryCtxRelease_v2(int device) { return (void)device, OK; }
int cuCtxSetCurrent(void *context) { return current = context, OK; }
int cuCtxGetCurrent(void **context) { return *context = current, OK; }
int cuCtxGetDevice(int *device) { return *device = 0, OK; }
int cuThreadExchangeStreamCaptureMode(int *mode) {
  static __thread int own;
  int before = own;
  own = *mode;
  *mode = before;
  return OK;
}
int cuMemHostRegister_v2(void *start, size_t bytes, unsigned flags) { return (void)start, (void)bytes, (void)flags, OK; }
int cuMemHostUnregister(void *start) { return (void)start, OK; }
int cuMemHostGetDevicePointer_v2(u64 *seen, void *host, unsigned flags) {
  return (void)flags, *seen = (u64)(uintptr_t)host, OK;
}
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  return *free_bytes = device_memory + device_bytes - next, *total = device_bytes, OK;
}
int cuMemAlloc_v2(u64 *address, size_t bytes) {
  if (allocation_count == MANY || next + bytes > device_memory + device_bytes) {
    return 2;
  }
  *address = next;
  allocations[allocation_count].start = next;
  allocations[allocation_count++].bytes = bytes;
  next += (bytes + 0x1fffff) / 0x200000 * 0x200000;
  return OK;
}
int cuMemFree_v2(u64 address) { return (void)address, OK; }
int cuMemGetAddressRange_v2(u64 *start, size_t *bytes, u64 address) {
  for (int i = 0; i < allocation_count; i++) {
    if (address - allocations[i].start < allocations[i].bytes) {
      *start = allocations[i].start;
      *bytes = allocations[i].bytes;
      return OK;
    }
  }
  return INVALID;
}
int cuPointerGetAttribute(void *value, int attribute, u64 address) {
  int on_device = address - device_memory < device_bytes;
  switch (attribute) {
    case 1: *(void **)value = &context_token; return OK;
    case 2: *(int *)value = on_device ? 2 : 1; return OK;
    case 9: *(int *)value = 0; return OK;
    default: return INVALID;
  }
}
int cuMemcpyHtoDAsync_v2(u64 to, const void *from, size_t bytes, void *stream) {
  return (void)to, (void)from, (void)bytes, (void)stream, OK;
}
int cuMemcpyDtoHAsync_v2(void *to, u64 from, size_t bytes, void *stream) {
  return (void)to, (void)from, (void)bytes, (void)stream, OK;
}
int cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t bytes, void *stream) {
  return (void)to, (void)from, (void)bytes, (void)stream, OK;
}
int cuMemcpy2DAsync_v2(const void *copy, void *stream) { return (void)copy, (void)stream, OK; }
int cuMemcpyBatchAsync_v2(u64 *to, u64 *from, size_t *bytes, size_t count, void *attributes, size_t *first,
                          size_t attribute_count, void *stream) {
  (void)to, (void)from, (void)bytes, (void)count, (void)attributes, (void)first, (void)attribute_count, (void)stream;
  return OK;
}
int cuMemsetD8Async(u64 to, unsigned char value, size_t bytes, void *stream) {
  return (void)to, (void)value, (void)bytes, (void)stream, OK;
}
int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  return (void)flags, (void)priority, *stream = &stream_token, OK;
}
int cuStreamDestroy_v2(void *stream) { return (void)stream, OK; }
int cuStreamSynchronize(void *stream) { return (void)stream, OK; }
int cuStreamQuery(void *stream) { return (void)stream, OK; }
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) { return (void)stream, (void)event, (void)flags, OK; }
int cuStreamGetCtx(void *stream, void **context) { return (void)stream, *context = &context_token, OK; }
int cuStreamIsCapturing(void *stream, int *status) { return (void)stream, *status = 0, OK; }
int cuEventCreate(void **event, unsigned flags) { return (void)flags, *event = &event_token, OK; }
int cuEventDestroy_v2(void *event) { return (void)event, OK; }
int cuEventRecord(void *event, void *stream) { return (void)event, (void)stream, OK; }
int cuEventQuery(void *event) { return (void)event, OK; }
int cuEventSynchronize(void *event) { return (void)event, OK; }
int cuEventElapsedTime(float *millis, void *from, void *to) { return (void)from, (void)to, *millis = 0.001f, OK; }
int cuModuleLoadData(void **module, const void *image) { return (void)image, *module = &module_token, OK; }
int cuModuleUnload(void *module) { return (void)module, OK; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  return (void)module, (void)name, *function = &function_token, OK;
}
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **arguments, void **more) {
  (void)function, (void)x, (void)y, (void)z, (void)bx, (void)by, (void)bz, (void)shared, (void)stream;
  return (void)arguments, (void)more, OK;
}
