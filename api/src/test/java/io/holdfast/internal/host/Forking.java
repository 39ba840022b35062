package io.holdfast.internal.host;

import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Fork;
import io.holdfast.host.PageKind;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.spi.HostKernels;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.Scanner;

/**
 * Maps one region that children do not get and one that they do, forks a child that stays, and says
 * its number and where the regions are. Told to go on, it writes all of the first region many times
 * over while the child is alive and while others are forked, reads everything back, and says how
 * many bytes were wrong. Arguments: the HugeTLB page; pages of the first region; forks.
 */
final class Forking {
  // A forked child that nobody kills, because the test failed, ends by itself.
  private static final int ORPHAN_SECONDS = 600;

  private Forking() {}

  @SuppressWarnings("SystemOut") // it is how a child talks to the test
  public static void main(String[] arguments) throws Throwable {
    long page = Long.parseLong(arguments[0]);
    long pages = Long.parseLong(arguments[1]);
    int forks = Integer.parseInt(arguments[2]);
    try (CoreBackend backend = NoDevices.backend(HostKernels.system());
        HostRegion kept =
            backend
                .pageSource()
                .map(HostRequest.ofBytes(pages * page).pages(PageKind.hugeTlb(page)));
        HostRegion given =
            backend.pageSource().map(HostRequest.ofBytes(1 << 20).fork(Fork.COPY_TO_CHILDREN))) {
      int child = fork();
      System.out.println(
          child
              + " "
              + Long.toHexString(kept.segment().address())
              + " "
              + Long.toHexString(given.segment().address()));
      Scanner orders = new Scanner(System.in, StandardCharsets.UTF_8);
      var _ = orders.nextLine();
      System.out.println(wrongBytes(kept.segment(), forks));
      var _ = orders.nextLine();
    }
  }

  private static long wrongBytes(MemorySegment memory, int forks) throws Exception {
    long wrong = 0;
    for (int round = 0; round < forks; round++) {
      Process forked = new ProcessBuilder("/bin/true").start();
      memory.fill((byte) round);
      for (long at = 0; at < memory.byteSize(); at += 4096) {
        if (memory.get(ValueLayout.JAVA_BYTE, at) != (byte) round) {
          wrong++;
        }
      }
      if (forked.waitFor() != 0) {
        throw new IllegalStateException("a forked process failed");
      }
    }
    return wrong;
  }

  // The child has one thread and no garbage collector: it must do nothing but wait to be killed.
  private static int fork() throws Throwable {
    Linker linker = Linker.nativeLinker();
    MethodHandle fork =
        linker.downcallHandle(
            linker.defaultLookup().find("fork").orElseThrow(),
            FunctionDescriptor.of(ValueLayout.JAVA_INT));
    MethodHandle pause =
        linker.downcallHandle(
            linker.defaultLookup().find("pause").orElseThrow(),
            FunctionDescriptor.of(ValueLayout.JAVA_INT));
    MethodHandle alarm =
        linker.downcallHandle(
            linker.defaultLookup().find("alarm").orElseThrow(),
            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
    int child = (int) fork.invokeExact();
    if (child == 0) {
      int _ = (int) alarm.invokeExact(ORPHAN_SECONDS);
    }
    while (child == 0) {
      int _ = (int) pause.invokeExact();
    }
    return child;
  }
}
