package io.holdfast.spi;

import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;

/**
 * The host port: the calls of one operating system, and nothing more.
 *
 * <p>There is no policy here. Nothing is rounded, retried, checked against limits or remembered:
 * each method makes its call and returns what the kernel said, {@link Errno#EINTR} included. A
 * failed call is a {@link HostKernelException} with the errno that the call itself captured.
 * Arguments that no kernel can be given, such as a heap segment, a negative length or a name with a
 * slash, are an {@link IllegalArgumentException}; a segment whose arena is closed is an {@link
 * IllegalStateException}.
 *
 * <p>Every method may be called from any thread, and every method runs in the calling thread. Some
 * block for long, {@link Advice#POPULATE_WRITE} above all: seconds per 10 GiB of base pages. A
 * virtual thread that makes such a call holds its carrier meanwhile, so policy makes them on
 * platform threads of its own.
 *
 * <p>What a port does not have, it answers with {@link Errno#ENOSYS}.
 */
public interface HostKernel {

  /**
   * Says which operating system answers.
   *
   * @return its name, release and processor
   */
  Identity identity();

  /**
   * Says what stands behind {@link #map}.
   *
   * @return whether the kernel's own mappings do, or plain segments
   */
  Pages pages();

  /**
   * Returns the operating system's page, read at run time.
   *
   * @return the base page in bytes, a power of two; where {@link #pages()} is {@link Pages#PLAIN} a
   *     multiple of it
   */
  long basePageBytes();

  /**
   * Maps memory that this process can read and write.
   *
   * <p>The segment has exactly {@code bytes} bytes and lives until {@link #unmap}: no arena owns it
   * and nothing unmaps it on its own. Whoever hands it on must keep its users away after unmapping;
   * reading it then is a crash. With huge pages the kernel rounds the mapping up but {@link #unmap}
   * does not, so callers pass whole backing pages to both.
   *
   * @param bytes how many, positive
   * @param mapping what to map and how
   * @return the memory, zero where it is fresh
   * @throws HostKernelException with {@link Errno#ENOMEM} where the pool of huge pages, the address
   *     space, the commit limit or {@code vm.max_map_count} is exhausted; {@link Errno#EINVAL}
   *     where the kernel has no pages of that size
   */
  MemorySegment map(long bytes, Mapping mapping);

  /**
   * Unmaps a mapping or a part of one.
   *
   * @param range whole backing pages that {@link #map} returned
   * @throws HostKernelException with {@link Errno#EINVAL} where the range is not whole backing
   *     pages; {@link Errno#ENOMEM} where a hole would make too many mappings
   */
  void unmap(MemorySegment range);

  /**
   * Advises the kernel about a range.
   *
   * <p>{@link Advice#POPULATE_WRITE} blocks until every page of the range exists. It answers {@link
   * Errno#EINVAL} where the kernel is older than 5.14, {@link Errno#EFAULT} where a touch would
   * have been a bus error (too few huge pages on the node or in the cgroup, a full tmpfs), {@link
   * Errno#ENOMEM} for a hole or without memory, {@link Errno#EHWPOISON} for a broken page, and
   * {@link Errno#EINTR} where a signal came between pages; pages made before any of these stay.
   *
   * @param range the range; the kernel wants its start, and for huge pages its end, on a backing
   *     page
   * @param advice the advice
   * @throws HostKernelException with the kernel's answer
   */
  void advise(MemorySegment range, Advice advice);

  /**
   * Sets the memory policy of a range; pages that exist are not moved.
   *
   * @param range the range
   * @param mode the policy
   * @param nodes its nodes, by the kernel's numbers; none is passed as no mask
   * @throws HostKernelException with {@link Errno#EINVAL} where a node is not there or not allowed,
   *     or the kernel lacks the mode; {@link Errno#EPERM} where a seccomp filter refuses
   */
  void bind(MemorySegment range, NodeMode mode, Set<Integer> nodes);

  /**
   * Asks on which node pages are; nothing is moved or touched.
   *
   * @param range the range
   * @param offsets the bytes of the range to ask about, each within it
   * @return per offset the node, or a negative errno: {@link Errno#ENOENT} for a page that does not
   *     exist yet, {@link Errno#EFAULT} for the shared zero page or for no mapping
   * @throws HostKernelException with the kernel's answer to the call as a whole
   */
  int[] nodesAt(MemorySegment range, long[] offsets);

  /**
   * Asks on which node every page at a step is.
   *
   * @param range the range, not empty
   * @param stepBytes from page to page, positive
   * @return as of {@link #nodesAt}, from the range's start
   * @throws HostKernelException with the kernel's answer to the call as a whole
   */
  default int[] nodes(MemorySegment range, long stepBytes) {
    if (stepBytes <= 0) {
      throw new IllegalArgumentException("The step must be positive: " + stepBytes);
    }
    long[] offsets = new long[Math.toIntExact(Math.ceilDiv(range.byteSize(), stepBytes))];
    for (int i = 0; i < offsets.length; i++) {
      offsets[i] = i * stepBytes;
    }
    return nodesAt(range, offsets);
  }

  /**
   * Reads the calling thread's memory policy and CPUs; for a virtual thread, its carrier's.
   *
   * @return the place
   * @throws HostKernelException with the kernel's answer
   */
  ThreadPlace threadPlace();

  /**
   * Gives the calling platform thread that policy and those CPUs, CPUs first.
   *
   * <p>Where the policy is refused the CPUs are already changed.
   *
   * @param place the place, as a rule from {@link #threadPlace} of another thread
   * @throws HostKernelException with the kernel's answer
   * @throws IllegalStateException on a virtual thread, which would leave its carrier changed
   */
  void placeThread(ThreadPlace place);

  /**
   * Asks that the calling platform thread's timed waits end when their time is over. Kernels
   * otherwise let them last longer, to wake several sleepers at once (Linux: 50 us); who watches a
   * device cannot afford that. A wish: where it is not granted nothing happens.
   *
   * @throws IllegalStateException on a virtual thread, which would leave its carrier changed
   */
  default void wakeOnTime() {}

  /**
   * Returns the calling thread's number, by the operating system where it tells.
   *
   * @return the number, as in {@code /proc/self/task}
   */
  long threadId();

  /**
   * Returns how much memory the process may lock ({@code RLIMIT_MEMLOCK}, the soft limit).
   *
   * @return bytes, or empty where there is no limit
   */
  OptionalLong lockLimitBytes();

  /**
   * Opens a directory, so that names can be looked up in exactly this one.
   *
   * @param directory the directory; links on the way are followed
   * @return its handle, to be closed; not inherited over exec
   * @throws HostKernelException with {@link Errno#ENOENT}, {@link Errno#ENOTDIR} or another answer
   */
  DirectoryHandle openDirectory(Path directory);

  /**
   * Opens a file for reading and writing, relative to a directory and without following a link.
   *
   * @param directory where
   * @param name one plain name
   * @param mode whether it must be new or be there
   * @return its handle, to be closed; not inherited over exec
   * @throws HostKernelException with {@link Errno#EEXIST}, {@link Errno#ENOENT}, {@link
   *     Errno#ELOOP} for a link, or another answer
   */
  FileHandle open(DirectoryHandle directory, String name, OpenMode mode);

  /**
   * Opens a new file in a directory's file system that has no name, so that nothing stays behind
   * even after SIGKILL.
   *
   * @param directory where
   * @return its handle, to be closed; not inherited over exec
   * @throws HostKernelException with {@link Errno#EOPNOTSUPP}, or {@link Errno#EISDIR} on old
   *     kernels, where the file system has no such files
   */
  FileHandle openNameless(DirectoryHandle directory);

  /**
   * Opens a new file in memory that has no name.
   *
   * @param label what {@code /proc} shows for it, at most 249 bytes
   * @param hugePageBytes the huge page behind it, a power of two, or 0 for base pages
   * @return its handle, to be closed; not inherited over exec
   * @throws HostKernelException with {@link Errno#EINVAL} or {@link Errno#ENODEV} where the kernel
   *     has no such pages
   */
  FileHandle memoryFile(String label, long hugePageBytes);

  /**
   * Takes a copy of another process's open file.
   *
   * <p>Both copies are one open file to the kernel: a lock taken with {@link #tryLock} through one
   * is held by the other too, until both are closed.
   *
   * @param pid the process, positive
   * @param descriptor its descriptor, zero or more
   * @return our own handle, to be closed; not inherited over exec
   * @throws HostKernelException with {@link Errno#ESRCH} where there is no such process, {@link
   *     Errno#EPERM} without the right to trace it, {@link Errno#EBADF} where it has no such
   *     descriptor
   */
  FileHandle takeFrom(long pid, int descriptor);

  /**
   * Asks what an open file or directory is.
   *
   * @param handle the file or directory
   * @return its identity, length and owner
   * @throws HostKernelException with the kernel's answer
   */
  FileFacts facts(Handle handle);

  /**
   * Asks what a name in a directory is; a link is not followed.
   *
   * @param directory where
   * @param name one plain name
   * @return its identity, length and owner
   * @throws HostKernelException with {@link Errno#ENOENT} where there is no such name
   */
  FileFacts factsOf(DirectoryHandle directory, String name);

  /**
   * Asks which file system an open file or directory is on.
   *
   * @param handle the file or directory
   * @return its type, page and room
   * @throws HostKernelException with the kernel's answer
   */
  FileSystemFacts fileSystem(Handle handle);

  /**
   * Lists the names in a directory.
   *
   * @param directory the directory
   * @return the names in order, without {@code .} and {@code ..}
   * @throws HostKernelException with the kernel's answer
   */
  List<String> entries(DirectoryHandle directory);

  /**
   * Sets a file's length; takes no space, so a later touch can still fail.
   *
   * @param file the file
   * @param bytes the length, zero or more
   * @throws HostKernelException with {@link Errno#EPERM} where the size is sealed, or another
   *     answer
   */
  void resize(FileHandle file, long bytes);

  /**
   * Takes the space for a file's first bytes and makes it at least that long, so that no touch of
   * them can fail.
   *
   * <p>Blocks while the kernel clears pages. The call never writes zeros itself where the file
   * system cannot do it. On hugetlbfs it takes the pages at once.
   *
   * @param file the file
   * @param bytes how many, positive
   * @throws HostKernelException with {@link Errno#ENOSPC} where the file system is full, {@link
   *     Errno#EOPNOTSUPP} where it cannot, {@link Errno#EINTR} where a signal came first
   */
  void allocate(FileHandle file, long bytes);

  /**
   * Takes the space for a part of a file, as {@link #allocate(FileHandle, long)} does for its first
   * bytes, and makes the file at least long enough to hold the part.
   *
   * @param file the file
   * @param fromBytes where the part starts, zero or more
   * @param bytes how long it is, positive
   * @throws HostKernelException with {@link Errno#ENOSPC} where the file system is full, {@link
   *     Errno#EOPNOTSUPP} where it cannot, {@link Errno#EINTR} where a signal came first; {@link
   *     Errno#ENOSYS} where the port knows whole files only
   */
  default void allocate(FileHandle file, long fromBytes, long bytes) {
    if (fromBytes != 0) {
      throw new HostKernelException(
          "allocate", file.descriptor() + ", " + fromBytes + ", " + bytes, Errno.ENOSYS.number());
    }
    allocate(file, bytes);
  }

  /**
   * Seals a memory file's size: nobody can shrink or grow it any more, hence no process that maps
   * it can get a bus error from a shorter file.
   *
   * @param file a file of {@link #memoryFile}
   * @throws HostKernelException with {@link Errno#EINVAL} for another kind of file
   */
  void sealSize(FileHandle file);

  /**
   * Locks the whole file, without waiting; the kernel unlocks it when the last copy of the handle
   * is closed, hence at the latest when the process ends.
   *
   * <p>Changing a lock from one mode to the other is not atomic: another process can come between.
   *
   * @param file the file
   * @param mode alone or with others
   * @return whether it is locked now; false where another holder stands against it
   * @throws HostKernelException with any other answer
   */
  boolean tryLock(FileHandle file, LockMode mode);

  /**
   * Gives the file's lock up; does nothing where there is none.
   *
   * @param file the file
   * @throws HostKernelException with the kernel's answer
   */
  void unlock(FileHandle file);

  /**
   * Removes a name from a directory; the file lives while it is open or mapped.
   *
   * @param directory where
   * @param name one plain name, of anything but a directory
   * @throws HostKernelException with {@link Errno#ENOENT} where there is no such name, or another
   *     answer
   */
  void unlink(DirectoryHandle directory, String name);

  /**
   * Closes a file or directory, for good even where a signal interrupts the call.
   *
   * @param handle the handle; its number can belong to another file right after
   * @throws HostKernelException with {@link Errno#EBADF} where it was closed before
   */
  void close(Handle handle);

  /**
   * Reads a text of sysfs, procfs or a cgroup.
   *
   * @param path its path from the root of the tree, with or without a leading slash, for example
   *     {@code /proc/meminfo}
   * @return the whole text, or empty where there is none that this process can read
   */
  Optional<String> text(String path);

  /**
   * Reads a text of procfs line by line, for those that grow with the process: what the reader does
   * not want the kernel does not write.
   *
   * @param path its path from the root of the tree, with or without a leading slash
   * @param reader takes one line without its end; false when it has enough
   */
  default void lines(String path, Predicate<String> reader) {
    var _ = text(path).orElse("").lines().allMatch(reader);
  }

  /**
   * Lists the names in a folder of sysfs, procfs or a cgroup.
   *
   * @param path its path from the root of the tree, with or without a leading slash
   * @return the names in order; empty where there is no such folder that this process can read
   */
  List<String> names(String path);

  /**
   * Reads a clock that only goes forward.
   *
   * @return nanoseconds since a moment of the port's own
   */
  long nanoTime();

  /**
   * Lets at least that much of this port's time pass for the calling thread.
   *
   * <p>An interrupted thread returns at once and stays interrupted.
   *
   * @param nanos how long, in nanoseconds; nothing happens for zero or less
   */
  void pause(long nanos);

  /**
   * Which operating system answers.
   *
   * @param system its name, for example {@code Linux}
   * @param release its release, for example {@code 6.18.44}
   * @param machine its processor architecture, for example {@code x86_64}
   */
  record Identity(String system, String release, String machine) {
    /** Checks that nothing is null. */
    public Identity {
      Objects.requireNonNull(system, "system");
      Objects.requireNonNull(release, "release");
      Objects.requireNonNull(machine, "machine");
    }

    @Override
    public String toString() {
      return system + " " + release + " " + machine;
    }
  }

  /** What stands behind a mapping. */
  enum Pages {
    /** The kernel's own mappings: every call of the port reaches it. */
    KERNEL,
    /** Plain segments of the Java runtime: no page kinds, no nodes, no advice, no files. */
    PLAIN
  }

  /**
   * How to map.
   *
   * @param file the file, or empty for anonymous memory
   * @param fileOffset where in the file the mapping starts, in bytes; the kernel wants a whole page
   * @param hugePageBytes the huge page behind anonymous memory, a power of two, always passed to
   *     the kernel by size; 0 for base pages and for files, whose file system decides
   * @param alignmentBytes what the address is a multiple of, a power of two; 0 where the kernel's
   *     own choice is good. Only for private anonymous base pages: the kernel aligns all others
   *     itself
   * @param sharing who sees writes
   * @param reservation when memory is accounted for
   */
  record Mapping(
      Optional<FileHandle> file,
      long fileOffset,
      long hugePageBytes,
      long alignmentBytes,
      Sharing sharing,
      Reservation reservation) {

    /** Checks that the parts can go together. */
    public Mapping {
      Objects.requireNonNull(file, "file");
      Objects.requireNonNull(sharing, "sharing");
      Objects.requireNonNull(reservation, "reservation");
      if (fileOffset < 0 || (fileOffset > 0 && file.isEmpty())) {
        throw new IllegalArgumentException(
            "An offset is positive and in a file: " + fileOffset + " of " + file);
      }
      requireSizeOrZero("huge page", hugePageBytes);
      requireSizeOrZero("alignment", alignmentBytes);
      if (hugePageBytes != 0 && file.isPresent()) {
        throw new IllegalArgumentException(
            "A file's own file system decides its pages; map it without a huge page size.");
      }
      if (hugePageBytes != 0 && reservation == Reservation.NONE) {
        throw new IllegalArgumentException(
            "Huge pages are always reserved: without that a touch can be a bus error.");
      }
      if (alignmentBytes != 0
          && (hugePageBytes != 0 || file.isPresent() || sharing == Sharing.SHARED)) {
        throw new IllegalArgumentException(
            "Only private anonymous base pages can be asked to be aligned.");
      }
    }

    /**
     * Describes private anonymous memory on base pages, accounted for at once.
     *
     * @return the description
     */
    public static Mapping anonymous() {
      return new Mapping(Optional.empty(), 0, 0, 0, Sharing.PRIVATE, Reservation.AT_ONCE);
    }

    /**
     * Describes a file from its start, shared with all that map it.
     *
     * @param file the file
     * @return the description
     */
    public static Mapping of(FileHandle file) {
      return new Mapping(Optional.of(file), 0, 0, 0, Sharing.SHARED, Reservation.AT_ONCE);
    }

    /**
     * Changes where in the file the mapping starts.
     *
     * @param bytes the offset
     * @return the description so changed
     */
    public Mapping from(long bytes) {
      return new Mapping(file, bytes, hugePageBytes, alignmentBytes, sharing, reservation);
    }

    /**
     * Changes the huge page behind anonymous memory.
     *
     * @param bytes the huge page, a power of two, or 0 for base pages
     * @return the description so changed
     */
    public Mapping onHugePages(long bytes) {
      return new Mapping(file, fileOffset, bytes, alignmentBytes, sharing, reservation);
    }

    /**
     * Changes what the address is a multiple of.
     *
     * @param bytes the alignment, a power of two, or 0 for the kernel's own choice
     * @return the description so changed
     */
    public Mapping alignedTo(long bytes) {
      return new Mapping(file, fileOffset, hugePageBytes, bytes, sharing, reservation);
    }

    /**
     * Changes who sees writes.
     *
     * @param whose who sees them
     * @return the description so changed
     */
    public Mapping with(Sharing whose) {
      return new Mapping(file, fileOffset, hugePageBytes, alignmentBytes, whose, reservation);
    }

    /**
     * Changes when memory is accounted for.
     *
     * @param when at once or not at all
     * @return the description so changed
     */
    public Mapping with(Reservation when) {
      return new Mapping(file, fileOffset, hugePageBytes, alignmentBytes, sharing, when);
    }
  }

  /** Who sees writes. */
  enum Sharing {
    /** This process alone. */
    PRIVATE,
    /** All processes that map it. */
    SHARED
  }

  /** When memory is accounted for. */
  enum Reservation {
    /** The mapping counts as a whole from the start. */
    AT_ONCE,
    /**
     * Nothing is set aside ({@code MAP_NORESERVE}): for address ranges that stay mostly untouched.
     */
    NONE
  }

  /** Advice about a range. */
  enum Advice {
    /** Children made by fork do not get the range. */
    DONT_FORK,
    /** Children made by fork get the range again. */
    DO_FORK,
    /** Core dumps leave the range out. */
    DONT_DUMP,
    /** Core dumps take the range in again. */
    DO_DUMP,
    /** Transparent huge pages please; before the first touch. */
    HUGE_PAGE,
    /** No transparent huge pages please. */
    NO_HUGE_PAGE,
    /** Make every page now, writable. Blocks. */
    POPULATE_WRITE
  }

  /** Memory policies of a range. */
  enum NodeMode {
    /** These nodes only. */
    BIND,
    /** That node first, then any. */
    PREFERRED,
    /** The nodes turn by turn. */
    INTERLEAVE,
    /** The nodes turn by turn, each as often as its weight says. */
    WEIGHTED_INTERLEAVE
  }

  /** How to open a name. */
  enum OpenMode {
    /** It must not exist; it is made with mode 0600 less the process's mask. */
    CREATE_NEW,
    /** It must exist. */
    EXISTING
  }

  /** How to lock a file. */
  enum LockMode {
    /** Together with others of this mode. */
    SHARED,
    /** Alone. */
    EXCLUSIVE
  }

  /** An open file or directory. */
  sealed interface Handle permits FileHandle, DirectoryHandle {
    /**
     * Returns the number by which the kernel knows it.
     *
     * @return the descriptor, zero or more
     */
    int descriptor();
  }

  /**
   * An open file.
   *
   * @param descriptor as the kernel numbers it
   */
  record FileHandle(int descriptor) implements Handle {
    /** Checks that the number can be one. */
    public FileHandle {
      requireDescriptor(descriptor);
    }
  }

  /**
   * An open directory.
   *
   * @param descriptor as the kernel numbers it
   */
  record DirectoryHandle(int descriptor) implements Handle {
    /** Checks that the number can be one. */
    public DirectoryHandle {
      requireDescriptor(descriptor);
    }
  }

  /**
   * A thread's place: where its memory comes from and where it runs.
   *
   * @param mode its memory policy by the kernel's number, flags included; 0 is the default policy
   * @param nodes the nodes of that policy, in order
   * @param cpus the CPUs it may run on, in order
   */
  record ThreadPlace(int mode, Set<Integer> nodes, Set<Integer> cpus) {
    /** Copies both sets in order. */
    public ThreadPlace {
      nodes = ordered(nodes);
      cpus = ordered(cpus);
    }
  }

  /** Kinds of files. */
  enum FileKind {
    /** A regular file. */
    REGULAR,
    /** A directory. */
    DIRECTORY,
    /** A symbolic link. */
    LINK,
    /** Anything else. */
    OTHER
  }

  /**
   * What a file is.
   *
   * @param kind its kind
   * @param bytes its length
   * @param allocatedBytes the space that it takes
   * @param device with inode: its identity
   * @param inode with device: its identity
   * @param links how many names it has; 0 once the last is gone
   * @param owner its owner's user id
   * @param permissions its permission bits, as of chmod
   */
  record FileFacts(
      FileKind kind,
      long bytes,
      long allocatedBytes,
      long device,
      long inode,
      long links,
      int owner,
      int permissions) {

    /**
     * Tells whether both are the same file, whatever its name, length or mode now.
     *
     * @param other what another file is
     * @return whether device and inode are equal
     */
    public boolean sameFileAs(FileFacts other) {
      return device == other.device && inode == other.inode;
    }
  }

  /**
   * What a file system is.
   *
   * @param magic its type, for example {@link #HUGETLBFS_MAGIC}
   * @param blockBytes its page: what a mapping of its files is made of
   * @param blocks how many there are; 0 where it has no limit
   * @param freeBlocks how many are free
   * @param availableBlocks how many of those this process may take
   */
  record FileSystemFacts(
      long magic, long blockBytes, long blocks, long freeBlocks, long availableBlocks) {
    /** The type of hugetlbfs ({@code HUGETLBFS_MAGIC} of linux/magic.h). */
    public static final long HUGETLBFS_MAGIC = 0x958458f6L;

    /** The type of tmpfs ({@code TMPFS_MAGIC} of linux/magic.h). */
    public static final long TMPFS_MAGIC = 0x01021994L;
  }

  private static void requireDescriptor(int descriptor) {
    if (descriptor < 0) {
      throw new IllegalArgumentException("A descriptor is zero or more: " + descriptor);
    }
  }

  private static void requireSizeOrZero(String what, long bytes) {
    if (bytes < 0 || Long.bitCount(bytes) > 1) {
      throw new IllegalArgumentException("A " + what + " is a power of two, or 0: " + bytes);
    }
  }

  private static Set<Integer> ordered(Collection<Integer> numbers) {
    return Collections.unmodifiableSet(new TreeSet<>(numbers));
  }
}
