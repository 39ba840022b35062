package io.holdfast.backend.cpusim;

import io.holdfast.backend.cpusim.driver.SimClock;
import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.spi.HostKernel;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * A host port as a simulated machine has it: time is the machine's, descriptors of the simulated
 * driver can be closed, and unmapping is seen by the driver.
 */
final class MachineKernel implements HostKernel {
  private final HostKernel kernel;
  private final long processId;
  private final SimDriver driver;
  private final SimClock clock;

  MachineKernel(HostKernel kernel, long processId, SimDriver driver, SimClock clock) {
    this.processId = processId;
    this.kernel = kernel;
    this.driver = driver;
    this.clock = clock;
  }

  @Override
  public long nanoTime() {
    return clock.nanoTime();
  }

  @Override
  public void pause(long nanos) {
    clock.pause(nanos);
  }

  @Override
  public void unmap(MemorySegment range) {
    kernel.unmap(range);
    driver.unmapped(range.address(), range.byteSize());
  }

  @Override
  public void close(Handle handle) {
    if (!driver.closeDescriptor(handle.descriptor())) {
      kernel.close(handle);
    }
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
    return kernel.map(bytes, mapping);
  }

  @Override
  public void advise(MemorySegment range, Advice advice) {
    kernel.advise(range, advice);
  }

  @Override
  public void bind(MemorySegment range, NodeMode mode, Set<Integer> nodes) {
    kernel.bind(range, mode, nodes);
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
  public void wakeOnTime() {
    kernel.wakeOnTime();
  }

  @Override
  public void placeThread(ThreadPlace place) {
    kernel.placeThread(place);
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
    return kernel.memoryFile(label, hugePageBytes);
  }

  @Override
  public FileHandle takeFrom(long pid, int descriptor) {
    // a driver's descriptors are open in its own process only
    if (pid == processId) {
      int copy = driver.duplicateDescriptor(descriptor);
      if (copy >= 0) {
        return new FileHandle(copy);
      }
    }
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
    kernel.resize(file, bytes);
  }

  @Override
  public void allocate(FileHandle file, long bytes) {
    kernel.allocate(file, bytes);
  }

  @Override
  public void allocate(FileHandle file, long fromBytes, long bytes) {
    kernel.allocate(file, fromBytes, bytes);
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
    kernel.unlink(directory, name);
  }

  @Override
  public Optional<String> text(String path) {
    return kernel.text(path);
  }

  @Override
  public List<String> names(String path) {
    return kernel.names(path);
  }

  @Override
  public String toString() {
    return kernel + " of a simulated machine";
  }
}
