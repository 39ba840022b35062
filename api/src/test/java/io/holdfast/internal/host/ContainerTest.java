package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** What a container's profile forbids, in a process that forbids it to itself. */
class ContainerTest {
  // asm/unistd.h: seccomp, mbind, set_mempolicy, get_mempolicy, move_pages.
  private static final int[] X86_64 = {317, 237, 238, 239, 279};
  private static final int[] AARCH64 = {277, 235, 237, 236, 239};

  private static int[] numbers() {
    String architecture = System.getProperty("os.arch", "");
    assumeTrue(
        System.getProperty("os.name", "").equals("Linux")
            && List.of("amd64", "aarch64").contains(architecture),
        "needs Linux on x86-64 or AArch64");
    return architecture.equals("amd64") ? X86_64 : AARCH64;
  }

  @Test
  void B38_withoutPolicyCallsRequireIsATypedErrorAndPreferARegionThatSaysSo() throws Exception {
    int[] calls = numbers();

    try (Child child = Child.start(Forbidding.class, calls[0], calls[1], calls[2])) {
      // What the library logs stands between.
      List<String> lines =
          child.output().lines().filter(line -> line.matches("(EPERM|no leak|region).*")).toList();

      assertEquals(3, lines.size(), lines::toString);
      assertTrue(lines.get(0).startsWith("EPERM mbind("), lines::toString);
      assertTrue(lines.get(0).contains("CAP_SYS_NICE"), lines::toString);
      assertEquals("no leak", lines.get(1));
      assertTrue(lines.get(2).startsWith("region "), lines::toString);
      assertTrue(lines.get(2).contains("nothing is bound: mbind answered EPERM"), lines::toString);
      assertTrue(lines.get(2).contains("bytesPerNode={0=1048576}"), lines::toString);
    }
  }

  @Test
  void B38_whereEvenQuestionsAreForbiddenNumaMapsTellsTheNodes() throws Exception {
    int[] calls = numbers();

    try (Child child =
        Child.start(Forbidding.class, calls[0], calls[1], calls[2], calls[3], calls[4])) {
      List<String> lines = child.output().lines().toList();

      assertTrue(lines.get(0).startsWith("EPERM mbind("), lines::toString);
      assertTrue(lines.get(2).contains("cannot be read (EPERM)"), lines::toString);
      assertTrue(lines.get(2).contains("nodes are by /proc/self/numa_maps"), lines::toString);
      assertTrue(lines.get(2).contains("bytesPerNode={0=1048576}"), lines::toString);
    }
  }

  @Test
  void B79_bindingNeedsNoToolAndNoLibrary() throws Exception {
    // A child has no PATH at all; nothing is forbidden to it but a number that no call has.
    try (Child child = Child.start(Forbidding.class, numbers()[0], 100_000)) {
      List<String> lines = child.output().lines().toList();

      assertTrue(lines.get(0).startsWith("region "), lines::toString);
      assertTrue(lines.get(0).contains("bytesPerNode={0=1048576}"), lines::toString);
      assertTrue(!lines.get(0).contains("nothing is bound"), lines::toString);
    }
  }
}
