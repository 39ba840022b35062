// The KERNEL copy path: rows of (destination, source, bytes) copied by the device's own cores.
//
// The three columns lie in registered host memory and are read through their device address, as are
// the host ends of the copies. Both kernels are byte-exact for any size and alignment, touch no byte
// outside the rows, and use no memory of their own, so that they can run beside anything.
//
// Everything is done by warps: a warp takes a piece of a row and copies it with eight 16-byte loads in
// flight per lane (4 KiB for the warp), which hides the link's latency with few thread blocks. Which
// warp takes which piece is fixed arithmetic; no counter in memory has to be reset between launches.
//
// The same source is for HIP's run-time compiler, which knows the lanes of a wavefront by -DLANES=N: only the intrinsics
// below differ. No run of it on AMD hardware is known.
//
// Built into the resource copy_rows.ptx by make-ptx.sh beside this file; see there for the versions.

typedef unsigned long long u64;
typedef unsigned int u32;

#define IN_FLIGHT 8
#define TILE_ROWS 512u

#ifdef __HIP__
// Bytes that pass through once: past the caches, where the compiler has a word for it. Its builtins take vectors of its own.
typedef u32 wide __attribute__((vector_size(16)));
#define __ldcs(from) __builtin_nontemporal_load(from)
#define __stcs(to, value) __builtin_nontemporal_store(value, to)
#define FROM_LANE(value, lane) __shfl(value, (int)(lane), LANES)
#else
typedef uint4 wide;
#define LANES 32u
#define FROM_LANE(value, lane) __shfl_sync(0xffffffffu, value, lane)
#endif

// One piece with both ends on a multiple of sizeof(T): `count` elements by one warp. The addresses move
// so that each of the eight is a constant away.
template <typename T>
__device__ __forceinline__ void copyElements(T *to, const T *from, u64 count, u32 lane) {
  to += lane;
  from += lane;
  T held[IN_FLIGHT];
#pragma unroll 1
  for (; count >= IN_FLIGHT * LANES; count -= IN_FLIGHT * LANES) {
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; k++) held[k] = __ldcs(from + k * LANES);
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; k++) __stcs(to + k * LANES, held[k]);
    to += IN_FLIGHT * LANES;
    from += IN_FLIGHT * LANES;
  }
  // The rest in one go as well: small rows are nothing but rest.
  u32 rest = (u32)count;
#pragma unroll
  for (int k = 0; k < IN_FLIGHT; k++)
    if (k * LANES + lane < rest) held[k] = __ldcs(from + k * LANES);
#pragma unroll
  for (int k = 0; k < IN_FLIGHT; k++)
    if (k * LANES + lane < rest) __stcs(to + k * LANES, held[k]);
}

// The bytes before the first and after the last whole element are fewer than 16 each: one lane a byte.
template <typename T>
__device__ __forceinline__ void copyAligned(u64 to, u64 from, u64 bytes, u32 lane) {
  u64 head = (0 - to) & (sizeof(T) - 1);
  if (head > bytes) head = bytes;
  if (lane < head) __stcs((unsigned char *)to + lane, __ldcs((const unsigned char *)from + lane));
  to += head;
  from += head;
  bytes -= head;
  u64 whole = bytes & ~(u64)(sizeof(T) - 1);
  if (lane < bytes - whole)
    __stcs((unsigned char *)(to + whole) + lane, __ldcs((const unsigned char *)(from + whole) + lane));
  copyElements((T *)to, (const T *)from, whole / sizeof(T), lane);
}

// The widest element that both ends can share: their addresses differ by a multiple of it. Blocks of
// engines share 16 bytes; what shares less than 4 is copied byte by byte, correct and slow.
__device__ __forceinline__ void copyPiece(u64 to, u64 from, u64 bytes, u32 lane) {
  u64 apart = to ^ from;
  if ((apart & 15) == 0) copyAligned<wide>(to, from, bytes, lane);
  else if ((apart & 3) == 0) copyAligned<u32>(to, from, bytes, lane);
  else copyAligned<unsigned char>(to, from, bytes, lane);
}

__device__ __forceinline__ u64 fromLane(u64 value, u32 lane) { return FROM_LANE(value, lane); }

// Rows of like size. Item i is piece i % pieces of row i / pieces; a warp takes `group` items that
// follow each other, reads their descriptors with one coalesced load per column, and has the next
// group's descriptors on the way while it copies.
//
// pieces * pieceBytes covers the longest row; rows that are shorter leave their last items empty.
extern "C" __global__ void __launch_bounds__(512)
    holdfast_copy_like(const u64 *__restrict__ tos, const u64 *__restrict__ froms, const u64 *__restrict__ lengths,
                       u64 rows, u64 pieces, u64 pieceBytes, u64 group) {
  u32 lane = threadIdx.x & (LANES - 1);
  u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  u64 step = (u64)gridDim.x * (blockDim.x / LANES) * group;
  u64 items = rows * pieces;

  u64 base = warp * group;
  u64 to = 0, from = 0, length = 0, piece = 0;
  u64 item = base + lane;
  if (lane < group && item < items) {
    u64 row = item / pieces;
    piece = item % pieces;
    to = __ldcs(tos + row);
    from = __ldcs(froms + row);
    length = __ldcs(lengths + row);
  }
  while (base < items) {
    u64 nextBase = base + step;
    u64 nextTo = 0, nextFrom = 0, nextLength = 0, nextPiece = 0;
    u64 nextItem = nextBase + lane;
    if (lane < group && nextItem < items) {
      u64 row = nextItem / pieces;
      nextPiece = nextItem % pieces;
      nextTo = __ldcs(tos + row);
      nextFrom = __ldcs(froms + row);
      nextLength = __ldcs(lengths + row);
    }
    u64 mine = items - base < group ? items - base : group;
    for (u32 i = 0; i < mine; i++) {
      u64 start = fromLane(piece, i) * pieceBytes;
      u64 all = fromLane(length, i);
      u64 rowTo = fromLane(to, i);
      u64 rowFrom = fromLane(from, i);
      if (start < all) {
        u64 bytes = all - start < pieceBytes ? all - start : pieceBytes;
        copyPiece(rowTo + start, rowFrom + start, bytes, lane);
      }
    }
    base = nextBase;
    to = nextTo;
    from = nextFrom;
    length = nextLength;
    piece = nextPiece;
  }
}

// Rows of very different sizes: every thread block looks at every row, a tile at a time, and each of
// its warps takes those pieces that fall to it: piece p of row r falls to warp (r + p) mod warps.
extern "C" __global__ void __launch_bounds__(512)
    holdfast_copy_mixed(const u64 *__restrict__ tos, const u64 *__restrict__ froms, const u64 *__restrict__ lengths,
                        u64 rows, u64 pieceBytes) {
  __shared__ u64 tileTos[TILE_ROWS];
  __shared__ u64 tileFroms[TILE_ROWS];
  __shared__ u64 tileLengths[TILE_ROWS];
  u32 lane = threadIdx.x & (LANES - 1);
  u32 warps = gridDim.x * (blockDim.x / LANES);
  u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;

  for (u64 tile = 0; tile < rows; tile += TILE_ROWS) {
    u32 count = rows - tile < TILE_ROWS ? (u32)(rows - tile) : TILE_ROWS;
    __syncthreads();
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
      tileTos[i] = __ldcs(tos + tile + i);
      tileFroms[i] = __ldcs(froms + tile + i);
      tileLengths[i] = __ldcs(lengths + tile + i);
    }
    __syncthreads();
    // The first row's owner of piece 0 moves on with the tile.
    u32 owner = (u32)(tile % warps);
    for (u32 i = 0; i < count; i++) {
      u32 first = warp >= owner ? warp - owner : warp + warps - owner;
      u64 all = tileLengths[i];
      for (u64 start = (u64)first * pieceBytes; start < all; start += (u64)warps * pieceBytes) {
        u64 bytes = all - start < pieceBytes ? all - start : pieceBytes;
        copyPiece(tileTos[i] + start, tileFroms[i] + start, bytes, lane);
      }
      owner = owner + 1 == warps ? 0 : owner + 1;
    }
  }
}
