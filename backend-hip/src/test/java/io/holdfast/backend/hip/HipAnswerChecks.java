package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The runtime's answers, call by call and by version, as its sources and public reports have them:
 * registrations, copies, pointers, batches, virtual memory. One table for simulated runtimes and
 * for real ones; what differs on a device is a fact about its runtime, and worth a look at the code
 * that relies on it. What aborts a process or leaks memory for good is not asked for.
 */
final class HipAnswerChecks {
  private static final long PAGE = 4096;
  private static final int HIP_6_0 = 60_000_000;
  private static final int HIP_7_0 = 70_000_000;
  private static final int HIP_7_2 = 70_200_000;
  private static final int HIP_7_13 = 71_300_000;
  private static final int HIP_7_15 = 71_500_000;

  private final CheckReport report;
  private final HipBindings hip;
  private final HipVersion version;
  private final int device;
  private final Arena arena = Arena.ofAuto();
  private final MemorySegment out = arena.allocate(64, 8);
  private final MemorySegment host = arena.allocate(16 * PAGE, PAGE);

  HipAnswerChecks(CheckReport report, HipBindings hip, HipVersion version, int device) {
    this.report = report;
    this.hip = hip;
    this.version = version;
    this.device = device;
  }

  void all() throws InterruptedException {
    // a thread of its own, so that no error is left in another's
    Thread checks =
        Thread.ofPlatform()
            .start(
                () -> {
                  report.expect("21", "hipSetDevice", 0, hip.hipSetDevice(device));
                  report.part("22 registration", this::registration);
                  report.part("23 copies and pointers", this::copies);
                  report.part("24 batched copies", this::batches);
                  report.part("25 virtual memory", this::virtualMemory);
                });
    checks.join();
  }

  private void expect(String id, String what, int right, int answer) {
    report.expect(id, what, right, answer);
    int _ = hip.hipGetLastError();
  }

  private boolean since(int number) {
    return version.number() >= number;
  }

  // ---- 22

  private void registration() {
    long at = host.address();
    expect("22", "register", 0, hip.hipHostRegister(at, 4 * PAGE, 0));
    expect("22", "the neighbour", 0, hip.hipHostRegister(at + 4 * PAGE, 4 * PAGE, 0));
    expect("22", "NULL", 1, hip.hipHostRegister(0, PAGE, 0));
    if (since(HIP_7_15)) { // before, a second object would be left for good
      expect("22", "the same range", 712, hip.hipHostRegister(at, 4 * PAGE, 0));
      expect("22", "a start inside", 712, hip.hipHostRegister(at + PAGE, PAGE, 0));
    }
    expect("22", "device pointer", 0, hip.hipHostGetDevicePointer(out, at, 0));
    expect("22", "of nothing", 1, hip.hipHostGetDevicePointer(out, at + 12 * PAGE, 0));
    expect("22", "unregister NULL", 1, hip.hipHostUnregister(0));
    expect("22", "unregister unknown", 713, hip.hipHostUnregister(at + 12 * PAGE));
    expect("22", "unregister", 0, hip.hipHostUnregister(at));
    report.expect("22", "unregister twice", 713, hip.hipHostUnregister(at));
    report.expect("21", "last error", 713, hip.hipPeekAtLastError());
    report.expect("21", "a success after it", 0, hip.hipSetDevice(device));
    report.expect(
        "21", "last error after a success", since(HIP_7_0) ? 713 : 0, hip.hipGetLastError());
    report.expect("21", "taken", 0, hip.hipPeekAtLastError());
    expect("22", "unregister the neighbour", 0, hip.hipHostUnregister(at + 4 * PAGE));
    expect("22", "runtime memory", 0, hip.hipHostMalloc(out, PAGE, 0));
    expect("22", "its end", 0, hip.hipHostFree(out.get(JAVA_LONG, 0)));
  }

  // ---- 23

  private void copies() {
    long at = host.address();
    expect("23", "hipMalloc of nothing", 0, hip.hipMalloc(out, 0));
    report.expect("23", "is NULL", 0L, out.get(JAVA_LONG, 0));
    expect("23", "hipFree of NULL", 0, hip.hipFree(0));
    expect("23", "hipMalloc", 0, hip.hipMalloc(out, 16 * PAGE));
    long memory = out.get(JAVA_LONG, 0);
    long stream = newStream();
    expect("23", "register", 0, hip.hipHostRegister(at, 4 * PAGE, 0));
    expect("23", "and behind it", 0, hip.hipHostRegister(at + 4 * PAGE, 4 * PAGE, 0));
    host.asSlice(0, 4 * PAGE).fill((byte) 0x5A);
    expect("23", "inside one", 0, hip.hipMemcpyHtoDAsync(memory, at, 4 * PAGE, stream));
    expect("23", "across two", 1, hip.hipMemcpyHtoDAsync(memory, at + 3 * PAGE, 2 * PAGE, stream));
    expect("23", "and back", 1, hip.hipMemcpyDtoHAsync(at + 3 * PAGE, memory, 2 * PAGE, stream));
    expect(
        "23",
        "past the allocation",
        1,
        hip.hipMemcpyHtoDAsync(memory + 14 * PAGE, at, 4 * PAGE, stream));
    expect("23", "nothing", 0, hip.hipMemcpyHtoDAsync(memory, at, 0, stream));
    expect("23", "back", 0, hip.hipMemcpyDtoHAsync(at + 4 * PAGE, memory, 4 * PAGE, stream));
    expect("23", "synchronised", 0, hip.hipStreamSynchronize(stream));
    report.expect("23", "the last byte", (byte) 0x5A, host.get(JAVA_BYTE, 8 * PAGE - 1));
    expect(
        "23",
        "attributes of memory nobody registered",
        since(HIP_6_0) ? 0 : 1,
        hip.hipPointerGetAttributes(out, at + 12 * PAGE));
    expect("23", "unregister", 0, hip.hipHostUnregister(at));
    expect("23", "unregister the other", 0, hip.hipHostUnregister(at + 4 * PAGE));
    expect("23", "stream", 0, hip.hipStreamDestroy(stream));
    expect("23", "free", 0, hip.hipFree(memory));
    expect("23", "free twice", 1, hip.hipFree(memory));
  }

  private long newStream() {
    expect("23", "stream", 0, hip.hipStreamCreateWithPriority(out, 1, 0));
    return out.get(JAVA_LONG, 0);
  }

  // ---- 24

  private void batches() {
    if (!hip.offers(HipFeature.BATCH_COPY)) {
      report.info("24", "batched copies", "absent");
      return;
    }
    long at = host.address();
    expect("24", "hipMalloc", 0, hip.hipMalloc(out, 4 * PAGE));
    long memory = out.get(JAVA_LONG, 0);
    long stream = newStream();
    expect("24", "register", 0, hip.hipHostRegister(at, 4 * PAGE, 0));
    MemorySegment to = arena.allocate(JAVA_LONG, 2);
    MemorySegment from = arena.allocate(JAVA_LONG, 2);
    MemorySegment bytes = arena.allocate(JAVA_LONG, 2);
    for (int row = 0; row < 2; row++) {
      to.setAtIndex(JAVA_LONG, row, memory + row * PAGE);
      from.setAtIndex(JAVA_LONG, row, at + row * PAGE);
      bytes.setAtIndex(JAVA_LONG, row, PAGE);
    }
    host.fill((byte) 0x24);
    expect("24", "without attributes", 0, batch(to, from, bytes, 2, 0, stream));
    expect(
        "24",
        "with one",
        since(HIP_7_2) && !since(HIP_7_13) ? 801 : 0,
        batch(to, from, bytes, 2, 1, stream));
    expect("24", "no rows", 1, batch(to, from, bytes, 0, 0, stream));
    bytes.setAtIndex(JAVA_LONG, 1, 0);
    expect("24", "an empty row", 1, batch(to, from, bytes, 2, 0, stream));
    report.expect("24", "which", 1L, out.get(JAVA_LONG, 0));
    bytes.setAtIndex(JAVA_LONG, 1, 8 * PAGE);
    expect("24", "a row past its memory", 1, batch(to, from, bytes, 2, 0, stream));
    report.expect("24", "which", 1L, out.get(JAVA_LONG, 0));
    expect("24", "synchronised", 0, hip.hipStreamSynchronize(stream));
    host.asSlice(0, 2 * PAGE).fill((byte) 0);
    expect("24", "back", 0, hip.hipMemcpyDtoHAsync(at, memory, 2 * PAGE, stream));
    expect("24", "synchronised", 0, hip.hipStreamSynchronize(stream));
    report.expect("24", "the first byte", (byte) 0x24, host.get(JAVA_BYTE, 0));
    report.expect("24", "the last byte", (byte) 0x24, host.get(JAVA_BYTE, 2 * PAGE - 1));
    expect("24", "unregister", 0, hip.hipHostUnregister(at));
    expect("24", "stream", 0, hip.hipStreamDestroy(stream));
    expect("24", "free", 0, hip.hipFree(memory));
  }

  private int batch(
      MemorySegment to,
      MemorySegment from,
      MemorySegment bytes,
      long rows,
      long attributes,
      long stream) {
    MemorySegment attribute = arena.allocate(24, 8);
    attribute.set(JAVA_INT, 0, 1); // in stream order
    return hip.hipMemcpyBatchAsync(
        to.address(),
        from.address(),
        bytes.address(),
        rows,
        attributes == 0 ? MemorySegment.NULL : attribute,
        attributes == 0 ? MemorySegment.NULL : arena.allocate(8, 8),
        attributes,
        out,
        stream);
  }

  // ---- 25

  private void virtualMemory() {
    if (!hip.offers(HipFeature.VIRTUAL_MEMORY)) {
      report.info("25", "virtual memory", "absent");
      return;
    }
    if (!version.virtualMemoryIsReal()) {
      out.set(JAVA_LONG, 0, 42);
      expect("25", "reserve", 0, hip.hipMemAddressReserve(out, 2 << 20, 0, 0, 0));
      report.info("25", "what a hollow reserve left in its output", out.get(JAVA_LONG, 0));
      return;
    }
    HipLayouts.Properties form = version.allocationProperties();
    MemorySegment properties = arena.allocate(64, 8);
    properties.set(JAVA_INT, form.type(), HipConstants.HIP_MEM_ALLOCATION_TYPE_PINNED);
    properties.set(JAVA_INT, form.locationType(), HipConstants.HIP_MEM_LOCATION_TYPE_DEVICE);
    properties.set(JAVA_INT, form.locationId(), device);
    expect("25", "granularity", 0, hip.hipMemGetAllocationGranularity(out, properties, 0));
    long granule = out.get(JAVA_LONG, 0);
    report.info("25", "smallest granule", granule);
    expect("25", "an odd size", 1, hip.hipMemCreate(out, granule + 1, properties, 0));
    expect("25", "create", 0, hip.hipMemCreate(out, granule, properties, 0));
    long handle = out.get(JAVA_LONG, 0);
    expect("25", "reserve", 0, hip.hipMemAddressReserve(out, 2 * granule, 0, 0, 0));
    long range = out.get(JAVA_LONG, 0);
    expect("25", "map at an offset", 1, hip.hipMemMap(range, granule, granule, handle, 0));
    expect("25", "map", 0, hip.hipMemMap(range, granule, 0, handle, 0));
    expect("25", "unmap", 0, hip.hipMemUnmap(range, granule));
    expect("25", "release", 0, hip.hipMemRelease(handle));
    expect("25", "free the addresses", 0, hip.hipMemAddressFree(range, 2 * granule));
  }
}
