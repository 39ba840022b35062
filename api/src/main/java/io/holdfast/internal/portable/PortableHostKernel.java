package io.holdfast.internal.portable;

import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.spi.HostKernel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Predicate;

/**
 * The host port in plain Java.
 *
 * <p>A mapping is a segment of a shared arena of its own, zeroed and thereby populated when it is
 * made; unmapping closes the arena, hence only whole mappings can be unmapped, and not while a
 * native call uses one. Pages, nodes, threads' places and files are out of reach and answer ENOSYS.
 * Any thread.
 */
public final class PortableHostKernel implements HostKernel {
  // A multiple of the base page of every system that Java 25 runs on (4, 16 and 64 KiB) and of the
  // address grain of Windows: plain Java cannot ask for the real one.
  private static final long PAGE_BYTES = 64 * 1024;

  private final TextTree tree;
  // Which arena holds the mapping at an address: a segment cannot be asked for its arena.
  private final ConcurrentMap<Long, Mapped> mappings = new ConcurrentHashMap<>();

  private PortableHostKernel(TextTree tree) {
    this.tree = tree;
  }

  /**
   * Opens the port.
   *
   * @param root the folder that texts are read from
   * @return the port
   */
  public static HostKernel over(Path root) {
    return new PortableHostKernel(new TextTree(root));
  }

  @Override
  public Identity identity() {
    return new Identity(
        System.getProperty("os.name", "unknown"),
        System.getProperty("os.version", "unknown"),
        System.getProperty("os.arch", "unknown"));
  }

  @Override
  public Pages pages() {
    return Pages.PLAIN;
  }

  @Override
  public long basePageBytes() {
    return PAGE_BYTES;
  }

  @Override
  @SuppressWarnings("MustBeClosed") // unmap closes it
  public MemorySegment map(long bytes, Mapping mapping) {
    if (bytes <= 0) {
      throw new IllegalArgumentException("A mapping has at least one byte: " + bytes);
    }
    if (mapping.file().isPresent()
        || mapping.hugePageBytes() != 0
        || mapping.sharing() == Sharing.SHARED) {
      throw absent("map");
    }
    Arena arena = Arena.ofShared();
    try {
      MemorySegment memory = arena.allocate(bytes, Math.max(PAGE_BYTES, mapping.alignmentBytes()));
      mappings.put(memory.address(), new Mapped(arena, bytes));
      return memory;
    } catch (OutOfMemoryError exhausted) {
      arena.close();
      throw new HostKernelException(
          "map",
          Long.toString(bytes),
          Errno.ENOMEM.number(),
          "Ask for less, or let the Java runtime have more memory outside its heap"
              + " (-XX:MaxDirectMemorySize).");
    }
  }

  @Override
  public void unmap(MemorySegment range) {
    Mapped mapped = mappings.get(range.address());
    if (mapped == null || mapped.bytes != range.byteSize()) {
      throw new HostKernelException(
          "unmap",
          "0x" + Long.toHexString(range.address()) + ", " + range.byteSize(),
          Errno.EINVAL.number(),
          "Unmap exactly what was mapped: plain segments cannot be unmapped in parts.");
    }
    mapped.arena.close();
    mappings.remove(range.address(), mapped);
  }

  @Override
  public void advise(MemorySegment range, Advice advice) {
    if (!range.isNative()) {
      throw new IllegalArgumentException("Only native memory can be advised about.");
    }
    // Allocation has written every page already.
    if (advice != Advice.POPULATE_WRITE) {
      throw absent("advise");
    }
  }

  @Override
  public void bind(MemorySegment range, NodeMode mode, Set<Integer> nodes) {
    throw absent("bind");
  }

  @Override
  public int[] nodesAt(MemorySegment range, long[] offsets) {
    throw absent("nodesAt");
  }

  @Override
  public ThreadPlace threadPlace() {
    return new ThreadPlace(0, Set.of(), Set.of());
  }

  @Override
  public void placeThread(ThreadPlace place) {
    if (!place.equals(threadPlace())) {
      throw absent("placeThread");
    }
  }

  @Override
  public long threadId() {
    return Thread.currentThread().threadId();
  }

  @Override
  public OptionalLong lockLimitBytes() {
    return OptionalLong.empty();
  }

  @Override
  public DirectoryHandle openDirectory(Path directory) {
    throw absent("openDirectory");
  }

  @Override
  public FileHandle open(DirectoryHandle directory, String name, OpenMode mode) {
    throw absent("open");
  }

  @Override
  public FileHandle openNameless(DirectoryHandle directory) {
    throw absent("openNameless");
  }

  @Override
  public FileHandle memoryFile(String label, long hugePageBytes) {
    throw absent("memoryFile");
  }

  @Override
  public FileHandle takeFrom(long pid, int descriptor) {
    throw absent("takeFrom");
  }

  @Override
  public FileFacts facts(Handle handle) {
    throw absent("facts");
  }

  @Override
  public FileFacts factsOf(DirectoryHandle directory, String name) {
    throw absent("factsOf");
  }

  @Override
  public FileSystemFacts fileSystem(Handle handle) {
    throw absent("fileSystem");
  }

  @Override
  public List<String> entries(DirectoryHandle directory) {
    throw absent("entries");
  }

  @Override
  public void resize(FileHandle file, long bytes) {
    throw absent("resize");
  }

  @Override
  public void allocate(FileHandle file, long bytes) {
    throw absent("allocate");
  }

  @Override
  public void sealSize(FileHandle file) {
    throw absent("sealSize");
  }

  @Override
  public boolean tryLock(FileHandle file, LockMode mode) {
    throw absent("tryLock");
  }

  @Override
  public void unlock(FileHandle file) {
    throw absent("unlock");
  }

  @Override
  public void unlink(DirectoryHandle directory, String name) {
    throw absent("unlink");
  }

  @Override
  public void close(Handle handle) {
    throw absent("close");
  }

  @Override
  public Optional<String> text(String path) {
    return tree.text(path);
  }

  @Override
  public void lines(String path, Predicate<String> reader) {
    tree.lines(path, reader);
  }

  @Override
  public List<String> names(String path) {
    return tree.names(path);
  }

  @Override
  public long nanoTime() {
    return Clock.nanoTime();
  }

  @Override
  public void pause(long nanos) {
    Clock.pause(nanos);
  }

  @Override
  public String toString() {
    return "plain segments on " + identity();
  }

  private static HostKernelException absent(String call) {
    return new HostKernelException(
        call,
        "",
        Errno.ENOSYS.number(),
        "Plain segments stand in for host memory on this operating system; page kinds, nodes and"
            + " files need Linux.");
  }

  private record Mapped(Arena arena, long bytes) {}
}
