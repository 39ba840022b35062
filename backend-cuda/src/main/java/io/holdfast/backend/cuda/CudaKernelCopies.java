package io.holdfast.backend.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.KernelCopyPort;
import io.holdfast.spi.StreamHandle;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.Locale;
import java.util.Optional;

/**
 * Copies by the device's own cores, with the two kernels of {@code copy_rows.cu}.
 *
 * <p>The module is loaded once for each open device, into its context. A launch reads the table's
 * columns where they are, so the table stays as it is until the stream has passed the launch.
 */
final class CudaKernelCopies implements KernelCopyPort {
  private static final String RESOURCE = "copy_rows.ptx";

  // The columns, the rows, and how they are cut.
  private static final int LIKE_ARGUMENTS = 7;
  private static final int MIXED_ARGUMENTS = 5;

  private final CudaDevicePort port;
  private final long module;
  private final long copyLike;
  private final long copyMixed;

  private CudaKernelCopies(CudaDevicePort port, long module, long copyLike, long copyMixed) {
    this.port = port;
    this.module = module;
    this.copyLike = copyLike;
    this.copyMixed = copyMixed;
  }

  /**
   * What came of loading the module.
   *
   * @param copies the port, where the driver took the module
   * @param absence why not, for people; empty where it did
   */
  record Loaded(Optional<CudaKernelCopies> copies, Optional<String> absence) {
    static Loaded not(String why) {
      return new Loaded(Optional.empty(), Optional.of(why));
    }
  }

  /** Loads the module; the driver compiles it for its device, which takes up to some 100 ms. */
  static Loaded load(CudaDevicePort port) {
    CudaCalls calls = port.calls();
    if (!calls.offers(CudaFeature.KERNEL_COPY)) {
      return Loaded.not("the driver library or its binding has no calls for kernels");
    }
    byte[] text = text();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment image = arena.allocate(text.length + 1L); // ends with a zero byte
      MemorySegment.copy(text, 0, image, JAVA_BYTE, 0, text.length);
      MemorySegment like = arena.allocateFrom("holdfast_copy_like");
      MemorySegment mixed = arena.allocateFrom("holdfast_copy_mixed");
      String call = "cuModuleLoadData";
      long module = 0;
      long copyLike = 0;
      long copyMixed = 0;
      CallFrame frame = port.enter();
      int code;
      try {
        code = calls.cuModuleLoadData(frame.first, image);
        if (code == 0) {
          module = frame.first.get(JAVA_LONG, 0);
          call = "cuModuleGetFunction";
          code = calls.cuModuleGetFunction(frame.first, module, like);
          copyLike = frame.first.get(JAVA_LONG, 0);
        }
        if (code == 0) {
          code = calls.cuModuleGetFunction(frame.first, module, mixed);
          copyMixed = frame.first.get(JAVA_LONG, 0);
        }
        if (code != 0 && module != 0) {
          int _ = calls.cuModuleUnload(module);
        }
      } finally {
        port.leave(frame);
      }
      return code == 0
          ? new Loaded(
              Optional.of(new CudaKernelCopies(port, module, copyLike, copyMixed)),
              Optional.empty())
          : Loaded.not(
              "the driver does not take the copy kernels: "
                  + port.failure(call, code).getMessage());
    }
  }

  private static byte[] text() {
    try (InputStream resource = CudaKernelCopies.class.getResourceAsStream(RESOURCE)) {
      if (resource == null) {
        throw new IllegalStateException(RESOURCE + " is missing from the jar of the CUDA backend");
      }
      return resource.readAllBytes();
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
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
    long warps = (long) threadBlocks * KernelLaunch.WARPS_PER_BLOCK;
    long aimed = KernelLaunch.aimedPieceBytes(totalBytes, warps);
    long pieces = KernelLaunch.pieces(longestBytes, aimed);
    long pieceBytes = KernelLaunch.pieceBytes(longestBytes, pieces);
    boolean alike = KernelLaunch.alike(rows, pieces, totalBytes, pieceBytes);
    long items = rows * pieces;

    long first = columns.address() + from * Long.BYTES;
    long columnBytes = table.capacity() * Long.BYTES;
    int code;
    CallFrame frame = port.enter();
    try {
      MemorySegment arguments = frame.arguments;
      arguments.setAtIndex(JAVA_LONG, 0, first);
      arguments.setAtIndex(JAVA_LONG, 1, first + columnBytes);
      arguments.setAtIndex(JAVA_LONG, 2, first + 2 * columnBytes);
      arguments.setAtIndex(JAVA_LONG, 3, rows);
      if (alike) {
        arguments.setAtIndex(JAVA_LONG, 4, pieces);
        arguments.setAtIndex(JAVA_LONG, 5, pieceBytes);
        arguments.setAtIndex(JAVA_LONG, 6, KernelLaunch.group(items, warps));
        code =
            port.calls()
                .cuLaunchKernel(
                    copyLike,
                    KernelLaunch.blocks(items, threadBlocks),
                    KernelLaunch.BLOCK_THREADS,
                    stream.value(),
                    frame.argumentPointers,
                    LIKE_ARGUMENTS);
      } else {
        arguments.setAtIndex(JAVA_LONG, 4, aimed);
        code =
            port.calls()
                .cuLaunchKernel(
                    copyMixed,
                    threadBlocks,
                    KernelLaunch.BLOCK_THREADS,
                    stream.value(),
                    frame.argumentPointers,
                    MIXED_ARGUMENTS);
      }
    } finally {
      port.leave(frame);
      Reference.reachabilityFence(table);
    }
    if (code != 0) {
      throw port.failure(
          String.format(
              Locale.ROOT, "cuLaunchKernel of %d rows by %d thread blocks", rows, threadBlocks),
          code);
    }
  }

  /** Unloads the module; the context is still there. */
  void unload() {
    int code;
    CallFrame frame = port.enter();
    try {
      code = port.calls().cuModuleUnload(module);
    } finally {
      port.leave(frame);
    }
    port.check("cuModuleUnload", code);
  }
}
