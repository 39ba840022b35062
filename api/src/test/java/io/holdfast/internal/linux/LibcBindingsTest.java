package io.holdfast.internal.linux;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.error.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

@EnabledOnOs(OS.LINUX)
class LibcBindingsTest {
  private static final long ENOSYS = Errno.ENOSYS.number();
  private static final SymbolLookup EMPTY = name -> Optional.empty();

  @Test
  void aMissingSymbolAnswersEnosysWhateverItsSignature() throws Throwable {
    MethodHandle ofInt =
        LibcBindings.downcall(EMPTY, "flock", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
    MethodHandle ofLong =
        LibcBindings.downcall(
            EMPTY, "mmap", FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_INT));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(LibcBindings.captureState());

      assertEquals(-ENOSYS, LibcBindings.answer((int) ofInt.invokeExact(state, 3, 2), state));

      state.fill((byte) 0);
      long answer = (long) ofLong.invokeExact(state, MemorySegment.NULL, 4096L, 3);
      assertEquals(-ENOSYS, LibcBindings.answer(answer, state));
    }
  }

  @Test
  void aLookupWithoutTheSyscallFunctionAnswersEnosys() throws Throwable {
    MethodHandle handle =
        LibcBindings.systemCall(EMPTY, 237, FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(LibcBindings.captureState());

      long answer = (long) handle.invokeExact(state, 237L, 0L);

      assertEquals(-ENOSYS, LibcBindings.answer(answer, state));
    }
  }

  @Test
  void anUnknownArchitectureAnswersEnosysThoughTheSyscallFunctionIsThere() throws Throwable {
    SymbolLookup libc = Linker.nativeLinker().defaultLookup();
    assertTrue(libc.find("syscall").isPresent());
    MethodHandle handle =
        LibcBindings.systemCall(
            libc, Abi.UNKNOWN.numbers().gettid(), FunctionDescriptor.of(JAVA_LONG));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(LibcBindings.captureState());

      assertEquals(-ENOSYS, LibcBindings.answer((long) handle.invokeExact(state, -1L), state));
    }
  }

  @Test
  void architecturesAreKnownByBothOfTheirNames() {
    assertEquals(Abi.X86_64, Abi.of("amd64"));
    assertEquals(Abi.X86_64, Abi.of("x86_64"));
    assertEquals(Abi.AARCH64, Abi.of("aarch64"));
    assertEquals(Abi.UNKNOWN, Abi.of("riscv64"));
    assertNotEquals(Abi.X86_64, Abi.AARCH64);
  }

  /** Half the threads ask for too much, half for what there is not; garbage is made meanwhile. */
  @Test
  void b54_sixteenThreadsThatFailDifferentlyNeverSeeEachOthersErrno() throws Exception {
    int rounds = 10_000;
    CyclicBarrier together = new CyclicBarrier(16);
    int flags = LibcBindings.MAP_PRIVATE | LibcBindings.MAP_ANONYMOUS;
    LongSupplier tooLarge = () -> LibcBindings.mmap(1L << 62, LibcBindings.PROT_READ, flags, -1, 0);
    try (Arena arena = Arena.ofShared();
        ExecutorService threads = Executors.newFixedThreadPool(16)) {
      MemorySegment page = arena.allocate(1 << 16, 1 << 16);
      LongSupplier badAdvice = () -> LibcBindings.madvise(page, 9_999);
      List<Callable<Integer>> callers = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        callers.add(() -> strangers(together, rounds, tooLarge, Errno.ENOMEM));
        callers.add(() -> strangers(together, rounds, badAdvice, Errno.EINVAL));
      }

      int strangers = 0;
      for (Future<Integer> result : threads.invokeAll(callers)) {
        strangers += result.get();
      }

      assertEquals(0, strangers);
    }
  }

  private static int strangers(
      CyclicBarrier together, int rounds, LongSupplier call, Errno expected) throws Exception {
    together.await();
    int strangers = 0;
    for (int i = 0; i < rounds; i++) {
      byte[] garbage = new byte[1024];
      long answer = call.getAsLong();
      strangers += answer == -expected.number() && garbage.length == 1024 ? 0 : 1;
    }
    return strangers;
  }
}
