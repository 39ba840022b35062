package io.holdfast.internal.linux;

import static io.holdfast.internal.linux.LibcLayouts.integer;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.internal.portable.Clock;
import io.holdfast.internal.portable.TextTree;
import io.holdfast.spi.HostKernel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The host port on Linux.
 *
 * <p>Each method is one call, or the few that the kernel needs for one thing; none keeps anything.
 * The three that make more than one call leave nothing behind where a later one fails, but for
 * {@link #placeThread}. Any thread.
 */
public final class LinuxHostKernel implements HostKernel {
  // One page of entries per call: folders of shared regions hold few names.
  private static final long ENTRIES_BYTES = 4096;

  // Both growing masks stop here: Linux can be built for 8192 CPUs and 1024 nodes.
  private static final int MOST_MASK_BITS = 32 * 1024;

  // Read and write for the owner, nothing for others.
  private static final int MODE_0600 = 0x180;

  // The charset in which the Java runtime itself hands paths to the kernel.
  private static final Charset PATHS =
      Charset.forName(System.getProperty("sun.jnu.encoding", "UTF-8"), StandardCharsets.UTF_8);

  private final TextTree tree;
  private final Abi abi;
  private final long basePageBytes;

  LinuxHostKernel(TextTree tree, Abi abi) {
    this.tree = tree;
    this.abi = abi;
    this.basePageBytes =
        checked("sysconf", "_SC_PAGESIZE", LibcBindings.sysconf(LibcBindings._SC_PAGESIZE));
  }

  /**
   * Opens the port.
   *
   * @param root the folder that texts are read from; {@code /} for this machine's own
   * @return the port
   * @throws HostKernelException where this Java runtime may not call native code
   */
  public static HostKernel open(Path root) {
    Optional<RuntimeException> refusal = LibcBindings.refusal();
    if (refusal.isPresent()) {
      HostKernelException refused =
          new HostKernelException(
              "native access",
              String.valueOf(refusal.get().getMessage()),
              Errno.EPERM.number(),
              "Start Java with --enable-native-access=io.holdfast.api on the module path, or"
                  + " --enable-native-access=ALL-UNNAMED on the class path.");
      refused.addSuppressed(refusal.get());
      throw refused;
    }
    return new LinuxHostKernel(new TextTree(root), Abi.current());
  }

  @Override
  public Identity identity() {
    try (Arena arena = Arena.ofConfined()) {
      StructLayout layout = LibcLayouts.UTSNAME;
      MemorySegment names = arena.allocate(layout);
      checked("uname", "", LibcBindings.uname(names));
      return new Identity(
          names.getString(LibcLayouts.offset(layout, "sysname")),
          names.getString(LibcLayouts.offset(layout, "release")),
          names.getString(LibcLayouts.offset(layout, "machine")));
    }
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
  public MemorySegment map(long bytes, Mapping mapping) {
    if (bytes <= 0) {
      throw new IllegalArgumentException("A mapping has at least one byte: " + bytes);
    }
    int flags = mapFlags(mapping);
    if (!abi.isKnown()
        && (mapping.hugePageBytes() != 0 || mapping.reservation() == Reservation.NONE)) {
      // These two flags have other numbers on some architectures, where ours would mean something
      // else.
      throw refused("mmap", bytes + ", " + mapping, -Errno.ENOSYS.number());
    }
    if (mapping.alignmentBytes() > basePageBytes) {
      return mapAligned(bytes, mapping.alignmentBytes(), flags);
    }
    int descriptor = mapping.file().map(FileHandle::descriptor).orElse(-1);
    return mmap(bytes, flags, descriptor, mapping.fileOffset());
  }

  @Override
  public void unmap(MemorySegment range) {
    requireNative(range);
    checked("munmap", text(range), LibcBindings.munmap(range));
  }

  @Override
  public void advise(MemorySegment range, Advice advice) {
    requireNative(range);
    int number =
        switch (advice) {
          case DONT_FORK -> LibcBindings.MADV_DONTFORK;
          case DO_FORK -> LibcBindings.MADV_DOFORK;
          case DONT_DUMP -> LibcBindings.MADV_DONTDUMP;
          case DO_DUMP -> LibcBindings.MADV_DODUMP;
          case HUGE_PAGE -> LibcBindings.MADV_HUGEPAGE;
          case NO_HUGE_PAGE -> LibcBindings.MADV_NOHUGEPAGE;
          case POPULATE_WRITE -> LibcBindings.MADV_POPULATE_WRITE;
        };
    long answer = LibcBindings.madvise(range, number);
    if (answer < 0) {
      throw refused("madvise", text(range) + ", " + advice, answer);
    }
  }

  @Override
  public void bind(MemorySegment range, NodeMode mode, Set<Integer> nodes) {
    requireNative(range);
    int number =
        switch (mode) {
          case BIND -> LibcBindings.MPOL_BIND;
          case PREFERRED -> LibcBindings.MPOL_PREFERRED;
          case INTERLEAVE -> LibcBindings.MPOL_INTERLEAVE;
          case WEIGHTED_INTERLEAVE -> LibcBindings.MPOL_WEIGHTED_INTERLEAVE;
        };
    try (Arena arena = Arena.ofConfined()) {
      BitMask mask = BitMask.of(nodes, arena);
      checked(
          "mbind",
          text(range) + ", " + mode + ", nodes " + nodes,
          LibcBindings.mbind(range, number, mask.words(), mask.maxnode()));
    }
  }

  @Override
  public int[] nodesAt(MemorySegment range, long[] offsets) {
    requireNative(range);
    for (long offset : offsets) {
      Objects.checkIndex(offset, range.byteSize());
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pages = arena.allocate(JAVA_LONG, offsets.length);
      for (int i = 0; i < offsets.length; i++) {
        pages.setAtIndex(JAVA_LONG, i, range.address() + offsets[i]);
      }
      MemorySegment nodes = arena.allocate(JAVA_INT, offsets.length);
      checked(
          "move_pages",
          text(range) + ", " + offsets.length + " pages",
          LibcBindings.move_pages(offsets.length, pages, nodes));
      return nodes.toArray(JAVA_INT);
    }
  }

  @Override
  public ThreadPlace threadPlace() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment mode = arena.allocate(JAVA_INT);
      Set<Integer> nodes =
          filled(
              "get_mempolicy",
              Long.SIZE,
              arena,
              mask -> LibcBindings.get_mempolicy(mode, mask.words(), mask.maxnode()));
      Set<Integer> cpus =
          filled(
              "sched_getaffinity",
              LibcLayouts.CPU_SETSIZE,
              arena,
              mask -> LibcBindings.sched_getaffinity(mask.words()));
      return new ThreadPlace(mode.get(JAVA_INT, 0), nodes, cpus);
    }
  }

  @Override
  public void wakeOnTime() {
    requirePlatformThread();
    var _ = LibcBindings.prctl(LibcBindings.PR_SET_TIMERSLACK, 1); // nanoseconds; 0 is the default
  }

  private static void requirePlatformThread() {
    if (Thread.currentThread().isVirtual()) {
      throw new IllegalStateException(
          "A virtual thread has no place of its own; call this on a platform thread.");
    }
  }

  @Override
  public void placeThread(ThreadPlace place) {
    requirePlatformThread();
    try (Arena arena = Arena.ofConfined()) {
      BitMask cpus = BitMask.of(place.cpus(), arena);
      checked(
          "sched_setaffinity",
          "CPUs " + place.cpus(),
          LibcBindings.sched_setaffinity(cpus.words()));
      BitMask nodes = BitMask.of(place.nodes(), arena);
      checked(
          "set_mempolicy",
          "mode " + place.mode() + ", nodes " + place.nodes(),
          LibcBindings.set_mempolicy(place.mode(), nodes.words(), nodes.maxnode()));
    }
  }

  @Override
  public long threadId() {
    return checked("gettid", "", LibcBindings.gettid());
  }

  @Override
  public OptionalLong lockLimitBytes() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment limit = arena.allocate(LibcLayouts.RLIMIT);
      checked(
          "getrlimit",
          "RLIMIT_MEMLOCK",
          LibcBindings.getrlimit(LibcBindings.RLIMIT_MEMLOCK, limit));
      long soft = integer(LibcLayouts.RLIMIT, limit, "rlim_cur");
      // Unsigned: whatever does not fit a long is as good as no limit.
      return soft < 0 ? OptionalLong.empty() : OptionalLong.of(soft);
    }
  }

  @Override
  public DirectoryHandle openDirectory(Path directory) {
    if (!directory.getFileSystem().equals(FileSystems.getDefault())) {
      throw new IllegalArgumentException("Not a path of this machine: " + directory);
    }
    String path = directory.toAbsolutePath().toString();
    int descriptor =
        openat(LibcBindings.AT_FDCWD, path, LibcBindings.O_RDONLY | abi.openFlags().directory());
    return new DirectoryHandle(descriptor);
  }

  @Override
  public FileHandle open(DirectoryHandle directory, String name, OpenMode mode) {
    requirePlainName(name);
    int creation =
        switch (mode) {
          case CREATE_NEW -> LibcBindings.O_CREAT | LibcBindings.O_EXCL;
          case EXISTING -> 0;
        };
    int flags = LibcBindings.O_RDWR | abi.openFlags().nofollow() | creation;
    return new FileHandle(openat(directory.descriptor(), name, flags));
  }

  @Override
  public FileHandle openNameless(DirectoryHandle directory) {
    int flags = LibcBindings.O_RDWR | abi.openFlags().tmpfile();
    return new FileHandle(openat(directory.descriptor(), ".", flags));
  }

  @Override
  public FileHandle memoryFile(String label, long hugePageBytes) {
    if (hugePageBytes < 0 || Long.bitCount(hugePageBytes) > 1) {
      throw new IllegalArgumentException(
          "A huge page is a power of two, or 0 for base pages: " + hugePageBytes);
    }
    int flags = LibcBindings.MFD_CLOEXEC | LibcBindings.MFD_ALLOW_SEALING;
    if (hugePageBytes != 0) {
      flags |=
          LibcBindings.MFD_HUGETLB
              | Long.numberOfTrailingZeros(hugePageBytes) << LibcBindings.MFD_HUGE_SHIFT;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = cString(label, arena);
      // Systems with vm.memfd_noexec=2 refuse a file that could be run; kernels before 6.3 do not
      // know the flag that says it cannot.
      long answer = LibcBindings.memfd_create(name, flags | LibcBindings.MFD_NOEXEC_SEAL);
      if (answer == -Errno.EINVAL.number()) {
        answer = LibcBindings.memfd_create(name, flags);
      }
      String arguments = label + (hugePageBytes == 0 ? "" : ", pages of " + hugePageBytes);
      return new FileHandle((int) checked("memfd_create", arguments, answer));
    }
  }

  @Override
  public FileHandle takeFrom(long pid, int descriptor) {
    if (pid <= 0 || pid > Integer.MAX_VALUE || descriptor < 0) {
      throw new IllegalArgumentException(
          "Not a process and its descriptor: " + pid + ", " + descriptor);
    }
    DescriptorOfProcess process =
        new DescriptorOfProcess(
            (int) checked("pidfd_open", Long.toString(pid), LibcBindings.pidfd_open((int) pid)));
    try (process) {
      return new FileHandle(
          (int)
              checked(
                  "pidfd_getfd",
                  "process " + pid + ", " + descriptor,
                  LibcBindings.pidfd_getfd(process.number, descriptor)));
    }
  }

  @Override
  public FileFacts facts(Handle handle) {
    return stat(
        "fstat",
        Integer.toString(handle.descriptor()),
        stat -> LibcBindings.fstat(handle.descriptor(), stat));
  }

  @Override
  public FileFacts factsOf(DirectoryHandle directory, String name) {
    requirePlainName(name);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment path = cString(name, arena);
      return stat(
          "fstatat",
          directory.descriptor() + ", " + name,
          stat ->
              LibcBindings.fstatat(
                  directory.descriptor(), path, stat, LibcBindings.AT_SYMLINK_NOFOLLOW));
    }
  }

  @Override
  public FileSystemFacts fileSystem(Handle handle) {
    try (Arena arena = Arena.ofConfined()) {
      StructLayout layout = LibcLayouts.STATFS;
      MemorySegment facts = arena.allocate(layout);
      // The struct is one on both architectures we know; on another it may not be.
      long answer =
          !abi.isKnown()
              ? -Errno.ENOSYS.number()
              : LibcBindings.fstatfs(handle.descriptor(), facts);
      checked("fstatfs", Integer.toString(handle.descriptor()), answer);
      return new FileSystemFacts(
          integer(layout, facts, "f_type"),
          integer(layout, facts, "f_bsize"),
          integer(layout, facts, "f_blocks"),
          integer(layout, facts, "f_bfree"),
          integer(layout, facts, "f_bavail"));
    }
  }

  @Override
  public List<String> entries(DirectoryHandle directory) {
    // A fresh open of the same directory has its own position, so callers do not disturb each
    // other.
    int descriptor =
        openat(directory.descriptor(), ".", LibcBindings.O_RDONLY | abi.openFlags().directory());
    try (Arena arena = Arena.ofConfined();
        DescriptorOfProcess listing = new DescriptorOfProcess(descriptor)) {
      MemorySegment buffer = arena.allocate(ENTRIES_BYTES, Long.BYTES);
      List<String> names = new ArrayList<>();
      long filled;
      do {
        filled =
            checked(
                "getdents64",
                Integer.toString(directory.descriptor()),
                LibcBindings.getdents64(listing.number, buffer));
        collectNames(buffer.asSlice(0, filled), names);
      } while (filled > 0);
      Collections.sort(names);
      return List.copyOf(names);
    }
  }

  @Override
  public void resize(FileHandle file, long bytes) {
    checked(
        "ftruncate",
        file.descriptor() + ", " + bytes,
        LibcBindings.ftruncate(file.descriptor(), bytes));
  }

  @Override
  public void allocate(FileHandle file, long bytes) {
    allocate(file, 0, bytes);
  }

  @Override
  public void allocate(FileHandle file, long fromBytes, long bytes) {
    checked(
        "fallocate",
        file.descriptor() + ", " + fromBytes + ", " + bytes,
        LibcBindings.fallocate(file.descriptor(), 0, fromBytes, bytes));
  }

  @Override
  public void sealSize(FileHandle file) {
    int seals = LibcBindings.F_SEAL_SHRINK | LibcBindings.F_SEAL_GROW | LibcBindings.F_SEAL_SEAL;
    checked(
        "fcntl",
        file.descriptor() + ", F_ADD_SEALS, SHRINK|GROW|SEAL",
        LibcBindings.fcntl(file.descriptor(), LibcBindings.F_ADD_SEALS, seals));
  }

  @Override
  public boolean tryLock(FileHandle file, LockMode mode) {
    int operation =
        switch (mode) {
          case SHARED -> LibcBindings.LOCK_SH;
          case EXCLUSIVE -> LibcBindings.LOCK_EX;
        };
    long answer = LibcBindings.flock(file.descriptor(), operation | LibcBindings.LOCK_NB);
    if (answer == -Errno.EAGAIN.number()) {
      return false;
    }
    checked("flock", file.descriptor() + ", " + mode, answer);
    return true;
  }

  @Override
  public void unlock(FileHandle file) {
    checked(
        "flock",
        file.descriptor() + ", UNLOCK",
        LibcBindings.flock(file.descriptor(), LibcBindings.LOCK_UN));
  }

  @Override
  public void unlink(DirectoryHandle directory, String name) {
    requirePlainName(name);
    try (Arena arena = Arena.ofConfined()) {
      checked(
          "unlinkat",
          directory.descriptor() + ", " + name,
          LibcBindings.unlinkat(directory.descriptor(), cString(name, arena), 0));
    }
  }

  @Override
  public void close(Handle handle) {
    long answer = LibcBindings.close(handle.descriptor());
    // Linux has given the number back by then; closing again could hit another thread's file.
    if (answer != -Errno.EINTR.number()) {
      checked("close", Integer.toString(handle.descriptor()), answer);
    }
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
    return "kernel pages of " + identity();
  }

  /** The flags of mmap for a mapping; the size bits are never left to the kernel's default. */
  static int mapFlags(Mapping mapping) {
    int flags =
        mapping.sharing() == Sharing.SHARED ? LibcBindings.MAP_SHARED : LibcBindings.MAP_PRIVATE;
    if (mapping.file().isEmpty()) {
      flags |= LibcBindings.MAP_ANONYMOUS;
    }
    if (mapping.reservation() == Reservation.NONE) {
      flags |= LibcBindings.MAP_NORESERVE;
    }
    if (mapping.hugePageBytes() != 0) {
      flags |=
          LibcBindings.MAP_HUGETLB
              | Long.numberOfTrailingZeros(mapping.hugePageBytes()) << LibcBindings.MAP_HUGE_SHIFT;
    }
    return flags;
  }

  // The kernel has no alignment to ask for: take more, and give back what lies before and after.
  private MemorySegment mapAligned(long bytes, long alignmentBytes, int flags) {
    long wholePages = Math.multiplyExact(Math.ceilDiv(bytes, basePageBytes), basePageBytes);
    long taken = Math.addExact(wholePages, alignmentBytes - basePageBytes);
    MemorySegment whole = mmap(taken, flags, -1, 0);
    long before = -whole.address() & (alignmentBytes - 1);
    long after = taken - before - wholePages;
    try {
      if (before > 0) {
        unmap(whole.asSlice(0, before));
      }
    } catch (HostKernelException failure) {
      throw withoutLeak(failure, whole);
    }
    try {
      if (after > 0) {
        unmap(whole.asSlice(before + wholePages, after));
      }
    } catch (HostKernelException failure) {
      throw withoutLeak(failure, whole.asSlice(before));
    }
    return LibcBindings.mapped(whole.address() + before, bytes);
  }

  private HostKernelException withoutLeak(HostKernelException failure, MemorySegment rest) {
    try {
      unmap(rest);
    } catch (HostKernelException second) {
      failure.addSuppressed(second);
    }
    return failure;
  }

  private static MemorySegment mmap(long bytes, int flags, int descriptor, long offset) {
    int readWrite = LibcBindings.PROT_READ | LibcBindings.PROT_WRITE;
    long address = LibcBindings.mmap(bytes, readWrite, flags, descriptor, offset);
    String arguments =
        bytes
            + ", flags 0x"
            + Integer.toHexString(flags)
            + (descriptor < 0 ? "" : ", file " + descriptor + " from " + offset);
    return LibcBindings.mapped(checked("mmap", arguments, address), bytes);
  }

  private int openat(int directory, String name, int flags) {
    try (Arena arena = Arena.ofConfined()) {
      // Without the flags of an unknown architecture a link would be followed: better not at all.
      long answer =
          !abi.isKnown()
              ? -Errno.ENOSYS.number()
              : LibcBindings.openat(
                  directory, cString(name, arena), flags | LibcBindings.O_CLOEXEC, MODE_0600);
      return (int) checked("openat", name, answer);
    }
  }

  private FileFacts stat(String call, String arguments, Filler filler) {
    StructLayout layout =
        abi.stat().orElseThrow(() -> refused(call, arguments, -Errno.ENOSYS.number()));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment stat = arena.allocate(layout);
      checked(call, arguments, filler.fill(stat));
      int mode = (int) integer(layout, stat, "st_mode");
      FileKind kind =
          switch (mode & LibcBindings.S_IFMT) {
            case LibcBindings.S_IFREG -> FileKind.REGULAR;
            case LibcBindings.S_IFDIR -> FileKind.DIRECTORY;
            case LibcBindings.S_IFLNK -> FileKind.LINK;
            default -> FileKind.OTHER;
          };
      return new FileFacts(
          kind,
          integer(layout, stat, "st_size"),
          // Counted in units of 512 bytes, whatever the file system's block is (stat(2)).
          integer(layout, stat, "st_blocks") * 512,
          integer(layout, stat, "st_dev"),
          integer(layout, stat, "st_ino"),
          integer(layout, stat, "st_nlink"),
          (int) integer(layout, stat, "st_uid"),
          mode & ~LibcBindings.S_IFMT);
    }
  }

  // Nobody tells how long a mask must be; the kernel answers EINVAL to one that is too short.
  private static Set<Integer> filled(String call, int firstBits, Arena arena, MaskFiller filler) {
    for (int bits = firstBits; ; bits *= 2) {
      BitMask mask = BitMask.ofBits(bits, arena);
      long answer = filler.fill(mask);
      if (answer != -Errno.EINVAL.number() || bits >= MOST_MASK_BITS) {
        checked(call, bits + " bits", answer);
        return mask.numbers();
      }
    }
  }

  private static void collectNames(MemorySegment entries, List<String> names) {
    StructLayout layout = LibcLayouts.DIRENT64;
    long lengthAt = LibcLayouts.offset(layout, "d_reclen");
    long nameAt = LibcLayouts.offset(layout, "d_name");
    for (long at = 0; at < entries.byteSize(); ) {
      String name = entries.getString(at + nameAt, PATHS);
      if (!name.equals(".") && !name.equals("..")) {
        names.add(name);
      }
      at += Short.toUnsignedLong(entries.get(JAVA_SHORT, at + lengthAt));
    }
  }

  private static MemorySegment cString(String text, Arena arena) {
    if (text.indexOf('\0') >= 0) {
      throw new IllegalArgumentException("A name cannot hold a zero character.");
    }
    return arena.allocateFrom(text, PATHS);
  }

  private static void requirePlainName(String name) {
    if (name.isEmpty() || name.equals(".") || name.equals("..") || name.indexOf('/') >= 0) {
      throw new IllegalArgumentException("Not one plain name: \"" + name + "\"");
    }
  }

  private static void requireNative(MemorySegment range) {
    if (!range.isNative()) {
      throw new IllegalArgumentException("The kernel knows native memory only, not the heap.");
    }
  }

  private static long checked(String call, String arguments, long answer) {
    if (answer < 0) {
      throw refused(call, arguments, answer);
    }
    return answer;
  }

  private static HostKernelException refused(String call, String arguments, long answer) {
    return new HostKernelException(call, arguments, (int) -answer);
  }

  private static String text(MemorySegment range) {
    return "0x" + Long.toHexString(range.address()) + ", " + range.byteSize();
  }

  /** Fills a struct; answers as the bindings do. */
  @FunctionalInterface
  private interface Filler {
    long fill(MemorySegment struct);
  }

  /** Fills a mask; answers as the bindings do. */
  @FunctionalInterface
  private interface MaskFiller {
    long fill(BitMask mask);
  }

  /** A descriptor that lives for one method. */
  private record DescriptorOfProcess(int number) implements AutoCloseable {
    @Override
    public void close() {
      // Nothing was written through it, so whatever this answers, nothing is lost.
      LibcBindings.close(number);
    }
  }
}
