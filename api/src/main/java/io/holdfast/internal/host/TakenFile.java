package io.holdfast.internal.host;

import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.internal.host.Wish.FileSpace;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.FileHandle;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A mapped file whose space is taken slice by slice, in front of its pages: the touch of a tmpfs
 * page without space is a bus error. Open until every slice has its space.
 */
final class TakenFile implements Populator.Space, AutoCloseable {
  private final HostKernel kernel;
  private final FileHandle file;
  private final long startBytes;
  private final AtomicBoolean closed = new AtomicBoolean();

  /** Takes the file over; slices count from a start in it. */
  TakenFile(HostKernel kernel, FileHandle file, long startBytes) {
    this.kernel = kernel;
    this.file = file;
    this.startBytes = startBytes;
  }

  @Override
  public void take(long offsetBytes, long bytes) {
    while (true) {
      try {
        kernel.allocate(file, startBytes + offsetBytes, bytes);
        return;
      } catch (HostKernelException refused) {
        if (refused.is(Errno.EOPNOTSUPP)) {
          return; // of an ordinary file system: then populate finds out by itself
        }
        if (!refused.is(Errno.EINTR)) {
          throw refused;
        }
      }
    }
  }

  /** The wish with the file system's room as it is now. */
  Wish asOfNow(Wish wish) {
    Optional<FileSpace> space = wish.space();
    if (space.isEmpty() || closed.get()) {
      return wish;
    }
    return wish.on(new FileSpace(kernel.fileSystem(file), space.get().mount()));
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      kernel.close(file);
    }
  }
}
