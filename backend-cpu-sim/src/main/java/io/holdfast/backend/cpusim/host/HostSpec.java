package io.holdfast.backend.cpusim.host;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What a simulated host is.
 *
 * @param release the kernel's release, for example {@code 6.8.0}
 * @param machine the processor's architecture, for example {@code aarch64}
 * @param basePageBytes the base page, a power of two
 * @param transparentPageBytes the transparent huge page; 0 where the kernel has none
 * @param transparentChoice {@code always}, {@code madvise} or {@code never}
 * @param nodes nodes by number
 * @param pools pools of huge pages by page size; every size that is listed exists
 * @param cgroup the process's group with its limits
 * @param mounts file systems in memory
 * @param lacks what this kernel does not have or does not allow
 * @param weights weights of nodes for weighted interleaving; empty where the kernel has none
 * @param mostMappings {@code vm.max_map_count}
 * @param lockLimitBytes {@code RLIMIT_MEMLOCK}, or empty for none
 */
public record HostSpec(
    String release,
    String machine,
    long basePageBytes,
    long transparentPageBytes,
    String transparentChoice,
    SortedMap<Integer, Node> nodes,
    SortedMap<Long, Pool> pools,
    Cgroup cgroup,
    List<Mount> mounts,
    Set<Lack> lacks,
    Map<Integer, Integer> weights,
    long mostMappings,
    OptionalLong lockLimitBytes) {

  /** Checks and copies. */
  public HostSpec {
    Objects.requireNonNull(release, "release");
    Objects.requireNonNull(machine, "machine");
    Objects.requireNonNull(transparentChoice, "transparentChoice");
    Objects.requireNonNull(cgroup, "cgroup");
    Objects.requireNonNull(lockLimitBytes, "lockLimitBytes");
    requirePowerOfTwo("base page", basePageBytes);
    if (transparentPageBytes != 0) {
      requirePowerOfTwo("transparent huge page", transparentPageBytes);
    }
    nodes = new TreeMap<>(nodes);
    pools = new TreeMap<>(pools);
    mounts = List.copyOf(mounts);
    lacks = Set.copyOf(lacks);
    weights = Map.copyOf(weights);
    if (nodes.isEmpty()) {
      throw new IllegalArgumentException("a host has at least one node");
    }
    for (Node node : nodes.values()) {
      if (node.distances().size() != nodes.size()) {
        throw new IllegalArgumentException(
            "each node has one distance to each of "
                + nodes.keySet()
                + ", not "
                + node.distances());
      }
    }
    for (Map.Entry<Long, Pool> pool : pools.entrySet()) {
      requirePowerOfTwo("huge page", pool.getKey());
      if (!nodes.keySet().containsAll(pool.getValue().pagesPerNode().keySet())) {
        throw new IllegalArgumentException(
            "pools are on nodes that are there: " + pool.getValue().pagesPerNode().keySet());
      }
    }
  }

  private static void requirePowerOfTwo(String what, long bytes) {
    if (bytes <= 0 || Long.bitCount(bytes) != 1) {
      throw new IllegalArgumentException("a " + what + " is a power of two, not " + bytes);
    }
  }

  /**
   * A node.
   *
   * @param memoryBytes its memory, pools included
   * @param cpus its CPUs; none on a device's own node
   * @param distances to each node, in the order of their numbers
   * @param allowed whether the process's cpuset has it
   */
  public record Node(
      long memoryBytes, SortedSet<Integer> cpus, List<Integer> distances, boolean allowed) {
    /** Copies. */
    public Node {
      cpus = new TreeSet<>(cpus);
      distances = List.copyOf(distances);
    }
  }

  /**
   * A pool of huge pages.
   *
   * @param pagesPerNode how many, by node
   * @param overcommitPages how many more the kernel may make when asked
   */
  public record Pool(SortedMap<Integer, Long> pagesPerNode, long overcommitPages) {
    /** Copies. */
    public Pool {
      pagesPerNode = new TreeMap<>(pagesPerNode);
    }
  }

  /**
   * A group of version 2.
   *
   * @param path from the root, for example {@code /kubepods/pod1}, or {@code /}
   * @param memoryBytes the most memory, or empty for no limit
   * @param hugeBytes the most bytes of huge pages in use, by page size
   * @param reservedBytes the most bytes of huge pages reserved, by page size
   */
  public record Cgroup(
      String path,
      OptionalLong memoryBytes,
      Map<Long, Long> hugeBytes,
      Map<Long, Long> reservedBytes) {
    /** Copies. */
    public Cgroup {
      hugeBytes = Map.copyOf(hugeBytes);
      reservedBytes = Map.copyOf(reservedBytes);
    }

    /**
     * The root group, without limits.
     *
     * @return the group
     */
    public static Cgroup unlimited() {
      return new Cgroup("/", OptionalLong.empty(), Map.of(), Map.of());
    }
  }

  /**
   * A file system.
   *
   * @param point where it is mounted
   * @param type tmpfs, hugetlbfs, or one on a disk
   * @param pageBytes the page of its files; for tmpfs the base page
   * @param sizeBytes its size, or 0 for no limit
   */
  public record Mount(String point, FileSystemType type, long pageBytes, long sizeBytes) {
    /** Checks. */
    public Mount {
      Objects.requireNonNull(point, "point");
      Objects.requireNonNull(type, "type");
      requirePowerOfTwo("page of a file system", pageBytes);
    }
  }

  /** Kinds of file systems. */
  public enum FileSystemType {
    /** In memory, on base pages. */
    TMPFS("tmpfs", 0x01021994L),
    /** In memory, on huge pages. */
    HUGETLBFS("hugetlbfs", 0x958458f6L),
    /** On a disk. */
    EXT4("ext4", 0xEF53L);

    private final String typeName;
    private final long magic;

    FileSystemType(String typeName, long magic) {
      this.typeName = typeName;
      this.magic = magic;
    }

    String typeName() {
      return typeName;
    }

    long magic() {
      return magic;
    }
  }

  /** What a kernel may not have or not allow. */
  public enum Lack {
    /** {@code MADV_POPULATE_WRITE} is older than the kernel: EINVAL. */
    POPULATE_WRITE,
    /** A seccomp filter refuses {@code mbind}: EPERM. */
    BINDING,
    /** A seccomp filter refuses {@code move_pages}: EPERM. */
    PAGE_NODES,
    /** No interleaving by weight: EINVAL. */
    WEIGHTED_INTERLEAVE,
    /** No sysfs, as on WSL's and some sandboxes' kernels. */
    NODE_FILES,
    /** No files without a name: EOPNOTSUPP. */
    NAMELESS_FILES
  }
}
