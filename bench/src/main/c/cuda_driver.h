// The CUDA driver's functions that the yardsticks call, found in libcuda.so.1 at run time: no CUDA headers are needed.
// Names and layouts are the driver's own; a function that a driver may lack is null where it does.
#ifndef HOLDFAST_CUDA_DRIVER_H
#define HOLDFAST_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t device_address; // CUdeviceptr

// CUmemAllocationProp, 32 bytes
struct allocation_properties {
  int type;         // 1: CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types; // 1: CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
  int location_type; // 1: CU_MEM_LOCATION_TYPE_DEVICE
  int location_id;
  void *win32;
  unsigned char compression;
  unsigned char rdma;
  unsigned short usage;
  unsigned char reserved[4];
};

// CUmemAccessDesc, 12 bytes
struct access {
  int location_type;
  int location_id;
  int flags; // 3: CU_MEM_ACCESS_FLAGS_PROT_READWRITE
};

// CUmemcpyAttributes, 24 bytes
struct batch_attributes {
  int source_order; // 1: CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, 3: ..._ANY
  int source_hint[2];
  int destination_hint[2];
  unsigned flags;
};

enum {
  STREAM_NON_BLOCKING = 1,
  REGISTER_PORTABLE = 1,
  REGISTER_MAPPED = 2,
  CAPTURE_GLOBAL = 0,
  EVENT_DISABLE_TIMING = 2,
  SOURCE_ORDER_STREAM = 1,
  SOURCE_ORDER_ANY = 3
};

struct cuda_driver {
  int (*init)(unsigned);
  int (*driver_version)(int *);
  int (*error_name)(int, const char **);
  int (*device_get)(int *, int);
  int (*device_name)(char *, int, int);
  int (*device_pci)(char *, int, int);
  int (*context_retain)(void **, int);
  int (*context_release)(int);
  int (*context_set)(void *);
  int (*memory_info)(size_t *, size_t *);
  int (*allocate)(device_address *, size_t);
  int (*free)(device_address);
  int (*host_allocate)(void **, size_t, unsigned);
  int (*host_free)(void *);
  int (*host_register)(void *, size_t, unsigned);
  int (*host_unregister)(void *);
  int (*host_seen)(device_address *, void *, unsigned);
  int (*to_device)(device_address, const void *, size_t, void *);
  int (*to_host)(void *, device_address, size_t, void *);
  int (*fill)(device_address, unsigned char, size_t, void *);
  int (*stream_create)(void **, unsigned, int);
  int (*stream_destroy)(void *);
  int (*stream_synchronize)(void *);
  int (*granularity)(size_t *, const struct allocation_properties *, int);
  int (*reserve)(device_address *, size_t, size_t, device_address, unsigned long long);
  int (*unreserve)(device_address, size_t);
  int (*create)(uint64_t *, size_t, const struct allocation_properties *, unsigned long long);
  int (*release)(uint64_t);
  int (*map)(device_address, size_t, size_t, uint64_t, unsigned long long);
  int (*unmap)(device_address, size_t);
  int (*set_access)(device_address, size_t, const struct access *, size_t);
  int (*import)(uint64_t *, void *, int);
  // what a driver may lack
  int (*batch8)(device_address *, device_address *, size_t *, size_t, struct batch_attributes *, size_t *,
                size_t, void *);
  int (*batch9)(device_address *, device_address *, size_t *, size_t, struct batch_attributes *, size_t *,
                size_t, size_t *, void *);
  int (*module_load)(void **, const void *);
  int (*module_unload)(void *);
  int (*module_function)(void **, void *, const char *);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                void **);
  int (*exchange_mode)(int *);
  int (*begin_capture)(void *, int);
  int (*end_capture)(void *, void **);
  int (*instantiate)(void **, void *, unsigned long long);
  int (*launch_graph)(void *, void *);
  int (*destroy_executable)(void *);
  int (*destroy_graph)(void *);
};

extern struct cuda_driver cuda;

// Loads the library and retains the device's primary context, current on this thread. Null or what is wrong.
const char *cuda_open(int ordinal, int *device, void **context);

// The driver's own name of a code.
const char *cuda_name(int code);

// Monotonic time.
int64_t now_nanos(void);

// Sleeps, and for the last tenth of a millisecond spins, until that time.
void until_nanos(int64_t when);

// The stream of numbers that Holdfast's own soak writes: word number n (from 1) of a seed.
static inline uint64_t pattern_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

#define PATTERN_STEP 0x9e3779b97f4a7c15u

#endif
