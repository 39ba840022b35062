#include "neighbour.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_driver.h"

static char problem[256];
static void *context;
static int device;

const char *neighbour_problem(void) { return problem; }

static int failed(const char *what, int code) {
  snprintf(problem, sizeof problem, "%s answered %d (%s)", what, code, cuda_name(code));
  return code;
}

static int without(const char *what) {
  snprintf(problem, sizeof problem, "%s", what);
  return -1;
}

int neighbour_open(int ordinal) {
  const char *wrong = cuda_open(ordinal, &device, &context);
  if (wrong) {
    return without(wrong);
  }
  return 0;
}

static int start(pthread_t *thread, void *(*work)(void *), void *argument) {
  int code = pthread_create(thread, NULL, work, argument);
  return code ? without("no thread could be made") : 0;
}

// ---- the probe

static struct {
  pthread_t thread;
  atomic_int running;
  atomic_llong stop_at;
  int code;
  int64_t period, most, count;
  int64_t *latencies;
  device_address target;
  void *source;
  void *stream;
} probe;

// One tick's call and wait, from when it was due.
static int64_t probe_once(int64_t due) {
  until_nanos(due);
  probe.code = cuda.to_device(probe.target, probe.source, 4096, probe.stream);
  if (!probe.code) {
    probe.code = cuda.stream_synchronize(probe.stream);
  }
  return now_nanos() - due;
}

static void *probe_run(void *unused) {
  (void)unused;
  enum { WARM_UP = 100 };
  probe.code = cuda.context_set(context);
  for (int tick = 0; !probe.code && tick < WARM_UP; tick++) {
    probe_once(now_nanos() + probe.period);
  }
  int64_t begun = now_nanos();
  atomic_store(&probe.running, 1);
  for (int64_t tick = 1; !probe.code && probe.count < probe.most; tick++) {
    int64_t due = begun + tick * probe.period, stop_at = atomic_load(&probe.stop_at);
    if (stop_at && due > stop_at) { // ticks that a stall held up are all made up for
      break;
    }
    probe.latencies[probe.count++] = probe_once(due);
  }
  return NULL;
}

int probe_start(int64_t period_nanos, int64_t most_samples) {
  int code;
  if ((code = cuda.context_set(context))) {
    return failed("cuCtxSetCurrent", code);
  }
  memset(&probe, 0, sizeof probe);
  probe.period = period_nanos;
  probe.most = most_samples;
  probe.latencies = malloc(sizeof(int64_t) * (size_t)most_samples);
  if (!probe.latencies) {
    return without("no memory for the samples");
  }
  memset(probe.latencies, 0, sizeof(int64_t) * (size_t)most_samples); // touched before the clock runs
  if ((code = cuda.allocate(&probe.target, 4096))) {
    return failed("cuMemAlloc", code);
  }
  if ((code = cuda.host_allocate(&probe.source, 4096, REGISTER_PORTABLE))) {
    return failed("cuMemHostAlloc", code);
  }
  if ((code = cuda.stream_create(&probe.stream, STREAM_NON_BLOCKING, 0))) {
    return failed("cuStreamCreateWithPriority", code);
  }
  code = start(&probe.thread, probe_run, NULL);
  while (!code && !atomic_load(&probe.running)) {
    until_nanos(now_nanos() + 1000000);
  }
  return code;
}

int64_t probe_stop(int64_t *latencies, int64_t capacity) {
  atomic_store(&probe.stop_at, now_nanos());
  pthread_join(probe.thread, NULL);
  int64_t count = probe.count < capacity ? probe.count : capacity;
  memcpy(latencies, probe.latencies, sizeof(int64_t) * (size_t)count);
  free(probe.latencies);
  cuda.context_set(context);
  cuda.stream_destroy(probe.stream);
  cuda.host_free(probe.source);
  cuda.free(probe.target);
  return probe.code ? -(int64_t)failed("a probe's call", probe.code) : count;
}

// ---- the capture

enum { CAPTURED_BYTES = 4096, MOST_NODES = 4000 };

static struct {
  pthread_t thread;
  atomic_int stop, capturing;
  int64_t answers[6];
  int code;
} capture;

static void *capture_run(void *unused) {
  (void)unused;
  void *stream = NULL, *graph = NULL, *executable = NULL;
  device_address target = 0;
  unsigned char seen[CAPTURED_BYTES];
  int64_t *answers = capture.answers;
  capture.code = cuda.context_set(context);
  if (!capture.code) {
    capture.code = cuda.allocate(&target, CAPTURED_BYTES);
  }
  if (!capture.code) {
    capture.code = cuda.stream_create(&stream, STREAM_NON_BLOCKING, 0);
  }
  if (!capture.code) {
    capture.code = cuda.begin_capture(stream, CAPTURE_GLOBAL);
  }
  atomic_store(&capture.capturing, 1);
  if (capture.code) {
    return NULL;
  }
  unsigned char last = 0;
  while (!atomic_load(&capture.stop) && answers[1] < MOST_NODES) {
    last = (unsigned char)(1 + answers[1] % 250);
    int code = cuda.fill(target, last, CAPTURED_BYTES, stream);
    if (code && !answers[0]) {
      answers[0] = code;
    }
    if (!code) {
      answers[1]++;
    }
    until_nanos(now_nanos() + 1000000);
  }
  while (!atomic_load(&capture.stop)) {
    until_nanos(now_nanos() + 1000000);
  }
  answers[2] = cuda.end_capture(stream, &graph);
  answers[3] = answers[4] = answers[5] = -1;
  if (!answers[2] && graph) {
    answers[3] = cuda.instantiate(&executable, graph, 0);
    if (!answers[3]) {
      answers[4] = cuda.launch_graph(executable, stream);
      if (!answers[4]) {
        answers[4] = cuda.stream_synchronize(stream);
      }
      memset(seen, 0, sizeof seen);
      if (!answers[4] && !cuda.to_host(seen, target, sizeof seen, stream) && !cuda.stream_synchronize(stream)) {
        answers[5] = 0;
        for (int i = 0; i < CAPTURED_BYTES; i++) {
          answers[5] += seen[i] != last;
        }
      }
      cuda.destroy_executable(executable);
    }
    cuda.destroy_graph(graph);
  }
  cuda.stream_destroy(stream);
  cuda.free(target);
  return NULL;
}

int capture_start(void) {
  if (!cuda.begin_capture || !cuda.end_capture || !cuda.instantiate || !cuda.launch_graph ||
      !cuda.destroy_executable || !cuda.destroy_graph) {
    return without("libcuda.so.1 lacks a call that captures or replays graphs");
  }
  memset(&capture, 0, sizeof capture);
  int code = start(&capture.thread, capture_run, NULL);
  while (!code && !atomic_load(&capture.capturing)) {
    until_nanos(now_nanos() + 1000000);
  }
  return code;
}

int capture_stop(int64_t answers[6]) {
  atomic_store(&capture.stop, 1);
  pthread_join(capture.thread, NULL);
  memcpy(answers, capture.answers, sizeof capture.answers);
  return capture.code ? failed("beginning the capture", capture.code) : 0;
}

struct registration {
  void *memory;
  int64_t bytes;
  int code;
};

static void *plain_run(void *argument) {
  struct registration *one = argument;
  one->code = cuda.context_set(context);
  if (!one->code) {
    one->code = cuda.host_register(one->memory, (size_t)one->bytes, REGISTER_PORTABLE);
    if (!one->code) {
      cuda.host_unregister(one->memory);
    }
  }
  return NULL;
}

int64_t plain_register(void *memory, int64_t bytes) {
  struct registration one = {memory, bytes, -1};
  pthread_t thread;
  int code = start(&thread, plain_run, &one);
  if (code) {
    return code;
  }
  pthread_join(thread, NULL);
  return one.code;
}

// ---- the busy compute stream

enum { MOST_KERNELS = 100000 };

static struct {
  pthread_t thread;
  atomic_int stop, running;
  const char *ptx;
  int blocks, code;
  int64_t cycles, count;
  int64_t *nanos;
} busy;

static void *busy_run(void *unused) {
  (void)unused;
  void *module = NULL, *function = NULL, *stream = NULL;
  busy.code = cuda.context_set(context);
  if (!busy.code) {
    busy.code = cuda.module_load(&module, busy.ptx);
  }
  if (!busy.code) {
    busy.code = cuda.module_function(&function, module, "busy");
  }
  if (!busy.code) {
    busy.code = cuda.stream_create(&stream, STREAM_NON_BLOCKING, 0);
  }
  atomic_store(&busy.running, 1);
  void *arguments[] = {&busy.cycles};
  while (!busy.code && !atomic_load(&busy.stop) && busy.count < MOST_KERNELS) {
    int64_t begun = now_nanos();
    busy.code = cuda.launch(function, (unsigned)busy.blocks, 1, 1, 256, 1, 1, 0, stream, arguments, NULL);
    if (!busy.code) {
      busy.code = cuda.stream_synchronize(stream);
    }
    busy.nanos[busy.count++] = now_nanos() - begun;
  }
  if (stream) {
    cuda.stream_destroy(stream);
  }
  if (module) {
    cuda.module_unload(module);
  }
  return NULL;
}

int busy_start(const char *ptx, int blocks, int64_t cycles) {
  if (!cuda.module_load || !cuda.module_function || !cuda.module_unload || !cuda.launch) {
    return without("libcuda.so.1 lacks a call that runs kernels");
  }
  memset(&busy, 0, sizeof busy);
  busy.nanos = malloc(sizeof(int64_t) * MOST_KERNELS);
  if (!busy.nanos) {
    return without("no memory for the samples");
  }
  busy.ptx = ptx;
  busy.blocks = blocks;
  busy.cycles = cycles;
  int code = start(&busy.thread, busy_run, NULL);
  while (!code && !atomic_load(&busy.running)) {
    until_nanos(now_nanos() + 1000000);
  }
  return code;
}

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

int64_t busy_stop(int64_t *kernels) {
  atomic_store(&busy.stop, 1);
  pthread_join(busy.thread, NULL);
  *kernels = busy.count;
  qsort(busy.nanos, (size_t)busy.count, sizeof(int64_t), by_size);
  int64_t median = busy.count ? busy.nanos[busy.count / 2] : 0;
  free(busy.nanos);
  return busy.code ? -(int64_t)failed("a busy kernel", busy.code) : median;
}

// ---- children

#define FORKERS 4

// The kernel copies the parent for one child at a time; starting, ending and being waited for go on beside that.
static struct {
  pthread_t threads[FORKERS];
  atomic_int stop;
  atomic_llong done;
  atomic_llong left;
} forks;

static int fork_one(void) {
  pid_t child = fork();
  if (child == 0) {
    _exit(0);
  }
  int status = -1;
  if (child > 0) {
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void *forks_run(void *unused) {
  (void)unused;
  while (atomic_fetch_sub(&forks.left, 1) > 0) {
    while (!atomic_load(&forks.stop)) {
      if (fork_one()) {
        atomic_fetch_add(&forks.done, 1);
        break;
      }
      struct timespec pause = {0, 1000000}; // another one instead
      nanosleep(&pause, NULL);
    }
    if (atomic_load(&forks.stop)) {
      break;
    }
  }
  return NULL;
}

static void forks_join(int threads) {
  for (int i = 0; i < threads; i++) {
    pthread_join(forks.threads[i], NULL);
  }
}

int forks_start(int64_t children) {
  atomic_store(&forks.stop, 0);
  atomic_store(&forks.done, 0);
  atomic_store(&forks.left, children);
  for (int i = 0; i < FORKERS; i++) {
    int code = start(&forks.threads[i], forks_run, NULL);
    if (code) {
      atomic_store(&forks.stop, 1);
      forks_join(i);
      return code;
    }
  }
  return 0;
}

int64_t forks_done(void) { return atomic_load(&forks.done); }

int64_t forks_stop(int wait_for_rest) {
  if (!wait_for_rest) {
    atomic_store(&forks.stop, 1);
  }
  forks_join(FORKERS);
  return atomic_load(&forks.done);
}

int sleepers_start(int children, int seconds) {
  int alive = 0;
  for (int i = 0; i < children; i++) {
    pid_t child = fork();
    if (child == 0) {
      for (unsigned left = (unsigned)seconds; left > 0; left = sleep(left)) {
      }
      _exit(0);
    }
    alive += child > 0;
  }
  return alive;
}
