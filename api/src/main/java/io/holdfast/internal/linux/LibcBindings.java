package io.holdfast.internal.linux;

import static java.lang.foreign.MemoryLayout.PathElement.groupElement;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.error.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The functions of the C library, and the system calls it has no function for.
 *
 * <p>Each method is one C function under its C name. It returns the function's result, zero or
 * more, or the negated errno, which the call itself captured into a segment that only this call
 * sees. A function that the library, the kernel or the architecture does not have answers {@code
 * -ENOSYS}. Segments are passed as segments, so an arena cannot be closed under a running call; a
 * segment that was closed before is an {@link IllegalStateException}.
 *
 * <p>No call here is {@code critical}: any of them can block. Any thread.
 */
final class LibcBindings {
  // asm-generic/mman-common.h, linux/mman.h
  static final int PROT_READ = 0x1;
  static final int PROT_WRITE = 0x2;
  static final int MAP_SHARED = 0x01;
  static final int MAP_PRIVATE = 0x02;
  static final int MAP_ANONYMOUS = 0x20;
  static final int MAP_NORESERVE = 0x4000;
  static final int MAP_HUGETLB = 0x4_0000;
  static final int MAP_HUGE_SHIFT = 26;
  static final int MADV_DONTFORK = 10;
  static final int MADV_DOFORK = 11;
  static final int MADV_HUGEPAGE = 14;
  static final int MADV_NOHUGEPAGE = 15;
  static final int MADV_DONTDUMP = 16;
  static final int MADV_DODUMP = 17;
  static final int MADV_POPULATE_WRITE = 23;

  // linux/mempolicy.h
  static final int MPOL_DEFAULT = 0;
  static final int MPOL_PREFERRED = 1;
  static final int MPOL_BIND = 2;
  static final int MPOL_INTERLEAVE = 3;
  static final int MPOL_WEIGHTED_INTERLEAVE = 6;

  // asm-generic/fcntl.h, linux/fcntl.h; what differs between architectures is in Abi.OpenFlags
  static final int AT_FDCWD = -100;
  static final int AT_SYMLINK_NOFOLLOW = 0x100;
  static final int O_RDONLY = 0x0;
  static final int O_RDWR = 0x2;
  static final int O_CREAT = 0x40;
  static final int O_EXCL = 0x80;
  static final int O_CLOEXEC = 0x8_0000;
  static final int F_ADD_SEALS = 1033;
  static final int F_SEAL_SEAL = 0x1;
  static final int F_SEAL_SHRINK = 0x2;
  static final int F_SEAL_GROW = 0x4;
  static final int LOCK_SH = 1;
  static final int LOCK_EX = 2;
  static final int LOCK_NB = 4;
  static final int LOCK_UN = 8;

  // linux/prctl.h
  static final int PR_SET_TIMERSLACK = 29;
  static final int PR_GET_TIMERSLACK = 30;

  // linux/stat.h
  static final int S_IFMT = 0xF000;
  static final int S_IFDIR = 0x4000;
  static final int S_IFREG = 0x8000;
  static final int S_IFLNK = 0xA000;

  // linux/memfd.h
  static final int MFD_CLOEXEC = 0x1;
  static final int MFD_ALLOW_SEALING = 0x2;
  static final int MFD_HUGETLB = 0x4;
  static final int MFD_NOEXEC_SEAL = 0x8;
  static final int MFD_HUGE_SHIFT = 26;

  // asm-generic/resource.h, glibc's bits/confname.h (musl has the same number)
  static final int RLIMIT_MEMLOCK = 8;
  static final long RLIM_INFINITY = -1L;
  static final int _SC_PAGESIZE = 30;

  private static final StructLayout CAPTURE_STATE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO = CAPTURE_STATE.varHandle(groupElement("errno"));

  // Why the runtime would not make a handle, where it would not: set before the handles below are
  // made.
  private static final AtomicReference<@Nullable RuntimeException> REFUSAL =
      new AtomicReference<>();

  private static final SymbolLookup LIBC = libc();
  private static final Abi.Numbers NUMBERS = Abi.current().numbers();

  // The C library's functions, by name.
  private static final MethodHandle CLOSE =
      downcall(LIBC, "close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
  private static final MethodHandle FALLOCATE =
      downcall(
          LIBC,
          "fallocate",
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
  private static final MethodHandle FCNTL =
      downcall(
          LIBC,
          "fcntl",
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT),
          Linker.Option.firstVariadicArg(2));
  private static final MethodHandle FLOCK =
      downcall(LIBC, "flock", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
  private static final MethodHandle FSTATFS =
      downcall(LIBC, "fstatfs", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));
  private static final MethodHandle FTRUNCATE =
      downcall(LIBC, "ftruncate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));
  private static final MethodHandle GETRLIMIT =
      downcall(LIBC, "getrlimit", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));
  private static final MethodHandle MADVISE =
      downcall(LIBC, "madvise", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
  private static final MethodHandle MMAP =
      downcall(
          LIBC,
          "mmap",
          FunctionDescriptor.of(
              JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
  private static final MethodHandle MUNMAP =
      downcall(LIBC, "munmap", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG));
  private static final MethodHandle OPENAT =
      downcall(
          LIBC,
          "openat",
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT),
          Linker.Option.firstVariadicArg(3));
  private static final MethodHandle SCHED_GETAFFINITY =
      downcall(
          LIBC, "sched_getaffinity", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));
  private static final MethodHandle SCHED_SETAFFINITY =
      downcall(
          LIBC, "sched_setaffinity", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));
  private static final MethodHandle PRCTL =
      downcall(
          LIBC,
          "prctl",
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG),
          Linker.Option.firstVariadicArg(1));
  private static final MethodHandle SYSCONF =
      downcall(LIBC, "sysconf", FunctionDescriptor.of(JAVA_LONG, JAVA_INT));
  private static final MethodHandle UNAME =
      downcall(LIBC, "uname", FunctionDescriptor.of(JAVA_INT, ADDRESS));
  private static final MethodHandle UNLINKAT =
      downcall(LIBC, "unlinkat", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT));

  // System calls by number: glibc has no function for these, or not in every version in use.
  private static final MethodHandle SYS_FSTAT =
      systemCall(LIBC, NUMBERS.fstat(), FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS));
  private static final MethodHandle SYS_GET_MEMPOLICY =
      systemCall(
          LIBC,
          NUMBERS.getMempolicy(),
          FunctionDescriptor.of(JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG));
  private static final MethodHandle SYS_GETDENTS64 =
      systemCall(
          LIBC,
          NUMBERS.getdents64(),
          FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG));
  private static final MethodHandle SYS_GETTID =
      systemCall(LIBC, NUMBERS.gettid(), FunctionDescriptor.of(JAVA_LONG));
  private static final MethodHandle SYS_MBIND =
      systemCall(
          LIBC,
          NUMBERS.mbind(),
          FunctionDescriptor.of(
              JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG));
  private static final MethodHandle SYS_MEMFD_CREATE =
      systemCall(LIBC, NUMBERS.memfdCreate(), FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_LONG));
  private static final MethodHandle SYS_MOVE_PAGES =
      systemCall(
          LIBC,
          NUMBERS.movePages(),
          FunctionDescriptor.of(
              JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG));
  private static final MethodHandle SYS_NEWFSTATAT =
      systemCall(
          LIBC,
          NUMBERS.newfstatat(),
          FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG));
  private static final MethodHandle SYS_PIDFD_GETFD =
      systemCall(
          LIBC,
          NUMBERS.pidfdGetfd(),
          FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG));
  private static final MethodHandle SYS_PIDFD_OPEN =
      systemCall(LIBC, NUMBERS.pidfdOpen(), FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG));
  private static final MethodHandle SYS_SET_MEMPOLICY =
      systemCall(
          LIBC,
          NUMBERS.setMempolicy(),
          FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG));

  private LibcBindings() {}

  /** Why this Java runtime makes no native calls, or empty where it does. */
  static Optional<RuntimeException> refusal() {
    return Optional.ofNullable(REFUSAL.get());
  }

  /** {@code int close(int fd)}. */
  static long close(int descriptor) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((int) CLOSE.invokeExact(state, descriptor), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int fallocate(int fd, int mode, off_t offset, off_t len)}. */
  static long fallocate(int descriptor, int mode, long offset, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((int) FALLOCATE.invokeExact(state, descriptor, mode, offset, bytes), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int fcntl(int fd, int cmd, int arg)}, for the commands whose argument is an int. */
  static long fcntl(int descriptor, int command, int argument) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((int) FCNTL.invokeExact(state, descriptor, command, argument), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int flock(int fd, int operation)}. */
  static long flock(int descriptor, int operation) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((int) FLOCK.invokeExact(state, descriptor, operation), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int fstat(int fd, struct stat *buf)}, with the kernel's struct. */
  static long fstat(int descriptor, MemorySegment stat) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer(
          (long) SYS_FSTAT.invokeExact(state, (long) NUMBERS.fstat(), (long) descriptor, stat),
          state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int fstatat(int dirfd, const char *path, struct stat *buf, int flags)}. */
  static long fstatat(int directory, MemorySegment path, MemorySegment stat, int flags) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer(
          (long)
              SYS_NEWFSTATAT.invokeExact(
                  state, (long) NUMBERS.newfstatat(), (long) directory, path, stat, (long) flags),
          state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int fstatfs(int fd, struct statfs *buf)}. */
  static long fstatfs(int descriptor, MemorySegment statfs) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((int) FSTATFS.invokeExact(state, descriptor, statfs), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int ftruncate(int fd, off_t length)}. */
  static long ftruncate(int descriptor, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((int) FTRUNCATE.invokeExact(state, descriptor, bytes), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /**
   * {@code long get_mempolicy(int *mode, unsigned long *nodemask, unsigned long maxnode, void
   * *addr, unsigned long flags)}, for the calling thread.
   */
  static long get_mempolicy(MemorySegment mode, MemorySegment mask, long maxnode) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer(
          (long)
              SYS_GET_MEMPOLICY.invokeExact(
                  state,
                  (long) NUMBERS.getMempolicy(),
                  mode,
                  mask,
                  maxnode,
                  MemorySegment.NULL,
                  0L),
          state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code ssize_t getdents64(int fd, void *dirp, size_t count)}. */
  static long getdents64(int descriptor, MemorySegment entries) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer(
          (long)
              SYS_GETDENTS64.invokeExact(
                  state,
                  (long) NUMBERS.getdents64(),
                  (long) descriptor,
                  entries,
                  entries.byteSize()),
          state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int getrlimit(int resource, struct rlimit *rlim)}. */
  static long getrlimit(int resource, MemorySegment rlimit) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((int) GETRLIMIT.invokeExact(state, resource, rlimit), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code pid_t gettid(void)}. */
  static long gettid() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((long) SYS_GETTID.invokeExact(state, (long) NUMBERS.gettid()), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int madvise(void *addr, size_t length, int advice)}, over a whole segment. */
  static long madvise(MemorySegment range, int advice) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((int) MADVISE.invokeExact(state, range, range.byteSize(), advice), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /**
   * {@code long mbind(void *addr, unsigned long len, int mode, const unsigned long *nodemask,
   * unsigned long maxnode, unsigned flags)}, over a whole segment, without flags.
   */
  static long mbind(MemorySegment range, int mode, MemorySegment mask, long maxnode) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer(
          (long)
              SYS_MBIND.invokeExact(
                  state,
                  (long) NUMBERS.mbind(),
                  range,
                  range.byteSize(),
                  (long) mode,
                  mask,
                  maxnode,
                  0L),
          state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int memfd_create(const char *name, unsigned int flags)}. */
  static long memfd_create(MemorySegment name, int flags) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer(
          (long)
              SYS_MEMFD_CREATE.invokeExact(
                  state, (long) NUMBERS.memfdCreate(), name, Integer.toUnsignedLong(flags)),
          state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /**
   * {@code void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)}, at an
   * address of the kernel's choice, which it returns.
   */
  static long mmap(long bytes, int protection, int flags, int descriptor, long offset) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer(
          (long)
              MMAP.invokeExact(
                  state, MemorySegment.NULL, bytes, protection, flags, descriptor, offset),
          state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /**
   * {@code long move_pages(int pid, unsigned long count, void **pages, const int *nodes, int
   * *status, int flags)}, for this process, asking only.
   */
  static long move_pages(long count, MemorySegment pages, MemorySegment status) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer(
          (long)
              SYS_MOVE_PAGES.invokeExact(
                  state,
                  (long) NUMBERS.movePages(),
                  0L,
                  count,
                  pages,
                  MemorySegment.NULL,
                  status,
                  0L),
          state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int munmap(void *addr, size_t length)}, of a whole segment. */
  static long munmap(MemorySegment range) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((int) MUNMAP.invokeExact(state, range, range.byteSize()), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int openat(int dirfd, const char *pathname, int flags, mode_t mode)}. */
  static long openat(int directory, MemorySegment path, int flags, int mode) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((int) OPENAT.invokeExact(state, directory, path, flags, mode), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int pidfd_getfd(int pidfd, int targetfd, unsigned int flags)}, without flags. */
  static long pidfd_getfd(int pidfd, int descriptor) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer(
          (long)
              SYS_PIDFD_GETFD.invokeExact(
                  state, (long) NUMBERS.pidfdGetfd(), (long) pidfd, (long) descriptor, 0L),
          state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int pidfd_open(pid_t pid, unsigned int flags)}, without flags. */
  static long pidfd_open(int pid) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer(
          (long) SYS_PIDFD_OPEN.invokeExact(state, (long) NUMBERS.pidfdOpen(), (long) pid, 0L),
          state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *mask)}, of this thread. */
  static long sched_getaffinity(MemorySegment mask) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((int) SCHED_GETAFFINITY.invokeExact(state, 0, mask.byteSize(), mask), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /**
   * {@code int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *mask)}, of this thread.
   */
  static long sched_setaffinity(MemorySegment mask) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((int) SCHED_SETAFFINITY.invokeExact(state, 0, mask.byteSize(), mask), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code long set_mempolicy(int mode, const unsigned long *nodemask, unsigned long maxnode)}. */
  static long set_mempolicy(int mode, MemorySegment mask, long maxnode) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer(
          (long)
              SYS_SET_MEMPOLICY.invokeExact(
                  state, (long) NUMBERS.setMempolicy(), (long) mode, mask, maxnode),
          state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int prctl(int option, unsigned long argument)}. */
  static long prctl(int option, long argument) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((int) PRCTL.invokeExact(state, option, argument), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code long sysconf(int name)}. */
  static long sysconf(int name) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((long) SYSCONF.invokeExact(state, name), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int uname(struct utsname *buf)}. */
  static long uname(MemorySegment utsname) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((int) UNAME.invokeExact(state, utsname), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** {@code int unlinkat(int dirfd, const char *pathname, int flags)}. */
  static long unlinkat(int directory, MemorySegment path, int flags) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CAPTURE_STATE);
      return answer((int) UNLINKAT.invokeExact(state, directory, path, flags), state);
    } catch (Throwable thrown) {
      throw unexpected(thrown);
    }
  }

  /** A segment over memory that mmap gave out; nobody's arena ends its life. */
  @SuppressWarnings("restricted") // reinterpret: the bounds are those of a mapping made just before
  static MemorySegment mapped(long address, long bytes) {
    return MemorySegment.ofAddress(address).reinterpret(bytes);
  }

  /**
   * A handle of a C function: its capture segment first, then its arguments. Where the function is
   * not there, or this runtime makes no native calls, a handle that answers −1 with ENOSYS.
   */
  @SuppressWarnings(
      "restricted") // downcallHandle: the one place where C signatures are vouched for
  static MethodHandle downcall(
      SymbolLookup lookup, String name, FunctionDescriptor descriptor, Linker.Option... variadic) {
    try {
      Optional<MemorySegment> symbol = lookup.find(name);
      if (symbol.isEmpty()) {
        return absent(descriptor);
      }
      Linker.Option[] options = new Linker.Option[variadic.length + 1];
      options[0] = Linker.Option.captureCallState("errno");
      System.arraycopy(variadic, 0, options, 1, variadic.length);
      return Linker.nativeLinker().downcallHandle(symbol.get(), descriptor, options);
    } catch (IllegalCallerException | UnsupportedOperationException refusal) {
      REFUSAL.compareAndSet(null, refusal);
      return absent(descriptor);
    }
  }

  /**
   * A handle of the C function {@code syscall}, whose first argument is the number, for one system
   * call with the given others. A negative number is a call that this architecture does not have.
   */
  static MethodHandle systemCall(SymbolLookup lookup, int number, FunctionDescriptor descriptor) {
    FunctionDescriptor numbered = descriptor.insertArgumentLayouts(0, JAVA_LONG);
    return number < 0
        ? absent(numbered)
        : downcall(lookup, "syscall", numbered, Linker.Option.firstVariadicArg(1));
  }

  /** What a handle of {@link #downcall} or {@link #systemCall} answered: a result or −errno. */
  static long answer(long result, MemorySegment state) {
    return result == -1 ? -(int) ERRNO.get(state, 0L) : result;
  }

  /** The layout of the segment in which a call leaves its errno. */
  static MemoryLayout captureState() {
    return CAPTURE_STATE;
  }

  private static SymbolLookup libc() {
    try {
      return Linker.nativeLinker().defaultLookup();
    } catch (UnsupportedOperationException refusal) {
      REFUSAL.compareAndSet(null, refusal);
      return name -> Optional.empty();
    }
  }

  private static MethodHandle absent(FunctionDescriptor descriptor) {
    try {
      MethodHandle refuse =
          MethodHandles.lookup()
              .findStatic(
                  LibcBindings.class,
                  "noSuchCall",
                  MethodType.methodType(int.class, MemorySegment.class));
      MethodType wanted = descriptor.toMethodType();
      return MethodHandles.dropArguments(
          refuse.asType(refuse.type().changeReturnType(wanted.returnType())),
          1,
          wanted.parameterList());
    } catch (ReflectiveOperationException impossible) {
      throw new LinkageError(impossible.getMessage(), impossible);
    }
  }

  @SuppressWarnings("UnusedMethod") // called through absent's method handle
  private static int noSuchCall(MemorySegment state) {
    ERRNO.set(state, 0L, Errno.ENOSYS.number());
    return -1;
  }

  // A closed or foreign thread's segment is the caller's misuse; anything else here is a bug of
  // ours.
  private static RuntimeException unexpected(Throwable thrown) {
    return switch (thrown) {
      case IllegalStateException closed -> closed;
      case WrongThreadException confined -> confined;
      case Error error -> throw error;
      default -> throw new AssertionError(thrown);
    };
  }
}
