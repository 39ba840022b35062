package io.holdfast.internal.host;

import io.holdfast.internal.host.Mounts.Mount;
import io.holdfast.spi.HostKernel;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** The cgroups that this process is in, version 1 and 2, with all their ancestors. */
final class Cgroups {
  private final HostKernel kernel;
  private final Machine machine;

  Cgroups(HostKernel kernel, Machine machine) {
    this.kernel = kernel;
    this.machine = machine;
  }

  /** Every limit on HugeTLB pages of a size: on pages in use, and on reserved ones. */
  List<Cap> hugePages(long pageBytes) {
    String size = PageSizes.cgroup(pageBytes);
    List<Cap> caps = new ArrayList<>();
    for (String folder : chain("hugetlb")) {
      for (String kind : List.of("", "rsvd.")) {
        String stem = folder + "/hugetlb." + size + "." + kind;
        cap(stem + "max", stem + "current", 0).ifPresent(caps::add);
        cap(stem + "limit_in_bytes", stem + "usage_in_bytes", 0).ifPresent(caps::add);
      }
    }
    return caps;
  }

  /** Every limit on ordinary memory; file cache that the kernel can drop counts as free. */
  List<Cap> memory() {
    List<Cap> caps = new ArrayList<>();
    for (String folder : chain("memory")) {
      long cache = cache(folder);
      cap(folder + "/memory.max", folder + "/memory.current", cache).ifPresent(caps::add);
      cap(folder + "/memory.limit_in_bytes", folder + "/memory.usage_in_bytes", cache)
          .ifPresent(caps::add);
    }
    return caps;
  }

  /** Whether HugeTLB pages count as memory too, an option of the mount since Linux 6.6. */
  boolean memoryCountsHugePages() {
    return Mounts.of(kernel).all().stream()
        .anyMatch(
            mount ->
                mount.type().equals("cgroup2")
                    && mount.options().contains("memory_hugetlb_accounting"));
  }

  // Version 1 counts a group's children only in the lines that begin with "total_".
  private long cache(String folder) {
    Optional<String> stat = kernel.text(folder + "/memory.stat");
    if (stat.isEmpty()) {
      return 0;
    }
    boolean children = stat.get().contains("\ntotal_");
    String prefix = children ? "total_" : "";
    return stat.get()
        .lines()
        .filter(line -> line.matches(prefix + "(inactive|active)_file [0-9]{1,18}"))
        .mapToLong(line -> Long.parseLong(line.substring(line.indexOf(' ') + 1)))
        .sum();
  }

  private Optional<Cap> cap(String limitFile, String usageFile, long reclaimable) {
    OptionalLong limit = machine.number(limitFile);
    // Version 2 writes "max" for none, version 1 the largest number of whole pages in a long, which
    // has one digit more than a number here may have.
    if (limit.isEmpty()) {
      return Optional.empty();
    }
    long used = Math.max(0, machine.number(usageFile).orElse(0) - reclaimable);
    return Optional.of(new Cap(limitFile, limit.getAsLong(), used));
  }

  /** The folders of this process's group and its ancestors, nearest first. */
  private List<String> chain(String controller) {
    List<String> folders = new ArrayList<>();
    Mounts mounts = Mounts.of(kernel);
    Optional<String> memberships = kernel.text("/proc/self/cgroup");
    if (memberships.isEmpty()) {
      return folders;
    }
    for (String line : memberships.get().lines().toList()) {
      String[] parts = line.split(":", 3);
      if (parts.length < 3) {
        continue;
      }
      boolean unified = parts[0].equals("0") && parts[1].isEmpty();
      if (!unified && !List.of(parts[1].split(",", -1)).contains(controller)) {
        continue;
      }
      mounts.all().stream()
          .filter(
              mount ->
                  unified
                      ? mount.type().equals("cgroup2")
                      : mount.type().equals("cgroup") && mount.options().contains(controller))
          .findFirst()
          .ifPresent(mount -> climb(mount, parts[2], folders));
    }
    return folders;
  }

  private static void climb(Mount mount, String path, List<String> folders) {
    // In a container the mount shows only a part of the tree, and a path outside of it is ours.
    String inside = "";
    if (mount.root().equals("/")) {
      inside = path.contains("/..") ? "" : path;
    } else if (path.startsWith(mount.root() + "/")) {
      inside = path.substring(mount.root().length());
    }
    while (inside.length() > 1) {
      folders.add(mount.point() + inside);
      inside = inside.substring(0, inside.lastIndexOf('/'));
    }
    folders.add(mount.point());
  }

  /**
   * One limit of one group.
   *
   * @param file the file that raises it
   * @param limitBytes what the group may have
   * @param usedBytes what it has
   */
  record Cap(String file, long limitBytes, long usedBytes) {
    /** What is left. */
    long availableBytes() {
      return Math.max(0, limitBytes - usedBytes);
    }
  }
}
