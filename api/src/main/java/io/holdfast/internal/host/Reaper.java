package io.holdfast.internal.host;

import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.HostKernel.FileFacts;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernel.FileKind;
import io.holdfast.spi.HostKernel.LockMode;
import io.holdfast.spi.HostKernel.OpenMode;
import java.util.ArrayList;
import java.util.List;

/**
 * Removes names of ours that belong to nobody. The proof is the file's lock: who makes such a file
 * holds it as long as the name is there, and the kernel gives it up with the process.
 */
final class Reaper {
  private Reaper() {}

  /** Removes what is stale in a directory; says what and by what proof. */
  static List<String> reap(HostKernel kernel, DirectoryHandle folder) {
    List<String> removed = new ArrayList<>();
    for (String name : kernel.entries(folder)) {
      if (SharedNames.isOurs(name)) {
        long bytes = allocatedBytes(kernel, folder, name);
        if (removeIfStale(kernel, folder, name)) {
          removed.add(
              name + " (" + bytes + " bytes): its lock could be had alone, so no process has it");
        }
      }
    }
    return removed;
  }

  private static long allocatedBytes(HostKernel kernel, DirectoryHandle folder, String name) {
    try {
      return kernel.factsOf(folder, name).allocatedBytes();
    } catch (HostKernelException gone) {
      return 0;
    }
  }

  /** Removes a name if nobody holds its file's lock. */
  static boolean removeIfStale(HostKernel kernel, DirectoryHandle folder, String name) {
    FileHandle file;
    try {
      if (kernel.factsOf(folder, name).kind() != FileKind.REGULAR) {
        return false;
      }
      file = kernel.open(folder, name, OpenMode.EXISTING);
    } catch (HostKernelException refused) {
      if (refused.is(Errno.ENOENT)
          || refused.is(Errno.EACCES)
          || refused.is(Errno.EPERM)
          || refused.is(Errno.ELOOP)) {
        return false; // gone by now, or not ours
      }
      throw refused;
    }
    try {
      return removeIfStale(kernel, folder, name, file);
    } finally {
      kernel.close(file);
    }
  }

  /** The same for a file that is open; where it is stale, its lock is held until it is closed. */
  static boolean removeIfStale(
      HostKernel kernel, DirectoryHandle folder, String name, FileHandle file) {
    if (!kernel.tryLock(file, LockMode.EXCLUSIVE)) {
      return false;
    }
    try {
      FileFacts named = kernel.factsOf(folder, name);
      if (named.sameFileAs(kernel.facts(file))) {
        kernel.unlink(folder, name);
        return true;
      }
    } catch (HostKernelException refused) {
      if (!refused.is(Errno.ENOENT)) {
        throw refused;
      }
    }
    kernel.unlock(file);
    return false;
  }
}
