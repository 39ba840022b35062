package io.holdfast.internal.pin;

import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernel.LockMode;
import io.holdfast.spi.HostKernel.OpenMode;
import java.nio.file.Path;
import java.util.Objects;
import java.util.function.BooleanSupplier;

/**
 * A lock file by which processes of one host take turns at the driver. The kernel gives the lock
 * back when a process ends, however it ends. For one thread at a time.
 */
final class TurnFile implements AutoCloseable {
  /** Between two tries. */
  static final long POLL_NANOS = 100_000;

  /** How long others get after a turn: longer than they sleep. */
  static final long REST_NANOS = 2 * POLL_NANOS;

  private final HostKernel kernel;
  private final FileHandle file;

  private TurnFile(HostKernel kernel, FileHandle file) {
    this.kernel = kernel;
    this.file = file;
  }

  /** Opens the file, and makes it where it is not there. */
  static TurnFile open(HostKernel kernel, Path path) {
    Path absolute = path.toAbsolutePath();
    Path folder = absolute.getParent();
    Path name = absolute.getFileName();
    if (folder == null || name == null) {
      throw new IllegalArgumentException(path + " names no file");
    }
    DirectoryHandle directory = kernel.openDirectory(folder);
    try {
      return new TurnFile(kernel, openOrCreate(kernel, directory, name.toString()));
    } finally {
      kernel.close(directory);
    }
  }

  private static FileHandle openOrCreate(HostKernel kernel, DirectoryHandle folder, String name) {
    while (true) {
      try {
        return kernel.open(folder, name, OpenMode.EXISTING);
      } catch (HostKernelException failure) {
        if (!failure.is(Errno.ENOENT)) {
          throw failure;
        }
      }
      try {
        return kernel.open(folder, name, OpenMode.CREATE_NEW);
      } catch (HostKernelException failure) {
        if (!failure.is(Errno.EEXIST)) { // else another process was quicker
          throw failure;
        }
      }
    }
  }

  /**
   * Waits for our turn.
   *
   * @param wanted asked before each try
   * @return false where it is not wanted any more
   */
  boolean take(BooleanSupplier wanted) {
    Objects.requireNonNull(wanted, "wanted");
    while (wanted.getAsBoolean()) {
      if (kernel.tryLock(file, LockMode.EXCLUSIVE)) {
        return true;
      }
      kernel.pause(POLL_NANOS);
    }
    return false;
  }

  /** Ends our turn. */
  void pass() {
    kernel.unlock(file);
  }

  @Override
  public void close() {
    kernel.close(file);
  }
}
