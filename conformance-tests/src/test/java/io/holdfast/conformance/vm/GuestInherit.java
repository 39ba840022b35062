package io.holdfast.conformance.vm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.Backend;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.host.PlacementReceipt;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Placement that is inherited: from a thread's CPUs, its policy, or the command that started us.
 */
final class GuestInherit {
  private static final long BYTES = 64 * Guest.MIB;

  private final Backend backend = Guest.backend();

  @AfterEach
  void close() {
    backend.close();
  }

  private Map<Integer, Long> nodes(PageKind pages) {
    String before = Calls.policy() + " on " + Calls.cpuMask();
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(BYTES).pages(pages))) {
      KernelsWord word = KernelsWord.of(region.segment());
      assertEquals(word.bytesPerNode(), region.receipt().bytesPerNode());
      assertEquals(before, Calls.policy() + " on " + Calls.cpuMask(), "the caller's own");
      return word.bytesPerNode();
    }
  }

  private Map<Integer, Long> nodes() {
    return nodes(PageKind.base());
  }

  @Test
  void no_policy_is_not_split_over_the_nodes_of_populate_threads() throws Exception {
    // The caller may run on both nodes, so nothing but the library keeps its pages together.
    for (int i = 0; i < 4; i++) {
      Map<Integer, Long> nodes = Guest.apart(this::nodes);
      assertEquals(1, nodes.size(), nodes::toString);
      assertTrue(nodes.containsValue(BYTES), nodes::toString);
    }
  }

  @Test
  void a_thread_on_one_node_gets_its_pages_there() throws Exception {
    assertEquals(Map.of(0, BYTES), Guest.onCpu(0, this::nodes));
    assertEquals(Map.of(1, BYTES), Guest.onCpu(1, this::nodes));
  }

  @Test
  void a_virtual_thread_gets_its_pages_on_one_node() throws Exception {
    List<Map<Integer, Long>> seen = new ArrayList<>();

    Thread.ofVirtual().start(() -> seen.add(nodes())).join();

    assertEquals(1, seen.getFirst().size(), seen::toString);
  }

  @Test
  void a_threads_bind_holds_for_pages_that_others_touch() throws Exception {
    for (int node : new int[] {1, 0}) {
      Map<Integer, Long> nodes =
          Guest.onCpu(
              1 - node,
              () -> {
                Calls.policy(Calls.MPOL_BIND, 1L << node);
                return nodes();
              });
      assertEquals(Map.of(node, BYTES), nodes);
    }
  }

  @Test
  void a_threads_preferred_node_holds_for_pages_that_others_touch() throws Exception {
    Map<Integer, Long> nodes =
        Guest.onCpu(
            0,
            () -> {
              Calls.policy(Calls.MPOL_PREFERRED, 1L << 1);
              return nodes();
            });

    assertEquals(Map.of(1, BYTES), nodes);
  }

  @Test
  void a_threads_turns_hold_for_pages_that_others_touch() throws Exception {
    Map<Integer, Long> nodes =
        Guest.apart(
            () -> {
              Calls.policy(Calls.MPOL_INTERLEAVE, 0b11);
              return nodes();
            });

    assertEquals(Set.of(0, 1), nodes.keySet());
    assertTrue(Math.abs(nodes.get(0) - nodes.get(1)) <= BYTES / 16, nodes::toString);
  }

  @Test
  void a_threads_weighted_turns_hold_for_pages_that_others_touch() throws Exception {
    assumeTrue(Guest.hasWeights(), "needs weighted interleaving, Linux 6.9");
    Guest.write(Guest.weight(0), 1);
    Guest.write(Guest.weight(1), 3);

    Map<Integer, Long> nodes =
        Guest.apart(
            () -> {
              Calls.policy(Calls.MPOL_WEIGHTED_INTERLEAVE, 0b11);
              return nodes();
            });

    assertTrue(Math.abs(nodes.get(1) - 3 * nodes.get(0)) <= BYTES / 8, nodes::toString);
  }

  @Test
  void a_threads_bind_holds_for_files_too() throws Exception {
    Map<Integer, Long> nodes =
        Guest.onCpu(
            0,
            () -> {
              Calls.policy(Calls.MPOL_BIND, 1L << 1);
              return nodes(PageKind.directory(Path.of("/dev/shm")));
            });

    assertEquals(Map.of(1, BYTES), nodes);
  }

  @Test
  void a_process_under_taskset_gets_its_pages_on_the_node_of_its_cpu() throws Exception {
    List<String> command = new ArrayList<>(List.of("/guest/busybox", "taskset", "2"));
    command.addAll(GuestMain.java(Inheriting.class));

    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();

    String output =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    assertEquals(0, process.waitFor(), output);
    assertEquals("{1=" + BYTES + "}", output);
  }

  @Test
  void pages_that_automatic_balancing_watches_are_all_in_the_receipt() {
    Path debug = Path.of("/sys/kernel/debug/sched/numa_balancing");
    Path onOff = Path.of("/proc/sys/kernel/numa_balancing");
    // Looks at a process's pages all the time, not once in a second.
    Guest.write(debug.resolve("scan_delay_ms"), 1);
    Guest.write(debug.resolve("scan_period_min_ms"), 1);
    Guest.write(onOff, 1);
    try {
      for (int i = 0; i < 4; i++) {
        try (HostRegion region =
            backend.pageSource().map(HostRequest.ofBytes(BYTES).pages(PageKind.thp()))) {
          PlacementReceipt receipt = region.receipt();
          assertEquals(Map.of(Guest.HUGE, BYTES), receipt.bytesPerPageSize(), receipt::toString);
          assertEquals(
              BYTES,
              receipt.bytesPerNode().values().stream().mapToLong(Long::longValue).sum(),
              receipt::toString);
        }
      }
    } finally {
      Guest.write(onOff, 0);
    }
  }

  /** Maps without a policy and says where the pages are. */
  static final class Inheriting {
    private Inheriting() {}

    @SuppressWarnings("SystemOut") // it is how a child talks to the test
    public static void main(String[] none) {
      try (Backend backend = Guest.backend();
          HostRegion region = backend.pageSource().map(HostRequest.ofBytes(BYTES))) {
        System.out.println(KernelsWord.of(region.segment()).bytesPerNode());
      }
    }
  }
}
