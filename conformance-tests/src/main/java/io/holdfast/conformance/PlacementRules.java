package io.holdfast.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.DeviceInfo;
import io.holdfast.error.Errno;
import io.holdfast.error.HoldfastException;
import io.holdfast.error.HostKernelException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NumaPolicy;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.Mapping;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Placement on nodes, by the kernel's own account. */
abstract class PlacementRules extends Rules {
  private static final long BYTES = 4L << 20;

  PlacementRules(Conformance kit) {
    super(kit);
  }

  private Optional<String> text(String path) {
    return tap.kernel().text(path).map(String::strip);
  }

  /** Numbers of a list such as {@code 0-2,5}. */
  private static SortedSet<Integer> numbers(String list) {
    SortedSet<Integer> all = new TreeSet<>();
    for (String part : list.split(",")) {
      if (!part.isBlank()) {
        String[] ends = part.strip().split("-", 2);
        int last = Integer.parseInt(ends[ends.length - 1]);
        for (int one = Integer.parseInt(ends[0]); one <= last; one++) {
          all.add(one);
        }
      }
    }
    return all;
  }

  /** Nodes with memory that this process may use. */
  private SortedSet<Integer> nodes() {
    SortedSet<Integer> with =
        numbers(
            text("/sys/devices/system/node/has_memory")
                .or(() -> text("/sys/devices/system/node/online"))
                .orElse(""));
    text("/proc/self/status")
        .flatMap(
            status ->
                status
                    .lines()
                    .filter(line -> line.startsWith("Mems_allowed_list:"))
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .findFirst())
        .ifPresent(allowed -> with.retainAll(numbers(allowed)));
    return with;
  }

  /** Whether the host port can place pages; where it cannot, binding must be refused. */
  private boolean places() {
    if (hasPages() && !nodes().isEmpty() && canBind()) {
      limit("nodes with memory", nodes());
      if (!isThisProcess() && !populatesWhenAsked()) {
        throw missing("a simulated kernel that knows of pages made by touching");
      }
      return true;
    }
    inverted("NUMA");
    HostRequest bound = HostRequest.ofBytes(BYTES).numa(NumaPolicy.bind(0));
    assertThrows(HoldfastException.class, () -> backend.pageSource().map(bound).close());
    assertEquals(0, tap.mappedBytes(), "a refused binding left something mapped");
    return false;
  }

  private boolean canBind() {
    int node = nodes().first();
    MemorySegment trial = tap.kernel().map(tap.kernel().basePageBytes(), Mapping.anonymous());
    try {
      tap.kernel().bind(trial, HostKernel.NodeMode.BIND, Set.of(node));
      return true;
    } catch (HostKernelException refused) {
      return false;
    } finally {
      tap.kernel().unmap(trial);
    }
  }

  private void needs(int count) {
    if (nodes().size() < count) {
      throw missing(count + " nodes with memory; there is " + nodes());
    }
  }

  /** On which node each page is, by the kernel. */
  private Map<Integer, Integer> pagesByNode(HostRegion region) {
    Map<Integer, Integer> pages = new TreeMap<>();
    for (int node : tap.kernel().nodes(whole(region), region.backingPageBytes())) {
      pages.merge(node, 1, Integer::sum);
    }
    return pages;
  }

  private static MemorySegment whole(HostRegion region) {
    return region.segment();
  }

  private static int pages(HostRegion region) {
    return Math.toIntExact(region.mappedBytes() / region.backingPageBytes());
  }

  private HostRegion bound(NumaPolicy policy) {
    return backend.pageSource().map(HostRequest.ofBytes(BYTES).numa(policy));
  }

  @Test
  @Covers({Rule.NUM_01, Rule.NUM_05, Rule.NUM_08})
  final void num01_bound_pages_lie_on_their_node_each_of_them() {
    if (!places()) {
      return;
    }
    for (int node : nodes()) {
      try (HostRegion region = bound(NumaPolicy.bind(node))) {
        assertEquals(Map.of(node, pages(region)), pagesByNode(region), "bound to node " + node);
        assertEquals(
            Map.of(node, region.mappedBytes()),
            region.receipt().bytesPerNode(),
            region.receipt().toJson());
        assertEquals(0, region.receipt().bytesElsewhere());
      }
    }
  }

  @Test
  @Covers(Rule.NUM_02)
  final void num02_a_node_that_is_not_there_is_refused_and_never_trimmed() {
    if (!places()) {
      return;
    }
    int there = nodes().first();
    for (int strange : new int[] {nodes().last() + 1, 1000}) {
      if (numbers(text("/sys/devices/system/node/online").orElse("")).contains(strange)) {
        continue;
      }
      for (NumaPolicy policy :
          List.of(
              NumaPolicy.bind(strange),
              NumaPolicy.bind(there, strange),
              NumaPolicy.interleave(there, strange),
              NumaPolicy.preferred(strange))) {
        RuntimeException refused =
            assertThrows(RuntimeException.class, () -> bound(policy).close(), policy.toString());
        assertTrue(
            String.valueOf(refused.getMessage()).contains(Integer.toString(strange)),
            "the node is not named: " + refused);
        assertEquals(0, tap.mappedBytes());
      }
    }
  }

  @Test
  @Covers(Rule.NUM_03)
  final void num03_interleaved_pages_lie_on_all_their_nodes_evenly() {
    if (!places()) {
      return;
    }
    needs(2);
    int one = nodes().first();
    int other = nodes().last();
    try (HostRegion region = bound(NumaPolicy.interleave(one, other))) {
      Map<Integer, Integer> pages = pagesByNode(region);
      assertEquals(Set.of(one, other), pages.keySet());
      int half = pages(region) / 2;
      assertTrue(Math.abs(pages.getOrDefault(one, 0) - half) <= 1 + half / 50, pages.toString());
    }
  }

  @Test
  @Covers(Rule.NUM_04)
  final void num04_memory_nearest_to_a_device_lies_on_its_node() {
    if (!places()) {
      return;
    }
    for (DeviceInfo info : backend.devices()) {
      if (info.numaNode().isEmpty() || !nodes().contains(info.numaNode().getAsInt())) {
        continue;
      }
      int node = info.numaNode().getAsInt();
      try (HostRegion region = bound(NumaPolicy.nearest(info))) {
        assertEquals(Map.of(node, pages(region)), pagesByNode(region), info.toString());
      }
    }
    if (backend.devices().stream().allMatch(info -> info.numaNode().isEmpty())) {
      throw missing("a device whose node is known");
    }
  }

  @Test
  @Covers({Rule.NUM_06, Rule.NUM_08})
  final void num06_numa_maps_agrees_with_what_was_asked() {
    if (!places()) {
      return;
    }
    for (int node : nodes()) {
      try (HostRegion region = bound(NumaPolicy.bind(node))) {
        String line = numaMaps(region.segment().address());
        assertTrue(line.contains(" bind:" + node + " "), line);
        long base = tap.kernel().basePageBytes();
        long unit = line.contains("kernelpagesize_kB=") ? kernelPage(line) : base;
        Map<Integer, Long> bytes = new TreeMap<>();
        for (String word : line.split(" ")) {
          if (word.matches("N[0-9]+=[0-9]+")) {
            int equals = word.indexOf('=');
            bytes.put(
                Integer.parseInt(word.substring(1, equals)),
                Long.parseLong(word.substring(equals + 1)) * unit);
          }
        }
        assertEquals(Set.of(node), bytes.keySet(), line);
        assertTrue(bytes.getOrDefault(node, 0L) >= region.mappedBytes(), line);
      }
    }
  }

  private static long kernelPage(String line) {
    String word = line.replaceAll(".*kernelpagesize_kB=([0-9]+).*", "$1");
    return Long.parseLong(word) << 10;
  }

  private String numaMaps(long address) {
    String start = Long.toHexString(address);
    String text =
        text("/proc/self/numa_maps")
            .orElseThrow(() -> missing("/proc/self/numa_maps, which this kernel does not show"));
    return text.lines()
            .filter(line -> line.replaceFirst("^0+", "").startsWith(start + " "))
            .findFirst()
            .orElseThrow(() -> new AssertionError("no line of 0x" + start + " in " + text))
        + " ";
  }

  @Test
  @Covers(Rule.NUM_07)
  final void num07_inherited_placement_makes_no_policy_call() {
    tap.forget();
    try (HostRegion region = bound(NumaPolicy.inherit())) {
      assertEquals(List.of(), tap.calls("HostKernel.bind"));
      assertEquals(0, region.receipt().bytesElsewhere());
    }
    if (!hasPages()) {
      inverted("NUMA");
    }
  }

  @Test
  @Covers(Rule.NUM_09)
  final void num09_a_policy_that_the_kernel_refuses_is_told_and_nothing_is_mapped() {
    if (!places()) {
      return;
    }
    int node = nodes().first();
    tap.refuse(
        "HostKernel.bind",
        1,
        new HostKernelException("mbind", "refused by the kit", Errno.EPERM.number()));
    assertThrows(HoldfastException.class, () -> bound(NumaPolicy.bind(node)).close());
    assertEquals(0, tap.mappedBytes());
  }
}
