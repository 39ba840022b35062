package io.holdfast.internal.event;

import io.holdfast.event.Activity;
import io.holdfast.spi.HostKernel;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Predicate;

/** A host port whose calls that can block are timed. */
public final class TimedHostKernel implements HostKernel {
  private final HostKernel kernel;
  private final Journal journal;

  /**
   * Stands before a port.
   *
   * @param kernel whose calls are made
   * @param journal hears of those that take long
   */
  public TimedHostKernel(HostKernel kernel, Journal journal) {
    this.kernel = kernel;
    this.journal = journal;
  }

  @Override
  public Identity identity() {
    return kernel.identity();
  }

  @Override
  public Pages pages() {
    return kernel.pages();
  }

  @Override
  public long basePageBytes() {
    return kernel.basePageBytes();
  }

  @Override
  public MemorySegment map(long bytes, Mapping mapping) {
    long begun = System.nanoTime();
    try {
      return kernel.map(bytes, mapping);
    } finally {
      journal.called("kernel map", begun);
    }
  }

  @Override
  public void unmap(MemorySegment range) {
    long begun = System.nanoTime();
    try {
      kernel.unmap(range);
    } finally {
      journal.called("kernel unmap", begun);
    }
  }

  @Override
  public void advise(MemorySegment range, Advice advice) {
    if (advice != Advice.POPULATE_WRITE) {
      kernel.advise(range, advice);
      return;
    }
    Object told = journal.begin(Activity.POPULATE);
    long begun = kernel.nanoTime();
    try {
      kernel.advise(range, advice);
      journal.done(Activity.POPULATE, told, "slice", range.byteSize(), kernel.nanoTime() - begun);
    } catch (RuntimeException failure) {
      journal.failed(Activity.POPULATE, told, "slice", kernel.nanoTime() - begun, failure);
      throw failure;
    }
  }

  @Override
  public void bind(MemorySegment range, NodeMode mode, Set<Integer> nodes) {
    long begun = System.nanoTime();
    try {
      kernel.bind(range, mode, nodes);
    } finally {
      journal.called("kernel bind", begun);
    }
  }

  @Override
  public int[] nodesAt(MemorySegment range, long[] offsets) {
    return kernel.nodesAt(range, offsets);
  }

  @Override
  public int[] nodes(MemorySegment range, long stepBytes) {
    return kernel.nodes(range, stepBytes);
  }

  @Override
  public ThreadPlace threadPlace() {
    return kernel.threadPlace();
  }

  @Override
  public void placeThread(ThreadPlace place) {
    kernel.placeThread(place);
  }

  @Override
  public void wakeOnTime() {
    kernel.wakeOnTime();
  }

  @Override
  public long threadId() {
    return kernel.threadId();
  }

  @Override
  public OptionalLong lockLimitBytes() {
    return kernel.lockLimitBytes();
  }

  @Override
  public DirectoryHandle openDirectory(Path directory) {
    return kernel.openDirectory(directory);
  }

  @Override
  public FileHandle open(DirectoryHandle directory, String name, OpenMode mode) {
    return kernel.open(directory, name, mode);
  }

  @Override
  public FileHandle openNameless(DirectoryHandle directory) {
    return kernel.openNameless(directory);
  }

  @Override
  public FileHandle memoryFile(String label, long hugePageBytes) {
    long begun = System.nanoTime();
    try {
      return kernel.memoryFile(label, hugePageBytes);
    } finally {
      journal.called("kernel memoryFile", begun);
    }
  }

  @Override
  public FileHandle takeFrom(long pid, int descriptor) {
    return kernel.takeFrom(pid, descriptor);
  }

  @Override
  public FileFacts facts(Handle handle) {
    return kernel.facts(handle);
  }

  @Override
  public FileFacts factsOf(DirectoryHandle directory, String name) {
    return kernel.factsOf(directory, name);
  }

  @Override
  public FileSystemFacts fileSystem(Handle handle) {
    return kernel.fileSystem(handle);
  }

  @Override
  public List<String> entries(DirectoryHandle directory) {
    return kernel.entries(directory);
  }

  @Override
  public void resize(FileHandle file, long bytes) {
    long begun = System.nanoTime();
    try {
      kernel.resize(file, bytes);
    } finally {
      journal.called("kernel resize", begun);
    }
  }

  @Override
  public void allocate(FileHandle file, long bytes) {
    long begun = System.nanoTime();
    try {
      kernel.allocate(file, bytes);
    } finally {
      journal.called("kernel allocate", begun);
    }
  }

  @Override
  public void allocate(FileHandle file, long fromBytes, long bytes) {
    long begun = System.nanoTime();
    try {
      kernel.allocate(file, fromBytes, bytes);
    } finally {
      journal.called("kernel allocate", begun);
    }
  }

  @Override
  public void sealSize(FileHandle file) {
    kernel.sealSize(file);
  }

  @Override
  public boolean tryLock(FileHandle file, LockMode mode) {
    return kernel.tryLock(file, mode);
  }

  @Override
  public void unlock(FileHandle file) {
    kernel.unlock(file);
  }

  @Override
  public void unlink(DirectoryHandle directory, String name) {
    long begun = System.nanoTime();
    try {
      kernel.unlink(directory, name);
    } finally {
      journal.called("kernel unlink", begun);
    }
  }

  @Override
  public void close(Handle handle) {
    kernel.close(handle);
  }

  @Override
  public Optional<String> text(String path) {
    return kernel.text(path);
  }

  @Override
  public void lines(String path, Predicate<String> reader) {
    kernel.lines(path, reader);
  }

  @Override
  public List<String> names(String path) {
    return kernel.names(path);
  }

  @Override
  public long nanoTime() {
    return kernel.nanoTime();
  }

  @Override
  public void pause(long nanos) {
    kernel.pause(nanos);
  }

  @Override
  public String toString() {
    return kernel.toString();
  }
}
