// What plain C reaches on this machine. Reads one command a line, for example
//   start pages=thp bytes=17179869184 threads=4 slice=268435456
// and answers each with one JSON object on one line, with its seconds or what is wrong. Commands: facts, touch, start, bulk,
// scatter, probe, commit, import, quit. Each leaves nothing behind, so that they can be alternated with other programs.
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda_driver.h"
#include "neighbour.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define MIB ((size_t)1 << 20)
#define MOST_ROUNDS 1000

static char line[4096];
static char problem[512];
static void *context;
static int device;

// ---- a command's words, and its answer

static const char *text(const char *key, const char *otherwise) {
  static char found[8][1024];
  static int next;
  size_t length = strlen(key);
  for (const char *at = strchr(line, ' '); at; at = strchr(at, ' ')) {
    at++;
    if (strncmp(at, key, length) == 0 && at[length] == '=') {
      char *to = found[next++ % 8];
      sscanf(at + length + 1, "%1023s", to);
      return to;
    }
  }
  return otherwise;
}

static int64_t number(const char *key, int64_t otherwise) {
  const char *found = text(key, NULL);
  return found ? strtoll(found, NULL, 10) : otherwise;
}

static int wrong(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(problem, sizeof problem, format, arguments);
  va_end(arguments);
  return 1;
}

// Runs a driver call; where it is refused, says so and leaves through `out`.
#define CALL(what, call)                                        \
  do {                                                          \
    int code_ = (call);                                         \
    if (code_) {                                                \
      wrong("%s answered %d (%s)", what, code_, cuda_name(code_)); \
      goto out;                                                 \
    }                                                           \
  } while (0)

static void seconds(const char *key, const double *values, int count) {
  printf(",\"%s\":[", key);
  for (int i = 0; i < count; i++) {
    printf("%s%.9f", i ? "," : "", values[i]);
  }
  printf("]");
}

static double since(int64_t begun) { return (double)(now_nanos() - begun) / 1e9; }

static int rounds(void) {
  int64_t asked = number("rounds", 5);
  return asked < 1 ? 1 : asked > MOST_ROUNDS ? MOST_ROUNDS : (int)asked;
}

// ---- host memory

struct mapping {
  char *start;
  size_t bytes;
  void *base;
  size_t mapped;
};

static int map_pages(struct mapping *mapping, const char *pages, size_t bytes) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  size_t pad = 2 * MIB;
  if (strcmp(pages, "2m") == 0) {
    flags |= MAP_HUGETLB | (21 << 26);
    pad = 0;
  } else if (strcmp(pages, "1g") == 0) {
    flags |= MAP_HUGETLB | (30 << 26);
    pad = 0;
  } else if (strcmp(pages, "base") != 0 && strcmp(pages, "thp") != 0) {
    return wrong("pages must be base, thp, 2m or 1g, not %s", pages);
  }
  mapping->bytes = bytes;
  mapping->mapped = bytes + pad;
  mapping->base = mmap(NULL, mapping->mapped, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapping->base == MAP_FAILED) {
    return wrong("mmap of %zu bytes on %s pages: %s", bytes, pages, strerror(errno));
  }
  uintptr_t at = (uintptr_t)mapping->base;
  mapping->start = pad ? (char *)((at + pad - 1) / pad * pad) : (char *)at;
  if (strcmp(pages, "thp") == 0) {
    madvise(mapping->start, bytes, MADV_HUGEPAGE);
  }
  return 0;
}

static void unmap_pages(struct mapping *mapping) { munmap(mapping->base, mapping->mapped); }

struct populating {
  char *start;
  size_t slice, slices, bytes;
  atomic_size_t next;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  char *done;
  int error;
};

static void *populate_run(void *argument) {
  struct populating *work = argument;
  size_t index;
  while ((index = atomic_fetch_add(&work->next, 1)) < work->slices) {
    size_t from = index * work->slice;
    size_t bytes = work->bytes - from < work->slice ? work->bytes - from : work->slice;
    int failed = madvise(work->start + from, bytes, MADV_POPULATE_WRITE) ? errno : 0;
    pthread_mutex_lock(&work->lock);
    work->done[index] = 1;
    if (failed) {
      work->error = failed;
    }
    pthread_cond_broadcast(&work->changed);
    pthread_mutex_unlock(&work->lock);
  }
  return NULL;
}

// Populates with so many threads; what is done is registered slice by slice, in order, where asked for.
static int pipeline(struct mapping *memory, int threads, size_t slice, int registering, size_t *registered) {
  struct populating work = {.start = memory->start, .slice = slice, .bytes = memory->bytes};
  work.slices = (memory->bytes + slice - 1) / slice;
  work.done = calloc(work.slices, 1);
  if (!work.done) {
    return wrong("no memory for %zu slices", work.slices);
  }
  pthread_mutex_init(&work.lock, NULL);
  pthread_cond_init(&work.changed, NULL);
  pthread_t *made = calloc((size_t)threads, sizeof *made);
  int running = 0, result = 0;
  while (running < threads && !pthread_create(&made[running], NULL, populate_run, &work)) {
    running++;
  }
  if (running < threads) {
    result = wrong("only %d of %d threads could be made", running, threads);
    atomic_store(&work.next, work.slices);
  }
  for (size_t index = 0; !result && index < work.slices; index++) {
    pthread_mutex_lock(&work.lock);
    while (!work.done[index]) {
      pthread_cond_wait(&work.changed, &work.lock);
    }
    if (work.error) {
      result = wrong("populating: %s", strerror(work.error));
    }
    pthread_mutex_unlock(&work.lock);
    size_t from = index * slice;
    size_t bytes = memory->bytes - from < slice ? memory->bytes - from : slice;
    if (!result && registering) {
      int code = cuda.host_register(memory->start + from, bytes, REGISTER_PORTABLE);
      if (code) {
        result = wrong("cuMemHostRegister answered %d (%s)", code, cuda_name(code));
      } else {
        *registered = from + bytes;
      }
    }
  }
  atomic_store(&work.next, work.slices);
  for (int i = 0; i < running; i++) {
    pthread_join(made[i], NULL);
  }
  free(made);
  free(work.done);
  pthread_mutex_destroy(&work.lock);
  pthread_cond_destroy(&work.changed);
  return result;
}

static int command_touch(void) {
  struct mapping memory;
  size_t none = 0;
  int64_t begun = now_nanos();
  if (map_pages(&memory, text("pages", "base"), (size_t)number("bytes", 0))) {
    return 1;
  }
  int failed = pipeline(&memory, (int)number("threads", 8), (size_t)number("slice", 64 << 20), 0, &none);
  double populated = since(begun);
  begun = now_nanos();
  unmap_pages(&memory);
  if (!failed) {
    printf(",\"seconds\":%.6f,\"unmapSeconds\":%.6f", populated, since(begun));
  }
  return failed;
}

// threads=0: the simple shape, one madvise and one registration.
static int command_start(void) {
  struct mapping memory;
  const char *pages = text("pages", "base");
  size_t bytes = (size_t)number("bytes", 0), slice = (size_t)number("slice", 256 << 20), registered = 0;
  int threads = (int)number("threads", 0), failed = 0;
  int64_t begun = now_nanos();
  if (map_pages(&memory, pages, bytes)) {
    return 1;
  }
  if (threads == 0) {
    slice = bytes;
    if (madvise(memory.start, bytes, MADV_POPULATE_WRITE)) {
      failed = wrong("populating: %s", strerror(errno));
    } else {
      double populated = since(begun);
      int code = cuda.host_register(memory.start, bytes, REGISTER_PORTABLE);
      if (code) {
        failed = wrong("cuMemHostRegister answered %d (%s)", code, cuda_name(code));
      } else {
        registered = bytes;
        printf(",\"populateSeconds\":%.6f", populated);
      }
    }
  } else {
    failed = pipeline(&memory, threads, slice, 1, &registered);
  }
  double ready = since(begun);
  begun = now_nanos();
  for (size_t at = 0; at < registered; at += slice) {
    int code = cuda.host_unregister(memory.start + at);
    if (code && !failed) {
      failed = wrong("cuMemHostUnregister answered %d (%s)", code, cuda_name(code));
    }
  }
  double unregistered = since(begun);
  begun = now_nanos();
  unmap_pages(&memory);
  if (!failed) {
    printf(",\"seconds\":%.6f,\"unregisterSeconds\":%.6f,\"unmapSeconds\":%.6f", ready, unregistered, since(begun));
  }
  return failed;
}

// ---- copies

struct ends {
  struct mapping host;
  int mapped, registered;
  device_address memory;
  void *streams[2];
};

static void close_ends(struct ends *ends) {
  for (int i = 0; i < 2; i++) {
    if (ends->streams[i]) {
      cuda.stream_destroy(ends->streams[i]);
    }
  }
  if (ends->memory) {
    cuda.free(ends->memory);
  }
  if (ends->registered) {
    cuda.host_unregister(ends->host.start);
  }
  if (ends->mapped) {
    unmap_pages(&ends->host);
  }
  memset(ends, 0, sizeof *ends);
}

static int open_ends(struct ends *ends, const char *pages, size_t bytes) {
  size_t none = 0;
  memset(ends, 0, sizeof *ends);
  if (map_pages(&ends->host, pages, bytes)) {
    return 1;
  }
  ends->mapped = 1;
  if (pipeline(&ends->host, 4, 64 * MIB, 0, &none)) {
    goto out;
  }
  CALL("cuMemHostRegister", cuda.host_register(ends->host.start, bytes, REGISTER_PORTABLE | REGISTER_MAPPED));
  ends->registered = 1;
  CALL("cuMemAlloc", cuda.allocate(&ends->memory, bytes));
  CALL("cuStreamCreateWithPriority", cuda.stream_create(&ends->streams[0], STREAM_NON_BLOCKING, 0));
  CALL("cuStreamCreateWithPriority", cuda.stream_create(&ends->streams[1], STREAM_NON_BLOCKING, 0));
  return 0;
out:
  close_ends(ends);
  return 1;
}

// Each round: so many copies of so many bytes one way, the other way, and half of them each way at once.
static int command_bulk(void) {
  struct ends ends;
  size_t bytes = (size_t)number("bytes", (int64_t)1 << 30);
  int copies = (int)number("copies", 4), all = rounds();
  static double store[MOST_ROUNDS], load[MOST_ROUNDS], both[MOST_ROUNDS];
  if (open_ends(&ends, text("pages", "base"), bytes * (size_t)copies)) {
    return 1;
  }
  CALL("cuMemsetD8Async", cuda.fill(ends.memory, 7, bytes * (size_t)copies, ends.streams[0]));
  CALL("cuStreamSynchronize", cuda.stream_synchronize(ends.streams[0]));
  for (int round = -1; round < all; round++) { // the first is not counted
    int64_t begun = now_nanos();
    for (int i = 0; i < copies; i++) {
      size_t at = bytes * (size_t)i;
      CALL("cuMemcpyDtoHAsync", cuda.to_host(ends.host.start + at, ends.memory + at, bytes, ends.streams[0]));
    }
    CALL("cuStreamSynchronize", cuda.stream_synchronize(ends.streams[0]));
    store[round < 0 ? 0 : round] = since(begun);
    begun = now_nanos();
    for (int i = 0; i < copies; i++) {
      size_t at = bytes * (size_t)i;
      CALL("cuMemcpyHtoDAsync", cuda.to_device(ends.memory + at, ends.host.start + at, bytes, ends.streams[0]));
    }
    CALL("cuStreamSynchronize", cuda.stream_synchronize(ends.streams[0]));
    load[round < 0 ? 0 : round] = since(begun);
    begun = now_nanos();
    for (int i = 0; i < copies; i++) {
      size_t at = bytes * (size_t)i;
      if (i % 2) {
        CALL("cuMemcpyDtoHAsync", cuda.to_host(ends.host.start + at, ends.memory + at, bytes, ends.streams[0]));
      } else {
        CALL("cuMemcpyHtoDAsync", cuda.to_device(ends.memory + at, ends.host.start + at, bytes, ends.streams[1]));
      }
    }
    CALL("cuStreamSynchronize", cuda.stream_synchronize(ends.streams[0]));
    CALL("cuStreamSynchronize", cuda.stream_synchronize(ends.streams[1]));
    both[round < 0 ? 0 : round] = since(begun);
  }
  for (size_t i = 0; i < bytes * (size_t)copies; i += 4093) {
    if (ends.host.start[i] != 7) {
      wrong("byte %zu is %d and not 7", i, ends.host.start[i]);
      goto out;
    }
  }
  printf(",\"bytes\":%zu", bytes * (size_t)copies);
  seconds("storeSeconds", store, all);
  seconds("loadSeconds", load, all);
  seconds("bothSeconds", both, all);
  close_ends(&ends);
  return 0;
out:
  close_ends(&ends);
  return 1;
}

struct row {
  device_address source, destination, bytes, unused;
};

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    wrong("%s: %s", path, strerror(errno));
    return NULL;
  }
  size_t room = 4 * MIB, length = 0;
  char *content = calloc(1, room);
  if (content) {
    length = fread(content, 1, room - 1, file);
  }
  fclose(file);
  if (length == 0) {
    wrong("%s is empty", path);
    free(content);
    return NULL;
  }
  return content;
}

// Blocks whose host side is permuted, by a loop of copies, one driver batch, or a kernel. Bytes are compared at the end.
static int command_scatter(void) {
  struct ends ends;
  const char *path = text("path", "loop"), *direction = text("direction", "store");
  size_t block = (size_t)number("block", 65536), bytes = (size_t)number("bytes", 512 << 20), count = bytes / block;
  int all = rounds(), storing = strcmp(direction, "store") == 0, failed = 1;
  static double total[MOST_ROUNDS], submit[MOST_ROUNDS];
  struct mapping table = {0};
  void *module = NULL, *function = NULL;
  char *ptx = NULL;
  size_t *sizes = calloc(count, sizeof *sizes), *slots = calloc(count, sizeof *slots);
  device_address *from = calloc(count, sizeof *from), *to = calloc(count, sizeof *to), host_seen = 0, table_seen = 0;
  struct batch_attributes attributes = {.source_order = storing ? SOURCE_ORDER_STREAM : SOURCE_ORDER_ANY};
  size_t first = 0, failed_at = 0;
  memset(&ends, 0, sizeof ends);
  if (!sizes || !slots || !from || !to || count == 0) {
    wrong("no memory for %zu blocks", count);
    goto out;
  }
  if (open_ends(&ends, text("pages", "base"), bytes)) {
    goto out;
  }
  CALL("cuMemHostGetDevicePointer", cuda.host_seen(&host_seen, ends.host.start, 0));
  uint64_t state = 42;
  for (size_t i = 0; i < count; i++) { // a random permutation
    size_t at = (size_t)(pattern_mix(state += PATTERN_STEP) % (i + 1));
    slots[i] = slots[at];
    slots[at] = i;
    sizes[i] = block;
  }
  for (size_t i = 0; i < bytes / 8; i++) {
    ((uint64_t *)(void *)ends.host.start)[i] = pattern_mix(i + 1);
  }
  CALL("cuMemcpyHtoDAsync", cuda.to_device(ends.memory, ends.host.start, bytes, ends.streams[0]));
  CALL("cuStreamSynchronize", cuda.stream_synchronize(ends.streams[0]));
  if (strcmp(path, "kernel") == 0) {
    if (!cuda.module_load || !cuda.launch) {
      wrong("this driver has no cuModuleLoadData");
      goto out;
    }
    if (!(ptx = read_file(text("ptx", "copy_kernel.ptx"))) ||
        map_pages(&table, "base", (count * sizeof(struct row) + 4095) / 4096 * 4096)) {
      goto out;
    }
    memset(table.start, 0, table.bytes);
    CALL("cuMemHostRegister", cuda.host_register(table.start, table.bytes, REGISTER_PORTABLE | REGISTER_MAPPED));
    CALL("cuMemHostGetDevicePointer", cuda.host_seen(&table_seen, table.start, 0));
    CALL("cuModuleLoadData", cuda.module_load(&module, ptx));
    CALL("cuModuleGetFunction", cuda.module_function(&function, module, "rows"));
  } else if (strcmp(path, "batch") == 0 && !cuda.batch8 && !cuda.batch9) {
    wrong("this driver has no cuMemcpyBatchAsync");
    goto out;
  }
  for (int round = -1; round < all; round++) {
    int64_t begun = now_nanos();
    if (strcmp(path, "loop") == 0) {
      for (size_t i = 0; i < count; i++) {
        char *slot = ends.host.start + slots[i] * block;
        device_address at = ends.memory + i * block;
        CALL("a copy", storing ? cuda.to_host(slot, at, block, ends.streams[0])
                               : cuda.to_device(at, slot, block, ends.streams[0]));
      }
    } else if (strcmp(path, "batch") == 0) {
      for (size_t i = 0; i < count; i++) {
        device_address slot = (device_address)(uintptr_t)(ends.host.start + slots[i] * block);
        from[i] = storing ? ends.memory + i * block : slot;
        to[i] = storing ? slot : ends.memory + i * block;
      }
      CALL("cuMemcpyBatchAsync",
           cuda.batch8 ? cuda.batch8(to, from, sizes, count, &attributes, &first, 1, ends.streams[0])
                       : cuda.batch9(to, from, sizes, count, &attributes, &first, 1, &failed_at, ends.streams[0]));
    } else if (function) {
      struct row *row = (struct row *)(void *)table.start;
      for (size_t i = 0; i < count; i++) {
        device_address slot = host_seen + slots[i] * block, at = ends.memory + i * block;
        row[i] = (struct row){storing ? at : slot, storing ? slot : at, block, 0};
      }
      long rows = (long)count;
      void *arguments[] = {&table_seen, &rows};
      CALL("cuLaunchKernel", cuda.launch(function, (unsigned)number("grid", 32), 1, 1,
                                         (unsigned)number("threads", 512), 1, 1, 0, ends.streams[0], arguments, NULL));
    } else {
      wrong("path must be loop, batch or kernel, not %s", path);
      goto out;
    }
    submit[round < 0 ? 0 : round] = since(begun);
    CALL("cuStreamSynchronize", cuda.stream_synchronize(ends.streams[0]));
    total[round < 0 ? 0 : round] = since(begun);
  }
  if (!storing) { // bring it back, plainly
    memset(ends.host.start, 0, bytes);
    CALL("cuMemcpyDtoHAsync", cuda.to_host(ends.host.start, ends.memory, bytes, ends.streams[0]));
    CALL("cuStreamSynchronize", cuda.stream_synchronize(ends.streams[0]));
  }
  for (size_t i = 0; i < count; i++) { // stored: slot i has block i; loaded: block i has what was in its slot
    const uint64_t *words = (const uint64_t *)(void *)(ends.host.start + (storing ? slots[i] : i) * block);
    size_t number_of_first = (storing ? i : slots[i]) * (block / 8);
    for (size_t word = 0; word < block / 8; word++) {
      if (words[word] != pattern_mix(number_of_first + word + 1)) {
        wrong("block %zu is wrong at word %zu", i, word);
        goto out;
      }
    }
  }
  printf(",\"bytes\":%zu,\"blocks\":%zu", count * block, count);
  seconds("seconds", total, all);
  seconds("submitSeconds", submit, all);
  failed = 0;
out:
  if (module) {
    cuda.module_unload(module);
  }
  if (table_seen) {
    cuda.host_unregister(table.start);
  }
  if (table.start) {
    unmap_pages(&table);
  }
  free(ptx);
  close_ends(&ends);
  free(sizes);
  free(slots);
  free(from);
  free(to);
  return failed;
}

// ---- how others fare while plain C registers and unregisters

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int probed(const char *key, double took) {
  enum { MOST = 1 << 18 };
  static int64_t latencies[MOST];
  int64_t count = probe_stop(latencies, MOST);
  if (count <= 0) {
    return wrong("the probe: %s", count < 0 ? neighbour_problem() : "no sample");
  }
  qsort(latencies, (size_t)count, sizeof latencies[0], by_size);
  printf(",\"%s\":{\"seconds\":%.6f,\"samples\":%lld,\"p50Ms\":%.6f,\"p99Ms\":%.6f,\"maxMs\":%.6f}", key, took,
         (long long)count, (double)latencies[count / 2] / 1e6, (double)latencies[count * 99 / 100] / 1e6,
         (double)latencies[count - 1] / 1e6);
  return 0;
}

static int command_probe(void) {
  struct mapping memory;
  size_t bytes = (size_t)number("bytes", 0), chunk = (size_t)number("chunk", 64 << 20), done = 0, none = 0;
  int64_t period = number("periodNanos", 500000), pause = number("pauseMicros", 0) * 1000, begun;
  int failed = 1;
  if (map_pages(&memory, text("pages", "base"), bytes)) {
    return 1;
  }
  if (pipeline(&memory, 4, 64 * MIB, 0, &none) || neighbour_open((int)number("device", 0))) {
    wrong("%s", problem[0] ? problem : neighbour_problem());
    goto out;
  }
  CALL("the probe", probe_start(period, 1 << 18));
  begun = now_nanos();
  for (; done < bytes; done += chunk) {
    size_t more = bytes - done < chunk ? bytes - done : chunk;
    int code = cuda.host_register(memory.start + done, more, REGISTER_PORTABLE);
    if (code) {
      wrong("cuMemHostRegister answered %d (%s)", code, cuda_name(code));
      break;
    }
    if (pause) {
      until_nanos(now_nanos() + pause);
    }
  }
  if (probed("register", since(begun)) || done < bytes) {
    goto out;
  }
  CALL("the probe", probe_start(period, 1 << 18));
  begun = now_nanos();
  for (; done > 0; done = done > chunk ? done - chunk : 0) {
    size_t last = (done - 1) / chunk * chunk;
    int code = cuda.host_unregister(memory.start + last);
    if (code) {
      wrong("cuMemHostUnregister answered %d (%s)", code, cuda_name(code));
      break;
    }
    if (pause) {
      until_nanos(now_nanos() + pause);
    }
  }
  failed = probed("unregister", since(begun)) || done > 0;
out:
  for (size_t at = 0; at < done; at += chunk) {
    cuda.host_unregister(memory.start + at);
  }
  unmap_pages(&memory);
  return failed;
}

// ---- device memory that is committed

static int command_commit(void) {
  struct allocation_properties properties = {.type = 1, .location_type = 1, .location_id = device};
  struct access access = {1, device, 3};
  size_t bytes = (size_t)number("bytes", (int64_t)8 << 30), granule = 0;
  static double create[MOST_ROUNDS], map[MOST_ROUNDS], set[MOST_ROUNDS], zero[MOST_ROUNDS], total[MOST_ROUNDS];
  device_address address = 0;
  uint64_t handle = 0;
  int all = rounds(), made = 0, mapped = 0;
  void *stream = NULL;
  if (!cuda.create || !cuda.granularity || !cuda.reserve || !cuda.map || !cuda.set_access) {
    return wrong("this driver has no virtual memory management");
  }
  CALL("cuMemGetAllocationGranularity", cuda.granularity(&granule, &properties, 0));
  bytes = (bytes + granule - 1) / granule * granule;
  CALL("cuStreamCreateWithPriority", cuda.stream_create(&stream, STREAM_NON_BLOCKING, 0));
  CALL("cuMemAddressReserve", cuda.reserve(&address, bytes, 0, 0, 0));
  for (int round = -1; round < all; round++) {
    int at = round < 0 ? 0 : round;
    int64_t begun = now_nanos(), step = begun;
    CALL("cuMemCreate", cuda.create(&handle, bytes, &properties, 0));
    made = 1;
    create[at] = since(step);
    step = now_nanos();
    CALL("cuMemMap", cuda.map(address, bytes, 0, handle, 0));
    mapped = 1;
    map[at] = since(step);
    step = now_nanos();
    CALL("cuMemSetAccess", cuda.set_access(address, bytes, &access, 1));
    set[at] = since(step);
    step = now_nanos();
    CALL("cuMemsetD8Async", cuda.fill(address, 0, bytes, stream));
    CALL("cuStreamSynchronize", cuda.stream_synchronize(stream));
    zero[at] = since(step);
    total[at] = since(begun);
    mapped = 0;
    CALL("cuMemUnmap", cuda.unmap(address, bytes));
    made = 0;
    CALL("cuMemRelease", cuda.release(handle));
  }
  cuda.unreserve(address, bytes);
  cuda.stream_destroy(stream);
  printf(",\"bytes\":%zu,\"granule\":%zu", bytes, granule);
  seconds("createSeconds", create, all);
  seconds("mapSeconds", map, all);
  seconds("accessSeconds", set, all);
  seconds("zeroSeconds", zero, all);
  seconds("seconds", total, all);
  return 0;
out:
  if (mapped) {
    cuda.unmap(address, bytes);
  }
  if (made) {
    cuda.release(handle);
  }
  if (address) {
    cuda.unreserve(address, bytes);
  }
  if (stream) {
    cuda.stream_destroy(stream);
  }
  return 1;
}

// Takes a descriptor out of another process, maps the memory behind it, compares every byte, and writes an answer: the
// same kind of stream from another seed into the first stride.
static int command_import(void) {
  struct allocation_properties properties = {.type = 1, .location_type = 1, .location_id = device};
  struct access access = {1, device, 3};
  size_t bytes = (size_t)number("bytes", 0), stride = (size_t)number("stride", 1 << 20), granule = 0, mapped_bytes = 0;
  size_t physical = (size_t)number("physicalBytes", (int64_t)bytes);
  uint64_t seed = (uint64_t)number("seed", 0), answer = (uint64_t)number("answer", 0), handle = 0, state;
  device_address address = 0;
  uint64_t *seen = NULL;
  void *stream = NULL;
  int made = 0, mapped = 0, result = 1, fd;
  int process = (int)syscall(434, (pid_t)number("pid", 0), 0); // pidfd_open
  if (process < 0) {
    return wrong("pidfd_open: %s", strerror(errno));
  }
  fd = (int)syscall(438, process, (int)number("fd", -1), 0); // pidfd_getfd
  if (fd < 0) {
    wrong("pidfd_getfd: %s", strerror(errno));
    close(process);
    return 1;
  }
  close(process);
  properties.handle_types = 1;
  CALL("cuMemGetAllocationGranularity", cuda.granularity(&granule, &properties, 0));
  mapped_bytes = (physical + granule - 1) / granule * granule;
  CALL("cuMemImportFromShareableHandle", cuda.import(&handle, (void *)(intptr_t)fd, 1));
  made = 1;
  CALL("cuMemAddressReserve", cuda.reserve(&address, mapped_bytes, 0, 0, 0));
  CALL("cuMemMap", cuda.map(address, mapped_bytes, 0, handle, 0));
  mapped = 1;
  CALL("cuMemSetAccess", cuda.set_access(address, mapped_bytes, &access, 1));
  CALL("cuStreamCreateWithPriority", cuda.stream_create(&stream, STREAM_NON_BLOCKING, 0));
  CALL("cuMemHostAlloc", cuda.host_allocate((void **)&seen, stride, REGISTER_PORTABLE));
  for (size_t at = 0; at < bytes; at += stride) {
    size_t words = (bytes - at < stride ? bytes - at : stride) / 8;
    CALL("cuMemcpyDtoHAsync", cuda.to_host(seen, address + at, words * 8, stream));
    CALL("cuStreamSynchronize", cuda.stream_synchronize(stream));
    state = pattern_mix(seed + at / stride);
    for (size_t i = 0; i < words; i++) {
      if (seen[i] != pattern_mix(state += PATTERN_STEP)) {
        wrong("byte %zu of the imported memory is wrong", at + i * 8);
        goto out;
      }
    }
  }
  state = pattern_mix(answer);
  for (size_t i = 0; i < stride / 8; i++) {
    seen[i] = pattern_mix(state += PATTERN_STEP);
  }
  CALL("cuMemcpyHtoDAsync", cuda.to_device(address, seen, stride, stream));
  CALL("cuStreamSynchronize", cuda.stream_synchronize(stream));
  printf(",\"checkedBytes\":%zu,\"pid\":%d", bytes, (int)getpid());
  result = 0;
out:
  if (seen) {
    cuda.host_free(seen);
  }
  if (stream) {
    cuda.stream_destroy(stream);
  }
  if (mapped) {
    cuda.unmap(address, mapped_bytes);
  }
  if (address) {
    cuda.unreserve(address, mapped_bytes);
  }
  if (made) {
    cuda.release(handle);
  }
  close(fd);
  return result;
}

static int command_facts(void) {
  char name[256] = "", pci[32] = "";
  int version = 0;
  size_t free_bytes = 0, all_bytes = 0;
  CALL("cuDriverGetVersion", cuda.driver_version(&version));
  CALL("cuDeviceGetName", cuda.device_name(name, sizeof name, device));
  CALL("cuDeviceGetPCIBusId", cuda.device_pci(pci, sizeof pci, device));
  CALL("cuMemGetInfo", cuda.memory_info(&free_bytes, &all_bytes));
  printf(",\"device\":\"%s\",\"pci\":\"%s\",\"driverVersion\":%d,\"freeBytes\":%zu,\"totalBytes\":%zu", name, pci,
         version, free_bytes, all_bytes);
  return 0;
out:
  return 1;
}

int main(int count, char **arguments) {
  const char *closed = cuda_open(count > 1 ? atoi(arguments[1]) : 0, &device, &context);
  struct {
    const char *name;
    int (*run)(void);
  } commands[] = {{"facts", command_facts},   {"touch", command_touch}, {"start", command_start},
                  {"bulk", command_bulk},     {"scatter", command_scatter}, {"probe", command_probe},
                  {"commit", command_commit}, {"import", command_import}};
  while (fgets(line, sizeof line, stdin)) {
    char what[32] = "";
    int failed = 1;
    sscanf(line, "%31s", what);
    if (strcmp(what, "quit") == 0) {
      break;
    }
    problem[0] = 0;
    printf("{\"what\":\"%s\"", what);
    if (closed && strcmp(what, "touch") != 0) {
      wrong("no device: %s", closed);
    } else {
      wrong("there is no command %s", what);
      for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(what, commands[i].name) == 0) {
          problem[0] = 0;
          failed = commands[i].run();
        }
      }
    }
    if (failed) {
      for (char *at = problem; *at; at++) { // a driver's words never hold these, a path may
        if (*at == '"' || *at == '\\' || *at < ' ') {
          *at = '\'';
        }
      }
      printf(",\"error\":\"%s\"", problem);
    }
    printf("}\n");
    fflush(stdout);
  }
  if (!closed) {
    cuda.context_release(device);
  }
  return 0;
}
