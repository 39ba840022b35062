// Runs the kernels of copy_rows.cu on the CPU, thread by thread, and compares every byte: the CUDA source itself is
// compiled, and the few intrinsics that it uses are stood in for. Each CUDA thread is a fibre; a shuffle and a barrier
// switch to the next one. Access to an address that is not a multiple of the element's size ends the run.
//
// With -D__HIP__ -DLANES=N it is the source as HIP's compiler sees it, for wavefronts of N lanes.
//
// Arguments: a seed and a number of trials. Exit code 0 when every trial was right.
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

struct Index { unsigned x; };
static Index threadIdx, blockIdx, blockDim, gridDim;
struct alignas(16) uint4 { unsigned x, y, z, w; };

#define __global__
#define __device__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(threads)

template <typename T>
static void aligned(const T *at) {
  if ((uintptr_t)at % sizeof(T)) {
    printf("%zu bytes at %p\n", sizeof(T), (const void *)at);
    exit(3);
  }
}

template <typename T>
static T loadOnce(const T *at) {
  aligned(at);
  return *at;
}

template <typename T>
static void storeOnce(T *at, T value) {
  aligned(at);
  *at = value;
}

#ifdef __HIP__
#define __builtin_nontemporal_load(from) loadOnce(from)
#define __builtin_nontemporal_store(value, to) storeOnce(to, value)
#else
#define LANES 32u
#define __ldcs loadOnce
#define __stcs storeOnce
#endif

// ---- fibres

static const size_t STACK = 64 << 10;

struct Fibre {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  bool ended;
};

static ucontext_t scheduler;
static std::vector<Fibre> fibres;
static unsigned running;
static std::vector<unsigned long long> published;

static void yield() { swapcontext(&fibres[running].context, &scheduler); }

// Every thread of the block goes round once between two switches of one thread, so a switch is a barrier.
static void __syncthreads() { yield(); }

static unsigned long long ofLane(unsigned long long value, unsigned lane) {
  published[running] = value;
  yield();
  unsigned long long got = published[running / LANES * LANES + lane];
  yield();
  return got;
}

#ifdef __HIP__
static unsigned long long __shfl(unsigned long long value, int lane, int width) {
  if (width != (int)LANES || lane < 0 || lane >= width) exit(4);
  return ofLane(value, (unsigned)lane);
}
#else
static unsigned long long __shfl_sync(unsigned lanes, unsigned long long value, unsigned lane) {
  if (lanes != 0xffffffffu) exit(4);
  return ofLane(value, lane);
}
#endif

#include "../../main/cuda/copy_rows.cu"

struct Launch {
  bool mixed;
  const u64 *tos, *froms, *lengths;
  u64 rows, pieces, pieceBytes, group;
};
static Launch launch;

static void body() {
  if (launch.mixed)
    holdfast_copy_mixed(launch.tos, launch.froms, launch.lengths, launch.rows, launch.pieceBytes);
  else
    holdfast_copy_like(launch.tos, launch.froms, launch.lengths, launch.rows, launch.pieces, launch.pieceBytes, launch.group);
  fibres[running].ended = true;
  yield();
}

static void run(unsigned blocks, unsigned threads) {
  gridDim.x = blocks;
  blockDim.x = threads;
  fibres.resize(threads);
  published.assign(threads, 0);
  for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
    for (Fibre &fibre : fibres) {
      if (!fibre.stack) fibre.stack.reset(new char[STACK]);
      fibre.ended = false;
      getcontext(&fibre.context);
      fibre.context.uc_stack.ss_sp = fibre.stack.get();
      fibre.context.uc_stack.ss_size = STACK;
      fibre.context.uc_link = nullptr;
      makecontext(&fibre.context, body, 0);
    }
    for (bool any = true; any;) {
      any = false;
      for (running = 0; running < threads; running++) {
        if (fibres[running].ended) continue;
        any = true;
        threadIdx.x = running;
        swapcontext(&scheduler, &fibres[running].context);
      }
    }
  }
}

// ---- trials

int main(int count, char **arguments) {
  if (count != 3) return 2;
  std::mt19937_64 random(strtoull(arguments[1], nullptr, 10));
  int trials = atoi(arguments[2]);
  auto below = [&](u64 n) { return (u64)(random() % n); };
  for (int trial = 0; trial < trials; trial++) {
    bool tiles = trial % 20 == 7; // more rows than the mixed kernel looks at in one go
    u64 rows = 1 + below(40) + (tiles ? 520 : 0);
    u64 most = tiles ? 40 : trial % 7 == 0 ? 20000 : trial % 3 == 0 ? 3000 : 300;
    bool together = below(2); // both ends at one distance from a multiple of 16
    std::vector<u64> lengths(rows), tos(rows), froms(rows), toAt(rows), fromAt(rows);
    u64 toBytes = 64, fromBytes = 64, longest = 0;
    for (u64 i = 0; i < rows; i++) {
      lengths[i] = 1 + (trial % 2 ? below(most) : most - 1);
      longest = lengths[i] > longest ? lengths[i] : longest;
      u64 shift = below(16);
      toAt[i] = toBytes + shift;
      fromAt[i] = fromBytes + (together ? shift : below(16));
      toBytes = (toAt[i] + lengths[i] + 31) / 16 * 16;
      fromBytes = (fromAt[i] + lengths[i] + 31) / 16 * 16;
    }
    char *to = (char *)aligned_alloc(16, toBytes + 64), *from = (char *)aligned_alloc(16, fromBytes + 64);
    for (u64 i = 0; i < fromBytes + 64; i++) from[i] = (char)random();
    std::vector<char> expected(toBytes + 64);
    for (u64 i = 0; i < toBytes + 64; i++) to[i] = expected[i] = (char)random();
    for (u64 i = 0; i < rows; i++) {
      u64 j = rows - 1 - i; // scattered: the last row's bytes go first
      tos[i] = (u64)to + toAt[i];
      froms[i] = (u64)from + fromAt[j];
      if (lengths[j] < lengths[i]) lengths[i] = lengths[j]; // what both places have room for
      memcpy(&expected[toAt[i]], from + fromAt[j], lengths[i]);
    }
    launch = Launch{trial % 4 == 3, tos.data(), froms.data(), lengths.data(), rows, 0, 0, 0};
    launch.pieceBytes = trial % 3 ? 16 * (1 + below(64)) : 1 + below(longest);
    launch.pieces = (longest + launch.pieceBytes - 1) / launch.pieceBytes;
    launch.group = 1 + below(32);
    unsigned blocks = 1 + (unsigned)below(3), threads = LANES * (1 + (unsigned)below(3));
    run(blocks, threads);
    for (u64 i = 0; i < toBytes + 64; i++)
      if (to[i] != expected[i]) {
        printf("trial %d of seed %s: %s kernel, %llu rows, pieces of %llu, group %llu, %u blocks of %u: byte %llu is wrong\n",
               trial, arguments[1], launch.mixed ? "mixed" : "like", rows, launch.pieceBytes, launch.group, blocks, threads, i);
        return 1;
      }
    free(to);
    free(from);
  }
  printf("%d trials of seed %s were right\n", trials, arguments[1]);
  return 0;
}
