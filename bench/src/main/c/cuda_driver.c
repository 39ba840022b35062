#include "cuda_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

struct cuda_driver cuda;

static char problem[256];

struct symbol {
  const char *name;
  void **slot;
  int needed;
};

static const char *load(void) {
  static void *library;
  if (library) {
    return NULL;
  }
  void *loaded = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!loaded) {
    snprintf(problem, sizeof problem, "%s", dlerror());
    return problem;
  }
  const struct symbol symbols[] = {
      {"cuInit", (void **)&cuda.init, 1},
      {"cuDriverGetVersion", (void **)&cuda.driver_version, 1},
      {"cuGetErrorName", (void **)&cuda.error_name, 1},
      {"cuDeviceGet", (void **)&cuda.device_get, 1},
      {"cuDeviceGetName", (void **)&cuda.device_name, 1},
      {"cuDeviceGetPCIBusId", (void **)&cuda.device_pci, 1},
      {"cuDevicePrimaryCtxRetain", (void **)&cuda.context_retain, 1},
      {"cuDevicePrimaryCtxRelease_v2", (void **)&cuda.context_release, 1},
      {"cuCtxSetCurrent", (void **)&cuda.context_set, 1},
      {"cuMemGetInfo_v2", (void **)&cuda.memory_info, 1},
      {"cuMemAlloc_v2", (void **)&cuda.allocate, 1},
      {"cuMemFree_v2", (void **)&cuda.free, 1},
      {"cuMemHostAlloc", (void **)&cuda.host_allocate, 1},
      {"cuMemFreeHost", (void **)&cuda.host_free, 1},
      {"cuMemHostRegister_v2", (void **)&cuda.host_register, 1},
      {"cuMemHostUnregister", (void **)&cuda.host_unregister, 1},
      {"cuMemHostGetDevicePointer_v2", (void **)&cuda.host_seen, 1},
      {"cuMemcpyHtoDAsync_v2", (void **)&cuda.to_device, 1},
      {"cuMemcpyDtoHAsync_v2", (void **)&cuda.to_host, 1},
      {"cuMemsetD8Async", (void **)&cuda.fill, 1},
      {"cuStreamCreateWithPriority", (void **)&cuda.stream_create, 1},
      {"cuStreamDestroy_v2", (void **)&cuda.stream_destroy, 1},
      {"cuStreamSynchronize", (void **)&cuda.stream_synchronize, 1},
      {"cuMemGetAllocationGranularity", (void **)&cuda.granularity, 0},
      {"cuMemAddressReserve", (void **)&cuda.reserve, 0},
      {"cuMemAddressFree", (void **)&cuda.unreserve, 0},
      {"cuMemCreate", (void **)&cuda.create, 0},
      {"cuMemRelease", (void **)&cuda.release, 0},
      {"cuMemMap", (void **)&cuda.map, 0},
      {"cuMemUnmap", (void **)&cuda.unmap, 0},
      {"cuMemSetAccess", (void **)&cuda.set_access, 0},
      {"cuMemImportFromShareableHandle", (void **)&cuda.import, 0},
      {"cuMemcpyBatchAsync_v2", (void **)&cuda.batch8, 0},
      {"cuMemcpyBatchAsync", (void **)&cuda.batch9, 0},
      {"cuModuleLoadData", (void **)&cuda.module_load, 0},
      {"cuModuleUnload", (void **)&cuda.module_unload, 0},
      {"cuModuleGetFunction", (void **)&cuda.module_function, 0},
      {"cuLaunchKernel", (void **)&cuda.launch, 0},
      {"cuThreadExchangeStreamCaptureMode", (void **)&cuda.exchange_mode, 0},
      {"cuStreamBeginCapture_v2", (void **)&cuda.begin_capture, 0},
      {"cuStreamEndCapture", (void **)&cuda.end_capture, 0},
      {"cuGraphInstantiateWithFlags", (void **)&cuda.instantiate, 0},
      {"cuGraphLaunch", (void **)&cuda.launch_graph, 0},
      {"cuGraphExecDestroy", (void **)&cuda.destroy_executable, 0},
      {"cuGraphDestroy", (void **)&cuda.destroy_graph, 0},
  };
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
    *symbols[i].slot = dlsym(loaded, symbols[i].name);
    if (!*symbols[i].slot && symbols[i].needed) {
      snprintf(problem, sizeof problem, "libcuda.so.1 has no %s", symbols[i].name);
      return problem;
    }
  }
  library = loaded;
  return NULL;
}

const char *cuda_name(int code) {
  const char *name = NULL;
  if (cuda.error_name && cuda.error_name(code, &name) == 0 && name) {
    return name;
  }
  return "unknown";
}

static const char *refused(const char *what, int code) {
  snprintf(problem, sizeof problem, "%s answered %d (%s)", what, code, cuda_name(code));
  return problem;
}

const char *cuda_open(int ordinal, int *device, void **context) {
  const char *missing = load();
  if (missing) {
    return missing;
  }
  int code = cuda.init(0);
  if (code) {
    return refused("cuInit", code);
  }
  code = cuda.device_get(device, ordinal);
  if (code) {
    return refused("cuDeviceGet", code);
  }
  code = cuda.context_retain(context, *device);
  if (code) {
    return refused("cuDevicePrimaryCtxRetain", code);
  }
  code = cuda.context_set(*context);
  return code ? refused("cuCtxSetCurrent", code) : NULL;
}

int64_t now_nanos(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void until_nanos(int64_t when) {
  const int64_t spin = 100000;
  int64_t left = when - now_nanos();
  if (left > spin) {
    int64_t wake = when - spin;
    struct timespec time = {wake / 1000000000, wake % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
  }
  while (now_nanos() < when) {
  }
}
