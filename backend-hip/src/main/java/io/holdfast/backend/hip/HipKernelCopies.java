package io.holdfast.backend.hip;

import static io.holdfast.backend.hip.HipConstants.HIP_DEVICE_ATTRIBUTE_WARP_SIZE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.KernelCopyPort;
import io.holdfast.spi.StreamHandle;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.Locale;
import java.util.Optional;

/**
 * Copies by the device's own cores, with the two kernels that CUDA has as well, compiled for the
 * present architecture when the device is opened. Off unless it is asked for: no run of them on AMD
 * hardware is known.
 *
 * <p>A launch reads the table's columns where they are, so the table stays as it is until the
 * stream has passed the launch.
 */
final class HipKernelCopies implements KernelCopyPort {
  /** AMD's data centre devices; consumer ones have 32. */
  private static final int USUAL_LANES = 64;

  private final HipDevicePort port;
  private final HipLaunch launch;
  private final long module;
  private final long copyLike;
  private final long copyMixed;

  private HipKernelCopies(
      HipDevicePort port, HipLaunch launch, long module, long copyLike, long copyMixed) {
    this.port = port;
    this.launch = launch;
    this.module = module;
    this.copyLike = copyLike;
    this.copyMixed = copyMixed;
  }

  /**
   * What came of compiling and loading.
   *
   * @param copies the port, where it worked
   * @param absence why not, for people; empty where it did
   */
  record Loaded(Optional<HipKernelCopies> copies, Optional<String> absence) {
    static Loaded not(String why) {
      return new Loaded(Optional.empty(), Optional.of(why));
    }
  }

  /** Compiles and loads, which takes up to some seconds. */
  static Loaded load(HipDevicePort port, HipDriver.KernelWish wish) {
    if (wish == HipDriver.KernelWish.OFF) {
      return Loaded.not(
          "they are off on HIP until somebody reports a run on AMD hardware; -D"
              + HipLoader.KERNELS_PROPERTY
              + "=on turns them on");
    }
    if (!port.hip().offers(HipFeature.KERNEL_COPY)) {
      return Loaded.not("the HIP runtime has no calls for kernels");
    }
    return switch (port.hip().compiler(port.version())) {
      case HipCompiler.Search.Absent absent -> Loaded.not(absent.why());
      case HipCompiler.Search.Found found -> load(port, found.compiler());
    };
  }

  private static Loaded load(HipDevicePort port, HipCompiler compiler) {
    HipLaunch launch = new HipLaunch(port.attribute(HIP_DEVICE_ATTRIBUTE_WARP_SIZE, USUAL_LANES));
    try (Arena arena = Arena.ofConfined()) {
      HipFrame frame = port.enter(); // the compiler asks for the current device's architecture
      HipCompiler.Outcome outcome;
      try {
        outcome = compiler.compile(launch.lanes(), arena);
      } finally {
        port.leave(frame, 0);
      }
      return switch (outcome) {
        case HipCompiler.Outcome.Refused no ->
            Loaded.not("the copy kernels do not compile: " + no.why());
        case HipCompiler.Outcome.Compiled done -> load(port, launch, done.image(), arena);
      };
    }
  }

  private static Loaded load(
      HipDevicePort port, HipLaunch launch, MemorySegment image, Arena arena) {
    HipBindings hip = port.hip();
    MemorySegment like = arena.allocateFrom("holdfast_copy_like");
    MemorySegment mixed = arena.allocateFrom("holdfast_copy_mixed");
    String call = "hipModuleLoadData";
    long module = 0;
    long copyLike = 0;
    long copyMixed = 0;
    int code = 0;
    HipFrame frame = port.enter();
    try {
      code = hip.hipModuleLoadData(frame.first, image);
      if (code == 0) {
        module = frame.first.get(JAVA_LONG, 0);
        call = "hipModuleGetFunction";
        code = hip.hipModuleGetFunction(frame.first, module, like);
        copyLike = frame.first.get(JAVA_LONG, 0);
      }
      if (code == 0) {
        code = hip.hipModuleGetFunction(frame.first, module, mixed);
        copyMixed = frame.first.get(JAVA_LONG, 0);
      }
      if (code != 0 && module != 0) {
        int _ = hip.hipModuleUnload(module);
      }
    } finally {
      port.leave(frame, code);
    }
    return code == 0
        ? new Loaded(
            Optional.of(new HipKernelCopies(port, launch, module, copyLike, copyMixed)),
            Optional.empty())
        : Loaded.not(
            "the runtime does not take the copy kernels: " + port.failure(call, code).getMessage());
  }

  @Override
  public void copyByKernel(
      CopyTable table,
      DeviceRange columns,
      long from,
      long to,
      int threadBlocks,
      StreamHandle stream) {
    long rows = to - from;
    long totalBytes = 0;
    long longestBytes = 0;
    for (long row = from; row < to; row++) {
      long bytes = table.bytes(row);
      totalBytes += bytes;
      longestBytes = Math.max(longestBytes, bytes);
    }
    if (longestBytes == 0) {
      return; // also without rows
    }
    long wavefronts = (long) threadBlocks * launch.wavefrontsPerBlock();
    long aimed = launch.aimedPieceBytes(totalBytes, wavefronts);
    long pieces = HipLaunch.pieces(longestBytes, aimed);
    long pieceBytes = HipLaunch.pieceBytes(longestBytes, pieces);
    boolean alike = HipLaunch.alike(rows, pieces, totalBytes, pieceBytes);
    long items = rows * pieces;

    long first = columns.address() + from * Long.BYTES;
    long columnBytes = table.capacity() * Long.BYTES;
    int code = 0;
    HipFrame frame = port.enter();
    try {
      MemorySegment arguments = frame.arguments;
      arguments.setAtIndex(JAVA_LONG, 0, first);
      arguments.setAtIndex(JAVA_LONG, 1, first + columnBytes);
      arguments.setAtIndex(JAVA_LONG, 2, first + 2 * columnBytes);
      arguments.setAtIndex(JAVA_LONG, 3, rows);
      if (alike) {
        arguments.setAtIndex(JAVA_LONG, 4, pieces);
        arguments.setAtIndex(JAVA_LONG, 5, pieceBytes);
        arguments.setAtIndex(JAVA_LONG, 6, HipLaunch.group(items, wavefronts));
      } else {
        arguments.setAtIndex(JAVA_LONG, 4, aimed);
      }
      code =
          port.hip()
              .hipModuleLaunchKernel(
                  alike ? copyLike : copyMixed,
                  alike ? launch.blocks(items, threadBlocks) : threadBlocks,
                  HipLaunch.BLOCK_THREADS,
                  stream.value(),
                  frame.argumentPointers);
    } finally {
      port.leave(frame, code);
      Reference.reachabilityFence(table);
    }
    if (code != 0) {
      throw port.failure(
          String.format(
              Locale.ROOT,
              "hipModuleLaunchKernel of %d rows by %d thread blocks",
              rows,
              threadBlocks),
          code);
    }
  }

  /** Unloads the module. */
  void unload() {
    int code = 0;
    HipFrame frame = port.enter();
    try {
      code = port.hip().hipModuleUnload(module);
    } finally {
      port.leave(frame, code);
    }
    port.check("hipModuleUnload", code);
  }
}
