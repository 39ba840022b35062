package io.holdfast.backend.hip;

import static io.holdfast.backend.cpusim.driver.Codes.INVALID_HANDLE;
import static io.holdfast.backend.cpusim.driver.Codes.INVALID_VALUE;
import static io.holdfast.backend.cpusim.driver.Codes.NOT_SUPPORTED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.backend.cpusim.shim.CMemory;
import io.holdfast.backend.cpusim.shim.ExportTable;
import io.holdfast.backend.cpusim.shim.Words;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The run-time compiler, which keeps the kernels' names and compiles nothing, and what launches of
 * those of {@code copy_rows.cu} do: the simulator's own copy kernel reads the same three columns.
 * Any thread.
 */
final class HipKernelLaunches {
  private static final int COMPILATION = 6; // HIPRTC_ERROR_COMPILATION
  private static final int INVALID_PROGRAM = 4;
  private static final int LIKE_PIECE_BYTES_ARGUMENT = 5;
  private static final int LARGEST_BLOCK = 1024;
  private static final int LARGEST_GROUP = 32;
  private static final String CODE_OBJECT = "a code object of ";
  private static final Pattern KERNEL = Pattern.compile("\\b(holdfast_\\w+)\\(");

  /**
   * One launch, as it was asked for.
   *
   * @param kernel its name
   * @param blocks of the grid
   * @param threads of a block
   * @param rows how many
   */
  record Launch(String kernel, int blocks, int threads, long rows) {}

  private final List<Launch> seen = new CopyOnWriteArrayList<>();
  private final Map<Long, String> programs = new ConcurrentHashMap<>();
  private final AtomicLong nextProgram = new AtomicLong(0x1000);

  /** All launches so far, oldest first. */
  List<Launch> seen() {
    return List.copyOf(seen);
  }

  void compiler(ExportTable table) {
    table.put("hiprtcGetErrorString", w -> CMemory.text("HIPRTC code " + w.int32(0)));
    table.put(
        "hiprtcCreateProgram",
        w -> {
          long program = nextProgram.getAndAdd(0x10);
          programs.put(program, w.pointee(1).getString(0));
          CMemory.putLong(w.int64(0), program);
          return 0;
        });
    table.put("hiprtcCompileProgram", this::compile);
    table.put("hiprtcGetProgramLogSize", w -> size(w, 1));
    table.put("hiprtcGetProgramLog", w -> put(w, ""));
    table.put("hiprtcGetCodeSize", w -> size(w, code(w.int64(0)).length() + 1L));
    table.put("hiprtcGetCode", w -> put(w, code(w.int64(0))));
    table.put(
        "hiprtcDestroyProgram",
        w ->
            programs.remove(w.pointee(0).get(JAVA_LONG_UNALIGNED, 0)) == null
                ? INVALID_PROGRAM
                : 0);
  }

  private int compile(Words w) {
    Set<String> options = new HashSet<>();
    for (int i = 0; i < w.int32(1); i++) {
      options.add(CMemory.at(w.pointee(2).getAtIndex(JAVA_LONG_UNALIGNED, i)).getString(0));
    }
    return programs.containsKey(w.int64(0))
            && options.contains("-DLANES=64u")
            && code(w.int64(0)).length() > CODE_OBJECT.length()
        ? 0
        : COMPILATION;
  }

  private int size(Words w, long bytes) {
    CMemory.putLong(w.int64(1), bytes);
    return programs.containsKey(w.int64(0)) ? 0 : INVALID_PROGRAM;
  }

  private int put(Words w, String text) {
    w.pointee(1).setString(0, text);
    return programs.containsKey(w.int64(0)) ? 0 : INVALID_PROGRAM;
  }

  /** What is loaded afterwards: the names are all that there is of kernels here. */
  private String code(long program) {
    Matcher kernel = KERNEL.matcher(programs.getOrDefault(program, ""));
    StringBuilder code = new StringBuilder(CODE_OBJECT);
    while (kernel.find()) {
      code.append(kernel.group(1)).append(' ');
    }
    return code.toString();
  }

  /** The kernels of a code object; none of anything else. */
  Set<String> kernelsOf(long image) {
    String text = CMemory.at(image).getString(0);
    return text.startsWith(CODE_OBJECT)
        ? Set.of(text.substring(CODE_OBJECT.length()).strip().split(" "))
        : Set.of();
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
      reach = argument(arguments, 4) * argument(arguments, LIKE_PIECE_BYTES_ARGUMENT);
      if (group < 1 || group > LARGEST_GROUP) {
        return INVALID_VALUE;
      }
    }
    seen.add(new Launch(kernel, w.int32(1), threads, rows));
    return driver.launchCopyKernel(to, capacity, 0, rows, w.int32(1), reach, w.int64(8));
  }

  private static long argument(MemorySegment pointers, int index) {
    return CMemory.at(pointers.getAtIndex(JAVA_LONG_UNALIGNED, index)).get(JAVA_LONG_UNALIGNED, 0);
  }
}
