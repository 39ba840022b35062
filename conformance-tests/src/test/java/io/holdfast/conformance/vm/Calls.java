package io.holdfast.conformance.vm;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** System calls of the calling thread, on x86-64, made without the library that is judged. */
final class Calls {
  // linux/mempolicy.h
  static final int MPOL_DEFAULT = 0;
  static final int MPOL_PREFERRED = 1;
  static final int MPOL_BIND = 2;
  static final int MPOL_INTERLEAVE = 3;
  static final int MPOL_WEIGHTED_INTERLEAVE = 6;
  private static final int MPOL_MF_MOVE = 2;

  // asm/unistd.h
  private static final long SCHED_SETAFFINITY = 203;
  private static final long SCHED_GETAFFINITY = 204;
  private static final long SET_MEMPOLICY = 238;
  private static final long GET_MEMPOLICY = 239;
  private static final long MOVE_PAGES = 279;

  private static final MethodHandle SYSCALL =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().find("syscall").orElseThrow(),
              FunctionDescriptor.of(
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG),
              Linker.Option.firstVariadicArg(1));

  private Calls() {}

  /** Lets this thread run on these CPUs only. */
  static void runOn(long cpuMask) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment mask = arena.allocateFrom(ValueLayout.JAVA_LONG, cpuMask);
      call(SCHED_SETAFFINITY, 0, Long.BYTES, mask.address(), 0, 0, 0);
    }
  }

  /** Where this thread may run. */
  static long cpuMask() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment mask = arena.allocate(128, Long.BYTES);
      call(SCHED_GETAFFINITY, 0, mask.byteSize(), mask.address(), 0, 0, 0);
      return mask.get(ValueLayout.JAVA_LONG, 0);
    }
  }

  /** This thread's memory policy. */
  static void policy(int mode, long nodeMask) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment mask = arena.allocateFrom(ValueLayout.JAVA_LONG, nodeMask);
      call(SET_MEMPOLICY, mode, nodeMask == 0 ? 0 : mask.address(), 65, 0, 0, 0);
    }
  }

  /** This thread's memory policy, as mode and nodes. */
  static String policy() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment mode = arena.allocate(ValueLayout.JAVA_INT);
      MemorySegment mask = arena.allocate(128, Long.BYTES);
      call(GET_MEMPOLICY, mode.address(), mask.address(), 1024, 0, 0, 0);
      return mode.get(ValueLayout.JAVA_INT, 0) + " " + mask.get(ValueLayout.JAVA_LONG, 0);
    }
  }

  /** Moves a page to a node, as an administrator's tools do; the kernel must agree. */
  static void move(MemorySegment page, int node) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = arena.allocateFrom(ValueLayout.JAVA_LONG, page.address());
      MemorySegment target = arena.allocateFrom(ValueLayout.JAVA_INT, node);
      MemorySegment status = arena.allocateFrom(ValueLayout.JAVA_INT, -1);
      call(MOVE_PAGES, 0, 1, address.address(), target.address(), status.address(), MPOL_MF_MOVE);
      if (status.get(ValueLayout.JAVA_INT, 0) != node) {
        throw new AssertionError(
            "the page did not move to node " + node + ": " + status.get(ValueLayout.JAVA_INT, 0));
      }
    }
  }

  private static void call(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    try {
      result = (long) SYSCALL.invokeExact(number, a, b, c, d, e, f);
    } catch (Throwable impossible) {
      throw new AssertionError(impossible);
    }
    if (result < 0) {
      throw new AssertionError("system call " + number + " failed");
    }
  }
}
