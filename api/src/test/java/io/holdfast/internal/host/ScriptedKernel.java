package io.holdfast.internal.host;

import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernels;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A kernel whose every answer a test decides, with texts instead of a sysfs, time that only the
 * test moves, and a log of calls. Mappings are addresses that nobody may touch, but for {@link
 * #real}.
 */
final class ScriptedKernel implements HostKernel {
  static final long MIB = 1L << 20;

  final Map<String, String> texts = new HashMap<>();
  final List<String> calls = Collections.synchronizedList(new ArrayList<>());
  final AtomicLong now = new AtomicLong();

  long basePageBytes = 4096;
  boolean real;
  ThreadPlace place = new ThreadPlace(0, Set.of(), Set.of(0));
  long threadId = 1;
  OptionalLong lockLimit = OptionalLong.empty();
  Optional<HostKernelException> mapRefusal = Optional.empty();
  Optional<HostKernelException> bindRefusal = Optional.empty();
  Optional<HostKernelException> adviceRefusal = Optional.empty();
  Optional<HostKernelException> placeRefusal = Optional.empty();
  Consumer<MemorySegment> populate = slice -> {};
  Consumer<String> beforeText = path -> {};
  BiFunction<Long, Integer, Integer> nodeOfPage = (offset, index) -> 0;
  Optional<HostKernelException> nodesRefusal = Optional.empty();

  /** Texts that change, asked before {@link #texts}. */
  Function<String, Optional<String>> dynamic = path -> Optional.empty();

  MemorySegment lastMapped = MemorySegment.NULL;
  FileSystemFacts fileSystem = new FileSystemFacts(0, 4096, 0, 0, 0);

  private final HostKernel plain = HostKernels.portable();
  private long nextAddress = 1L << 40;

  /** The refusal that the real kernel would give. */
  static HostKernelException refusal(String call, Errno errno) {
    return new HostKernelException(call, "", errno.number());
  }

  /** Puts a text where the kernel would have it. */
  ScriptedKernel text(String path, Object text) {
    texts.put(path, text + "\n");
    return this;
  }

  /** Gives the whole machine one pool. */
  ScriptedKernel pool(long pageBytes, long total, long free, long reserved) {
    String folder = Machine.poolFolder(pageBytes);
    text(folder + "/nr_hugepages", total);
    text(folder + "/free_hugepages", free);
    text(folder + "/resv_hugepages", reserved);
    text(folder + "/surplus_hugepages", 0);
    return text(folder + "/nr_overcommit_hugepages", 0);
  }

  /** Gives one node its part of a pool. */
  ScriptedKernel nodePool(int node, long pageBytes, long total, long free) {
    String folder = Machine.nodePoolFolder(node, pageBytes);
    text(folder + "/nr_hugepages", total);
    return text(folder + "/free_hugepages", free);
  }

  /** Lets the machine have nodes with these CPUs, in order. */
  ScriptedKernel nodes(String online, Map<Integer, String> cpus) {
    text("/sys/devices/system/node/online", online);
    text("/sys/devices/system/node/has_memory", online);
    cpus.forEach((node, list) -> text("/sys/devices/system/node/node" + node + "/cpulist", list));
    return this;
  }

  /** Gives the machine memory, in MiB. */
  ScriptedKernel memory(long totalMib, long availableMib) {
    return text(
        "/proc/meminfo",
        "MemTotal:       "
            + totalMib * 1024
            + " kB\nMemFree:        1000 kB\nMemAvailable:   "
            + availableMib * 1024
            + " kB");
  }

  /** Calls whose log begins with a word. */
  List<String> callsOf(String word) {
    synchronized (calls) {
      return calls.stream().filter(call -> call.startsWith(word)).toList();
    }
  }

  @Override
  public Identity identity() {
    return new Identity("Linux", "4.18.0", "scripted");
  }

  @Override
  public Pages pages() {
    return Pages.KERNEL;
  }

  @Override
  public long basePageBytes() {
    return basePageBytes;
  }

  @Override
  public synchronized MemorySegment map(long bytes, Mapping mapping) {
    calls.add(
        "map "
            + bytes
            + (mapping.hugePageBytes() > 0 ? " huge " + mapping.hugePageBytes() : "")
            + (mapping.alignmentBytes() > 0 ? " aligned " + mapping.alignmentBytes() : "")
            + (mapping.reservation() == Reservation.NONE ? " unreserved" : ""));
    if (mapRefusal.isPresent()) {
      throw mapRefusal.get();
    }
    if (real) {
      lastMapped = plain.map(bytes, Mapping.anonymous().alignedTo(mapping.alignmentBytes()));
      return lastMapped;
    }
    MemorySegment memory = segment(nextAddress, bytes);
    nextAddress += bytes + (1L << 30);
    return memory;
  }

  @SuppressWarnings("restricted")
  private static MemorySegment segment(long address, long bytes) {
    return MemorySegment.ofAddress(address).reinterpret(bytes);
  }

  @Override
  public void unmap(MemorySegment range) {
    calls.add("unmap " + range.byteSize());
    if (real) {
      plain.unmap(range);
    }
  }

  @Override
  public void advise(MemorySegment range, Advice advice) {
    calls.add("advise " + advice + " " + range.byteSize());
    if (advice == Advice.HUGE_PAGE && adviceRefusal.isPresent()) {
      throw adviceRefusal.get();
    }
    if (advice == Advice.POPULATE_WRITE) {
      populate.accept(range);
    }
  }

  @Override
  public void bind(MemorySegment range, NodeMode mode, Set<Integer> nodes) {
    calls.add("bind " + range.byteSize() + " " + mode + " " + new TreeSet<>(nodes));
    if (bindRefusal.isPresent()) {
      throw bindRefusal.get();
    }
  }

  @Override
  public int[] nodesAt(MemorySegment range, long[] offsets) {
    calls.add("nodesAt " + offsets.length);
    if (nodesRefusal.isPresent()) {
      throw nodesRefusal.get();
    }
    int[] nodes = new int[offsets.length];
    Arrays.setAll(nodes, index -> nodeOfPage.apply(offsets[index], index));
    return nodes;
  }

  @Override
  public ThreadPlace threadPlace() {
    if (placeRefusal.isPresent()) {
      throw placeRefusal.get();
    }
    return place;
  }

  @Override
  public void placeThread(ThreadPlace where) {
    calls.add("placeThread " + where);
  }

  @Override
  public long threadId() {
    return threadId;
  }

  @Override
  public OptionalLong lockLimitBytes() {
    return lockLimit;
  }

  @Override
  public DirectoryHandle openDirectory(Path directory) {
    return new DirectoryHandle(100);
  }

  @Override
  public FileHandle open(DirectoryHandle directory, String name, OpenMode mode) {
    return plain.open(directory, name, mode);
  }

  @Override
  public FileHandle openNameless(DirectoryHandle directory) {
    return new FileHandle(101);
  }

  @Override
  public FileHandle memoryFile(String label, long hugePageBytes) {
    return plain.memoryFile(label, hugePageBytes);
  }

  @Override
  public FileHandle takeFrom(long pid, int descriptor) {
    return plain.takeFrom(pid, descriptor);
  }

  @Override
  public FileFacts facts(Handle handle) {
    return new FileFacts(FileKind.DIRECTORY, 0, 0, 0x23, 1, 1, 0, 0755);
  }

  @Override
  public FileFacts factsOf(DirectoryHandle directory, String name) {
    return plain.factsOf(directory, name);
  }

  @Override
  public FileSystemFacts fileSystem(Handle handle) {
    return fileSystem;
  }

  @Override
  public List<String> entries(DirectoryHandle directory) {
    return List.of();
  }

  @Override
  public void resize(FileHandle file, long bytes) {
    calls.add("resize " + bytes);
  }

  @Override
  public void allocate(FileHandle file, long bytes) {
    calls.add("allocate 0 " + bytes);
  }

  @Override
  public void allocate(FileHandle file, long fromBytes, long bytes) {
    calls.add("allocate " + fromBytes + " " + bytes);
  }

  @Override
  public void sealSize(FileHandle file) {
    plain.sealSize(file);
  }

  @Override
  public boolean tryLock(FileHandle file, LockMode mode) {
    return true;
  }

  @Override
  public void unlock(FileHandle file) {}

  @Override
  public void unlink(DirectoryHandle directory, String name) {
    plain.unlink(directory, name);
  }

  @Override
  public void close(Handle handle) {
    calls.add("close " + handle.descriptor());
  }

  @Override
  public Optional<String> text(String path) {
    beforeText.accept(path);
    return dynamic.apply(path).or(() -> Optional.ofNullable(texts.get(path)));
  }

  @Override
  public List<String> names(String path) {
    return texts.keySet().stream()
        .filter(text -> text.startsWith(path + "/"))
        .map(text -> text.substring(path.length() + 1))
        .map(rest -> rest.contains("/") ? rest.substring(0, rest.indexOf('/')) : rest)
        .distinct()
        .sorted()
        .toList();
  }

  @Override
  public long nanoTime() {
    return now.get();
  }

  @Override
  public void pause(long nanos) {
    now.addAndGet(nanos);
  }
}
