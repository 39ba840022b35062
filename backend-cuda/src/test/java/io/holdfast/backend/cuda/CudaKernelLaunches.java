package io.holdfast.backend.cuda;

import static io.holdfast.backend.cpusim.driver.Codes.INVALID_HANDLE;
import static io.holdfast.backend.cpusim.driver.Codes.INVALID_VALUE;
import static io.holdfast.backend.cpusim.driver.Codes.NOT_SUPPORTED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.backend.cpusim.shim.CMemory;
import io.holdfast.backend.cpusim.shim.Words;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * What {@code cuLaunchKernel} does with the kernels of {@code copy_rows.cu}: the simulator's own
 * copy kernel reads the same three columns. Any thread.
 */
final class CudaKernelLaunches {
  private static final int LIKE_ROW_BYTES_ARGUMENT = 5;
  private static final int LARGEST_BLOCK = 1024;
  private static final int LARGEST_GROUP = 32;

  /**
   * One launch, as it was asked for.
   *
   * @param kernel its name
   * @param blocks of the grid
   * @param threads of a block
   * @param rows how many
   * @param reach bytes of a row that its pieces cover; all, where the kernel cuts rows itself
   */
  record Launch(String kernel, int blocks, int threads, long rows, long reach) {}

  private final List<Launch> seen = new CopyOnWriteArrayList<>();

  /** All launches so far, oldest first. */
  List<Launch> seen() {
    return List.copyOf(seen);
  }

  Launch last() {
    return seen.getLast();
  }

  int launch(SimDriver driver, Words w) {
    String kernel = driver.kernelName(w.int64(0));
    if (kernel == null) {
      return INVALID_HANDLE;
    }
    boolean alike = kernel.equals("holdfast_copy_like");
    if (!alike && !kernel.equals("holdfast_copy_mixed")) {
      return NOT_SUPPORTED; // a kernel that nobody here can run
    }
    int threads = w.int32(4);
    boolean flat = w.int32(2) == 1 && w.int32(3) == 1 && w.int32(5) == 1 && w.int32(6) == 1;
    boolean plain = w.int32(7) == 0 && w.isNull(10);
    if (!flat || !plain || w.int32(1) < 1 || threads < 1 || threads > LARGEST_BLOCK) {
      return INVALID_VALUE;
    }
    MemorySegment arguments = w.pointee(9);
    long to = argument(arguments, 0);
    long capacity = (argument(arguments, 1) - to) / Long.BYTES;
    boolean evenly = argument(arguments, 2) - argument(arguments, 1) == capacity * Long.BYTES;
    long rows = argument(arguments, 3);
    if (!evenly || rows < 0 || rows > capacity) {
      return INVALID_VALUE;
    }
    long reach = Long.MAX_VALUE;
    if (alike) {
      long group = argument(arguments, 6);
      reach = argument(arguments, 4) * argument(arguments, LIKE_ROW_BYTES_ARGUMENT);
      if (group < 1 || group > LARGEST_GROUP) {
        return INVALID_VALUE;
      }
    }
    seen.add(new Launch(kernel, w.int32(1), threads, rows, reach));
    return driver.launchCopyKernel(to, capacity, 0, rows, w.int32(1), reach, w.int64(8));
  }

  private static long argument(MemorySegment pointers, int index) {
    return CMemory.at(pointers.getAtIndex(JAVA_LONG_UNALIGNED, index)).get(JAVA_LONG_UNALIGNED, 0);
  }
}
