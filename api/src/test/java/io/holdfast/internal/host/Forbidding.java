package io.holdfast.internal.host;

import io.holdfast.device.Demand;
import io.holdfast.error.HostKernelException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NumaPolicy;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernels;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Forbids system calls to its own process as a container's seccomp profile does, then binds a
 * region under REQUIRE and under PREFER, and says what came of each. Arguments: numbers of system
 * calls.
 */
final class Forbidding {
  // linux/prctl.h, linux/seccomp.h, linux/bpf_common.h
  private static final int PR_SET_NO_NEW_PRIVS = 38;
  private static final long SECCOMP_SET_MODE_FILTER = 1;
  private static final long SECCOMP_FILTER_FLAG_TSYNC = 1;
  private static final int SECCOMP_RET_ALLOW = 0x7fff_0000;
  private static final int SECCOMP_RET_ERRNO = 0x0005_0000;
  private static final int BPF_LD_W_ABS = 0x20;
  private static final int BPF_JMP_JEQ_K = 0x15;
  private static final int BPF_RET_K = 0x06;
  private static final int EPERM = 1;

  private Forbidding() {}

  @SuppressWarnings("SystemOut") // it is how a child talks to the test
  public static void main(String[] arguments) throws Throwable {
    int[] numbers = new int[arguments.length - 1];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = Integer.parseInt(arguments[i + 1]);
    }
    forbid(Long.parseLong(arguments[0]), numbers);
    HostKernel kernel = HostKernels.system();
    try (CoreBackend backend = NoDevices.backend(kernel)) {
      HostRequest request = HostRequest.ofBytes(1 << 20).numa(NumaPolicy.bind(0));
      long before = new Machine(kernel).mappings().orElseThrow();
      try (HostRegion region = backend.pageSource().map(request)) {
        System.out.println("region " + region.receipt());
      } catch (HostKernelException refused) {
        System.out.println(refused.errnoName() + " " + refused.getMessage());
      }
      System.out.println(
          new Machine(kernel).mappings().orElseThrow() - before < 20 ? "no leak" : "a leak");
      try (HostRegion region = backend.pageSource().map(request.placement(Demand.PREFER))) {
        region.segment().fill((byte) 1);
        System.out.println("region " + region.receipt());
      }
    }
  }

  // A program that answers EPERM to the numbers and lets all others through, for every thread.
  private static void forbid(long seccompNumber, int[] numbers) throws Throwable {
    Linker linker = Linker.nativeLinker();
    MethodHandle prctl =
        linker.downcallHandle(
            linker.defaultLookup().find("prctl").orElseThrow(),
            FunctionDescriptor.of(
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG),
            Linker.Option.firstVariadicArg(1));
    MethodHandle syscall =
        linker.downcallHandle(
            linker.defaultLookup().find("syscall").orElseThrow(),
            FunctionDescriptor.of(
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG,
                ValueLayout.ADDRESS),
            Linker.Option.firstVariadicArg(1));
    try (Arena arena = Arena.ofConfined()) {
      int length = numbers.length + 3;
      MemorySegment program = arena.allocate(8L * length, 8);
      instruction(program, 0, BPF_LD_W_ABS, 0, 0);
      for (int i = 0; i < numbers.length; i++) {
        // From here to the last instruction, which forbids.
        instruction(program, i + 1, BPF_JMP_JEQ_K, length - i - 3, numbers[i]);
      }
      instruction(program, length - 2, BPF_RET_K, 0, SECCOMP_RET_ALLOW);
      instruction(program, length - 1, BPF_RET_K, 0, SECCOMP_RET_ERRNO | EPERM);
      MemorySegment description = arena.allocate(16, 8);
      description.set(ValueLayout.JAVA_SHORT, 0, (short) length);
      description.set(ValueLayout.ADDRESS, 8, program);
      int first = (int) prctl.invokeExact(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L);
      long second =
          (long)
              syscall.invokeExact(
                  seccompNumber, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, description);
      if (first != 0 || second != 0) {
        throw new IllegalStateException("no filter: " + first + ", " + second);
      }
    }
  }

  // struct sock_filter: a code, where to jump, and a constant.
  private static void instruction(
      MemorySegment program, int at, int code, int jumpIfEqual, int constant) {
    program.set(ValueLayout.JAVA_SHORT, 8L * at, (short) code);
    program.set(ValueLayout.JAVA_BYTE, 8L * at + 2, (byte) jumpIfEqual);
    program.set(ValueLayout.JAVA_BYTE, 8L * at + 3, (byte) 0);
    program.set(ValueLayout.JAVA_INT, 8L * at + 4, constant);
  }
}
