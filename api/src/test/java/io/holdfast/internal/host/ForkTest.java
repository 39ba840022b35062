package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.internal.linux.HugePool;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernels;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class ForkTest {
  private final HostKernel kernel = HostKernels.system();

  /** Whether a process has a mapping that holds an address. */
  private static boolean maps(String pid, String address) throws Exception {
    long wanted = Long.parseUnsignedLong(address, 16);
    for (String line : Files.readAllLines(Path.of("/proc", pid, "maps"))) {
      String[] range = line.substring(0, line.indexOf(' ')).split("-", -1);
      if (Long.compareUnsigned(Long.parseUnsignedLong(range[0], 16), wanted) <= 0
          && Long.compareUnsigned(wanted, Long.parseUnsignedLong(range[1], 16)) < 0) {
        return true;
      }
    }
    return false;
  }

  @Test
  void B22_childrenThatStayDoNotGetTheRegionAndItsBytesAndPagesStayTheParents() throws Exception {
    assumeTrue(kernel.pages() == HostKernel.Pages.KERNEL, "needs Linux");
    try (HugePool pool = HugePool.with(kernel, 16)) {
      long pages = pool.available();
      try (Child parent = Child.start(Forking.class, HugePool.PAGE_BYTES, pages, 40)) {
        String[] said = parent.line().split(" ", -1);
        assertEquals(3, said.length, () -> List.of(said).toString());
        String child = said[0];
        try {
          assertTrue(maps(Long.toString(parent.pid()), said[1]));
          assertFalse(maps(child, said[1]), "the child has the region");
          assertTrue(maps(child, said[2]), "the child lacks what it was to get");
          // The pool is empty: had the child the pages, the parent's writes would need others.
          assertEquals(0, pool.available());
          parent.tell("go on");
          assertEquals("0", parent.line(), "wrong bytes");
          assertEquals(0, pool.available());
          parent.tell("end");
        } finally {
          // It has the output's pipe too, which ends only with it.
          ProcessHandle.of(Long.parseLong(child)).ifPresent(ProcessHandle::destroyForcibly);
        }
        assertEquals("", parent.output());
      }
      assertEquals(pages, pool.available());
    }
  }
}
