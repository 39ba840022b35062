package io.holdfast.internal.pin;

import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernel.LockMode;
import io.holdfast.spi.HostKernel.OpenMode;
import java.nio.file.Path;
import java.util.function.LongConsumer;

/**
 * What the processes of a host have pinned: a directory with one file for each backend, locked as
 * long as its process lives, and as long as what it has pinned. A file that nobody locks belongs to
 * a process that has ended, however it ended, and is removed. For one thread at a time.
 */
final class PinLedger implements AutoCloseable {
  private static final String PREFIX = "holdfast-pins-";
  private static final String TURNS = "holdfast-ledger.lock";

  private final HostKernel kernel;
  private final DirectoryHandle directory;
  private final TurnFile turns;
  private final String name;
  private final FileHandle own;

  private PinLedger(
      HostKernel kernel, DirectoryHandle directory, TurnFile turns, String name, FileHandle own) {
    this.kernel = kernel;
    this.directory = directory;
    this.turns = turns;
    this.name = name;
    this.own = own;
  }

  /** Opens an account of nothing. */
  static PinLedger open(HostKernel kernel, Path folder) {
    DirectoryHandle directory = kernel.openDirectory(folder);
    TurnFile turns = null;
    try {
      turns = TurnFile.open(kernel, folder.resolve(TURNS));
      turns.take(() -> true); // nobody takes a new file for an old one before it is locked
      try {
        return create(kernel, directory, turns);
      } finally {
        turns.pass();
      }
    } catch (Throwable failure) {
      if (turns != null) {
        turns.close();
      }
      kernel.close(directory);
      throw failure;
    }
  }

  private static PinLedger create(HostKernel kernel, DirectoryHandle directory, TurnFile turns) {
    String process = PREFIX + ProcessHandle.current().pid() + "-";
    for (int i = 0; ; i++) {
      try {
        FileHandle own = kernel.open(directory, process + i, OpenMode.CREATE_NEW);
        kernel.tryLock(own, LockMode.EXCLUSIVE);
        return new PinLedger(kernel, directory, turns, process + i, own);
      } catch (HostKernelException failure) {
        if (!failure.is(Errno.EEXIST)) {
          throw failure;
        }
      }
    }
  }

  /**
   * Does something while nobody else changes what was admitted.
   *
   * @param with given the bytes that others have pinned
   */
  void alone(LongConsumer with) {
    turns.take(() -> true);
    try {
      with.accept(others());
    } finally {
      turns.pass();
    }
  }

  /** Says how much is pinned here. */
  void write(long bytes) {
    kernel.resize(own, bytes);
  }

  private long others() {
    long sum = 0;
    for (String other : kernel.entries(directory)) {
      if (other.startsWith(PREFIX) && !other.equals(name)) {
        sum += bytesOf(other);
      }
    }
    return sum;
  }

  private long bytesOf(String other) {
    FileHandle file;
    try {
      file = kernel.open(directory, other, OpenMode.EXISTING);
    } catch (HostKernelException failure) {
      if (failure.is(Errno.ENOENT)) {
        return 0; // closed just now
      }
      throw failure;
    }
    try {
      if (kernel.tryLock(file, LockMode.EXCLUSIVE)) {
        kernel.unlink(directory, other);
        return 0;
      }
      return kernel.facts(file).bytes();
    } finally {
      kernel.close(file);
    }
  }

  @Override
  public void close() {
    try {
      kernel.unlink(directory, name);
    } finally {
      kernel.close(own);
      turns.close();
      kernel.close(directory);
    }
  }
}
