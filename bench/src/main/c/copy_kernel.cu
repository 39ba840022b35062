// The yardstick's kernels. Built where nvcc exists: nvcc -O3 -ptx -arch=compute_75 copy_kernel.cu

// One row of the table for each thread block in turn; 16-byte streaming loads, four in flight for each thread.
extern "C" __global__ void rows(const ulonglong4 *table, long count) {
  for (long row = blockIdx.x; row < count; row += gridDim.x) {
    const uint4 *from = (const uint4 *)table[row].x;
    uint4 *to = (uint4 *)table[row].y;
    const long words = table[row].z / sizeof(uint4);
    long at = threadIdx.x;
    for (; at + 3L * blockDim.x < words; at += 4L * blockDim.x) {
      const uint4 a = __ldcs(from + at);
      const uint4 b = __ldcs(from + at + blockDim.x);
      const uint4 c = __ldcs(from + at + 2 * blockDim.x);
      const uint4 d = __ldcs(from + at + 3 * blockDim.x);
      __stcs(to + at, a);
      __stcs(to + at + blockDim.x, b);
      __stcs(to + at + 2 * blockDim.x, c);
      __stcs(to + at + 3 * blockDim.x, d);
    }
    for (; at < words; at += blockDim.x) {
      __stcs(to + at, __ldcs(from + at));
    }
  }
}

// Keeps its multiprocessor for about that many cycles.
extern "C" __global__ void busy(long cycles) {
  const long long begun = clock64();
  while (clock64() - begun < cycles) {
  }
}
