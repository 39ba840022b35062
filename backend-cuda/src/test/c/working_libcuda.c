/*
 * What the tests of backend-hip put HIP's names over. This module's own run on the simulator's library instead.
 *
 * A small strict libcuda for tests: host memory stands in for device memory, and every rule that the binding could break
 * is checked. It is not a simulator; a benchmark of it means nothing. What it is like is chosen when it is compiled:
 *   -DDEVICES=N            how many devices (2 unless told otherwise)
 *   -DVERSION=N            what cuDriverGetVersion reports (13000 unless told otherwise)
 *   -DCOHERENT             the device reads host page tables (attribute 100)
 *   -DALIAS                device addresses of registered memory differ from the host's (attribute 91 is 0)
 *   -DWITHOUT_VMM          attribute 102 is 0
 *   -DBATCH_ARGUMENTS=N    8, 9 or 0: which form of cuMemcpyBatchAsync is exported (8 unless told otherwise)
 *   -DWITHOUT_OPTIONAL     none of the optional exports
 *   -DLOSES_A_BYTE         every copy from the device is one byte short
 *   -DJIT_CODE=N           what cuModuleLoadData answers (0 unless told otherwise)
 *
 * Strictness: every call that needs a context checks the calling thread's; while a capture is on (fake_set_capturing),
 * every call of a thread whose capture mode is not relaxed answers 900 and breaks the capture; recording an event of
 * another context answers 400; a copy must lie in one registration or in none, and in one allocation; handles that are
 * not alive answer 400; a forked child is answered 3.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef DEVICES
#define DEVICES 2
#endif
#ifndef VERSION
#define VERSION 13000
#endif
#ifndef BATCH_ARGUMENTS
#define BATCH_ARGUMENTS 8
#endif
#ifndef JIT_CODE
#define JIT_CODE 0
#endif
#ifdef ALIAS
#define ALIAS_DISTANCE (1ull << 45)
#else
#define ALIAS_DISTANCE 0ull
#endif

typedef uint64_t u64;
typedef unsigned int u32;

#define GRANULE (2ull << 20)
#define TOTAL_BYTES (8ull << 30)
#define MANY 4096

enum { OK = 0, INVALID = 1, MEMORY = 2, NOT_STARTED = 3, NO_DEVICE = 101, NO_CONTEXT = 201, BAD_HANDLE = 400, BUSY = 600,
       TWICE = 712, NOT_REGISTERED = 713, UNSUPPORTED = 801, CAPTURE = 900 };

enum { CONTEXT = 1, STREAM, EVENT, MODULE, FUNCTION };

typedef struct thing {
  int kind, alive, device;
  struct thing *context;
  /* stream */
  int held, capture, priority, flags, first, count;
  struct op *ops;
  /* event */
  long recorded, passed;
  /* function */
  int mixed;
} thing;

typedef struct op {
  int what; /* 0 copy, 1 fill, 2 record, 3 wait */
  char *to;
  const char *from;
  u64 bytes;
  int value;
  thing *event;
  long ticket;
} op;

typedef struct { u64 at, bytes; int used, device; thing *context; } range;
typedef struct { int used, fd, references, device, kinds, rdma; u64 bytes; } physical;
typedef struct { u64 at, bytes; int used, handle, access; } mapping;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static pid_t started;
static int capturing, capture_dead;
static int retained[DEVICES];
static thing primary[DEVICES];
static thing *things[MANY];
static int thing_count;
static range registrations[MANY], allocations[MANY], reservations[MANY], host_allocations[MANY];
static physical physicals[MANY];
static mapping mappings[MANY];
static u64 used_bytes;

static __thread thing *current;
static __thread int mode;

/* ---- checks that every call begins with */

static int begin(int needs_context) {
  if (started == 0 || started != getpid()) return NOT_STARTED;
  if (capturing && mode != 2) {
    capture_dead = 1;
    return CAPTURE;
  }
  if (needs_context) {
    if (current == NULL) return NO_CONTEXT;
    if (!current->alive) return 709;
  }
  return OK;
}

#define BEGIN(needs_context) do { int answer = begin(needs_context); if (answer) return answer; } while (0)
#define LOCKED(expression) do { pthread_mutex_lock(&lock); int answer = (expression); pthread_mutex_unlock(&lock); return answer; } while (0)

/* A destroyed event whose place can be taken: no work that is still to come knows it. */
static thing *spare_event(void) {
  thing *spare = NULL;
  for (int i = 0; i < thing_count; i++) {
    if (things[i]->kind == STREAM && things[i]->first < things[i]->count) return NULL;
    if (things[i]->kind == EVENT && !things[i]->alive) spare = things[i];
  }
  return spare;
}

static thing *make(int kind) {
  thing *made = kind == EVENT ? spare_event() : NULL;
  if (made) {
    memset(made, 0, sizeof(thing));
  } else {
    if (thing_count == MANY) abort();
    made = things[thing_count++] = calloc(1, sizeof(thing));
  }
  made->kind = kind;
  made->alive = 1;
  made->context = current;
  made->device = current ? current->device : 0;
  return made;
}

static thing *find(u64 handle, int kind) {
  for (int i = 0; i < thing_count; i++)
    if ((u64)(uintptr_t)things[i] == handle && things[i]->kind == kind && things[i]->alive) return things[i];
  return NULL;
}

static range *slot(range *table) {
  for (int i = 0; i < MANY; i++)
    if (!table[i].used) return &table[i];
  abort();
}

static range *holding(range *table, u64 at) {
  for (int i = 0; i < MANY; i++)
    if (table[i].used && at >= table[i].at && at < table[i].at + table[i].bytes) return &table[i];
  return NULL;
}

static int live(range *table) {
  int count = 0;
  for (int i = 0; i < MANY; i++) count += table[i].used;
  return count;
}

/* ---- errors, library, devices */

int cuGetErrorName(int code, const char **name) {
  switch (code) {
    case 0: *name = "CUDA_SUCCESS"; break;
    case INVALID: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case NO_DEVICE: *name = "CUDA_ERROR_INVALID_DEVICE"; break;
    case BAD_HANDLE: *name = "CUDA_ERROR_INVALID_HANDLE"; break;
    case TWICE: *name = "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"; break;
    case NOT_REGISTERED: *name = "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"; break;
    default: *name = NULL; return INVALID;
  }
  return OK;
}

int cuGetErrorString(int code, const char **text) {
  *text = code == INVALID ? "invalid argument" : NULL;
  return *text ? OK : INVALID;
}

int cuInit(u32 flags) {
  if (flags) return INVALID;
  if (started && started != getpid()) return NOT_STARTED;
  if (started) return OK;
  for (int i = 0; i < DEVICES; i++) {
    primary[i].kind = CONTEXT;
    primary[i].device = i;
  }
  started = getpid();
  return OK;
}

int cuDriverGetVersion(int *version) {
  *version = VERSION;
  return OK;
}

int cuDeviceGetCount(int *count) {
  BEGIN(0);
  *count = DEVICES;
  return OK;
}

int cuDeviceGet(int *device, int ordinal) {
  BEGIN(0);
  if (ordinal < 0 || ordinal >= DEVICES) return NO_DEVICE;
  *device = ordinal;
  return OK;
}

int cuDeviceGetName(char *name, int length, int device) {
  BEGIN(0);
  snprintf(name, length, "Pretend %d", device);
  return OK;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
  BEGIN(0);
  for (int i = 0; i < 16; i++) uuid[i] = (unsigned char)(i * 16 + i + device);
  return OK;
}

/* The older name, which JCuda calls. */
int cuDeviceGetUuid(unsigned char *uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  BEGIN(0);
  *bytes = TOTAL_BYTES;
  return OK;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  BEGIN(0);
  if (device < 0 || device >= DEVICES) return NO_DEVICE;
  switch (attribute) {
    case 10: *value = 32; return OK;
    case 11: *value = 2147483647; return OK;
    case 75: *value = 9; return OK;
    case 76: *value = 0; return OK;
#ifdef ALIAS
    case 91: *value = 0; return OK;
#else
    case 91: *value = 1; return OK;
#endif
#ifdef COHERENT
    case 100: *value = 1; return OK;
#else
    case 100: *value = 0; return OK;
#endif
#ifdef WITHOUT_VMM
    case 102: *value = 0; return OK;
#else
    case 102: *value = 1; return OK;
#endif
    case 103: case 110: case 124: *value = 1; return OK;
    case 128: *value = device == 0; return OK;
    case 134: *value = device == 0 ? 3 : -1; return OK;
    default: return INVALID;
  }
}

int cuDeviceGetPCIBusId(char *id, int length, int device) {
  BEGIN(0);
  if (length < 13) return INVALID;
  snprintf(id, length, "0000:%02X:00.0", 0xAB + device);
  return OK;
}

/* ---- contexts */

int cuDevicePrimaryCtxRetain(thing **context, int device) {
  BEGIN(0);
  if (device < 0 || device >= DEVICES) return NO_DEVICE;
  retained[device]++;
  primary[device].alive = 1;
  *context = &primary[device];
  return OK;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  BEGIN(0);
  if (retained[device] == 0) return NO_CONTEXT;
  if (--retained[device] == 0) primary[device].alive = 0;
  return OK;
}

int cuCtxSetCurrent(thing *context) {
  if (started == 0 || started != getpid()) return NOT_STARTED;
  current = context;
  return OK;
}

int cuCtxGetCurrent(thing **context) {
  if (started == 0 || started != getpid()) return NOT_STARTED;
  *context = current;
  return OK;
}

int cuCtxGetDevice(int *device) {
  BEGIN(1);
  *device = current->device;
  return OK;
}

int cuThreadExchangeStreamCaptureMode(int *wanted) {
  if (*wanted < 0 || *wanted > 2) return INVALID;
  int was = mode;
  mode = *wanted;
  *wanted = was;
  return OK;
}

/* ---- host memory */

static int host_register(u64 at, u64 bytes, u32 flags) {
  if (at == 0 || bytes == 0 || flags & ~0xfu) return INVALID;
  for (int i = 0; i < MANY; i++)
    if (registrations[i].used && at < registrations[i].at + registrations[i].bytes && registrations[i].at < at + bytes)
      return TWICE;
  *slot(registrations) = (range){at, bytes, 1, (int)flags, current};
  return OK;
}

int cuMemHostRegister_v2(void *address, size_t bytes, u32 flags) {
  BEGIN(1);
  LOCKED(host_register((u64)address, bytes, flags));
}

static int host_unregister(u64 at) {
  range *found = holding(registrations, at);
  if (!found) return NOT_REGISTERED;
  if (found->at != at) return INVALID;
  found->used = 0;
  return OK;
}

int cuMemHostUnregister(void *address) {
  BEGIN(1);
  LOCKED(host_unregister((u64)address));
}

int cuMemHostGetDevicePointer_v2(u64 *device, void *host, u32 flags) {
  BEGIN(1);
  pthread_mutex_lock(&lock);
  range *found = holding(registrations, (u64)host);
  if (!found) found = holding(host_allocations, (u64)host);
  /* mapped, and of this context or portable */
  int fits = found && flags == 0 && (found->device & 2) && (found->context == current || (found->device & 1));
  pthread_mutex_unlock(&lock);
  if (!fits) return INVALID;
  *device = (u64)host + ALIAS_DISTANCE;
  return OK;
}

#ifndef WITHOUT_OPTIONAL
int cuMemHostAlloc(void **address, size_t bytes, u32 flags) {
  BEGIN(1);
  if (flags & ~7u) return INVALID;
  *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_mutex_lock(&lock);
  *slot(host_allocations) = (range){(u64)*address, bytes, 1, (int)flags, current};
  pthread_mutex_unlock(&lock);
  return OK;
}

static int free_host(u64 at) {
  range *found = holding(host_allocations, at);
  if (!found || found->at != at) return INVALID;
  munmap((void *)at, found->bytes);
  found->used = 0;
  return OK;
}

int cuMemFreeHost(void *address) {
  BEGIN(1);
  LOCKED(free_host((u64)address));
}
#endif

/* ---- device memory */

int cuMemGetInfo_v2(size_t *free, size_t *total) {
  BEGIN(1);
  *free = TOTAL_BYTES - used_bytes;
  *total = TOTAL_BYTES;
  return OK;
}

static int allocate(u64 *address, u64 bytes) {
  if (bytes == 0) return INVALID;
  if (bytes > TOTAL_BYTES - used_bytes) return MEMORY;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *address = (u64)memory;
  used_bytes += bytes;
  *slot(allocations) = (range){*address, bytes, 1, current->device, current};
  return OK;
}

int cuMemAlloc_v2(u64 *address, size_t bytes) {
  BEGIN(1);
  LOCKED(allocate(address, bytes));
}

static int free_device(u64 at) {
  if (at == 0) return OK;
  range *found = holding(allocations, at);
  if (!found || found->at != at) return INVALID;
  munmap((void *)at, found->bytes);
  used_bytes -= found->bytes;
  found->used = 0;
  return OK;
}

int cuMemFree_v2(u64 address) {
  BEGIN(1);
  LOCKED(free_device(address));
}

static mapping *mapped_at(u64 at) {
  for (int i = 0; i < MANY; i++)
    if (mappings[i].used && at >= mappings[i].at && at < mappings[i].at + mappings[i].bytes) return &mappings[i];
  return NULL;
}

static int address_range(u64 *base, u64 *bytes, u64 at) {
  range *found = holding(allocations, at);
  if (found && found->context != current) return INVALID; /* only the current context's */
  mapping *mapped = mapped_at(at);
  if (!found && !mapped) return INVALID;
  if (base) *base = found ? found->at : mapped->at;
  if (bytes) *bytes = found ? found->bytes : mapped->bytes;
  return OK;
}

int cuMemGetAddressRange_v2(u64 *base, u64 *bytes, u64 address) {
  BEGIN(1);
  LOCKED(address_range(base, bytes, address));
}

static int pointer_attribute(void *value, int attribute, u64 at) {
  range *device = holding(allocations, at);
  range *host = holding(registrations, at);
  mapping *mapped = mapped_at(at);
  if (!device && !host && !mapped) return INVALID;
  switch (attribute) {
    case 1:
      if (mapped) return INVALID;
      *(thing **)value = device ? device->context : host->context;
      return OK;
    case 2: *(u32 *)value = device || mapped ? 2 : 1; return OK;
    case 9: *(int *)value = device ? device->device : mapped ? physicals[mapped->handle].device : host->context->device; return OK;
    case 15: *(unsigned char *)value = mapped ? physicals[mapped->handle].rdma : 1; return OK;
    default: return INVALID;
  }
}

int cuPointerGetAttribute(void *value, int attribute, u64 address) {
  BEGIN(1);
  LOCKED(pointer_attribute(value, attribute, address));
}

/* ---- streams: what is on a held stream, or behind an event that has not passed, waits */

static int run(op *one) {
  switch (one->what) {
    case 0: memmove(one->to, one->from, one->bytes); return 1;
    case 1: memset(one->to, one->value, one->bytes); return 1;
    case 2:
      if (one->event->passed < one->ticket) one->event->passed = one->ticket;
      return 1;
    default: return one->event->passed >= one->ticket;
  }
}

static void pump(void) {
  int progress = 1;
  while (progress) {
    progress = 0;
    for (int i = 0; i < thing_count; i++) {
      thing *stream = things[i];
      if (stream->kind != STREAM || stream->held) continue;
      while (stream->first < stream->count && run(&stream->ops[stream->first])) {
        stream->first++;
        progress = 1;
      }
    }
  }
  pthread_cond_broadcast(&moved);
}

/* The legacy stream of a context is a stream like any other here. */
static thing *stream_of(u64 handle) {
  if (handle > 2) return find(handle, STREAM);
  for (int i = 0; i < thing_count; i++)
    if (things[i]->kind == STREAM && things[i]->alive && things[i]->flags == 100 && things[i]->context == current) return things[i];
  thing *made = make(STREAM);
  made->flags = 100;
  return made;
}

static int enqueue(u64 handle, op one) {
  thing *stream = stream_of(handle);
  if (!stream) return BAD_HANDLE;
  if (stream->first == stream->count) stream->first = stream->count = 0;
  stream->ops = realloc(stream->ops, sizeof(op) * (size_t)(stream->count + 1));
  stream->ops[stream->count++] = one;
  pump();
  return OK;
}

/* ---- copies */

static int inside(range *found, u64 at, u64 bytes) { return at + bytes <= found->at + found->bytes; }

/* Device ranges lie in one allocation, or in mappings that follow each other and may be accessed. */
static int device_ok(u64 at, u64 bytes) {
  range *found = holding(allocations, at);
  if (found) return inside(found, at, bytes);
  u64 end = at + bytes;
  while (at < end) {
    mapping *mapped = mapped_at(at);
    if (!mapped || !mapped->access) return 0;
    at = mapped->at + mapped->bytes;
  }
  return 1;
}

static int is_device(u64 at) { return holding(allocations, at) || holding(reservations, at); }

static int host_ok(u64 at, u64 bytes) {
  range *found = holding(registrations, at);
  if (!found) found = holding(host_allocations, at);
  return !found || inside(found, at, bytes);
}

static int end_ok(u64 at, u64 bytes) { return is_device(at) ? device_ok(at, bytes) : host_ok(at, bytes); }

static int copy(u64 to, u64 from, u64 bytes, u64 stream) {
  if (bytes == 0) return OK;
  if (!to || !from || !end_ok(to, bytes) || !end_ok(from, bytes)) return INVALID;
  return enqueue(stream, (op){.what = 0, .to = (char *)to, .from = (const char *)from, .bytes = bytes});
}

int cuMemcpyHtoDAsync_v2(u64 to, const void *from, size_t bytes, u64 stream) {
  BEGIN(1);
  if (!is_device(to)) return INVALID; /* stricter than a driver: the direction must be right */
  LOCKED(copy(to, (u64)from, bytes, stream));
}

int cuMemcpyDtoHAsync_v2(void *to, u64 from, size_t bytes, u64 stream) {
  BEGIN(1);
  if (!is_device(from) || is_device((u64)to)) return INVALID;
#ifdef LOSES_A_BYTE
  bytes--;
#endif
  LOCKED(copy((u64)to, from, bytes, stream));
}

int cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t bytes, u64 stream) {
  BEGIN(1);
  if (!is_device(from) || !is_device(to)) return INVALID;
  LOCKED(copy(to, from, bytes, stream));
}

int cuMemsetD8Async(u64 address, unsigned char value, size_t bytes, u64 stream) {
  BEGIN(1);
  if (!device_ok(address, bytes)) return INVALID;
  LOCKED(enqueue(stream, (op){.what = 1, .to = (char *)address, .bytes = bytes, .value = value}));
}

#ifndef WITHOUT_OPTIONAL
typedef struct {
  size_t srcXInBytes, srcY;
  u32 srcMemoryType;
  const void *srcHost;
  u64 srcDevice;
  void *srcArray;
  size_t srcPitch, dstXInBytes, dstY;
  u32 dstMemoryType;
  void *dstHost;
  u64 dstDevice;
  void *dstArray;
  size_t dstPitch, WidthInBytes, Height;
} copy2d;

int cuMemcpy2DAsync_v2(const copy2d *c, u64 stream) {
  BEGIN(1);
  if (c->srcXInBytes || c->srcY || c->dstXInBytes || c->dstY || c->srcArray || c->dstArray) return INVALID;
  if (c->srcPitch < c->WidthInBytes || c->dstPitch < c->WidthInBytes) return INVALID;
  u64 from = c->srcMemoryType == 1 ? (u64)c->srcHost : c->srcMemoryType == 2 ? c->srcDevice : 0;
  u64 to = c->dstMemoryType == 1 ? (u64)c->dstHost : c->dstMemoryType == 2 ? c->dstDevice : 0;
  if (!from || !to || (c->srcMemoryType == 2) != is_device(from) || (c->dstMemoryType == 2) != is_device(to)) return INVALID;
  pthread_mutex_lock(&lock);
  int answer = OK;
  for (size_t row = 0; row < c->Height && !answer; row++)
    answer = copy(to + row * c->dstPitch, from + row * c->srcPitch, c->WidthInBytes, stream);
  pthread_mutex_unlock(&lock);
  return answer;
}

#if BATCH_ARGUMENTS
typedef struct { int order; int source[2]; int target[2]; u32 flags; } copy_attributes;

static int batch(const u64 *to, const u64 *from, const size_t *bytes, size_t rows, const copy_attributes *attributes,
                 const size_t *at, size_t count, size_t *failed, u64 stream) {
  if (failed) *failed = SIZE_MAX;
  if (rows == 0 || count != 1 || at[0] != 0 || stream <= 1) return INVALID;
  if ((attributes->order != 1 && attributes->order != 3) || attributes->flags > 1) return INVALID;
  for (size_t i = 0; i < rows; i++)
    if (bytes[i] == 0 || !to[i] || !from[i] || !end_ok(to[i], bytes[i]) || !end_ok(from[i], bytes[i])) {
      if (failed) *failed = i;
      return INVALID;
    }
  /* in any order among themselves: backwards */
  for (size_t i = rows; i-- > 0;) {
    int answer = copy(to[i], from[i], bytes[i], stream);
    if (answer) return answer;
  }
  return OK;
}

#if BATCH_ARGUMENTS == 8
int cuMemcpyBatchAsync_v2(const u64 *to, const u64 *from, const size_t *bytes, size_t rows, const copy_attributes *attributes,
                          const size_t *at, size_t count, u64 stream) {
  BEGIN(1);
  LOCKED(batch(to, from, bytes, rows, attributes, at, count, NULL, stream));
}
#endif
#if BATCH_ARGUMENTS == 8 || BATCH_ARGUMENTS == 9
/* A driver that has the 8-argument form exports this one too. */
int cuMemcpyBatchAsync(const u64 *to, const u64 *from, const size_t *bytes, size_t rows, const copy_attributes *attributes,
                       const size_t *at, size_t count, size_t *failed, u64 stream) {
  BEGIN(1);
  LOCKED(batch(to, from, bytes, rows, attributes, at, count, failed, stream));
}
#endif
#endif
#endif

/* ---- streams and events */

int cuStreamCreateWithPriority(thing **stream, u32 flags, int priority) {
  BEGIN(1);
  if (flags > 1) return INVALID;
  pthread_mutex_lock(&lock);
  *stream = make(STREAM);
  (*stream)->flags = (int)flags;
  (*stream)->priority = priority;
  pthread_mutex_unlock(&lock);
  return OK;
}

static int destroy(u64 handle, int kind) {
  thing *found = find(handle, kind);
  if (!found) return BAD_HANDLE;
  found->alive = 0; /* work on it still runs */
  return OK;
}

int cuStreamDestroy_v2(u64 stream) {
  BEGIN(1);
  LOCKED(destroy(stream, STREAM));
}

static int stream_query(u64 handle) {
  thing *stream = stream_of(handle);
  return !stream ? BAD_HANDLE : stream->first < stream->count ? BUSY : OK;
}

int cuStreamQuery(u64 stream) {
  BEGIN(1);
  LOCKED(stream_query(stream));
}

int cuStreamSynchronize(u64 stream) {
  BEGIN(1);
  pthread_mutex_lock(&lock);
  int answer;
  while ((answer = stream_query(stream)) == BUSY) pthread_cond_wait(&moved, &lock);
  pthread_mutex_unlock(&lock);
  return answer;
}

static int wait_event(u64 stream, u64 handle) {
  thing *event = find(handle, EVENT);
  return event ? enqueue(stream, (op){.what = 3, .event = event, .ticket = event->recorded}) : BAD_HANDLE;
}

int cuStreamWaitEvent(u64 stream, u64 event, u32 flags) {
  BEGIN(1);
  if (flags) return INVALID;
  LOCKED(wait_event(stream, event));
}

int cuStreamGetCtx(u64 handle, thing **context) {
  BEGIN(1);
  pthread_mutex_lock(&lock);
  thing *stream = handle <= 2 ? NULL : find(handle, STREAM);
  pthread_mutex_unlock(&lock);
  if (handle > 2 && !stream) return BAD_HANDLE;
  *context = handle <= 2 ? current : stream->context;
  return OK;
}

int cuStreamIsCapturing(u64 handle, int *status) {
  if (started != getpid()) return NOT_STARTED;
  if (current == NULL) return NO_CONTEXT;
  pthread_mutex_lock(&lock);
  thing *stream = stream_of(handle);
  pthread_mutex_unlock(&lock);
  if (!stream) return BAD_HANDLE;
  if (handle <= 1 && capturing) return 906;
  *status = stream->capture;
  return OK;
}

int cuEventCreate(thing **event, u32 flags) {
  BEGIN(1);
  if (flags & ~7u || (flags & 4 && !(flags & 2))) return INVALID;
  pthread_mutex_lock(&lock);
  *event = make(EVENT);
  (*event)->flags = (int)flags;
  pthread_mutex_unlock(&lock);
  return OK;
}

int cuEventDestroy_v2(u64 event) {
  BEGIN(1);
  LOCKED(destroy(event, EVENT));
}

static int record(u64 handle, u64 stream_handle) {
  thing *event = find(handle, EVENT);
  thing *stream = stream_of(stream_handle);
  if (!event || !stream || event->context != stream->context) return BAD_HANDLE;
  return enqueue(stream_handle, (op){.what = 2, .event = event, .ticket = ++event->recorded});
}

int cuEventRecord(u64 event, u64 stream) {
  BEGIN(1);
  LOCKED(record(event, stream));
}

static int event_query(u64 handle) {
  thing *event = find(handle, EVENT);
  return !event ? BAD_HANDLE : event->passed < event->recorded ? BUSY : OK;
}

int cuEventQuery(u64 event) {
  BEGIN(1);
  LOCKED(event_query(event));
}

int cuEventSynchronize(u64 event) {
  BEGIN(1);
  pthread_mutex_lock(&lock);
  int answer;
  while ((answer = event_query(event)) == BUSY) pthread_cond_wait(&moved, &lock);
  pthread_mutex_unlock(&lock);
  return answer;
}

static int elapsed(float *milliseconds, u64 start, u64 end) {
  thing *a = find(start, EVENT), *b = find(end, EVENT);
  if (!a || !b || a->flags & 2 || b->flags & 2 || !a->recorded || !b->recorded) return BAD_HANDLE;
  if (event_query(start) || event_query(end)) return BUSY;
  *milliseconds = 1.5f;
  return OK;
}

int cuEventElapsedTime(float *milliseconds, u64 start, u64 end) {
  BEGIN(1);
  LOCKED(elapsed(milliseconds, start, end));
}

/* ---- virtual memory: needs no context */

#ifndef WITHOUT_OPTIONAL
typedef struct {
  int type, kinds, location_type, location_id;
  void *windows;
  unsigned char compression, rdma;
  unsigned short usage;
  unsigned char reserved[4];
} properties;

static int properties_ok(const properties *p) {
  if (p->type != 1 || p->location_type != 1 || p->windows || p->compression || p->usage || p->rdma > 1) return INVALID;
  if (p->kinds & ~9 || memcmp(p->reserved, "\0\0\0\0", 4)) return INVALID;
  return p->location_id < 0 || p->location_id >= DEVICES ? NO_DEVICE : OK;
}

int cuMemGetAllocationGranularity(size_t *bytes, const properties *p, int option) {
  BEGIN(0);
  if (option > 1) return INVALID;
  int answer = properties_ok(p);
  if (!answer) *bytes = GRANULE;
  return answer;
}

static int reserve(u64 *address, u64 bytes, u64 alignment, u64 hint, u64 flags) {
  if (bytes == 0 || bytes % GRANULE || alignment & (alignment - 1) || flags) return INVALID;
  u64 align = alignment > GRANULE ? alignment : GRANULE;
  if (hint && !holding(reservations, hint) && hint % align == 0) {
    void *there = mmap((void *)hint, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (there == (void *)hint) {
      *address = hint;
      *slot(reservations) = (range){hint, bytes, 1, 0, NULL};
      return OK;
    }
  }
  char *raw = mmap(NULL, bytes + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  u64 aligned = ((u64)raw + align - 1) / align * align;
  if (aligned > (u64)raw) munmap(raw, aligned - (u64)raw);
  u64 behind = (u64)raw + bytes + align - (aligned + bytes);
  if (behind) munmap((void *)(aligned + bytes), behind);
  *address = aligned;
  *slot(reservations) = (range){aligned, bytes, 1, 0, NULL};
  return OK;
}

int cuMemAddressReserve(u64 *address, size_t bytes, size_t alignment, u64 hint, u64 flags) {
  BEGIN(0);
  LOCKED(reserve(address, bytes, alignment, hint, flags));
}

static int address_free(u64 address, u64 bytes) {
  range *found = holding(reservations, address);
  if (!found || found->at != address || found->bytes != bytes) return INVALID;
  munmap((void *)address, bytes);
  found->used = 0;
  return OK;
}

int cuMemAddressFree(u64 address, size_t bytes) {
  BEGIN(0);
  LOCKED(address_free(address, bytes));
}

static int new_physical(void) {
  for (int i = 1; i < MANY; i++)
    if (!physicals[i].used) return i;
  abort();
}

static int create(u64 *handle, u64 bytes, const properties *p, u64 flags) {
  int answer = properties_ok(p);
  if (answer) return answer;
  if (p->kinds & 8) return 800; /* no fabric manager here */
  if (bytes == 0 || bytes % GRANULE || flags) return INVALID;
  if (bytes > TOTAL_BYTES - used_bytes) return MEMORY;
  int made = new_physical();
  physicals[made] = (physical){1, memfd_create("pretend", MFD_CLOEXEC), 1, p->location_id, p->kinds, p->rdma, bytes};
  if (ftruncate(physicals[made].fd, (off_t)bytes)) abort();
  used_bytes += bytes;
  *handle = (u64)made;
  return OK;
}

int cuMemCreate(u64 *handle, size_t bytes, const properties *p, u64 flags) {
  BEGIN(0);
  LOCKED(create(handle, bytes, p, flags));
}

static int drop(u64 handle) {
  if (handle == 0 || handle >= MANY || !physicals[handle].used) return INVALID;
  if (--physicals[handle].references == 0) {
    close(physicals[handle].fd);
    used_bytes -= physicals[handle].bytes;
    physicals[handle].used = 0;
  }
  return OK;
}

int cuMemRelease(u64 handle) {
  BEGIN(0);
  LOCKED(drop(handle));
}

static int map(u64 address, u64 bytes, u64 offset, u64 handle, u64 flags) {
  if (handle == 0 || handle >= MANY || !physicals[handle].used || flags) return INVALID;
  if (offset || bytes != physicals[handle].bytes) return UNSUPPORTED;
  range *reserved = holding(reservations, address);
  if (!reserved || !inside(reserved, address, bytes) || address % GRANULE) return INVALID;
  for (u64 at = address; at < address + bytes; at += GRANULE)
    if (mapped_at(at)) return INVALID;
  mmap((void *)address, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physicals[handle].fd, 0);
  for (int i = 0; i < MANY; i++)
    if (!mappings[i].used) {
      mappings[i] = (mapping){address, bytes, 1, (int)handle, 0};
      physicals[handle].references++;
      return OK;
    }
  abort();
}

int cuMemMap(u64 address, size_t bytes, size_t offset, u64 handle, u64 flags) {
  BEGIN(0);
  LOCKED(map(address, bytes, offset, handle, flags));
}

/* Whole mappings only; calls `each` on them. */
static int whole(u64 address, u64 bytes, int (*each)(mapping *)) {
  for (int pass = 0; pass < 2; pass++) {
    u64 covered = 0;
    for (int i = 0; i < MANY; i++) {
      mapping *m = &mappings[i];
      if (!m->used || m->at >= address + bytes || m->at + m->bytes <= address) continue;
      if (m->at < address || m->at + m->bytes > address + bytes) return INVALID;
      covered += m->bytes;
      if (pass) each(m);
    }
    if (!pass && covered != bytes) return covered == 0 ? -1 : INVALID;
  }
  return OK;
}

static int unmap_one(mapping *m) {
  mmap((void *)m->at, m->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  m->used = 0;
  return drop((u64)m->handle);
}

static int access_one(mapping *m) {
  m->access = 1;
  return mprotect((void *)m->at, m->bytes, PROT_READ | PROT_WRITE);
}

static int unmap(u64 address, u64 bytes) {
  int answer = whole(address, bytes, unmap_one);
  return answer < 0 ? OK : answer;
}

int cuMemUnmap(u64 address, size_t bytes) {
  BEGIN(0);
  LOCKED(unmap(address, bytes));
}

typedef struct { int type, id, flags; } access_descriptor;

static int set_access(u64 address, u64 bytes, const access_descriptor *d, size_t count) {
  if (count != 1 || d->type != 1 || d->id < 0 || d->id >= DEVICES || d->flags != 3) return INVALID;
  int answer = whole(address, bytes, access_one);
  return answer < 0 ? INVALID : answer;
}

int cuMemSetAccess(u64 address, size_t bytes, const access_descriptor *descriptors, size_t count) {
  BEGIN(0);
  LOCKED(set_access(address, bytes, descriptors, count));
}

static int export_handle(void *into, u64 handle, int type, u64 flags) {
  if (handle == 0 || handle >= MANY || !physicals[handle].used || flags || !(physicals[handle].kinds & type)) return INVALID;
  *(int *)into = dup(physicals[handle].fd);
  return OK;
}

int cuMemExportToShareableHandle(void *into, u64 handle, int type, u64 flags) {
  BEGIN(0);
  LOCKED(export_handle(into, handle, type, flags));
}

static int import_handle(u64 *handle, u64 os, int type) {
  if (type == 8) { /* fabric: an address of 64 bytes, of which the first says which */
    if (((unsigned char *)os)[63] != 0x5a) return INVALID;
    u64 known = ((unsigned char *)os)[0];
    if (known == 0 || !physicals[known].used) return INVALID;
    physicals[known].references++;
    *handle = known;
    return OK;
  }
  if (type != 1) return INVALID;
  int made = new_physical();
  int fd = dup((int)os);
  if (fd < 0) return 999;
  off_t bytes = lseek(fd, 0, SEEK_END);
  physicals[made] = (physical){1, fd, 1, 0, 0, 0, (u64)bytes};
  used_bytes += (u64)bytes;
  *handle = (u64)made;
  return OK;
}

int cuMemImportFromShareableHandle(u64 *handle, void *os, int type) {
  BEGIN(0);
  LOCKED(import_handle(handle, (u64)os, type));
}

int cuMemGetHandleForAddressRange(void *into, u64 address, size_t bytes, int type, u64 flags) {
  BEGIN(1);
  if (type != 1 || flags || bytes == 0 || !device_ok(address, bytes)) return INVALID;
  *(int *)into = memfd_create("dma-buf", MFD_CLOEXEC);
  return OK;
}

/* ---- kernels: the two that the module has, done by memcpy */

int cuModuleLoadData(thing **module, const char *image) {
  BEGIN(1);
  if (JIT_CODE) return JIT_CODE;
  if (!strstr(image, ".version") || !strstr(image, ".entry holdfast_copy_like")) return 218;
  pthread_mutex_lock(&lock);
  *module = make(MODULE);
  pthread_mutex_unlock(&lock);
  return OK;
}

int cuModuleUnload(u64 module) {
  BEGIN(1);
  LOCKED(destroy(module, MODULE));
}

int cuModuleGetFunction(thing **function, u64 module, const char *name) {
  BEGIN(1);
  int mixed = strcmp(name, "holdfast_copy_mixed") == 0;
  if (!mixed && strcmp(name, "holdfast_copy_like")) return 500;
  pthread_mutex_lock(&lock);
  int there = find(module, MODULE) != NULL;
  if (there) {
    *function = make(FUNCTION);
    (*function)->mixed = mixed;
  }
  pthread_mutex_unlock(&lock);
  return there ? OK : BAD_HANDLE;
}

static u64 host_of(u64 address) { return ALIAS_DISTANCE && address >= ALIAS_DISTANCE && !is_device(address) ? address - ALIAS_DISTANCE : address; }

int fake_last_grid, fake_last_block, fake_last_mixed;

static int launch(u64 function, u32 gx, u32 bx, u64 stream, void **arguments) {
  thing *kernel = find(function, FUNCTION);
  if (!kernel) return BAD_HANDLE;
  if (gx == 0 || bx == 0 || bx > 1024) return INVALID;
  fake_last_grid = (int)gx;
  fake_last_block = (int)bx;
  fake_last_mixed = kernel->mixed;
  const u64 *to = (const u64 *)host_of(*(u64 *)arguments[0]);
  const u64 *from = (const u64 *)host_of(*(u64 *)arguments[1]);
  const u64 *bytes = (const u64 *)host_of(*(u64 *)arguments[2]);
  u64 rows = *(u64 *)arguments[3];
  u64 pieces = kernel->mixed ? 0 : *(u64 *)arguments[4];
  u64 piece = *(u64 *)arguments[kernel->mixed ? 4 : 5];
  if (!kernel->mixed && (*(u64 *)arguments[6] == 0 || *(u64 *)arguments[6] > 32)) return INVALID;
  for (u64 row = 0; row < rows; row++) {
    /* what the kernel would copy: never more than its pieces reach */
    u64 reach = kernel->mixed || bytes[row] < pieces * piece ? bytes[row] : pieces * piece;
    int answer = enqueue(stream, (op){.what = 0, .to = (char *)host_of(to[row]), .from = (const char *)host_of(from[row]), .bytes = reach});
    if (answer) return answer;
  }
  return OK;
}

int cuLaunchKernel(u64 function, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared, u64 stream, void **arguments, void **extra) {
  BEGIN(1);
  if (gy != 1 || gz != 1 || by != 1 || bz != 1 || shared || extra) return INVALID;
  LOCKED(launch(function, gx, bx, stream, arguments));
}
#endif

/* ---- for the tests */

/* An engine's own context. */
void *fake_create_context(int device) {
  pthread_mutex_lock(&lock);
  thing *made = make(CONTEXT);
  made->device = device;
  pthread_mutex_unlock(&lock);
  return made;
}

/* From now on an engine captures in another thread, in global mode. */
void fake_set_capturing(int on) {
  capturing = on;
  capture_dead = 0;
}

int fake_capture_dead(void) { return capture_dead; }

void fake_set_stream_capture(thing *stream, int status) { stream->capture = status; }

void fake_hold(thing *stream) {
  pthread_mutex_lock(&lock);
  stream->held = 1;
  pthread_mutex_unlock(&lock);
}

void fake_let_go(thing *stream) {
  pthread_mutex_lock(&lock);
  stream->held = 0;
  pump();
  pthread_mutex_unlock(&lock);
}

int fake_stream_flags(thing *stream) { return stream->flags; }

int fake_stream_priority(thing *stream) { return stream->priority; }

int fake_registration_flags(u64 address) {
  range *found = holding(registrations, address);
  return found ? found->device : -1;
}

/* What is still alive: 0 registrations, 1 allocations, 2 reservations, 3 mappings, 4 physical, 5 streams, 6 events, 7 modules,
 * 8 host allocations, 9 retained contexts. */
int fake_alive(int what) {
  int count = 0;
  pthread_mutex_lock(&lock);
  switch (what) {
    case 0: count = live(registrations); break;
    case 1: count = live(allocations); break;
    case 2: count = live(reservations); break;
    case 3: for (int i = 0; i < MANY; i++) count += mappings[i].used; break;
    case 4: for (int i = 0; i < MANY; i++) count += physicals[i].used; break;
    case 5: for (int i = 0; i < thing_count; i++) count += things[i]->kind == STREAM && things[i]->alive && things[i]->flags != 100; break;
    case 6: for (int i = 0; i < thing_count; i++) count += things[i]->kind == EVENT && things[i]->alive; break;
    case 7: for (int i = 0; i < thing_count; i++) count += things[i]->kind == MODULE && things[i]->alive; break;
    case 8: count = live(host_allocations); break;
    case 9: for (int i = 0; i < DEVICES; i++) count += retained[i]; break;
  }
  pthread_mutex_unlock(&lock);
  return count;
}
