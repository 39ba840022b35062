package io.holdfast.internal.host;

import io.holdfast.host.HostRequest.Limits;
import io.holdfast.host.Shortfall;
import io.holdfast.host.Shortfall.Limit;
import io.holdfast.internal.host.Cgroups.Cap;
import io.holdfast.internal.host.Machine.HugePool;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.FileSystemFacts;
import io.holdfast.spi.HostKernel.Pages;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;

/**
 * Which limits a wish would hit, all of them at once.
 *
 * <p>Every number is the kernel's at the moment of asking; another process can change it right
 * after, so the kernel's own refusals are explained by the same check, with the pages that the wish
 * already has counted in its favour. Safe from any thread.
 */
final class LimitCheck {
  // What is left to everything else of the machine or of a cgroup: a twentieth, at most this much.
  // The last bytes of either are where the kernel begins to kill processes.
  private static final long MOST_MARGIN_BYTES = 1L << 30;

  // Aligning a mapping splits and trims others: this many entries can be needed for one region.
  private static final long MAPPINGS_PER_REGION = 3;

  private final HostKernel kernel;
  private final Machine machine;
  private final Cgroups cgroups;

  LimitCheck(HostKernel kernel, Machine machine) {
    this.kernel = kernel;
    this.machine = machine;
    this.cgroups = new Cgroups(kernel, machine);
  }

  /**
   * What a wish has already, in bytes.
   *
   * @param promised reserved for it: pages of a pool, space of a file system
   * @param present pages that exist
   */
  record Credit(long promised, long present) {
    static final Credit NONE = new Credit(0, 0);
  }

  /** Every limit that binds; empty when nothing is missing. */
  Optional<Shortfall> find(Wish wish, Credit credit) {
    if (kernel.pages() == Pages.PLAIN) {
      return Optional.empty();
    }
    List<Limit> limits = new ArrayList<>();
    if (wish.backing().isPool()) {
      addPool(wish, credit, limits);
    } else {
      addMemory(wish, wish.mappedBytes(), credit.present(), limits);
    }
    if (wish.space().isPresent()) {
      addFileSystem(wish, wish.space().get(), credit, limits);
    }
    if (credit.promised() == 0) {
      addMappings(limits);
      addCommit(wish, limits);
    }
    return limits.isEmpty() ? Optional.empty() : Optional.of(new Shortfall(limits));
  }

  /** Limits of the nodes that a wish is confined to, of a pool alone; empty when none binds. */
  Optional<Shortfall> findOnNodes(Wish wish) {
    List<Limit> limits = new ArrayList<>();
    if (wish.backing().isPool()) {
      addNodePools(wish, Credit.NONE, limits);
    }
    return limits.isEmpty() ? Optional.empty() : Optional.of(new Shortfall(limits));
  }

  /**
   * Whether memory that can run out under a populate still suffices for the next bytes; pools and
   * file systems have promised theirs already.
   */
  Optional<Shortfall> ahead(Wish wish, long bytes) {
    if (kernel.pages() == Pages.PLAIN || wish.backing().isPool()) {
      return Optional.empty();
    }
    List<Limit> limits = new ArrayList<>();
    addMemory(wish, bytes, 0, limits);
    return limits.isEmpty() ? Optional.empty() : Optional.of(new Shortfall(limits));
  }

  /** The shortfall behind a refusal of the kernel's, though the counters may have moved on. */
  Shortfall explain(Wish wish, Credit credit, String refusal) {
    return find(wish, credit)
        .orElseGet(
            () ->
                new Shortfall(
                    List.of(
                        new Limit(
                            "memory, by the kernel's refusal ("
                                + refusal
                                + "; the counters no longer show which limit)",
                            OptionalInt.empty(),
                            wish.pageBytes(),
                            wish.pages(),
                            Math.min(credit.present() / wish.pageBytes(), wish.pages() - 1),
                            "Try again, and look who else takes such pages"))));
  }

  /** Notes on memory that counts but is not certain. */
  List<String> warnings(Wish wish) {
    List<String> notes = new ArrayList<>();
    if (kernel.pages() == Pages.PLAIN) {
      notes.add(
          "plain segments on "
              + kernel.identity()
              + ": no limits, nodes or page sizes are known, children copy the memory");
      return notes;
    }
    if (wish.backing().isPool()) {
      HugePool pool = machine.pool(wish.pageBytes());
      if (wish.pages() > pool.certain() && pool.possible() > 0) {
        notes.add(
            (wish.pages() - pool.certain())
                + " pages beyond the pool were counted on overcommit, which is not guaranteed");
      }
    } else if (wish.request().limits() == Limits.ADVISE) {
      List<Limit> limits = new ArrayList<>();
      addAvailable(wish, wish.mappedBytes(), 0, limits);
      limits.forEach(limit -> notes.add("limits are only advice: " + limit.describe()));
    }
    OptionalLong lockLimit = kernel.lockLimitBytes();
    if (lockLimit.isPresent() && lockLimit.getAsLong() < wish.mappedBytes()) {
      notes.add(
          "RLIMIT_MEMLOCK is "
              + lockLimit.getAsLong()
              + " bytes, less than the "
              + wish.mappedBytes()
              + " mapped; a driver or network card that counts pinned pages may refuse");
    }
    return notes;
  }

  private void addPool(Wish wish, Credit credit, List<Limit> limits) {
    long page = wish.pageBytes();
    HugePool pool = machine.pool(page);
    long mountPages = reservedByMount(wish);
    long available = pool.certain() + pool.possible() + credit.promised() / page + mountPages;
    if (wish.pages() > available) {
      long target = pool.total() - pool.surplus() + wish.pages() - available;
      limits.add(
          new Limit(
              "the pool of " + PageSizes.text(page) + " HugeTLB pages",
              OptionalInt.empty(),
              page,
              wish.pages(),
              available,
              "echo "
                  + target
                  + " > "
                  + Machine.poolFolder(page)
                  + "/nr_hugepages"
                  + (page > machine.transparentHugePageBytes()
                      ? " (or boot with hugepagesz="
                          + PageSizes.quantity(page).replace("i", "")
                          + " hugepages="
                          + target
                          + ")"
                      : "")
                  + "; on Kubernetes request "
                  + PageSizes.kubernetes(page)
                  + ": "
                  + PageSizes.quantity(wish.mappedBytes())));
    }
    addNodePools(wish, credit, limits);
    for (Cap cap : cgroups.hugePages(page)) {
      boolean reservations = cap.file().contains(".rsvd.");
      long own = reservations ? credit.promised() : credit.present();
      long left = cap.availableBytes() + own;
      addCap(wish, cap, wish.mappedBytes(), left, wish.mappedBytes() - left, limits);
    }
    if (cgroups.memoryCountsHugePages()) {
      for (Cap cap : cgroups.memory()) {
        long left = cap.availableBytes() + credit.present();
        addCap(wish, cap, wish.mappedBytes(), left, wish.mappedBytes() - left, limits);
      }
    }
  }

  // A mount with min_size has pages reserved in the global counter that its own files may use.
  private long reservedByMount(Wish wish) {
    return wish.space()
        .flatMap(Wish.FileSpace::mount)
        .flatMap(mount -> mount.option("min_size"))
        .map(text -> bytes(text) / wish.pageBytes())
        .orElse(0L);
  }

  private static long bytes(String text) {
    if (!text.matches("[0-9]{1,15}[KMGkmg]?")) {
      return 0;
    }
    String digits = text.replaceAll("[^0-9]", "");
    int shift =
        switch (Character.toUpperCase(text.charAt(text.length() - 1))) {
          case 'K' -> 10;
          case 'M' -> 20;
          case 'G' -> 30;
          default -> 0;
        };
    return Long.parseLong(digits) << shift;
  }

  private void addNodePools(Wish wish, Credit credit, List<Limit> limits) {
    long page = wish.pageBytes();
    Set<Integer> confined = wish.placement().confinedTo();
    Set<Integer> elsewhere = new TreeSet<>(machine.nodes());
    elsewhere.removeAll(confined);
    if (elsewhere.isEmpty()) {
      return;
    }
    long free = 0;
    for (int node : confined) {
      OptionalLong there = machine.freeOnNode(node, page);
      if (there.isEmpty()) {
        return;
      }
      free += there.getAsLong();
    }
    long available = free + machine.pool(page).possible() + credit.present() / page;
    if (wish.pages() > available) {
      int first = new TreeSet<>(confined).first();
      long target = machine.totalOnNode(first, page) + wish.pages() - available;
      limits.add(
          new Limit(
              "the pool of " + PageSizes.text(page) + " HugeTLB pages" + several(confined),
              confined.size() == 1 ? OptionalInt.of(first) : OptionalInt.empty(),
              page,
              wish.pages(),
              available,
              "echo " + target + " > " + Machine.nodePoolFolder(first, page) + "/nr_hugepages"));
    }
  }

  private static String several(Set<Integer> nodes) {
    return nodes.size() == 1 ? "" : " on " + NumberList.nodes(nodes);
  }

  private void addMemory(Wish wish, long bytes, long present, List<Limit> limits) {
    for (Cap cap : cgroups.memory()) {
      long usable = cap.availableBytes() + present - margin(cap.limitBytes());
      long missing = bytes + tableBytes(bytes) - usable;
      addCap(wish, cap, bytes, withTables(usable), missing, limits);
    }
    if (wish.request().limits() == Limits.ENFORCE) {
      addAvailable(wish, bytes, present, limits);
    }
  }

  private void addAvailable(Wish wish, long bytes, long present, List<Limit> limits) {
    Map<String, Long> memory = machine.memory();
    if (memory.containsKey("MemAvailable")) {
      long margin = margin(memory.getOrDefault("MemTotal", 0L));
      addLimit(
          wish,
          "available memory (MemAvailable of "
              + memory.get("MemAvailable")
              + " bytes, less a margin of "
              + margin
              + " and page tables)",
          OptionalInt.empty(),
          bytes,
          withTables(memory.get("MemAvailable") + present - margin),
          "Free memory or ask for less; where the machine grows its memory on demand, ask with"
              + " limits ADVISE",
          limits);
    }
    addNodeMemory(wish, bytes, present, limits);
  }

  private void addNodeMemory(Wish wish, long bytes, long present, List<Limit> limits) {
    Set<Integer> confined = wish.placement().confinedTo();
    if (confined.containsAll(machine.nodes())) {
      return;
    }
    long available = 0;
    long total = 0;
    for (int node : confined) {
      Map<String, Long> memory = machine.nodeMemory(node);
      if (!memory.containsKey("MemFree")) {
        return;
      }
      total += memory.getOrDefault("MemTotal", 0L);
      available +=
          memory.get("MemFree")
              + memory.getOrDefault("Active(file)", 0L)
              + memory.getOrDefault("Inactive(file)", 0L);
    }
    long margin = margin(total);
    int first = new TreeSet<>(confined).first();
    addLimit(
        wish,
        "free memory" + several(confined) + ", less a margin of " + margin + " bytes",
        confined.size() == 1 ? OptionalInt.of(first) : OptionalInt.empty(),
        bytes,
        available + present - margin,
        "Free memory on that node, ask for less, or let more nodes give it",
        limits);
  }

  private static long margin(long totalBytes) {
    return Math.min(totalBytes / 20, MOST_MARGIN_BYTES);
  }

  // Each base page has an entry of eight bytes in page tables, which count as memory too.
  private long tableBytes(long bytes) {
    return bytes / kernel.basePageBytes() * Long.BYTES;
  }

  // What of these bytes can be had as pages, once each has its entry too.
  private long withTables(long bytes) {
    long page = kernel.basePageBytes();
    return Math.max(0, bytes) / (page + Long.BYTES) * page;
  }

  private void addCap(
      Wish wish, Cap cap, long bytes, long availableBytes, long missingBytes, List<Limit> limits) {
    addLimit(
        wish,
        "the cgroup limit " + cap.file(),
        OptionalInt.empty(),
        bytes,
        availableBytes,
        "echo "
            + Math.addExact(cap.limitBytes(), Math.max(0, missingBytes))
            + " > "
            + cap.file()
            + "; on Kubernetes raise resources.limits."
            + (wish.backing().isPool() && cap.file().contains("hugetlb.")
                ? PageSizes.kubernetes(wish.pageBytes())
                : "memory"),
        limits);
  }

  private static void addLimit(
      Wish wish,
      String name,
      OptionalInt node,
      long neededBytes,
      long availableBytes,
      String remedy,
      List<Limit> limits) {
    long page = wish.pageBytes();
    long needed = Math.ceilDiv(neededBytes, page);
    long available = Math.max(0, availableBytes) / page;
    if (needed > available) {
      limits.add(new Limit(name, node, page, needed, available, remedy));
    }
  }

  private void addFileSystem(Wish wish, Wish.FileSpace space, Credit credit, List<Limit> limits) {
    FileSystemFacts facts = space.facts();
    // Without a size hugetlbfs and tmpfs have 0 blocks, and hugetlbfs -1 with min_size alone.
    if (facts.blocks() <= 0) {
      return;
    }
    long available = facts.availableBlocks() * facts.blockBytes() + credit.promised();
    String point = space.mount().map(Mounts.Mount::point).orElse("its mount point");
    long size = facts.blocks() * facts.blockBytes() + wish.mappedBytes() - available;
    addLimit(
        wish,
        "space in the file system at " + point,
        OptionalInt.empty(),
        wish.mappedBytes(),
        available,
        largerMount(wish, size, point),
        limits);
  }

  private static String largerMount(Wish wish, long size, String point) {
    String remount = "mount -o remount,size=" + size + " " + point;
    return switch (wish.backing()) {
      case TMPFS -> remount + " (Docker: --shm-size; Kubernetes: sizeLimit of the emptyDir)";
      // A remount of hugetlbfs answers well and changes nothing.
      case HUGETLBFS ->
          "umount "
              + point
              + " && mount -t hugetlbfs -o pagesize="
              + PageSizes.quantity(wish.pageBytes()).replace("i", "")
              + ",size="
              + size
              + " none "
              + point
              + " (the options are pagesize=2M or pagesize=1G, size= for the most, min_size= to"
              + " reserve)";
      default -> remount;
    };
  }

  private void addMappings(List<Limit> limits) {
    OptionalLong most = machine.number("/proc/sys/vm/max_map_count");
    OptionalLong used = most.isPresent() ? machine.mappings() : OptionalLong.empty();
    if (used.isPresent() && used.getAsLong() + MAPPINGS_PER_REGION > most.getAsLong()) {
      limits.add(
          new Limit(
              "mappings of this process (vm.max_map_count)",
              OptionalInt.empty(),
              Limit.THINGS,
              MAPPINGS_PER_REGION,
              Math.max(0, most.getAsLong() - used.getAsLong()),
              "sysctl -w vm.max_map_count=" + 2 * most.getAsLong()));
    }
  }

  // Only under strict accounting does the kernel refuse what it could give.
  private void addCommit(Wish wish, List<Limit> limits) {
    if (wish.backing().isPool()
        || machine.number("/proc/sys/vm/overcommit_memory").orElse(0) != 2) {
      return;
    }
    Map<String, Long> memory = machine.memory();
    if (memory.containsKey("CommitLimit") && memory.containsKey("Committed_AS")) {
      addLimit(
          wish,
          "memory that can be committed (vm.overcommit_memory=2)",
          OptionalInt.empty(),
          wish.mappedBytes(),
          memory.get("CommitLimit") - memory.get("Committed_AS"),
          "sysctl -w vm.overcommit_memory=0, or raise vm.overcommit_ratio",
          limits);
    }
  }
}
