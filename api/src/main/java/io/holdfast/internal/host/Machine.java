package io.holdfast.internal.host;

import io.holdfast.spi.HostKernel;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What sysfs and procfs say about the machine, read anew at each question. Safe from any thread.
 */
final class Machine {
  private static final String HUGE_PAGES = "/sys/kernel/mm/hugepages";
  private static final String NODES = "/sys/devices/system/node";
  private static final int POOL_READINGS = 8;

  private final HostKernel kernel;

  Machine(HostKernel kernel) {
    this.kernel = kernel;
  }

  /** Page sizes that have a HugeTLB pool, however small the pool. */
  NavigableSet<Long> hugePageSizes() {
    NavigableSet<Long> sizes = new TreeSet<>();
    for (String name : kernel.names(HUGE_PAGES)) {
      if (name.matches("hugepages-[0-9]{1,12}kB")) {
        sizes.add(Long.parseLong(name.substring("hugepages-".length(), name.length() - 2)) << 10);
      }
    }
    return sizes;
  }

  /**
   * The page that transparent huge pages have. A kernel that does not say has the one its page
   * tables make: as many base pages as entries of eight bytes fit into one.
   */
  long transparentHugePageBytes() {
    return number("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
        .orElse(kernel.basePageBytes() * (kernel.basePageBytes() / Long.BYTES));
  }

  /** The word in brackets of a choice such as {@code always [madvise] never}. */
  Optional<String> choice(String path) {
    return kernel
        .text(path)
        .filter(text -> text.indexOf('[') >= 0 && text.indexOf(']') > text.indexOf('['))
        .map(text -> text.substring(text.indexOf('[') + 1, text.indexOf(']')));
  }

  /**
   * The pool of the whole machine; zeros where there is none. Free and reserved pages lie in two
   * files: a neighbour that touches, frees and reserves pages between the two readings makes a sum
   * that never was, and a refusal that names pages nobody lacks. So it is read until two readings
   * agree; from a pool that never rests the most generous one is taken, because a mapping that is
   * too large meets the kernel's own refusal.
   */
  HugePool pool(long pageBytes) {
    String folder = poolFolder(pageBytes);
    // Only what the kernel can put together at run time can be had beyond the pool; larger pages
    // cannot, whatever the file says.
    boolean mayGrow = pageBytes <= transparentHugePageBytes();
    HugePool last = readPool(folder, mayGrow);
    HugePool best = last;
    for (int reading = 1; reading < POOL_READINGS; reading++) {
      HugePool next = readPool(folder, mayGrow);
      if (next.equals(last)) {
        return next;
      }
      best = next.certain() > best.certain() ? next : best;
      last = next;
    }
    return best;
  }

  private HugePool readPool(String folder, boolean mayGrow) {
    return new HugePool(
        number(folder + "/nr_hugepages").orElse(0),
        number(folder + "/free_hugepages").orElse(0),
        number(folder + "/resv_hugepages").orElse(0),
        number(folder + "/surplus_hugepages").orElse(0),
        mayGrow ? number(folder + "/nr_overcommit_hugepages").orElse(0) : 0);
  }

  static String poolFolder(long pageBytes) {
    return HUGE_PAGES + "/" + PageSizes.folder(pageBytes);
  }

  /** Free pages of the pool on one node; empty where the kernel counts no nodes. */
  OptionalLong freeOnNode(int node, long pageBytes) {
    return number(nodePoolFolder(node, pageBytes) + "/free_hugepages");
  }

  /** All pages of the pool on one node. */
  long totalOnNode(int node, long pageBytes) {
    return number(nodePoolFolder(node, pageBytes) + "/nr_hugepages").orElse(0);
  }

  static String nodePoolFolder(int node, long pageBytes) {
    return NODES + "/node" + node + "/hugepages/" + PageSizes.folder(pageBytes);
  }

  /** Nodes that are there; node 0 where the kernel knows no nodes. */
  NavigableSet<Integer> nodes() {
    NavigableSet<Integer> online = numbers(NODES + "/online");
    return online.isEmpty() ? new TreeSet<>(List.of(0)) : online;
  }

  /** Nodes that have memory. */
  NavigableSet<Integer> nodesWithMemory() {
    return kernel.text(NODES + "/has_memory").map(NumberList::parse).orElseGet(this::nodes);
  }

  /** CPUs of a node; empty where it has none or the kernel does not say. */
  NavigableSet<Integer> cpusOf(int node) {
    return numbers(NODES + "/node" + node + "/cpulist");
  }

  /** Nodes whose memory this process may use. */
  NavigableSet<Integer> allowedNodes() {
    NavigableSet<Integer> allowed = new TreeSet<>(nodes());
    Optional<String> listed = field("/proc/self/status", "Mems_allowed_list");
    listed.map(NumberList::parse).filter(some -> !some.isEmpty()).ifPresent(allowed::retainAll);
    return Collections.unmodifiableNavigableSet(allowed);
  }

  /** Distance from one node to another; empty where the kernel does not say. */
  OptionalInt distance(int from, int to) {
    Optional<String> row = kernel.text(NODES + "/node" + from + "/distance");
    if (row.isEmpty()) {
      return OptionalInt.empty();
    }
    // The row has one number for each node that is there, in order.
    String[] numbers = row.get().strip().split("\\s+", -1);
    int column = 0;
    for (int node : nodes()) {
      if (node == to && column < numbers.length && numbers[column].matches("[0-9]{1,6}")) {
        return OptionalInt.of(Integer.parseInt(numbers[column]));
      }
      column++;
    }
    return OptionalInt.empty();
  }

  /** The node whose CPU a thread ran on last; empty where the kernel does not say. */
  OptionalInt nodeOfThread(long threadId) {
    Optional<String> stat = kernel.text("/proc/self/task/" + threadId + "/stat");
    if (stat.isEmpty()) {
      return OptionalInt.empty();
    }
    // The name in parentheses can hold anything; the CPU is the 37th field behind it (proc(5)).
    String[] fields = stat.get().substring(stat.get().lastIndexOf(')') + 1).strip().split(" ", -1);
    if (fields.length < 37 || !fields[36].matches("[0-9]{1,6}")) {
      return OptionalInt.empty();
    }
    int cpu = Integer.parseInt(fields[36]);
    return nodes().stream()
        .filter(node -> cpusOf(node).contains(cpu))
        .mapToInt(Integer::intValue)
        .findFirst();
  }

  /** Byte counts of /proc/meminfo by name. */
  Map<String, Long> memory() {
    return counts("/proc/meminfo", "");
  }

  /** Byte counts of one node by name, as in /proc/meminfo. */
  Map<String, Long> nodeMemory(int node) {
    return counts(NODES + "/node" + node + "/meminfo", "Node " + node + " ");
  }

  private Map<String, Long> counts(String path, String prefix) {
    Map<String, Long> counts = new HashMap<>();
    for (String line : kernel.text(path).orElse("").lines().toList()) {
      String rest = line.startsWith(prefix) ? line.substring(prefix.length()) : "";
      if (rest.matches("[A-Za-z_()]+: +[0-9]{1,15} kB")) {
        String[] parts = rest.split("[: ]+", -1);
        counts.put(parts[0], Long.parseLong(parts[1]) << 10);
      }
    }
    return counts;
  }

  /** A text that is one number, not negative; empty where it is none. */
  OptionalLong number(String path) {
    return kernel
        .text(path)
        .map(String::strip)
        .filter(text -> text.matches("[0-9]{1,18}"))
        .map(text -> OptionalLong.of(Long.parseLong(text)))
        .orElse(OptionalLong.empty());
  }

  /** What stands behind {@code NAME:} in a text of such lines. */
  Optional<String> field(String path, String name) {
    return kernel
        .text(path)
        .flatMap(
            text ->
                text.lines()
                    .filter(line -> line.startsWith(name + ":"))
                    .map(line -> line.substring(name.length() + 1).strip())
                    .findFirst());
  }

  /** How many mappings this process has; empty where the kernel does not say. */
  OptionalLong mappings() {
    AtomicLong count = new AtomicLong();
    kernel.lines("/proc/self/maps", line -> count.incrementAndGet() > 0);
    return count.get() == 0 ? OptionalLong.empty() : OptionalLong.of(count.get());
  }

  /** Whether memory gets transparent huge pages although nobody advised them. */
  boolean hugePagesUnasked() {
    return choice("/sys/kernel/mm/transparent_hugepage/enabled")
        .map(mode -> mode.equals("always"))
        .orElse(false);
  }

  private NavigableSet<Integer> numbers(String path) {
    return kernel.text(path).map(NumberList::parse).orElse(Collections.emptyNavigableSet());
  }

  /**
   * One HugeTLB pool, in pages.
   *
   * @param total pages it has, surplus included
   * @param free pages nobody has touched
   * @param reserved free pages that are promised to mappings
   * @param surplus pages it has beyond its size
   * @param overcommit how many of those it may have
   */
  record HugePool(long total, long free, long reserved, long surplus, long overcommit) {
    /** Pages that a new mapping can have for certain. */
    long certain() {
      return Math.max(0, free - reserved);
    }

    /** Further pages that the kernel may be able to put together. */
    long possible() {
      return Math.max(0, overcommit - surplus);
    }
  }
}
