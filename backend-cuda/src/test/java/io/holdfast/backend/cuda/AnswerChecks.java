package io.holdfast.backend.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * The driver's answers, call by call, as they were measured on an H200 with driver 580: contexts
 * and threads, registrations, copies, batches, virtual memory, pointers. What differs on another
 * driver is a fact about that driver, and worth a look at the code that relies on it.
 */
final class AnswerChecks {
  private static final long MIB = 1 << 20;
  private static final long GRANULE = 2 * MIB;

  private static final int PROT_NONE = 0;
  private static final int PROT_READ = 1;
  private static final int PROT_READ_WRITE = 3;
  private static final int MAP_SHARED = 1;
  private static final int MAP_PRIVATE_ANONYMOUS = 0x22;
  private static final int MAP_FIXED = 0x10;

  private final CheckReport report;
  private final RawCalls cuda;
  private final RawCalls libc = RawCalls.libc();
  private final int device;
  private final Arena arena = Arena.ofAuto();
  private final MemorySegment out = arena.allocate(64, 8);
  private final MemorySegment out2 = arena.allocate(64, 8);

  AnswerChecks(CheckReport report, RawCalls cuda, int device) {
    this.report = report;
    this.cuda = cuda;
    this.device = device;
  }

  void all() {
    report.part("8  contexts and threads", this::contexts);
    report.part("9  registration", () -> withContext(this::registration));
    report.part("10 copies", () -> withContext(this::copies));
    report.part("11 batched copies", () -> withContext(this::batches));
    report.part("12 virtual memory", () -> withContext(this::virtualMemory));
    report.part("13 pointers, memory, nodes", () -> withContext(this::pointers));
  }

  private int call(String name, Object... arguments) {
    return cuda.call(name, arguments);
  }

  private void expect(String id, String what, int right, int answer) {
    report.expect(id, what, right, answer);
  }

  private long outLong() {
    return out.get(JAVA_LONG, 0);
  }

  private void withContext(CheckReport.Part part) throws Throwable {
    int code = call("cuDevicePrimaryCtxRetain", out, device);
    long context = outLong();
    if (code != 0 || call("cuCtxSetCurrent", context) != 0) {
      throw new IllegalStateException("no primary context: " + code);
    }
    try {
      part.run();
    } finally {
      call("cuCtxSetCurrent", 0L);
      call("cuDevicePrimaryCtxRelease_v2", device);
    }
  }

  private static void inNewThread(Runnable part) throws InterruptedException {
    Thread thread = Thread.ofPlatform().start(part);
    thread.join();
  }

  // ---- 8

  private void contexts() throws Exception {
    expect("8", "cuInit with a flag", 1, call("cuInit", 1));
    expect("8", "cuInit once more", 0, call("cuInit", 0));
    expect("8", "device out of range", 101, call("cuDeviceGet", out, 9999));
    expect("8", "unknown attribute", 1, call("cuDeviceGetAttribute", out, 99_999, device));
    expect("8", "PCI id into 12 bytes", 1, call("cuDeviceGetPCIBusId", out, 12, device));
    MemorySegment host = arena.allocate(4096, 4096);
    inNewThread(
        () -> {
          expect("8", "new thread: cuMemAlloc_v2", 201, call("cuMemAlloc_v2", out, 4096L));
          expect("8", "new thread: cuMemGetInfo_v2", 201, call("cuMemGetInfo_v2", out, out2));
          expect(
              "8",
              "new thread: cuMemHostRegister_v2",
              201,
              call("cuMemHostRegister_v2", host, 4096L, 0));
          expect(
              "8",
              "new thread: cuStreamCreateWithPriority",
              201,
              call("cuStreamCreateWithPriority", out, 1, 0));
          expect("8", "new thread: cuMemHostUnregister", 713, call("cuMemHostUnregister", host));
          expect(
              "8",
              "new thread: cuPointerGetAttribute",
              1,
              call("cuPointerGetAttribute", out, 2, host.address()));
          virtualMemoryWithoutContext();
        });
    expect("8", "retain", 0, call("cuDevicePrimaryCtxRetain", out, device));
    long context = outLong();
    expect("8", "current after retaining", 0, call("cuCtxGetCurrent", out));
    report.expect("8", "it is not made current", 0L, outLong());
    expect("8", "retain twice", 0, call("cuDevicePrimaryCtxRetain", out, device));
    report.expect("8", "the same handle", context, outLong());
    call("cuCtxSetCurrent", context);
    expect("8", "release twice (1)", 0, call("cuDevicePrimaryCtxRelease_v2", device));
    expect("8", "release twice (2)", 0, call("cuDevicePrimaryCtxRelease_v2", device));
    call("cuDevicePrimaryCtxGetState", device, out, out2);
    report.expect("8", "active after the last release", 0, out2.get(JAVA_INT, 0));
    expect("8", "alloc in a released context", 709, call("cuMemAlloc_v2", out, 4096L));
    expect("8", "release once more", 201, call("cuDevicePrimaryCtxRelease_v2", device));
    call("cuCtxSetCurrent", 0L);
  }

  private void virtualMemoryWithoutContext() {
    MemorySegment properties = properties(0, 0);
    expect(
        "8",
        "new thread: granularity",
        0,
        call("cuMemGetAllocationGranularity", out, properties, 0));
    expect("8", "new thread: reserve", 0, call("cuMemAddressReserve", out, GRANULE, 0L, 0L, 0L));
    long address = outLong();
    expect("8", "new thread: create", 0, call("cuMemCreate", out, GRANULE, properties, 0L));
    long handle = outLong();
    expect("8", "new thread: map", 0, call("cuMemMap", address, GRANULE, 0L, handle, 0L));
    expect(
        "8", "new thread: set access", 0, call("cuMemSetAccess", address, GRANULE, access(3), 1L));
    expect("8", "new thread: unmap", 0, call("cuMemUnmap", address, GRANULE));
    expect("8", "new thread: release", 0, call("cuMemRelease", handle));
    expect("8", "new thread: address free", 0, call("cuMemAddressFree", address, GRANULE));
  }

  // ---- 9

  private MemorySegment map(long bytes, int protection) {
    long address = libc.callLong("mmap", 0L, bytes, protection, MAP_PRIVATE_ANONYMOUS, -1, 0L);
    if (address == -1) {
      throw new IllegalStateException("mmap of " + bytes);
    }
    return segment(address, bytes);
  }

  @SuppressWarnings("restricted")
  private static MemorySegment segment(long address, long bytes) {
    return MemorySegment.ofAddress(address).reinterpret(bytes);
  }

  private void unmap(MemorySegment memory) {
    libc.call("munmap", memory.address(), memory.byteSize());
  }

  private int register(long address, long bytes, int flags) {
    return call("cuMemHostRegister_v2", address, bytes, flags);
  }

  private int unregister(long address) {
    return call("cuMemHostUnregister", address);
  }

  private void registration() {
    MemorySegment memory = map(4 * MIB, PROT_READ_WRITE);
    memory.fill((byte) 1);
    long at = memory.address();
    int[][] flagsAndAnswers = {{0, 2}, {1, 3}, {2, 2}, {8, 2}};
    for (int[] pair : flagsAndAnswers) {
      expect("9", "register with flags " + pair[0], 0, register(at, MIB, pair[0]));
      expect("9", "get flags", 0, call("cuMemHostGetFlags", out, at));
      report.expect("9", "flags after " + pair[0], pair[1], out.get(JAVA_INT, 0));
      expect(
          "9", "device pointer, inside", 0, call("cuMemHostGetDevicePointer_v2", out, at + 100, 0));
      report.expect("9", "it is the host's", at + 100, outLong());
      expect("9", "unregister", 0, unregister(at));
    }
    expect("9", "register 64 KiB in the middle", 0, register(at + 65_536, 65_536, 1));
    expect("9", "same range again", 712, register(at + 65_536, 65_536, 1));
    expect("9", "inside it", 712, register(at + 65_536 + 4096, 4096, 1));
    expect("9", "around it", 712, register(at, 262_144, 1));
    expect("9", "over its end", 712, register(at + 65_536 + 32_768, 65_536, 1));
    expect("9", "next to it", 0, register(at + 131_072, 65_536, 1));
    expect("9", "unregister an address inside", 1, unregister(at + 65_536 + 4096));
    expect("9", "unregister", 0, unregister(at + 65_536));
    expect("9", "unregister twice", 713, unregister(at + 65_536));
    expect("9", "unregister the neighbour", 0, unregister(at + 131_072));
    expect("9", "unaligned start and size", 0, register(at + 100, 1000, 1));
    expect("9", "bytes apart on the same page", 0, register(at + 2000, 1000, 1));
    expect("9", "unregister the page's start", 713, unregister(at));
    expect("9", "unregister the first", 0, unregister(at + 100));
    expect("9", "unregister the second", 0, unregister(at + 2000));
    expect("9", "0 bytes", 1, register(at, 0, 1));
    expect("9", "no address", 1, register(0, 4096, 1));
    expect("9", "flag 4 on memory", 1, register(at, 4096, 4));
    expect("9", "flag 16", 1, register(at, 4096, 16));
    unmap(memory.asSlice(MIB, 4096));
    expect("9", "over a hole", 1, register(at + MIB - 65_536, 131_072, 1));
    expect("9", "nothing mapped", 1, register(at + MIB, 4096, 1));
    MemorySegment none = map(65_536, PROT_NONE);
    expect("9", "PROT_NONE", 1, register(none.address(), 65_536, 1));
    unmap(none);
    MemorySegment read = map(65_536, PROT_READ);
    expect("9", "PROT_READ", 1, register(read.address(), 65_536, 1));
    expect("9", "PROT_READ with flag 8", 0, register(read.address(), 65_536, 9));
    expect("9", "unregister it", 0, unregister(read.address()));
    unmap(read);
    sharedMemory();
    MemorySegment gone = map(65_536, PROT_READ_WRITE);
    gone.fill((byte) 1);
    expect("9", "register", 0, register(gone.address(), 65_536, 1));
    unmap(gone);
    expect("9", "unregister after munmap", 0, unregister(gone.address()));
    expect("9", "driver memory", 0, call("cuMemHostAlloc", out, 65_536L, 0));
    long drivers = outLong();
    expect("9", "register it", 1, register(drivers, 65_536, 1));
    expect("9", "unregister it", 1, unregister(drivers));
    expect("9", "free it", 0, call("cuMemFreeHost", drivers));
    expect("9", "register", 0, register(at, 65_536, 1));
    expect("9", "free what is registered", 1, call("cuMemFreeHost", at));
    expect("9", "unregister", 0, unregister(at));
    expect("9", "alloc", 0, call("cuMemAlloc_v2", out, MIB));
    long onDevice = outLong();
    expect("9", "register a device address", 1, register(onDevice, 65_536, 1));
    call("cuMemFree_v2", onDevice);
    unmap(memory);
  }

  private void sharedMemory() {
    int file = libc.call("memfd_create", arena.allocateFrom("check"), 0);
    libc.call("ftruncate", file, 131_072L);
    long one = libc.callLong("mmap", 0L, 131_072L, PROT_READ_WRITE, MAP_SHARED, file, 0L);
    long two = libc.callLong("mmap", 0L, 131_072L, PROT_READ_WRITE, MAP_SHARED, file, 0L);
    expect("9", "shared memory file", 0, register(one, 131_072, 1));
    expect("9", "the same pages at another address", 0, register(two, 131_072, 1));
    unregister(one);
    unregister(two);
    MemorySegment both = map(131_072, PROT_READ_WRITE);
    both.fill((byte) 1);
    libc.callLong(
        "mmap",
        both.address() + 65_536,
        65_536L,
        PROT_READ_WRITE,
        MAP_SHARED | MAP_FIXED,
        file,
        0L);
    expect("9", "private and shared in one range", 0, register(both.address(), 131_072, 1));
    expect("9", "unregister it", 0, unregister(both.address()));
    unmap(both);
    libc.call("munmap", one, 131_072L);
    libc.call("munmap", two, 131_072L);
    libc.call("close", file);
  }

  // ---- 10

  private void copies() {
    MemorySegment memory = map(4 * MIB, PROT_READ_WRITE);
    memory.fill((byte) 7);
    long host = memory.address();
    call("cuMemAlloc_v2", out, MIB);
    long dev = outLong();
    call("cuStreamCreateWithPriority", out, 1, 0);
    long stream = outLong();
    expect("10", "register two neighbours (1)", 0, register(host, 65_536, 1));
    expect("10", "register two neighbours (2)", 0, register(host + 65_536, 65_536, 1));
    expect(
        "10",
        "inside one, to the device",
        0,
        call("cuMemcpyHtoDAsync_v2", dev, host, 65_536L, stream));
    expect(
        "10",
        "inside one, to the host",
        0,
        call("cuMemcpyDtoHAsync_v2", host, dev, 65_536L, stream));
    expect(
        "10",
        "across both, to the device",
        1,
        call("cuMemcpyHtoDAsync_v2", dev, host, 131_072L, stream));
    expect(
        "10",
        "across both, to the host",
        1,
        call("cuMemcpyDtoHAsync_v2", host, dev, 131_072L, stream));
    expect("10", "across both, at once", 1, call("cuMemcpyHtoD_v2", dev, host, 131_072L));
    expect("10", "across both, by address", 1, call("cuMemcpyAsync", dev, host, 131_072L, stream));
    expect(
        "10",
        "beyond the registration",
        1,
        call("cuMemcpyHtoDAsync_v2", dev, host + 65_536, 131_072L, stream));
    expect("10", "from unregistered into registered", 0, pageableFirst(dev, stream));
    expect(
        "10",
        "unregistered, to the device",
        0,
        call("cuMemcpyHtoDAsync_v2", dev, host + MIB, 65_536L, stream));
    expect(
        "10",
        "unregistered, to the host",
        0,
        call("cuMemcpyDtoHAsync_v2", host + MIB, dev, 65_536L, stream));
    expect(
        "10",
        "beyond the allocation",
        1,
        call("cuMemcpyHtoDAsync_v2", dev + MIB - 4096, host, 65_536L, stream));
    expect("10", "0 bytes to nowhere", 0, call("cuMemcpyHtoDAsync_v2", 0L, host, 0L, stream));
    expect("10", "from nowhere", 1, call("cuMemcpyHtoDAsync_v2", dev, 0L, 4096L, stream));
    expect(
        "10",
        "device source in a host call",
        0,
        call("cuMemcpyHtoDAsync_v2", dev, dev + 65_536, 4096L, stream));
    expect("10", "host to host", 0, call("cuMemcpy", host, host + 4096, 4096L));
    expect("10", "synchronise", 0, call("cuStreamSynchronize", stream));
    call("cuMemAlloc_v2", out, 4096L);
    long freed = outLong();
    expect("10", "free", 0, call("cuMemFree_v2", freed));
    expect("10", "freed address", 1, call("cuMemcpyHtoDAsync_v2", freed, host, 4096L, stream));
    expect("10", "free twice", 1, call("cuMemFree_v2", freed));
    expect("10", "free inside", 1, call("cuMemFree_v2", dev + 4096));
    expect("10", "free 0", 0, call("cuMemFree_v2", 0L));
    expect("10", "alloc 0 bytes", 1, call("cuMemAlloc_v2", out, 0L));
    expect("10", "alloc 1 TiB", 2, call("cuMemAlloc_v2", out, 1L << 40));
    events(stream);
    unregister(host);
    unregister(host + 65_536);
    call("cuStreamDestroy_v2", stream);
    call("cuMemFree_v2", dev);
    unmap(memory);
  }

  private int pageableFirst(long dev, long stream) {
    MemorySegment memory = map(131_072, PROT_READ_WRITE);
    memory.fill((byte) 1);
    register(memory.address() + 65_536, 65_536, 1);
    int answer = call("cuMemcpyHtoDAsync_v2", dev, memory.address() + 32_768, 65_536L, stream);
    call("cuStreamSynchronize", stream);
    unregister(memory.address() + 65_536);
    unmap(memory);
    return answer;
  }

  private void events(long stream) {
    expect("10", "event flags 4 alone", 1, call("cuEventCreate", out, 4));
    expect("10", "event flags 0x100", 1, call("cuEventCreate", out, 0x100));
    call("cuEventCreate", out, 2);
    long order = outLong();
    call("cuEventCreate", out, 0);
    long timed = outLong();
    expect("10", "query of an unrecorded event", 0, call("cuEventQuery", order));
    expect("10", "elapsed, unrecorded", 400, call("cuEventElapsedTime", out, timed, timed));
    call("cuEventRecord", order, stream);
    call("cuEventRecord", timed, stream);
    call("cuStreamSynchronize", stream);
    expect("10", "elapsed without timing", 400, call("cuEventElapsedTime", out, timed, order));
    expect("10", "elapsed", 0, call("cuEventElapsedTime", out, timed, timed));
    report.expect("10", "of one event", 0f, out.get(JAVA_FLOAT, 0));
    expect("10", "stream flags 2", 1, call("cuStreamCreate", out, 2));
    call("cuEventDestroy_v2", order);
    call("cuEventDestroy_v2", timed);
  }

  // ---- 11

  private void batches() {
    if (cuda.has("cuMemcpyBatchAsync_v2")) {
      batchRules("11 8 arguments", false);
    } else {
      report.info("11", "cuMemcpyBatchAsync_v2", "not exported");
    }
    if (cuda.has("cuMemcpyBatchAsync")) {
      batchRules("11 9 arguments", true);
    } else {
      report.info("11", "cuMemcpyBatchAsync", "not exported");
    }
  }

  private void batchRules(String id, boolean nine) {
    MemorySegment memory = map(MIB, PROT_READ_WRITE);
    memory.fill((byte) 7);
    long host = memory.address();
    call("cuMemAlloc_v2", out, MIB);
    long dev = outLong();
    call("cuStreamCreateWithPriority", out, 1, 0);
    long stream = outLong();
    register(host, 65_536, 1);
    register(host + 65_536, 65_536, 1);
    MemorySegment to = arena.allocate(JAVA_LONG, 4);
    MemorySegment from = arena.allocate(JAVA_LONG, 4);
    MemorySegment sizes = arena.allocate(JAVA_LONG, 4);
    for (int row = 0; row < 4; row++) {
      to.setAtIndex(JAVA_LONG, row, dev + row * 8192L);
      from.setAtIndex(JAVA_LONG, row, host + row * 8192L);
      sizes.setAtIndex(JAVA_LONG, row, 8192);
    }
    Batch batch = new Batch(to, from, sizes, nine);
    expect(id, "4 rows", 0, batch.call(4, 1, 0, 1, 0, stream));
    for (int order = 0; order <= 4; order++) {
      expect(
          id,
          "source order " + order,
          order == 0 || order == 4 ? 1 : 0,
          batch.call(4, order, 0, 1, 0, stream));
    }
    for (int flags = 0; flags <= 2; flags++) {
      expect(id, "flags " + flags, flags == 2 ? 1 : 0, batch.call(4, 1, flags, 1, 0, stream));
    }
    expect(id, "no attributes", 1, batch.call(4, 1, 0, 0, 0, stream));
    expect(id, "attribute from row 1 on", 1, batch.call(4, 1, 0, 1, 1, stream));
    expect(id, "no rows", 1, batch.call(0, 1, 0, 1, 0, stream));
    expect(id, "stream 0", 1, batch.call(4, 1, 0, 1, 0, 0));
    expect(id, "stream 1", 1, batch.call(4, 1, 0, 1, 0, 1));
    expect(id, "stream 2", 0, batch.call(4, 1, 0, 1, 0, 2));
    if (nine) {
      report.expect(id, "row named without a failure", -1L, batch.failedAt());
    }
    sizes.setAtIndex(JAVA_LONG, 2, 0);
    expect(id, "a row of 0 bytes", 1, batch.call(4, 1, 0, 1, 0, stream));
    sizes.setAtIndex(JAVA_LONG, 2, 8192);
    from.setAtIndex(JAVA_LONG, 2, host + 65_536 - 4096);
    expect(id, "a row across registrations", 1, batch.call(4, 1, 0, 1, 0, stream));
    if (nine) {
      report.expect(id, "the row that is named", 2L, batch.failedAt());
    }
    from.setAtIndex(JAVA_LONG, 2, dev + 65_536);
    from.setAtIndex(JAVA_LONG, 1, host + 262_144);
    expect(id, "device to device and pageable in one", 0, batch.call(4, 1, 0, 1, 0, stream));
    expect(id, "synchronise", 0, call("cuStreamSynchronize", stream));
    call("cuStreamSynchronize", 2L);
    unregister(host);
    unregister(host + 65_536);
    call("cuStreamDestroy_v2", stream);
    call("cuMemFree_v2", dev);
    unmap(memory);
  }

  private final class Batch {
    private final MemorySegment to;
    private final MemorySegment from;
    private final MemorySegment sizes;
    private final boolean nine;
    private final MemorySegment attributes = arena.allocate(CudaLayouts.COPY_ATTRIBUTES);
    private final MemorySegment rows = arena.allocate(JAVA_LONG, 4);
    private final MemorySegment failed = arena.allocate(JAVA_LONG);

    Batch(MemorySegment to, MemorySegment from, MemorySegment sizes, boolean nine) {
      this.to = to;
      this.from = from;
      this.sizes = sizes;
      this.nine = nine;
    }

    int call(long count, int order, int flags, long attributeCount, long firstRow, long stream) {
      attributes.set(JAVA_INT, 0, order);
      attributes.set(JAVA_INT, 20, flags);
      rows.set(JAVA_LONG, 0, firstRow);
      failed.set(JAVA_LONG, 0, 77);
      return nine
          ? cuda.call(
              "cuMemcpyBatchAsync",
              to,
              from,
              sizes,
              count,
              attributes,
              rows,
              attributeCount,
              failed,
              stream)
          : cuda.call(
              "cuMemcpyBatchAsync_v2",
              to,
              from,
              sizes,
              count,
              attributes,
              rows,
              attributeCount,
              stream);
    }

    long failedAt() {
      return failed.get(JAVA_LONG, 0);
    }
  }

  // ---- 12

  private MemorySegment properties(int kinds, int rdma) {
    MemorySegment properties = arena.allocate(CudaLayouts.ALLOCATION_PROPERTIES);
    properties.set(JAVA_INT, CudaLayouts.PROPERTIES_TYPE, 1);
    properties.set(JAVA_INT, CudaLayouts.PROPERTIES_HANDLE_TYPES, kinds);
    properties.set(JAVA_INT, CudaLayouts.PROPERTIES_LOCATION_TYPE, 1);
    properties.set(JAVA_INT, CudaLayouts.PROPERTIES_LOCATION_ID, device);
    properties.set(JAVA_BYTE, CudaLayouts.PROPERTIES_RDMA, (byte) rdma);
    return properties;
  }

  private MemorySegment access(int flags) {
    MemorySegment access = arena.allocate(CudaLayouts.ACCESS_DESCRIPTOR);
    access.set(JAVA_INT, CudaLayouts.ACCESS_LOCATION_TYPE, 1);
    access.set(JAVA_INT, CudaLayouts.ACCESS_LOCATION_ID, device);
    access.set(JAVA_INT, CudaLayouts.ACCESS_FLAGS, flags);
    return access;
  }

  private void virtualMemory() {
    MemorySegment plain = properties(0, 0);
    MemorySegment shared = properties(1, 1);
    for (MemorySegment form : new MemorySegment[] {plain, shared}) {
      for (int option = 0; option <= 1; option++) {
        call("cuMemGetAllocationGranularity", out, form, option);
        report.expect("12", "granularity, option " + option, GRANULE, outLong());
      }
    }
    expect("12", "reserve 4096", 1, call("cuMemAddressReserve", out, 4096L, 0L, 0L, 0L));
    expect("12", "reserve aligned to 3", 1, call("cuMemAddressReserve", out, GRANULE, 3L, 0L, 0L));
    expect("12", "reserve with a flag", 1, call("cuMemAddressReserve", out, GRANULE, 0L, 0L, 1L));
    expect(
        "12",
        "reserve aligned to 1 GiB",
        0,
        call("cuMemAddressReserve", out, GRANULE, 1L << 30, 0L, 0L));
    long aligned = outLong();
    report.expect("12", "its address", 0L, aligned % (1L << 30));
    expect("12", "free it with another size", 1, call("cuMemAddressFree", aligned, 2 * GRANULE));
    expect("12", "free it", 0, call("cuMemAddressFree", aligned, GRANULE));
    expect(
        "12", "reserve there again", 0, call("cuMemAddressReserve", out, GRANULE, 0L, aligned, 0L));
    aligned = outLong(); // a wish that a driver may ignore
    expect(
        "12",
        "reserve where something is",
        0,
        call("cuMemAddressReserve", out2, GRANULE, 0L, aligned, 0L));
    report.expect("12", "is elsewhere", true, out2.get(JAVA_LONG, 0) != aligned);
    call("cuMemAddressFree", out2.get(JAVA_LONG, 0), GRANULE);
    call("cuMemAddressFree", aligned, GRANULE);
    expect("12", "reserve 1 TiB", 0, call("cuMemAddressReserve", out, 1L << 40, 0L, 0L, 0L));
    call("cuMemAddressFree", outLong(), 1L << 40);

    expect("12", "create 4096", 1, call("cuMemCreate", out, 4096L, plain, 0L));
    MemorySegment nowhere = properties(0, 0);
    nowhere.set(JAVA_INT, CudaLayouts.PROPERTIES_LOCATION_ID, 99);
    expect("12", "create on device 99", 101, call("cuMemCreate", out, GRANULE, nowhere, 0L));
    expect("12", "create 1 TiB", 2, call("cuMemCreate", out, 1L << 40, plain, 0L));
    int fabric = call("cuMemCreate", out, GRANULE, properties(8, 0), 0L);
    report.info("12", "create for the fabric (800 without its daemon)", fabric);
    if (fabric == 0) {
      call("cuMemRelease", outLong());
    }

    call("cuMemAddressReserve", out, 4 * GRANULE, 0L, 0L, 0L);
    long at = outLong();
    expect("12", "create 4 MiB", 0, call("cuMemCreate", out, 2 * GRANULE, shared, 0L));
    long first = outLong();
    expect("12", "create 2 MiB", 0, call("cuMemCreate", out, GRANULE, plain, 0L));
    long second = outLong();
    expect("12", "map at an offset", 801, call("cuMemMap", at, GRANULE, GRANULE, first, 0L));
    expect("12", "map less than the handle", 801, call("cuMemMap", at, GRANULE, 0L, first, 0L));
    expect(
        "12", "map more than the handle", 801, call("cuMemMap", at, 2 * GRANULE, 0L, second, 0L));
    expect("12", "map off the granule", 1, call("cuMemMap", at + 4096, GRANULE, 0L, second, 0L));
    expect("12", "map", 0, call("cuMemMap", at, 2 * GRANULE, 0L, first, 0L));
    expect("12", "map over it", 1, call("cuMemMap", at + GRANULE, GRANULE, 0L, second, 0L));
    expect("12", "set before access", 1, call("cuMemsetD8_v2", at, (byte) 1, 4096L));
    expect("12", "access to a part", 1, call("cuMemSetAccess", at, GRANULE, access(3), 1L));
    expect("12", "access beyond", 1, call("cuMemSetAccess", at, 4 * GRANULE, access(3), 1L));
    expect("12", "access, flags 2", 1, call("cuMemSetAccess", at, 2 * GRANULE, access(2), 1L));
    expect("12", "access", 0, call("cuMemSetAccess", at, 2 * GRANULE, access(3), 1L));
    expect("12", "map behind", 0, call("cuMemMap", at + 2 * GRANULE, GRANULE, 0L, second, 0L));
    expect(
        "12",
        "access to the newest only",
        0,
        call("cuMemSetAccess", at + 2 * GRANULE, GRANULE, access(3), 1L));
    expect("12", "access over both", 0, call("cuMemSetAccess", at, 3 * GRANULE, access(3), 1L));
    expect("12", "set over both", 0, call("cuMemsetD8_v2", at, (byte) 1, 3 * GRANULE));
    expect("12", "set beyond", 1, call("cuMemsetD8_v2", at, (byte) 1, 4 * GRANULE));
    expect("12", "free it as an allocation", 1, call("cuMemFree_v2", at));
    call("cuPointerGetAttribute", out, 2, at);
    report.expect("12", "its memory type", 2, out.get(JAVA_INT, 0));
    call("cuPointerGetAttribute", out, 9, at);
    report.expect("12", "its device", device, out.get(JAVA_INT, 0));
    report.info("12", "its context's code", call("cuPointerGetAttribute", out, 1, at));
    call("cuPointerGetAttribute", out, 12, at);
    report.expect("12", "range size by attribute", 4 * GRANULE, outLong());
    call("cuMemGetAddressRange_v2", out, out2, at + GRANULE + 5);
    report.expect("12", "range by call: start", at, outLong());
    report.expect("12", "range by call: bytes", 2 * GRANULE, out2.get(JAVA_LONG, 0));
    expect("12", "retain by address", 0, call("cuMemRetainAllocationHandle", out, at + 4096));
    report.expect("12", "the same handle", first, outLong());
    call("cuMemRelease", first);
    exports(at, first, second);
    expect("12", "unmap a part", 1, call("cuMemUnmap", at, GRANULE));
    expect("12", "release while mapped", 0, call("cuMemRelease", first));
    expect("12", "it is still there", 0, call("cuMemsetD8_v2", at, (byte) 2, GRANULE));
    expect("12", "unmap both in one call", 0, call("cuMemUnmap", at, 3 * GRANULE));
    expect("12", "unmap what is not mapped", 0, call("cuMemUnmap", at, GRANULE));
    expect("12", "release", 0, call("cuMemRelease", second));
    expect("12", "free the addresses", 0, call("cuMemAddressFree", at, 4 * GRANULE));
  }

  private void exports(long at, long shared, long plain) {
    expect(
        "12",
        "export what was not made for it",
        1,
        call("cuMemExportToShareableHandle", out, plain, 1, 0L));
    expect("12", "export", 0, call("cuMemExportToShareableHandle", out, shared, 1, 0L));
    int file = out.get(JAVA_INT, 0);
    expect("12", "import", 0, call("cuMemImportFromShareableHandle", out, (long) file, 1));
    long imported = outLong();
    MemorySegment properties = arena.allocate(CudaLayouts.ALLOCATION_PROPERTIES);
    call("cuMemGetAllocationPropertiesFromHandle", properties, imported);
    report.expect("12", "handle kinds of an imported one", 0, properties.get(JAVA_INT, 4));
    expect("12", "release it", 0, call("cuMemRelease", imported));
    libc.call("close", file);
    expect(
        "12",
        "import a bad descriptor",
        999,
        call("cuMemImportFromShareableHandle", out, 9999L, 1));
    if (cuda.has("cuMemGetHandleForAddressRange")) {
      expect(
          "12", "dma-buf", 0, call("cuMemGetHandleForAddressRange", out, at, 2 * GRANULE, 1, 0L));
      libc.call("close", out.get(JAVA_INT, 0));
    }
  }

  // ---- 13

  private void pointers() throws Exception {
    call("cuMemAlloc_v2", out, MIB);
    long dev = outLong();
    call("cuPointerGetAttribute", out, 2, dev + 5);
    report.expect("13", "memory type of an allocation", 2, out.get(JAVA_INT, 0));
    expect("13", "host pointer of an allocation", 1, call("cuPointerGetAttribute", out, 4, dev));
    MemorySegment memory = map(65_536, PROT_READ_WRITE);
    memory.fill((byte) 1);
    out.set(JAVA_LONG, 0, 12_345);
    expect("13", "unregistered memory", 1, call("cuPointerGetAttribute", out, 2, memory.address()));
    report.expect("13", "leaves the output alone", 12_345L, outLong());
    register(memory.address(), 65_536, 1);
    call("cuPointerGetAttribute", out, 2, memory.address() + 5);
    report.expect("13", "memory type of registered memory", 1, out.get(JAVA_INT, 0));
    unregister(memory.address());
    expect("13", "range of host memory", 500, rangeCode(memory.address()));
    call("cuMemFree_v2", dev);
    expect("13", "freed memory", 1, call("cuPointerGetAttribute", out, 2, dev));
    report.info("13", "range of freed memory", rangeCode(dev));
    unmap(memory);
    call("cuMemGetInfo_v2", out, out2);
    report.info("13", "free and total", outLong() + " " + out2.get(JAVA_LONG, 0));
    for (int attribute : new int[] {11, 91, 99, 100, 102, 103, 110, 113, 124, 128, 130, 131, 134}) {
      int code = call("cuDeviceGetAttribute", out, attribute, device);
      report.info(
          "13", "attribute " + attribute, code == 0 ? out.get(JAVA_INT, 0) : "code " + code);
    }
    MemorySegment id = arena.allocate(32);
    call("cuDeviceGetPCIBusId", id, 32, device);
    String pci = id.getString(0).toLowerCase(Locale.ROOT);
    Path node = Path.of("/sys/bus/pci/devices", pci, "numa_node");
    report.info(
        "13",
        "node of " + pci + " in sysfs",
        Files.exists(node) ? Files.readString(node).strip() : "no file");
  }

  private int rangeCode(long address) {
    return call("cuMemGetAddressRange_v2", out, out2, address);
  }
}
