package io.holdfast.backend.cpusim.host;

import io.holdfast.backend.cpusim.driver.HostSpace;
import io.holdfast.backend.cpusim.driver.ProcessMaps;
import io.holdfast.backend.cpusim.driver.SimulatedCrash;
import io.holdfast.backend.cpusim.host.HostSpec.FileSystemType;
import io.holdfast.backend.cpusim.host.HostSpec.Lack;
import io.holdfast.backend.cpusim.host.Inode.OpenFile;
import io.holdfast.backend.cpusim.host.PageSet.Run;
import io.holdfast.backend.cpusim.host.PageSet.Stretch;
import io.holdfast.backend.cpusim.host.SimHost.FileSystem;
import io.holdfast.backend.cpusim.host.SimHost.PoolState;
import io.holdfast.backend.cpusim.host.SimHost.Source;
import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.spi.HostKernel;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * One process of a simulated host: its host port, and the host as a driver in it sees it.
 *
 * <p>The kernel's own work is simulated, the bytes are real: memory is a sparse file's. A page
 * exists once populate, the port, pinning or a device copy has touched it; plain Java loads and
 * stores cannot be seen and take no page. Any thread.
 */
public final class SimHostKernel implements HostKernel, HostSpace {
  private static final int FIRST_DESCRIPTOR = 10;
  private static final int OWNER = 1000;
  private static final int PRIVATE_MODE = 0600;
  private static final int DIRECTORY_MODE = 0755;

  private final SimHost host;
  private final HostSpec spec;
  private final long pid;
  private final ProcessMaps others;
  private final TreeMap<Long, SimMapping> mappings = new TreeMap<>();
  private final Map<Integer, OpenFile> files = new TreeMap<>();
  private final Map<Integer, FileSystem> directories = new TreeMap<>();
  private final Map<Long, ThreadPlace> places = new HashMap<>();
  private int nextDescriptor = FIRST_DESCRIPTOR;
  private boolean ended;

  SimHostKernel(SimHost host, long pid) {
    this.host = host;
    this.spec = host.spec;
    this.pid = pid;
    this.others = new ProcessMaps(spec.basePageBytes());
  }

  /**
   * The process's number on its host.
   *
   * @return the number
   */
  public long pid() {
    return pid;
  }

  /**
   * The host it runs on.
   *
   * @return the host
   */
  public SimHost host() {
    return host;
  }

  private void enter() {
    host.lock.lock();
    if (ended) {
      host.lock.unlock();
      throw new IllegalStateException("the simulated process " + pid + " has ended");
    }
  }

  private void leave() {
    host.lock.unlock();
  }

  private static HostKernelException answer(String call, String arguments, Errno errno) {
    return new HostKernelException(call, arguments, errno.number());
  }

  private static String range(long address, long bytes) {
    return "0x" + Long.toHexString(address) + ", " + bytes;
  }

  private static void requireNative(MemorySegment range) {
    if (!range.isNative()) {
      throw new IllegalArgumentException("only native memory has pages");
    }
    if (!range.scope().isAlive()) {
      throw new IllegalStateException("the segment's arena is closed");
    }
  }

  // ---- what it is

  @Override
  public Identity identity() {
    return new Identity("Linux", spec.release(), spec.machine());
  }

  @Override
  public Pages pages() {
    return Pages.KERNEL;
  }

  @Override
  public long basePageBytes() {
    return spec.basePageBytes();
  }

  @Override
  public OptionalLong lockLimitBytes() {
    return spec.lockLimitBytes();
  }

  @Override
  public long nanoTime() {
    return host.clock.nanoTime();
  }

  @Override
  public void pause(long nanos) {
    host.clock.pause(nanos);
  }

  @Override
  public Optional<String> text(String path) {
    enter();
    try {
      return new HostTexts(host, this).text(path);
    } finally {
      leave();
    }
  }

  @Override
  public List<String> names(String path) {
    enter();
    try {
      return new HostTexts(host, this).names(path);
    } finally {
      leave();
    }
  }

  Collection<SimMapping> mappings() {
    return mappings.values();
  }

  // ---- mapping

  @Override
  @SuppressWarnings("restricted") // memory of exactly that size that lives until unmapped
  public MemorySegment map(long bytes, Mapping mapping) {
    if (bytes <= 0) {
      throw new IllegalArgumentException("a mapping has at least one byte: " + bytes);
    }
    enter();
    try {
      if (mappings.size() >= spec.mostMappings()) {
        throw answer("mmap", Long.toString(bytes), Errno.ENOMEM);
      }
      SimMapping made =
          mapping.file().isPresent() && mapping.sharing() == Sharing.SHARED
              ? mapFile(bytes, mapping, openFile(mapping.file().get()).inode)
              : mapOwn(bytes, mapping);
      mappings.put(made.address, made);
      return MemorySegment.ofAddress(made.address).reinterpret(bytes);
    } finally {
      leave();
    }
  }

  private SimMapping mapOwn(long bytes, Mapping mapping) {
    Inode copied = mapping.file().isPresent() ? openFile(mapping.file().get()).inode : null;
    long page = spec.basePageBytes();
    Source source = Source.MEMORY;
    if (copied != null) {
      page = copied.pages.pageBytes;
      source = copied.source;
    } else if (mapping.hugePageBytes() != 0) {
      page = mapping.hugePageBytes();
      source = Source.POOL;
      if (!host.hasPool(page)) {
        throw answer("mmap", bytes + ", huge pages of " + page, Errno.EINVAL);
      }
    }
    long mapped = roundUp(bytes, page);
    if (source == Source.POOL) {
      reserve(mapped / page, page, bytes);
    }
    SparseStore store = new SparseStore();
    try {
      SparseStore.View view = store.own(mapped, Math.max(page, mapping.alignmentBytes()));
      SimMapping made = new SimMapping(view, mapped, new PageSet(page), source, 0, null, store);
      if (copied != null) {
        copyFile(copied, mapping.fileOffset(), made);
      }
      return made;
    } catch (HostKernelException refused) {
      store.close();
      if (source == Source.POOL) {
        unreserve(mapped / page, page);
      }
      throw refused;
    }
  }

  /** A private mapping of a file begins with the file's bytes. */
  private void copyFile(Inode from, long offset, SimMapping to) {
    long bytes = Math.min(to.bytes, Math.max(0, from.bytes - offset));
    if (bytes > 0) {
      SparseStore.View view = from.store.shared(offset, bytes, 1);
      try {
        Bytes.copy(view.address(), to.address, bytes);
      } finally {
        view.arena().close();
      }
    }
  }

  private SimMapping mapFile(long bytes, Mapping mapping, Inode inode) {
    long page = inode.pages.pageBytes;
    if (mapping.fileOffset() % page != 0) {
      throw answer("mmap", bytes + ", offset " + mapping.fileOffset(), Errno.EINVAL);
    }
    long mapped = roundUp(bytes, page);
    if (inode.source == Source.POOL) {
      long end = (mapping.fileOffset() + mapped) / page;
      long missing = inode.pages.missing(inode.reservedPages, end);
      takeRoom(inode, missing * page, Errno.ENOMEM);
      try {
        reserve(missing, page, bytes);
      } catch (HostKernelException refused) {
        giveRoom(inode, missing * page);
        throw refused;
      }
      inode.reservedPages = Math.max(inode.reservedPages, end);
    }
    SparseStore.View view = inode.store.shared(mapping.fileOffset(), mapped, page);
    inode.users++;
    return new SimMapping(
        view, mapped, inode.pages, inode.source, mapping.fileOffset() / page, inode, null);
  }

  private void reserve(long pages, long page, long bytes) {
    PoolState pool = host.pool(page);
    long missing = pages - (pool.free() - pool.reserved);
    boolean enough = missing <= 0 || host.makeSurplus(missing, page);
    if (!enough || pages * page > host.group().reservedRoom(page)) {
      throw answer("mmap", bytes + ", huge pages of " + page, Errno.ENOMEM);
    }
    pool.reserved += pages;
    host.group().reserve(pages * page, page);
  }

  /** Reservations that were never used. */
  private void unreserve(long pages, long page) {
    host.pool(page).reserved -= pages;
    host.group().reserve(-pages * page, page);
  }

  private static void takeRoom(Inode inode, long bytes, Errno full) {
    FileSystem system = inode.system;
    if (system != null) {
      if (bytes > system.roomBytes()) {
        throw answer("mmap", Long.toString(bytes), full);
      }
      system.usedBytes += bytes;
    }
  }

  private static void giveRoom(Inode inode, long bytes) {
    if (inode.system != null) {
      inode.system.usedBytes -= bytes;
    }
  }

  private static long roundUp(long bytes, long page) {
    return Math.multiplyExact(Math.ceilDiv(bytes, page), page);
  }

  @Override
  public void unmap(MemorySegment range) {
    requireNative(range);
    enter();
    try {
      long from = range.address();
      long to = from + range.byteSize();
      List<SimMapping> touched = touching(from, to);
      for (SimMapping one : touched) {
        long page = one.pageBytes();
        boolean whole =
            (from <= one.address || (from - one.address) % page == 0)
                && (to >= one.end() || !one.isPool() || (to - one.address) % page == 0);
        if (!whole) {
          throw answer("munmap", range(from, range.byteSize()), Errno.EINVAL);
        }
      }
      touched.forEach(one -> unmap(one, from, to));
    } finally {
      leave();
    }
  }

  private void unmap(SimMapping mapping, long from, long to) {
    for (Stretch stretch : mapping.cut(from, to)) {
      if (mapping.inode == null) {
        long present = mapping.pages.pages(stretch.first(), stretch.end());
        if (mapping.isPool()) {
          unreserve(stretch.pages() - present, mapping.pageBytes());
        }
        giveBack(
            mapping.pages.remove(stretch.first(), stretch.end()),
            mapping.pageBytes(),
            mapping.source);
      }
    }
    if (mapping.gone()) {
      mappings.remove(mapping.address);
      if (mapping.inode == null) {
        giveBack(mapping.pages.ownerEnded(), mapping.pageBytes(), mapping.source);
      } else {
        unused(mapping.inode);
      }
      mapping.close();
    }
  }

  private void giveBack(List<Run> runs, long page, Source source) {
    Map<Integer, Long> counts = new TreeMap<>();
    runs.forEach(run -> run.count(counts));
    counts.forEach(
        (node, pages) -> {
          if (pages > 0) {
            host.give(node, pages, page, source);
            host.group().charge(-pages * page, page, source);
            if (source == Source.POOL) {
              host.group().reserve(-pages * page, page);
            }
          }
        });
  }

  private List<SimMapping> touching(long from, long to) {
    List<SimMapping> found = new ArrayList<>();
    Map.Entry<Long, SimMapping> floor = mappings.floorEntry(from);
    if (floor != null && floor.getValue().end() > from) {
      found.add(floor.getValue());
    }
    Map.Entry<Long, SimMapping> next = mappings.higherEntry(from);
    while (next != null && next.getKey() < to) {
      found.add(next.getValue());
      next = mappings.higherEntry(next.getKey());
    }
    return found;
  }

  // ---- pages

  @Override
  public void advise(MemorySegment range, Advice advice) {
    requireNative(range);
    enter();
    try {
      long from = range.address();
      long to = from + range.byteSize();
      if (from % spec.basePageBytes() != 0) {
        throw answer("madvise", range(from, range.byteSize()), Errno.EINVAL);
      }
      if (advice == Advice.POPULATE_WRITE && spec.lacks().contains(Lack.POPULATE_WRITE)) {
        throw answer("madvise", range(from, range.byteSize()) + ", 23", Errno.EINVAL);
      }
      boolean huge = advice == Advice.HUGE_PAGE || advice == Advice.NO_HUGE_PAGE;
      if (huge && spec.transparentPageBytes() == 0) {
        throw answer("madvise", range(from, range.byteSize()), Errno.EINVAL);
      }
      for (SimMapping one : requireMapped("madvise", from, to, Errno.ENOMEM)) {
        advise(one, Math.max(from, one.address), Math.min(to, one.end()), advice);
      }
    } finally {
      leave();
    }
  }

  private List<SimMapping> requireMapped(String call, long from, long to, Errno hole) {
    List<SimMapping> found = touching(from, to);
    long at = from;
    for (SimMapping one : found) {
      if (one.address > at || !one.covers(Math.max(from, one.address), Math.min(to, one.end()))) {
        throw answer(call, range(from, to - from), hole);
      }
      at = one.end();
    }
    if (at < to) {
      throw answer(call, range(from, to - from), hole);
    }
    return found;
  }

  private void advise(SimMapping mapping, long from, long to, Advice advice) {
    boolean whole =
        (from - mapping.address) % mapping.pageBytes() == 0
            && (to - mapping.address) % mapping.pageBytes() == 0;
    switch (advice) {
      case DONT_FORK, DO_FORK -> {
        if (mapping.isPool() && !whole) {
          throw answer("madvise", range(from, to - from) + ", 10", Errno.EINVAL);
        }
        mapping.keptFromChildren = advice == Advice.DONT_FORK;
      }
      case HUGE_PAGE -> {
        mapping.adviseHuge = true;
        mapping.adviseSmall = false;
      }
      case NO_HUGE_PAGE -> {
        mapping.adviseHuge = false;
        mapping.adviseSmall = true;
      }
      case POPULATE_WRITE -> populate(mapping, from, to);
      case DONT_DUMP, DO_DUMP -> {
        // nothing here is ever dumped
      }
    }
  }

  private void populate(SimMapping mapping, long from, long to) {
    Policy policy = policyOf(mapping);
    long first = mapping.pageOf(from);
    long end = mapping.firstPage + Math.ceilDiv(to - mapping.address, mapping.pageBytes());
    for (Stretch hole : mapping.pages.holes(first, end)) {
      long made = make(mapping.pages, mapping.source, mapping.inode, hole, policy, localNode());
      if (mapping.isPool()) {
        host.pool(mapping.pageBytes()).reserved -= made;
      }
      if (made < hole.pages()) {
        throw answer("madvise", range(from, to - from) + ", 23", Errno.EFAULT);
      }
    }
  }

  private Policy policyOf(SimMapping mapping) {
    Policy own = mapping.inode == null ? mapping.policy : mapping.inode.policy;
    return own == null ? Policy.of(place()) : own;
  }

  /**
   * Makes pages; fewer where a pool, a file system or a group has no more.
   *
   * @throws SimulatedCrash where memory itself runs out: the kernel would have killed the process
   */
  private long make(
      PageSet pages, Source source, @Nullable Inode inode, Stretch hole, Policy policy, int local) {
    long page = pages.pageBytes;
    long wanted = hole.pages();
    if (source == Source.POOL) {
      wanted = Math.min(wanted, host.group().hugeRoom(page) / page);
    } else {
      if (inode != null && inode.system != null) {
        wanted = Math.min(wanted, inode.system.roomBytes() / page);
      }
      if (wanted > host.group().memoryRoom() / page) {
        throw new SimulatedCrash(
            "the kernel kills the process: its cgroup "
                + spec.cgroup().path()
                + " has no memory for "
                + wanted
                + " more pages");
      }
    }
    long made = inTurns(pages, source, hole.first(), wanted, policy.turns(spec.weights()));
    for (int node : policy.order(host, local)) {
      long here = Math.min(wanted - made, host.available(node, page, source));
      if (here > 0) {
        long from = hole.first() + made;
        host.take(node, here, page, source);
        pages.add(new Run(from, from + here, new int[] {node}));
        made += here;
      }
    }
    host.group().charge(made * page, page, source);
    if (inode != null && source == Source.MEMORY && inode.system != null) {
      inode.system.usedBytes += made * page;
    }
    if (made < wanted && source == Source.MEMORY) {
      throw new SimulatedCrash(
          "the kernel kills the process: no memory for "
              + (wanted - made)
              + " pages under policy "
              + policy.text());
    }
    return made;
  }

  /** As many pages as every node whose turn comes can give. */
  private long inTurns(PageSet pages, Source source, long first, long wanted, int[] turns) {
    if (turns.length == 0 || wanted == 0) {
      return 0;
    }
    Run all = new Run(first, first + wanted, turns);
    Map<Integer, Long> needed = new TreeMap<>();
    all.count(needed);
    boolean enough =
        needed.entrySet().stream()
            .allMatch(
                one -> one.getValue() <= host.available(one.getKey(), pages.pageBytes, source));
    if (!enough) {
      return 0;
    }
    needed.forEach((node, count) -> host.take(node, count, pages.pageBytes, source));
    pages.add(all);
    return wanted;
  }

  @Override
  public void bind(MemorySegment range, NodeMode mode, Set<Integer> nodes) {
    requireNative(range);
    enter();
    try {
      String arguments = range(range.address(), range.byteSize()) + ", " + mode + ", " + nodes;
      if (spec.lacks().contains(Lack.BINDING)) {
        throw answer("mbind", arguments, Errno.EPERM);
      }
      boolean unknownMode =
          mode == NodeMode.WEIGHTED_INTERLEAVE && spec.lacks().contains(Lack.WEIGHTED_INTERLEAVE);
      boolean usable =
          !nodes.isEmpty()
              && nodes.stream()
                  .allMatch(
                      node -> spec.nodes().containsKey(node) && spec.nodes().get(node).allowed());
      if (unknownMode || !usable || range.address() % spec.basePageBytes() != 0) {
        throw answer("mbind", arguments, Errno.EINVAL);
      }
      Policy policy = new Policy(Optional.of(mode), new TreeSet<>(nodes));
      long to = range.address() + range.byteSize();
      for (SimMapping one : requireMapped("mbind", range.address(), to, Errno.EFAULT)) {
        if (one.inode == null) {
          one.policy = policy;
        } else {
          one.inode.policy = policy;
        }
      }
    } finally {
      leave();
    }
  }

  @Override
  public int[] nodesAt(MemorySegment range, long[] offsets) {
    requireNative(range);
    enter();
    try {
      if (spec.lacks().contains(Lack.PAGE_NODES)) {
        throw answer("move_pages", offsets.length + " pages", Errno.EPERM);
      }
      int[] answers = new int[offsets.length];
      for (int i = 0; i < answers.length; i++) {
        if (offsets[i] < 0 || offsets[i] >= range.byteSize()) {
          throw new IndexOutOfBoundsException(
              "offset " + offsets[i] + " of " + range.byteSize() + " bytes");
        }
        answers[i] = nodeAt(range.address() + offsets[i]);
      }
      return answers;
    } finally {
      leave();
    }
  }

  private int nodeAt(long address) {
    SimMapping there = mappingAt(address);
    if (there == null) {
      return -Errno.EFAULT.number();
    }
    Integer node = there.pages.nodeOf(there.pageOf(address));
    return node == null ? -Errno.ENOENT.number() : node;
  }

  private @Nullable SimMapping mappingAt(long address) {
    Map.Entry<Long, SimMapping> floor = mappings.floorEntry(address);
    return floor == null || !floor.getValue().covers(address, address + 1)
        ? null
        : floor.getValue();
  }

  // ---- the host as a driver sees it

  @Override
  public long backingPageBytes(long address) {
    enter();
    try {
      SimMapping there = mappingAt(address);
      return there == null ? spec.basePageBytes() : there.pageBytes();
    } finally {
      leave();
    }
  }

  @Override
  public Finding inspect(long address, long bytes) {
    enter();
    try {
      List<SimMapping> found = touching(address, address + bytes);
      if (found.isEmpty()) {
        return others.inspect(address, bytes);
      }
      requireMapped("pin", address, address + bytes, Errno.EFAULT);
      return Finding.WRITABLE;
    } catch (HostKernelException hole) {
      return Finding.HOLE;
    } finally {
      leave();
    }
  }

  @Override
  public boolean touch(long address, long bytes) {
    enter();
    try {
      for (SimMapping one : touching(address, address + bytes)) {
        long from = Math.max(address, one.address);
        long to = Math.min(address + bytes, one.end());
        if (!one.covers(from, to)) {
          return false;
        }
        populate(one, from, to);
      }
      return true;
    } catch (HostKernelException starved) {
      return false;
    } finally {
      leave();
    }
  }

  @Override
  public boolean takePages(long bytes) {
    enter();
    try {
      int node = localNode();
      if (bytes > host.freeBytes(node) || bytes > host.group().memoryRoom()) {
        return false;
      }
      host.take(node, bytes, 1, Source.MEMORY);
      host.group().charge(bytes, 1, Source.MEMORY);
      return true;
    } finally {
      leave();
    }
  }

  @Override
  public void givePages(long bytes) {
    host.lock.lock();
    try {
      host.give(localNode(), bytes, 1, Source.MEMORY);
      host.group().charge(-bytes, 1, Source.MEMORY);
    } finally {
      host.lock.unlock();
    }
  }

  // ---- threads

  @Override
  public ThreadPlace threadPlace() {
    enter();
    try {
      return place();
    } finally {
      leave();
    }
  }

  private ThreadPlace place() {
    return places.getOrDefault(threadId(), host.anywhere());
  }

  @Override
  public void placeThread(ThreadPlace place) {
    if (Thread.currentThread().isVirtual()) {
      throw new IllegalStateException("a virtual thread would leave its carrier changed");
    }
    enter();
    try {
      places.put(threadId(), place);
    } finally {
      leave();
    }
  }

  @Override
  public long threadId() {
    return Thread.currentThread().threadId();
  }

  /** The CPU that a thread runs on: the first it may. */
  int cpuOf(long thread) {
    ThreadPlace place = places.get(thread);
    Set<Integer> cpus = place == null || place.cpus().isEmpty() ? place().cpus() : place.cpus();
    return cpus.isEmpty() ? 0 : cpus.iterator().next(); // they are in order
  }

  private int localNode() {
    return host.nodeOfCpu(cpuOf(threadId())).orElse(spec.nodes().firstKey());
  }

  // ---- files

  private OpenFile openFile(Handle handle) {
    OpenFile file = files.get(handle.descriptor());
    if (file == null) {
      throw answer("file", Integer.toString(handle.descriptor()), Errno.EBADF);
    }
    return file;
  }

  private FileSystem directory(DirectoryHandle handle) {
    FileSystem system = directories.get(handle.descriptor());
    if (system == null) {
      throw answer("directory", Integer.toString(handle.descriptor()), Errno.EBADF);
    }
    return system;
  }

  private static void requirePlainName(String name) {
    if (name.isEmpty() || name.equals(".") || name.equals("..") || name.indexOf('/') >= 0) {
      throw new IllegalArgumentException("'" + name + "' is not one plain name");
    }
  }

  @Override
  public DirectoryHandle openDirectory(Path directory) {
    enter();
    try {
      String path = directory.normalize().toString().replace('\\', '/');
      FileSystem system =
          host.fileSystem(path).orElseThrow(() -> answer("openat", path, Errno.ENOENT));
      directories.put(nextDescriptor, system);
      return new DirectoryHandle(nextDescriptor++);
    } finally {
      leave();
    }
  }

  @Override
  public FileHandle open(DirectoryHandle directory, String name, OpenMode mode) {
    requirePlainName(name);
    enter();
    try {
      FileSystem system = directory(directory);
      Inode there = system.names.get(name);
      if (mode == OpenMode.CREATE_NEW) {
        if (there != null) {
          throw answer("openat", name, Errno.EEXIST);
        }
        there = newInode(system);
        there.links = 1;
        system.names.put(name, there);
      }
      if (there == null) {
        throw answer("openat", name, Errno.ENOENT);
      }
      return describe(there);
    } finally {
      leave();
    }
  }

  private Inode newInode(FileSystem system) {
    return new Inode(
        host.nextInode(),
        system,
        system.mount.pageBytes(),
        system.isPool() ? Source.POOL : Source.MEMORY);
  }

  private FileHandle describe(Inode inode) {
    return describe(new OpenFile(inode));
  }

  private FileHandle describe(OpenFile file) {
    file.descriptors++;
    file.inode.users++;
    files.put(nextDescriptor, file);
    return new FileHandle(nextDescriptor++);
  }

  @Override
  public FileHandle openNameless(DirectoryHandle directory) {
    enter();
    try {
      if (spec.lacks().contains(Lack.NAMELESS_FILES)) {
        throw answer("openat", "O_TMPFILE", Errno.EOPNOTSUPP);
      }
      return describe(newInode(directory(directory)));
    } finally {
      leave();
    }
  }

  @Override
  public FileHandle memoryFile(String label, long hugePageBytes) {
    enter();
    try {
      if (hugePageBytes != 0 && !host.hasPool(hugePageBytes)) {
        throw answer("memfd_create", label + ", " + hugePageBytes, Errno.ENODEV);
      }
      return describe(
          new Inode(
              host.nextInode(),
              null,
              hugePageBytes == 0 ? spec.basePageBytes() : hugePageBytes,
              hugePageBytes == 0 ? Source.MEMORY : Source.POOL));
    } finally {
      leave();
    }
  }

  @Override
  public FileHandle takeFrom(long from, int descriptor) {
    enter();
    try {
      SimHostKernel other = host.process(from);
      if (other == null) {
        throw answer("pidfd_open", Long.toString(from), Errno.ESRCH);
      }
      OpenFile file = other.files.get(descriptor);
      if (file == null) {
        throw answer("pidfd_getfd", from + ", " + descriptor, Errno.EBADF);
      }
      return describe(file);
    } finally {
      leave();
    }
  }

  @Override
  public FileFacts facts(Handle handle) {
    enter();
    try {
      if (handle instanceof DirectoryHandle directory) {
        return new FileFacts(
            FileKind.DIRECTORY, 0, 0, directory(directory).device(), 1, 2, OWNER, DIRECTORY_MODE);
      }
      return factsOf(openFile(handle).inode);
    } finally {
      leave();
    }
  }

  private static FileFacts factsOf(Inode inode) {
    return new FileFacts(
        FileKind.REGULAR,
        inode.bytes,
        inode.pages.pages() * inode.pages.pageBytes,
        inode.system == null ? 1 : inode.system.device(),
        inode.number,
        inode.links,
        OWNER,
        PRIVATE_MODE);
  }

  @Override
  public FileFacts factsOf(DirectoryHandle directory, String name) {
    requirePlainName(name);
    enter();
    try {
      Inode there = directory(directory).names.get(name);
      if (there == null) {
        throw answer("fstatat", name, Errno.ENOENT);
      }
      return factsOf(there);
    } finally {
      leave();
    }
  }

  @Override
  public FileSystemFacts fileSystem(Handle handle) {
    enter();
    try {
      FileSystem system =
          handle instanceof DirectoryHandle directory
              ? directory(directory)
              : openFile(handle).inode.system;
      if (system == null) {
        long page = openFile(handle).inode.pages.pageBytes;
        boolean huge = page != spec.basePageBytes();
        FileSystemType type = huge ? FileSystemType.HUGETLBFS : FileSystemType.TMPFS;
        return new FileSystemFacts(type.magic(), page, 0, 0, 0);
      }
      long page = system.mount.pageBytes();
      long blocks = system.mount.sizeBytes() / page;
      long free = blocks == 0 ? 0 : system.roomBytes() / page;
      return new FileSystemFacts(system.mount.type().magic(), page, blocks, free, free);
    } finally {
      leave();
    }
  }

  @Override
  public List<String> entries(DirectoryHandle directory) {
    enter();
    try {
      return directory(directory).sortedNames();
    } finally {
      leave();
    }
  }

  @Override
  public void resize(FileHandle file, long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException("a length is zero or more: " + bytes);
    }
    enter();
    try {
      Inode inode = openFile(file).inode;
      String arguments = file.descriptor() + ", " + bytes;
      if (inode.sizeSealed && bytes != inode.bytes) {
        throw answer("ftruncate", arguments, Errno.EPERM);
      }
      long page = inode.pages.pageBytes;
      if (inode.source == Source.POOL && bytes % page != 0) {
        throw answer("ftruncate", arguments, Errno.EINVAL);
      }
      if (bytes < inode.bytes) {
        dropPages(inode, Math.ceilDiv(bytes, page), Math.ceilDiv(inode.bytes, page));
      }
      inode.bytes = bytes;
    } finally {
      leave();
    }
  }

  private void dropPages(Inode inode, long first, long end) {
    long page = inode.pages.pageBytes;
    long present = inode.pages.pages(first, end);
    long below = Math.clamp(inode.reservedPages, first, Math.max(first, end));
    long presentBelow = inode.pages.pages(first, below);
    giveBack(inode.pages.remove(first, end), page, inode.source);
    if (inode.source == Source.POOL) {
      long promised = Math.max(0, Math.min(end, inode.reservedPages) - first);
      unreserve(promised - presentBelow, page);
      inode.reservedPages -= promised;
      giveRoom(inode, (promised + present - presentBelow) * page);
    } else {
      giveRoom(inode, present * page);
    }
  }

  @Override
  public void allocate(FileHandle file, long bytes) {
    allocate(file, 0, bytes);
  }

  @Override
  public void allocate(FileHandle file, long fromBytes, long bytes) {
    if (fromBytes < 0 || bytes <= 0 || fromBytes + bytes < 0) {
      throw new IllegalArgumentException(
          "at least one byte is allocated, from the start of a file on: "
              + bytes
              + " from "
              + fromBytes);
    }
    enter();
    try {
      Inode inode = openFile(file).inode;
      String arguments = file.descriptor() + ", " + fromBytes + ", " + bytes;
      if (inode.sizeSealed && fromBytes + bytes > inode.bytes) {
        throw answer("fallocate", arguments, Errno.EPERM);
      }
      long page = inode.pages.pageBytes;
      long first = fromBytes / page;
      long end = Math.ceilDiv(fromBytes + bytes, page);
      if (inode.source == Source.POOL) {
        allocateFromPool(inode, first, end, bytes, arguments);
      } else if (inode.system != null
          && inode.pages.missing(first, end) * page > inode.system.roomBytes()) {
        throw answer("fallocate", arguments, Errno.ENOSPC);
      } else if (makeAll(inode, first, end) > 0) {
        throw answer("fallocate", arguments, Errno.ENOSPC);
      }
      inode.bytes = Math.max(inode.bytes, fromBytes + bytes);
    } finally {
      leave();
    }
  }

  /**
   * What the pool promises a file is a run of pages from its start; pages that are made behind that
   * run are the file's too, and were promised only while they were being made.
   */
  private void allocateFromPool(Inode inode, long first, long end, long bytes, String arguments) {
    long page = inode.pages.pageBytes;
    boolean apart = first > inode.reservedPages;
    long unpromised = inode.pages.missing(apart ? first : inode.reservedPages, end);
    try {
      takeRoom(inode, unpromised * page, Errno.ENOSPC);
    } catch (HostKernelException full) {
      throw answer("fallocate", arguments, Errno.ENOSPC);
    }
    try {
      reserve(unpromised, page, bytes);
    } catch (HostKernelException full) {
      giveRoom(inode, unpromised * page);
      throw answer("fallocate", arguments, Errno.ENOSPC);
    }
    if (!apart) {
      inode.reservedPages = Math.max(inode.reservedPages, end);
    }
    long missing = makeAll(inode, first, end);
    if (missing > 0) {
      if (apart) {
        unreserve(missing, page);
        giveRoom(inode, missing * page);
      }
      throw answer("fallocate", arguments, Errno.ENOSPC);
    }
  }

  /** Makes the pages that are not there; how many could not be made. */
  private long makeAll(Inode inode, long first, long end) {
    Policy policy = inode.policy == null ? Policy.of(place()) : inode.policy;
    long missing = 0;
    for (Stretch hole : inode.pages.holes(first, end)) {
      if (missing == 0) {
        long made = make(inode.pages, inode.source, inode, hole, policy, localNode());
        if (inode.source == Source.POOL) {
          host.pool(inode.pages.pageBytes).reserved -= made;
        }
        missing = hole.pages() - made;
      } else {
        missing += hole.pages();
      }
    }
    return missing;
  }

  @Override
  public void sealSize(FileHandle file) {
    enter();
    try {
      Inode inode = openFile(file).inode;
      if (inode.system != null) {
        throw answer("fcntl", file.descriptor() + ", F_ADD_SEALS", Errno.EINVAL);
      }
      inode.sizeSealed = true;
    } finally {
      leave();
    }
  }

  @Override
  public boolean tryLock(FileHandle file, LockMode mode) {
    enter();
    try {
      OpenFile open = openFile(file);
      boolean against =
          open.inode.locks.entrySet().stream()
              .anyMatch(
                  lock ->
                      lock.getKey() != open
                          && (mode == LockMode.EXCLUSIVE || lock.getValue() == LockMode.EXCLUSIVE));
      if (!against) {
        open.inode.locks.put(open, mode);
      }
      return !against;
    } finally {
      leave();
    }
  }

  @Override
  public void unlock(FileHandle file) {
    enter();
    try {
      OpenFile open = openFile(file);
      open.inode.locks.remove(open);
    } finally {
      leave();
    }
  }

  @Override
  public void unlink(DirectoryHandle directory, String name) {
    requirePlainName(name);
    enter();
    try {
      Inode gone = directory(directory).names.remove(name);
      if (gone == null) {
        throw answer("unlinkat", name, Errno.ENOENT);
      }
      gone.links--;
      gone.users++;
      unused(gone);
    } finally {
      leave();
    }
  }

  @Override
  public void close(Handle handle) {
    enter();
    try {
      OpenFile file = files.remove(handle.descriptor());
      if (file != null) {
        closed(file);
      } else if (directories.remove(handle.descriptor()) == null) {
        throw answer("close", Integer.toString(handle.descriptor()), Errno.EBADF);
      }
    } finally {
      leave();
    }
  }

  private void closed(OpenFile file) {
    file.descriptors--;
    if (file.descriptors == 0) {
      file.inode.locks.remove(file);
    }
    unused(file.inode);
  }

  /** One user fewer; a file without users and names is gone. */
  private void unused(Inode inode) {
    inode.users--;
    if (inode.users == 0 && inode.links == 0) {
      long page = inode.pages.pageBytes;
      long end = Math.max(inode.reservedPages, Math.ceilDiv(inode.bytes, page));
      dropPages(inode, 0, end);
      inode.store.close();
    }
  }

  // ---- children and the end

  /**
   * Forks: the child has what was not kept from it, until it ends.
   *
   * @return the child
   */
  public SimChild fork() {
    enter();
    try {
      List<SimMapping> inherited = new ArrayList<>();
      for (SimMapping one : mappings.values()) {
        if (!one.keptFromChildren) {
          inherited.add(one);
          if (one.inode == null) {
            one.pages.fork();
          } else {
            one.inode.users++;
          }
        }
      }
      return new SimChild(this, inherited);
    } finally {
      leave();
    }
  }

  void childEnded(List<SimMapping> inherited) {
    host.lock.lock();
    try {
      for (SimMapping one : inherited) {
        if (one.inode == null) {
          giveBack(one.pages.childEnded(), one.pageBytes(), one.source);
        } else {
          unused(one.inode);
        }
      }
    } finally {
      host.lock.unlock();
    }
  }

  /**
   * The process ends, by itself or by SIGKILL: the kernel takes back what was its own. Its host and
   * its children live on; its calls are an {@link IllegalStateException} from now on. Idempotent.
   */
  public void end() {
    host.lock.lock();
    try {
      if (ended) {
        return;
      }
      for (SimMapping one : List.copyOf(mappings.values())) {
        unmap(one, one.address, one.end());
      }
      List.copyOf(files.values()).forEach(this::closed);
      files.clear();
      directories.clear();
      ended = true;
      host.ended(this);
    } finally {
      host.lock.unlock();
    }
  }

  /**
   * Mappings there are.
   *
   * @return how many
   */
  public int regions() {
    host.lock.lock();
    try {
      return mappings.size();
    } finally {
      host.lock.unlock();
    }
  }

  /**
   * Bytes that are mapped.
   *
   * @return whole backing pages
   */
  public long regionBytes() {
    host.lock.lock();
    try {
      return mappings.values().stream()
          .flatMap(one -> one.ranges().stream())
          .mapToLong(range -> range[1] - range[0])
          .sum();
    } finally {
      host.lock.unlock();
    }
  }

  /**
   * Open files and directories.
   *
   * @return how many descriptors
   */
  public int openFiles() {
    host.lock.lock();
    try {
      return files.size() + directories.size();
    } finally {
      host.lock.unlock();
    }
  }

  @Override
  public String toString() {
    return "process " + pid + " on a simulated host, " + identity();
  }
}
