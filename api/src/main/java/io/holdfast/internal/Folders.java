package io.holdfast.internal;

import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.PageKind;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.DirectoryHandle;

/** Opens directories that a caller named. */
public final class Folders {
  private Folders() {}

  /**
   * Opens one.
   *
   * @param kernel whose
   * @param named by the caller
   * @return open, to be closed
   * @throws UnsupportedException where none is there, in words for whoever named it
   */
  public static DirectoryHandle open(HostKernel kernel, PageKind.Directory named) {
    try {
      return kernel.openDirectory(named.directory());
    } catch (HostKernelException refused) {
      String reason =
          switch (Errno.of(refused.errno()).orElse(Errno.EIO)) {
            case ENOENT -> "there is no such directory";
            case ENOTDIR -> "that is no directory";
            case EACCES -> "this process may not open it";
            default -> throw refused;
          };
      UnsupportedException unusable =
          new UnsupportedException(
              named.describe(), reason, "Name an existing directory on hugetlbfs or tmpfs");
      unusable.addSuppressed(refused);
      throw unusable;
    }
  }
}
