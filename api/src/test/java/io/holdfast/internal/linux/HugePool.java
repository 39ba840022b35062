package io.holdfast.internal.linux;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernel.LockMode;
import io.holdfast.spi.HostKernel.OpenMode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;

/**
 * A pool of 2 MiB pages for one test, alone on the machine: whoever else changes pools takes the
 * same lock file (HOLDFAST_HUGETLB_LOCK, or one in the folder for temporary files). Closing puts
 * the old size back.
 */
public final class HugePool implements AutoCloseable {
  public static final long PAGE_BYTES = 2 * 1024 * 1024;

  private static final Path SIZE =
      Path.of("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
  private static final long LOCK_PAUSE_NANOS = 20_000_000;
  private static final int LOCK_TRIES = 15_000;

  private final HostKernel kernel;
  private final FileHandle lock;
  private final long oldPages;

  private HugePool(HostKernel kernel, FileHandle lock, long oldPages) {
    this.kernel = kernel;
    this.lock = lock;
    this.oldPages = oldPages;
  }

  /** Takes the lock and adds pages, or skips the test and says what is missing. */
  public static HugePool with(HostKernel kernel, long morePages) throws IOException {
    assumeTrue(Files.isWritable(SIZE), "needs the right to write " + SIZE);
    HugePool pool = new HugePool(kernel, locked(kernel), read());
    if (morePages > 0) {
      Files.writeString(SIZE, Long.toString(pool.oldPages + morePages));
      long got = read() - pool.oldPages;
      if (got < morePages) {
        pool.close();
        assumeTrue(false, "needs " + morePages + " free 2 MiB pages, the kernel found " + got);
      }
    }
    return pool;
  }

  /** How many pages can still be reserved. */
  public long available() throws IOException {
    return read("free_hugepages") - read("resv_hugepages");
  }

  /** More pages than the pool can ever give, overcommit included. */
  public long tooMany() throws IOException {
    return read() + read("nr_overcommit_hugepages") + 1;
  }

  @Override
  public void close() throws IOException {
    Files.writeString(SIZE, Long.toString(oldPages));
    kernel.close(lock);
  }

  private static FileHandle locked(HostKernel kernel) {
    String named = System.getenv("HOLDFAST_HUGETLB_LOCK");
    Path file =
        named == null
            ? Path.of(System.getProperty("java.io.tmpdir"), "holdfast-hugetlb.lock")
            : Path.of(named);
    DirectoryHandle folder =
        kernel.openDirectory(Objects.requireNonNull(file.toAbsolutePath().getParent()));
    try {
      FileHandle lock = openOrCreate(kernel, folder, file.getFileName().toString());
      for (int i = 0; i < LOCK_TRIES; i++) {
        if (kernel.tryLock(lock, LockMode.EXCLUSIVE)) {
          return lock;
        }
        kernel.pause(LOCK_PAUSE_NANOS);
      }
      kernel.close(lock);
      throw new AssertionError("Somebody holds " + file + " for minutes.");
    } finally {
      kernel.close(folder);
    }
  }

  private static FileHandle openOrCreate(HostKernel kernel, DirectoryHandle folder, String name) {
    try {
      return kernel.open(folder, name, OpenMode.CREATE_NEW);
    } catch (HostKernelException there) {
      if (!there.is(Errno.EEXIST)) {
        throw there;
      }
      return kernel.open(folder, name, OpenMode.EXISTING);
    }
  }

  private static long read() throws IOException {
    return Long.parseLong(Files.readString(SIZE).strip());
  }

  private static long read(String counter) throws IOException {
    return Long.parseLong(Files.readString(SIZE.resolveSibling(counter)).strip());
  }
}
