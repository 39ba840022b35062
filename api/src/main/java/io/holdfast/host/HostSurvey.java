package io.holdfast.host;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What a host can give, by its kernel's account at one moment. A value; nothing was touched to make
 * it.
 *
 * @param system the operating system's name
 * @param release the kernel's release
 * @param machine the processor architecture
 * @param basePageBytes the operating system's page
 * @param transparentPageBytes the page of transparent huge pages; 0 where there are none
 * @param allowedNodes nodes whose memory this process may use
 * @param nodes every node that is there, in order; empty where the kernel is not asked
 * @param pools HugeTLB pools of the whole machine, by page size
 * @param caps limits of the control groups that this process is in, nearest first
 * @param mounts of hugetlbfs, tmpfs and the control groups
 * @param lockLimitBytes memory that the process may lock; empty for no limit
 * @param mappings mappings that this process has; empty where the kernel does not say
 * @param texts the short texts it was read from that exist, by path, stripped
 * @param notes what else is known, one sentence each: how open devices pin
 */
public record HostSurvey(
    String system,
    String release,
    String machine,
    long basePageBytes,
    long transparentPageBytes,
    Set<Integer> allowedNodes,
    List<Node> nodes,
    List<Pool> pools,
    List<Cap> caps,
    List<Mount> mounts,
    OptionalLong lockLimitBytes,
    OptionalLong mappings,
    Map<String, String> texts,
    List<String> notes) {
  /** Copies. */
  public HostSurvey {
    Objects.requireNonNull(system, "system");
    Objects.requireNonNull(release, "release");
    Objects.requireNonNull(machine, "machine");
    Objects.requireNonNull(lockLimitBytes, "lockLimitBytes");
    Objects.requireNonNull(mappings, "mappings");
    allowedNodes = Collections.unmodifiableSet(new TreeSet<>(allowedNodes));
    nodes = List.copyOf(nodes);
    pools = List.copyOf(pools);
    caps = List.copyOf(caps);
    mounts = List.copyOf(mounts);
    texts = Collections.unmodifiableMap(new TreeMap<>(texts));
    notes = List.copyOf(notes);
  }

  /**
   * One node.
   *
   * @param number by the kernel's count
   * @param totalBytes memory it has
   * @param freeBytes memory nobody uses
   * @param cacheBytes memory with file contents that the kernel can drop
   * @param cpus its CPUs as the kernel lists them; empty for a node of memory alone
   * @param pools its HugeTLB pools; reserved pages are counted for the whole machine only
   */
  public record Node(
      int number,
      long totalBytes,
      long freeBytes,
      long cacheBytes,
      String cpus,
      List<NodePool> pools) {
    /** Copies. */
    public Node {
      Objects.requireNonNull(cpus, "cpus");
      pools = List.copyOf(pools);
    }
  }

  /**
   * A node's part of a HugeTLB pool, in pages.
   *
   * @param pageBytes the page
   * @param total pages there
   * @param free pages nobody has touched
   * @param surplus pages beyond the pool's size
   */
  public record NodePool(long pageBytes, long total, long free, long surplus) {}

  /**
   * A HugeTLB pool, in pages.
   *
   * @param pageBytes the page
   * @param total pages it has, surplus included
   * @param free pages nobody has touched
   * @param reserved free pages that are promised to mappings
   * @param surplus pages beyond its size
   * @param overcommit how many of those it may have
   */
  public record Pool(
      long pageBytes, long total, long free, long reserved, long surplus, long overcommit) {}

  /**
   * One limit of one control group.
   *
   * @param file the file that raises it
   * @param pageBytes the HugeTLB page it counts; 0 for memory
   * @param limitBytes what the group may have
   * @param usedBytes what it has, without what the kernel can drop
   */
  public record Cap(String file, long pageBytes, long limitBytes, long usedBytes) {
    /** Checks. */
    public Cap {
      Objects.requireNonNull(file, "file");
    }
  }

  /**
   * One mount.
   *
   * @param point where
   * @param type the file system
   * @param options of the mount and of the file system
   */
  public record Mount(String point, String type, List<String> options) {
    /** Copies. */
    public Mount {
      Objects.requireNonNull(point, "point");
      Objects.requireNonNull(type, "type");
      options = List.copyOf(options);
    }
  }
}
