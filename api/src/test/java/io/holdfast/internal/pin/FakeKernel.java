package io.holdfast.internal.pin;

import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.spi.HostKernel;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

/** A host port with a clock of its own, files that are names only, and no memory. */
final class FakeKernel implements HostKernel {
  private final AtomicLong now = new AtomicLong();
  private final Map<String, Integer> files = new HashMap<>();
  private final Map<Integer, String> open = new HashMap<>();
  private final Map<String, Integer> lockedBy = new HashMap<>();
  private int nextDescriptor = 3;

  volatile Identity identity = new Identity("Linux", "6.18.1", "x86_64");
  volatile OptionalLong lockLimit = OptionalLong.empty();
  final Map<String, String> texts = new HashMap<>();

  /** Runs within each pause, after the time has passed. */
  volatile Runnable duringPause = () -> {};

  void advance(long nanos) {
    now.addAndGet(nanos);
  }

  /** How many handles are open. */
  synchronized int openHandles() {
    return open.size();
  }

  private static HostKernelException absent(String call) {
    return new HostKernelException(call, "", Errno.ENOSYS.number());
  }

  @Override
  public Identity identity() {
    return identity;
  }

  @Override
  public Pages pages() {
    return Pages.KERNEL;
  }

  @Override
  public long basePageBytes() {
    return 4096;
  }

  @Override
  public MemorySegment map(long bytes, Mapping mapping) {
    throw absent("mmap");
  }

  @Override
  public void unmap(MemorySegment range) {
    throw absent("munmap");
  }

  @Override
  public void advise(MemorySegment range, Advice advice) {
    throw absent("madvise");
  }

  @Override
  public void bind(MemorySegment range, NodeMode mode, Set<Integer> nodes) {
    throw absent("mbind");
  }

  @Override
  public int[] nodesAt(MemorySegment range, long[] offsets) {
    throw absent("move_pages");
  }

  @Override
  public ThreadPlace threadPlace() {
    throw absent("get_mempolicy");
  }

  @Override
  public void placeThread(ThreadPlace place) {
    throw absent("set_mempolicy");
  }

  @Override
  public long threadId() {
    return Thread.currentThread().threadId();
  }

  @Override
  public OptionalLong lockLimitBytes() {
    return lockLimit;
  }

  @Override
  public synchronized DirectoryHandle openDirectory(Path directory) {
    if (!directory.toString().startsWith("/locks")) {
      throw new HostKernelException("open", directory.toString(), Errno.ENOENT.number());
    }
    open.put(nextDescriptor, directory.toString());
    return new DirectoryHandle(nextDescriptor++);
  }

  @Override
  public synchronized FileHandle open(DirectoryHandle directory, String name, OpenMode mode) {
    boolean there = files.containsKey(name);
    if (mode == OpenMode.EXISTING && !there) {
      throw new HostKernelException("openat", name, Errno.ENOENT.number());
    }
    if (mode == OpenMode.CREATE_NEW && there) {
      throw new HostKernelException("openat", name, Errno.EEXIST.number());
    }
    files.put(name, 1);
    open.put(nextDescriptor, name);
    return new FileHandle(nextDescriptor++);
  }

  @Override
  public FileHandle openNameless(DirectoryHandle directory) {
    throw absent("open");
  }

  @Override
  public FileHandle memoryFile(String label, long hugePageBytes) {
    throw absent("memfd_create");
  }

  @Override
  public FileHandle takeFrom(long pid, int descriptor) {
    throw absent("pidfd_getfd");
  }

  @Override
  public FileFacts facts(Handle handle) {
    throw absent("fstat");
  }

  @Override
  public FileFacts factsOf(DirectoryHandle directory, String name) {
    throw absent("fstatat");
  }

  @Override
  public FileSystemFacts fileSystem(Handle handle) {
    throw absent("fstatfs");
  }

  @Override
  public List<String> entries(DirectoryHandle directory) {
    throw absent("readdir");
  }

  @Override
  public void resize(FileHandle file, long bytes) {
    throw absent("ftruncate");
  }

  @Override
  public void allocate(FileHandle file, long bytes) {
    throw absent("fallocate");
  }

  @Override
  public void sealSize(FileHandle file) {
    throw absent("fcntl");
  }

  @Override
  public synchronized boolean tryLock(FileHandle file, LockMode mode) {
    return lockedBy.putIfAbsent(open.get(file.descriptor()), file.descriptor()) == null;
  }

  @Override
  public synchronized void unlock(FileHandle file) {
    lockedBy.remove(open.get(file.descriptor()), file.descriptor());
  }

  /** What another process does. */
  synchronized void lockElsewhere(String name) {
    lockedBy.put(name, -1);
  }

  /** What the kernel does when that other process dies. */
  synchronized void dieElsewhere(String name) {
    lockedBy.remove(name, -1);
  }

  synchronized boolean isLocked(String name) {
    return lockedBy.containsKey(name);
  }

  @Override
  public void unlink(DirectoryHandle directory, String name) {
    throw absent("unlinkat");
  }

  @Override
  public synchronized void close(Handle handle) {
    String name = open.remove(handle.descriptor());
    if (name == null) {
      throw new HostKernelException("close", "", Errno.EBADF.number());
    }
    lockedBy.remove(name, handle.descriptor());
  }

  @Override
  public Optional<String> text(String path) {
    return Optional.ofNullable(texts.get(path));
  }

  @Override
  public List<String> names(String path) {
    return List.of();
  }

  @Override
  public long nanoTime() {
    return now.get();
  }

  @Override
  public void pause(long nanos) {
    if (!Thread.currentThread().isInterrupted()) {
      now.addAndGet(nanos);
    }
    duringPause.run();
  }
}
