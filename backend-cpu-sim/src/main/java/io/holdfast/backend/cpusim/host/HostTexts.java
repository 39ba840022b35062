package io.holdfast.backend.cpusim.host;

import io.holdfast.backend.cpusim.host.HostSpec.Lack;
import io.holdfast.backend.cpusim.host.HostSpec.Mount;
import io.holdfast.backend.cpusim.host.SimHost.FileSystem;
import io.holdfast.backend.cpusim.host.SimHost.PoolState;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** What sysfs, procfs and the cgroup of a simulated host say now; with the host's lock held. */
final class HostTexts {
  private static final String NODES = "/sys/devices/system/node";
  private static final String POOLS = "/sys/kernel/mm/hugepages";
  private static final String THP = "/sys/kernel/mm/transparent_hugepage";
  private static final String WEIGHTS = "/sys/kernel/mm/mempolicy/weighted_interleave/node";
  private static final String PCI = "/sys/bus/pci/devices/";
  private static final String CGROUP = "/sys/fs/cgroup";

  private final SimHost host;
  private final HostSpec spec;
  private final SimHostKernel process;

  HostTexts(SimHost host, SimHostKernel process) {
    this.host = host;
    this.spec = host.spec;
    this.process = process;
  }

  Optional<String> text(String path) {
    String wanted = path.startsWith("/") ? path : "/" + path;
    String text = find(wanted);
    return Optional.ofNullable(text).map(found -> found.endsWith("\n") ? found : found + "\n");
  }

  List<String> names(String path) {
    String wanted = path.startsWith("/") ? path : "/" + path;
    if (wanted.equals(POOLS)) {
      return folders();
    }
    if (wanted.equals(NODES) && !spec.lacks().contains(Lack.NODE_FILES)) {
      return spec.nodes().keySet().stream().map(node -> "node" + node).sorted().toList();
    }
    if (wanted.startsWith(NODES + "/node") && wanted.endsWith("/hugepages")) {
      return folders();
    }
    if (wanted.equals(PCI.substring(0, PCI.length() - 1))) {
      return host.devices.keySet().stream().sorted().toList();
    }
    return host.fileSystem(wanted).map(FileSystem::sortedNames).orElse(List.of());
  }

  private List<String> folders() {
    return host.pools().keySet().stream().map(HostTexts::folder).sorted().toList();
  }

  private static String folder(long pageBytes) {
    return "hugepages-" + pageBytes / 1024 + "kB";
  }

  private @Nullable String find(String path) {
    if (path.startsWith(NODES + "/")) {
      return spec.lacks().contains(Lack.NODE_FILES)
          ? null
          : node(path.substring(NODES.length() + 1));
    }
    if (path.startsWith(POOLS + "/")) {
      return pool(path.substring(POOLS.length() + 1));
    }
    if (path.startsWith(THP + "/")) {
      return transparent(path.substring(THP.length() + 1));
    }
    if (path.startsWith(WEIGHTS)) {
      Integer weight = spec.weights().get(number(path.substring(WEIGHTS.length())));
      return weight == null ? null : weight.toString();
    }
    if (path.startsWith(PCI) && path.endsWith("/numa_node")) {
      Integer node =
          host.devices.get(path.substring(PCI.length(), path.length() - "/numa_node".length()));
      return node == null ? null : node.toString();
    }
    if (path.startsWith(CGROUP)) {
      return group(path.substring(CGROUP.length()));
    }
    return path.startsWith("/proc/") ? process(path.substring("/proc/".length())) : null;
  }

  private static int number(String text) {
    return text.matches("[0-9]{1,9}") ? Integer.parseInt(text) : -1;
  }

  // ---- nodes and pools

  private @Nullable String node(String path) {
    return switch (path) {
      case "online", "possible" -> Numbers.list(spec.nodes().keySet());
      case "has_memory", "has_normal_memory" ->
          Numbers.list(
              spec.nodes().entrySet().stream()
                  .filter(node -> node.getValue().memoryBytes() > 0)
                  .map(Map.Entry::getKey)
                  .toList());
      case "has_cpu" ->
          Numbers.list(
              spec.nodes().entrySet().stream()
                  .filter(node -> !node.getValue().cpus().isEmpty())
                  .map(Map.Entry::getKey)
                  .toList());
      default -> oneNode(path);
    };
  }

  private @Nullable String oneNode(String path) {
    int slash = path.indexOf('/');
    int number =
        slash < 0 || !path.startsWith("node") ? -1 : number(path.substring("node".length(), slash));
    HostSpec.Node node = spec.nodes().get(number);
    if (node == null) {
      return null;
    }
    String file = path.substring(slash + 1);
    if (file.startsWith("hugepages/")) {
      return nodePool(number, file.substring("hugepages/".length()));
    }
    return switch (file) {
      case "cpulist" -> Numbers.list(node.cpus());
      case "distance" -> String.join(" ", node.distances().stream().map(String::valueOf).toList());
      case "meminfo" -> nodeMemory(number, node);
      default -> null;
    };
  }

  private String nodeMemory(int number, HostSpec.Node node) {
    long free = host.freeBytes(number);
    String prefix = "Node " + number + " ";
    return line(prefix + "MemTotal", node.memoryBytes())
        + line(prefix + "MemFree", free)
        + line(prefix + "MemUsed", node.memoryBytes() - free)
        + line(prefix + "Active(file)", 0)
        + line(prefix + "Inactive(file)", 0);
  }

  private static String line(String name, long bytes) {
    return String.format(Locale.ROOT, "%s:%15d kB%n", name, bytes / 1024).replace("\r", "");
  }

  private @Nullable PoolState poolOf(String folder) {
    for (PoolState pool : host.pools().values()) {
      if (folder(pool.pageBytes).equals(folder)) {
        return pool;
      }
    }
    return null;
  }

  private @Nullable String pool(String path) {
    int slash = path.indexOf('/');
    PoolState pool = slash < 0 ? null : poolOf(path.substring(0, slash));
    if (pool == null) {
      return null;
    }
    return switch (path.substring(slash + 1)) {
      case "nr_hugepages" -> Long.toString(pool.total());
      case "free_hugepages" -> Long.toString(pool.free());
      case "resv_hugepages" -> Long.toString(pool.reserved);
      case "surplus_hugepages" -> Long.toString(pool.surplus());
      case "nr_overcommit_hugepages" -> Long.toString(pool.overcommit);
      default -> null;
    };
  }

  private @Nullable String nodePool(int node, String path) {
    int slash = path.indexOf('/');
    PoolState pool = slash < 0 ? null : poolOf(path.substring(0, slash));
    if (pool == null) {
      return null;
    }
    return switch (path.substring(slash + 1)) {
      case "nr_hugepages" -> Long.toString(pool.total.getOrDefault(node, 0L));
      case "free_hugepages" -> Long.toString(pool.free.getOrDefault(node, 0L));
      case "surplus_hugepages" -> Long.toString(pool.surplus.getOrDefault(node, 0L));
      default -> null;
    };
  }

  private @Nullable String transparent(String file) {
    if (spec.transparentPageBytes() == 0) {
      return null;
    }
    return switch (file) {
      case "enabled" -> choice(spec.transparentChoice(), "always", "madvise", "never");
      case "defrag" -> choice("madvise", "always", "defer", "defer+madvise", "madvise", "never");
      case "hpage_pmd_size" -> Long.toString(spec.transparentPageBytes());
      default -> null;
    };
  }

  private static String choice(String chosen, String... words) {
    List<String> shown = new ArrayList<>();
    for (String word : words) {
      shown.add(word.equals(chosen) ? "[" + word + "]" : word);
    }
    return String.join(" ", shown);
  }

  // ---- the cgroup

  private @Nullable String group(String path) {
    String folder = spec.cgroup().path().equals("/") ? "" : spec.cgroup().path();
    if (!path.startsWith(folder + "/")) {
      return null;
    }
    String file = path.substring(folder.length() + 1);
    SimHost.Group group = host.group();
    if (file.equals("memory.max") && !folder.isEmpty()) {
      return spec.cgroup().memoryBytes().isEmpty()
          ? "max"
          : Long.toString(spec.cgroup().memoryBytes().getAsLong());
    }
    if (file.equals("memory.current") && !folder.isEmpty()) {
      return Long.toString(group.memoryBytes());
    }
    if (file.equals("memory.stat") && !folder.isEmpty()) {
      return "anon " + group.memoryBytes() + "\ninactive_file 0\nactive_file 0";
    }
    for (long page : host.pools().keySet()) {
      String stem = "hugetlb." + size(page) + ".";
      if (!folder.isEmpty() && file.startsWith(stem)) {
        return huge(file.substring(stem.length()), page, group);
      }
    }
    return null;
  }

  private @Nullable String huge(String file, long page, SimHost.Group group) {
    return switch (file) {
      case "max" -> limit(spec.cgroup().hugeBytes().get(page));
      case "rsvd.max" -> limit(spec.cgroup().reservedBytes().get(page));
      case "current" -> Long.toString(group.hugeBytes(page));
      case "rsvd.current" -> Long.toString(group.reservedBytes(page));
      default -> null;
    };
  }

  private static String limit(@Nullable Long bytes) {
    return bytes == null ? "max" : bytes.toString();
  }

  /** How cgroup files name a size (mm/hugetlb_cgroup.c, mem_fmt). */
  private static String size(long bytes) {
    if (bytes >= 1L << 30) {
      return (bytes >> 30) + "GB";
    }
    return bytes >= 1L << 20 ? (bytes >> 20) + "MB" : (bytes >> 10) + "KB";
  }

  // ---- the process

  private @Nullable String process(String path) {
    return switch (path) {
      case "meminfo" -> memory();
      case "sys/vm/max_map_count" -> Long.toString(spec.mostMappings());
      case "sys/vm/overcommit_memory" -> "0";
      case "self/status" ->
          "Name:\tjava\nPid:\t"
              + process.pid()
              + "\nMems_allowed_list:\t"
              + Numbers.list(allowed())
              + "\n";
      case "self/cgroup" -> "0::" + spec.cgroup().path();
      case "self/mountinfo" -> mounts();
      case "self/maps" -> maps();
      case "self/smaps" -> smaps();
      case "self/numa_maps" -> numaMaps();
      default -> task(path);
    };
  }

  private List<Integer> allowed() {
    return spec.nodes().entrySet().stream()
        .filter(node -> node.getValue().allowed())
        .map(Map.Entry::getKey)
        .toList();
  }

  private @Nullable String task(String path) {
    String prefix = "self/task/";
    if (!path.startsWith(prefix) || !path.endsWith("/stat")) {
      return null;
    }
    String thread = path.substring(prefix.length(), path.length() - "/stat".length());
    if (!thread.matches("[0-9]{1,18}")) {
      return null;
    }
    // the CPU is the 37th field behind the name (proc(5))
    return thread
        + " (java) S"
        + " 0".repeat(35)
        + " "
        + process.cpuOf(Long.parseLong(thread))
        + " 0 0";
  }

  private String memory() {
    long total = 0;
    long free = 0;
    for (int node : spec.nodes().keySet()) {
      total += host.totalBytes(node);
      free += host.freeBytes(node);
    }
    return line("MemTotal", total) + line("MemFree", free) + line("MemAvailable", free);
  }

  private String mounts() {
    StringBuilder text = new StringBuilder("22 1 8:1 / / rw,relatime - ext4 /dev/root rw\n");
    text.append("30 22 0:26 / ").append(CGROUP).append(" rw,nosuid - cgroup2 cgroup2 rw\n");
    int id = 31;
    for (FileSystem system : host.fileSystems()) {
      Mount mount = system.mount;
      text.append(id++)
          .append(" 22 0:")
          .append(system.minor)
          .append(" / ")
          .append(mount.point())
          .append(" rw,relatime - ")
          .append(mount.type().typeName())
          .append(' ')
          .append(mount.type().typeName())
          .append(" rw")
          .append(
              mount.type() == HostSpec.FileSystemType.HUGETLBFS
                  ? ",pagesize=" + size(mount.pageBytes()).replace("B", "")
                  : "")
          .append(mount.sizeBytes() == 0 ? "" : ",size=" + mount.sizeBytes() / 1024 + "k")
          .append('\n');
    }
    return text.toString();
  }

  private String maps() {
    StringBuilder text = new StringBuilder();
    for (SimMapping mapping : process.mappings()) {
      for (long[] range : mapping.ranges()) {
        text.append(head(mapping, range)).append('\n');
      }
    }
    return text.toString();
  }

  private static String head(SimMapping mapping, long[] range) {
    return Long.toHexString(range[0])
        + "-"
        + Long.toHexString(range[1])
        + (mapping.inode == null ? " rw-p" : " rw-s")
        + " 00000000 00:00 "
        + (mapping.inode == null ? 0 : mapping.inode.number);
  }

  private String smaps() {
    StringBuilder text = new StringBuilder();
    for (SimMapping mapping : process.mappings()) {
      for (long[] range : mapping.ranges()) {
        long first = mapping.pageOf(range[0]);
        long end = first + (range[1] - range[0]) / mapping.pageBytes();
        long present = mapping.pages.pages(first, end) * mapping.pageBytes();
        text.append(head(mapping, range))
            .append('\n')
            .append(line("Size", range[1] - range[0]))
            .append(line("KernelPageSize", mapping.pageBytes()))
            .append(line("MMUPageSize", mapping.pageBytes()))
            .append(line("Rss", mapping.isPool() ? 0 : present))
            .append(line("AnonHugePages", transparentBytes(mapping, present)))
            .append(line("Private_Hugetlb", mapping.isPool() ? present : 0))
            .append("VmFlags: rd wr mr mw me ac")
            .append(mapping.keptFromChildren ? " dc" : "")
            .append(mapping.isPool() ? " ht" : "")
            .append(mapping.adviseHuge ? " hg" : "")
            .append('\n');
      }
    }
    return text.toString();
  }

  /** Huge pages come where they were asked for, or where the kernel always gives them. */
  private long transparentBytes(SimMapping mapping, long present) {
    boolean given =
        switch (spec.transparentChoice()) {
          case "always" -> !mapping.adviseSmall;
          case "madvise" -> mapping.adviseHuge;
          default -> false;
        };
    long huge = spec.transparentPageBytes();
    return mapping.isPool() || mapping.inode != null || !given || huge == 0
        ? 0
        : present / huge * huge;
  }

  private String numaMaps() {
    StringBuilder text = new StringBuilder();
    for (SimMapping mapping : process.mappings()) {
      Policy policy = mapping.inode == null ? mapping.policy : mapping.inode.policy;
      text.append(Long.toHexString(mapping.address))
          .append(' ')
          .append(policy == null ? "default" : policy.text());
      Map<Integer, Long> counts = new TreeMap<>(mapping.pages.count());
      for (int node : new TreeSet<>(counts.keySet())) {
        text.append(" N").append(node).append('=').append(counts.get(node));
      }
      text.append(" kernelpagesize_kB=").append(mapping.pageBytes() / 1024).append('\n');
    }
    return text.toString();
  }
}
