package io.holdfast.internal.linux;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.Mapping;
import io.holdfast.spi.HostKernel.ThreadPlace;
import io.holdfast.spi.HostKernels;
import java.io.IOException;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

@EnabledOnOs(OS.LINUX)
class LinuxProcessTest {
  private final HostKernel kernel = HostKernels.system();

  @Test
  void pageAndNamesAreThoseThatTheSystemsOwnToolsPrint() throws Exception {
    assertEquals(said("getconf", "PAGESIZE"), Long.toString(kernel.basePageBytes()));
    assertEquals(said("uname", "-s"), kernel.identity().system());
    assertEquals(said("uname", "-r"), kernel.identity().release());
    assertEquals(said("uname", "-m"), kernel.identity().machine());
    assertEquals(HostKernel.Pages.KERNEL, kernel.pages());
  }

  @Test
  void theLockLimitIsTheOneThatProcShows() {
    String line =
        kernel
            .text("/proc/self/limits")
            .orElseThrow()
            .lines()
            .filter(each -> each.startsWith("Max locked memory"))
            .findFirst()
            .orElseThrow();
    String soft = line.substring("Max locked memory".length()).strip().split(" +", -1)[0];

    OptionalLong expected =
        soft.equals("unlimited") ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(soft));
    assertEquals(expected, kernel.lockLimitBytes());
  }

  @Test
  void everyThreadHasItsOwnNumber() throws Exception {
    long mine = kernel.threadId();
    long other = inThread(kernel::threadId);

    assertNotEquals(mine, other);
    assertTrue(kernel.names("/proc/self/task").contains(Long.toString(mine)));
  }

  @Test
  void aThreadsPlaceIsWhatProcShowsAndMovesToAnotherThread() throws Exception {
    ThreadPlace mine = kernel.threadPlace();
    String allowed =
        kernel
            .text("/proc/thread-self/status")
            .orElseThrow()
            .lines()
            .filter(line -> line.startsWith("Cpus_allowed_list:"))
            .findFirst()
            .orElseThrow();
    int first = mine.cpus().iterator().next();
    assertTrue(allowed.replaceAll("[^0-9]*", " ").strip().startsWith(first + ""), allowed);
    assertTrue(mine.cpus().size() >= Runtime.getRuntime().availableProcessors(), allowed);

    ThreadPlace narrow = new ThreadPlace(LibcBindings.MPOL_BIND, Set.of(0), Set.of(first));
    ThreadPlace seen =
        inThread(
            () -> {
              kernel.placeThread(narrow);
              return kernel.threadPlace();
            });

    assertEquals(narrow, seen);
    assertEquals(mine, kernel.threadPlace());
    assertEquals(
        mine,
        inThread(
            () -> {
              kernel.placeThread(narrow);
              kernel.placeThread(mine);
              return kernel.threadPlace();
            }));
  }

  @Test
  void aPlaceThatTheMachineDoesNotHaveIsRefused() throws Exception {
    ThreadPlace noCpu = new ThreadPlace(0, Set.of(), Set.of(100_000));
    ThreadPlace noNode =
        new ThreadPlace(LibcBindings.MPOL_BIND, Set.of(1000), kernel.threadPlace().cpus());

    HostKernelException cpu = inThread(() -> refusal(noCpu));
    HostKernelException node = inThread(() -> refusal(noNode));

    assertEquals("sched_setaffinity", cpu.operation());
    assertTrue(cpu.is(Errno.EINVAL));
    assertEquals("set_mempolicy", node.operation());
    assertTrue(node.is(Errno.EINVAL));
  }

  @Test
  void aVirtualThreadIsNotGivenAPlace() throws Exception {
    ThreadPlace place = kernel.threadPlace();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      ExecutionException thrown =
          assertThrows(
              ExecutionException.class,
              () -> threads.submit(() -> kernel.placeThread(place)).get());
      assertTrue(thrown.getCause() instanceof IllegalStateException);
    }
  }

  @Test
  void aThreadThatWakesOnTimeHasTheLeastTimerSlack() throws Exception {
    long others = LibcBindings.prctl(LibcBindings.PR_GET_TIMERSLACK, 0);

    long own =
        inThread(
            () -> {
              kernel.wakeOnTime();
              return LibcBindings.prctl(LibcBindings.PR_GET_TIMERSLACK, 0);
            });

    assertEquals(1, own);
    assertEquals(others, LibcBindings.prctl(LibcBindings.PR_GET_TIMERSLACK, 0));
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      ExecutionException thrown =
          assertThrows(
              ExecutionException.class, () -> threads.submit(() -> kernel.wakeOnTime()).get());
      assertTrue(thrown.getCause() instanceof IllegalStateException);
    }
  }

  @Test
  void callsWorkFromVirtualThreads() throws Exception {
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      HostKernelException gone =
          threads
              .submit(
                  () -> {
                    MemorySegment memory = kernel.map(kernel.basePageBytes(), Mapping.anonymous());
                    kernel.advise(memory, HostKernel.Advice.POPULATE_WRITE);
                    kernel.unmap(memory);
                    return assertThrows(
                        HostKernelException.class,
                        () -> kernel.advise(memory, HostKernel.Advice.DONT_FORK));
                  })
              .get();
      assertTrue(gone.is(Errno.ENOMEM), gone.toString());
    }
  }

  @Test
  void theClockGoesForwardByAtLeastThePause() {
    long start = kernel.nanoTime();
    kernel.pause(2_000_000);
    assertTrue(kernel.nanoTime() - start >= 2_000_000);
    kernel.pause(0);
    kernel.pause(-5);
  }

  @Test
  void anInterruptedThreadDoesNotPauseAndStaysInterrupted() throws Exception {
    assertTrue(
        inThread(
            () -> {
              Thread.currentThread().interrupt();
              kernel.pause(Long.MAX_VALUE);
              return Thread.currentThread().isInterrupted();
            }));
  }

  @Test
  void anArchitectureNobodyDescribedStartsAndAnswersEnosysWhereItMust() throws Exception {
    Process child =
        ChildJvm.start(ForeignMachine.class, List.of("--enable-native-access=ALL-UNNAMED"));

    assertEquals("ENOSYS ENOSYS ENOSYS ENOSYS mapped", output(child));
  }

  @Test
  void aRuntimeThatForbidsNativeCallsIsRefusedWithTheFlagThatAllowsThem() throws Exception {
    Process child = ChildJvm.start(ForbiddenMachine.class, List.of("--illegal-native-access=deny"));

    String said = output(child);
    assumeTrue(!said.contains("Unrecognized option"), "needs a runtime that knows the flag");
    assertTrue(said.startsWith("EPERM"), said);
    assertTrue(said.contains("--enable-native-access=ALL-UNNAMED"), said);
  }

  private HostKernelException refusal(ThreadPlace place) {
    return assertThrows(HostKernelException.class, () -> kernel.placeThread(place));
  }

  private static <T> T inThread(Callable<T> task) throws Exception {
    try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
      return thread.submit(task).get();
    }
  }

  private static String said(String... command) throws Exception {
    return output(new ProcessBuilder(command).redirectErrorStream(true).start());
  }

  private static String output(Process process) throws IOException, InterruptedException {
    String all =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    assertEquals(0, process.waitFor(), all);
    return all;
  }

  /** Tries what needs the architecture's numbers and what does not. */
  static final class ForeignMachine {
    private ForeignMachine() {}

    public static void main(String[] arguments) {
      // The Java runtime itself must have asked before the answer changes.
      if (Linker.nativeLinker().defaultLookup().find("syscall").isEmpty()) {
        throw new AssertionError("no C library");
      }
      System.setProperty("os.arch", "riscv64");
      HostKernel kernel = HostKernels.system();
      MemorySegment memory = kernel.map(kernel.basePageBytes(), Mapping.anonymous());
      kernel.advise(memory, HostKernel.Advice.POPULATE_WRITE);
      say(
          errno(() -> kernel.bind(memory, HostKernel.NodeMode.BIND, Set.of(0)))
              + " "
              + errno(() -> kernel.nodesAt(memory, new long[] {0}))
              + " "
              + errno(() -> kernel.memoryFile("holdfast-test", 0))
              + " "
              + errno(kernel::threadId)
              + (memory.get(JAVA_BYTE, 0) == 0 ? " mapped" : ""));
    }
  }

  /** Tries to open the port. */
  static final class ForbiddenMachine {
    private ForbiddenMachine() {}

    public static void main(String[] arguments) {
      try {
        HostKernels.system();
        say("opened");
      } catch (HostKernelException refused) {
        say(refused.errnoName() + " " + refused.getMessage());
      }
    }
  }

  private static String errno(Runnable call) {
    try {
      call.run();
      return "fine";
    } catch (HostKernelException refused) {
      return refused.errnoName();
    }
  }

  private static void say(String line) {
    System.out.println(line);
  }
}
