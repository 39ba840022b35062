package io.holdfast.backend.cpusim.driver;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of a device: nothing until written, then kept in chunks outside the Java heap, where no
 * address that a program holds can reach them.
 *
 * <p>What was never written reads as the fresh byte: real device memory is not zero either. Reading
 * and writing is safe from any thread while a reference is held; references are counted under the
 * driver's lock. Drivers of several machines can have the same bytes: each counts its own
 * references, and the last driver gives the bytes back.
 */
final class PhysicalMemory {
  private static final int CHUNK_SHIFT = 16;
  private static final long CHUNK_BYTES = 1L << CHUNK_SHIFT;
  private static final int GROUP_SHIFT = 12;
  private static final int GROUP_CHUNKS = 1 << GROUP_SHIFT;

  /** All addresses of this process, so that host ranges need no object of their own. */
  @SuppressWarnings("restricted") // a device may read and write what was given to it by address
  static final MemorySegment HOST = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  final int device;
  final long bytes;
  private final byte fresh;
  private final Chunks chunks;

  /** Mappings, handles and copies that use it; guarded by the driver's lock. */
  int references;

  /** Charged to the device until this is given back; guarded by the driver's lock. */
  long chargedBytes;

  /** Where it was mapped last; guarded by the driver's lock. */
  @Nullable Reservation lastReservation;

  PhysicalMemory(int device, long bytes, byte fresh) {
    this(device, bytes, fresh, new Chunks(bytes, fresh));
  }

  private PhysicalMemory(int device, long bytes, byte fresh, Chunks chunks) {
    this.device = device;
    this.bytes = bytes;
    this.fresh = fresh;
    this.chunks = chunks;
  }

  /** The same bytes for the driver of another machine, which is not charged for them. */
  PhysicalMemory shared() {
    chunks.keep();
    return new PhysicalMemory(device, bytes, fresh, chunks);
  }

  /** Writes from a host address. */
  void write(long offset, long hostAddress, long count) {
    long at = offset;
    long host = hostAddress;
    long left = count;
    while (left > 0) {
      long inChunk = at & (CHUNK_BYTES - 1);
      long n = Math.min(left, CHUNK_BYTES - inChunk);
      MemorySegment.copy(HOST, host, chunks.at(at), inChunk, n);
      at += n;
      host += n;
      left -= n;
    }
  }

  /** Reads to a host address. */
  void read(long offset, long hostAddress, long count) {
    long at = offset;
    long host = hostAddress;
    long left = count;
    while (left > 0) {
      long inChunk = at & (CHUNK_BYTES - 1);
      long n = Math.min(left, CHUNK_BYTES - inChunk);
      MemorySegment from = chunks.ifThere(at);
      if (from == null) {
        HOST.asSlice(host, n).fill(fresh);
      } else {
        MemorySegment.copy(from, inChunk, HOST, host, n);
      }
      at += n;
      host += n;
      left -= n;
    }
  }

  void fill(long offset, long count, byte value) {
    long at = offset;
    long left = count;
    while (left > 0) {
      long inChunk = at & (CHUNK_BYTES - 1);
      long n = Math.min(left, CHUNK_BYTES - inChunk);
      chunks.at(at).asSlice(inChunk, n).fill(value);
      at += n;
      left -= n;
    }
  }

  /** Copies between two memories, or within one where the ranges do not overlap. */
  static void copy(
      PhysicalMemory from, long fromOffset, PhysicalMemory to, long toOffset, long count) {
    long source = fromOffset;
    long target = toOffset;
    long left = count;
    while (left > 0) {
      long inSource = source & (CHUNK_BYTES - 1);
      long inTarget = target & (CHUNK_BYTES - 1);
      long n = Math.min(left, CHUNK_BYTES - Math.max(inSource, inTarget));
      MemorySegment chunk = from.chunks.ifThere(source);
      if (chunk == null) {
        to.chunks.at(target).asSlice(inTarget, n).fill(from.fresh);
      } else {
        MemorySegment.copy(chunk, inSource, to.chunks.at(target), inTarget, n);
      }
      source += n;
      target += n;
      left -= n;
    }
  }

  /** Bytes really held outside the heap. */
  long touchedBytes() {
    return chunks.touchedBytes();
  }

  /** Gives the bytes back; nothing of this driver refers to them any more. */
  void free() {
    chunks.leave();
  }

  /** The bytes themselves. */
  private static final class Chunks {
    /** Not a monitor: calls of virtual threads copy here, and stay on their carriers. */
    private final DriverLock lock = new DriverLock();

    private final long bytes;
    private final byte fresh;
    private final AtomicReferenceArray<@Nullable AtomicReferenceArray<@Nullable MemorySegment>>
        groups;
    private @Nullable Arena arena;
    private int drivers = 1;

    Chunks(long bytes, byte fresh) {
      this.bytes = bytes;
      this.fresh = fresh;
      long groupCount = (count() + GROUP_CHUNKS - 1) >>> GROUP_SHIFT;
      this.groups = new AtomicReferenceArray<>(Math.toIntExact(groupCount));
    }

    private long count() {
      return (bytes + CHUNK_BYTES - 1) >>> CHUNK_SHIFT;
    }

    void keep() {
      lock.lock();
      try {
        drivers++;
      } finally {
        lock.unlock();
      }
    }

    void leave() {
      lock.lock();
      try {
        drivers--;
        if (drivers == 0 && arena != null) {
          arena.close();
          arena = null;
        }
      } finally {
        lock.unlock();
      }
    }

    long touchedBytes() {
      long touched = 0;
      for (int g = 0; g < groups.length(); g++) {
        AtomicReferenceArray<@Nullable MemorySegment> group = groups.get(g);
        for (int c = 0; group != null && c < group.length(); c++) {
          MemorySegment chunk = group.get(c);
          touched += chunk == null ? 0 : chunk.byteSize();
        }
      }
      return touched;
    }

    @Nullable MemorySegment ifThere(long offset) {
      long index = offset >>> CHUNK_SHIFT;
      AtomicReferenceArray<@Nullable MemorySegment> group =
          groups.get((int) (index >>> GROUP_SHIFT));
      return group == null ? null : group.get((int) (index & (GROUP_CHUNKS - 1)));
    }

    MemorySegment at(long offset) {
      MemorySegment there = ifThere(offset);
      if (there != null) {
        return there;
      }
      lock.lock();
      try {
        return make(offset >>> CHUNK_SHIFT);
      } finally {
        lock.unlock();
      }
    }

    /** With the lock held. */
    @SuppressWarnings("MustBeClosedChecker") // closed by leave()
    private MemorySegment make(long index) {
      if (drivers == 0) {
        throw new IllegalStateException("device memory was freed under a copy");
      }
      int g = (int) (index >>> GROUP_SHIFT);
      int c = (int) (index & (GROUP_CHUNKS - 1));
      AtomicReferenceArray<@Nullable MemorySegment> group = groups.get(g);
      if (group == null) {
        long chunksFromHere = count() - ((long) g << GROUP_SHIFT);
        group = new AtomicReferenceArray<>((int) Math.min(GROUP_CHUNKS, chunksFromHere));
        groups.set(g, group);
      }
      MemorySegment chunk = group.get(c);
      if (chunk == null) {
        if (arena == null) {
          arena = Arena.ofShared();
        }
        long chunkBytes = Math.min(CHUNK_BYTES, bytes - (index << CHUNK_SHIFT));
        chunk = arena.allocate(chunkBytes, 64).fill(fresh);
        group.set(c, chunk);
      }
      return chunk;
    }
  }
}
