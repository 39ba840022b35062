package io.holdfast.backend.cpusim.host;

import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.error.SettingException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * Bytes that cost nothing until they are touched: a sparse file that is gone when it is closed.
 *
 * <p>Each view is a mapping of its own; shared views have their bytes in common. Any thread.
 */
final class SparseStore implements AutoCloseable {
  /** Names the folder of the files; the system's one for temporary files by default. */
  static final String FOLDER_PROPERTY = "holdfast.cpusim.folder";

  private static final int ATTEMPTS_TO_ALIGN = 16;

  private final FileChannel channel;

  SparseStore() {
    try {
      String folder = System.getProperty(FOLDER_PROPERTY, System.getProperty("java.io.tmpdir"));
      Path file = Files.createTempFile(Path.of(folder), "holdfast-sim-", ".pages");
      this.channel =
          FileChannel.open(
              file,
              StandardOpenOption.READ,
              StandardOpenOption.WRITE,
              StandardOpenOption.SPARSE,
              StandardOpenOption.DELETE_ON_CLOSE);
    } catch (IOException | InvalidPathException refused) {
      String named = System.getProperty(FOLDER_PROPERTY);
      if (named != null) {
        throw new SettingException(
            FOLDER_PROPERTY, named, "a folder in which a file can be made", refused);
      }
      throw refused("a file for simulated memory", refused);
    }
  }

  /** A view that nobody shares, at an aligned address: its start moves, not the mapping. */
  @SuppressWarnings("MustBeClosedChecker") // the view's owner closes it
  View own(long bytes, long alignment) {
    Arena arena = Arena.ofShared();
    try {
      MemorySegment all = map(0, Math.addExact(bytes, alignment), arena);
      return new View(arena, Math.ceilDiv(all.address(), alignment) * alignment);
    } catch (RuntimeException refused) {
      arena.close();
      throw refused;
    }
  }

  /**
   * A view of bytes that others can see too, at an aligned address where the operating system can
   * be brought to it: mappings follow one another downwards, so that one of the right size before
   * moves the next.
   */
  @SuppressWarnings("MustBeClosedChecker") // the view's owner closes it
  View shared(long offset, long bytes, long alignment) {
    List<Arena> paddings = new ArrayList<>();
    try (SparseStore padding = new SparseStore()) {
      for (int attempt = 1; ; attempt++) {
        Arena arena = Arena.ofShared();
        long address;
        try {
          address = map(offset, bytes, arena).address();
        } catch (RuntimeException refused) {
          arena.close();
          throw refused;
        }
        long beyond = address % alignment;
        if (beyond == 0 || attempt == ATTEMPTS_TO_ALIGN) {
          return new View(arena, address);
        }
        arena.close();
        Arena room = Arena.ofShared();
        paddings.add(room);
        padding.map(0, beyond, room);
      }
    } finally {
      paddings.forEach(Arena::close);
    }
  }

  private MemorySegment map(long offset, long bytes, Arena arena) {
    try {
      return channel.map(FileChannel.MapMode.READ_WRITE, offset, bytes, arena);
    } catch (IOException | IllegalArgumentException | OutOfMemoryError refused) {
      throw refused(bytes + " bytes of simulated memory", refused);
    }
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException refused) {
      throw refused("closing simulated memory", refused);
    }
  }

  private static HostKernelException refused(String what, Throwable cause) {
    HostKernelException failure =
        new HostKernelException(
            "mmap",
            what,
            Errno.ENOMEM.number(),
            "The simulator keeps host memory in sparse files; name a folder that can hold them with"
                + " -D"
                + FOLDER_PROPERTY);
    failure.addSuppressed(cause);
    return failure;
  }

  /**
   * A mapping.
   *
   * @param arena unmaps it
   * @param address its first byte
   */
  record View(Arena arena, long address) {}
}
